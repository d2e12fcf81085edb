"""Supersede: one memory replaced by another, in one step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import (
    Memory,
    NewMemory,
    Revision,
    Scope,
    WriteOutcome,
)
from muniment_server.domain.write_plan import WritePlan
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import write_candidates
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .admission import admitted
from .applying import store_plan
from .batch import item_vectors
from .conflicts import Near
from .consistency import issue_token
from .gating import screen
from .idempotency import RequestMark, remember
from .locating import Held, check_active, check_etag, held_memory
from .preparing import analyse, check_expiry, check_items, prepare, stamp
from .repeating import Epochs, repeated
from .sealing import ScopeChange
from .services import Services
from .vectors import ItemVector
from .views import to_memory
from .write_told import dropped_details, written_details

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


@dataclass(frozen=True, slots=True)
class _Correction:
    """The item after the gates, with what the index and the model make of it unless a gate dropped it."""

    screened: Screened
    analysed: Sequence[IndexTerms]
    made: Sequence[ItemVector]


@dataclass(frozen=True, slots=True)
class _Decided:
    """`after`: the old memory as it is now. `details`: the item, for the audit."""

    after: Revision
    result: WriteResult
    details: dict[str, Any]
    successor: UUID | None = None

    @property
    def named(self) -> list[UUID]:
        """The memories that the answer names."""
        return [self.after.memory_id, *([self.successor] if self.successor else [])]


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
        correction = _Correction(screened, await analyse(kept), await item_vectors(services, context, kept))
        mark = RequestMark.of(
            await services.keys.tenant(context.tenant_id),
            context.principal,
            command.request_id,
            METHOD,
            command.payload,
        )

        async def attempt(epochs: Epochs) -> tuple[bytes, UUID | None]:
            return await _attempt(services, context, command, mark, correction, epochs, encode)

        response, new_id = await repeated(attempt)
        if new_id is not None:
            span.set(names.SUPERSEDE_NEW_ID, str(new_id))
    services.on_recorded(context.tenant_id)
    return response


async def _attempt(
    services: Services,
    context: CallContext,
    command: SupersedeCommand,
    mark: RequestMark | None,
    correction: _Correction,
    epochs: Epochs,
    encode: Encode,
) -> tuple[bytes, UUID | None]:
    """The answer and the new memory's id; no id for a repeated request."""
    now = services.clock()
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        held = await held_memory(services, context, work, mark, command.memory_id, epochs)
        if isinstance(held, bytes):
            return held, None
        old = held.revision
        check_active(old)
        check_etag(held.tenant_key, command.etag, old)
        scope = Scope(held.row.kind, held.label, old.agent, old.session)
        (judged,) = admitted(held.row, held.settings, scope, [correction.screened])
        if judged.item.slot is None:
            judged = replace(judged, item=replace(judged.item, slot=old.slot))
        if judged.dropped:
            done = _dropped(old, judged)
        else:
            done = await _replaced(services, context, work, held, scope, judged, correction, now)
        metrics().written(done.result.outcome.name.lower())
        response = encode(
            Superseded(
                superseded=to_memory(held.tenant_key, done.after, scope.kind, scope.label),
                result=done.result,
                consistency_token=issue_token(held.tenant_key, services.instance, now),
            )
        )
        await _record(services, context, work, mark, held, judged, done, response, now)
    return response, done.successor


def _dropped(old: Revision, judged: Screened) -> _Decided:
    result = WriteResult(
        WriteOutcome.DROPPED, None, rule=judged.rule, findings=judged.findings, factors=judged.factors
    )
    return _Decided(old, result, dropped_details(judged))


async def _replaced(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    held: Held,
    scope: Scope,
    judged: Screened,
    correction: _Correction,
    now: datetime,
) -> _Decided:
    """Decide and queue the item in the place of the held memory. Raises SlotConflict."""
    old, key, row = held.revision, held.key, held.row
    prepared = prepare(key, [judged], correction.analysed, correction.made)
    near = await Near.of(services, context, scope, row.scope_id, held.settings.review.conflicts)
    requests = near.requests(prepared)
    rows = await work.fetch_together(*requests) if requests else []
    item = prepared[0].item
    others = await _holders(work, held, item.slot)
    hidden = {holder.memory_id for holder in others if not held.lets_change(context, holder)}
    plan = WritePlan(scope, row.scope_id, key.epoch, row.next_doc, now, hidden)
    plan.load([old, *others])
    decision = plan.supersede(old, item)
    await store_plan(work, services, ScopeChange(key, work.tenant_id, row), plan, prepared, now)
    successor = plan.current(decision.memory_id)
    (conflicts,) = near.found(
        key,
        work.tenant_id,
        prepared,
        [judged.indexed],
        rows,
        [successor.memory_id],
        [old.memory_id],
    )
    result = WriteResult(
        outcome=decision.outcome,
        memory=to_memory(held.tenant_key, successor, scope.kind, scope.label),
        superseded=decision.superseded,
        embedding_state=prepared[0].vector.state,
        rule=decision.rule,
        findings=judged.findings,
        factors=judged.factors,
        conflicts=tuple(conflicts),
    )
    return _Decided(
        plan.current(old.memory_id),
        result,
        written_details(decision, successor, judged),
        successor.memory_id,
    )


async def _holders(work: UnitOfWork, held: Held, slot: str | None) -> list[Revision]:
    """What else the scope has in the slot, locked."""
    if slot is None or slot == held.revision.slot:
        return []
    return [holder for holder, _ in await write_candidates(work, held.row.scope_id, [], [slot])]


async def _record(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    mark: RequestMark | None,
    held: Held,
    judged: Screened,
    done: _Decided,
    response: bytes,
    now: datetime,
) -> None:
    old = held.revision
    event = await services.trail.record(
        work,
        held.tenant_key,
        context,
        AuditAction.SUPERSEDE,
        now=now,
        scope_id=held.row.scope_id,
        agent=old.agent,
        session=old.session,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=done.named,
        source_types=frozenset({int(judged.provenance.source_type)}),
        details={
            "memory_superseded": {
                "memory_id": str(old.memory_id),
                "revision": done.after.revision,
                "successor": done.details,
            }
        },
    )
    await remember(
        work,
        mark,
        response,
        scope_id=held.row.scope_id,
        key=held.key,
        memory_ids=done.named,
        now=now,
        event_id=event.event_id,
    )
