"""Why a candidate has its score: what each leg gave, and what else changed it. The parts add up to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from muniment_server.domain.importance import Factor
from muniment_server.domain.model import RetrievalLeg
from muniment_server.storage.recall import Aim, Candidate

_K = 60


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg gave: rank from 1 (None beyond the ranked depth), raw score, and what that counts as.

    contribution: the share of the score, `value` times `weight`.
    """

    leg: RetrievalLeg
    rank: int | None
    raw_score: float
    contribution: float
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class ScoreBasis:
    """What holds for all scores of one recall. threshold: what a reranker's word lies above."""

    cosine_low: float
    cosine_high: float
    vector_weight: float
    lexical_weight: float
    around_vector_weight: float
    around_lexical_weight: float
    leg_count: int
    threshold: float


def score_basis(aim: Aim, threshold: float) -> ScoreBasis:
    """What the legs and factors of every candidate are to be read by."""
    return ScoreBasis(
        aim.cosine_low,
        aim.cosine_high,
        aim.vector_weight,
        aim.lexical_weight,
        aim.around_vector,
        aim.around_lexical,
        aim.leg_count,
        threshold,
    )


def leg_scores(candidate: Candidate, aim: Aim) -> tuple[LegScore, ...]:
    """What each leg gave that had something to say of the candidate."""
    one = candidate
    found: list[LegScore] = []
    if one.cosine is not None and one.relevance is not None and aim.vector_weight:
        found.append(
            _leg(
                RetrievalLeg.VECTOR,
                one.vector_rank,
                one.cosine,
                one.relevance,
                one.own_weight * (aim.vector_weight + aim.apart_weight * one.apart),
            )
        )
    if one.bm25 is not None and aim.lexical_weight:
        weight = one.own_weight * (aim.lexical_weight if one.cosine is not None else 1.0)
        share = one.lexical_share or 0.0
        found.append(_leg(RetrievalLeg.LEXICAL, one.lexical_rank, one.bm25, share, weight))
    if one.slot_part:
        # Pinned or not, a tenant scales both by the same factor: what is pinned counts as a part of a slot.
        value = one.slot_part / aim.slot_weight
        found.append(_leg(RetrievalLeg.SLOT, one.slot_rank, one.slot_named or 0.0, value, aim.slot_weight))
    if one.entity_part:
        raw = one.entity or 0.0
        found.append(_leg(RetrievalLeg.ENTITY, one.entity_rank, raw, raw, aim.entity_weight))
    if one.time_part:
        raw = one.named_time or 0.0
        found.append(_leg(RetrievalLeg.TIME, one.time_rank, raw, raw, aim.time_weight))
    if one.around and one.around_weight:
        found.append(_leg(RetrievalLeg.NEIGHBOUR, one.around_rank, one.around, one.around, one.around_weight))
    if one.session_part:
        raw = one.session_fit or 0.0
        found.append(_leg(RetrievalLeg.SESSION, one.session_rank, raw, raw, aim.session_weight))
    return tuple([_reciprocal(each, aim) for each in found] if aim.reciprocal else found)


def _leg(leg: RetrievalLeg, rank: int | None, raw_score: float, value: float, weight: float) -> LegScore:
    return LegScore(leg, rank, raw_score, value * weight, value, weight)


def _reciprocal(one: LegScore, aim: Aim) -> LegScore:
    value = (_K + 1) / (_K + one.rank) if one.rank is not None else 0.0
    return _leg(one.leg, one.rank, one.raw_score, value, 1 / aim.leg_count)


def score_factors(candidate: Candidate, aim: Aim, legs: Sequence[LegScore]) -> tuple[Factor, ...]:
    """What changed the score beside its legs: what a turn looks like, then what multiplies the sum."""
    if aim.reciprocal:
        return ()
    factors = []
    if candidate.length:
        weight = aim.length_weight
        factors.append(Factor("length", candidate.length, weight, weight * candidate.length))
    if candidate.answers:
        weight = aim.answer_weight
        factors.append(Factor("answer", candidate.answers, weight, weight * candidate.answers))
    if candidate.asks:
        factors.append(Factor("question", 1.0, -aim.question_weight, -aim.question_weight))
    if candidate.replied:
        weight = aim.reply_weight
        factors.append(Factor("reply", candidate.replied, weight, weight * candidate.replied))
    total = sum([one.contribution for one in legs])
    total += sum([one.contribution for one in factors])
    for name, value in (
        ("kind", candidate.kind_factor),
        ("trust", candidate.trust_factor),
        ("source", candidate.source_factor),
        ("confidence", candidate.confidence_factor),
        ("recency", candidate.recency_factor),
        ("feedback", candidate.feedback_factor),
    ):
        if value != 1:
            factors.append(Factor(name, value, 1.0, total * (value - 1)))
            total *= value
    if total > 1 or total < 0:
        factors.append(Factor("bound", candidate.score, 1.0, candidate.score - total))
    return tuple(factors)
