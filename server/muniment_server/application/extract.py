"""Extraction: turns that were taken in become candidate memories, written with the rights of who ingested.

One worker at a time looks at a conversation, in its order. It holds it by a lease; what it makes of the turns
is stored in one transaction with the end of the job, and only while the lease is still its own. So a process
may be killed at any moment: either everything of an attempt is there, or nothing, and another one begins it
again when the lease is over.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import Enum
from uuid import UUID, uuid4

from muniment_server.audit.events import AuditAction, AuditOutcome
from muniment_server.domain.errors import IntegrityViolation, MunimentError, TransactionConflict
from muniment_server.domain.extraction.candidate import (
    Candidate,
    Extraction,
    ExtractorKind,
    Fallback,
    IngestState,
)
from muniment_server.domain.model import DEFAULT_TRUST, ClaimedProvenance, MemoryKind, NewMemory, Validity
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import holds, release, update_ingest, waiting_ingests
from muniment_server.storage.memories import open_write, scopes_of
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.logs import describe_exception
from muniment_server.telemetry.spans import ActiveSpan, span

from .applying import Applied, apply
from .batch import Batch, candidate_keys, gathered
from .extract_claim import (
    MOST_INGESTS,
    Abandoned,
    Changed,
    Claimed,
    Heard,
    Job,
    body_in,
    claim_due,
    read_turns,
)
from .ingest_body import IngestBody, Outcome, claimable
from .ingest_record import ingested_details
from .ingest_told import newest, told_of
from .repeating import Attempts
from .scoping import EpochChanged, usable_scope
from .sealing import ScopeChange
from .services import Services

_log = logging.getLogger("muniment.ingest")

_RELEASE_SECONDS = 2.0
MOST_RESULTS = 1_000
"""Outcomes kept of one ingest, so that every client can receive them; the audit has all."""


class Ran(Enum):
    """How one look ended."""

    NOTHING = 1
    """Nothing was due, or others are at it."""
    DONE = 2
    PUT_OFF = 3
    """It failed, and is tried again later or given up."""


async def extract_due(
    services: Services, tenant_id: UUID, conversation_id: UUID | None = None, seconds: float | None = None
) -> Ran:
    """Look at the conversation of the tenant that has been due for longest, or at the given one if it is due.

    seconds: that it may take; the installation's policy is the ceiling. Raises what storage and keys raise
    before anything is held; every later failure is recorded and tried again.
    """
    allowed = services.ingest.seconds if seconds is None else min(seconds, services.ingest.seconds)
    worker = uuid4()
    held: UUID | None = None
    try:
        claimed, held = await claim_due(services, tenant_id, worker, conversation_id)
        if claimed is None:
            return Ran.NOTHING if held is None else Ran.DONE
        try:
            async with asyncio.timeout(allowed):
                await _look(services, tenant_id, claimed, allowed)
        except (Abandoned, EpochChanged):
            return Ran.DONE
        except Changed:
            await _give_back(
                services, tenant_id, claimed.conversation.conversation_id, worker, services.clock()
            )
        except Exception as error:  # noqa: BLE001 - recorded, and tried again
            await _put_off(services, tenant_id, claimed, error)
            return Ran.PUT_OFF
    except asyncio.CancelledError:
        if held is not None:
            with suppress(Exception):
                async with asyncio.timeout(_RELEASE_SECONDS):
                    await asyncio.shield(_give_back(services, tenant_id, held, worker, services.clock()))
        raise
    return Ran.DONE


async def _give_back(
    services: Services, tenant_id: UUID, conversation: UUID, worker: UUID, due: datetime
) -> None:
    async with services.database.transaction(tenant_id, timeout=_RELEASE_SECONDS) as work:
        await release(work, conversation, worker, due)


# --- making -----------------------------------------------------------------------------------------


async def _look(services: Services, tenant_id: UUID, claimed: Claimed, seconds: float) -> None:
    body = claimed.jobs[0].body
    heard = await read_turns(services, tenant_id, claimed)
    context = body.writer.context(tenant_id, seconds)
    with span(
        names.SPAN_EXTRACT,
        {
            names.INGEST_ID: str(claimed.jobs[0].row.ingest_id),
            names.TENANT_ID: str(tenant_id),
            names.INGEST_TURNS: len(heard.turns),
        },
    ) as active:
        made = await _extracted(services, body.extractor, heard, seconds)
        _tell(active, made)
        items = [
            _item(context, claimed.conversation.session, heard, candidate) for candidate in made.candidates
        ]
        batch = (
            await gathered(services, context, heard.scope, items, path="candidates[{}]", extraction=True)
            if items
            else None
        )
        attempts = Attempts()
        while True:
            try:
                await _store(services, context, claimed, heard, made, batch)
            except TransactionConflict as conflict:
                await attempts.lost(conflict)
            else:
                break
    metrics().ingest_attempt(
        "done", made.by.name.lower(), made.fallback.name.lower() if made.fallback else None
    )
    services.on_recorded(tenant_id)


async def _extracted(services: Services, kind: ExtractorKind, heard: Heard, seconds: float) -> Extraction:
    if not heard.turns:
        return Extraction([], kind)
    extractor = services.extractors.get(kind)
    if extractor is None:
        # The model was taken out of the configuration meanwhile.
        rules = services.extractors[ExtractorKind.RULES]
        done = await rules.extract(heard.turns, heard.before)
        return replace(done, fallback=Fallback.LLM_UNAVAILABLE)
    # The rest is for vectors and the database.
    return await extractor.extract(heard.turns, heard.before, seconds * 0.7)


def _tell(active: ActiveSpan, made: Extraction) -> None:
    active.set(names.INGEST_EXTRACTOR, made.by.name.lower())
    active.set(names.INGEST_FALLBACK, made.fallback.name.lower() if made.fallback else None)
    active.set(names.INGEST_CANDIDATES, len(made.candidates))


def _item(context: CallContext, session: str, heard: Heard, candidate: Candidate) -> NewMemory:
    """A candidate as it is written: never better known or further trusted than its turns, or than the
    credential may say."""
    principal = context.principal
    source = claimable(principal, candidate.source) or min(
        principal.source_types, key=lambda one: (DEFAULT_TRUST[one], one), default=candidate.source
    )
    lowered = [heard.ceilings[number] for number in candidate.turn_numbers if number in heard.ceilings]
    times = [turn.time for turn in heard.turns if turn.number in candidate.turn_numbers and turn.time]
    said = min(times) if times and candidate.kind is not MemoryKind.EVENT else None
    return NewMemory(
        content=candidate.content,
        kind=candidate.kind,
        slot=candidate.slot,
        speaker=candidate.speaker,
        provenance=ClaimedProvenance(
            source_type=source,
            trust=min([DEFAULT_TRUST[candidate.source], *lowered]),
            confidence=candidate.confidence,
            session=session,
        ),
        validity=Validity(start=said),
    )


# --- storing ----------------------------------------------------------------------------------------


async def _store(
    services: Services,
    context: CallContext,
    claimed: Claimed,
    heard: Heard,
    made: Extraction,
    batch: Batch | None,
) -> None:
    """Everything of the attempt and the end of its jobs, in one transaction. Raises Abandoned, Changed,
    EpochChanged."""
    key, scope_id = claimed.key, claimed.conversation.scope_id
    now = services.clock()
    prepared = batch.prepared(key) if batch is not None else []
    hashes, slots = candidate_keys(prepared)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        also = batch.near.requests(prepared) if batch is not None else []
        opened = await open_write(work, scope_id, None, hashes, slots, also)
        row = usable_scope(context.tenant_id, key, heard.scope, opened.scope)
        waiting = await _still_ours(services, work, claimed, heard.found)
        done: Applied | None = None
        if batch is not None:
            change = ScopeChange(key, context.tenant_id, row)
            done = await apply(work, batch, change, prepared, opened.candidates, opened.also, now)
        for job in claimed.jobs:
            body = waiting.get(job.row.ingest_id)
            if body is not None:
                await _finish(work, services, context, claimed, job, body, made, done, now)
        left = await waiting_ingests(work, claimed.conversation.conversation_id, 1)
        due = now if left else None
        await release(work, claimed.conversation.conversation_id, claimed.worker, due)


async def _still_ours(
    services: Services, work: UnitOfWork, claimed: Claimed, found: frozenset[UUID]
) -> dict[UUID, IngestBody]:
    """The ingests as they are now, under the locks: a stream may have added to them, an erasure taken.

    found: memories of turns that must still be there. Raises Abandoned, Changed.
    """
    conversation = claimed.conversation
    if not await holds(work, conversation.conversation_id, claimed.worker):
        raise Abandoned
    if found - (await scopes_of(work, found)).keys():
        raise Changed
    ours = {job.row.ingest_id for job in claimed.jobs}
    rows = await waiting_ingests(work, conversation.conversation_id, MOST_INGESTS)
    rows = [row for row in rows if row.ingest_id in ours]
    tenant_key = await services.keys.tenant(work.tenant_id)
    try:
        told = await told_of(work, tenant_key, conversation, [row.ingest_id for row in rows])
        return {
            row.ingest_id: newest(body_in(claimed.key, conversation, row), told.get(row.ingest_id))
            for row in rows
        }
    except IntegrityViolation:
        # Whoever claims it next sees which of them, and refuses it.
        raise Changed from None


async def _finish(
    work: UnitOfWork,
    services: Services,
    context: CallContext,
    claimed: Claimed,
    job: Job,
    body: IngestBody,
    made: Extraction,
    done: Applied | None,
    now: datetime,
) -> None:
    numbers = {turn.number for turn in job.turns}
    places = [
        place
        for place, candidate in enumerate(made.candidates)
        # A candidate of turns of two ingests belongs to the later one.
        if max(number for number in candidate.turn_numbers if number in _all(claimed)) in numbers
    ]
    results = [
        Outcome.of(
            done.results[place], made.candidates[place].turn_numbers, made.candidates[place].extracted_by
        )
        for place in places
        if done is not None
    ]
    pending = tuple(one for one in body.pending if one.number not in numbers)
    state = IngestState.QUEUED if pending else IngestState.DONE
    after = replace(
        body,
        state=state,
        pending=pending,
        results=(*body.results, *results)[:MOST_RESULTS],
        by=made.by,
        fallback=made.fallback or body.fallback,
        looks=(body.looks or 0) + 1,
    )
    ended = None if pending else now
    await update_ingest(
        work, job.row.ingest_id, int(state), after.seal(claimed.key, job.row.ingest_id), ended
    )
    touched = {one: None for result in results for one in (result.memory_id, result.superseded) if one}
    await services.trail.record(
        work,
        await services.keys.tenant(context.tenant_id),
        context,
        AuditAction.INGEST,
        now=now,
        scope_id=claimed.conversation.scope_id,
        agent=claimed.conversation.agent,
        session=claimed.conversation.session,
        memory_ids=list(touched),
        source_types=frozenset(done.details[place]["source_type"] for place in places)
        if done is not None
        else frozenset(),
        details=ingested_details(
            job.row.ingest_id,
            state,
            [done.details[place] for place in places] if done is not None else [],
            made.by,
            made.fallback,
        ),
    )


def _all(claimed: Claimed) -> frozenset[int]:
    return frozenset(turn.number for job in claimed.jobs for turn in job.turns)


async def _put_off(services: Services, tenant_id: UUID, claimed: Claimed, error: Exception) -> None:
    """Record that an attempt failed: again after a pause, or given up."""
    now = services.clock()
    attempts = claimed.jobs[0].row.attempts + 1
    given_up = attempts >= services.ingest.attempts
    asked = claimed.jobs[0].body.extractor.name.lower()
    metrics().ingest_attempt("given_up" if given_up else "put_off", asked, None)
    _log.warning(
        "memories of conversation %s could not be made (attempt %d%s): %s",
        claimed.conversation.conversation_id,
        attempts,
        ", given up" if given_up else "",
        describe_exception(error),
    )
    try:
        async with services.database.transaction(tenant_id, timeout=10.0) as work:
            if not given_up:
                due = now + services.ingest.pause_after(attempts)
                await release(work, claimed.conversation.conversation_id, claimed.worker, due)
                return
            try:
                waiting = await _still_ours(services, work, claimed, frozenset())
            except Abandoned:
                return
            await _give_up(services, work, tenant_id, claimed, waiting, error, now)
        services.on_recorded(tenant_id)
    except Exception as fault:  # noqa: BLE001 - the lease ends by itself
        _log.warning("a failed attempt could not be recorded: %s", describe_exception(fault))


async def _give_up(
    services: Services,
    work: UnitOfWork,
    tenant_id: UUID,
    claimed: Claimed,
    waiting: dict[UUID, IngestBody],
    error: Exception,
    now: datetime,
) -> None:
    context = claimed.jobs[0].body.writer.context(tenant_id, 10.0)
    for ingest_id, body in waiting.items():
        failed = replace(body, state=IngestState.FAILED, pending=(), looks=(body.looks or 0) + 1)
        await update_ingest(
            work, ingest_id, int(IngestState.FAILED), failed.seal(claimed.key, ingest_id), now
        )
        await services.trail.record(
            work,
            await services.keys.tenant(tenant_id),
            context,
            AuditAction.INGEST,
            now=now,
            outcome=AuditOutcome.FAILED,
            reason=error.reason if isinstance(error, MunimentError) else "INTERNAL",
            scope_id=claimed.conversation.scope_id,
            agent=claimed.conversation.agent,
            session=claimed.conversation.session,
            details=ingested_details(ingest_id, IngestState.FAILED, []),
        )
    left = await waiting_ingests(work, claimed.conversation.conversation_id, 1)
    await release(work, claimed.conversation.conversation_id, claimed.worker, now if left else None)
