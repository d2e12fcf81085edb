"""What a memory puts into the blind index: the terms of its text, and marks of what it is about.

A mark is a term of another kind: who speaks, a name that is mentioned, a word of the slot, or that the text
says a time, a number or a name, or asks. It can meet no word of a text, since no analysed term has a
control character. Marks count neither in the length of a memory nor in the statistics of its scope.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from muniment_server.retrieval.analysis import Analyzer, normalize
from muniment_server.retrieval.times import names_time

SAYS_TIME = "\x1fsays:time"
SAYS_NUMBER = "\x1fsays:number"
SAYS_NAME = "\x1fsays:name"
ASKS = "\x1fasks"
"""Marks of a text's form: it names a time, a number or a name, or ends as a question."""

MAX_NAMES = 64
"""Names of one text; those that come first are kept."""
_SPEAKER = "\x1fspeaker:"
_NAME = "\x1fname:"
_SLOT = "\x1fslot:"
_MAX_CHARACTERS = 4_000
_MAX_SLOT_WORDS = 16
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand couple few several"
    " once twice first second third"
).replace(" ", "|")
_NUMBER = re.compile(
    rf"\d|\b(?:{_NUMBER_WORDS})\b|[两几百千万]|[一二三四五六七八九十]+[个次年月天岁只本位]", re.IGNORECASE
)
# A word in capitals that no sentence begins with, and what stands between the quotation marks of titles.
_CAPITALS = re.compile(r"(?<=[a-z,;:)\]0-9] )[A-Z][A-Za-z'’-]+(?: [A-Z][A-Za-z'’-]+)*")
_TITLE = re.compile(r"[“\"《「『]([^”\"》」』\n]{1,60})[”\"》」』]")
_PRONOUN = re.compile(r"I(?:['’](?:m|ve|d|ll))?")
_CLOSING = " \t\r\n\"'”’)]）」』~*"
_analyzer = Analyzer()


@dataclass(frozen=True, slots=True)
class IndexTerms:
    """Terms and marks with their frequencies; `length` counts the terms alone."""

    frequencies: Counter[str]
    length: int

    def with_slot(self, slot: str | None) -> "IndexTerms":
        """The same with marks of the slot's words; the frequency of each is how many the slot has."""
        words = slot_words(slot) if slot else []
        marks = Counter({mark: len(words) for mark in slot_marks(words)})
        return IndexTerms(self.frequencies + marks, self.length)


def index_terms(content: str, speaker: str | None = None, slot: str | None = None) -> IndexTerms:
    """Return what the index holds of a memory. The same text, speaker and slot give the same terms."""
    frequencies = Counter(_analyzer.analyze(content))
    length = frequencies.total()
    if speaker:
        frequencies.update(speaker_marks(name_terms(speaker)))
    start = normalize(content[:_MAX_CHARACTERS])
    named = list(islice(_names(start), MAX_NAMES))
    frequencies.update(dict.fromkeys(name_marks(term for name in named for term in name_terms(name)), 1))
    for mark, holds in (
        (SAYS_NAME, bool(named)),
        (SAYS_NUMBER, bool(_NUMBER.search(start))),
        (SAYS_TIME, names_time(start)),
        (ASKS, content.rstrip(_CLOSING).endswith(("?", "？", "؟"))),
    ):
        if holds:
            frequencies[mark] = 1
    return IndexTerms(frequencies, length).with_slot(slot)


def _names(text: str) -> Iterable[str]:
    for found in _CAPITALS.finditer(text):
        if not _PRONOUN.fullmatch(found[0]):
            yield found[0]
    for found in _TITLE.finditer(text):
        yield found[1]


def name_terms(name: str) -> list[str]:
    """The distinct terms of a name, as a query that names it gives them."""
    return list(dict.fromkeys(_analyzer.analyze_query(name) or [name.casefold()]))


def slot_words(slot: str) -> list[str]:
    """The distinct terms of a slot's name: `home_city` is about a home and a city."""
    words = re.sub(r"[_.\-/:]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", slot))
    return list(dict.fromkeys(_analyzer.analyze_query(words)))[:_MAX_SLOT_WORDS]


def speaker_marks(terms: Sequence[str]) -> list[str]:
    """The marks under which a speaker with these terms in the name stands in the index."""
    return [_SPEAKER + term for term in terms]


def name_marks(terms: Iterable[str]) -> list[str]:
    """The marks of names that a text mentions."""
    return [_NAME + term for term in terms]


def slot_marks(terms: Sequence[str]) -> list[str]:
    """The marks of the words of a slot's name."""
    return [_SLOT + term for term in terms]
