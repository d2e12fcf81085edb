"""The recall receipt: ids, revisions, ranks, scores and reasons; of the query only a keyed digest."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from muniment_server.audit.events import to_micros, to_millionths

if TYPE_CHECKING:
    from muniment_server.domain.importance import Factor

    from .explaining import LegScore, ScoreBasis
    from .recall_types import NearMiss, Recalled


def legs_of(scores: "Sequence[LegScore]") -> list[dict[str, int]]:
    """What each leg gave."""
    return [
        {
            "leg": int(one.leg),
            "rank": one.rank or 0,
            "raw_score": to_millionths(one.raw_score),
            "contribution": to_millionths(one.contribution),
            "value": to_millionths(one.value),
            "weight": to_millionths(one.weight),
        }
        for one in scores
    ]


def factors_of(factors: "Sequence[Factor]") -> list[dict[str, Any]]:
    """What else changed a score."""
    return [
        {
            "name": one.name,
            "value": to_millionths(one.value),
            "weight": to_millionths(one.weight),
            "contribution": to_millionths(one.contribution),
        }
        | ({"rank": one.rank} if one.rank else {})
        for one in factors
    ]


def basis_of(basis: "ScoreBasis") -> dict[str, int]:
    """What all scores have in common; everything but the count in millionths."""
    return {
        "cosine_low": to_millionths(basis.cosine_low),
        "cosine_high": to_millionths(basis.cosine_high),
        "vector_weight": to_millionths(basis.vector_weight),
        "lexical_weight": to_millionths(basis.lexical_weight),
        "around_vector_weight": to_millionths(basis.around_vector_weight),
        "around_lexical_weight": to_millionths(basis.around_lexical_weight),
        "threshold": to_millionths(basis.threshold),
        "leg_count": basis.leg_count,
    }


def receipt(
    recalled: "Recalled",
    *,
    token_budget: int | None,
    embedding_model: str | None,
    query_digest: str | None,
    fusion: int | None = None,
    as_of: datetime | None = None,
) -> dict[str, Any]:
    """The details of the RECALL event: all that is needed to say later why these memories, and no content."""
    return {
        "recall_id": str(recalled.recall_id),
        "memories": [
            {
                "memory_id": str(one.memory.memory_id),
                "revision": one.memory.revision,
                "rank": one.rank,
                "score": to_millionths(one.score),
                "evidence": to_millionths(one.evidence),
                "packed": one.packed,
                "legs": legs_of(one.legs),
                "factors": factors_of(one.factors),
            }
            for one in recalled.ranked
        ],
        "near_misses": [_near_miss(one) for one in recalled.near_misses],
        "left_out": {str(int(reason)): count for reason, count in recalled.left_out.items()},
        "left_out_incomplete": recalled.drawn,
        "score_basis": basis_of(recalled.basis),
        "degraded": [
            {
                "stage": int(one.stage),
                "leg": int(one.leg or 0),
                "reason": int(one.reason),
                "affected_count": one.affected,
            }
            for one in recalled.degraded
        ],
        "seal_broken_memory_ids": [str(memory_id) for memory_id in recalled.broken[:100]],
        "no_relevant_memory": recalled.no_relevant_memory,
        "limit": recalled.limit,
        "min_score": to_millionths(recalled.min_score),
        "token_budget": token_budget,
        "packed_tokens": recalled.packed.tokens if recalled.packed else 0,
        "tokenizer": recalled.packed.tokenizer if recalled.packed else None,
        "embedding_model": embedding_model,
        "fusion": fusion,
        "query_digest": query_digest,
    } | ({} if as_of is None else {"as_of_time": to_micros(as_of)})


def _near_miss(one: "NearMiss") -> dict[str, Any]:
    return {
        "memory_id": str(one.memory_id),
        "score": to_millionths(one.score),
        "evidence": to_millionths(one.evidence),
        "reason": int(one.reason),
        "legs": legs_of(one.legs),
        "factors": factors_of(one.factors),
    }
