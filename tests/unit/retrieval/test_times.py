"""Times in queries: which spans they mean, and what is no time."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.retrieval.times import MAX_SPANS, asks_when, names_time, read_times, time_spans
from support.times import read_every_rule

# A Wednesday.
NOW = datetime(2026, 6, 17, 12, tzinfo=UTC)
ENDS = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
EVER = (1, 1, 1)
DAYS = {
    (2025, 1, 3): [
        "on 3 January last year",
        "3. Januar 2025",
        "2025年1月3日",
        "2025년 1월 3일",
        "令和7年1月3日",
    ],
    (2025, 5, 5): ["on 5 May last year", "去年5月5日", "去年五月五号", "昨年5月5日", "작년 5월 5일"],
    (2026, 5, 5): [
        *(
            "on the 5th of last month",
            "the fifth of May 2026",
            "May 5, 2026",
            "5 May, 2026",
            "5th of May 2026",
        ),
        *("05.05.2026", "5.5.2026", "5. 5. 2026", "5/5/2026", "5/5/26", "2026-05-05", "2026/5/5", "2026.5.5"),
        *(
            "上月5号",
            "上个月5日",
            "上個月五號",
            "2026年5月5日",
            "今年五月五日",
            "二零二六年五月五日",
            "先月5日",
        ),
        *("2026년 5월 5일", "올해 5월 5일", "am 5. Mai 2026", "5. Mai dieses Jahres"),
    ],
    (2026, 4, 1): [
        "am 1. April 2026",
        "1. April 2026",
        "April 1, 2026",
        "1 April 2026",
        "first of April 2026",
    ],
    (2026, 5, 13): ["5/13/2026", "13/5/2026", "13-05-2026"],
    (2026, 5, 1): ["the Friday before 5 May 2026"],
    (2026, 5, 27): ["twenty-one days ago", "21 days ago", "二十一天前", "21일 전", "vor einundzwanzig Tagen"],
    (2026, 6, 5): [
        "twelve days ago",
        "十二天前",
        "12日前",
        "on the 5th?",
        "the Friday before last",
        "上上周五",
    ],
    (2026, 6, 7): ["十日前", "열흘 전", "vor zehn Tagen"],
    (2026, 6, 8): ["Monday last week", "last week on Monday", "先週の月曜日", "Montag letzter Woche"],
    (2026, 6, 10): [
        "on Wednesday",
        "last Wednesday",
        "周三",
        "星期三我做了什么",
        "礼拜三",
        "水曜日に",
        "수요일에",
    ],
    (2026, 6, 12): [
        *("last Friday", "on Friday", "Friday last week", "Friday night", "What did I do Friday?", "上周五"),
        *(
            "上个星期五",
            "先週の金曜日",
            "지난주 금요일",
            "지난 금요일",
            "am Freitag",
            "letzten Freitag",
            "Freitag",
        ),
    ],
    (2026, 6, 14): [
        *(
            "three days ago",
            "3 days back",
            "三天前",
            "3天以前",
            "三日前",
            "3日前",
            "大前天",
            "사흘 전",
            "3일 전에",
        ),
        *("vor drei Tagen", "on Sunday", "礼拜天", "上礼拜天", "周日", "last Sunday"),
    ],
    (2026, 6, 15): [
        *(
            "the day before yesterday",
            "two days ago",
            "前天",
            "两天前",
            "兩天前",
            "一昨日",
            "おととい",
            "그저께",
        ),
        *(
            "vorgestern",
            "vor zwei Tagen",
            "last Monday",
            "this Monday",
            "周一",
            "月曜日",
            "월요일",
            "am Montag",
        ),
    ],
    (2026, 6, 16): [
        *(
            "what happened yesterday",
            "yesterday evening",
            "last night",
            "昨天说了什么",
            "昨晚",
            "昨夜",
            "昨日の話",
        ),
        *("きのう", "어제", "어젯밤", "gestern", "gestern Abend", "a day ago", "하루 전"),
    ],
    (2026, 6, 17): [
        "today",
        "tonight",
        "this morning",
        "今天",
        "今日",
        "今早",
        "오늘",
        "heute",
        "heute Morgen",
    ],
    (2026, 6, 18): [
        "tomorrow",
        "明天",
        "明日",
        "あした",
        "내일",
        "morgen",
        "Was mache ich morgen?",
        "morgen früh",
    ],
    (2026, 6, 19): [
        *(
            "the day after tomorrow",
            "后天",
            "後天",
            "明後日",
            "모레",
            "übermorgen",
            "this Friday",
            "coming Friday",
        ),
        *("next Friday", "这周五", "這週五", "今週の金曜日", "이번 주 금요일", "diesen Freitag", "이틀 뒤"),
    ],
    (2026, 6, 20): ["三天后", "三日後", "3일 후", "three days from now", "in drei Tagen", "大后天"],
    (2026, 6, 22): ["next Monday", "下周一", "来週の月曜", "다음 주 월요일", "nächsten Montag"],
    (2026, 6, 29): ["下下周一", "再来週の月曜日"],
}
SPANS = {
    ((2026, 6, 8), (2026, 6, 15)): [
        "last week",
        "上周",
        "上个星期",
        "先週",
        "지난주",
        "지난 주에",
        "letzte Woche",
    ],
    ((2026, 6, 15), (2026, 6, 22)): ["this week", "本周", "这个星期", "今週", "이번 주", "diese Woche"],
    ((2026, 6, 22), (2026, 6, 29)): [
        "next week",
        "下周",
        "来週",
        "다음 주",
        "nächste Woche",
        "kommende Woche",
    ],
    ((2026, 6, 1), (2026, 6, 8)): ["the week before last", "上上周", "先々週", "지지난주", "vorletzte Woche"],
    ((2026, 6, 29), (2026, 7, 6)): [
        "下下周",
        "再来週",
        "다다음 주",
        "übernächste Woche",
        "the week after next",
    ],
    ((2026, 6, 13), (2026, 6, 15)): [
        "last weekend",
        "over the weekend",
        "上周末",
        "周末",
        "先週末",
        "지난 주말",
        "am Wochenende",
    ],
    ((2026, 6, 20), (2026, 6, 22)): ["this weekend", "这周末", "이번 주말", "dieses Wochenende"],
    ((2026, 5, 1), (2026, 6, 1)): [
        *(
            "last month",
            "a month ago",
            "上个月",
            "先月",
            "지난달",
            "letzten Monat",
            "vor einem Monat",
            "last May",
        ),
        *(
            "this May",
            "May 2026",
            "in May 2026",
            "2026年5月",
            "今年五月",
            "지난 5월",
            "Mai 2026",
            "letzten Mai",
            "2026년 5월",
        ),
    ],
    ((2026, 4, 1), (2026, 5, 1)): [
        "two months ago",
        "上上个月",
        "两个月前",
        "2か月前",
        "二ヶ月前",
        "두 달 전",
        "先々月",
    ],
    ((2026, 6, 1), (2026, 7, 1)): ["this month", "本月", "这个月", "今月", "이번 달", "diesen Monat"],
    ((2026, 7, 1), (2026, 8, 1)): ["next month", "下个月", "来月", "다음 달", "nächsten Monat"],
    ((2027, 5, 1), (2027, 6, 1)): ["next May", "May next year", "明年5月", "来年5月", "내년 5월"],
    ((2025, 5, 1), (2025, 6, 1)): [
        "in May last year",
        "last year in May",
        "去年5月",
        "去年五月",
        "去年の5月",
        "Mai letzten Jahres",
    ],
    ((2025, 12, 1), (2026, 1, 1)): [
        "half a year ago",
        "半年前",
        "반년 전",
        "vor einem halben Jahr",
        "six months ago",
    ],
    ((2024, 12, 1), (2025, 1, 1)): ["a year and a half ago", "一年半前", "vor anderthalb Jahren"],
    ((2025, 1, 1), (2026, 1, 1)): [
        "last year",
        "a year ago",
        "去年",
        "昨年",
        "一年前",
        "작년",
        "1년 전",
        "letztes Jahr",
        "2025",
        "2025년",
    ],
    ((2026, 1, 1), (2027, 1, 1)): [
        "this year",
        "今年",
        "올해",
        "dieses Jahr",
        "in 2026",
        "2026年",
        "im Jahr 2026",
    ],
    ((2027, 1, 1), (2028, 1, 1)): ["next year", "明年", "来年", "내년", "nächstes Jahr"],
    ((2024, 1, 1), (2025, 1, 1)): [
        "two years ago",
        "前年",
        "一昨年",
        "おととし",
        "재작년",
        "vor zwei Jahren",
        "2024年",
    ],
    ((2021, 1, 1), (2022, 1, 1)): ["in 2021", "2021年", "2021년에", "im Jahr 2021"],
    ((2025, 6, 1), (2025, 9, 1)): [
        *(
            "last summer",
            "summer 2025",
            "in the summer of 2025",
            "去年夏天",
            "去年の夏",
            "2025年夏天",
            "지난 여름",
        ),
        *("작년 여름", "letzten Sommer", "Sommer 2025", "im Sommer letzten Jahres"),
    ],
    ((2025, 12, 1), (2026, 3, 1)): ["last winter", "letzten Winter", "지난 겨울"],
    ((2026, 12, 1), (2027, 3, 1)): ["next winter", "this winter", "nächsten Winter"],
    ((2026, 1, 1), (2026, 4, 1)): [
        "last quarter",
        "Q1 2026",
        "first quarter of 2026",
        "2026年第一季度",
        "今年第1季度",
    ],
    ((2026, 1, 1), (2026, 7, 1)): ["上半年", "今年上半年"],
    ((2026, 6, 7), (2026, 6, 14)): ["a week ago", "一个星期前", "一週間前", "일주일 전", "vor einer Woche"],
    ((2026, 5, 31), (2026, 6, 7)): ["two weeks ago", "两周前", "2주 전", "두 주 전에", "vor zwei Wochen"],
    ((2026, 6, 10), (2026, 6, 17)): [
        "a few days ago",
        "几天前",
        "前几天",
        "数日前",
        "며칠 전",
        "vor ein paar Tagen",
    ],
    ((2026, 6, 3), (2026, 6, 18)): [
        "in the last two weeks",
        "最近两周",
        "past two weeks",
        "in den letzten zwei Wochen",
    ],
    ((2026, 6, 14), (2026, 6, 18)): ["last 3 days", "最近三天", "최근 3일", "die letzten drei Tage"],
    ((2026, 6, 17), (2026, 7, 2)): ["in the next two weeks", "未来两周", "다음 2주"],
    ((2025, 6, 2), (2025, 6, 9)): ["the week before June 9, 2025", "the week before 9 June 2025"],
    ((2026, 5, 3), (2026, 5, 11)): [
        *(
            "between 3 May 2026 and 10 May 2026",
            "between 3 and 10 May 2026",
            "from 3 to 10 May 2026",
            "3-10 May 2026",
        ),
        *("May 3 to May 10, 2026", "May 3-10, 2026", "3rd to 10th of May 2026", "2026-05-03 to 2026-05-10"),
        *(
            "3 May – 10 May 2026",
            "from May 3 through May 10 2026",
            "2026年5月3日到10日",
            "2026年5月3日至5月10日",
        ),
        *(
            "在2026年5月3日和5月10日之间",
            "2026年5月3日から10日まで",
            "2026年5月3日から5月10日まで",
            "2026.05.03-2026.05.10",
        ),
        *("2026년 5월 3일부터 10일까지", "2026년 5월 3일부터 5월 10일까지", "2026년 5월 3일과 5월 10일 사이"),
        *("vom 3. bis 10. Mai 2026", "vom 3. Mai bis zum 10. Mai 2026", "zwischen dem 3. und 10. Mai 2026"),
        *("3.5.2026 bis 10.5.2026", "zwischen dem 3. Mai und dem 10. Mai 2026"),
    ],
    ((2025, 12, 20), (2026, 1, 6)): [
        "between December 20, 2025 and January 5, 2026",
        "20 Dec 2025 - 5 Jan 2026",
    ],
    ((2025, 3, 1), (2025, 6, 1)): ["from March to May 2025", "去年3月到5月", "von März bis Mai 2025"],
    ((2019, 1, 1), (2022, 1, 1)): [
        "between 2019 and 2021",
        "from 2019 to 2021",
        "2019-2021",
        "von 2019 bis 2021",
    ],
    ((2026, 6, 15), (2026, 6, 20)): [
        "from Monday to Friday",
        "周一到周五",
        "월요일부터 금요일까지",
        "von Montag bis Freitag",
    ],
    ((2026, 6, 15), (2026, 6, 18)): ["since Monday", "seit Montag", "周一以来"],
    ((2024, 1, 1), (2026, 6, 18)): ["since 2024", "seit 2024"],
    ((2026, 5, 6), (2026, 6, 18)): ["after 5 May 2026", "after 5 May", "5月5日之后", "nach dem 5. Mai 2026"],
    (EVER, (2020, 1, 1)): ["before 2020", "2020年以前", "vor 2020"],
    (EVER, (2026, 6, 15)): ["until last week", "bis letzte Woche"],
}


def spans(text: str, now: datetime = NOW) -> list[tuple[date, date]]:
    found = time_spans(text, now)
    return [(one.start.date(), one.end.date()) for one in found if one.start and one.end]


@pytest.mark.parametrize(("text", "day"), [(text, day) for day, texts in DAYS.items() for text in texts])
def test_a_day_is_one_span(text: str, day: tuple[int, int, int]) -> None:
    assert spans(text) == [(date(*day), date(*day) + timedelta(days=1))]


@pytest.mark.parametrize(
    ("text", "start", "end"), [(text, *ends) for ends, texts in SPANS.items() for text in texts]
)
def test_a_time_is_one_span(text: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    assert spans(text) == [(date(*start), date(*end))]


@pytest.mark.parametrize(
    ("text", "now", "start", "end"),
    [
        ("半年前", (2026, 12, 20), (2026, 6, 1), (2026, 7, 1)),
        ("half a year ago", (2026, 12, 20), (2026, 6, 1), (2026, 7, 1)),
        ("this winter", (2027, 1, 15), (2026, 12, 1), (2027, 3, 1)),
        ("last winter", (2027, 1, 15), (2025, 12, 1), (2026, 3, 1)),
        ("this winter", (2026, 4, 15), (2025, 12, 1), (2026, 3, 1)),
        ("last summer", (2026, 9, 1), (2026, 6, 1), (2026, 9, 1)),
        ("last May", (2026, 5, 31), (2025, 5, 1), (2025, 6, 1)),
        ("next May", (2026, 1, 31), (2026, 5, 1), (2026, 6, 1)),
        ("last month", (2026, 1, 31), (2025, 12, 1), (2026, 1, 1)),
        ("this Friday", (2026, 6, 20), (2026, 6, 19), (2026, 6, 20)),
        ("on the weekend", (2026, 6, 21), (2026, 6, 20), (2026, 6, 22)),
        ("yesterday", (2028, 3, 1), (2028, 2, 29), (2028, 3, 1)),
    ],
)
def test_what_is_meant_depends_on_the_day(
    text: str, now: tuple[int, int, int], start: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    assert spans(text, datetime(*now, 9, tzinfo=UTC)) == [(date(*start), date(*end))]


@pytest.mark.parametrize(
    "text",
    ["on 5 May", "May 5th", "5月5日", "5月5号", "五月五日", "5월 5일", "오월 오일", "am 5. Mai", "am 5.5."],
)
def test_a_date_without_its_year_is_that_day_of_several_years(text: str) -> None:
    assert (date(2026, 5, 5), date(2026, 5, 6)) in spans(text)
    assert (date(2023, 5, 5), date(2023, 5, 6)) in spans(text)
    assert len(spans(text)) == 12


@pytest.mark.parametrize(
    "text", ["3-10 May", "May 3-10", "between May 3 and May 10", "5月3日到10日", "3. bis 10. Mai"]
)
def test_a_range_without_its_year_is_one_of_each_year(text: str) -> None:
    assert spans(text) == [(date(year, 5, 3), date(year, 5, 11)) for year in range(2027, 2015, -1)]


def test_a_day_that_not_every_year_has_is_one_of_those_that_have_it() -> None:
    assert len(spans("29 February")) == 3


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("5/6/2026", [(2026, 6, 5), (2026, 5, 6)]),
        ("05-06-2026", [(2026, 6, 5), (2026, 5, 6)]),
        ("05.06.2026", [(2026, 6, 5)]),
        ("2026-05-06", [(2026, 5, 6)]),
        ("2026/05/06", [(2026, 5, 6)]),
        ("3 and 10 May 2026", [(2026, 5, 3), (2026, 5, 10)]),
        ("May 3 and 10, 2026", [(2026, 5, 3), (2026, 5, 10)]),
        ("昨天和前天", [(2026, 6, 16), (2026, 6, 15)]),
    ],
)
def test_what_can_be_read_in_two_ways_is_both_days(text: str, days: list[tuple[int, int, int]]) -> None:
    assert spans(text) == [(date(*day), date(*day) + timedelta(days=1)) for day in days]


@pytest.mark.parametrize("text", ["winter 2024", "2024年冬天", "im Winter 2024"])
def test_a_year_has_parts_of_two_winters(text: str) -> None:
    assert spans(text) == [(date(2024, 1, 1), date(2024, 3, 1)), (date(2024, 12, 1), date(2025, 3, 1))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        *(
            "may I ask",
            "this may help",
            "the last may be",
            "may 2 people come",
            "I may 5 times fail",
            "March of the penguins",
            "I march on",
        ),
        *("I march 5 miles a day", "April likes June", "a second ago", "second opinion", "the last one"),
        *("my last job", "next door", "this house", "every Monday", "Mondays", "on the 5th floor"),
        *(
            "room 12",
            "order 20231105",
            "order 2024-AB",
            "12:30",
            "24/7",
            "5/5 stars",
            "1/2 cup",
            "3-10 people",
        ),
        *("version 2024.1.2.3", "version 1.2.2024.5", "10.0.0.1", "call 030-123-4567", "call 555 12 3456"),
        *("ISBN 978-3-16-148410-0", "2000 euros", "31/2/2026", "2026-13-01"),
        *(
            "guten Morgen",
            "Am Morgen trinke ich Kaffee",
            "jeden Morgen",
            "vor allem",
            "in der Stadt",
            "Mai Lin",
        ),
        *("die letzte Frage", "nächste Frage", "vor dem Haus"),
        *(
            "每周三",
            "一周三次",
            "周日程",
            "晚上周围",
            "网上周到",
            "五号楼",
            "5号线",
            "10月饼",
            "五月天",
            "说话前后",
        ),
        *(
            "三年级",
            "先生",
            "之后",
            "星期几",
            "今后天气",
            "べんきょう",
            "きょうだい",
            "火を使う",
            "金曜日ごと",
        ),
        *("전화", "내 일정", "이전", "이주민", "그제야 알았다", "일요일마다", "세계", "봄"),
    ],
)
def test_what_is_no_time_gives_nothing(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize(
    ("zone", "day", "start", "end"),
    [
        ("Asia/Shanghai", "yesterday", "2026-06-15T16:00", "2026-06-16T16:00"),
        ("America/Los_Angeles", "yesterday", "2026-06-15T07:00", "2026-06-16T07:00"),
        # Days of 23 and of 25 hours, and one that begins at one o'clock.
        ("Europe/Berlin", "on 29 March 2026", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("Europe/Berlin", "am 25. Oktober 2026", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00", "2018-11-05T02:00"),
        ("Asia/Kathmandu", "2026-05-05", "2026-05-04T18:15", "2026-05-05T18:15"),
    ],
)
def test_days_are_those_of_the_callers_zone(zone: str, day: str, start: str, end: str) -> None:
    late = datetime(2026, 6, 16, 22, tzinfo=UTC)
    if zone == "America/Los_Angeles":
        late = datetime(2026, 6, 17, 2, tzinfo=UTC)
    (found,) = time_spans(day, late, ZoneInfo(zone))
    assert found.start == datetime.fromisoformat(start + "+00:00")
    assert found.end == datetime.fromisoformat(end + "+00:00")


def test_questions_for_a_time() -> None:
    assert all(map(asks_when, ("When did we meet?", "我们什么时候见面？", "How long did it take?", "いつ")))
    assert not any(map(asks_when, ("Who was it?", "whenever", "谁")))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yesterday",
            "昨天说了什么",
            "昨日の話",
            "last week",
            "上个月",
            "去年夏天",
            "三天前",
            "on Wednesday",
        ),
        *(
            "May 23, 2025",
            "the 3rd of June",
            "2024-02-29",
            "2024年2月29日",
            "5月5日",
            "in 2021",
            "last summer",
        ),
        *("the week before June 9", "during March", "最近两周", "on 29 February"),
    ],
)
def test_a_text_that_names_a_time_is_marked(text: str) -> None:
    assert names_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "room 12",
        "I march on",
        "30 February",
        "2024-13-01",
        "gestern",
        "어제",
        "05.05.2026",
        "周三",
        "Monday",
    ],
)
def test_marks_change_with_the_version_of_the_analysis_alone(text: str) -> None:
    assert not names_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yesterday",
            "2026-06-16",
            "What happened yesterday?",
            "What did I do on 5 May 2026?",
            "Where was I on 5 May?",
        ),
        *(
            "what did I do last week",
            "events in May 2026",
            "What are my plans for tomorrow?",
            "What's up next week?",
        ),
        *("What was I doing between May 3 and May 10, 2026?", "What did we talk about last Tuesday?"),
        *(
            "我昨天做了什么？",
            "昨天发生了什么事",
            "上周发生了什么",
            "我昨天做了什麼？",
            "上週發生了什麼事情",
            "五月五日我做了什么？",
            "我5月3日到10日在哪里？",
        ),
        *(
            "去年夏天发生了哪些事情",
            "昨日何をしましたか？",
            "先週の出来事を教えて",
            "昨日、私たちは何を話しましたか？",
            "어제 뭐 했어?",
        ),
        *("지난주에 무슨 일이 있었어?", "Was habe ich gestern gemacht?", "Was ist letzte Woche passiert?"),
    ],
)
def test_a_question_may_ask_for_nothing_but_a_time(text: str) -> None:
    assert read_times(text, NOW).alone


@pytest.mark.parametrize(
    "text",
    [
        *("What did I do?", "发生了什么", "What did I eat yesterday?", "What did Ann do yesterday?"),
        *(
            "Which project is running in May 2026?",
            "Who did I meet last week?",
            "How was the concert last week?",
        ),
        *("What did my boss say yesterday?", "昨天我吃了什么？", "小敏昨天做了什么", "昨天的会议说了什么"),
        *("昨日何を食べましたか", "田中さんは昨日何をした", "어제 뭐 먹었어?", "지은이는 어제 뭐 했어?"),
        *("Was habe ich gestern gegessen?", "Was hat Anna gestern gemacht?"),
    ],
)
def test_a_question_for_more_than_a_time(text: str) -> None:
    assert not read_times(text, NOW).alone


def test_what_is_looked_for_first_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [text for table in (DAYS, SPANS) for texts in table.values() for text in texts]
    before = [spans(text) for text in known]
    read_every_rule(monkeypatch)
    assert [text for text, found in zip(known, before, strict=True) if spans(text) != found] == []


@given(
    st.text(
        st.sampled_from("last week on5月日号号年前天 may2023-/,ago一三周上个下后시월일전주am.vorbis to"),
        max_size=40,
    ),
    st.datetimes(timezones=st.just(UTC)) | st.sampled_from(ENDS),
    st.sampled_from([UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Pago_Pago")]),
)
def test_nothing_breaks_it(text: str, instant: datetime, zone: tzinfo) -> None:
    found = time_spans(text, instant, zone)
    assert len(found) <= MAX_SPANS
    assert all(one.start < one.end for one in found if one.start and one.end)


@pytest.mark.parametrize("word", ["since", "after", "before", "until"])
def test_what_is_open_ended_is_read_at_the_ends_of_the_calendar_too(word: str) -> None:
    for now in (*ENDS, datetime(9999, 12, 31, tzinfo=UTC)):
        assert len(read_times(f"what did Ann do {word} 5 may 2026?", now, UTC).spans) == 1


LONG_NUMBERS = (
    *(
        "{} days ago",
        "5 May {}",
        "vor {} Tagen",
        "{}天前",
        "{}年5月",
        "{}일 전",
        "hace {} días",
        "mayo de {}",
    ),
    *("il y a {} jours", "en mai {}", "{} ngày trước", "{} วันก่อน", "พฤษภาคม {}", "قبل {} أيام", "مايو {}"),
)


@pytest.mark.parametrize("text", LONG_NUMBERS)
@pytest.mark.parametrize("digits", [20, 5_000])
def test_a_number_as_long_as_a_query_is_no_time(text: str, digits: int) -> None:
    for number in ("2" * digits, "2026" * (digits // 4), "2569" * (digits // 4)):
        found = read_times(text.format(number), NOW, UTC).spans
        assert all(abs(one.start.year - NOW.year) < 20 for one in found if one.start)


def test_none_is_a_number_and_not_a_few() -> None:
    today = read_times("today", NOW, UTC).spans
    for text in ("0 days ago", "in the last 0 days", "0 weeks ago"):
        assert len(read_times(text, NOW, UTC).spans) == 1
    assert read_times("0 days ago", NOW, UTC).spans == today
    assert read_times("in the last 0 days", NOW, UTC).spans == today
    assert read_times("in the last few fortnights", NOW, UTC).spans
