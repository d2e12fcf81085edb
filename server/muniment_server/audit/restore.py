"""A declared restore: the operator says that an older copy of the database was put back on purpose.

The key store did not go back, and it decides: what belongs to destroyed keys is removed again, and the
heads are set to what is there now. Memories that were erased one by one, without their scope, after
the copy was made come back with it, because nothing but the lost rows told of them; repeat those
erasures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from muniment_server.application.scoping import scope_number, sealed_scope
from muniment_server.crypto.key_store import NO_TENANT, Head, HeadKind, KeyStore
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import ScopeRow
from muniment_server.storage.audit_chain import lock_head, read_state, scope_heads
from muniment_server.storage.database import Database, UnitOfWork
from muniment_server.storage.erasures import leave_tombstones, remove_scope
from muniment_server.storage.memories import lock_scopes, update_scope
from muniment_server.storage.tenants import tenants
from muniment_server.storage.verification import scopes

from .canonical import CHAIN_START
from .chaining import audit_head, scope_head, seal_batch
from .events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome
from .trail import write_event

_PAGE: Final = 500
_DURABLE: Final = {"synchronous_commit": "on"}


@dataclass(frozen=True, slots=True)
class TenantRestored:
    """What was done in one tenant. Sequences are lengths of the chain; `erased` counts memories of
    `scopes` scopes that were removed again."""

    tenant_id: UUID
    name: str
    anchored_sequence: int
    restored_sequence: int
    scopes: int
    erased: int


async def declare_restore(
    app: Database,
    maintenance: Database,
    store: KeyStore,
    *,
    reference: str,
    operator: str,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> list[TenantRestored]:
    """Make the database as it is now the one that counts. No server may run meanwhile.

    Raise the restore epoch of the instance before. Repeating it is harmless; after an error repeat it.
    app, maintenance: pools of the two roles. reference: the operator's own, for example a ticket.
    """
    async with maintenance.transaction(None) as work:
        known = dict(await tenants(work))
    done = []
    for tenant_id, name in sorted(known.items(), key=lambda entry: entry[1]):
        heads = await store.heads(tenant_id)
        restored = await _restore(app, store, tenant_id, name, heads, reference, operator, clock)
        await _chain(maintenance, store, tenant_id, clock)
        await store.reset_heads(tenant_id, await _present_heads(maintenance, tenant_id, clock()))
        done.append(restored)
    # A tenant that was made after the copy: its heads would keep every start from succeeding.
    for tenant_id in {head.tenant_id for head in await store.heads()} - known.keys() - {NO_TENANT}:
        await store.reset_heads(tenant_id, [])
    return done


async def _restore(
    app: Database,
    store: KeyStore,
    tenant_id: UUID,
    name: str,
    heads: Sequence[Head],
    reference: str,
    operator: str,
    clock: Callable[[], datetime],
) -> TenantRestored:
    key = await store.tenant_key(tenant_id)
    anchored = max((head.position for head in heads if head.kind is HeadKind.AUDIT), default=0)
    generations = {head.key: head.position for head in heads if head.kind is HeadKind.SCOPE}
    event_id, now = new_id(), clock()
    erased: list[UUID] = []
    count = 0
    async with app.transaction(tenant_id, settings=_DURABLE) as work:
        state = await read_state(work)
        restored = state.head.sequence if state.head else 0
        after: UUID | None = None
        while True:
            page = await scopes(work, after=after, limit=_PAGE)
            for scope, _ in page:
                destroyed = await store.highest_destroyed_epoch(tenant_id, scope.scope_id)
                if destroyed is not None and scope.key_epoch <= destroyed:
                    erased += await _erase_again(
                        work, store, scope.scope_id, destroyed, generations, event_id, now
                    )
                    count += 1
            if len(page) < _PAGE:
                break
            after = page[-1][0].scope_id
        await _record(work, key, event_id, now, operator, erased, anchored, restored, reference)
    return TenantRestored(tenant_id, name, anchored, restored, count, len(erased))


async def _erase_again(
    work: UnitOfWork,
    store: KeyStore,
    scope_id: UUID,
    destroyed: int,
    generations: dict[UUID, int],
    event_id: UUID,
    now: datetime,
) -> list[UUID]:
    """Remove what nobody can read any more, and move the scope to the epoch after the destroyed ones."""
    scope: ScopeRow = (await lock_scopes(work, [scope_id]))[scope_id]
    removed = await remove_scope(work, scope_id, {scope_number(scope_id), scope.scope_no})
    key = await store.scope_key(work.tenant_id, scope_id, destroyed + 1, create=True)
    after = replace(
        scope,
        label_ct=None,
        key_epoch=key.epoch,
        generation=max(scope.generation, generations.get(scope_id, 0)) + 1,
        live_count=0,
        live_terms=0,
        set_count=0,
        set_digest=key.hide_set(SetDigest()),
    )
    await update_scope(work, sealed_scope(key, work.tenant_id, after), now)
    await leave_tombstones(work, scope_id, removed.memory_ids, event_id, now)
    return removed.memory_ids


async def _record(
    work: UnitOfWork,
    key: TenantKey,
    event_id: UUID,
    now: datetime,
    operator: str,
    erased: Sequence[UUID],
    anchored: int,
    restored: int,
    reference: str,
) -> None:
    event = AuditEvent(
        event_id=event_id,
        tenant_id=work.tenant_id,
        time=now,
        action=AuditAction.RESTORE,
        outcome=AuditOutcome.OK,
        actor=Actor(ActorKind.OPERATOR, operator),
        memory_ids=erased,
        details={
            "restore_declared": {
                "anchored_sequence": anchored,
                "restored_sequence": restored,
                "reference": reference,
            }
        },
    )
    await write_event(work, key, event)


async def _chain(
    maintenance: Database, store: KeyStore, tenant_id: UUID, clock: Callable[[], datetime]
) -> None:
    key, signing = await store.tenant_key(tenant_id), await store.signing_key()
    after: UUID | None = None
    while True:
        async with maintenance.transaction(tenant_id, settings=_DURABLE) as work:
            batch = await seal_batch(work, key, signing, now=clock(), anchored=None, after=after, rule=None)
        if not batch.full:
            return
        after = batch.last


async def _present_heads(maintenance: Database, tenant_id: UUID, now: datetime) -> list[Head]:
    async with maintenance.transaction(tenant_id, settings=_DURABLE) as work:
        # The lock makes this a transaction that writes, and so one whose commit flushes.
        chain = await lock_head(work, CHAIN_START)
        heads = [scope_head(tenant_id, one, now) for one in await scope_heads(work)]
    if chain.sequence:
        heads.append(audit_head(tenant_id, chain, now))
    return heads
