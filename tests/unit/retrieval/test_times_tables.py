"""Sentences of ten languages by the times that they mean, in times/*.yaml, and what reading them costs."""

import re
import re._parser as parser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.retrieval.times import (
    MAX_SPANS,
    arabic,
    french,
    grammar,
    names_time,
    read_times,
    spanish,
    tables,
    thai,
    time_spans,
    vietnamese,
)
from muniment_server.retrieval.times.makers import Maker, Named
from muniment_server.retrieval.times.spans import Span
from support.times import read_every_rule

# A Wednesday.
NOW = datetime(2026, 6, 17, 12, tzinfo=UTC)
LANGUAGES = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).with_name("times").glob("*.yaml"))
}
TABLES = {
    "arabic": arabic.LANGUAGE,
    "french": french.LANGUAGE,
    "spanish": spanish.LANGUAGE,
    "thai": thai.LANGUAGE,
    "vietnamese": vietnamese.LANGUAGE,
}
Read = tuple[str, date, date]


def spans(text: str) -> list[tuple[date, date]]:
    return [(one.start.date(), one.end.date()) for one in time_spans(text, NOW) if one.start and one.end]


def _entries(table: Mapping[str, Sequence[str]]) -> Iterator[Read]:
    for days, texts in table.items():
        first, second = map(date.fromisoformat, days.split())
        for text in texts:
            yield text, first, second


def by_days(part: str) -> list[Read]:
    return [entry for language in LANGUAGES.values() for entry in _entries(language[part])]


def texts(part: str) -> list[str]:
    return [text for language in LANGUAGES.values() for text in language[part]]


def test_there_are_sentences_of_each_language() -> None:
    assert set(LANGUAGES) == {*TABLES, "chinese", "english", "german", "japanese", "korean"}


@pytest.mark.parametrize(("text", "start", "end"), by_days("spans"))
def test_a_time_is_one_span(text: str, start: date, end: date) -> None:
    assert spans(text) == [(start, end)]


@pytest.mark.parametrize(("text", "start", "end"), by_days("of_every_year"))
def test_a_date_without_its_year_is_one_of_several(text: str, start: date, end: date) -> None:
    found = spans(text)
    assert found[0] == (start, end)
    assert [one[0].year for one in found] == list(range(start.year, start.year - 12, -1))


@pytest.mark.parametrize(("text", "first", "second"), by_days("two_days"))
def test_two_days_are_two_spans(text: str, first: date, second: date) -> None:
    assert [one[0] for one in spans(text)] == [first, second]


@pytest.mark.parametrize("text", texts("no_times"))
def test_what_is_no_time_gives_nothing(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize("text", texts("asks_for_a_time_alone"))
def test_a_question_may_ask_for_nothing_but_a_time(text: str) -> None:
    assert read_times(text, NOW).alone


@pytest.mark.parametrize("text", texts("asks_for_more"))
def test_a_question_for_more_than_a_time(text: str) -> None:
    assert not read_times(text, NOW).alone


def test_what_marks_stored_texts_does_not_know_the_languages_of_tables() -> None:
    """Marks are stored: they change with the version of the analysis alone."""
    in_words = [
        text
        for name in TABLES
        for text, _, _ in _entries(LANGUAGES[name]["spans"])
        if not re.search(r"\d", text)
    ]
    assert len(in_words) > 200
    assert [text for text in in_words if names_time(text)] == []


WORDS = [
    *sorted({word for table in TABLES.values() for word in table.phrases}),
    "5",
    "31",
    "0",
    "2024",
    "2567",
]


@given(
    st.lists(st.sampled_from(WORDS) | st.sampled_from(list(",./-'?")), max_size=16),
    st.sampled_from([" ", ""]),
    st.datetimes(timezones=st.just(UTC)),
)
def test_nothing_breaks_it(words: list[str], space: str, instant: datetime) -> None:
    found = time_spans(space.join(words), instant)
    assert len(found) <= MAX_SPANS
    assert all(one.start < one.end for one in found if one.start and one.end)


def test_what_is_looked_for_first_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [text for part in ("spans", "of_every_year", "two_days") for text, _, _ in by_days(part)]
    known += texts("no_times")
    before = [spans(text) for text in known]
    read_every_rule(monkeypatch)
    assert [text for text, found in zip(known, before, strict=True) if spans(text) != found] == []


def test_what_a_place_of_a_text_costs_is_bounded() -> None:
    for pattern, _, _ in grammar.RULES:
        _, longest = parser.parse(pattern.pattern).getwidth()
        assert longest <= 24
    for table in TABLES.values():
        assert max(map(len, table.phrases.values())) <= 16
        assert max(len(rest) for entries in table.phrases.values() for rest, _, _ in entries) <= 5


@pytest.mark.parametrize("name", TABLES)
def test_work_grows_with_the_length_of_a_text_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in words, and in how often the calendar is asked."""
    made = 0

    def counted(make: Maker) -> Maker:
        def count(named: Named, today: date) -> Iterable[Span]:
            nonlocal made
            made += 1
            return make(named, today)

        return count

    monkeypatch.setattr(
        grammar, "RULES", tuple((pattern, counted(make), fixed) for pattern, make, fixed in grammar.RULES)
    )
    sentences = " ".join(text for text, _, _ in _entries(LANGUAGES[name]["spans"]))
    counts = []
    for length in (2_048, 4_096, 8_192):
        text = (sentences * 8)[:length].lower()
        made = 0
        grammar.read(text, TABLES[name], NOW.date(), [])
        kinds, tokens = tables.tokens_of(text, TABLES[name])
        assert len(kinds) == len(tokens) <= length
        assert made <= len(kinds)
        counts.append(made)
    assert counts[2] <= 4.5 * counts[0]
    assert counts[1] <= 2.5 * counts[0]
