"""What the text analysis was before: versions of which rows may still be in a store (versions.py).

Nothing here may change. What a version shares with the present one must not change for it either.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from muniment_server.retrieval.analysis import (
    MAX_FOLDED_LENGTH,
    Analyzer,
    is_latin,
    normalize,
    other_alphabet,
    stem,
    without_accents,
)
from muniment_server.retrieval.indexing import (
    MAX_READ_CHARACTERS,
    IndexTerms,
    form_marks,
    name_marks,
    speaker_marks,
)
from muniment_server.retrieval.naming import titles

# --- 1: words outside ASCII without a stem or a second spelling, names by capitals in ASCII alone

_MAX_NAMES_1 = 64
_CAPITALS_1 = re.compile(r"(?<=[a-z,;:)\]0-9] )[A-Z][A-Za-z'’-]+(?: [A-Z][A-Za-z'’-]+)*")
_PRONOUN_1 = re.compile(r"I(?:['’](?:m|ve|d|ll))?")


def _fold_1(word: str) -> Iterator[str]:
    if len(word) > MAX_FOLDED_LENGTH:
        yield word
        return
    word = unicodedata.normalize("NFKC", word.casefold())
    if not is_latin(word):
        yield from other_alphabet(word)
        return
    yield word
    plain = without_accents(word)
    if plain != word and plain.isascii():
        yield stem(plain)


ANALYZER_1 = Analyzer(1, _fold_1, lambda text: text)


def _named_1(text: str) -> Iterator[str]:
    for found in _CAPITALS_1.finditer(text):
        if not _PRONOUN_1.fullmatch(found[0]):
            yield found[0]
    yield from titles(text)


def _terms_1(name: str) -> list[str]:
    return ANALYZER_1.analyze_query(name) or [name.casefold()]


def index_terms_1(content: str, speaker: str | None) -> IndexTerms:
    """What version 1 put into the index."""
    frequencies = Counter(ANALYZER_1.analyze(content))
    length = frequencies.total()
    if speaker:
        frequencies.update(speaker_marks(list(dict.fromkeys(_terms_1(speaker)))))
    start = normalize(content[:MAX_READ_CHARACTERS])
    named = list(islice(_named_1(start), _MAX_NAMES_1))
    frequencies.update(dict.fromkeys(name_marks(term for name in named for term in _terms_1(name)), 1))
    frequencies.update(form_marks(content, start, bool(named)))
    return IndexTerms(frequencies, length)
