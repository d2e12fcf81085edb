"""What the key store has seen of the database, against what the database holds now."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment_server.crypto.key_store import NO_TENANT, Head, HeadKind, KeyStore
from muniment_server.storage.audit_chain import digests_at, read_state, scopes_behind
from muniment_server.storage.database import Database, UnitOfWork

_CHUNK = 10_000
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Lag:
    """An anchored head that the database does not hold.

    `found` is where the database stands: None when there is nothing, a number at least as high as
    `anchored` when something else stands in the place of what was anchored.
    """

    tenant_id: UUID
    kind: HeadKind
    key: UUID
    anchored: int
    found: int | None


class DatabaseBehindAnchors(Exception):
    """The database is older than what the key store has seen of it, or was changed; one line."""

    def __init__(self, lags: Sequence[Lag]) -> None:
        self.lags = tuple(lags)
        tenants = {lag.tenant_id for lag in lags}
        super().__init__(
            f"The database does not hold what the key store has seen of it ({len(tenants)} tenant(s); for "
            f"example, {_told(lags)}). An older copy was put in place, or the data was changed. Look with "
            "`muniment verify`; if a backup was restored on purpose, declare it with `muniment restore "
            "--declare --reason ...`."
        )


def _told(lags: Sequence[Lag]) -> str:
    lag = next((lag for lag in lags if lag.kind is HeadKind.AUDIT), lags[0])
    if lag.kind is HeadKind.AUDIT:
        what = f"the audit chain of tenant {lag.tenant_id} was seen at event {lag.anchored}"
    else:
        what = f"scope {lag.key} of tenant {lag.tenant_id} was seen at generation {lag.anchored}"
    if lag.found is None:
        return f"{what} and is gone"
    if lag.found < lag.anchored:
        return f"{what} and stands at {lag.found}"
    return f"{what} and holds something else there"


async def lags_of(work: UnitOfWork, heads: Sequence[Head]) -> list[Lag]:
    """Which anchored heads of the transaction's tenant the database does not hold.

    Read the heads before the transaction began: then whatever they name was committed before.
    """
    found: list[Lag] = []
    for head in heads:
        if head.kind is HeadKind.AUDIT:
            state = await read_state(work)
            there = (await digests_at(work, [head.position])).get(head.position)
            end = state.head.sequence if state.head else None
            if there != head.digest or end is None or end < head.position:
                found.append(Lag(work.tenant_id, head.kind, head.key, head.position, end))
    scopes = [head for head in heads if head.kind is HeadKind.SCOPE]
    for start in range(0, len(scopes), _CHUNK):
        seen = [(head.key, head.position, head.digest) for head in scopes[start : start + _CHUNK]]
        found += [
            Lag(work.tenant_id, HeadKind.SCOPE, scope_id, anchored, generation)
            for scope_id, anchored, generation in await scopes_behind(work, seen)
        ]
    return found


async def startup_check(database: Database, store: KeyStore) -> None:
    """Compare all anchored heads with the database, before anything is served.

    One read of the key store, and three statements a tenant. Works with the pool of either role.
    Raises DatabaseBehindAnchors.
    """
    by_tenant: dict[UUID, list[Head]] = defaultdict(list)
    for head in await store.heads():
        if head.tenant_id != NO_TENANT:
            by_tenant[head.tenant_id].append(head)
    lags: list[Lag] = []
    for tenant_id, heads in by_tenant.items():
        async with database.transaction(tenant_id, timeout=_TIMEOUT) as work:
            lags += await lags_of(work, heads)
    if lags:
        raise DatabaseBehindAnchors(lags)
