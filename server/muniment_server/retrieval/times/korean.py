"""Times in Korean."""

import re
from collections.abc import Iterable, Iterator
from datetime import date

from muniment_server.retrieval.times import spans
from muniment_server.retrieval.times.spans import FEW, Rule, Span, alternatives, relative_day, rule

_WEEKDAYS = {char: number for number, char in enumerate("월화수목금토일")}
_SEASONS = {"봄": 3, "여름": 6, "가을": 9, "겨울": spans.WINTER}
_YEARS = {
    "재작년": -2,
    "작년": -1,
    "지난해": -1,
    "지난 해": -1,
    "올해": 0,
    "금년": 0,
    "내년": 1,
    "다음 해": 1,
}
_YEARS |= {"내후년": 2}
_OFFSETS = {"지지난": -2, "저저번": -2, "지난": -1, "저번": -1, "이번": 0, "다음": 1, "다다음": 2}
_UNITS = {
    "일": "day",
    "주말": "weekend",
    "주일": "week",
    "주": "week",
    "달": "month",
    "개월": "month",
    "년": "year",
}
_DAYS = ("하루", "이틀", "사흘", "나흘", "닷새", "엿새", "이레", "여드레", "아흐레", "열흘")
_COUNTED_DAYS = {name: number for number, name in enumerate(_DAYS, 1)} | {"보름": 15}
_DIGITS = {char: number for number, char in enumerate("일이삼사오육칠팔구", 1)} | {"유": 6, "시": 10}
_NATIVE: dict[str, float] = {"한": 1, "두": 2, "세": 3, "석": 3, "네": 4, "넉": 4, "다섯": 5, "여섯": 6}
_NATIVE |= {"일곱": 7, "여덟": 8, "아홉": 9, "열": 10, "열한": 11, "열두": 12, "몇": FEW, "반": 0.5}
_MONTHS = {"일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "유": 6, "육": 6, "칠": 7, "팔": 8, "구": 9, "시": 10}
_MONTHS |= {"십": 10, "십일": 11, "십이": 12}

_WHICH = alternatives(_OFFSETS)
_SINO = r"(?:[이삼사오육칠팔구]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구])"
_COUNT = rf"\d{{1,3}}|{alternatives(_NATIVE)}|{_SINO}"
_DAY = rf"(?:3[01]|[12]\d|0?[1-9](?!\d)|{_SINO})"
_MONTH = r"(?:1[0-2]|0?[1-9](?!\d))"
_YEAR = rf"(?:(?P<year>(?:19|20)\d\d) ?년(?:도)? ?|(?P<near>{alternatives(_YEARS)}) ?)"
_NEAR = rf"(?:(?P<which>{_WHICH}) ?)"
_ALONE = r"(?<![가-힣\d.])"
# What stands behind a time is a particle or nothing: 전화 and 후배 are words.
_END = r"(?![가-힣])|(?=에|의|은|는|도|부터|까지|엔|날|밤|이|을|과|와|로|쯤|만|저녁|아침|오후|오전)"


def _number(text: str) -> float:
    if text.isdigit():
        return float(text)
    if text in _NATIVE:
        return _NATIVE[text]
    tens, found, ones = text.partition("십")
    if found:
        return float(10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0))
    return float(_DIGITS[text])


def _years(match: re.Match[str], today: date) -> Iterable[int]:
    found = match.groupdict()
    if found.get("year"):
        return [int(found["year"])]
    if found.get("near"):
        return [today.year + _YEARS[found["near"]]]
    return spans.possible_years(today)


def _date(match: re.Match[str], today: date) -> Iterator[Span]:
    found, month = match.groupdict(), match["month"]
    day, until = found.get("day"), found.get("until")
    number = int(month) if month.isdigit() else _MONTHS[month]
    if found.get("which") and not day:
        yield spans.named_month(number, _OFFSETS[found["which"]], today)
        return
    yield from spans.dates(
        _years(match, today),
        number,
        int(_number(day)) if day else None,
        int(_number(until)) if until else None,
    )


def _year(match: re.Match[str], today: date) -> Iterator[Span]:
    for year in _years(match, today):
        yield spans.years(year)


def _season(match: re.Match[str], today: date) -> Iterator[Span]:
    first, which = _SEASONS[match["season"]], match["which"]
    if which:
        yield spans.season(first, _OFFSETS[which], today)
    else:
        yield from spans.seasons(first, _years(match, today))


def _near(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.unit(_UNITS[match["unit"]], _OFFSETS[match["which"]], today)


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    number, which = _WEEKDAYS[match["weekday"]], match["which"]
    if not which:
        yield spans.last_weekday(number, today)
    elif match["week"]:
        yield spans.weekday_of_week(number, _OFFSETS[which], today)
    else:
        yield spans.weekday(number, _OFFSETS[which], today)


def _weekdays(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.weekdays(_WEEKDAYS[match["weekday"]], _WEEKDAYS[match["last"]], today)


def _away(sign: int) -> spans.Make:
    def make(match: re.Match[str], today: date) -> Iterator[Span]:
        if match["days"]:
            yield spans.away("day", _COUNTED_DAYS[match["days"]], sign, today)
        elif match["unit"]:
            yield spans.away(_UNITS[match["unit"]], _number(match["count"]), sign, today)
        else:
            yield spans.away("day", FEW, sign, today)

    return make


def _within(match: re.Match[str], today: date) -> Iterator[Span]:
    sign = 1 if match["which"] in ("다음", "앞으로") else -1
    yield spans.within(_UNITS[match["unit"]], _number(match["count"]), today, sign)


_COUNTED = (
    rf"(?<![가-힣\d])(?:(?P<days>{alternatives(_COUNTED_DAYS)})|며칠"
    rf"|(?P<count>{_COUNT}) ?(?P<unit>주일|개월|일|주|달|년))"
)

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(rf"{_COUNTED} ?전(?:(?![가-힣])|(?=에|의|부터|까지|쯤|만|엔))", _away(-1)),
    rule(rf"{_COUNTED} ?[후뒤](?:(?![가-힣])|(?=에|의|부터|까지|쯤|엔))", _away(1)),
    rule(
        rf"(?P<which>지난|최근|다음|앞으로) ?(?P<count>{_COUNT}) ?(?P<unit>주일|개월|일|주|달|년)"
        r"(?: ?동안|간)?",
        _within,
    ),
    rule(
        rf"(?:{_YEAR}|{_ALONE})(?P<month>{_MONTH}) ?월 ?(?P<day>{_DAY}) ?일?"
        rf"(?: ?[-~] ?| ?(?:부터|에서) )(?P<until>{_DAY}) ?일(?:까지)?",
        _date,
    ),
    rule(rf"{_YEAR}(?P<month>{_MONTH}|{alternatives(_MONTHS)}) ?월(?: ?(?P<day>{_DAY}) ?일)?", _date),
    rule(rf"{_ALONE}{_NEAR}(?P<month>{_MONTH}) ?월(?! ?\d)", _date),
    rule(rf"{_ALONE}(?P<month>{_MONTH}) ?월(?: ?(?P<day>{_DAY}) ?일)?", _date),
    rule(rf"{_ALONE}(?P<month>{alternatives(_MONTHS)})월 ?(?P<day>{_DAY}) ?일", _date),
    rule(rf"{_ALONE}(?P<month>{alternatives(_MONTHS)})월(?=에|달|의)", _date),
    rule(rf"{_ALONE}(?:{_YEAR}|{_NEAR})(?P<season>{alternatives(_SEASONS)})", _season),
    rule(rf"{_ALONE}(?P<which>)(?P<season>여름|가을|겨울)(?=에)", _season),
    rule(rf"{_ALONE}(?:그저께|그제(?!서?야)|엊그제)", relative_day(-2)),
    rule(rf"{_ALONE}(?:어제|어젯밤|어저께)", relative_day(-1)),
    rule(rf"{_ALONE}(?:오늘)", relative_day(0)),
    rule(rf"{_ALONE}(?:내일모레|모레)", relative_day(2)),
    rule(rf"{_ALONE}(?:내일)", relative_day(1)),
    rule(
        r"(?P<weekday>[월화수목금토일])요일 ?(?:부터|에서|-|~) ?(?P<last>[월화수목금토일])요일(?:까지)?",
        _weekdays,
    ),
    rule(rf"{_ALONE}{_NEAR}(?P<week>주)? ?(?P<weekday>[월화수목금토일])요일", _weekday),
    rule(rf"{_ALONE}(?P<which>)(?P<weekday>[월화수목금토일])요일(?!마다)", _weekday),
    rule(rf"{_ALONE}{_NEAR}(?P<unit>주말|주|달)(?:{_END})", _near),
    rule(rf"{_ALONE}주말(?=에|$)", lambda match, today: [spans.the_weekend(today)]),
    rule(rf"{_YEAR}(?:{_END})", _year),
)
HINT = re.compile(r"[가-힣]")
