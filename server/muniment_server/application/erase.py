"""Erase: memories removed from every store, the key destroyed for a whole scope, a signed receipt."""

import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from muniment_server.audit.canonical import canonical_bytes
from muniment_server.audit.events import AuditAction, to_micros
from muniment_server.crypto.errors import KeyStoreError
from muniment_server.crypto.signing import RECEIPT_TYPE
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import (
    ErasureNotFound,
    IntegrityViolation,
    MemoryNotFound,
    PermissionDenied,
    TransactionConflict,
)
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import ErasureState, ErasureTarget, MemoryFilter, MemoryState, Scope
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict, UnitOfWork
from muniment_server.storage.erasures import (
    ErasureRow,
    Removed,
    announce_destroyed_keys,
    insert_erasure,
    leave_tombstones,
    pending_erasures,
    read_erasure,
    remaining_rows,
    remove_memories,
    remove_scope,
    remove_strays,
    targets,
    update_erasure,
)
from muniment_server.storage.ingest import conversations_of, remove_ingests
from muniment_server.storage.memories import lock_scopes, scopes_of, tombstones, update_scope
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .consistency import issue_token
from .emptying import emptied, lock_for_erasure
from .idempotency import RequestMark, earlier_response, remember
from .receipts import is_genuine_receipt, is_pending, pending_mac
from .repeating import Attempts
from .scoping import (
    EpochChanged,
    bind_scope,
    in_reach,
    locked_existing,
    read_label,
    reading_key,
    scope_number,
)
from .sealing import ScopeChange, is_genuine
from .services import Services
from .viewing import check_space, lets_change, view_of

_log = logging.getLogger(__name__)

METHOD = "Erase"
SAMPLE = 100
EVERY_STATE = tuple(state for state in MemoryState if state is not MemoryState.ERASED)
ANYTHING = MemoryFilter(states=EVERY_STATE)


class Kept(IntEnum):
    """What an erasure leaves; the contract's KeptItem."""

    AUDIT_EVENTS = 1
    TOMBSTONES = 2
    KEYS = 4
    BACKUPS = 5


class KeptReason(IntEnum):
    """Why."""

    PROOF = 1
    STORE_UNAVAILABLE = 2
    KEY_IN_USE = 3
    OUT_OF_REACH = 4


@dataclass(frozen=True, slots=True)
class EraseCommand:
    """What to erase. Exactly the fields of its target are set. view: what the caller may change at all."""

    target: ErasureTarget
    memory_ids: Sequence[UUID] = ()
    scope: Scope | None = None
    restriction: MemoryFilter = ANYTHING
    validate_only: bool = False
    reason: int = 0
    reason_code: str = ""
    request_id: UUID | None = None
    payload: bytes = b""
    view: AgentView | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """An erasure receipt; `facts` is the content of `signed_bytes`."""

    facts: dict[str, Any]
    signed_bytes: bytes = b""
    signature: bytes | None = None
    signing_key_id: str = ""
    sample: list[UUID] = field(default_factory=list)
    consistency_token: str = ""


class _DryRun(Exception):
    """Leaves the transaction without committing what was counted in it."""


@dataclass(slots=True)
class Tally:
    """What a transaction has removed so far, and the keys to destroy once it is committed."""

    memory_ids: list[UUID] = field(default_factory=list)
    revisions: int = 0
    embeddings: int = 0
    postings: int = 0
    idempotency_records: int = 0
    queued_jobs: int = 0
    derived_rows: int = 0
    scope_id: UUID | None = None
    destroy_through: int | None = None

    def add(self, removed: Removed) -> None:
        self.memory_ids += removed.memory_ids
        self.revisions += removed.revisions
        self.embeddings += removed.embeddings
        self.postings += removed.postings
        self.idempotency_records += removed.idempotency_records
        self.queued_jobs += removed.queued_jobs
        self.derived_rows += removed.derived_rows


async def erase(services: Services, context: CallContext, command: EraseCommand) -> Receipt:
    """Erase, and return the receipt; or the present receipt for a repeated request id.

    After it returned nothing erased is served any more. The receipt is PENDING only when the key store
    could not destroy a key yet. Raises MemoryNotFound for an id that never existed (then nothing is
    erased), PermissionDenied, RequestIdPayloadMismatch, TransactionConflict.
    """
    view = await view_of(services, context)
    if command.scope is not None:
        bind_scope(context, command.scope)
        await check_space(services, context, command.scope)
    if view is not None and command.target is ErasureTarget.SESSION:
        # All of a session is more than what the view shows of it.
        raise PermissionDenied("agent")
    command = replace(command, view=view)
    if command.target is ErasureTarget.SCOPE and context.principal.agent is not None:
        # All of a scope is more than what is narrowed to the agent or to none, and its key is everybody's.
        raise PermissionDenied("agent")
    started = services.clock()
    with memory_span(
        names.OP_DELETE_MEMORY,
        store_id=str(context.tenant_id),
        record_id=str(command.memory_ids[0]) if len(command.memory_ids) == 1 else None,
    ) as span:
        receipt = await _erase(services, context, command, started)
        span.set(names.GEN_AI_MEMORY_RECORD_COUNT, receipt.facts["counts"]["memories"])
        span.set(names.ERASURE_ID, receipt.facts["erasure_id"])
        span.set(names.ERASURE_MODE, command.target.name.lower())
    if not command.validate_only:
        metrics().erased(command.target.name.lower(), (services.clock() - started).total_seconds())
        services.on_recorded(context.tenant_id)
    return receipt


async def _erase(services: Services, context: CallContext, command: EraseCommand, now: datetime) -> Receipt:
    tenant_id = context.tenant_id
    key = await services.keys.tenant(tenant_id)
    mark = RequestMark.of(key, context.principal, command.request_id, METHOD, command.payload)
    erasure_id = new_id()
    epochs: dict[UUID, int] = {}
    attempts = Attempts()
    while True:
        tally = Tally()
        try:
            recorded = await _attempt(services, context, command, key, mark, tally, epochs, erasure_id, now)
        except _DryRun:
            return _dry_receipt(services, key, command, tally, now)
        except EpochChanged as change:
            epochs[change.scope_id] = change.epoch
        except TransactionConflict as conflict:
            await attempts.lost(conflict)
        except UniqueConflict as conflict:
            if conflict.constraint != "idempotency_pkey":
                raise
        else:
            break
    if isinstance(recorded, bytes):
        found = await get_erasure(services, context, UUID(bytes=recorded))
        return replace(found, consistency_token=issue_token(key, services.instance, now))
    if recorded.state is ErasureState.PENDING:
        recorded = await finish(services, tenant_id, recorded)
    return replace(to_receipt(recorded), consistency_token=issue_token(key, services.instance, now))


async def _attempt(
    services: Services,
    context: CallContext,
    command: EraseCommand,
    key: TenantKey,
    mark: RequestMark | None,
    tally: Tally,
    epochs: Mapping[UUID, int],
    erasure_id: UUID,
    now: datetime,
) -> ErasureRow | bytes:
    """The erasure as recorded, or the id of the one that the same request made before."""
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        earlier = await earlier_response(work, mark, None)
        if earlier is not None:
            return earlier
        await remove(services, context, command, key, work, tally, epochs, erasure_id, now)
        if command.validate_only:
            raise _DryRun
        return await record(services, context, command, key, work, mark, tally, erasure_id, now)


async def remove(
    services: Services,
    context: CallContext,
    command: EraseCommand,
    key: TenantKey,
    work: UnitOfWork,
    tally: Tally,
    epochs: Mapping[UUID, int],
    erasure_id: UUID,
    now: datetime,
) -> None:
    """Queue the removal of a target. epochs: of scopes whose rows turned out to have another one."""
    if command.target is ErasureTarget.MEMORIES:
        await _remove_memories(services, context, command, key, work, tally, epochs, erasure_id, now)
        return
    if command.scope is None:
        raise ValueError("a target other than MEMORIES names a scope")
    scope_id = key.scope_id(int(command.scope.kind), command.scope.label)
    tally.scope_id = scope_id
    if command.target is ErasureTarget.SCOPE:
        await _remove_scope(services, command, work, scope_id, tally, erasure_id, now)
    else:
        await _remove_part(services, context, command, work, scope_id, None, tally, epochs, erasure_id, now)


async def _remove_memories(
    services: Services,
    context: CallContext,
    command: EraseCommand,
    key: TenantKey,
    work: UnitOfWork,
    tally: Tally,
    epochs: Mapping[UUID, int],
    erasure_id: UUID,
    now: datetime,
) -> None:
    found = await scopes_of(work, command.memory_ids)
    gone = await tombstones(work, command.memory_ids)
    by_scope: dict[UUID, list[UUID]] = defaultdict(list)
    for memory_id in command.memory_ids:
        place = found.get(memory_id) or (gone[memory_id]["scope_id"] if memory_id in gone else None)
        if place is None or not in_reach(context, key, place):
            raise MemoryNotFound(str(memory_id))
        if memory_id in found:
            by_scope[place].append(memory_id)
    if len(by_scope) == 1:
        tally.scope_id = next(iter(by_scope))
    for scope_id in sorted(by_scope):
        await _remove_part(
            services, context, command, work, scope_id, by_scope[scope_id], tally, epochs, erasure_id, now
        )


async def _remove_part(
    services: Services,
    context: CallContext,
    command: EraseCommand,
    work: UnitOfWork,
    scope_id: UUID,
    memory_ids: Sequence[UUID] | None,
    tally: Tally,
    epochs: Mapping[UUID, int],
    erasure_id: UUID,
    now: datetime,
) -> None:
    key = await reading_key(services.keys, work.tenant_id, scope_id, epochs.get(scope_id))
    if key is None:
        if await lock_scopes(work, [scope_id]):
            raise IntegrityViolation()
        return
    row = await locked_existing(work, key, scope_id)
    scope = command.scope
    found = await targets(
        work,
        scope_id,
        memory_ids=memory_ids,
        target_session=scope.session if scope and command.target is ErasureTarget.SESSION else None,
        agent=scope.agent if scope else None,
        session=scope.session if scope and command.target is ErasureTarget.FILTER else None,
        bound_agent=context.principal.agent,
        restriction=command.restriction,
    )
    if command.view is not None:
        label = read_label(key, row) or ""
        found = [one for one in found if lets_change(command.view, context, row.kind, label, one)]
    if memory_ids is not None and context.principal.agent is not None:
        # What was erased a moment ago, by somebody else, is missing here too.
        missing = set(memory_ids) - {revision.memory_id for revision in found}
        if missing & (await scopes_of(work, missing)).keys():
            raise MemoryNotFound(str(min(missing)))
    if command.target is ErasureTarget.SESSION and scope is not None and scope.session is not None:
        # Before its turns: what is queued of the session must not bring any of it back.
        conversations = await conversations_of(
            work, scope_id, scope.session, scope.agent, context.principal.agent
        )
        jobs, derived = await remove_ingests(work, scope_id, conversations)
        tally.queued_jobs += jobs
        tally.derived_rows += derived
    if not found:
        return
    removed = await remove_memories(work, scope_id, row.scope_no, found)
    change = ScopeChange(key, work.tenant_id, row)
    if all(is_genuine(key, work.tenant_id, revision) for revision in found):
        change.forget(found, removed.history_seals)
    else:
        embeddings, postings = await remove_strays(work, scope_id, row.scope_no)
        tally.embeddings += embeddings
        tally.postings += postings
        change.recount(found, removed.history_seals, await remaining_rows(work, scope_id))
    await change.close(work, now)
    await leave_tombstones(work, scope_id, removed.memory_ids, erasure_id, now)
    tally.add(removed)


async def _remove_scope(
    services: Services,
    command: EraseCommand,
    work: UnitOfWork,
    scope_id: UUID,
    tally: Tally,
    erasure_id: UUID,
    now: datetime,
) -> None:
    if command.scope is None:
        raise ValueError("a target other than MEMORIES names a scope")
    locked = await lock_for_erasure(services.keys, work, command.scope, scope_id, now)
    if locked is None:
        return
    removed = await remove_scope(work, scope_id, {scope_number(scope_id), locked.row.scope_no})
    tally.add(removed)
    if command.validate_only or (locked.empty and not removed.memory_ids):
        return
    # The row stays, with the next epoch: a writer that still holds the old key notices under the lock.
    after = await emptied(services.keys, work, command.scope, locked)
    await update_scope(work, after, now)
    await leave_tombstones(work, scope_id, removed.memory_ids, erasure_id, now)
    await announce_destroyed_keys(work, scope_id)
    tally.destroy_through = after.key_epoch - 1


def _facts(
    command: EraseCommand, tally: Tally, tenant_id: UUID | None, erasure_id: UUID | None, now: datetime
) -> dict[str, Any]:
    kept = [{"item": int(Kept.AUDIT_EVENTS), "count": 0, "reason": int(KeptReason.PROOF)}]
    if tally.memory_ids:
        kept.append(
            {"item": int(Kept.TOMBSTONES), "count": len(tally.memory_ids), "reason": int(KeptReason.PROOF)}
        )
        if command.target is not ErasureTarget.SCOPE:
            kept.append({"item": int(Kept.KEYS), "count": 0, "reason": int(KeptReason.KEY_IN_USE)})
        kept.append({"item": int(Kept.BACKUPS), "count": 0, "reason": int(KeptReason.OUT_OF_REACH)})
    return {
        "type": RECEIPT_TYPE,
        "tenant_id": str(tenant_id) if tenant_id else None,
        "erasure_id": str(erasure_id) if erasure_id else "",
        "state": 0,
        "target_kind": int(command.target),
        "scope_id": str(tally.scope_id) if tally.scope_id else None,
        "reason": command.reason,
        "reason_code": command.reason_code,
        "validate_only": command.validate_only,
        "counts": {
            "memories": len(tally.memory_ids),
            "revisions": tally.revisions,
            "embeddings": tally.embeddings,
            "postings": tally.postings,
            "idempotency_records": tally.idempotency_records,
            "queued_jobs": tally.queued_jobs,
            "derived_rows": tally.derived_rows,
        },
        "kept": kept,
        "keys_destroyed": 0,
        "create_time": to_micros(now),
        "complete_time": None,
        "event_id": "",
        "signing_key_id": "",
    }


def _dry_receipt(
    services: Services, key: TenantKey, command: EraseCommand, tally: Tally, now: datetime
) -> Receipt:
    return Receipt(
        facts=_facts(command, tally, None, None, now),
        sample=sorted(tally.memory_ids, reverse=True)[:SAMPLE],
        consistency_token=issue_token(key, services.instance, now),
    )


async def record(
    services: Services,
    context: CallContext,
    command: EraseCommand,
    key: TenantKey,
    work: UnitOfWork,
    mark: RequestMark | None,
    tally: Tally,
    erasure_id: UUID,
    now: datetime,
) -> ErasureRow:
    """Queue the event, the receipt and the answer of what was removed."""
    facts = _facts(command, tally, work.tenant_id, erasure_id, now)
    event = await services.trail.record(
        work,
        key,
        context,
        AuditAction.ERASE,
        now=now,
        scope_id=tally.scope_id,
        agent=command.scope.agent if command.scope else None,
        session=command.scope.session if command.scope else None,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=tally.memory_ids,
        details={
            "memory_erased": {
                "erasure_id": str(erasure_id),
                "target_kind": int(command.target),
                "reason": command.reason,
                "reason_code": command.reason_code,
                "counts": facts["counts"],
                "keys_destroyed": 0 if tally.destroy_through is None else 1,
            }
        },
    )
    facts["event_id"] = str(event.event_id)
    row = ErasureRow(
        erasure_id=erasure_id,
        state=ErasureState.PENDING,
        target=command.target,
        scope_id=tally.scope_id,
        key_epoch=tally.destroy_through,
        receipt=canonical_bytes(facts | {"state": int(ErasureState.PENDING)}),
        signature=None,
        create_time=now,
        complete_time=None,
    )
    if tally.destroy_through is None:
        row = await _completed(services, row, 0, now)
    else:
        row = replace(row, signature=pending_mac(key, row))
    await insert_erasure(work, row)
    await remember(work, mark, erasure_id.bytes, scope_id=None, key=None, now=now)
    return row


async def _completed(services: Services, row: ErasureRow, destroyed: int, now: datetime) -> ErasureRow:
    """The row with its final, signed receipt."""
    signing = await services.keys.store.signing_key()
    facts = json.loads(row.receipt)
    facts |= {
        "state": int(ErasureState.COMPLETE),
        "keys_destroyed": destroyed,
        "complete_time": to_micros(now),
        "signing_key_id": signing.key_id,
    }
    receipt = canonical_bytes(facts)
    return replace(
        row,
        state=ErasureState.COMPLETE,
        receipt=receipt,
        signature=signing.sign_receipt(receipt),
        complete_time=now,
    )


async def finish(services: Services, tenant_id: UUID, row: ErasureRow) -> ErasureRow:
    """Destroy the keys of a recorded erasure and complete its receipt.

    Harmless to repeat; the row as it is comes back when the key store does not answer, and when it is not
    what the service recorded: whoever can write into the database must neither have a key destroyed nor
    a receipt signed.
    """
    pending = is_pending(await services.keys.tenant(tenant_id), row)
    if not pending or row.scope_id is None or row.key_epoch is None:
        _log.error("erasure %s is not what the service recorded; no key is destroyed", row.erasure_id)
        metrics().integrity_violation(1)
        return row
    services.keys.drop(tenant_id, row.scope_id)
    services.models.clear()
    try:
        destroyed = await services.keys.store.destroy_scope_keys(tenant_id, row.scope_id, row.key_epoch)
        done = await _completed(services, row, max(destroyed, 1), services.clock())
    except KeyStoreError as error:
        _log.error("erasure %s waits for the key store: %s", row.erasure_id, type(error).__name__)
        return row
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        await update_erasure(work, done)
    return done


async def finish_pending(services: Services, tenant_id: UUID) -> int:
    """Complete the erasures of a tenant that a crash or an outage left pending; returns how many are left."""
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        rows = await pending_erasures(work)
    left = 0
    for row in rows:
        done = await finish(services, tenant_id, row)
        left += done.state is ErasureState.PENDING
    return left


async def get_erasure(services: Services, context: CallContext, erasure_id: UUID) -> Receipt:
    """The receipt of an earlier erasure. Raises ErasureNotFound, and IntegrityViolation when the stored
    receipt is not what the service signed.
    """
    key = await services.keys.tenant(context.tenant_id)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        row = await read_erasure(work, erasure_id)
    if row is None or (
        context.principal.subject is not None
        and (row.scope_id is None or not in_reach(context, key, row.scope_id))
    ):
        raise ErasureNotFound(str(erasure_id))
    if not is_genuine_receipt(key, await services.keys.store.public_keys(), row):
        raise IntegrityViolation(erasure_id=str(erasure_id))
    return to_receipt(row)


def to_receipt(row: ErasureRow) -> Receipt:
    """The receipt of a recorded erasure."""
    facts = json.loads(row.receipt)
    signed = row.state is not ErasureState.PENDING
    return Receipt(
        facts=facts,
        signed_bytes=row.receipt if signed else b"",
        signature=row.signature if signed else None,
        signing_key_id=facts["signing_key_id"],
    )
