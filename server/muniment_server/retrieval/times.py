"""Times named in a text, as spans of the calendar: "on 5 May", "last week", 昨天, 上个月.

English and Chinese, dates in digits in any language, and the Japanese dates and days that are written
with the same characters. Small on purpose: a general parser finds times in names and numbers as well
("May", "at 12"), and a wrong span moves the wrong memories up. What is not understood gives nothing.

A span is half open and lies in the caller's time zone; it leaves here in UTC. A date without its year
gives one span for each year that it may mean, since memories of several years may be asked for.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice

from muniment_server.domain.model import TimeRange
from muniment_server.retrieval.analysis import normalize

MAX_SPANS = 32
"""Spans of one query; those that come first are kept."""
YEARS_BACK = 10
"""A date without its year means the next year, this one, or one of so many before."""
_MAX_CHARACTERS = 2_000
_FEW = 4

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_WEEKDAYS |= {"mon": 0, "tues": 1, "wed": 2, "thurs": 3, "fri": 4}
_CHINESE_WEEKDAYS = {char: number for number, char in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "few": _FEW}
_COUNTS |= {"a few": _FEW, "several": _FEW, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_COUNTS |= {"nine": 9, "ten": 10, "几": _FEW, "数": _FEW, "两": 2, "半": 1}
_CHINESE_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_CHINESE_YEARS = {"前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_SEASON = "spring|summer|autumn|fall|winter"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_ORDINAL = r"(?:st|nd|rd|th)?"
_COUNT = r"\d{1,3}|(?:a )?couple of|(?:a )?few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten"
_UNIT = r"day|week|fortnight|month|year"
_HAN_NUMBER = r"\d{1,3}|[一二两三四五六七八九十]{1,3}|[几数半]"

_Span = tuple[date, date]
_Make = Callable[[re.Match[str], date], Iterator[_Span]]


def _number(text: str) -> int:
    """A count in digits, English or Chinese; "a few" is four."""
    if text.isdigit():
        return int(text)
    if text in _COUNTS:
        return _COUNTS[text]
    tens, found, units = text.partition("十")
    if found:
        return 10 * _CHINESE_DIGITS.get(tens or "一", 1) + _CHINESE_DIGITS.get(units or "零", 0)
    return _CHINESE_DIGITS.get(text, 1)


def _first_of_month(year: int, month: int) -> date:
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def _days(start: date, count: int) -> Iterator[_Span]:
    yield start, start + timedelta(days=count)


def _months(year: int, month: int, count: int = 1) -> Iterator[_Span]:
    yield _first_of_month(year, month), _first_of_month(year, month + count)


def _years(year: int) -> Iterator[_Span]:
    yield date(year, 1, 1), date(year + 1, 1, 1)


def _possible_years(today: date) -> range:
    return range(today.year + 1, today.year - YEARS_BACK - 1, -1)


def _date(year: str | None, month: int, day: str | None, today: date) -> Iterator[_Span]:
    for one in [int(year)] if year else _possible_years(today):
        if day is None:
            yield from _months(one, month)
            continue
        try:
            start = date(one, month, int(day))
        except ValueError:
            continue
        yield from _days(start, 1)


def _numeric(match: re.Match[str], today: date) -> Iterator[_Span]:
    month = int(match["month"])
    if 1 <= month <= 12:
        yield from _date(match["year"], month, match["day"] or None, today)


def _named(match: re.Match[str], today: date) -> Iterator[_Span]:
    yield from _date(match["year"], _MONTHS[match["month"]], match["day"] or None, today)


def _year(match: re.Match[str], today: date) -> Iterator[_Span]:
    yield from _years(int(match["year"]))


def _relative_day(offset: int) -> _Make:
    return lambda match, today: _days(today + timedelta(days=offset), 1)


def _chinese_day(match: re.Match[str], today: date) -> Iterator[_Span]:
    yield from _days(today + timedelta(days=_CHINESE_DAYS[match["day"]]), 1)


def _chinese_year(match: re.Match[str], today: date) -> Iterator[_Span]:
    yield from _years(today.year + _CHINESE_YEARS[match["year"]])


def _units(unit: str, today: date, offset: int) -> Iterator[_Span]:
    """The whole day, week (from Monday), month or year that lies `offset` of them away."""
    if unit == "day":
        yield from _days(today + timedelta(days=offset), 1)
    elif unit == "week":
        yield from _days(today + timedelta(weeks=offset, days=-today.weekday()), 7)
    elif unit == "weekend":
        yield from _days(today + timedelta(weeks=offset, days=5 - today.weekday()), 2)
    elif unit == "month":
        yield from _months(today.year, today.month + offset)
    else:
        yield from _years(today.year + offset)


_OFFSETS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_OFFSETS |= {"上": -1, "上个": -1, "先": -1, "这": 0, "这个": 0, "本": 0, "今": 0}
_OFFSETS |= {"下": 1, "下个": 1, "来": 1}
_HAN_UNITS = {"天": "day", "日": "day", "周": "week", "週": "week", "星期": "week", "礼拜": "week"}
_HAN_UNITS |= {"周末": "weekend", "月": "month", "年": "year"}


def _near_unit(match: re.Match[str], today: date) -> Iterator[_Span]:
    unit = match["unit"]
    yield from _units(_HAN_UNITS.get(unit, unit), today, _OFFSETS[match["which"]])


def _near_weekday(match: re.Match[str], today: date) -> Iterator[_Span]:
    day = match["weekday"]
    number = _WEEKDAYS[day] if day in _WEEKDAYS else _CHINESE_WEEKDAYS[day]
    which = match["which"] or ""
    if day == "末":
        yield from _units("weekend", today, _OFFSETS.get(which, 0))
    elif day in _CHINESE_WEEKDAYS and which:
        monday = today + timedelta(weeks=_OFFSETS[which], days=-today.weekday())
        yield from _days(monday + timedelta(days=number), 1)
    elif _OFFSETS.get(which, -1) > 0:
        yield from _days(today + timedelta(days=(number - today.weekday() - 1) % 7 + 1), 1)
    else:
        yield from _days(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1), 1)


def _season(match: re.Match[str], today: date) -> Iterator[_Span]:
    first = _SEASONS[match["season"]]
    which, year = (match["which"] or ""), match["year"]
    if year:
        years = [int(year)]
    elif which:
        offset = _OFFSETS.get(which, _CHINESE_YEARS.get(which, 0))
        years = [today.year + offset]
        if which in ("last", "past") and date(today.year, first, 1) + timedelta(days=92) <= today:
            years = [today.year]
    else:
        years = list(_possible_years(today))
    for one in years:
        yield from _months(one, first, 3)


def _ago(match: re.Match[str], today: date) -> Iterator[_Span]:
    unit = match["unit"]
    unit, count = _HAN_UNITS.get(unit, unit), _number(match["count"])
    if unit == "fortnight":
        unit, count = "week", 2 * count
    if unit == "month":
        yield from _units("month", today, -count)
    elif unit == "year":
        yield from _units("year", today, -count)
    elif unit == "week":
        # "two weeks ago" is said of any day around it.
        yield from _days(today - timedelta(days=7 * count + 3), 7)
    elif count == _FEW and not match["count"].isdigit():
        yield today - timedelta(days=7), today
    else:
        yield from _days(today - timedelta(days=count), 1)


def _within(match: re.Match[str], today: date) -> Iterator[_Span]:
    unit = match["unit"]
    days = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "year": 366}
    length = days[_HAN_UNITS.get(unit, unit)] * _number(match["count"] or "1")
    yield today - timedelta(days=length), today + timedelta(days=1)


def _before(match: re.Match[str], today: date) -> Iterator[_Span]:
    """ "the week before 9 June": up to the date, not on it."""
    days = {"day": 1, "week": 7, "weekend": 7, "month": 31}[match["unit"]]
    for start, end in _named(match, today):
        if match["side"] == "before":
            yield start - timedelta(days=days), start
        else:
            yield end, end + timedelta(days=days)


def _rule(pattern: str, make: _Make) -> tuple[re.Pattern[str], _Make]:
    return re.compile(pattern), make


_THEN_YEAR = rf"(?:,? (?P<year>{_YEAR})\b)?"
_DAY_MONTH = rf"(?P<day>{_DAY}){_ORDINAL}(?: of)? (?P<month>{_MONTH})\b\.?{_THEN_YEAR}"
_MONTH_DAY = rf"(?P<month>{_MONTH})\b\.? (?P<day>{_DAY}){_ORDINAL}(?!\d){_THEN_YEAR}"
_NO_DAY, _NO_YEAR = "(?P<day>)", "(?P<year>)"
_BEFORE = r"\b(?P<unit>day|weekend|week|month)s? (?P<side>before|after) (?:the )?"
# The order counts: what a rule has read is not read again by those below it.
_RULES = (
    _rule(_BEFORE + _DAY_MONTH, _before),
    _rule(_BEFORE + _MONTH_DAY, _before),
    _rule(rf"(?<!\d)(?P<year>{_YEAR})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>{_DAY})(?!\d)", _numeric),
    _rule(rf"(?<![\d-])(?P<year>{_YEAR})-(?P<month>0[1-9]|1[0-2])(?P<day>)(?![\d-])", _numeric),
    _rule(rf"(?P<year>{_YEAR}) ?年 ?(?P<month>\d{{1,2}}) ?月(?: ?(?P<day>{_DAY}) ?[日号])?", _numeric),
    _rule(rf"(?<![\d.])(?P<year>)(?P<month>\d{{1,2}}) ?月(?: ?(?P<day>{_DAY}) ?[日号])?", _numeric),
    _rule(r"\b" + _DAY_MONTH, _named),
    _rule(r"\b" + _MONTH_DAY, _named),
    _rule(rf"\b(?P<month>{_MONTH})\b\.?,?(?: of)? (?P<year>{_YEAR})\b{_NO_DAY}", _named),
    _rule(
        rf"\b(?:in|during|since|of|early|late|mid|this|last) (?P<month>{_MONTH})\b{_NO_DAY}{_NO_YEAR}", _named
    ),
    _rule(
        rf"\b(?:(?:(?P<which>last|this|next|past) )|(?:in|during|of|since)(?: the)? )"
        rf"(?P<season>{_SEASON})\b(?: of)?(?: (?P<year>{_YEAR}))?",
        _season,
    ),
    _rule(rf"(?P<which>[前去今明])?年?(?:(?P<year>{_YEAR})年的?)?(?P<season>[春夏秋冬])[天季]", _season),
    _rule(r"\b(?:the )?day before yesterday\b", _relative_day(-2)),
    _rule(r"\b(?:the )?day after tomorrow\b", _relative_day(2)),
    _rule(r"\b(?:yesterday|last night)\b|昨日|昨晚|昨夜", _relative_day(-1)),
    _rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今日|今晚|今早", _relative_day(0)),
    _rule(r"\btomorrow\b|明日|明晚|明早", _relative_day(1)),
    _rule(r"(?P<day>大前|前|昨|今|明|大后|后)天", _chinese_day),
    _rule(rf"\b(?:(?P<which>last|this|next|coming|past) )(?P<weekday>{_WEEKDAY})\b", _near_weekday),
    _rule(rf"\bon (?P<which>)(?P<weekday>{'|'.join(_WEEKDAY_NAMES)})\b", _near_weekday),
    _rule(r"(?P<which>上|这|本|下)个?(?:周|週|星期|礼拜)(?P<weekday>[一二三四五六日天末])", _near_weekday),
    _rule(
        rf"\b(?:in|over|during|within) the (?:last|past) (?P<count>{_COUNT})? ?(?P<unit>{_UNIT})s?\b", _within
    ),
    _rule(rf"\b(?:last|past) (?P<count>{_COUNT}) (?P<unit>{_UNIT})s\b", _within),
    _rule(rf"(?:最近|过去|近)(?P<count>{_HAN_NUMBER}) ?个?(?P<unit>天|日|周|星期|月|年)", _within),
    _rule(
        r"\b(?P<which>last|past|previous|this|current|next|coming) (?P<unit>weekend|week|month|year)\b",
        _near_unit,
    ),
    _rule(r"(?P<which>上个?|这个?|本|下个?)(?P<unit>周末|周|週|星期|礼拜|月)", _near_unit),
    _rule(r"(?P<which>先|今|来)(?P<unit>週|月)", _near_unit),
    _rule(rf"\b(?P<count>{_COUNT}) (?P<unit>{_UNIT})s? (?:ago|back|earlier)\b", _ago),
    _rule(rf"(?P<count>{_HAN_NUMBER}) ?个?(?P<unit>天|日|周|星期|礼拜|月|年)[之以]?前", _ago),
    _rule(r"(?P<year>前|去|今|本|明|后)年", _chinese_year),
    _rule(rf"\b(?:in|during|since|of|year|by|until|around|before|after) (?P<year>{_YEAR})\b", _year),
    _rule(rf"(?P<year>{_YEAR}) ?年", _year),
)
# One of these is in whatever a rule reads; most texts have none, and are read once instead of forty times.
_HINT = re.compile(
    rf"\d|[年月周週季]|最近|过去|[前昨今明后]天|[昨今明][日晚早夜]|星期|礼拜|天[之以]?前"
    rf"|\b(?:{_MONTH}|{_SEASON}|today|tonight|tomorrow|yesterday|ago|last|past|previous|next|coming|this|current"
    rf"|{'|'.join(_WEEKDAY_NAMES)})\b"
)
_ASKS_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|time|year|month)|how (?:long|recently|often))\b"
    r"|什么时候|什么时间|何时|哪[一]?[天年月日]|几[号月点]|多久|多长时间|日期|いつ|언제",
)


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    spans: tuple[_Span, ...]


def _scan(text: str, today: date, *, one_is_enough: bool = False) -> list[_Found]:
    text = normalize(text[:_MAX_CHARACTERS]).lower()
    found: list[_Found] = []
    if not _HINT.search(text):
        return found
    for pattern, make in _RULES:
        read = len(found)
        for match in pattern.finditer(text):
            try:
                spans = tuple(make(match, today))
            except (OverflowError, ValueError):
                spans = ()
            if spans:
                found.append(_Found(match.start(), match.end(), spans))
        if found and one_is_enough:
            break
        for one in found[read:]:
            text = text[: one.start] + "\x00" * (one.end - one.start) + text[one.end :]
    return sorted(found, key=lambda one: one.start)


def time_spans(text: str, reference: datetime, zone: tzinfo = UTC) -> list[TimeRange]:
    """Return the spans that a text names, in UTC, in the order of the text, at most `MAX_SPANS`.

    reference: the instant that "yesterday" starts from, aware; zone: whose days, weeks and months.
    """
    today = _in_zone(reference, zone).date()
    spans = dict.fromkeys(span for found in _scan(text, today) for span in found.spans)
    return [TimeRange(_instant(start, zone), _instant(end, zone)) for start, end in islice(spans, MAX_SPANS)]


def _instant(day: date, zone: tzinfo) -> datetime:
    return _in_zone(datetime(day.year, day.month, day.day, tzinfo=zone), UTC)


def _in_zone(instant: datetime, zone: tzinfo) -> datetime:
    # At the calendar's ends another zone's clock may show a year that does not exist.
    try:
        return instant.astimezone(zone)
    except OverflowError:
        return instant.replace(tzinfo=zone)


def names_time(text: str) -> bool:
    """Whether a text says when: a date, a day, or a time relative to another."""
    return bool(_scan(text, date(2000, 1, 1), one_is_enough=True))


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_ASKS_WHEN.search(normalize(text[:_MAX_CHARACTERS]).lower()))
