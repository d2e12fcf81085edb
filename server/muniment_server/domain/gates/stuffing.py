"""The gate for stuffing: a text padded with a topic's words so that it is found for every question on it.

Ordinary writing repeats itself little: in any stretch of two dozen words of a sentence, a list or a chat,
most are different. A padded text says the same few words again and again. The gate looks at the share of
different tokens in a moving window, and at how much of the whole the commonest word takes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import add

import numpy as np

from muniment_server.domain.model import TrustLevel

from .base import Finding, GateResult, Statement, Verdict
from .folding import word_set
from .policy import GatePolicy

NAME = "stuffing"
REPEATED = "REPEATED_WORDS"

_TOKENS = re.compile("[^\\W\\d_\u3040-\u30ff\u3400-\u9fff]{2,}|[\u3040-\u30ff\u3400-\u9fff]+")
_COMMON = word_set(
    "the a an and or of to in on at for is are was were be it its that this with as by from we he she they"
    " you i my his her their our not no but so if then than will would can la le de et und der die das"
)
_WINDOW = 24
_STEP = 4
_DIFFERENT = 0.42
"""Share of different tokens in a window; below it the window is padding."""
_SHORT = 8
_MIDDLE = 14
_SHORT_SHARE = 0.6
_SHARE = 0.3
_LEAST = 24
_LEAST_REPEATED = 5
"""Fewer repetitions than this are padding nowhere; most texts are done with that."""
_ALIKE = re.compile(r"(.)\1", re.DOTALL)
_FEW = 200
"""Tokens, up to which their windows are gone through one by one."""


def tokens(text: str) -> list[str]:
    """Words without the commonest ones; of scripts without spaces, pairs of characters."""
    found: list[str] = []
    for run in _TOKENS.findall(text):
        if run[0] >= "\u3040" and run[0] <= "\u9fff":
            # Laughter and dashes are one token however long: "哈哈哈哈".
            pairs = map(add, run, run[1:])
            found += pairs if _ALIKE.search(run) is None else _short(run)
        elif run not in _COMMON:
            found.append(run)
    return found


def _short(run: str) -> Iterator[str]:
    last = ""
    for first, second in pairwise(run):
        if first != second or first != last:
            yield first + second
        last = first


class StuffingGate:
    """Marks text whose words repeat as they do in no ordinary text."""

    name = NAME

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy

    def check(self, statement: Statement) -> GateResult:
        """See `Gate`."""
        text = statement.folded.text
        if len(text) < 40:
            return GateResult(NAME)
        if not is_stuffed(tokens(text)):
            return GateResult(NAME)
        verdict = self._policy.stuffing.verdict(statement.trust)
        return GateResult(
            NAME,
            verdict,
            REPEATED,
            [Finding(NAME, REPEATED, verdict)],
            trust_ceiling=None if verdict is Verdict.PASS else TrustLevel.LOW,
        )


def is_stuffed(found: list[str]) -> bool:
    """Whether a sequence of tokens repeats itself as padding does."""
    if len(found) < _SHORT:
        return False
    if len(found) - len(set(found)) < _LEAST_REPEATED:
        return False
    whole = Counter(found)
    most = whole.most_common(1)[0][1]
    if len(found) < _LEAST:
        few = len(found) >= _MIDDLE and len(whole) <= _DIFFERENT * len(found)
        return few or (most >= 6 and most >= _SHORT_SHARE * len(found))
    if most >= _SHARE * len(found) and most >= 9:
        return True
    if len(found) - len(whole) < (1 - _DIFFERENT) * _WINDOW:
        return False
    if len(found) > _FEW:
        return fewest_different(found) <= _DIFFERENT * _WINDOW
    return any(
        len(set(found[start : start + _WINDOW])) <= _DIFFERENT * _WINDOW
        for start in range(0, len(found) - _WINDOW + 1, _STEP)
    )


def fewest_different(found: Sequence[str]) -> int:
    """The fewest different tokens of a window: those that do not stand earlier in it are counted."""
    seen: dict[str, int] = {}
    earlier = []
    for place, token in enumerate(found):
        earlier.append(seen.get(token, -1))
        seen[token] = place
    before = np.array(earlier, dtype=np.int32)
    starts = np.arange(0, len(found) - _WINDOW + 1, _STEP, dtype=np.int32)
    different = np.zeros(len(starts), dtype=np.int32)
    for step in range(_WINDOW):
        different += before[starts + step] < starts
    return int(different.min())
