"""Why a memory has its score, of a recall's plain values: what `muniment why` says in numbers."""

from typing import Any

from .output import count_of, time_text
from .wording import shown

BASIS = (
    "cosine_low",
    "cosine_high",
    "vector_weight",
    "lexical_weight",
    "around_vector_weight",
    "around_lexical_weight",
    "leg_count",
    "threshold",
)
"""What holds for all scores of a recall, by the names in the contract."""
_MEASURES = {"vector": "cosine", "lexical": "BM25"}


def in_force(recall: dict[str, Any]) -> str:
    """What bounded the answer."""
    least = f"minimum score {recall['min_score']:.3f}" if recall["min_score"] else "no minimum score"
    text = f"limit {recall['limit']}, {least}"
    if "as_of_time" in recall:
        text += f", as of {time_text(recall['as_of_time'])}"
    if recall["token_budget"]:
        text += (
            f", {recall['packed_tokens']} of {recall['token_budget']} tokens packed ({recall['tokenizer']})"
        )
    return text


def basis_lines(recall: dict[str, Any]) -> list[str]:
    """What the scores of all memories are made of."""
    basis = recall["score_basis"]
    if recall["fusion"] == "rrf":
        return [f"from the ranks in {count_of(basis['leg_count'], 'leg')}"]
    shares = "{:.3f} meaning + {:.3f} words".format
    own = shares(basis["vector_weight"], basis["lexical_weight"])
    around = shares(basis["around_vector_weight"], basis["around_lexical_weight"])
    bounds = f"a cosine of {basis['cosine_low']:.3f} counts 0, of {basis['cosine_high']:.3f} 1"
    return [
        f"own measure {own}, surroundings of a turn {around}",
        f"{bounds}; usual threshold {basis['threshold']:.3f}",
    ]


def evidence_text(recall: dict[str, Any], one: dict[str, Any]) -> str:
    """What spoke for the memory itself, where that counts and was recorded."""
    told = recall["score_basis"] and recall["fusion"] != "rrf"
    return f", evidence {one['evidence']:.3f}" if told else ""


def print_reasons(found: dict[str, Any]) -> None:
    """What each leg gave, and what else changed the score."""
    for leg in found["legs"]:
        rank = f"rank {leg['rank']}" if leg["rank"] else "no rank"
        measure = _MEASURES.get(leg["leg"], "measured")
        counted = f", counts {leg['value']:.3f} with weight {leg['weight']:.3f}" if "weight" in leg else ""
        print(
            f"         {leg['leg']:<9} {rank:<9} {measure} {leg['raw_score']:.3f}{counted}, "
            f"gave {leg['contribution']:.3f} of the score"
        )
    for factor in found["factors"]:
        print(
            f"         {shown(factor['name']):<19} {factor['value']:.3f} with weight {factor['weight']:.3f}, "
            f"gave {factor['contribution']:+.3f}" + (f" (rank {factor['rank']})" if "rank" in factor else "")
        )
