"""The rules of languages that differ in their words and hardly in how they put them together.

They are read in the string of kinds that a table makes of a text (tables.py). No rule repeats anything
without a bound, so that the time that a text takes grows with its length alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from muniment_server.retrieval.times import makers
from muniment_server.retrieval.times.joining import Found
from muniment_server.retrieval.times.makers import Maker, Named
from muniment_server.retrieval.times.spans import FEW, Span
from muniment_server.retrieval.times.tables import (
    AGO_ANY,
    AGO_BEFORE,
    AGO_BEHIND,
    AND,
    AROUND,
    ARTICLE,
    BEFORE,
    BEHIND,
    BEHIND_AGO,
    BEHIND_WITHIN,
    BETWEEN,
    COUNTED,
    DAY,
    DAY_DIGITS,
    DAY_PART,
    DAYS,
    DIGITS,
    ERA,
    EVERY,
    FIVE_OR_YEAR,
    FOR,
    HALF,
    HOLIDAY,
    IN,
    LARGE_DIGITS,
    LAST_WEEKDAY,
    MONTH,
    MONTH_OF,
    MONTHS,
    NEAR,
    NUMBER,
    OF,
    ON,
    OTHER,
    QUARTER,
    SEASON,
    SEASON_BEHIND,
    SURE_HOLIDAY,
    SURE_MONTH,
    SURE_WEEKDAY,
    THINGS,
    TO,
    UNIT,
    UNTIL,
    WEEK,
    WEEKDAY,
    WITHIN,
    YEAR_DIGITS,
    YEARS,
    Language,
    tokens_of,
)


def _value(name: str, kind: str, value: Any) -> Any:
    """What a word stands for in this place of a rule."""
    if kind == FIVE_OR_YEAR:
        return "year" if name == "unit" else 5
    if name in ("day", "until", "month", "quarter", "ago"):
        if value < 1 or value % 1:
            raise ValueError(value)
        return int(value)
    return value


def read(text: str, known: Language, today: date, found: list[Found]) -> list[tuple[int, int]]:
    """Read a text by the rules: what is found goes to `found`. Returns the places that were read."""
    kinds, tokens = tokens_of(text, known)
    places: list[tuple[int, int]] = []
    for pattern, make, fixed in RULES:
        matched: list[re.Match[str]] = []
        for match in pattern.finditer(kinds):
            named = dict(fixed)
            try:
                for name, part in match.groupdict().items():
                    if part:
                        at = match.start(name)
                        name = name.rstrip("_")
                        named[name] = _value(name, part, tokens[at].value)
                if "counted" in named:
                    named["count"], named["unit"] = named.pop("counted")
                if "near_unit" in named:
                    named["unit"], named["which"] = named.pop("near_unit")
                made = tuple(one for one in make(named, today) if one[0] < one[1])
            except (OverflowError, ValueError):
                continue
            matched.append(match)
            start, end = tokens[match.start()].start, tokens[match.end() - 1].end
            places.append((start, end))
            if made:
                found.append(Found(start, end, made, closed="until" in named or "last" in named))
        if matched:
            kinds = _without(kinds, matched)
    return sorted(places)


def _without(kinds: str, matched: Sequence[re.Match[str]]) -> str:
    kept, end = [], 0
    for match in matched:
        kept += [kinds[end : match.start()], OTHER * (match.end() - match.start())]
        end = match.end()
    return "".join([*kept, kinds[end:]])


def _years_ago(named: Named, today: date) -> Iterable[Span]:
    if named["unit"] != "year":
        raise ValueError(named)
    return makers.a_date({**named, "ago": named["count"]}, today)


def _rule(pattern: str, make: Maker, **fixed: Any) -> tuple[re.Pattern[str], Maker, Mapping[str, Any]]:
    return re.compile(pattern), make, fixed


_COUNT = f"(?P<count>[{DAY_DIGITS}{DIGITS}{NUMBER}{FIVE_OR_YEAR}])"
_UNITS = f"{UNIT}{WEEK}{MONTHS}{YEARS}{FIVE_OR_YEAR}{QUARTER}"
_ANY_UNIT = f"(?P<unit>[{_UNITS}{DAYS}])"
_YEAR_UNIT = f"[{YEARS}{FIVE_OR_YEAR}]"
_YEARS_AGO = f"(?P<ago>[{DAY_DIGITS}{DIGITS}{NUMBER}{FIVE_OR_YEAR}]){_YEAR_UNIT}"
_BEFORE = f"[{BEFORE}{AROUND}]"
_BEHIND = f"[{AROUND}{BEHIND}{BEHIND_AGO}{BEHIND_WITHIN}]"
_WITHIN = f"(?P<sign>[{AROUND}{BEHIND_WITHIN}{WITHIN}])"
_NEAR_YEAR = rf"(?:(?P<near>{_BEFORE}){_YEAR_UNIT}|{_YEAR_UNIT}(?P<near_>{_BEHIND}))"
_OF_YEAR = rf"(?:\.?,?{IN}?{OF}?{ARTICLE}?(?:{_YEAR_UNIT}?{ERA}?(?P<year>{YEAR_DIGITS})|{_NEAR_YEAR}))"
# What a year cannot be is one for whoever wrote it, so that no other year is meant.
_MAYBE_OF_YEAR = rf"(?:{_OF_YEAR}|(?!,?{OF}?{_YEAR_UNIT}?{ERA}?[{DIGITS}{LARGE_DIGITS}]))"
_DAY = rf"(?:{DAYS}{{0,2}}(?P<day>{DAY_DIGITS})|{DAYS}{{1,2}}(?P<day_>[{NUMBER}{FIVE_OR_YEAR}]))"
_NAME = f"[{MONTH}{SURE_MONTH}]"
_NO_COUNT_OF = f"(?![{UNIT}{WEEK}{MONTHS}{DAYS}])"
_NAMED_MONTH = rf"{OF}?{ARTICLE}?[{MONTHS}{MONTH_OF}]?{OF}?(?P<month>{_NAME})"
_MONTH = rf"(?:{_NAMED_MONTH}|{MONTHS}(?P<month_>[{DAY_DIGITS}{NUMBER}{FIVE_OR_YEAR}]){_NO_COUNT_OF})"
_TIED = f"{IN}{UNTIL}{FOR}{AGO_ANY}{BETWEEN}"
_BEHIND_TIE = rf"(?:(?<=[{_TIED}])|(?<=[{_TIED}]{ARTICLE}))"
_WEEKDAYS = f"{WEEKDAY}{LAST_WEEKDAY}{SURE_WEEKDAY}"
_NO_DAY = f"(?!,?{ARTICLE}?{DAYS}?[{DAY_DIGITS}{DIGITS}])"
_WEEKDAY = f"(?P<weekday>[{_WEEKDAYS}])"
_HOLIDAYS = f"[{HOLIDAY}{SURE_HOLIDAY}]"
# "Tuesday, 5 May" is one day.
_OF_WEEK = rf"(?:[{_WEEKDAYS}],?{ARTICLE}?)?"
_END = f"(?=[.,{DAY_PART}]|$)"

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[tuple[re.Pattern[str], Maker, Mapping[str, Any]], ...] = (
    _rule(
        rf"(?:(?<={BETWEEN})|(?<={BETWEEN}{ARTICLE})){_DAY}[{TO}{AND}]{DAYS}?[{ARTICLE}{ON}]?(?P<until>{DAY_DIGITS})"
        rf"{_MONTH}{_MAYBE_OF_YEAR}",
        makers.a_date,
    ),
    _rule(
        rf"{_DAY}{AND}[{ARTICLE}{DAYS}{ON}]?(?P<until>{DAY_DIGITS})"
        rf"{_MONTH}{_MAYBE_OF_YEAR}",
        makers.a_date,
        apart=True,
    ),
    _rule(
        rf"{_DAY}[{TO}{UNTIL}]{DAYS}?[{ARTICLE}{ON}]?(?P<until>{DAY_DIGITS}){_MONTH}{_MAYBE_OF_YEAR}",
        makers.a_date,
    ),
    _rule(rf"{_DAY}?{_MONTH}{OF}?[{AGO_BEFORE}{AGO_ANY}]{_YEARS_AGO}", makers.a_date),
    _rule(rf"{_DAY}?{_MONTH}{OF}?[{AGO_BEFORE}{AGO_ANY}](?P<counted>{COUNTED})", _years_ago),
    _rule(rf"{_DAY}?{_MONTH}{_YEARS_AGO}[{BEHIND_AGO}{AGO_BEHIND}]", makers.a_date),
    _rule(rf"{_OF_WEEK}{_DAY}{_MONTH}{_MAYBE_OF_YEAR}", makers.a_date),
    _rule(rf"(?P<day>{NUMBER}){OF}(?P<month>{_NAME}){_MAYBE_OF_YEAR}", makers.a_date),
    _rule(
        rf"{_OF_WEEK}{DAYS}{{1,2}}(?P<day>{DAY_DIGITS})/(?P<month>{DAY_DIGITS})(?![/{TO}]){_MAYBE_OF_YEAR}",
        makers.a_date,
    ),
    _rule(
        rf"(?<=[{_TIED}{OF}{ON}])(?P<month>{_NAME})[{TO}{AND}{UNTIL}]{OF}?(?P<last>{_NAME}){_MAYBE_OF_YEAR}",
        makers.some_months,
    ),
    _rule(rf"(?<![{DAY_DIGITS}{DIGITS}]){_MONTH}{_OF_YEAR}", makers.a_date),
    _rule(rf"{MONTHS}(?P<month>{DAY_DIGITS})[/{TO}](?P<year>{YEAR_DIGITS})", makers.a_date),
    _rule(rf"{_NEAR_YEAR},?{IN}?{_NAMED_MONTH}", makers.a_date),
    _rule(
        rf"(?P<which>{_BEFORE})(?P<month>{_NAME})|[{MONTHS}{MONTH_OF}]?(?P<month_>{_NAME})(?P<which_>{_BEHIND})"
        rf"|(?<!{DAYS}.){MONTHS}(?P<month__>{DAY_DIGITS})(?P<which__>[{BEHIND}{BEHIND_WITHIN}])",
        makers.near_month,
    ),
    _rule(rf"{_BEHIND_TIE}(?P<month>{_NAME})|[{MONTHS}{MONTH_OF}]{OF}?(?P<month_>{_NAME})", makers.a_date),
    _rule(rf"(?P<month>{SURE_MONTH})(?![{DIGITS}{LARGE_DIGITS}])", makers.a_date),
    _rule(
        rf"(?<![{DAY_DIGITS}{DIGITS}{NUMBER}{FIVE_OR_YEAR}]){MONTHS}(?P<month>{DAY_DIGITS})(?![/{TO}{_UNITS}{DAYS}])"
        rf"|(?<=[{_TIED}]){MONTHS}(?P<month_>[{NUMBER}{FIVE_OR_YEAR}])(?![{_UNITS}{DAYS}{YEAR_DIGITS}{_BEHIND[1:]})",
        makers.a_date,
    ),
    _rule(
        rf"(?:{DAYS}{{1,2}}(?P<day>{DAY_DIGITS}){OF}?|(?P<day_>{DAY_DIGITS}){OF}){ARTICLE}?"
        rf"(?:(?P<which>{_BEFORE}){MONTHS}|{MONTHS}(?P<which_>{_BEHIND}))",
        makers.day_of_month,
    ),
    _rule(rf"{DAYS}{{1,2}}(?P<day>{DAY_DIGITS}){_END}", makers.day_of_month),
    _rule(f"(?P<which>{DAY})", makers.near_unit, unit="day"),
    _rule(rf"(?P<sign>[{AGO_BEFORE}{AGO_ANY}]){_COUNT}{_ANY_UNIT}(?P<half>{HALF})?(?!{OF})", makers.away),
    _rule(rf"(?P<sign>[{AGO_BEFORE}{AGO_ANY}])(?P<counted>{COUNTED})", makers.away),
    _rule(rf"{BEHIND}?{_COUNT}{_ANY_UNIT}(?P<half>{HALF})?(?P<sign>[{BEHIND_AGO}{AGO_BEHIND}])", makers.away),
    _rule(rf"(?P<counted>{COUNTED})(?P<sign>[{BEHIND_AGO}{AGO_BEHIND}])", makers.away),
    _rule(rf"{_WITHIN}{_COUNT}{_ANY_UNIT}", makers.within),
    _rule(rf"{_WITHIN}(?P<counted>{COUNTED})", makers.within),
    _rule(rf"(?P<counted>{COUNTED}){_WITHIN}", makers.within),
    _rule(rf"{_COUNT}{_WITHIN}{_ANY_UNIT}", makers.within),
    _rule(rf"{_COUNT}{_ANY_UNIT}{_WITHIN}", makers.within),
    _rule(rf"{_ANY_UNIT}{_COUNT}{_WITHIN}", makers.within),
    _rule(rf"{FOR}{_COUNT}{_ANY_UNIT}", makers.within, sign=-1),
    _rule(rf"(?P<sign>{WITHIN})(?P<unit>[{DAYS}{WEEK}])", makers.within, count=FEW),
    _rule(
        rf"{_WEEKDAY}{OF}?{ARTICLE}?(?:(?P<week>{_BEFORE}){WEEK}|{WEEK}(?P<week_>{_BEHIND}))"
        rf"|{WEEK}(?P<week__>{_BEHIND})[{ON}{IN},]?(?P<weekday_>[{_WEEKDAYS}])",
        makers.weekday,
    ),
    _rule(
        rf"(?P<which>{_BEFORE}){_WEEKDAY}|(?P<weekday_>[{_WEEKDAYS}])(?P<which_>{_BEHIND})", makers.weekday
    ),
    _rule(rf"(?<={UNTIL}){_WEEKDAY}{_NO_DAY}", makers.next_weekday),
    _rule(
        rf"(?:(?<=[{ON}{IN}{FOR}]){_WEEKDAY}|(?<!{EVERY})(?P<weekday_>{SURE_WEEKDAY})(?!{EVERY})){_NO_DAY}",
        makers.weekday,
    ),
    _rule(rf"(?<![{EVERY}{ARTICLE}{NUMBER}])(?P<weekday>{LAST_WEEKDAY}){_END}", makers.weekday),
    _rule(
        rf"(?P<which>{_BEFORE})(?P<season>[{SEASON}{SEASON_BEHIND}])"
        rf"|(?:(?P<season_>{SEASON})|(?<={ARTICLE})(?P<season__>{SEASON_BEHIND}))(?P<which_>{_BEHIND})",
        makers.season,
    ),
    _rule(
        rf"(?:(?P<season>{SEASON})|(?<=[{ARTICLE}{IN}])(?P<season_>{SEASON_BEHIND})){_OF_YEAR}"
        rf"|{_BEHIND_TIE}(?P<season__>[{SEASON}{SEASON_BEHIND}])|(?<={TO})(?P<season___>{SEASON})",
        makers.season,
    ),
    _rule(rf"{QUARTER}(?P<quarter>[{DAY_DIGITS}{NUMBER}]){_OF_YEAR}", makers.quarter),
    _rule(rf"(?P<quarter>{NUMBER}){QUARTER}{_OF_YEAR}", makers.quarter),
    _rule(
        rf"(?P<which>{_BEFORE})(?P<holiday>{_HOLIDAYS})|(?P<holiday_>{_HOLIDAYS})(?P<which_>{_BEHIND})",
        makers.holiday,
    ),
    _rule(rf"(?P<holiday>{_HOLIDAYS}){_OF_YEAR}", makers.holiday),
    _rule(
        rf"(?P<holiday>{SURE_HOLIDAY})|(?:{_BEHIND_TIE}|(?<={TO}))(?P<holiday_>{HOLIDAY})",
        makers.holiday,
    ),
    _rule(rf"(?P<near_unit>{NEAR})", makers.near_unit),
    _rule(rf"(?P<which>{_BEFORE})(?P<unit>[{_UNITS}])(?!{OF})", makers.near_unit),
    _rule(rf"(?<![{DAY_DIGITS}{DIGITS}{NUMBER}])(?P<unit>[{_UNITS}])(?P<which>{_BEHIND})", makers.near_unit),
    _rule(
        rf"(?P<sign>{AGO_ANY})(?P<unit>[{WEEK}{MONTHS}{DAYS}{YEARS}])(?![{DAY_DIGITS}{YEAR_DIGITS}])",
        makers.away,
    ),
    _rule(
        rf"(?<=[{_TIED}{ON}{OF}{YEARS}{FIVE_OR_YEAR}])(?P<year>{YEAR_DIGITS})[{TO}{UNTIL}]{_YEAR_UNIT}?(?P<last>{YEAR_DIGITS})",
        makers.a_year,
    ),
    _rule(
        rf"(?<={BETWEEN}){_YEAR_UNIT}?(?P<year>{YEAR_DIGITS}){AND}{_YEAR_UNIT}?(?P<last>{YEAR_DIGITS})",
        makers.a_year,
    ),
    _rule(
        rf"(?:{_BEHIND_TIE}|(?<=[{ON}{BEHIND}{BEHIND_AGO}])|{_YEAR_UNIT}{ERA}?|{ERA})(?P<year>{YEAR_DIGITS})(?!{THINGS})",
        makers.a_year,
    ),
)
