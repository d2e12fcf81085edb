"""Recall: what is relevant to a query, ranked, explained and receipted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import FieldViolation, IntegrityViolation, InvalidRequest
from muniment_server.domain.settings import TenantSettings
from muniment_server.domain.statement import check_text
from muniment_server.embedding.live import LiveModel
from muniment_server.identity.principal import CallContext
from muniment_server.storage.memories import read_scopes
from muniment_server.storage.recall import RECALL_SETTINGS
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import ActiveSpan, memory_span, record_offered

from .composing import compose
from .consistency import await_vectors, check_token
from .finding import (
    Found,
    choose_offered,
    count_dropped,
    find_again,
    find_near_misses,
    find_relevant,
)
from .recall_query import VECTOR_LEGS, embed_anew, embed_query, take_query
from .recall_receipt import receipt
from .recall_types import NearMiss, Query, RecallCommand, Recalled
from .reranking import Reranking, rerank
from .scoping import EpochChanged, bind_scope, reading_key
from .services import ModelChanged, Services
from .viewing import within_view

Answer = TypeVar("Answer")


async def recall(
    services: Services, context: CallContext, command: RecallCommand, encode: Callable[[Recalled], Answer]
) -> Answer:
    """Answer a Recall; its receipt is committed before this returns.

    encode: makes the answer, while the receipt becomes durable.

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
        waits = command.consistency_token is not None or command.strong
        if waits and any(leg in VECTOR_LEGS for leg in command.legs):
            began = perf_counter()
            await await_vectors(services, context, scope_id, command.consistency_token)
            span.set(names.CONSISTENCY_MODE, "strong" if command.strong else "at_least_as_fresh")
            span.set(names.CONSISTENCY_WAIT, perf_counter() - began)
        live = services.models.current
        embedded = await embed_query(live, context, command)
        settings = await services.settings.of(context.tenant_id)
        epoch: int | None = None
        while True:
            key = await reading_key(services.keys, context.tenant_id, scope_id, epoch)
            if key is None:
                key = await _only_key(services, context, scope_id)
            query = take_query(services, live, command, key, embedded, settings)
            try:
                recalled, answer = await _answer(
                    services, context, command, tenant_key, key, scope_id, query, settings, encode
                )
                break
            except EpochChanged as change:
                epoch = change.epoch
            except ModelChanged:
                live, embedded = await embed_anew(services, live, context, command)
        _trace(span, command, query, recalled)
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


def _trace(span: ActiveSpan, command: RecallCommand, query: Query, answer: Recalled) -> None:
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
            names.RECALL_CANDIDATES: query.considered,
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


async def _answer(
    services: Services,
    context: CallContext,
    command: RecallCommand,
    tenant_key: TenantKey,
    key: ScopeKey | None,
    scope_id: UUID,
    query: Query,
    settings: TenantSettings,
    encode: Callable[[Recalled], Answer],
) -> tuple[Recalled, Answer]:
    least = _least(settings, query.live)
    min_score = least if command.min_score is None else command.min_score
    usual = least
    if query.aim.reciprocal:
        # What rank fusion gives is measured by a threshold that was asked for, and by no other.
        least, min_score = 0.0, command.min_score or 0.0
    now = services.clock()
    found: Found | None = None
    reranking = Reranking()
    if key is not None and services.reranker is not None:
        # Whatever it takes, the reranker holds no connection.
        async with services.database.transaction(
            context.tenant_id, timeout=context.remaining(), settings=RECALL_SETTINGS
        ) as work:
            # What the reranker may still lift above a threshold that was asked for has to be found first.
            low = min(least, min_score)
            found = await find_relevant(
                services, work, command, tenant_key, key, scope_id, query, settings, low, now
            )
        reranking = await rerank(services, context, command, query, found.genuine, least)
    async with services.database.transaction(
        context.tenant_id, timeout=context.remaining(), settings=RECALL_SETTINGS
    ) as work:
        told = now if services.reranker is None else services.clock()
        near_misses: Sequence[NearMiss] = ()
        if key is None:
            found = Found()
        elif found is None:
            found = await find_relevant(
                services, work, command, tenant_key, key, scope_id, query, settings, min_score, now
            )
        else:
            found = await find_again(work, command, tenant_key, key, scope_id, found, settings)
        kept = found.genuine
        if services.reranker is not None:
            kept = reranking.above(kept, min_score, query.aim.pinned_most)
        choice = found.choice if services.reranker is None else None
        if choice is None:
            choice = choose_offered(kept, command.limit, settings.packing.source_share, reranking)
        recalled = compose(
            services,
            command,
            tenant_key,
            replace(found, genuine=kept),
            choice,
            query,
            min_score,
            now,
            settings,
            reranking,
            usual,
            dropped=0 if services.reranker is None else count_dropped(found, kept, min_score),
        )
        if key is not None and command.near_miss_limit and not (found.rows and found.rows.withheld):
            returned = len(recalled.ranked)
            near_misses = await find_near_misses(
                services,
                work,
                command,
                key,
                scope_id,
                query,
                least,
                min_score,
                choice,
                returned,
                found,
                now,
                reranking,
            )
        recalled = replace(recalled, near_misses=near_misses)
        broken = found.broken
        if broken:
            await services.trail.integrity_violation(
                work,
                tenant_key,
                context,
                now=told,
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
            now=told,
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
        work.send_commit()
        answer = encode(recalled)
    return recalled, answer


def _least(settings: TenantSettings, live: LiveModel) -> float:
    """The lowest score to return where none is asked for: the tenant's, or what the model's measures say."""
    least = settings.ranking.min_score
    return live.model.calibration.min_score if least is None else least
