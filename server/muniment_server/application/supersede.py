"""Supersede: one memory replaced by another, in one step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.domain.errors import IntegrityViolation, MemoryNotFound, TransactionConflict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import (
    Memory,
    NewMemory,
    Scope,
    WriteOutcome,
)
from muniment_server.domain.write_plan import WritePlan
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.storage.database import Row, UniqueConflict, UnitOfWork
from muniment_server.storage.memories import write_candidates
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .admission import admitted
from .conflicts import Near
from .consistency import issue_token
from .gating import screen
from .idempotency import RequestMark, earlier_response, remember
from .locating import check_active, check_etag, locked_memory, scope_of_memory
from .preparing import Prepared, analyse, check_expiry, check_items, prepare, stamp
from .scoping import EpochChanged, locked_existing, read_label, writing_key
from .sealing import ScopeChange
from .services import Attempts, Services
from .vectors import ItemVector
from .viewing import lets_change, view_of
from .views import to_memory
from .write import dropped_details, item_vectors, store_plan, written_details

METHOD = "Supersede"
_ITEM = "item"


@dataclass(frozen=True, slots=True)
class SupersedeCommand:
    """`etag` empty: whatever the current revision is."""

    memory_id: UUID
    etag: str
    item: NewMemory
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Superseded:
    """The old memory as it is now, and what became of the item."""

    superseded: Memory
    result: WriteResult
    consistency_token: str


Encode: TypeAlias = Callable[[Superseded], bytes]


async def supersede(
    services: Services, context: CallContext, command: SupersedeCommand, encode: Encode
) -> bytes:
    """Replace a memory, or answer what was answered before for the same request id.

    Raises MemoryNotFound, MemoryErased, MemorySuperseded, MemoryNotActive, RevisionConflict,
    SlotConflict, and what Write raises; on any error nothing is changed. A correction that the gates drop
    changes nothing either, and its answer says so.
    """
    check_items([command.item], _ITEM)
    check_expiry([command.item], services.clock(), _ITEM)
    services = await services.with_policy(context.tenant_id)
    provenance = stamp(context, command.item, 0)
    with memory_span(
        names.OP_UPDATE_MEMORY,
        store_id=str(context.tenant_id),
        record_id=str(command.memory_id),
        record_count=1,
    ) as span:
        (screened,) = await screen(
            services, context.tenant_id, [command.item], [provenance], path=_ITEM, corrects=True
        )
        kept = [] if screened.dropped else [screened.item]
        analysed = await analyse(kept)
        made = await item_vectors(services, context, kept)
        epoch: int | None = None
        attempts = Attempts()
        while True:
            try:
                response, new_id = await _attempt(
                    services, context, command, screened, analysed, made, epoch, encode
                )
            except EpochChanged as change:
                epoch = change.epoch
            except TransactionConflict as conflict:
                await attempts.lost(conflict)
            except UniqueConflict as conflict:
                if conflict.constraint != "idempotency_pkey":
                    raise
            else:
                break
        if new_id is not None:
            span.set(names.SUPERSEDE_NEW_ID, str(new_id))
    services.on_recorded(context.tenant_id)
    return response


async def _attempt(
    services: Services,
    context: CallContext,
    command: SupersedeCommand,
    screened: Screened,
    analysed: Sequence[IndexTerms],
    made: Sequence[ItemVector],
    epoch: int | None,
    encode: Encode,
) -> tuple[bytes, UUID | None]:
    """The answer and the new memory's id; no id for a repeated request."""
    tenant_id = context.tenant_id
    tenant_key = await services.keys.tenant(tenant_id)
    mark = RequestMark.of(tenant_key, context.principal, command.request_id, METHOD, command.payload)
    now = services.clock()
    new_id: UUID | None = None
    async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
        scope_id = await scope_of_memory(work, context, tenant_key, command.memory_id)
        key = await writing_key(services.keys, tenant_id, scope_id, epoch)
        row = await locked_existing(work, key, scope_id)
        earlier = await earlier_response(work, mark, key)
        if earlier is not None:
            return earlier, None
        old = await locked_memory(work, context, key, command.memory_id)
        label = read_label(key, row)
        if label is None:
            raise IntegrityViolation(str(old.memory_id))
        view = await view_of(services, context)
        if not lets_change(view, context, row.kind, label, old):
            raise MemoryNotFound(str(old.memory_id))
        check_active(old)
        check_etag(tenant_key, command.etag, old)
        scope = Scope(row.kind, label, old.agent, old.session)
        settings = await services.settings.of(tenant_id)
        (judged,) = admitted(row, settings, scope, [screened])
        if judged.item.slot is None:
            judged = replace(judged, item=replace(judged.item, slot=old.slot))
        hidden: set[UUID] = set()
        plan = WritePlan(scope, scope_id, key.epoch, row.next_doc, now, hidden)
        plan.load([old])
        named = [old.memory_id]
        if judged.dropped:
            result = WriteResult(
                WriteOutcome.DROPPED, None, rule=judged.rule, findings=judged.findings, factors=judged.factors
            )
            details = dropped_details(judged)
        else:
            prepared = prepare(key, [judged], analysed, made)
            near = await Near.of(services, context, scope, scope_id, settings.review.conflicts)
            rows = await _near(work, near, prepared)
            item = prepared[0].item
            if item.slot is not None and item.slot != old.slot:
                holders = await write_candidates(work, scope_id, [], [item.slot])
                hidden |= {
                    holder.memory_id
                    for holder, _ in holders
                    if not lets_change(view, context, row.kind, label, holder)
                }
                plan.load([holder for holder, _ in holders])
            decision = plan.supersede(old, item)
            change = ScopeChange(key, tenant_id, row)
            await store_plan(work, services, change, plan, prepared, now)
            successor = plan.current(decision.memory_id)
            new_id = successor.memory_id
            (conflicts,) = near.found(
                key, tenant_id, prepared, [judged.indexed], rows, [successor.memory_id], named
            )
            result = WriteResult(
                outcome=decision.outcome,
                memory=to_memory(tenant_key, successor, scope.kind, label),
                superseded=decision.superseded,
                embedding_state=prepared[0].vector.state,
                rule=decision.rule,
                findings=judged.findings,
                factors=judged.factors,
                conflicts=tuple(conflicts),
            )
            details = written_details(decision, successor, judged)
            named = [old.memory_id, successor.memory_id]
        metrics().written(result.outcome.name.lower())
        after = plan.current(old.memory_id)
        response = encode(
            Superseded(
                superseded=to_memory(tenant_key, after, scope.kind, label),
                result=result,
                consistency_token=issue_token(tenant_key, services.instance, now),
            )
        )
        event = await services.trail.record(
            work,
            tenant_key,
            context,
            AuditAction.SUPERSEDE,
            now=now,
            scope_id=scope_id,
            agent=scope.agent,
            session=scope.session,
            request_id=str(mark.request_id) if mark else None,
            memory_ids=named,
            source_types=frozenset({int(judged.provenance.source_type)}),
            details={
                "memory_superseded": {
                    "memory_id": str(old.memory_id),
                    "revision": after.revision,
                    "successor": details,
                }
            },
        )
        await remember(
            work,
            mark,
            response,
            scope_id=scope_id,
            key=key,
            memory_ids=named,
            now=now,
            event_id=event.event_id,
        )
    return response, new_id


async def _near(work: UnitOfWork, near: Near, prepared: Sequence[Prepared]) -> Sequence[Sequence[Row]]:
    requests = near.requests(prepared)
    return await work.fetch_together(*requests) if requests else []
