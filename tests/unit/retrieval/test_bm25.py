"""The reference formula against an independent implementation, and the meaning of the share."""

from math import isclose, log

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from muniment_server.retrieval.bm25 import (
    K1,
    MAX_LENGTH_RATIO,
    B,
    ScopeStatistics,
    idf,
    reachable,
    score,
    share,
)

TERMS = st.sampled_from(list("abcdefgh"))
DOCUMENTS = st.lists(st.lists(TERMS, max_size=30), min_size=1, max_size=15)
QUERIES = st.lists(st.sampled_from(list("abcdefghxyz")), max_size=6)


class LuceneIdf(BM25Okapi):  # type: ignore[misc]
    """rank-bm25 with the idf of Lucene; its own is negative for what most documents have."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, frequency in nd.items():
            self.idf[term] = log(1 + (self.corpus_size - frequency + 0.5) / (frequency + 0.5))


@given(DOCUMENTS, QUERIES)
def test_scores_are_those_of_rank_bm25(documents: list[list[str]], query: list[str]) -> None:
    assume(any(documents))
    statistics = ScopeStatistics.of(documents)
    oracle = LuceneIdf(documents, k1=K1, b=B).get_scores(query)
    ours = [score(query, document, statistics) for document in documents]
    assert all(isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(ours, oracle, strict=True))


@given(DOCUMENTS, QUERIES)
def test_share_is_an_ordered_part_of_what_can_be_reached(
    documents: list[list[str]], query: list[str]
) -> None:
    statistics = ScopeStatistics.of(documents)
    shares = [share(query, doc, statistics) for doc in documents]
    assert all(0 <= part < 1 for part in shares)
    ordinary = [doc for doc in documents if len(doc) <= MAX_LENGTH_RATIO * statistics.mean_length]
    pairs = [(score(query, doc, statistics), share(query, doc, statistics)) for doc in ordinary]
    assert [part for _, part in sorted(pairs)] == sorted(part for _, part in pairs)


def test_a_long_text_keeps_a_share_for_every_word_it_holds() -> None:
    long = ["rare", *["filler"] * 5_000]
    statistics = ScopeStatistics.of([long, *[["short", "text"]] * 100])
    assert score(["rare"], long, statistics) < 0.2
    assert share(["rare"], long, statistics) == pytest.approx(
        1 / (1 + K1 * (1 - 0.75 + 0.75 * MAX_LENGTH_RATIO))
    )


def test_share_counts_what_no_memory_has() -> None:
    documents = [["berlin", "live"], ["tea", "green"]]
    statistics = ScopeStatistics.of(documents)
    assert isclose(share(["live"], documents[0], statistics), 1 / (K1 + 1))
    assert share(["live", "orbit"], documents[0], statistics) < share(["live"], documents[0], statistics)
    assert share(["orbit"], documents[0], statistics) == 0
    assert share([], documents[0], statistics) == 0


@pytest.mark.parametrize("others", [0, 1, 10, 10_000])
def test_half_a_match_is_worth_as_much_in_a_scope_of_any_size(others: int) -> None:
    memory = ["car", "level"]
    statistics = ScopeStatistics(
        documents=1 + others, terms=2 + 2 * others, frequencies={"car": 1, "level": 1, "tea": others}
    )
    assert share(["park", "car"], memory, statistics) == pytest.approx(0.5 / (K1 + 1))


def test_every_term_counts_even_in_the_smallest_scopes() -> None:
    assert idf(1, 1) > 0
    assert idf(2, 2) > 0
    one = ScopeStatistics.of([["tea"]])
    assert 0 < share(["tea"], ["tea"], one) < 1
    assert reachable(["tea"], ScopeStatistics.of([])) == 0
    empty = ScopeStatistics.of([[], []])
    assert share(["tea"], [], empty) == 0
