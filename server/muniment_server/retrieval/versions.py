"""Every version of the text analysis whose terms may still stand in an index.

A memory keeps the terms of the version it was analysed with until a background job has derived them anew.
Until then a query is analysed by all versions that may be in the store, so that each memory is met by the
terms it has. Whoever changes the analysis keeps what it was before in a module of its own, and enters it
here under its number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muniment_server.retrieval.analysis import ANALYZER_VERSION, Analyzer
from muniment_server.retrieval.earlier import ANALYZER_1, index_terms_1
from muniment_server.retrieval.indexing import IndexTerms, index_terms


@dataclass(frozen=True, slots=True)
class Version:
    """One version: `index` gives what stands in the index of content and speaker, `query` a query's terms."""

    index: Callable[[str, str | None], IndexTerms]
    query: Callable[[str], Sequence[str]]


VERSIONS: dict[int, Version] = {
    1: Version(index_terms_1, ANALYZER_1.analyze_query),
    ANALYZER_VERSION: Version(index_terms, Analyzer().analyze_query),
}
OLDEST_VERSION = min(VERSIONS)
"""Earlier revisions, of what was known at a time, keep the terms of their version for good."""


def index_terms_of(version: int, content: str, speaker: str | None) -> IndexTerms:
    """What a version puts into the index; a version that nobody knows any more is taken for this one."""
    return VERSIONS.get(version, VERSIONS[ANALYZER_VERSION]).index(content, speaker)


def query_terms(text: str, oldest: int = ANALYZER_VERSION) -> list[str]:
    """The distinct terms of a query, by this version first and then by all down to `oldest`."""
    found: dict[str, None] = {}
    for number in range(ANALYZER_VERSION, min(oldest, ANALYZER_VERSION) - 1, -1):
        if number in VERSIONS:
            found.update(dict.fromkeys(VERSIONS[number].query(text)))
    return list(found)
