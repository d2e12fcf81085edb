"""What a worker knows before it makes memories of turns: a conversation that it holds, and what was said."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.extraction.candidate import IngestState, Turn, TurnRole
from muniment_server.domain.model import DEFAULT_TRUST, MemoryKind, MemoryState, Revision, Scope, TrustLevel
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import (
    Conversation,
    IngestRow,
    claim,
    count_attempt,
    release,
    remove_ingests,
    turns_before,
    update_ingest,
    waiting_ingests,
)
from muniment_server.storage.memories import read_memories, read_scopes
from muniment_server.telemetry.instruments import metrics

from .ingest_body import IngestBody, PendingTurn, conversation_id, open_body, role_of
from .ingest_told import newest, told_of
from .scoping import read_label, reading_key
from .sealing import is_genuine, open_content
from .services import Services

_log = logging.getLogger("muniment.ingest")

MOST_INGESTS = 100


class Abandoned(Exception):
    """The conversation is not ours any more: erased, or taken over after the lease."""


class Changed(Exception):
    """A turn that was looked at was erased meanwhile: begin again without it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One ingest, with those of its turns that are looked at now."""

    row: IngestRow
    body: IngestBody
    turns: tuple[PendingTurn, ...]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A conversation that is held, with what is to be done in it."""

    conversation: Conversation
    worker: UUID
    key: ScopeKey
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said. before: turns that came earlier. found: memories of the turns that there are.

    ceilings: by turn, where a gate lowered the trust of what was said.
    """

    scope: Scope
    turns: tuple[Turn, ...]
    before: tuple[Turn, ...]
    found: frozenset[UUID]
    ceilings: dict[int, TrustLevel]


async def claim_due(
    services: Services, tenant_id: UUID, worker: UUID, conversation_id: UUID | None
) -> tuple[Claimed | None, UUID | None]:
    """A conversation with what is to be done in it; and which one was held, if any."""
    now = services.clock()
    lease = now + timedelta(seconds=services.ingest.seconds + 10.0)
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        conversation = await claim(work, worker, now, lease, conversation_id)
        if conversation is None:
            return None, None
        jobs = await _jobs(services, work, conversation)
        if not jobs:
            await release(work, conversation.conversation_id, worker, None)
            return None, conversation.conversation_id
        await count_attempt(work, [job.row.ingest_id for job, _ in jobs])
    claimed = Claimed(conversation, worker, jobs[0][1], tuple(job for job, _ in jobs))
    return claimed, conversation.conversation_id


async def _jobs(
    services: Services, work: UnitOfWork, conversation: Conversation
) -> list[tuple[Job, ScopeKey]]:
    """The first ingests that wait, as long as they have the same rights and extractor."""
    tenant_key = await services.keys.tenant(work.tenant_id)
    if not is_genuine_conversation(tenant_key, conversation):
        await _refuse_all(services, work, conversation)
        return []
    jobs: list[tuple[Job, ScopeKey]] = []
    room = services.ingest.turns
    rows = await waiting_ingests(work, conversation.conversation_id, MOST_INGESTS)
    try:
        told = await told_of(work, tenant_key, conversation, [row.ingest_id for row in rows])
    except IntegrityViolation:
        await _refuse_all(services, work, conversation)
        return []
    for row in rows:
        key = await reading_key(services.keys, work.tenant_id, conversation.scope_id, row.key_epoch)
        if key is None:
            # Of an epoch that was erased: nobody can read it any more.
            await remove_ingests(work, conversation.scope_id, [conversation.conversation_id])
            return []
        try:
            body = newest(body_in(key, conversation, row), told.get(row.ingest_id))
        except IntegrityViolation:
            await _refuse(services, work, row)
            continue
        if jobs and not (
            body.extractor is jobs[0][0].body.extractor
            and body.writer.same_rights(jobs[0][0].body.writer)
            and row.key_epoch == jobs[0][0].row.key_epoch
        ):
            break
        turns = body.pending[:room]
        jobs.append((Job(row, body, turns), key))
        room -= len(turns)
        if room <= 0:
            break
    return jobs


def is_genuine_conversation(key: TenantKey, conversation: Conversation) -> bool:
    """Whether scope, agent and session are those that the id was made of."""
    made = conversation_id(key, conversation.scope_id, conversation.agent, conversation.session)
    return made == conversation.conversation_id


def body_in(key: ScopeKey, conversation: Conversation, row: IngestRow) -> IngestBody:
    """What an ingest of a conversation holds.

    Raises IntegrityViolation for one that the service did not write, or wrote for another agent.
    """
    body = open_body(key, row.ingest_id, row.body_ct)
    if body.agent != conversation.agent:
        raise IntegrityViolation()
    return body


async def _refuse(services: Services, work: UnitOfWork, row: IngestRow) -> None:
    """Queue that nothing is made of an ingest that is not what the service recorded."""
    metrics().integrity_violation(1)
    _log.error("ingest %s is not what the service recorded; nothing is made of it", row.ingest_id)
    await update_ingest(work, row.ingest_id, IngestState.FAILED, row.body_ct, services.clock())


async def _refuse_all(services: Services, work: UnitOfWork, conversation: Conversation) -> None:
    """Whose word the turns are, and who may see what is made of them, is not known any more."""
    while rows := await waiting_ingests(work, conversation.conversation_id, MOST_INGESTS):
        for row in rows:
            await _refuse(services, work, row)


async def read_turns(services: Services, tenant_id: UUID, claimed: Claimed) -> Heard:
    """What was said in the turns of a claimed conversation, as far as it is still there and genuine.

    Raises IntegrityViolation where the scope is not what the service stored.
    """
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        return await _read(services, work, claimed)


async def _read(services: Services, work: UnitOfWork, claimed: Claimed) -> Heard:
    conversation, key, jobs = claimed.conversation, claimed.key, claimed.jobs
    scopes = await read_scopes(work, [conversation.scope_id])
    row = scopes.get(conversation.scope_id)
    label = read_label(key, row) if row is not None else None
    if row is None or label is None:
        raise IntegrityViolation()
    pending = {one.number: one for job in jobs for one in job.turns}
    first = min(pending, default=0)
    earlier = await turns_before(work, conversation, first, services.ingest.before) if pending else []
    ids = [one.memory_id for one in pending.values()]
    revisions = {
        revision.memory_id: revision
        for revision, contradicted in await read_memories(work, [*ids, *earlier])
        if not contradicted and _usable(key, work.tenant_id, conversation, revision)
    }
    turns = []
    ceilings: dict[int, TrustLevel] = {}
    for number in sorted(pending):
        one = pending[number]
        revision = revisions.get(one.memory_id)
        if revision is None or revision.turn_number != number:
            continue
        turns.append(_turn(key, revision, one.role))
        usual = min(DEFAULT_TRUST[revision.source_type], TrustLevel(jobs[0].body.writer.max_trust))
        if revision.trust < usual:
            ceilings[number] = revision.trust
    before = [
        _turn(key, revisions[memory_id], role_of(revisions[memory_id].source_type))
        for memory_id in reversed(earlier)
        if memory_id in revisions
    ]
    return Heard(
        Scope(row.kind, label, conversation.agent),
        tuple(turns),
        tuple(before),
        frozenset(revisions) & frozenset(ids),
        ceilings,
    )


def _usable(key: ScopeKey, tenant_id: UUID, conversation: Conversation, revision: Revision) -> bool:
    return (
        revision.state is MemoryState.ACTIVE
        and revision.kind is MemoryKind.TURN
        and revision.turn_number is not None
        and revision.scope_id == conversation.scope_id
        and revision.origin_session == conversation.session
        and revision.agent == conversation.agent
        and is_genuine(key, tenant_id, revision)
    )


def _turn(key: ScopeKey, revision: Revision, role: TurnRole) -> Turn:
    content = open_content(key, revision)
    return Turn(revision.turn_number or 0, role, content.text, content.speaker, revision.valid_from)
