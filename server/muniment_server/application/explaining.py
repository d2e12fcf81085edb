"""Why a candidate has its score: what each leg gave, and what else changed it. The parts add up to it."""

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
    parts = [_vector(candidate, aim), _lexical(candidate, aim)]
    parts += [
        LegScore(leg, rank, raw or 0.0, part)
        for leg, rank, raw, part in (
            (RetrievalLeg.SLOT, candidate.slot_rank, candidate.slot_named, candidate.slot_part),
            (RetrievalLeg.ENTITY, candidate.entity_rank, candidate.entity, candidate.entity_part),
            (RetrievalLeg.TIME, candidate.time_rank, candidate.named_time, candidate.time_part),
            (
                RetrievalLeg.NEIGHBOUR,
                candidate.around_rank,
                candidate.around,
                candidate.around_weight * (candidate.around or 0.0),
            ),
            (RetrievalLeg.SESSION, candidate.session_rank, candidate.session_fit, candidate.session_part),
        )
        if part
    ]
    found = tuple(one for one in parts if one is not None)
    return tuple(_reciprocal(one, aim) for one in found) if aim.reciprocal else found


def _vector(candidate: Candidate, aim: Aim) -> LegScore | None:
    if candidate.cosine is None or candidate.relevance is None or not aim.vector_weight:
        return None
    part = candidate.own_weight * aim.vector_weight * candidate.relevance
    return LegScore(RetrievalLeg.VECTOR, candidate.vector_rank, candidate.cosine, part)


def _lexical(candidate: Candidate, aim: Aim) -> LegScore | None:
    if candidate.bm25 is None or not aim.lexical_weight:
        return None
    weight = aim.lexical_weight if candidate.cosine is not None else 1.0
    part = candidate.own_weight * weight * (candidate.lexical_share or 0.0)
    return LegScore(RetrievalLeg.LEXICAL, candidate.lexical_rank, candidate.bm25, part)


def _reciprocal(one: LegScore, aim: Aim) -> LegScore:
    share = (_K + 1) / (aim.leg_count * (_K + one.rank)) if one.rank is not None else 0.0
    return LegScore(one.leg, one.rank, one.raw_score, share)


def score_factors(candidate: Candidate, aim: Aim) -> tuple[Factor, ...]:
    """What changed the score beside the legs: what a turn looks like, then what multiplies the sum."""
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
    total = sum(one.contribution for one in leg_scores(candidate, aim))
    total += sum(one.contribution for one in factors)
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
