"""Wordings by which a text addresses the model that will read it, in English and Chinese.

English patterns run over words alone: lower case, one space between them, fillers gone. Chinese ones run
over the text without white space and punctuation. So whatever stands between the words of an instruction
(dots, dashes, line breaks, emoji, "um") does not hide it.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """A family of wordings. `weak`: ordinary people say such things too; two of them count as strong.

    begins, tells: words of which each must have one in a text that the pattern can match; to look at sets of
    words is much quicker than to search. needs: the same for a text without words.
    """

    rule: str
    pattern: re.Pattern[str]
    weak: bool = False
    begins: frozenset[str] = frozenset()
    tells: frozenset[str] = frozenset()
    needs: re.Pattern[str] | None = None


def english(rule: str, begins: str, tells: str, *alternatives: str, weak: bool = False) -> Wording:
    pattern = re.compile("|".join(rf"\b(?:{one})\b" for one in alternatives))
    return Wording(rule, pattern, weak, frozenset(begins.split()), frozenset(tells.split()))


def chinese(rule: str, *alternatives: str, weak: bool = False, needs: str = "") -> Wording:
    return Wording(rule, re.compile("|".join(alternatives)), weak, needs=re.compile(needs) if needs else None)
