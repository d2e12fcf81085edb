"""How much a statement is worth remembering: a sum of named factors, from 0 to 1.

    importance = Σ weight · value,  Σ weight = 1

| factor | weight | value |
| --- | --- | --- |
| kind | 0.35 | rules, preferences and decisions 1, facts 0.8, events and summaries 0.6, turns 0.2 |
| stability | 0.2 | 1 without an end; shorter: days / 30, at most 1 |
| repetition | 0.15 | times it was said: 1 − 1 / n |
| explicitness | 0.3 | who said it, and whether the words ask for remembering |

And whether it says anything: greetings, thanks and exclamations ("ok", 好的) have every factor times 0.3.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from .model import MemoryKind, SourceType


@dataclass(frozen=True, slots=True)
class Factor:
    """One addend: `contribution` = `weight` · `value` (times what the content weighs).

    rank: by this value, from 1, where the factor made an order of its own.
    """

    name: str
    value: float
    weight: float
    contribution: float
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Importance:
    """The sum and its factors."""

    score: float
    factors: tuple[Factor, ...]


_KINDS = {
    MemoryKind.RULE: 1.0,
    MemoryKind.PREFERENCE: 1.0,
    MemoryKind.DECISION: 1.0,
    MemoryKind.FACT: 0.8,
    MemoryKind.EVENT: 0.6,
    MemoryKind.SUMMARY: 0.6,
    MemoryKind.TURN: 0.2,
}
_SOURCES = {
    SourceType.USER_CONFIRMED: 1.0,
    SourceType.USER_STATED: 0.8,
    SourceType.AGENT_INFERRED: 0.5,
    SourceType.TOOL: 0.4,
    SourceType.THIRD_PARTY: 0.3,
}
_WEIGHTS = {"kind": 0.35, "stability": 0.2, "repetition": 0.15, "explicitness": 0.3}
_EMPTY_WEIGHT = 0.3
_ASKED = re.compile(
    r"\b(?:remember|don'?t forget|note that|keep in mind|make a note|for the record|important)\b"
    r"|记住|記住|记下|別忘|别忘|牢记|备忘|請記|请记|注意",
    re.IGNORECASE,
)
# What was read is not read in another way (`*+`, and the longer of two words first): "谢谢您好" has two
# readings, and thirty of them as many as there are numbers of thirty bits.
_SMALL_TALK = re.compile(
    r"[\W_]*(?:(?:ok(?:ay)?|yes|yeah|yep|nope|no|hi|hello|hey|thank you(?: (?:so|very) much)?|thanks?|thx|bye"
    r"|goodbye|lol|haha+|good (?:morning|night|evening)|sure|great|cool|nice|fine|right|got it|i see|hmm+|um+"
    r"|well|please|sorry|好的?|嗯+|哦+|是的?|对的?|谢谢(?:你|您)?|謝謝|再见|再見|你好|您好|早上好|晚安|哈+"
    r"|行|可以|没事|沒事|收到|明白了?|知道了|不客气)[\W_]*)*+",
    re.IGNORECASE,
)


def importance(
    content: str,
    kind: MemoryKind,
    source_type: SourceType,
    *,
    lasts: timedelta | None = None,
    times_said: int = 1,
    corrects: bool = False,
    adjust: Mapping[str, float] | None = None,
) -> Importance:
    """Score a statement.

    lasts: until it expires or stops being true, None for no end. times_said: how often it was said so far,
    at least 1. corrects: it names the memory that it replaces, which is as explicit as asking for it.
    adjust: multipliers of the weights by name; the sum stays within 0 and 1.
    """
    asked = corrects or _ASKED.search(content) is not None
    values = {
        "kind": _KINDS[kind],
        "stability": 1.0 if lasts is None else max(0.0, min(1.0, lasts / timedelta(days=30))),
        "repetition": 1.0 - 1.0 / max(1, times_said),
        "explicitness": 1.0 if asked else _SOURCES[source_type],
    }
    says_nothing = _SMALL_TALK.fullmatch(content[:200]) is not None and len(content) <= 200
    share = _EMPTY_WEIGHT if says_nothing else 1.0
    weights = {name: weight * (adjust or {}).get(name, 1.0) for name, weight in _WEIGHTS.items()}
    factors = [
        Factor(name, value, weights[name], weights[name] * value * share) for name, value in values.items()
    ]
    if says_nothing:
        factors.append(Factor("content", share, 1.0, share))
    score = sum(factor.contribution for factor in factors if factor.name in _WEIGHTS)
    return Importance(min(1.0, score), tuple(factors))
