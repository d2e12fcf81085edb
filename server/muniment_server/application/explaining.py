"""Why a candidate has its score: what each leg gave, and what else changed it. The parts add up to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from muniment_server.domain.importance import Factor
from muniment_server.domain.model import RetrievalLeg
from muniment_server.storage.recall import Aim, Candidate

_K = 60


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg gave: rank from 1 (None beyond the ranked depth), raw score, share of the score."""

    leg: RetrievalLeg
    rank: int | None
    raw_score: float
    contribution: float


def leg_scores(candidate: Candidate, aim: Aim) -> tuple[LegScore, ...]:
    """What each leg gave that had something to say of the candidate."""
    one = candidate
    found: list[LegScore] = []
    if one.cosine is not None and one.relevance is not None and aim.vector_weight:
        part = one.own_weight * aim.vector_weight * one.relevance
        found.append(LegScore(RetrievalLeg.VECTOR, one.vector_rank, one.cosine, part))
    if one.bm25 is not None and aim.lexical_weight:
        weight = aim.lexical_weight if one.cosine is not None else 1.0
        part = one.own_weight * weight * (one.lexical_share or 0.0)
        found.append(LegScore(RetrievalLeg.LEXICAL, one.lexical_rank, one.bm25, part))
    if one.slot_part:
        found.append(LegScore(RetrievalLeg.SLOT, one.slot_rank, one.slot_named or 0.0, one.slot_part))
    if one.entity_part:
        found.append(LegScore(RetrievalLeg.ENTITY, one.entity_rank, one.entity or 0.0, one.entity_part))
    if one.time_part:
        found.append(LegScore(RetrievalLeg.TIME, one.time_rank, one.named_time or 0.0, one.time_part))
    if one.around and one.around_weight:
        part = one.around_weight * one.around
        found.append(LegScore(RetrievalLeg.NEIGHBOUR, one.around_rank, one.around, part))
    if one.session_part:
        fit = one.session_fit or 0.0
        found.append(LegScore(RetrievalLeg.SESSION, one.session_rank, fit, one.session_part))
    return tuple([_reciprocal(each, aim) for each in found] if aim.reciprocal else found)


def _reciprocal(one: LegScore, aim: Aim) -> LegScore:
    share = (_K + 1) / (aim.leg_count * (_K + one.rank)) if one.rank is not None else 0.0
    return LegScore(one.leg, one.rank, one.raw_score, share)


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
