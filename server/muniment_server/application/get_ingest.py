"""GetIngest: how far an ingest has come, and what became of the candidates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import IngestNotFound, IntegrityViolation
from muniment_server.domain.extraction.candidate import Fallback, IngestState
from muniment_server.domain.model import Memory, MemoryState, ScopeKind, ScopeRow
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import read_ingests
from muniment_server.storage.memories import read_memories, read_scopes, tombstones

from .ingest_body import IngestBody, Outcome, open_body
from .read import MAX_PAGE_BYTES
from .scoping import agent_in_reach, in_reach, read_label, reading_key
from .sealing import is_genuine
from .services import Services
from .viewing import may_name, shows, view_of
from .views import to_memory, weight

_MOST_BYTES = MAX_PAGE_BYTES // 2
"""Of memories; the answer to an ingest names its turns and findings besides."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of one candidate."""

    result: WriteResult
    turn_numbers: Sequence[int]
    extracted_by: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest has come."""

    ingest_id: UUID
    state: IngestState
    extracted: list[Extracted]
    fallback: Fallback | None
    attempts: int
    create_time: datetime
    end_time: datetime | None


async def get_ingest(services: Services, context: CallContext, ingest_id: UUID) -> Progress:
    """The ingest as it stands now. Of a candidate that the agent's view hides only the outcome is told.

    Raises IngestNotFound, also for one in a space out of the view, and IntegrityViolation.
    """
    tenant_id = context.tenant_id
    tenant_key = await services.keys.tenant(tenant_id)
    view = await view_of(services, context)
    async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
        rows = await read_ingests(work, [ingest_id], services.clock())
        if not rows or not in_reach(context, tenant_key, rows[0].scope_id):
            raise IngestNotFound(str(ingest_id))
        row = rows[0]
        key = await reading_key(services.keys, tenant_id, row.scope_id, row.key_epoch)
        if key is None:
            # Erased a moment ago, or an older copy of the data.
            raise IngestNotFound(str(ingest_id))
        body = open_body(key, ingest_id, row.body_ct)
        if not agent_in_reach(context, body.agent):
            raise IngestNotFound(str(ingest_id))
        scope, label = await _place(work, key, row.scope_id)
        if view is not None and not may_name(view, scope.kind, label):
            raise IngestNotFound(str(ingest_id))
        memories, hidden = await _memories(work, tenant_key, key, scope.kind, label, body, view)
    state = body.state
    if state is IngestState.QUEUED and row.leased:
        state = IngestState.RUNNING
    if row.state == IngestState.FAILED and not body.state.ended:
        raise IntegrityViolation()
    return Progress(
        ingest_id,
        state,
        _extracted(body, memories, hidden),
        body.fallback,
        row.attempts,
        row.create_time,
        row.end_time,
    )


async def _place(work: UnitOfWork, key: ScopeKey, scope_id: UUID) -> tuple[ScopeRow, str]:
    scope = (await read_scopes(work, [scope_id])).get(scope_id)
    label = read_label(key, scope) if scope is not None else None
    if scope is None or label is None:
        raise IntegrityViolation()
    return scope, label


async def _memories(
    work: UnitOfWork,
    tenant_key: TenantKey,
    key: ScopeKey,
    kind: ScopeKind,
    label: str,
    body: IngestBody,
    view: AgentView | None,
) -> tuple[dict[UUID, Memory], set[UUID]]:
    """The memories of the results as they are now, without their contents; a tombstone for erased ones.
    And those among them that the view hides."""
    ids = list({one.memory_id for one in body.results if one.memory_id is not None})
    if not ids:
        return {}, set()
    found: dict[UUID, Memory] = {}
    hidden: set[UUID] = set()
    for revision, contradicted in await read_memories(work, ids):
        if contradicted or not is_genuine(key, work.tenant_id, revision):
            continue
        if shows(view, revision):
            found[revision.memory_id] = to_memory(tenant_key, revision, kind, label)
        else:
            hidden.add(revision.memory_id)
    for memory_id, gone in (await tombstones(work, ids)).items():
        found[memory_id] = Memory(memory_id, MemoryState.ERASED, erase_time=gone["erase_time"])
    return found, hidden


def _extracted(body: IngestBody, memories: dict[UUID, Memory], hidden: set[UUID]) -> list[Extracted]:
    """The results; once their memories fill an answer, only the ids and states of further ones."""
    extracted: list[Extracted] = []
    used = 0
    for one in body.results:
        result = _result(one, memories, hidden)
        if result.memory is not None:
            used += weight(result.memory)
            if used > _MOST_BYTES:
                result = replace(result, memory=Memory(result.memory.memory_id, result.memory.state))
        extracted.append(Extracted(result, one.turn_numbers, one.extracted_by))
    return extracted


def _result(one: Outcome, memories: dict[UUID, Memory], hidden: set[UUID]) -> WriteResult:
    if one.memory_id in hidden:
        return WriteResult(outcome=one.outcome, memory=None, rule=one.rule)
    memory = None
    if one.memory_id is not None:
        # One whose seal does not hold is named, and nothing is said of it.
        memory = memories.get(one.memory_id) or Memory(one.memory_id, MemoryState.QUARANTINED)
    return WriteResult(
        outcome=one.outcome,
        memory=memory,
        superseded=one.superseded,
        embedding_state=one.embedding_state,
        rule=one.rule,
        findings=one.findings,
        factors=one.factors,
    )
