"""The BM25 that the lexical leg computes in SQL, in plain Python: the definition, and the test oracle.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
inverse document frequency of Lucene:

    idf(t)      = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))
    score(d, q) = sum over t in q of idf(t) * tf(t, d) * (k1 + 1) / (tf(t, d) + k1 * (1 - b + b * |d| / avg))
    share(d, q) = score(d, q) / sum over t in q of idf(N, max(df(t), 1)) * (k1 + 1)

N, df and avg are those of one scope. `rank-bm25`, the oracle of the tests, uses
ln((N - df + 0.5) / (df + 0.5)) by default, which is negative for a term that more than half of the
documents have, and mends that with a fraction of the mean idf of the whole vocabulary. In a scope of
two memories every term would be worth nothing, and any write would change the weight of every term.
Lucene's form is positive for every df, and needs nothing but N and df.

`share` is what makes a score mean something by itself: the part of the best conceivable score that a
memory reached. It lies in [0, 1) and does not depend on what else was found. A term that no memory has
counts in it, and as much as one that a single memory has: with its own idf it would weigh five times as
much as a term that was found in a scope of one memory, and a half match there would be worth nothing.
One occurrence of every term of the query in a memory of average length gives 1/(k1 + 1), which is 0.45;
of half of the terms, half of that. In SQL one idf serves both: a term with df 0 is in no memory's score.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

K1 = 1.2
B = 0.75
MAX_LENGTH_RATIO = 3.0
"""Of a memory to the average of its scope, in `share` only. Without a bound a text a hundred times longer
than the average would have next to no share even where it holds every word of the query, and the
threshold for being relevant would hide it. `score`, and with it the order of the lexical leg, has none."""


@dataclass(frozen=True, slots=True)
class ScopeStatistics:
    """What a scope's BM25 rests on.

    documents: live memories. terms: sum of their lengths. frequencies: memories that have a term.
    """

    documents: int
    terms: int
    frequencies: Mapping[str, int]

    @classmethod
    def of(cls, documents: Iterable[Sequence[str]]) -> "ScopeStatistics":
        """Count the analysed documents of a scope."""
        count = terms = 0
        frequencies: Counter[str] = Counter()
        for document in documents:
            count += 1
            terms += len(document)
            frequencies.update(set(document))
        return cls(count, terms, frequencies)

    @property
    def mean_length(self) -> float:
        """Terms of an average document; 0 for a scope without any."""
        return self.terms / max(self.documents, 1)


def idf(documents: int, frequency: int) -> float:
    """Inverse document frequency; positive for 0 <= frequency <= documents."""
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def score(query: Iterable[str], document: Sequence[str], statistics: ScopeStatistics) -> float:
    """BM25 of an analysed document; each occurrence of a term in `query` counts.

    The SQL is given distinct terms, as `Analyzer.analyze_query` returns them.
    """
    counts = Counter(document)
    return _sum(query, counts, len(document) / statistics.mean_length if document else 0.0, statistics)


def _sum(
    query: Iterable[str], counts: Mapping[str, int], length_ratio: float, statistics: ScopeStatistics
) -> float:
    total = 0.0
    for term in query:
        tf = counts.get(term, 0)
        if tf:
            length = 1 - B + B * length_ratio
            weight = idf(statistics.documents, statistics.frequencies.get(term, 0))
            total += weight * tf * (K1 + 1) / (tf + K1 * length)
    return total


def reachable(query: Iterable[str], statistics: ScopeStatistics) -> float:
    """Upper bound of `score` in this scope; 0 for a query without terms or a scope without memories."""
    if not statistics.documents:
        return 0.0
    frequencies = statistics.frequencies
    return sum(idf(statistics.documents, frequencies.get(term, 0) or 1) * (K1 + 1) for term in query)


def share(query: Sequence[str], document: Sequence[str], statistics: ScopeStatistics) -> float:
    """Part of the reachable score, in [0, 1); 0 for a query without terms."""
    best = reachable(query, statistics)
    if best <= 0 or not document:
        return 0.0
    ratio = min(len(document) / statistics.mean_length, MAX_LENGTH_RATIO)
    return _sum(query, Counter(document), ratio, statistics) / best
