"""The score of a memory from its explanation alone, by what the contract says of it."""

from muniment_server._gen.muniment.v1 import audit_pb2, recall_pb2

SUMMED = {"length", "answer", "question", "reply"}
MULTIPLIED = {"kind", "trust", "source", "confidence", "recency", "feedback"}
RANKED = recall_pb2.FUSION_RRF


def recomputed(
    one: recall_pb2.RankedMemory | recall_pb2.NearMiss | audit_pb2.RecalledMemory,
    basis: recall_pb2.ScoreBasis,
) -> float:
    """See the comment on `ScoreBasis`."""
    factors = {factor.name: factor for factor in one.factors}
    assert len(factors) == len(one.factors)
    assert factors.keys() <= SUMMED | MULTIPLIED | {"rerank", "bound"}
    score = sum(leg.value * leg.weight for leg in one.leg_scores)
    score += sum(factors[name].value * factors[name].weight for name in SUMMED & factors.keys())
    for name in MULTIPLIED & factors.keys():
        score *= 1 + factors[name].weight * (factors[name].value - 1)
    score = max(0.0, min(1.0, score))
    if "rerank" in factors:
        bound = 1.0
        for name in ("trust", "source"):
            bound *= factors[name].value if name in factors else 1.0
        rerank = factors["rerank"]
        target = basis.threshold + rerank.value * min(1.0, bound) * (1 - basis.threshold)
        score += rerank.weight * (target - score)
    return score


def relevance(cosine: float, basis: recall_pb2.ScoreBasis) -> float:
    """What a cosine counts as."""
    return max(0.0, min(1.0, (cosine - basis.cosine_low) / (basis.cosine_high - basis.cosine_low)))
