"""What a memory puts into the blind index: the terms of its text, and marks of what it is about.

A mark is a term of another kind: who speaks, a name that is mentioned, a word of the slot, the script, or
that the text says a time, a number or a name, or asks. It can meet no word of a text, since no analysed
term has a control character. Marks count neither in the length of a memory nor in the statistics of its
scope.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from muniment_server.retrieval.analysis import Analyzer, normalize
from muniment_server.retrieval.naming import names
from muniment_server.retrieval.scripts import simplified
from muniment_server.retrieval.times import names_time
from muniment_server.retrieval.writing import writing_marks

SAYS_TIME = "\x1fsays:time"
SAYS_NUMBER = "\x1fsays:number"
SAYS_NAME = "\x1fsays:name"
ASKS = "\x1fasks"
"""Marks of a text's form: it names a time, a number or a name, or ends as a question."""

MAX_NAMES = 128
"""Names of one text; those that come first are kept."""
MAX_READ_CHARACTERS = 4_000
"""So much of a text is read for its form and its names."""
_SPEAKER = "\x1fspeaker:"
_NAME = "\x1fname:"
_CALLED = "\x1fcalled:"
_SLOT = "\x1fslot:"
_MAX_SLOT_WORDS = 16
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand couple few several"
    " once twice first second third"
).replace(" ", "|")
_NUMBER = re.compile(
    rf"\d|\b(?:{_NUMBER_WORDS})\b|[两几百千万]|[一二三四五六七八九十]+[个次年月天岁只本位]", re.IGNORECASE
)
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
    start = normalize(content[:MAX_READ_CHARACTERS])
    found = list(islice(names(simplified(start)), MAX_NAMES))
    for marks, ones in ((called_marks, found), (name_marks, [name for name in found if name.sure])):
        terms = dict.fromkeys(term for name in ones for term in name_terms(name.text))
        frequencies.update(marks(terms))
    frequencies.update(form_marks(content, start, any(name.sure for name in found)))
    frequencies.update(writing_marks(start))
    return IndexTerms(frequencies, length).with_slot(slot)


def form_marks(content: str, start: str, says_name: bool) -> dict[str, int]:
    """The marks of a text's form; start: its beginning, normalised."""
    return {
        mark: 1
        for mark, holds in (
            (SAYS_NAME, says_name),
            (SAYS_NUMBER, bool(_NUMBER.search(start))),
            (SAYS_TIME, names_time(start)),
            (ASKS, content.rstrip(_CLOSING).endswith(("?", "？", "؟"))),
        )
        if holds
    }


def name_terms(name: str) -> list[str]:
    """The distinct terms of a name, as a query that names it gives them.

    Of a name in Chinese characters its pairs and words: single ones are in many names.
    """
    terms = _analyzer.analyze_query(name)
    return [term for term in terms if len(term) > 1 or term.isascii()] or terms or [name.casefold()]


def slot_words(slot: str) -> list[str]:
    """The distinct terms of a slot's name: `home_city` is about a home and a city."""
    words = re.sub(r"[_.\-/:]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", slot))
    return list(dict.fromkeys(_analyzer.analyze_query(words)))[:_MAX_SLOT_WORDS]


def speaker_marks(terms: Sequence[str]) -> list[str]:
    """The marks under which a speaker with these terms in the name stands in the index."""
    return [_SPEAKER + term for term in terms]


def name_marks(terms: Iterable[str]) -> list[str]:
    """The marks of names that a text mentions, of which the capital can mean nothing else."""
    return [_NAME + term for term in terms]


def called_marks(terms: Iterable[str]) -> list[str]:
    """The marks of what may be a name in a text, for a query that says that it is one."""
    return [_CALLED + term for term in terms]


def slot_marks(terms: Sequence[str]) -> list[str]:
    """The marks of the words of a slot's name."""
    return [_SLOT + term for term in terms]
