"""Whether a statement that a model wrote stands in the turns that it names: its numbers and names must, and
most of its words. A statement that does not was inferred, or put into the model's mouth."""

import re
import unicodedata
from itertools import pairwise

from muniment_server.domain.extraction.candidate import Turn

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,:/-]\d+)*", re.UNICODE)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_SHARE = 0.5
_COMMON = frozenset(
    """
    a an the and or but of to in on at for with from by is are was were be been am has have had do does
    did will would can could i me my mine we us our you your he she they them his her their it its this
    that these those user users subject person speaker agent who whom which not no very also now named
    called likes like lives works prefers wants says said s t
    """.split()  # noqa: SIM905 - words are easier to read than a list of them
)
_COMMON_CJK = frozenset("的了是在我你他她它们也和与用户就都很")


def is_grounded(content: str, turns: list[Turn]) -> bool:
    """Whether `content` says what the turns say: every number, every name in capitals, and half of the other
    words (of scripts without spaces: of the pairs of characters)."""
    said = " ".join(f"{turn.speaker or ''} {turn.content}" for turn in turns)
    words, pairs = _parts(said)
    own_words, own_pairs = _parts(content)
    for match in _WORD.finditer(content):
        piece = match[0]
        if piece[0].isdigit() and _fold(piece) not in words:
            return False
        # The first word of a sentence has its capital from there.
        if piece[0].isupper() and match.start() > 0 and len(piece) > 1 and not _CJK.match(piece):
            folded = _fold(piece)
            if folded not in words and folded not in _COMMON and not _begins_like(folded, words):
                return False
    weighed = {word for word in own_words if word not in _COMMON and not word[0].isdigit()}
    total = len(weighed) + len(own_pairs)
    if not total:
        return bool(own_words)
    held = sum(word in words or _begins_like(word, words) for word in weighed)
    held += sum(pair in pairs for pair in own_pairs)
    return held / total >= _SHARE


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _begins_like(word: str, words: set[str]) -> bool:
    """Another ending of the same word: lives and live, moved and moving."""
    stem = word[: max(4, len(word) - 3)]
    return len(word) > 3 and any(other.startswith(stem) for other in words)


def _parts(text: str) -> tuple[set[str], set[str]]:
    words: set[str] = set()
    pairs: set[str] = set()
    for match in _WORD.finditer(text):
        piece = _fold(match[0])
        if not _CJK.search(piece):
            words.add(piece)
            continue
        run = [char for char in piece if char not in _COMMON_CJK]
        pairs.update(a + b for a, b in pairwise(run))
        if len(run) == 1:
            pairs.add(run[0])
    return words, pairs
