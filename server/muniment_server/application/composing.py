"""Composes the answer of a Recall from the chosen candidates, and packs it into its budget."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import inf

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.content import Content
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import RetrievalLeg
from muniment_server.domain.packing import ESTIMATE, PackedContext, PackItem, PackRules, Tokenizer, pack
from muniment_server.domain.settings import TenantSettings
from muniment_server.storage.recall import Candidate
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import pack_span

from .choosing import Choice
from .consistency import issue_token
from .explaining import leg_scores, score_basis, score_factors
from .finding import Found, count_relevant
from .recall_types import (
    Degradation,
    DegradationReason,
    LeftOutReason,
    Query,
    Ranked,
    RecallCommand,
    Recalled,
    Stage,
)
from .reranking import FACTOR, Reranking
from .services import Services
from .views import stored_state, to_memory, weight

_log = logging.getLogger("muniment.recall")

MAX_ANSWER_BYTES = 3_500_000
_TOKEN_BYTES = 5
"""The estimate counts a token for four letters and the space before them at most."""


def compose(
    services: Services,
    command: RecallCommand,
    tenant_key: TenantKey,
    found: Found,
    choice: Choice[Candidate, Content],
    query: Query,
    min_score: float,
    now: datetime,
    settings: TenantSettings,
    reranking: Reranking,
    usual: float,
    dropped: int,
) -> Recalled:
    """The answer of the chosen candidates, with what was left out and why.

    usual: the threshold where none is asked for and scores are no ranks. dropped: candidates that the
    reranker left below the minimum score.
    """
    rows, broken = found.rows, found.broken
    ranked: list[Ranked] = []
    size = block = 0
    most = _most_of_block(command.token_budget, services.tokenizer)
    for candidate, content in choice.chosen:
        memory = to_memory(
            tenant_key, candidate.revision, command.scope.kind, command.scope.label, *content[:3]
        )
        size += weight(memory, full=command.full)
        # A content may stand in the packed context as well.
        block += len(content.text.encode())
        if ranked and size + min(block, most) > MAX_ANSWER_BYTES:
            break
        legs = leg_scores(candidate, query.aim)
        ranked.append(
            Ranked(
                memory=replace(memory, embedding_state=stored_state(candidate.embedding_state)),
                rank=len(ranked) + 1,
                score=reranking.score(candidate),
                legs=legs,
                factors=(*score_factors(candidate, query.aim, legs), *reranking.factors(candidate)),
                evidence=candidate.evidence,
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
        offered = count_relevant(choice.chosen)
        below = eligible - rows.relevant - (len(choice.chosen) - offered) - found.changed_pinned
        leave(LeftOutReason.BELOW_MIN_SCORE if min_score > 0 else LeftOutReason.NO_MATCH, below + dropped)
        leave(LeftOutReason.CHANGED, found.changed + found.changed_pinned)
        leave(LeftOutReason.RESPONSE_SIZE, len(choice.chosen) - len(ranked))
        leave(LeftOutReason.SOURCE_SHARE, len(choice.capped))
        leave(
            LeftOutReason.LIMIT,
            rows.relevant
            - offered
            - dropped
            - found.changed
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
            bar = usual if query.aim.reciprocal else min_score
            items = [_pack_item(one, bar, query.aim.reciprocal) for one in ranked]
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
        no_relevant_memory=count_relevant(choice.chosen[: len(ranked)]) == 0,
        basis=score_basis(query.aim, 0.0 if query.aim.reciprocal else usual),
        drawn=rows is not None and rows.drawn,
    )


def _most_of_block(token_budget: int | None, tokenizer: Tokenizer) -> float:
    """How many bytes a packed context has at most; of a tokenizer of somebody else nothing is known."""
    if token_budget is None:
        return 0
    return _TOKEN_BYTES * token_budget if tokenizer is ESTIMATE else inf


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


def _pack_item(ranked: Ranked, bar: float, reciprocal: bool) -> PackItem:
    """bar: what a memory has to reach by what speaks for it beside being pinned."""
    memory = ranked.memory
    always = sum(leg.contribution for leg in ranked.legs if leg.leg is RetrievalLeg.SLOT)
    moved = sum(factor.contribution for factor in ranked.factors if factor.name == FACTOR)
    # What ranks add up to says nothing of how relevant a memory is.
    apart = ranked.evidence if reciprocal else ranked.score - moved - always
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
        pinned=always > 0 and apart < bar,
    )
