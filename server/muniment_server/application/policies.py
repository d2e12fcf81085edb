"""What tenants set for themselves, held against the tenant's key: a database writer cannot change it.

One mac covers all settings and views of a tenant and their revision, so that no row can be changed, taken
away, added or put back alone. Rows that do not hold fail the call with IntegrityViolation: to go on with
the defaults would be what the intruder wanted. All rows put back together to an earlier revision are found
by `muniment verify`, which compares them with the audit trail.
"""

import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from uuid import UUID

from muniment_server.crypto.errors import TokenInvalid
from muniment_server.crypto.framing import frame
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.settings import DEFAULT_SETTINGS, TenantSettings, build
from muniment_server.identity.cache import LookupCache
from muniment_server.storage.database import Database
from muniment_server.storage.policies import PolicyRows, read_policy

_log = logging.getLogger("muniment.policies")

_TTL = 5.0
"""Seconds for which a policy is kept; a hint drops it earlier."""


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """A tenant's settings and the views of its agents."""

    settings: TenantSettings = DEFAULT_SETTINGS
    views: Mapping[str, AgentView] = field(default_factory=dict)


class PolicyBroken(Exception):
    """Rows of a tenant's policy are not what an operator set."""


def policy_bytes(rows: PolicyRows) -> bytes:
    """The bytes that the mac covers: the revision, and every row in the order of its name."""
    settings = [
        frame(name.encode(), json.dumps(json.loads(value), sort_keys=True).encode())
        for name, value in sorted(rows.settings.items())
    ]
    views = [frame(agent.encode(), view.encode()) for agent, view in sorted(rows.views.items())]
    return frame(rows.revision.to_bytes(8), b"".join(settings), b"".join(views))


def policy_digest(rows: PolicyRows) -> bytes:
    """What the audit trail keeps of a policy: SHA-256 of the bytes that its mac covers."""
    return sha256(policy_bytes(rows)).digest()


def signed(key: TenantKey, rows: PolicyRows) -> PolicyRows:
    """The rows with their mac."""
    return replace(rows, mac=key.mac("tenant-policy", policy_bytes(rows)))


def check_rows(key: TenantKey, rows: PolicyRows) -> None:
    """Raise PolicyBroken unless the rows are those that an operator set, or there never were any."""
    if not rows.revision and not rows.settings and not rows.views:
        return
    try:
        expected = key.mac("tenant-policy", policy_bytes(rows))
    except (ValueError, OverflowError):
        raise PolicyBroken("the stored rows are malformed") from None
    if not hmac.compare_digest(expected, rows.mac):
        raise PolicyBroken("the mac does not hold")


def seal_view(key: TenantKey, agent: str, view: AgentView) -> str:
    """A view as it is stored."""
    return key.seal_token(view.to_json().encode(), _context(agent))


def open_view(key: TenantKey, agent: str, sealed: str) -> AgentView:
    """A stored view. Raises PolicyBroken."""
    try:
        return AgentView.from_json(key.open_token(sealed, _context(agent)).decode())
    except (TokenInvalid, ValueError, KeyError, TypeError):
        raise PolicyBroken("a view cannot be opened") from None


def _context(agent: str) -> bytes:
    return frame(b"agent-view", agent.encode())


def to_policy(key: TenantKey, rows: PolicyRows) -> tuple[TenantPolicy, tuple[str, ...]]:
    """The policy of genuine rows, and the settings that this version cannot use. Raises PolicyBroken."""
    check_rows(key, rows)
    settings, unusable = build({name: json.loads(value) for name, value in rows.settings.items()})
    views = {agent: open_view(key, agent, sealed) for agent, sealed in rows.views.items()}
    return TenantPolicy(settings, views), unusable


_DEFAULT = TenantPolicy()


class Policies:
    """The policies of all tenants, each remembered for a few seconds. Without `read`: `fixed` for all."""

    def __init__(
        self,
        read: Callable[[UUID], Awaitable[TenantPolicy]] | None = None,
        fixed: TenantPolicy = _DEFAULT,
    ) -> None:
        self._fixed = fixed
        self._cache: LookupCache[UUID, TenantPolicy] | None = None
        if read is not None:
            self._cache = LookupCache(read, ttl=_TTL, miss_ttl=0.0, size=10_000, strangers=64)

    async def policy(self, tenant_id: UUID) -> TenantPolicy:
        """Everything that a tenant set. Raises IntegrityViolation, and what storage and key store raise."""
        found = None if self._cache is None else await self._cache.get(tenant_id)
        return found or self._fixed

    async def of(self, tenant_id: UUID) -> TenantSettings:
        """A tenant's settings; raises as `policy`."""
        return (await self.policy(tenant_id)).settings

    async def view(self, tenant_id: UUID, agent: str | None) -> AgentView | None:
        """What an agent may see, or None where nothing bounds it; raises as `policy`."""
        return None if agent is None else (await self.policy(tenant_id)).views.get(agent)

    def drop(self, tenant_id: UUID) -> None:
        """Forget what is remembered of a tenant."""
        if self._cache is not None:
            self._cache.drop(tenant_id)

    def drop_all(self) -> None:
        """Forget everything."""
        if self._cache is not None:
            self._cache.drop_all()


def stored_policies(database: Database, keys: KeyRing, *, timeout: float = 5.0) -> Policies:
    """Policies read from the database. timeout: seconds for one reading."""

    async def read(tenant_id: UUID) -> TenantPolicy:
        key = await keys.tenant(tenant_id)
        async with database.transaction(tenant_id, timeout=timeout) as work:
            rows = await read_policy(work)
        try:
            policy, unusable = to_policy(key, rows)
        except PolicyBroken as error:
            _log.error("settings or views of tenant %s were changed behind the service: %s", tenant_id, error)
            raise IntegrityViolation() from None
        if unusable:
            _log.warning("tenant %s has settings of another version: %s", tenant_id, ", ".join(unusable))
        return policy

    return Policies(read)
