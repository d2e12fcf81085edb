"""Times in queries: which spans they mean, and what is no time."""

from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.retrieval.times import MAX_SPANS, asks_when, names_time, time_spans

# A Wednesday.
NOW = datetime(2026, 6, 17, 12, tzinfo=UTC)
ENDS = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]


def spans(text: str) -> list[tuple[date, date]]:
    found = time_spans(text, NOW)
    return [(one.start.date(), one.end.date()) for one in found if one.start and one.end]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what happened yesterday", (2026, 6, 16), (2026, 6, 17)),
        ("昨天说了什么", (2026, 6, 16), (2026, 6, 17)),
        ("昨日の話", (2026, 6, 16), (2026, 6, 17)),
        ("the day before yesterday", (2026, 6, 15), (2026, 6, 16)),
        ("前天", (2026, 6, 15), (2026, 6, 16)),
        ("tomorrow", (2026, 6, 18), (2026, 6, 19)),
        ("last week", (2026, 6, 8), (2026, 6, 15)),
        ("上周", (2026, 6, 8), (2026, 6, 15)),
        ("this month", (2026, 6, 1), (2026, 7, 1)),
        ("上个月", (2026, 5, 1), (2026, 6, 1)),
        ("last year", (2025, 1, 1), (2026, 1, 1)),
        ("去年", (2025, 1, 1), (2026, 1, 1)),
        ("three days ago", (2026, 6, 14), (2026, 6, 15)),
        ("三天前", (2026, 6, 14), (2026, 6, 15)),
        ("two months ago", (2026, 4, 1), (2026, 5, 1)),
        ("in the last two weeks", (2026, 6, 3), (2026, 6, 18)),
        ("最近两周", (2026, 6, 3), (2026, 6, 18)),
        ("last Friday", (2026, 6, 12), (2026, 6, 13)),
        ("on Wednesday", (2026, 6, 10), (2026, 6, 11)),
        ("next Monday", (2026, 6, 22), (2026, 6, 23)),
        ("上周五", (2026, 6, 12), (2026, 6, 13)),
        ("last weekend", (2026, 6, 13), (2026, 6, 15)),
        ("May 23, 2025", (2025, 5, 23), (2025, 5, 24)),
        ("on the 3rd of June 2024", (2024, 6, 3), (2024, 6, 4)),
        ("2024-02-29", (2024, 2, 29), (2024, 3, 1)),
        ("2024年2月29日", (2024, 2, 29), (2024, 3, 1)),
        ("March 2024", (2024, 3, 1), (2024, 4, 1)),
        ("2024年3月", (2024, 3, 1), (2024, 4, 1)),
        ("in 2021", (2021, 1, 1), (2022, 1, 1)),
        ("last summer", (2025, 6, 1), (2025, 9, 1)),
        ("去年夏天", (2025, 6, 1), (2025, 9, 1)),
        ("the week before June 9, 2025", (2025, 6, 2), (2025, 6, 9)),
    ],
)
def test_a_time_is_one_span(text: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    assert spans(text) == [(date(*start), date(*end))]
    assert names_time(text)


@pytest.mark.parametrize("text", ["on 5 May", "May 5th", "5月5日", "5月5号"])
def test_a_date_without_its_year_is_that_day_of_several_years(text: str) -> None:
    assert (date(2026, 5, 5), date(2026, 5, 6)) in spans(text)
    assert (date(2023, 5, 5), date(2023, 5, 6)) in spans(text)
    assert len(spans(text)) == 12
    assert len(spans("29 February")) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "may I ask",
        "the last one",
        "room 12",
        "order 20231105",
        "I march on",
        "12:30",
    ],
)
def test_what_is_no_time_gives_nothing(text: str) -> None:
    assert spans(text) == []


def test_days_are_those_of_the_callers_zone() -> None:
    late = datetime(2026, 6, 16, 22, tzinfo=UTC)
    (shanghai,) = time_spans("yesterday", late, ZoneInfo("Asia/Shanghai"))
    assert shanghai.start == datetime(2026, 6, 15, 16, tzinfo=UTC)
    (utc,) = time_spans("yesterday", late)
    assert utc.start == datetime(2026, 6, 15, tzinfo=UTC)


def test_questions_for_a_time() -> None:
    assert all(map(asks_when, ("When did we meet?", "我们什么时候见面？", "How long did it take?", "いつ")))
    assert not any(map(asks_when, ("Who was it?", "whenever", "谁")))


@given(
    st.text(st.sampled_from("last week on5月日号号年前天 may2023-/,ago一三周上个"), max_size=40),
    st.datetimes(timezones=st.just(UTC)) | st.sampled_from(ENDS),
    st.sampled_from([UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Pago_Pago")]),
)
def test_nothing_breaks_it(text: str, instant: datetime, zone: tzinfo) -> None:
    found = time_spans(text, instant, zone)
    assert len(found) <= MAX_SPANS
    assert all(one.start < one.end for one in found if one.start and one.end)
