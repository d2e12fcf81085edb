"""What a memory puts into the blind index: the terms of its text, and marks of what it is about.

A mark is a term of another kind: who speaks. It can meet no word of a text, since no analysed term has
a control character. Marks count neither in the length of a memory nor in the statistics of its scope.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from muniment_server.retrieval.analysis import Analyzer

_SPEAKER = "\x1fspeaker:"
_analyzer = Analyzer()


@dataclass(frozen=True, slots=True)
class IndexTerms:
    """Terms and marks with their frequencies; `length` counts the terms alone."""

    frequencies: Counter[str]
    length: int


def index_terms(content: str, speaker: str | None = None) -> IndexTerms:
    """Return what the index holds of a memory. The same text and speaker give the same terms."""
    frequencies = Counter(_analyzer.analyze(content))
    length = frequencies.total()
    if speaker:
        frequencies.update(speaker_marks(name_terms(speaker)))
    return IndexTerms(frequencies, length)


def name_terms(name: str) -> list[str]:
    """The distinct terms of a name, as a query that names it gives them."""
    return list(dict.fromkeys(_analyzer.analyze_query(name) or [name.casefold()]))


def speaker_marks(terms: Sequence[str]) -> list[str]:
    """The marks under which a speaker with these terms in the name stands in the index."""
    return [_SPEAKER + term for term in terms]
