"""A batch applied under the lock of its scope's row, in the transaction of whoever records the event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.conflicts import PossibleConflict
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import EmbeddingState, Memory, MemoryState, Revision, Scope, WriteOutcome
from muniment_server.domain.write_plan import OUT_OF_VIEW, Decision, WritePlan
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import Permission
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.storage.embeddings import embedding_states
from muniment_server.telemetry.instruments import metrics

from .admission import admitted
from .batch import Batch
from .judging import still_proposed
from .preparing import Prepared
from .review_notes import note_review
from .sealing import ScopeChange, is_genuine
from .services import Services
from .views import to_memory
from .write_told import dropped_details, written_details

ALREADY_STORED = "ALREADY_STORED"
"""Rule: the subject has this statement already, live or archived."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a batch. judged: its items after consent too. details: per item, for the audit.

    next_doc: the number of the scope's next document.
    """

    results: list[WriteResult]
    judged: list[Screened]
    touched: list[UUID]
    details: list[dict[str, Any]]
    source_types: frozenset[int]
    next_doc: int


@dataclass(frozen=True, slots=True)
class _Item:
    """prepared: unless a gate dropped the item before. decision: unless it is dropped, at last by consent."""

    prepared: Prepared | None
    judged: Screened
    decision: Decision | None


async def apply(
    work: UnitOfWork,
    batch: Batch,
    change: ScopeChange,
    prepared: Sequence[Prepared],
    candidates: Sequence[tuple[Revision, bool]],
    also: Sequence[Sequence[Row]],
    now: datetime,
    *,
    archived: Mapping[UUID, bool] = MappingProxyType({}),
    quiet: bool = False,
    next_doc: int | None = None,
) -> Applied:
    """Decide and queue a batch in a scope that is locked and genuine.

    candidates: the locked live memories of `candidate_keys`, each with whether history contradicts it.
    also: answers to `batch.near.requests`. archived: new memories that are ARCHIVED from the start, those at
    least that are True here; the others are there already. quiet: nothing of this will be committed.
    next_doc: of a change that goes on with other batches, as an earlier one left it; the caller closes that.
    Raises IntegrityViolation.
    """
    services, key = batch.services, change.key
    first_doc = change.scope.next_doc if next_doc is None else next_doc
    live, broken = _sifted(key, work.tenant_id, batch.scope, prepared, candidates)
    hidden = {one.memory_id for one in live if not batch.lets_change(one)}
    plan = WritePlan(batch.scope, batch.scope_id, key.epoch, first_doc, now, hidden)
    plan.load(live)
    screened, prepared = await still_proposed(work, key, batch.scope_id, batch.screened, prepared)
    judged = admitted(change.scope, batch.settings, batch.scope, screened)
    items = _decided(plan, screened, prepared, judged, archived)
    await store_plan(work, services, change, plan, prepared, now, quiet=quiet, closing=next_doc is None)
    results = _results(
        batch, key, plan, items, also, change.scope.live_count, await _kept(work, change, plan, items)
    )
    for result in () if quiet else results:
        metrics().written(result.outcome.name.lower())
    if broken:
        await services.trail.integrity_violation(
            work,
            batch.tenant_key,
            batch.context,
            now=now,
            scope_id=batch.scope_id,
            memory_ids=broken,
            check="seal",
        )
    return Applied(
        results,
        [one.judged for one in items],
        _touched(items),
        [_details(plan, one) for one in items],
        frozenset(int(one.judged.provenance.source_type) for one in items),
        plan.next_doc,
    )


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
        there = (revision.agent, revision.session) == (scope.agent, scope.session)
        if revision.slot in slots and there and revision.state is MemoryState.ACTIVE:
            raise IntegrityViolation(str(revision.memory_id))
        broken.append(revision.memory_id)
    return live, broken


def _decided(
    plan: WritePlan,
    screened: Sequence[Screened],
    prepared: Sequence[Prepared],
    judged: Sequence[Screened],
    archived: Mapping[UUID, bool],
) -> list[_Item]:
    """What the plan does with every item. prepared: of those that were kept when they were screened."""
    ready = iter(prepared)
    items = []
    for before, gate in zip(screened, judged, strict=True):
        one = None if before.dropped else next(ready)
        if one is None or gate.dropped:
            items.append(_Item(one, gate, None))
            continue
        memory_id = one.item.memory_id
        if memory_id not in archived:
            items.append(_Item(one, gate, plan.write(one.item)))
        elif archived[memory_id]:
            items.append(_Item(one, gate, plan.archive(one.item)))
        else:
            there = replace(gate, verdict=Verdict.DROP, gate="", rule=ALREADY_STORED)
            items.append(_Item(one, there, None))
    return items


async def store_plan(
    work: UnitOfWork,
    services: Services,
    change: ScopeChange,
    plan: WritePlan,
    prepared: Sequence[Prepared],
    now: datetime,
    *,
    quiet: bool = False,
    closing: bool = True,
) -> None:
    """Queue everything that a plan changes in its scope. Changes go first: they free the slots.

    closing: nothing else is changed in the scope.
    """
    await change.change(work, plan.changed)
    created = await change.create(
        work, plan.created, {one.item.memory_id: one.item.frequencies for one in prepared}
    )
    for revision in created:
        if revision.memory_id in plan.waiting:
            await note_review(work, change.key, revision, plan.waiting[revision.memory_id])
    by_id = {one.item.memory_id: one.vector for one in prepared}
    await change.embed(work, [(revision, by_id[revision.memory_id].made) for revision in created])
    waiting = sum(by_id[revision.memory_id].state is EmbeddingState.PENDING for revision in created)
    if waiting and not quiet:
        services.on_waiting(work.tenant_id, change.scope.scope_id, waiting)
    if closing:
        await change.close(work, now, plan.next_doc)


# --- what is told -------------------------------------------------------------------------------


async def _kept(
    work: UnitOfWork, change: ScopeChange, plan: WritePlan, items: Sequence[_Item]
) -> Mapping[UUID, EmbeddingState]:
    """Whether what was there before and stays can be found by meaning: it has the vector of its own text."""
    stay = [
        plan.current(one.decision.memory_id)
        for one in items
        if one.decision is not None and one.decision.outcome is WriteOutcome.REINFORCED
    ]
    if not stay:
        return {}
    found = await embedding_states(work, change.scope.scope_no, stay)
    # Without a row the task behind the writes makes one.
    return {one.memory_id: found.get(one.memory_id, EmbeddingState.PENDING) for one in stay}


def _results(
    batch: Batch,
    key: ScopeKey,
    plan: WritePlan,
    items: Sequence[_Item],
    also: Sequence[Sequence[Row]],
    live_count: int,
    kept: Mapping[UUID, EmbeddingState],
) -> list[WriteResult]:
    near = _near(batch, key, plan, items, also, live_count)
    results = []
    for place, one in enumerate(items):
        gate, decision = one.judged, one.decision
        if one.prepared is None or decision is None:
            results.append(
                WriteResult(
                    WriteOutcome.DROPPED, None, rule=gate.rule, findings=gate.findings, factors=gate.factors
                )
            )
            continue
        conflicts, partial = near[place]
        results.append(
            WriteResult(
                outcome=decision.outcome,
                memory=_told(batch, plan.current(decision.memory_id), decision),
                superseded=decision.superseded,
                embedding_state=kept.get(decision.memory_id, one.prepared.vector.state),
                rule=decision.rule,
                findings=gate.findings,
                factors=gate.factors,
                conflicts=tuple(conflicts),
                conflicts_partial=partial,
            )
        )
    return results


def _near(
    batch: Batch,
    key: ScopeKey,
    plan: WritePlan,
    items: Sequence[_Item],
    also: Sequence[Sequence[Row]],
    live_count: int,
) -> dict[int, tuple[list[PossibleConflict], bool]]:
    """By its place, of each item that was not dropped before: the memories near to it, and whether there may
    be others."""
    written = [(place, one.prepared, one) for place, one in enumerate(items) if one.prepared is not None]
    prepared = [each for _, each, _ in written]
    conflicts = batch.near.found(
        key,
        batch.context.tenant_id,
        prepared,
        [one.judged.indexed for _, _, one in written],
        also,
        [one.decision.memory_id if one.decision else each.item.memory_id for _, each, one in written],
        _not_live(plan, items),
    )
    left_out = batch.near.left_out(prepared, bool(also), live_count)
    return {
        place: (found, partial)
        for (place, _, _), found, partial in zip(written, conflicts, left_out, strict=True)
    }


def _not_live(plan: WritePlan, items: Sequence[_Item]) -> frozenset[UUID]:
    """Memories of this write that nothing is near to: superseded by it, held for review, or not stored."""
    found: set[UUID] = set()
    for one in items:
        if one.decision is None:
            if one.prepared is not None:
                found.add(one.prepared.item.memory_id)
            continue
        if one.decision.superseded:
            found.add(one.decision.superseded)
        if plan.current(one.decision.memory_id).state is not MemoryState.ACTIVE:
            found.add(one.decision.memory_id)
    return frozenset(found)


def _told(batch: Batch, revision: Revision, decision: Decision) -> Memory:
    """The memory that carries an item's statement, as far as the caller may read it.

    Of another's that was restated, and of one that waits for the place of a hidden one, its id and state.
    """
    context = batch.context
    principal = context.principal
    reads = principal.allows(Permission.RECALL) or principal.allows(Permission.REVIEW)
    own = revision.author == str(principal.credential_id)
    if decision.rule == OUT_OF_VIEW or not (own or (reads and batch.lets_change(revision))):
        return Memory(revision.memory_id, revision.state)
    return to_memory(batch.tenant_key, revision, batch.scope.kind, batch.scope.label)


def _touched(items: Sequence[_Item]) -> list[UUID]:
    touched: dict[UUID, None] = {}
    for one in items:
        if one.decision is None:
            continue
        touched[one.decision.memory_id] = None
        if one.decision.superseded is not None:
            touched[one.decision.superseded] = None
    return list(touched)


def _details(plan: WritePlan, one: _Item) -> dict[str, Any]:
    if one.decision is None:
        return dropped_details(one.judged)
    return written_details(one.decision, plan.current(one.decision.memory_id), one.judged)
