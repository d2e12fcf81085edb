"""Write: 1 to 100 statements into one scope, all or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, TransactionConflict
from muniment_server.domain.model import EmbeddingState, NewMemory, Provenance, Revision, Scope, WriteResult
from muniment_server.domain.write_plan import Decision, WritePlan
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict, UnitOfWork
from muniment_server.storage.memories import OpenedWrite, open_write
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .consistency import issue_token
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


async def write(services: Services, context: CallContext, command: WriteCommand, encode: Encode) -> bytes:
    """Store the items, or answer what was stored before for the same request id.

    Raises InvalidRequest, SourceNotAllowed, PermissionDenied, RequestIdPayloadMismatch,
    EmbedderUnavailable, Overloaded; on any error nothing is stored.
    """
    scope = bind_scope(context, command.scope)
    check_items(command.items)
    check_expiry(command.items, services.clock())
    provenances = [stamp(context, item, index) for index, item in enumerate(command.items)]
    tenant_key = await services.keys.tenant(context.tenant_id)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    mark = RequestMark.of(tenant_key, command.request_id, METHOD, command.payload)
    analysed = await analyse(command.items)
    made = await item_vectors(services, context, command.items)
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
            prepared = prepare(key, command.items, provenances, analysed, made)
            try:
                response = await _store(
                    services, context, command, tenant_key, key, scope_id, mark, prepared, encode
                )
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


async def _store(
    services: Services,
    context: CallContext,
    command: WriteCommand,
    tenant_key: TenantKey,
    key: ScopeKey,
    scope_id: UUID,
    mark: RequestMark | None,
    prepared: Sequence[Prepared],
    encode: Encode,
) -> bytes:
    now = services.clock()
    scope = command.scope
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        opened = await _open(work, scope_id, mark, prepared)
        if opened.scope is None:
            await create_scope(work, key, scope, scope_id, now)
            opened = await _open(work, scope_id, mark, prepared)
        row = usable_scope(context.tenant_id, key, scope, opened.scope)
        earlier = stored_response(opened.answer, mark, key)
        if earlier is not None:
            return earlier
        plan = WritePlan(scope, scope_id, key.epoch, row.next_doc, now)
        live, broken = _sifted(key, context.tenant_id, scope, prepared, opened.candidates)
        plan.load(live)
        decisions = [plan.write(one.item) for one in prepared]
        change = ScopeChange(key, context.tenant_id, row)
        await store_plan(work, services, change, plan, prepared, now)
        for decision in decisions:
            metrics().written(decision.outcome.name.lower())
        results = [
            WriteResult(
                outcome=decision.outcome,
                memory=to_memory(tenant_key, plan.current(decision.memory_id), scope.kind, scope.label),
                superseded=decision.superseded,
                embedding_state=one.vector.state,
                rule=decision.rule,
            )
            for decision, one in zip(decisions, prepared, strict=True)
        ]
        token = issue_token(tenant_key, services.instance, now)
        response = encode(Written(results, token))
        touched = _touched(decisions)
        if broken:
            await services.trail.integrity_violation(
                work, tenant_key, context, now=now, scope_id=scope_id, memory_ids=broken, check="seal"
            )
        event = await services.trail.record(
            work,
            tenant_key,
            context,
            AuditAction.WRITE,
            now=now,
            scope_id=scope_id,
            agent=scope.agent,
            session=scope.session,
            request_id=str(mark.request_id) if mark else None,
            memory_ids=touched,
            source_types=frozenset(int(one.item.provenance.source_type) for one in prepared),
            details={
                "memory_written": {
                    "items": [
                        written_details(decision, plan.current(decision.memory_id), one.item.provenance)
                        for decision, one in zip(decisions, prepared, strict=True)
                    ]
                }
            },
        )
        await remember(
            work,
            mark,
            response,
            scope_id=scope_id,
            key=key,
            memory_ids=touched,
            now=now,
            event_id=event.event_id,
        )
    return response


async def _open(
    work: UnitOfWork, scope_id: UUID, mark: RequestMark | None, prepared: Sequence[Prepared]
) -> OpenedWrite:
    hashes = sorted({one.item.statement_hash for one in prepared})
    slots = sorted({one.item.slot for one in prepared if one.item.slot is not None})
    return await open_write(work, scope_id, mark.request_id if mark else None, hashes, slots)


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


def _touched(decisions: Sequence[Decision]) -> list[UUID]:
    touched: dict[UUID, None] = {}
    for decision in decisions:
        touched[decision.memory_id] = None
        if decision.superseded is not None:
            touched[decision.superseded] = None
    return list(touched)


def written_details(decision: Decision, revision: Revision, provenance: Provenance) -> dict[str, Any]:
    """One written item as the audit tells it."""
    return {
        "memory_id": str(decision.memory_id),
        "revision": revision.revision,
        "outcome": int(decision.outcome),
        "kind": int(revision.kind),
        "source_type": int(provenance.source_type),
        "trust": int(provenance.trust),
        "superseded_memory_id": str(decision.superseded) if decision.superseded else None,
        "rule": decision.rule,
    }
