"""The gate for stuffing: a text padded with a topic's words so that it is found for every question on it.

Ordinary writing repeats itself little: in any stretch of two dozen words of a sentence, a list or a chat,
most are different. A padded text says the same few words again and again. The gate looks at the share of
different tokens in a moving window, and at how much of the whole the commonest word takes.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

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
_MOST_TOKENS = 6000


def tokens(text: str) -> Iterator[str]:
    """Words without the commonest ones; of scripts without spaces, pairs of characters."""
    for found in _TOKENS.finditer(text):
        run = found[0]
        if run[0] >= "\u3040" and run[0] <= "\u9fff":
            # Laughter and dashes are one token however long: "哈哈哈哈".
            last = ""
            for first, second in pairwise(run):
                if first != second or first != last:
                    yield first + second
                last = first
        elif run not in _COMMON:
            yield run


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
        found = list(tokens(text[: 8 * _MOST_TOKENS]))[:_MOST_TOKENS]
        if not is_stuffed(found):
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
    return any(
        len(set(found[start : start + _WINDOW])) <= _DIFFERENT * _WINDOW
        for start in range(0, len(found) - _WINDOW + 1, _STEP)
    )
