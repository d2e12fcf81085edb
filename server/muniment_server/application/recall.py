"""Recall: what is relevant to a query, ranked, explained and receipted."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from enum import IntEnum
from typing import TypedDict
from uuid import UUID

from pgvector import HalfVector

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.content import Content
from muniment_server.domain.errors import (
    EmbedderUnavailable,
    EmbeddingModelMismatch,
    FieldViolation,
    IntegrityViolation,
    InvalidRequest,
    MunimentError,
)
from muniment_server.domain.ids import new_id
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import Fusion, Memory, MemoryFilter, RetrievalLeg, Scope
from muniment_server.domain.packing import ESTIMATE, PackedContext, PackItem, PackRules, Tokenizer, pack
from muniment_server.domain.settings import TenantSettings
from muniment_server.domain.statement import check_text
from muniment_server.embedding.errors import EmbeddingError
from muniment_server.embedding.live import LiveModel
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.queries import QueryTerms, analyse_query
from muniment_server.retrieval.versions import query_terms
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import read_scopes
from muniment_server.storage.recall import RECALL_SETTINGS, Aim, Candidate, RecallRows
from muniment_server.storage.recall import recall as find
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import (
    ActiveSpan,
    embeddings_span,
    leg_span,
    memory_span,
    pack_span,
    record_offered,
)

from .as_of import find_as_of
from .choosing import Choice, choose
from .consenting import is_withheld
from .consistency import await_vectors, check_token, issue_token
from .explaining import LegScore, leg_scores, score_factors
from .recall_aim import take_aim
from .recall_receipt import receipt
from .scoping import EpochChanged, bind_scope, reading_key, scope_number
from .sealing import is_genuine, open_content
from .services import ModelChanged, Services
from .vectors import given_vector
from .viewing import within_view
from .views import to_memory, weight

_log = logging.getLogger("muniment.recall")

DEFAULT_LIMIT = 10
MAX_ANSWER_BYTES = 3_500_000
TOKENIZER = ESTIMATE.name
_SPARE = 5
_MOST_FETCHED = 1_000
_EMBED_SHARE = 0.6
ACTIVE = MemoryFilter()
LEGS = tuple(RetrievalLeg)
_VECTOR_LEGS = (RetrievalLeg.VECTOR, RetrievalLeg.NEIGHBOUR)


class Stage(IntEnum):
    """A step of a Recall that can be left out."""

    QUERY_EMBEDDING = 1
    LEG = 2
    CONSISTENCY = 3
    PACKING = 5


class DegradationReason(IntEnum):
    """Why it was left out."""

    DEADLINE = 1
    EMBEDDER_UNAVAILABLE = 2
    QUERY_NOT_COVERED = 3
    EMBEDDINGS_PENDING = 4
    FAILED = 5


class LeftOutReason(IntEnum):
    """Why a memory of the scope is not in the answer, or not in the packed context."""

    BELOW_MIN_SCORE = 1
    LIMIT = 2
    TOKEN_BUDGET = 3
    RESPONSE_SIZE = 4
    NEAR_DUPLICATE = 5
    SOURCE_SHARE = 6
    SEAL_BROKEN = 7
    STATE = 9
    EXPIRED = 10
    FILTERED = 11
    TAIL = 12
    CONSENT = 13


@dataclass(frozen=True, slots=True)
class Degradation:
    """What was left out of a Recall, and why. affected: how many memories that concerns, where it counts."""

    stage: Stage
    leg: RetrievalLeg | None
    reason: DegradationReason
    affected: int = 0


@dataclass(frozen=True, slots=True)
class RecallCommand:
    """A validated Recall. `min_score`, `token_budget` None: not asked for. bound_agent: the credential's."""

    scope: Scope
    query: str
    query_embedding: bytes | None = None
    restriction: MemoryFilter = ACTIVE
    bound_agent: str | None = None
    limit: int = DEFAULT_LIMIT
    min_score: float | None = None
    token_budget: int | None = None
    legs: Sequence[RetrievalLeg] = LEGS
    consistency_token: str | None = None
    strong: bool = False
    near_miss_limit: int = 0
    fusion: Fusion = Fusion.SCORE
    reference_time: datetime | None = None
    """What relative times of the query refer to; None: now."""
    time_zone: tzinfo = UTC
    as_of: datetime | None = None
    """The instant to look at, with the legs of `as_of.AS_OF_LEGS` alone; None: now."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One returned memory."""

    memory: Memory
    rank: int
    score: float
    legs: tuple[LegScore, ...]
    packed: bool = False
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A candidate that is not in the answer, and why."""

    memory_id: UUID
    score: float
    reason: LeftOutReason
    legs: tuple[LegScore, ...]
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. `broken` names memories whose seal does not hold; they are in no other part."""

    recall_id: UUID
    ranked: list[Ranked]
    packed: PackedContext | None
    left_out: dict[LeftOutReason, int]
    degraded: list[Degradation]
    broken: list[UUID]
    min_score: float
    limit: int
    consistency_token: str
    read_time: datetime
    no_relevant_memory: bool
    near_misses: Sequence[NearMiss] = ()


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


@dataclass(slots=True)
class _Query:
    live: LiveModel
    aim: Aim
    degraded: list[Degradation] = field(default_factory=list)


async def recall(services: Services, context: CallContext, command: RecallCommand) -> Recalled:
    """Answer a Recall; its receipt is committed before this returns.

    Raises InvalidRequest, PermissionDenied, Unimplemented, the errors of a consistency token, and
    Overloaded or DatabaseUnavailable. A failing embedder only takes the vector leg away.
    """
    scope = bind_scope(context, command.scope)
    restriction = await within_view(services, context, scope, command.restriction)
    command = replace(command, restriction=restriction, bound_agent=context.principal.agent)
    if command.as_of is not None:
        command = replace(command, as_of=min(command.as_of, services.clock()))
    refusal = check_text(command.query)
    if refusal is not None:
        raise InvalidRequest((FieldViolation("query", str(refusal), refusal.description),))
    tenant_key = await services.keys.tenant(context.tenant_id)
    if command.consistency_token is not None:
        check_token(
            tenant_key, services.instance, command.consistency_token, "consistency.at_least_as_fresh.token"
        )
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    with memory_span(
        names.OP_SEARCH_MEMORY,
        store_id=str(context.tenant_id),
        agent=scope.agent,
        session=scope.session,
    ) as span:
        span.content(names.GEN_AI_MEMORY_QUERY_TEXT, lambda: command.query)
        if command.consistency_token is not None or command.strong:
            await await_vectors(services, context, scope_id, command.consistency_token)
        live = services.models.current
        embedded = await _embed(live, context, command)
        settings = await services.settings.of(context.tenant_id)
        epoch: int | None = None
        while True:
            key = await reading_key(services.keys, context.tenant_id, scope_id, epoch)
            if key is None:
                key = await _only_key(services, context, scope_id)
            query = _aim(services, live, command, key, embedded, settings)
            try:
                answer = await _answer(services, context, command, tenant_key, key, scope_id, query, settings)
                break
            except EpochChanged as change:
                epoch = change.epoch
            except ModelChanged:
                live, embedded = await _embed_anew(services, live, context, command)
        _trace(span, command, query, answer)
    services.on_recorded(context.tenant_id)
    return answer


async def _only_key(services: Services, context: CallContext, scope_id: UUID) -> ScopeKey | None:
    """The key of the epoch that a scope's row says, where the key store knows of no other.

    None when there is no such scope. Raises IntegrityViolation when there is one, but not its key: then
    to answer that nothing is remembered would not be true.
    """
    looked_for: int | None = None
    while True:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            row = (await read_scopes(work, [scope_id])).get(scope_id)
        if row is None:
            return None
        # An erasure may have destroyed the key since the row was read: then the row says another epoch now.
        if row.key_epoch == looked_for:
            raise IntegrityViolation()
        key = await reading_key(services.keys, context.tenant_id, scope_id, row.key_epoch)
        if key is not None:
            return key
        looked_for = row.key_epoch


def _trace(span: ActiveSpan, command: RecallCommand, query: _Query, answer: Recalled) -> None:
    strategy = "hybrid" if query.aim.embedding is not None and query.aim.tokens else "vector"
    if query.aim.embedding is None:
        strategy = "lexical"
    tokens = answer.packed.tokens if answer.packed else None
    metrics().recall(strategy, len(answer.ranked), tokens)
    if not span.recording:
        return
    offered = [one for one in answer.ranked if one.packed or answer.packed is None]
    span.update(
        {
            names.GEN_AI_MEMORY_RECORD_COUNT: len(answer.ranked),
            names.RECALL_ID: str(answer.recall_id),
            names.RECALL_STRATEGY: strategy,
            names.RECALL_LIMIT: answer.limit,
            names.RECALL_QUERY_LENGTH: len(command.query),
            names.RECALL_TOKEN_BUDGET: command.token_budget,
            names.RECALL_TOKENS: tokens,
            names.RECALL_DEGRADED: [f"{one.stage.name}:{one.reason.name}".lower() for one in answer.degraded],
        }
    )
    record_offered(
        span,
        [str(one.memory.memory_id) for one in offered],
        [one.score for one in offered],
        [one.memory.revision for one in offered],
    )
    span.content(
        names.GEN_AI_MEMORY_RECORDS,
        lambda: [
            {"id": str(one.memory.memory_id), "content": one.memory.content, "score": one.score}
            for one in answer.ranked
        ],
    )


async def _embed(
    live: LiveModel, context: CallContext, command: RecallCommand
) -> tuple[HalfVector | None, list[Degradation]]:
    if not any(leg in _VECTOR_LEGS for leg in command.legs):
        return None, []
    if command.query_embedding is not None:
        return given_vector(command.query_embedding), []

    def without(reason: DegradationReason) -> tuple[None, list[Degradation]]:
        return None, [Degradation(Stage.QUERY_EMBEDDING, RetrievalLeg.VECTOR, reason)]

    model = live.model
    with embeddings_span(
        names.PROVIDER_MUNIMENT, model.name, dimensions=model.dimension, batch_size=1
    ) as span:
        try:
            async with asyncio.timeout(context.remaining() * _EMBED_SHARE):
                embedded = await live.embeddings.query(command.query)
        except TimeoutError:
            span.fail("timeout")
            return without(DegradationReason.DEADLINE)
        except (EmbeddingError, MunimentError) as error:
            span.fail(type(error).__name__)
            return without(DegradationReason.EMBEDDER_UNAVAILABLE)
    if embedded.vector is None:
        return without(DegradationReason.QUERY_NOT_COVERED)
    return HalfVector(embedded.vector), []


async def _embed_anew(
    services: Services, before: LiveModel, context: CallContext, command: RecallCommand
) -> tuple[LiveModel, tuple[HalfVector | None, list[Degradation]]]:
    """Embed for the model that is in use by now; without one that this process has loaded go on without."""
    try:
        live = await services.changed_model(before)
    except EmbedderUnavailable:
        reason = DegradationReason.EMBEDDER_UNAVAILABLE
        return before, (None, [Degradation(Stage.QUERY_EMBEDDING, RetrievalLeg.VECTOR, reason)])
    if command.query_embedding is not None:
        raise EmbeddingModelMismatch(
            model=before.model.name,
            dimension=before.model.dimension,
            expected_model=live.model.name,
            expected_dimension=live.model.dimension,
        )
    return live, await _embed(live, context, command)


def _aim(
    services: Services,
    live: LiveModel,
    command: RecallCommand,
    key: ScopeKey | None,
    embedded: tuple[HalfVector | None, list[Degradation]],
    settings: TenantSettings,
) -> _Query:
    found = list(embedded[1])
    terms = QueryTerms()
    if key is not None and command.query:
        try:
            words = query_terms(command.query, services.models.oldest_analyzer)
            reference = command.reference_time or services.clock()
            terms = analyse_query(command.query, words, reference, command.time_zone)
        except Exception as error:  # the other legs answer, if there is one
            if embedded[0] is None:
                raise
            _log.error("a query could not be analysed: %s", type(error).__name__)
            found.append(Degradation(Stage.LEG, RetrievalLeg.LEXICAL, DegradationReason.FAILED))
    aim = take_aim(
        terms,
        key,
        embedded[0],
        live.model.calibration,
        settings,
        legs=command.legs,
        fusion=command.fusion,
        limit=command.limit,
    )
    return _Query(live, aim, degraded=found)


async def _answer(
    services: Services,
    context: CallContext,
    command: RecallCommand,
    tenant_key: TenantKey,
    key: ScopeKey | None,
    scope_id: UUID,
    query: _Query,
    settings: TenantSettings,
) -> Recalled:
    min_score = _least(command.min_score, settings.ranking.min_score, query.live)
    share = settings.packing.source_share
    fetch = command.limit + _SPARE
    now = services.clock()
    async with services.database.transaction(
        context.tenant_id, timeout=context.remaining(), settings=RECALL_SETTINGS
    ) as work:
        genuine: list[tuple[Candidate, Content]] = []
        choice: Choice[Candidate, Content] = Choice([], [])
        near_misses: Sequence[NearMiss] = ()
        broken: list[UUID] = []
        rows: RecallRows | None = None
        if key is not None:
            while True:
                rows = await _find(
                    services, work, command, key, scope_id, query, min_score, fetch, broken, now
                )
                if rows.key_epoch is not None and rows.key_epoch != key.epoch:
                    raise EpochChanged(scope_id, rows.key_epoch)
                if await is_withheld(work, tenant_key, key, rows.scope, settings):
                    rows = rows.without_any()
                    break
                _hold_vectors_against(command, query, rows)
                genuine, found_broken = _sift(key, context.tenant_id, rows.candidates)
                broken += found_broken
                choice = _choose(genuine, command.limit, share)
                if len(choice.chosen) == command.limit or _count(rows.candidates) < fetch:
                    break
                if not found_broken:
                    # One source has too many among the best: whoever comes behind them has their places.
                    if fetch >= _MOST_FETCHED:
                        break
                    fetch = min(fetch * 4, _MOST_FETCHED)
            if command.near_miss_limit and not rows.withheld:
                near_misses = await _near_misses(
                    services, work, command, key, scope_id, query, min_score, choice, broken, now
                )
        recalled = _compose(
            services, command, tenant_key, rows, choice, broken, query, min_score, now, settings
        )
        recalled = replace(recalled, near_misses=near_misses)
        if broken:
            await services.trail.integrity_violation(
                work,
                tenant_key,
                context,
                now=now,
                scope_id=scope_id,
                memory_ids=broken,
                check="seal",
                recall_id=recalled.recall_id,
            )
        await services.trail.record(
            work,
            tenant_key,
            context,
            AuditAction.RECALL,
            now=now,
            scope_id=scope_id,
            agent=command.scope.agent,
            session=command.scope.session,
            recall_id=recalled.recall_id,
            memory_ids=[ranked.memory.memory_id for ranked in recalled.ranked],
            details={
                "memories_recalled": receipt(
                    recalled,
                    token_budget=command.token_budget,
                    embedding_model=query.live.model.name if query.aim.embedding is not None else None,
                    query_digest=key.query_digest(command.query).hex() if key is not None else None,
                    fusion=int(command.fusion),
                    as_of=command.as_of,
                )
            },
        )
    return recalled


async def _find(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    key: ScopeKey,
    scope_id: UUID,
    query: _Query,
    min_score: float,
    fetch: int,
    excluded: Sequence[UUID],
    now: datetime,
) -> RecallRows:
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


def _hold_vectors_against(command: RecallCommand, query: _Query, rows: RecallRows) -> None:
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


def _sift(
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


def _choose(
    genuine: Sequence[tuple[Candidate, Content]], limit: int, share: float
) -> Choice[Candidate, Content]:
    """The offered candidates: those that always apply have their places, and the rest goes by relevance."""
    relevant = [one for one in genuine if one[0].found]
    pinned = [one for one in genuine if not one[0].found][: limit - 1 if relevant else limit]
    choice = choose(relevant, limit - len(pinned), share)
    chosen = sorted(choice.chosen + pinned, key=lambda one: (-one[0].score, one[0].revision.memory_id))
    return Choice(chosen, choice.capped)


def _count(candidates: Sequence[Candidate]) -> int:
    return sum(1 for candidate in candidates if candidate.found)


def _least(asked: float | None, set_by_tenant: float | None, live: LiveModel) -> float:
    """The lowest score to return: as asked for, as the tenant set it, or as the model's measures say."""
    if asked is not None:
        return asked
    return live.model.calibration.min_score if set_by_tenant is None else set_by_tenant


async def _near_misses(
    services: Services,
    work: UnitOfWork,
    command: RecallCommand,
    key: ScopeKey,
    scope_id: UUID,
    query: _Query,
    min_score: float,
    choice: Choice[Candidate, Content],
    broken: Sequence[UUID],
    now: datetime,
) -> Sequence[NearMiss]:
    """The best candidates that are not offered, whatever their score; asked for apart, since rarely."""
    fetch = len(choice.chosen) + len(choice.capped) + command.near_miss_limit
    rows = await _find(services, work, command, key, scope_id, query, 0.0, fetch, broken, now)
    offered = {candidate.revision.memory_id for candidate, _ in choice.chosen}
    capped = {candidate.revision.memory_id for candidate, _ in choice.capped}
    found = []
    for candidate, _ in _sift(key, work.tenant_id, rows.candidates)[0]:
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


def _compose(
    services: Services,
    command: RecallCommand,
    tenant_key: TenantKey,
    rows: RecallRows | None,
    choice: Choice[Candidate, Content],
    broken: list[UUID],
    query: _Query,
    min_score: float,
    now: datetime,
    settings: TenantSettings,
) -> Recalled:
    ranked: list[Ranked] = []
    size = 0
    for candidate, content in choice.chosen:
        memory = to_memory(
            tenant_key, candidate.revision, command.scope.kind, command.scope.label, *content[:3]
        )
        # A content may stand in the packed context as well.
        size += weight(memory) + len(content.text.encode())
        if ranked and size > MAX_ANSWER_BYTES:
            break
        ranked.append(
            Ranked(
                memory=memory,
                rank=len(ranked) + 1,
                score=candidate.score,
                legs=leg_scores(candidate, query.aim),
                factors=score_factors(candidate, query.aim),
            )
        )
    left_out: dict[LeftOutReason, int] = {}

    def leave(reason: LeftOutReason, count: int) -> None:
        if count > 0:
            left_out[reason] = count

    if rows is not None:
        eligible = rows.total - rows.other_state - rows.expired - rows.filtered
        leave(LeftOutReason.CONSENT, rows.withheld)
        leave(LeftOutReason.STATE, rows.other_state)
        leave(LeftOutReason.EXPIRED, rows.expired)
        leave(LeftOutReason.FILTERED, rows.filtered)
        found = _count([candidate for candidate, _ in choice.chosen])
        leave(LeftOutReason.BELOW_MIN_SCORE, eligible - rows.relevant - (len(choice.chosen) - found))
        leave(LeftOutReason.RESPONSE_SIZE, len(choice.chosen) - len(ranked))
        leave(LeftOutReason.SOURCE_SHARE, len(choice.capped))
        leave(
            LeftOutReason.LIMIT,
            rows.relevant
            - found
            - len(choice.capped)
            - sum(1 for one in rows.candidates if one.found and one.revision.memory_id in set(broken)),
        )
    leave(LeftOutReason.SEAL_BROKEN, len(broken))
    packed: PackedContext | None = None
    if command.token_budget is not None:
        shares = settings.packing
        # Whoever says what is relevant to him gets all of it.
        tail_ratio = shares.tail_ratio if command.min_score is None else 0.0
        rules = PackRules(shares.pinned_share, shares.reported_share, tail_ratio)
        with pack_span(
            services.tokenizer.name, inputs=len(ranked), token_budget=command.token_budget
        ) as span:
            items = [_pack_item(one, min_score) for one in ranked]
            packed = _pack(items, command.token_budget, rules, services.tokenizer, query.degraded)
            span.update({names.PACK_TOKENS: packed.tokens, names.PACK_OUTPUTS: len(packed.packed)})
        inside = set(packed.packed)
        ranked = [replace(one, packed=one.memory.memory_id in inside) for one in ranked]
        leave(LeftOutReason.TOKEN_BUDGET, len(packed.over_budget))
        leave(LeftOutReason.NEAR_DUPLICATE, len(packed.collapsed))
        leave(LeftOutReason.TAIL, len(packed.tail))
    return Recalled(
        recall_id=new_id(),
        ranked=ranked,
        packed=packed,
        left_out=left_out,
        degraded=query.degraded,
        broken=broken,
        min_score=min_score,
        limit=command.limit,
        consistency_token=issue_token(tenant_key, services.instance, now),
        read_time=now,
        no_relevant_memory=_count([candidate for candidate, _ in choice.chosen[: len(ranked)]]) == 0,
    )


def _pack(
    items: Sequence[PackItem],
    token_budget: int,
    rules: PackRules,
    tokenizer: Tokenizer,
    degraded: list[Degradation],
) -> PackedContext:
    try:
        return pack(items, token_budget, rules, tokenizer)
    except Exception as error:
        if tokenizer is ESTIMATE:
            raise
        _log.error("the configured tokenizer failed: %s", type(error).__name__)
        degraded.append(Degradation(Stage.PACKING, None, DegradationReason.FAILED))
        return pack(items, token_budget, rules)


def _pack_item(ranked: Ranked, min_score: float) -> PackItem:
    memory = ranked.memory
    always = sum(leg.contribution for leg in ranked.legs if leg.leg is RetrievalLeg.SLOT)
    if memory.kind is None or memory.provenance is None or memory.content is None:
        raise ValueError("only whole memories are packed")
    return PackItem(
        memory_id=memory.memory_id,
        kind=memory.kind,
        trust=memory.provenance.trust,
        source_type=memory.provenance.source_type,
        content=memory.content,
        rank=ranked.rank,
        score=ranked.score,
        valid_from=memory.validity.start,
        valid_to=memory.validity.end,
        speaker=memory.speaker,
        pinned=always > 0 and ranked.score - always < min_score,
    )
