"""Some items on their way into one scope, whoever writes them: Write, an ingest, an extraction, an import.

`gathered` does everything that needs no lock: provenance, gates, index terms, vectors. `apply` does the rest
under the lock of the scope's row, in the caller's transaction; the caller records the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from muniment_server.audit.events import to_millionths
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import (
    EmbeddingState,
    Memory,
    MemoryState,
    NewMemory,
    Revision,
    Scope,
    WriteOutcome,
)
from muniment_server.domain.settings import TenantSettings
from muniment_server.domain.write_plan import OUT_OF_VIEW, Decision, WritePlan
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.telemetry.instruments import metrics

from .admission import admitted
from .conflicts import Near
from .gating import screen
from .judging import judged, reviewed, still_proposed
from .preparing import Prepared, analyse, prepare, stamp
from .review_notes import note_review
from .sealing import ScopeChange, is_genuine
from .services import Services
from .vectors import ItemVector
from .vectors import vectors as made_vectors
from .viewing import lets_change, view_of
from .views import to_memory

ALREADY_STORED = "ALREADY_STORED"
"""Rule: the subject has this statement already, live or archived."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What stays the same in every attempt to store some items. screened: every item after the gates.

    kept: those that no gate dropped, with what the index and the models make of them.
    """

    services: Services
    context: CallContext
    scope: Scope
    scope_id: UUID
    tenant_key: TenantKey
    settings: TenantSettings
    screened: Sequence[Screened]
    kept: Sequence[Screened]
    analysed: Sequence[IndexTerms]
    made: Sequence[ItemVector]
    near: Near
    view: AgentView | None = None

    def prepared(self, key: ScopeKey) -> list[Prepared]:
        """The kept items, hashed and encrypted under the scope's key."""
        return prepare(key, self.kept, self.analysed, self.made)


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


async def gathered(
    services: Services,
    context: CallContext,
    scope: Scope,
    items: Sequence[NewMemory],
    *,
    path: str = "items[{}]",
    extraction: bool = False,
    near: bool = True,
) -> Batch:
    """Everything about items that needs no lock; the scope is bound, the items are checked.

    path, extraction: see `gating.screen`. near: whether memories near to them are looked for.
    Raises ContentRefused, SourceNotAllowed, EmbedderUnavailable, Overloaded.
    """
    provenances = [stamp(context, item, index, scope.session) for index, item in enumerate(items)]
    tenant_key = await services.keys.tenant(context.tenant_id)
    settings = await services.settings.of(context.tenant_id)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    screened = await screen(services, context.tenant_id, items, provenances, path=path, extraction=extraction)
    kept = [one for one in screened if not one.dropped]
    analysed = await analyse([one.item for one in kept])
    made = await item_vectors(services, context, [one.item for one in kept])
    most = settings.review.conflicts if near else 0
    around = await Near.of(services, context, scope, scope_id, most)
    view = await view_of(services, context)
    batch = Batch(
        services, context, scope, scope_id, tenant_key, settings, screened, kept, analysed, made, around, view
    )
    return await _judged(batch) if near else batch


async def narrowed(batch: Batch, scope: Scope, places: Sequence[int]) -> Batch:
    """Some items of a batch that was gathered without what is near, for the scope narrowed to them."""
    numbers: dict[int, int] = {}
    for place, one in enumerate(batch.screened):
        if not one.dropped:
            numbers[place] = len(numbers)
    kept = [numbers[place] for place in places if place in numbers]
    near = await Near.of(
        batch.services, batch.context, scope, batch.scope_id, batch.settings.review.conflicts
    )
    return await _judged(
        replace(
            batch,
            scope=scope,
            screened=[batch.screened[place] for place in places],
            kept=[batch.kept[number] for number in kept],
            analysed=[batch.analysed[number] for number in kept],
            made=[batch.made[number] for number in kept],
            near=near,
        )
    )


async def _judged(batch: Batch) -> Batch:
    """The batch with what a judge says, where there is one and the tenant wants to hear it."""
    policy = batch.settings.review.judge
    if batch.services.judge is None or policy == "off":
        return batch
    said, merges = await judged(batch.services, batch.context, batch.near, batch.kept, batch.prepared)
    heard = replace(batch, near=replace(batch.near, judged=said))
    if policy != "review":
        return heard
    return replace(
        heard,
        screened=reviewed(batch.screened, said, merges),
        kept=reviewed(batch.kept, said, merges),
    )


def candidate_keys(prepared: Sequence[Prepared]) -> tuple[list[bytes], list[str]]:
    """Statement hashes and slots by which the live memories are found that items may restate or replace."""
    hashes = sorted({one.item.statement_hash for one in prepared})
    slots = sorted({one.item.slot for one in prepared if one.item.slot is not None})
    return hashes, slots


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
    services, context, key = batch.services, batch.context, change.key
    first_doc = change.scope.next_doc if next_doc is None else next_doc
    live, broken = _sifted(key, context.tenant_id, batch.scope, prepared, candidates)
    hidden = {one.memory_id for one in live if not _lets_change(batch, one)}
    plan = WritePlan(batch.scope, batch.scope_id, key.epoch, first_doc, now, hidden)
    plan.load(live)
    screened, prepared = await still_proposed(work, key, batch.scope_id, batch.screened, prepared)
    judged = admitted(change.scope, batch.settings, batch.scope, screened)
    ready = iter(prepared)
    items = [None if one.dropped else next(ready) for one in screened]
    judged = [
        replace(gate, verdict=Verdict.DROP, gate="", rule=ALREADY_STORED)
        if one is not None and not gate.dropped and not archived.get(one.item.memory_id, True)
        else gate
        for one, gate in zip(items, judged, strict=True)
    ]
    decisions = [
        None
        if one is None or gate.dropped
        else plan.archive(one.item)
        if one.item.memory_id in archived
        else plan.write(one.item)
        for one, gate in zip(items, judged, strict=True)
    ]
    await store_plan(work, services, change, plan, prepared, now, quiet=quiet, closing=next_doc is None)
    results = _results(batch, key, plan, items, judged, decisions, also, change.scope.live_count)
    for result in () if quiet else results:
        metrics().written(result.outcome.name.lower())
    if broken:
        await services.trail.integrity_violation(
            work,
            batch.tenant_key,
            context,
            now=now,
            scope_id=batch.scope_id,
            memory_ids=broken,
            check="seal",
        )
    return Applied(
        results,
        judged,
        _touched(decisions),
        [
            dropped_details(one)
            if decision is None
            else written_details(decision, plan.current(decision.memory_id), one)
            for decision, one in zip(decisions, judged, strict=True)
        ],
        frozenset(int(one.provenance.source_type) for one in judged),
        plan.next_doc,
    )


async def item_vectors(
    services: Services, context: CallContext, items: Sequence[NewMemory]
) -> list[ItemVector]:
    """The vectors of a call's items, as the policy of the installation has it; see `vectors.vectors`."""
    return await made_vectors(
        services.models,
        items,
        services.write_policy,
        services.backlog,
        context.remaining(),
        tenant_id=context.tenant_id,
    )


def _results(
    batch: Batch,
    key: ScopeKey,
    plan: WritePlan,
    items: Sequence[Prepared | None],
    judged: Sequence[Screened],
    decisions: Sequence[Decision | None],
    also: Sequence[Sequence[Row]],
    live_count: int,
) -> list[WriteResult]:
    written = [
        (place, one, decision)
        for place, (one, decision) in enumerate(zip(items, decisions, strict=True))
        if one is not None
    ]
    stored = [decision.memory_id if decision else one.item.memory_id for _, one, decision in written]
    conflicts = batch.near.found(
        key,
        batch.context.tenant_id,
        [one for _, one, _ in written],
        [judged[place].indexed for place, _, _ in written],
        also,
        stored,
        _not_live(plan, written),
    )
    left_out = batch.near.left_out([one for _, one, _ in written], bool(also), live_count)
    near = {
        place: (found, partial)
        for (place, _, _), found, partial in zip(written, conflicts, left_out, strict=True)
    }
    results = []
    for place, (one, gate, decision) in enumerate(zip(items, judged, decisions, strict=True)):
        if one is None or decision is None:
            results.append(
                WriteResult(
                    WriteOutcome.DROPPED, None, rule=gate.rule, findings=gate.findings, factors=gate.factors
                )
            )
            continue
        results.append(
            WriteResult(
                outcome=decision.outcome,
                memory=_told(batch, plan.current(decision.memory_id), decision),
                superseded=decision.superseded,
                embedding_state=one.vector.state,
                rule=decision.rule,
                findings=gate.findings,
                factors=gate.factors,
                conflicts=tuple(near[place][0]),
                conflicts_partial=near[place][1],
            )
        )
    return results


def _lets_change(batch: Batch, revision: Revision) -> bool:
    return lets_change(batch.view, batch.context, batch.scope.kind, batch.scope.label, revision)


def _told(batch: Batch, revision: Revision, decision: Decision) -> Memory:
    """The memory that carries an item's statement, as far as the caller may read it.

    Of another's that was restated, and of one that waits for the place of a hidden one, its id and state.
    """
    context = batch.context
    principal = context.principal
    reads = principal.allows(Permission.RECALL) or principal.allows(Permission.REVIEW)
    own = revision.author == str(principal.credential_id)
    if decision.rule == OUT_OF_VIEW or not (own or (reads and _lets_change(batch, revision))):
        return Memory(revision.memory_id, revision.state)
    return to_memory(batch.tenant_key, revision, batch.scope.kind, batch.scope.label)


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
        there = (revision.agent, revision.session) == (scope.agent, scope.session)
        if revision.slot in slots and there and revision.state is MemoryState.ACTIVE:
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
