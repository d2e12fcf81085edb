"""Marks beside the terms of a memory, and what a query looks for."""

from datetime import UTC, datetime

import pytest

from muniment_server.retrieval.analysis import Analyzer
from muniment_server.retrieval.indexing import (
    ASKS,
    SAYS_NAME,
    SAYS_NUMBER,
    SAYS_TIME,
    index_terms,
    name_marks,
    slot_marks,
    speaker_marks,
)
from muniment_server.retrieval.queries import QueryTerms, analyse_query

NOW = datetime(2026, 6, 17, tzinfo=UTC)
FORM = {ASKS, SAYS_NAME, SAYS_NUMBER, SAYS_TIME}


def read(text: str) -> QueryTerms:
    return analyse_query(text, Analyzer().analyze_query(text), NOW, UTC)


def test_terms_are_those_of_the_text_alone() -> None:
    text = "Rowing on the lake with friends"
    bare, full = index_terms(text), index_terms(text, "Mary Ann", "home_city")
    assert bare.length == full.length == len(Analyzer().analyze(text))
    assert set(full.frequencies) - set(bare.frequencies) == {
        *speaker_marks(["mari", "ann"]),
        *slot_marks(["home", "citi"]),
    }
    assert full.frequencies[slot_marks(["home"])[0]] == 2
    assert index_terms(text, "Mary Ann").with_slot("home_city") == full


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Rowing is fun", set()),
        ("Is rowing fun?", {ASKS}),
        ("划船好玩吗？", {ASKS}),
        ("We met yesterday", {SAYS_TIME}),
        ("He has four boats", {SAYS_NUMBER}),
        ("We went to Lyon together", {SAYS_NAME}),
        ("I read 《边城》 again", {SAYS_NAME}),
        ("It is what I like", set()),
    ],
)
def test_the_form_of_a_text(text: str, marks: set[str]) -> None:
    assert FORM & set(index_terms(text).frequencies) == marks


def test_names_are_marked_as_a_query_names_them() -> None:
    terms = index_terms("Later we met Anna Lindholm in Turku").frequencies
    asked = read("what about lindholm")
    assert name_marks(["anna", "lindholm", "turku"]) == [
        one for one in terms if one in name_marks(["anna", "lindholm", "turku"])
    ]
    assert set(asked.names) & set(terms) == set(name_marks(["lindholm"]))
    assert len(asked.words) == len(asked.speakers) == len(asked.names) == len(asked.slots)


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("What did you recommend to me?", "assistant"),
        ("你给我推荐过什么书？", "assistant"),
        ("What did I tell you about tea?", "user"),
        ("我和你说过什么？", "user"),
        ("What is my favourite tea?", "user"),
        ("Which tea is green?", None),
    ],
)
def test_i_and_you_mean_speakers(text: str, speaker: str | None) -> None:
    roles = set(read(text).roles)
    assert bool(roles) == (speaker is not None)
    for name in ("user", "assistant"):
        marks = index_terms("x", name).frequencies
        assert bool(roles & set(marks)) == (name == speaker)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("When was it?", [SAYS_TIME]),
        ("How many boats?", [SAYS_NUMBER]),
        ("Where was it?", [SAYS_NAME]),
        ("谁来过？", [SAYS_NAME]),
        ("Is it green?", []),
    ],
)
def test_what_sort_of_answer_is_wanted(text: str, wanted: list[str]) -> None:
    assert read(text).wanted == wanted
