"""Write: 1 to 100 statements into one scope, all or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction, to_millionths
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, TransactionConflict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import (
    EmbeddingState,
    MemoryState,
    NewMemory,
    Revision,
    Scope,
    WriteOutcome,
)
from muniment_server.domain.settings import TenantSettings
from muniment_server.domain.write_plan import Decision, WritePlan
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict, UnitOfWork
from muniment_server.storage.memories import OpenedWrite, open_write
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .admission import admitted
from .conflicts import Near, Requests
from .consistency import issue_token
from .gating import screen
from .idempotency import RequestMark, remember, stored_response
from .preparing import Prepared, analyse, check_expiry, check_items, prepare, stamp
from .scoping import EpochChanged, bind_scope, create_scope, usable_scope, writing_key
from .sealing import ScopeChange, is_genuine
from .services import Attempts, Services
from .vectors import ItemVector
from .vectors import vectors as made_vectors
from .views import to_memory

METHOD = "Write"


@dataclass(frozen=True, slots=True)
class WriteCommand:
    """`payload` is the request's deterministic bytes, by which a repeated request id is compared."""

    scope: Scope
    items: Sequence[NewMemory]
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Written:
    """The results in the order of the items."""

    results: list[WriteResult]
    consistency_token: str


Encode: TypeAlias = Callable[[Written], bytes]
"""Makes the bytes that are stored for the request id and answered again on a repetition."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What stays the same in every attempt of one Write. screened: every item after the gates."""

    services: Services
    context: CallContext
    scope: Scope
    scope_id: UUID
    tenant_key: TenantKey
    mark: RequestMark | None
    settings: TenantSettings
    screened: Sequence[Screened]
    near: Near
    encode: Encode


async def write(services: Services, context: CallContext, command: WriteCommand, encode: Encode) -> bytes:
    """Store the items, or answer what was stored before for the same request id.

    Raises InvalidRequest, ContentRefused, SourceNotAllowed, PermissionDenied, RequestIdPayloadMismatch,
    EmbedderUnavailable, Overloaded; on any error nothing is stored.
    """
    scope = bind_scope(context, command.scope)
    check_items(command.items)
    check_expiry(command.items, services.clock())
    provenances = [stamp(context, item, index) for index, item in enumerate(command.items)]
    tenant_key = await services.keys.tenant(context.tenant_id)
    settings = await services.settings.of(context.tenant_id)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    screened = await screen(services, context.tenant_id, command.items, provenances)
    kept = [one for one in screened if not one.dropped]
    analysed = await analyse([one.item for one in kept])
    made = await item_vectors(services, context, [one.item for one in kept])
    call = _Call(
        services=services,
        context=context,
        scope=command.scope,
        scope_id=scope_id,
        tenant_key=tenant_key,
        mark=RequestMark.of(tenant_key, command.request_id, METHOD, command.payload),
        settings=settings,
        screened=screened,
        near=Near(services.models.current, scope, scope_id, services.clock(), settings.review.conflicts),
        encode=encode,
    )
    epoch: int | None = None
    attempts = Attempts()
    with memory_span(
        names.OP_UPSERT_MEMORY,
        store_id=str(context.tenant_id),
        record_count=len(command.items),
        agent=scope.agent,
        session=scope.session,
    ):
        while True:
            key = await writing_key(services.keys, context.tenant_id, scope_id, epoch)
            prepared = prepare(key, kept, analysed, made)
            try:
                response = await _store(call, key, prepared)
            except EpochChanged as change:
                epoch = change.epoch
            except TransactionConflict as conflict:
                await attempts.lost(conflict)
            except UniqueConflict as conflict:
                # The same request id, committed by a call that held another lock: its answer is ours.
                if conflict.constraint != "idempotency_pkey":
                    raise
            else:
                break
    services.on_recorded(context.tenant_id)
    return response


async def item_vectors(
    services: Services, context: CallContext, items: Sequence[NewMemory]
) -> list[ItemVector]:
    """The vectors of a call's items, as the policy of the installation has it; see `vectors.vectors`."""
    return await made_vectors(
        services.models, items, services.write_policy, services.backlog, context.remaining()
    )


async def _store(call: _Call, key: ScopeKey, prepared: Sequence[Prepared]) -> bytes:
    services, context, scope, mark = call.services, call.context, call.scope, call.mark
    now = services.clock()
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        opened = await _open(work, call, prepared, call.near.requests(prepared))
        if opened.scope is None:
            await create_scope(work, key, scope, call.scope_id, now)
            opened = await _open(work, call, prepared)
        row = usable_scope(context.tenant_id, key, scope, opened.scope)
        earlier = stored_response(opened.answer, mark, key)
        if earlier is not None:
            return earlier
        plan = WritePlan(scope, call.scope_id, key.epoch, row.next_doc, now)
        live, broken = _sifted(key, context.tenant_id, scope, prepared, opened.candidates)
        plan.load(live)
        judged = admitted(row, call.settings, scope, call.screened)
        ready = iter(prepared)
        items = [None if one.dropped else next(ready) for one in call.screened]
        decisions = [
            None if one is None or gate.dropped else plan.write(one.item)
            for one, gate in zip(items, judged, strict=True)
        ]
        change = ScopeChange(key, context.tenant_id, row)
        await store_plan(work, services, change, plan, prepared, now)
        results = _results(call, key, plan, items, judged, decisions, opened)
        for result in results:
            metrics().written(result.outcome.name.lower())
        response = call.encode(Written(results, issue_token(call.tenant_key, services.instance, now)))
        touched = _touched(decisions)
        if broken:
            await services.trail.integrity_violation(
                work,
                call.tenant_key,
                context,
                now=now,
                scope_id=call.scope_id,
                memory_ids=broken,
                check="seal",
            )
        event = await services.trail.record(
            work,
            call.tenant_key,
            context,
            AuditAction.WRITE,
            now=now,
            scope_id=call.scope_id,
            agent=scope.agent,
            session=scope.session,
            request_id=str(mark.request_id) if mark else None,
            memory_ids=touched,
            source_types=frozenset(int(one.provenance.source_type) for one in judged),
            details={
                "memory_written": {
                    "items": [
                        dropped_details(one)
                        if decision is None
                        else written_details(decision, plan.current(decision.memory_id), one)
                        for decision, one in zip(decisions, judged, strict=True)
                    ]
                }
            },
        )
        await remember(
            work,
            mark,
            response,
            scope_id=call.scope_id,
            key=key,
            memory_ids=touched,
            now=now,
            event_id=event.event_id,
        )
    return response


async def _open(
    work: UnitOfWork, call: _Call, prepared: Sequence[Prepared], also: Requests = ()
) -> OpenedWrite:
    hashes = sorted({one.item.statement_hash for one in prepared})
    slots = sorted({one.item.slot for one in prepared if one.item.slot is not None})
    request_id = call.mark.request_id if call.mark else None
    return await open_write(work, call.scope_id, request_id, hashes, slots, also)


def _results(
    call: _Call,
    key: ScopeKey,
    plan: WritePlan,
    items: Sequence[Prepared | None],
    judged: Sequence[Screened],
    decisions: Sequence[Decision | None],
    opened: OpenedWrite,
) -> list[WriteResult]:
    written = [
        (place, one, decision)
        for place, (one, decision) in enumerate(zip(items, decisions, strict=True))
        if one is not None
    ]
    stored = [decision.memory_id if decision else one.item.memory_id for _, one, decision in written]
    conflicts = call.near.found(
        key,
        call.context.tenant_id,
        [one for _, one, _ in written],
        [judged[place].indexed for place, _, _ in written],
        opened.also,
        stored,
        _not_live(plan, written),
    )
    near = {place: found for (place, _, _), found in zip(written, conflicts, strict=True)}
    results = []
    for place, (one, gate, decision) in enumerate(zip(items, judged, decisions, strict=True)):
        if one is None or decision is None:
            results.append(
                WriteResult(
                    WriteOutcome.DROPPED, None, rule=gate.rule, findings=gate.findings, factors=gate.factors
                )
            )
            continue
        memory = plan.current(decision.memory_id)
        results.append(
            WriteResult(
                outcome=decision.outcome,
                memory=to_memory(call.tenant_key, memory, call.scope.kind, call.scope.label),
                superseded=decision.superseded,
                embedding_state=one.vector.state,
                rule=decision.rule,
                findings=gate.findings,
                factors=gate.factors,
                conflicts=tuple(near[place]),
            )
        )
    return results


def _not_live(plan: WritePlan, written: Sequence[tuple[int, Prepared, Decision | None]]) -> frozenset[UUID]:
    """Memories of this write that nothing is near to: superseded by it, held for review, or not stored."""
    found = {decision.superseded for _, _, decision in written if decision and decision.superseded}
    for _, one, decision in written:
        if decision is None:
            found.add(one.item.memory_id)
        elif plan.current(decision.memory_id).state is not MemoryState.ACTIVE:
            found.add(decision.memory_id)
    return frozenset(found)


def _sifted(
    key: ScopeKey,
    tenant_id: UUID,
    scope: Scope,
    prepared: Sequence[Prepared],
    candidates: Sequence[tuple[Revision, bool]],
) -> tuple[list[Revision], list[UUID]]:
    """The candidates whose seal holds, and the ids of the others: sealing one anew would make it genuine.

    Raises IntegrityViolation when one of the others stands in a slot that is written to.
    """
    slots = {one.item.slot for one in prepared if one.item.slot is not None}
    live: list[Revision] = []
    broken: list[UUID] = []
    for revision, contradicted in candidates:
        if not contradicted and is_genuine(key, tenant_id, revision):
            live.append(revision)
            continue
        if revision.slot in slots and (revision.agent, revision.session) == (scope.agent, scope.session):
            raise IntegrityViolation(str(revision.memory_id))
        broken.append(revision.memory_id)
    return live, broken


async def store_plan(
    work: UnitOfWork,
    services: Services,
    change: ScopeChange,
    plan: WritePlan,
    prepared: Sequence[Prepared],
    now: datetime,
) -> None:
    """Queue everything that a plan changes in its scope. Changes go first: they free the slots."""
    await change.change(work, plan.changed)
    created = await change.create(
        work, plan.created, {one.item.memory_id: one.item.frequencies for one in prepared}
    )
    by_id = {one.item.memory_id: one.vector for one in prepared}
    await change.embed(work, [(revision, by_id[revision.memory_id].made) for revision in created])
    waiting = sum(by_id[revision.memory_id].state is EmbeddingState.PENDING for revision in created)
    if waiting:
        services.on_waiting(work.tenant_id, change.scope.scope_id, waiting)
    await change.close(work, now, plan.next_doc)


def _touched(decisions: Sequence[Decision | None]) -> list[UUID]:
    touched: dict[UUID, None] = {}
    for decision in decisions:
        if decision is None:
            continue
        touched[decision.memory_id] = None
        if decision.superseded is not None:
            touched[decision.superseded] = None
    return list(touched)


def written_details(decision: Decision, revision: Revision, screened: Screened) -> dict[str, Any]:
    """One written item as the audit tells it."""
    provenance = screened.provenance
    return {
        "memory_id": str(decision.memory_id),
        "revision": revision.revision,
        "outcome": int(decision.outcome),
        "kind": int(revision.kind),
        "source_type": int(provenance.source_type),
        "trust": int(provenance.trust),
        "superseded_memory_id": str(decision.superseded) if decision.superseded else None,
        "rule": decision.rule,
        "findings": told_findings(screened),
    }


def dropped_details(screened: Screened) -> dict[str, Any]:
    """One item that was not stored as the audit tells it."""
    provenance = screened.provenance
    return {
        "memory_id": None,
        "revision": 0,
        "outcome": int(WriteOutcome.DROPPED),
        "kind": int(screened.item.kind),
        "source_type": int(provenance.source_type),
        "trust": int(provenance.trust),
        "superseded_memory_id": None,
        "rule": screened.rule,
        "findings": told_findings(screened),
        "importance_factors": [
            {
                "name": factor.name,
                "value": to_millionths(factor.value),
                "weight": to_millionths(factor.weight),
                "contribution": to_millionths(factor.contribution),
            }
            for factor in screened.factors
        ],
    }


def told_findings(screened: Screened) -> list[dict[str, Any]]:
    """What the gates found, as the audit tells it: nothing of the content."""
    return [
        {"gate": one.gate, "rule": one.rule, "verdict": int(one.verdict), "count": one.count}
        for one in screened.findings
    ]
