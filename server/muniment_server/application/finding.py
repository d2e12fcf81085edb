"""Finds the candidates of a Recall, checks their seals, and chooses those that are offered."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.content import Content
from muniment_server.domain.model import MemoryFilter, RetrievalLeg
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.recall import Aim, Candidate, RecallRows
from muniment_server.storage.recall import recall as find
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import leg_span

from .as_of import find_as_of
from .choosing import Choice, choose
from .explaining import leg_scores, score_factors
from .recall_types import Degradation, DegradationReason, LeftOutReason, NearMiss, Query, RecallCommand, Stage
from .scoping import scope_number
from .sealing import is_genuine, open_content
from .services import ModelChanged, Services


class _LookedFor(TypedDict):
    scope_id: UUID
    scope_no: int
    agent: str | None
    session: str | None
    restriction: MemoryFilter
    model_no: int
    aim: Aim
    min_score: float
    fetch: int
    excluded: Sequence[UUID]
    bound_agent: str | None


async def find_candidates(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    key: ScopeKey,
    scope_id: UUID,
    query: Query,
    min_score: float,
    fetch: int,
    excluded: Sequence[UUID],
    now: datetime,
) -> RecallRows:
    """Run the statement of Recall, for now or for the instant that is asked for."""
    looked_for: _LookedFor = {
        "scope_id": scope_id,
        "scope_no": scope_number(scope_id),
        "agent": command.scope.agent,
        "session": command.scope.session,
        "restriction": command.restriction,
        "model_no": query.live.model_no,
        "aim": query.aim,
        "min_score": min_score,
        "fetch": fetch,
        "excluded": excluded,
        "bound_agent": command.bound_agent,
    }
    if command.as_of is None:
        rows = await find(work, now=now, **looked_for)
    else:
        rows = await find_as_of(work, key, as_of=command.as_of, **looked_for)
    for leg, scores in (
        ("vector", [one.cosine for one in rows.candidates if one.cosine is not None]),
        ("lexical", [one.bm25 for one in rows.candidates if one.bm25 is not None]),
    ):
        with leg_span(leg, top_k=fetch) as span:
            span.update(
                {
                    names.LEG_RESULTS: len(scores),
                    names.LEG_SCORE_MAX: max(scores, default=None),
                    names.LEG_SCORE_MIN: min(scores, default=None),
                }
            )
    return rows


def hold_vectors_against(command: RecallCommand, query: Query, rows: RecallRows) -> None:
    """Raise ModelChanged when another model is in use by now; note what has no vector yet."""
    if query.aim.embedding is None:
        return
    if rows.model_in_use != query.live.model_no:
        raise ModelChanged
    query.degraded = [one for one in query.degraded if one.reason is not DegradationReason.EMBEDDINGS_PENDING]
    if rows.waiting:
        waited = command.strong or command.consistency_token is not None
        query.degraded.append(
            Degradation(
                Stage.CONSISTENCY if waited else Stage.LEG,
                RetrievalLeg.VECTOR,
                DegradationReason.EMBEDDINGS_PENDING,
                rows.waiting,
            )
        )


def sift(
    key: ScopeKey, tenant_id: UUID, candidates: Sequence[Candidate]
) -> tuple[list[tuple[Candidate, Content]], list[UUID]]:
    """The candidates whose seal holds, opened, and the ids of the others."""
    genuine = []
    broken = []
    for candidate in candidates:
        revision = candidate.revision
        try:
            if candidate.contradicted or not is_genuine(key, tenant_id, revision):
                raise CiphertextInvalid("seal")
            content = open_content(key, revision)
        except (CiphertextInvalid, ValueError):
            broken.append(revision.memory_id)
            continue
        genuine.append((candidate, content))
    return genuine, broken


def choose_offered(
    genuine: Sequence[tuple[Candidate, Content]], limit: int, share: float
) -> Choice[Candidate, Content]:
    """The offered candidates: those that always apply have their places, and the rest goes by relevance."""
    relevant = [one for one in genuine if one[0].found]
    pinned = [one for one in genuine if not one[0].found][: limit - 1 if relevant else limit]
    choice = choose(relevant, limit - len(pinned), share)
    chosen = sorted(choice.chosen + pinned, key=lambda one: (-one[0].score, one[0].revision.memory_id))
    return Choice(chosen, choice.capped)


def count_found(candidates: Sequence[Candidate]) -> int:
    """How many of the candidates are relevant; the others are there because they always apply."""
    return sum(1 for candidate in candidates if candidate.found)


async def find_near_misses(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    key: ScopeKey,
    scope_id: UUID,
    query: Query,
    min_score: float,
    choice: Choice[Candidate, Content],
    broken: Sequence[UUID],
    now: datetime,
) -> Sequence[NearMiss]:
    """The best candidates that are not offered, whatever their score; asked for apart, since rarely."""
    fetch = len(choice.chosen) + len(choice.capped) + command.near_miss_limit
    rows = await find_candidates(services, work, command, key, scope_id, query, 0.0, fetch, broken, now)
    offered = {candidate.revision.memory_id for candidate, _ in choice.chosen}
    capped = {candidate.revision.memory_id for candidate, _ in choice.capped}
    found = []
    for candidate, _ in sift(key, work.tenant_id, rows.candidates)[0]:
        memory_id = candidate.revision.memory_id
        if memory_id in offered:
            continue
        reason = LeftOutReason.LIMIT if candidate.score >= min_score else LeftOutReason.BELOW_MIN_SCORE
        found.append(
            NearMiss(
                memory_id,
                candidate.score,
                LeftOutReason.SOURCE_SHARE if memory_id in capped else reason,
                leg_scores(candidate, query.aim),
                score_factors(candidate, query.aim),
            )
        )
    return found[: command.near_miss_limit]
