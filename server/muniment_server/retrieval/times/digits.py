"""Dates in digits, in any language.

What begins with the year is read as ISO 8601 does, whatever separates the parts. With dots the day comes
first. With strokes and hyphens either may: what can be read in both ways means both days.
"""

import re
from collections.abc import Iterator
from datetime import date

from muniment_server.retrieval.times.spans import Part, Rule, Span, dates, rule, years

YEAR = r"(?:19|20)\d\d"
DAY = r"(?:3[01]|[12]\d|0?[1-9])"
MONTH = r"(?:1[0-2]|0?[1-9])"
BUDDHIST = 543
"""Years by which the era of Thailand is ahead; no other one has come to 2400."""


def _numeric(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    day = found.get("day")
    yield from dates([int(match["year"])], int(match["month"]), int(day) if day else None)


def _either(match: re.Match[str], today: date) -> Iterator[Span]:
    year = int(match["year"]) if len(match["year"]) == 4 else 2_000 + int(match["year"])
    first, second = int(match["first"]), int(match["second"])
    yield from dates([year], second, first)
    if first != second:
        yield from dates([year], first, second)


def _years(match: re.Match[str], today: date) -> Iterator[Span]:
    first, last = int(match["year"]), int(match["last"])
    if first < last:
        yield years(first, last - first + 1)


def _buddhist(match: re.Match[str], today: date) -> Iterator[Span]:
    yield from dates([int(match["year"]) - BUDDHIST], int(match["month"]), int(match["day"]))


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?<![\d.])(?P<year>{YEAR})(?P<sep>[-/.])(?P<month>\d{{1,2}})(?P=sep)(?P<day>{DAY})(?!\d|\.\d)",
        _numeric,
    ),
    rule(rf"(?<![\d-])(?P<year>{YEAR})-(?P<month>0[1-9]|1[0-2])(?![\d-])", _numeric),
    rule(rf"(?<![\d.])(?P<day>{DAY})\. ?(?P<month>{MONTH})\. ?(?P<year>{YEAR})(?!\d|\.\d)", _numeric),
    rule(
        rf"(?<![\w/-])(?P<first>\d{{1,2}})(?P<sep>[-/])(?P<second>\d{{1,2}})(?P=sep)(?P<year>{YEAR})(?![\w/-])",
        _either,
    ),
    rule(r"(?<![\w/-])(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d\d)(?![\w/-])", _either),
    rule(
        rf"(?<![\w/.-])(?P<day>{DAY})(?P<sep>[-/.])(?P<month>{MONTH})(?P=sep)(?P<year>2[45]\d\d)(?![\w/-]|\.\d)",
        _buddhist,
    ),
    rule(rf"(?<![\w/.-])(?P<year>{YEAR}) ?[-–~] ?(?P<last>{YEAR})(?![\w/-])", _years),
    rule(rf"^\W*(?P<year>{YEAR})\W*$", lambda match, today: [years(int(match["year"]))]),
)
HINT = re.compile(r"\d")
PARTS: tuple[Part, ...] = ((HINT, RULES),)
