"""Times in Korean."""

import re
from collections.abc import Iterable
from datetime import date

from muniment_server.retrieval.times import makers, spans
from muniment_server.retrieval.times.makers import Named
from muniment_server.retrieval.times.spans import FEW, Part, Rule, Span, alternatives, relative_day, rule

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

_HOLIDAYS = {
    "크리스마스이브": (12, 24, 1),
    "크리스마스": (12, 25, 1),
    "성탄절": (12, 25, 1),
    "광복절": (8, 15, 1),
}
_HOLIDAYS |= {"새해 첫날": (1, 1, 1)}

_HOLIDAY = alternatives(_HOLIDAYS).replace(r"\ ", " ")
_WHICH = alternatives(_OFFSETS)
_SINO = r"(?:[이삼사오육칠팔구]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구])"
_COUNT = rf"\d{{1,3}}|{alternatives(_NATIVE)}|{_SINO}"
_DAY = rf"(?:3[01]|[12]\d|0?[1-9](?!\d)|{_SINO})"
_MONTH = r"(?:1[0-2]|0?[1-9](?!\d))"
_YEAR = rf"(?:(?P<year>(?:19|20)\d\d) ?년(?:도)? ?|(?P<near>{alternatives(_YEARS)}) ?)"
_NEAR = rf"(?:(?P<which>{_WHICH}) ?)"
_ALONE = r"(?<![가-힣\d.])(?<!\d년 )"
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


def _date(named: Named, today: date) -> Iterable[Span]:
    if "which" in named and "day" not in named:
        return makers.near_month(named, today)
    return makers.a_date(named, today)


def _away(named: Named, today: date) -> Iterable[Span]:
    return makers.away({"count": FEW, "unit": "day", **named}, today)


_by = makers.reading(
    year=int,
    near=_YEARS.__getitem__,
    which=_OFFSETS.__getitem__,
    week=_OFFSETS.__getitem__,
    month=lambda text: int(text) if text.isdigit() else _MONTHS[text],
    day=lambda text: int(_number(text)),
    until=lambda text: int(_number(text)),
    weekday=_WEEKDAYS.__getitem__,
    last_weekday=_WEEKDAYS.__getitem__,
    season=_SEASONS.__getitem__,
    unit=_UNITS.__getitem__,
    count=lambda text: _COUNTED_DAYS[text] if text in _COUNTED_DAYS else _number(text),
    ago=_number,
    sign=lambda text: 1 if text in ("다음", "앞으로") else -1,
    holiday=_HOLIDAYS.__getitem__,
)
_COUNTED = (
    rf"(?<![가-힣\d])(?:(?P<count_>{alternatives(_COUNTED_DAYS)})|며칠"
    rf"|(?P<count>{_COUNT}) ?(?P<unit>주일|개월|일|주|달|년))"
)

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(
        rf"(?<![가-힣\d])(?P<ago>{_COUNT}) ?년 ?전(?:의)? (?P<month>{_MONTH}) ?월(?: ?(?P<day>{_DAY}) ?일)?",
        _by(makers.a_date),
    ),
    rule(rf"(?:{_YEAR}|{_ALONE}{_NEAR})(?P<holiday>{_HOLIDAY})", _by(makers.holiday)),
    rule(rf"{_ALONE}(?P<holiday>{_HOLIDAY})(?:{_END})(?! (?:선물|트리|카드|파티))", _by(makers.holiday)),
    rule(rf"{_COUNTED} ?전(?:(?![가-힣])|(?=에|의|부터|까지|쯤|만|엔))", _by(_away, sign=-1)),
    rule(rf"{_COUNTED} ?[후뒤](?:(?![가-힣])|(?=에|의|부터|까지|쯤|엔))", _by(_away, sign=1)),
    rule(
        rf"(?P<sign>지난|최근|다음|앞으로) ?(?P<count>{_COUNT}) ?(?P<unit>주일|개월|일|주|달|년)"
        r"(?: ?동안|간)?",
        _by(makers.within),
    ),
    rule(
        rf"(?:{_YEAR}|{_ALONE})(?P<month>{_MONTH}) ?월 ?(?P<day>{_DAY}) ?일?"
        rf"(?: ?[-~] ?| ?(?:부터|에서) )(?P<until>{_DAY}) ?일(?:까지)?",
        _by(_date),
    ),
    rule(rf"{_YEAR}(?P<month>{_MONTH}|{alternatives(_MONTHS)}) ?월(?: ?(?P<day>{_DAY}) ?일)?", _by(_date)),
    rule(rf"{_ALONE}{_NEAR}(?P<month>{_MONTH}) ?월(?! ?\d)", _by(_date)),
    rule(rf"{_ALONE}(?P<month>{_MONTH}) ?월(?: ?(?P<day>{_DAY}) ?일)?", _by(_date)),
    rule(rf"{_ALONE}(?P<month>{alternatives(_MONTHS)})월 ?(?P<day>{_DAY}) ?일", _by(_date)),
    rule(rf"{_ALONE}(?P<month>{alternatives(_MONTHS)})월(?=에|달|의)", _by(_date)),
    rule(rf"{_ALONE}(?:{_YEAR}|{_NEAR})(?P<season>{alternatives(_SEASONS)})", _by(makers.season)),
    rule(rf"{_ALONE}(?P<season>여름|가을|겨울)(?=에)", _by(makers.season)),
    rule(rf"{_ALONE}(?:그저께|그제(?!서?야)|엊그제)", relative_day(-2)),
    rule(rf"{_ALONE}(?:어제|어젯밤|어저께)", relative_day(-1)),
    rule(rf"{_ALONE}(?:오늘)", relative_day(0)),
    rule(rf"{_ALONE}(?:내일모레|모레)", relative_day(2)),
    rule(rf"{_ALONE}(?:내일)", relative_day(1)),
    rule(
        r"(?P<weekday>[월화수목금토일])요일 ?(?:부터|에서|-|~) ?"
        r"(?P<last_weekday>[월화수목금토일])요일(?:까지)?",
        _by(makers.some_weekdays),
    ),
    rule(
        rf"{_ALONE}{_NEAR.replace('P<which>', 'P<week>')}주 ?(?P<weekday>[월화수목금토일])요일",
        _by(makers.weekday),
    ),
    rule(rf"{_ALONE}{_NEAR}(?P<weekday>[월화수목금토일])요일", _by(makers.weekday)),
    # A date is blank by now: "5월 5일 화요일" is one day.
    rule(rf"{_ALONE}(?<!\x00)(?<!\x00 )(?P<weekday>[월화수목금토일])요일(?!마다)", _by(makers.weekday)),
    rule(rf"{_ALONE}{_NEAR}(?P<unit>주말|주|달)(?:{_END})", _by(makers.near_unit)),
    rule(rf"{_ALONE}주말(?=에|$)", _by(makers.the_weekend)),
    rule(rf"{_YEAR}(?:{_END})", _by(makers.a_year)),
)
HINT = re.compile(r"[가-힣]")
PARTS: tuple[Part, ...] = ((HINT, RULES),)
