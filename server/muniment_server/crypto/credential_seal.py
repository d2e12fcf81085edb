"""Seals of the rows that say who may do what: API keys, and the names of tenants.

Every API key has a random key of its own in the key store, by which its row is sealed. Revoking destroys it,
and the key store makes no second one: so a row that somebody forged, changed, or put back as it was before it
was revoked, is none.
"""

import json
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from .errors import ScopeKeyDestroyed, ScopeKeyMissing
from .framing import frame
from .key_store import NO_TENANT, KeyStore
from .tenant_key import TenantKey

_EPOCH: Final = 1
_VERSION: Final = b"muniment.credential.v1"
_TENANT: Final = "tenant-name"
_ADOPTED: Final = UUID("ad097ed0-0000-8000-8000-000000000001")
"""The id whose destruction the key store notes once the rows of before there were seals are sealed."""

T = TypeVar("T")

COLUMNS: Final = (
    "credential_id",
    "public_id",
    "secret_digest",
    "label",
    "tenant_ids",
    "tenant_names",
    "permissions",
    "source_types",
    "max_trust",
    "subject",
    "agent",
    "create_time",
    "expire_time",
)
"""What a seal covers: all but when the key was revoked, since from then on there is no key for a seal."""


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(type(value).__name__)


def credential_bytes(row: Mapping[str, Any]) -> bytes:
    """The bytes that the seal of an API key covers.

    Raises TypeError or OverflowError for a row that the service cannot have stored.
    """
    values = [_plain(row[name]) for name in COLUMNS]
    return frame(_VERSION, json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode())


async def seal_credential(store: KeyStore, row: Mapping[str, Any]) -> bytes:
    """The seal of a new API key, whose key is made. Raises ScopeKeyDestroyed for one that was revoked."""
    key = await store.scope_key(NO_TENANT, row["credential_id"], _EPOCH, create=True)
    return key.seal(credential_bytes(row))


async def credential_holds(store: KeyStore, row: Mapping[str, Any]) -> bool:
    """Whether the row of an API key is what an operator made, and was not revoked since."""
    seal = row["seal"]
    if seal is None:
        return False
    try:
        key = await store.scope_key(NO_TENANT, row["credential_id"], _EPOCH)
        return key.verify_seal(credential_bytes(row), bytes(seal))
    except (ScopeKeyMissing, ScopeKeyDestroyed, TypeError, ValueError, OverflowError):
        return False


def tenant_seal(key: TenantKey, name: str) -> bytes:
    """The seal of a tenant's name."""
    return key.mac(_TENANT, name.encode())


async def tenant_holds(store: KeyStore, row: Mapping[str, Any]) -> bool:
    """Whether the tenant with this id has this name."""
    if row["seal"] is None:
        return False
    key = await store.tenant_key(row["tenant_id"])
    return compare_digest(tenant_seal(key, row["name"]), bytes(row["seal"]))


class Seals(Protocol):
    """The same for whoever works with the database as its owner, without an event loop."""

    def credential(self, row: Mapping[str, Any]) -> bytes:
        """The seal of a new API key."""
        ...

    def tenant(self, tenant_id: UUID, name: str) -> bytes:
        """The seal of a tenant's name."""
        ...

    def tenant_holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a tenant has this name."""
        ...

    def revoke(self, credential_id: UUID) -> None:
        """Make that no row of this API key holds any more, for good."""
        ...

    def adopted(self) -> bool:
        """Whether the rows of before there were seals had their turn."""
        ...

    def end_adoption(self) -> None:
        """No row without a seal is sealed from now on."""
        ...

    def serves(self) -> bool:
        """Whether the key store was served with: one that was not may be a wrong one."""
        ...


class StoreSeals:
    """Seals of a key store. run: carries a call of the key store out."""

    def __init__(self, store: KeyStore, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._store = store
        self._run = run

    def credential(self, row: Mapping[str, Any]) -> bytes:
        """See Seals."""
        seal: bytes = self._run(seal_credential(self._store, row))
        return seal

    def tenant(self, tenant_id: UUID, name: str) -> bytes:
        """See Seals."""
        return tenant_seal(self._run(self._store.tenant_key(tenant_id)), name)

    def tenant_holds(self, row: Mapping[str, Any]) -> bool:
        """See Seals."""
        return bool(self._run(tenant_holds(self._store, row)))

    def revoke(self, credential_id: UUID) -> None:
        """See Seals."""
        self._run(self._store.destroy_scope_keys(NO_TENANT, credential_id, _EPOCH))

    def adopted(self) -> bool:
        """See Seals."""
        return self._run(self._store.highest_destroyed_epoch(NO_TENANT, _ADOPTED)) is not None

    def end_adoption(self) -> None:
        """See Seals."""
        self._run(self._store.destroy_scope_keys(NO_TENANT, _ADOPTED, _EPOCH))

    def serves(self) -> bool:
        """See Seals."""
        return bool(self._run(self._store.heads()))
