"""Times named in a query, as spans of the calendar: "on 5 May", 昨天, 先週, 지난주, letzte Woche, hôm qua.

English, Chinese, Japanese, Korean and German by rules of their own, Vietnamese, Thai, Arabic, Spanish and
French by tables of words that share their rules, and dates in digits in any language. Small on purpose: a
general parser finds times in names and numbers as well ("May", "at 12"), and a wrong span moves the wrong
memories up. What is not understood gives nothing.

A span is half open and lies in the caller's time zone; it leaves here in UTC. A date without its year
gives one span for each year that it may mean, since memories of several years may be asked for.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from itertools import islice

from muniment_server.domain.model import TimeRange
from muniment_server.retrieval.analysis import normalize
from muniment_server.retrieval.scripts import simplified
from muniment_server.retrieval.times import (
    arabic,
    digits,
    english,
    french,
    german,
    grammar,
    han,
    korean,
    spanish,
    tables,
    thai,
    vietnamese,
)
from muniment_server.retrieval.times.alone import says_nothing
from muniment_server.retrieval.times.joining import Found, join_ranges, open_ends
from muniment_server.retrieval.times.marks import asks_when, names_time
from muniment_server.retrieval.times.spans import MAX_CHARACTERS, YEARS_BACK, Part

__all__ = ["MAX_SPANS", "YEARS_BACK", "Times", "asks_when", "names_time", "read_times", "time_spans"]

MAX_SPANS = 32
"""Spans of one query; those that come first are kept."""
_READ = "\x00"
_TABLES = (vietnamese.LANGUAGE, spanish.LANGUAGE, french.LANGUAGE)
_CHARACTERS = ((han.HINT, han.PARTS), (korean.HINT, korean.PARTS))
_SCRIPTS = ((re.compile("[\u0e01-\u0e2e]"), thai.LANGUAGE), (re.compile("[\u0621-\u064a]"), arabic.LANGUAGE))


@dataclass(frozen=True, slots=True)
class Times:
    """The spans that a text names, in UTC and in its order, and the text without the words for them."""

    spans: Sequence[TimeRange]
    rest: str

    @property
    def alone(self) -> bool:
        """Whether there are times, and nothing else is asked for."""
        return bool(self.spans) and says_nothing(self.rest)


def read_times(text: str, reference: datetime, zone: tzinfo = UTC) -> Times:
    """Read at most `MAX_SPANS` times of a text.

    reference: the instant that "yesterday" starts from, aware; zone: whose days, weeks and months.
    """
    today = _in_zone(reference, zone).date()
    found, rest = _scan(normalize(text[:MAX_CHARACTERS]).lower(), today)
    spans = dict.fromkeys(span for one in found for span in one.spans)
    return Times(
        [TimeRange(_instant(start, zone), _instant(end, zone)) for start, end in islice(spans, MAX_SPANS)],
        rest,
    )


def time_spans(text: str, reference: datetime, zone: tzinfo = UTC) -> Sequence[TimeRange]:
    """Return the spans that a text names; see `read_times`."""
    return read_times(text, reference, zone).spans


def _scan(text: str, today: date) -> tuple[list[Found], str]:
    """What is named where, in order, and the rest."""
    found: list[Found] = []
    text = rest = simplified(text)
    ascii_alone = text.isascii()
    words = tables.words_of(text)
    numbers = bool(digits.HINT.search(text))
    if numbers:
        rest = _read(rest, today, digits.PARTS, found)
    if not german.HINTS.isdisjoint(words) or (numbers and german.HINT.search(rest)):
        rest = _read(rest, today, german.PARTS, found)
    for table in _TABLES:
        if not table.hints.isdisjoint(words):
            rest = _without(rest, grammar.read(rest, table, today, found))
    if not english.HINTS.isdisjoint(words) or (numbers and english.HINT.search(rest)):
        rest = _read(rest, today, english.PARTS, found)
    for hint, parts in () if ascii_alone else _CHARACTERS:
        if hint.search(rest):
            rest = _read(rest, today, parts, found)
    for script, table in () if ascii_alone else _SCRIPTS:
        if script.search(rest):
            rest = _without(rest, grammar.read(rest, table, today, found))
    found.sort(key=lambda one: one.start)
    return open_ends(text, join_ranges(text, found), today), rest.replace(_READ, " ")


def _read(text: str, today: date, parts: Sequence[Part], found: list[Found]) -> str:
    for pattern, make in (rule for needed, rules in parts if needed.search(text) for rule in rules):
        places: list[tuple[int, int]] = []
        for match in pattern.finditer(text):
            try:
                spans = tuple(one for one in make(match, today) if one[0] < one[1])
            except (OverflowError, ValueError):
                continue
            # A date that no year has is none, and no part of it is another time.
            places.append(match.span())
            if spans:
                found.append(Found(match.start(), match.end(), spans))
        text = _without(text, places)
    return text


def _without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """The text with what was read blanked, in one go however much that is."""
    kept, end = [], 0
    for first, last in places:
        kept += [text[end:first], _READ * (last - first)]
        end = last
    return "".join([*kept, text[end:]]) if kept else text


def _instant(day: date, zone: tzinfo) -> datetime:
    return _in_zone(datetime(day.year, day.month, day.day, tzinfo=zone), UTC)


def _in_zone(instant: datetime, zone: tzinfo) -> datetime:
    # At the calendar's ends another zone's clock may show a year that does not exist.
    try:
        return instant.astimezone(zone)
    except OverflowError:
        return instant.replace(tzinfo=zone)
