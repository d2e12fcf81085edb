"""Finds the candidates of a Recall, checks their seals, and chooses those that are offered."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.content import Content
from muniment_server.domain.model import MemoryFilter, RetrievalLeg
from muniment_server.domain.settings import TenantSettings
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import read_memories, read_scopes
from muniment_server.storage.recall import Aim, Candidate, RecallRows
from muniment_server.storage.recall import recall as find
from muniment_server.telemetry.spans import stage_timing

from .as_of import find_as_of
from .choosing import Choice, choose, most_of_source
from .consenting import is_withheld
from .explaining import leg_scores, score_factors
from .leg_spans import tell_legs
from .recall_query import VECTOR_LEGS
from .recall_types import Degradation, DegradationReason, LeftOutReason, NearMiss, Query, RecallCommand, Stage
from .reranking import Reranking
from .scoping import EpochChanged, scope_number
from .sealing import is_genuine, open_content
from .services import ModelChanged, Services

_SPARE = 5
_MOST_FETCHED = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to choose from, best first. rows: None where there is no scope.

    broken: memories whose seal does not hold. changed: how many relevant ones are not what they were when
    they were found; changed_pinned: the same of those that always apply. choice: which of them are offered
    where nothing reads them again, once that was looked at.
    """

    rows: RecallRows | None = None
    genuine: Sequence[tuple[Candidate, Content]] = ()
    broken: list[UUID] = field(default_factory=list)
    changed: int = 0
    changed_pinned: int = 0
    choice: Choice[Candidate, Content] | None = None


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
    *,
    limit: int = 0,
    source_most: int = 0,
) -> RecallRows:
    """Run the statement of Recall, for now or for the instant that is asked for.

    limit, source_most: see `storage.recall.recall`; the past is asked without.
    """
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
    with stage_timing("find"):
        if command.as_of is None:
            rows = await find(
                work,
                now=now,
                limit=limit,
                source_most=source_most,
                exact_rows=services.exact_rows,
                **looked_for,
            )
        else:
            rows = await find_as_of(work, key, as_of=command.as_of, **looked_for)
    tell_legs(command.legs, rows.candidates, fetch)
    return rows


async def find_relevant(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    tenant_key: TenantKey,
    key: ScopeKey,
    scope_id: UUID,
    query: Query,
    settings: TenantSettings,
    min_score: float,
    now: datetime,
) -> Found:
    """Enough genuine candidates to fill the answer, where there are so many.

    Raises EpochChanged and ModelChanged when key or model are others by now.
    """
    fetch = command.limit + _SPARE
    if services.reranker is not None:
        fetch = max(fetch, services.rerank_policy.candidates)
    broken: list[UUID] = []
    while True:
        rows = await find_candidates(
            services,
            work,
            command,
            key,
            scope_id,
            query,
            min_score,
            fetch,
            broken,
            now,
            limit=command.limit,
            source_most=most_of_source(command.limit, settings.packing.source_share),
        )
        if rows.key_epoch is not None and rows.key_epoch != key.epoch:
            raise EpochChanged(scope_id, rows.key_epoch)
        if await is_withheld(work, tenant_key, key, rows.scope, settings):
            return Found(rows.without_any(), (), broken)
        hold_vectors_against(command, query, rows)
        query.considered = rows.total - rows.other_state - rows.expired - rows.filtered
        genuine, found_broken = sift(key, work.tenant_id, rows.candidates)
        broken += found_broken
        # Behind one that always applies there may be another one, which has its place now.
        if any(one.revision.memory_id in found_broken for one in rows.candidates if not one.found):
            continue
        choice = choose_offered(genuine, command.limit, settings.packing.source_share, Reranking())
        if len(choice.chosen) == command.limit or count_found(rows.candidates) < fetch:
            return Found(rows, genuine, broken, choice=choice)
        if not found_broken:
            # One source has too many among the best: whoever comes behind them has their places. When it is
            # asked for now, the statement has found those already.
            if command.as_of is None or fetch >= _MOST_FETCHED:
                return Found(rows, genuine, broken)
            fetch = min(fetch * 4, _MOST_FETCHED)


async def find_again(
    work: UnitOfWork,
    command: RecallCommand,
    tenant_key: TenantKey,
    key: ScopeKey,
    scope_id: UUID,
    found: Found,
    settings: TenantSettings,
) -> Found:
    """What is left of it after a time without a transaction, in which all may have been erased.

    Raises EpochChanged when that destroyed the key.
    """
    if found.rows is None or not found.genuine:
        return found
    scope = (await read_scopes(work, [scope_id])).get(scope_id)
    if scope is not None and scope.key_epoch != key.epoch:
        raise EpochChanged(scope_id, scope.key_epoch)
    if await is_withheld(work, tenant_key, key, scope, settings):
        return Found(found.rows.without_any(), (), found.broken)
    stored = await read_memories(work, [one.revision.memory_id for one, _ in found.genuine])
    current = {revision.memory_id: revision for revision, _ in stored}

    def stands(candidate: Candidate) -> bool:
        before, after = candidate.revision, current.get(candidate.revision.memory_id)
        if after is None or command.as_of is not None:
            # What was known at an instant stays so, unless it is erased.
            return after is not None
        return (after.revision, after.state) == (before.revision, before.state)

    left = [one for one in found.genuine if stands(one[0])]
    relevant = count_relevant(found.genuine) - count_relevant(left)
    gone = len(found.genuine) - len(left)
    return replace(found, genuine=left, changed=relevant, changed_pinned=gone - relevant)


def hold_vectors_against(command: RecallCommand, query: Query, rows: RecallRows) -> None:
    """Raise ModelChanged when another model is in use by now; note what has no vector yet."""
    waited = command.strong or command.consistency_token is not None
    if query.aim.embedding is not None:
        if rows.model_in_use != query.live.model_no:
            raise ModelChanged
    elif not waited or not any(leg in VECTOR_LEGS for leg in command.legs):
        return
    query.degraded = [one for one in query.degraded if one.reason is not DegradationReason.EMBEDDINGS_PENDING]
    if rows.waiting:
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
    genuine: Sequence[tuple[Candidate, Content]], limit: int, share: float, reranking: Reranking
) -> Choice[Candidate, Content]:
    """The offered candidates: those that always apply have their places, and the rest goes by relevance."""

    def place(one: tuple[Candidate, Content]) -> tuple[float, UUID]:
        return -reranking.score(one[0]), one[0].revision.memory_id

    relevant = sorted((one for one in genuine if one[0].found), key=place)
    pinned = [one for one in genuine if not one[0].found][: limit - 1 if relevant else limit]
    choice = choose(relevant, limit - len(pinned), share)
    return Choice(sorted(choice.chosen + pinned, key=place), choice.capped)


def count_found(candidates: Sequence[Candidate]) -> int:
    """How many of the candidates are relevant; the others are there because they always apply."""
    return sum(1 for candidate in candidates if candidate.found)


def count_dropped(found: Found, kept: Sequence[tuple[Candidate, Content]], min_score: float) -> int:
    """How many of the relevant ones the reranker left below the minimum score, kept being those above it.

    What was not fetched scores no more than the last that was, and was not read.
    """
    dropped = count_relevant(found.genuine) - count_relevant(kept)
    if found.rows is None:
        return dropped
    scores = [one.score for one in found.rows.candidates if one.found]
    behind = found.rows.relevant - len(scores)
    return dropped + (behind if scores and min(scores) < min_score else 0)


def count_relevant(genuine: Sequence[tuple[Candidate, Content]]) -> int:
    """The same of opened candidates."""
    return count_found([candidate for candidate, _ in genuine])


async def find_near_misses(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    key: ScopeKey,
    scope_id: UUID,
    query: Query,
    least: float,
    min_score: float,
    choice: Choice[Candidate, Content],
    returned: int,
    found: Found,
    now: datetime,
    reranking: Reranking,
) -> Sequence[NearMiss]:
    """The best candidates that are not offered, whatever their score; asked for apart, since rarely.

    least: the threshold that was in force before a reranker moved scores. returned: how many of the chosen
    ones the answer has room for.
    """
    fetch = len(choice.chosen) + len(choice.capped) + command.near_miss_limit
    rows = await find_candidates(services, work, command, key, scope_id, query, 0.0, fetch, found.broken, now)
    chosen = [candidate.revision.memory_id for candidate, _ in choice.chosen]
    offered, large = set(chosen[:returned]), set(chosen[returned:])
    capped = {candidate.revision.memory_id for candidate, _ in choice.capped}
    genuine = {candidate.revision.memory_id for candidate, _ in found.genuine}
    ranked = found.rows.candidates if found.rows else ()
    changed = {one.revision.memory_id for one in ranked if one.found} - genuine - set(found.broken)
    low = min_score if services.reranker is None else min(least, min_score)

    def reason(candidate: Candidate) -> LeftOutReason:
        memory_id = candidate.revision.memory_id
        if memory_id in changed:
            return LeftOutReason.CHANGED
        if memory_id in large:
            return LeftOutReason.RESPONSE_SIZE
        if memory_id in capped:
            return LeftOutReason.SOURCE_SHARE
        if is_relevant(candidate, low, query.aim) and reranking.reaches(candidate, min_score):
            return LeftOutReason.LIMIT
        return LeftOutReason.BELOW_MIN_SCORE if min_score > 0 else LeftOutReason.NO_MATCH

    missed = []
    for candidate, _ in sift(key, work.tenant_id, rows.candidates)[0]:
        memory_id = candidate.revision.memory_id
        if memory_id in offered:
            continue
        legs = leg_scores(candidate, query.aim)
        missed.append(
            NearMiss(
                memory_id,
                reranking.score(candidate),
                reason(candidate),
                legs,
                (*score_factors(candidate, query.aim, legs), *reranking.factors(candidate)),
                candidate.evidence,
            )
        )
    missed.sort(key=lambda one: (-one.score, one.memory_id))
    return missed[: command.near_miss_limit]


def is_relevant(candidate: Candidate, min_score: float, aim: Aim) -> bool:
    """Whether a candidate counts as found; as in sql/recall.sql."""
    return (
        candidate.score >= min_score
        and (candidate.score > 0 or candidate.cosine is not None)
        and (aim.reciprocal or candidate.evidence >= min_score)
    )
