"""The row of a scope that is erased as a whole, which must succeed whatever somebody made of the row.

Erasing means destroying the key that the key store holds. So the epoch comes from there, and nothing that
a row says which the service did not seal goes into the row that it seals next.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.errors import ScopeKeyDestroyed, ScopeKeyMissing
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.key_store import HeadKind
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.domain.errors import TransactionConflict
from muniment_server.domain.model import Scope, ScopeRow
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_scopes

from .consenting import told_consent
from .scoping import create_scope, is_genuine_scope, reading_key, scope_number, sealed_scope

_PLAUSIBLE = 1 << 32
"""Generations that a scope may be ahead of its anchored head."""


async def newest_epoch(keys: KeyRing, tenant_id: UUID, scope_id: UUID) -> int | None:
    """The newest epoch that the key store has a key for, or None."""
    try:
        return (await keys.store.newest_scope_key(tenant_id, scope_id)).epoch
    except ScopeKeyMissing:
        return None


@dataclass(frozen=True, slots=True)
class LockedScope:
    """A locked row, the epoch of the newest key of its scope, and whether the row's seal holds."""

    row: ScopeRow
    held: int | None
    genuine: bool

    @property
    def empty(self) -> bool:
        """Whether the row truly says that the scope was erased and nothing was written since."""
        return self.genuine and self.row.label_ct is None


async def lock_for_erasure(
    keys: KeyRing, work: UnitOfWork, scope: Scope, scope_id: UUID, now: datetime
) -> LockedScope | None:
    """Lock a scope; None when there never was such a one.

    The row is made when there is only a key: either its writer has not come so far, who then finds the
    lock, or somebody deleted the row.
    """
    row = (await lock_scopes(work, [scope_id])).get(scope_id)
    held = await newest_epoch(keys, work.tenant_id, scope_id)
    if row is None and held is not None:
        try:
            key = await keys.get(work.tenant_id, scope_id, held)
        except (ScopeKeyDestroyed, ScopeKeyMissing):
            raise TransactionConflict from None
        await create_scope(work, key, scope, scope_id, now, await _told(keys, work, scope_id))
        row = (await lock_scopes(work, [scope_id])).get(scope_id)
    if row is None:
        return None
    old = await reading_key(keys, work.tenant_id, scope_id, row.key_epoch)
    return LockedScope(row, held, old is not None and is_genuine_scope(work.tenant_id, old, row))


async def emptied(keys: KeyRing, work: UnitOfWork, scope: Scope, locked: LockedScope) -> ScopeRow:
    """The row with nothing in its scope and without its label, sealed with the key of a new epoch."""
    tenant_id, row = work.tenant_id, locked.row
    if locked.genuine:
        used = row.key_epoch
    else:
        used = locked.held or 0
        anchored = [
            head.position
            for head in await keys.store.heads(tenant_id)
            if head.kind is HeadKind.SCOPE and head.key == row.scope_id
        ]
        seen = max(anchored, default=0)
        generation = row.generation if seen <= row.generation < seen + _PLAUSIBLE else seen
        number = scope_number(row.scope_id)
        row = replace(
            row,
            kind=scope.kind,
            generation=generation,
            next_doc=1,
            scope_no=number,
            consent=await _told(keys, work, row.scope_id),
        )
    epoch = max(used + 1, await keys.next_epoch(tenant_id, row.scope_id))
    key = await keys.create(tenant_id, row.scope_id, epoch)
    after = replace(
        row,
        label_ct=None,
        key_epoch=epoch,
        generation=row.generation + 1,
        live_count=0,
        live_terms=0,
        set_count=0,
        set_digest=key.hide_set(SetDigest()),
    )
    return sealed_scope(key, tenant_id, after)


async def _told(keys: KeyRing, work: UnitOfWork, scope_id: UUID) -> bytes | None:
    """What the subject decided, by the word of the trail."""
    told = await told_consent(work, await keys.tenant(work.tenant_id), scope_id)
    return told.to_bytes() if told is not None else None
