"""Times named in a query, as spans of the calendar: "on 5 May", 昨天, 先週, 지난주, letzte Woche.

English, Chinese, Japanese, Korean, German, and dates in digits in any language. Small on purpose: a general
parser finds times in names and numbers as well ("May", "at 12"), and a wrong span moves the wrong memories
up. What is not understood gives nothing.

A span is half open and lies in the caller's time zone; it leaves here in UTC. A date without its year
gives one span for each year that it may mean, since memories of several years may be asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from itertools import islice

from muniment_server.domain.model import TimeRange
from muniment_server.retrieval.analysis import normalize
from muniment_server.retrieval.scripts import simplified
from muniment_server.retrieval.times import digits, english, german, han, korean
from muniment_server.retrieval.times.alone import says_nothing
from muniment_server.retrieval.times.joining import Found, join_ranges, open_ends
from muniment_server.retrieval.times.marks import asks_when, names_time
from muniment_server.retrieval.times.spans import MAX_CHARACTERS, YEARS_BACK, Rule

__all__ = ["MAX_SPANS", "YEARS_BACK", "Times", "asks_when", "names_time", "read_times", "time_spans"]

MAX_SPANS = 32
"""Spans of one query; those that come first are kept."""
_READ = "\x00"


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
    for hint, rules in (
        (digits.HINT, digits.RULES),
        (german.HINT, german.RULES),
        (english.HINT, english.RULES),
        (han.HINT, han.RULES),
        (korean.HINT, korean.RULES),
    ):
        if hint.search(rest):
            rest = _read(rest, today, rules, found)
    found.sort(key=lambda one: one.start)
    return open_ends(text, join_ranges(text, found), today), rest.replace(_READ, " ")


def _read(text: str, today: date, rules: Sequence[Rule], found: list[Found]) -> str:
    for pattern, make in rules:
        read = len(found)
        for match in pattern.finditer(text):
            try:
                spans = tuple(one for one in make(match, today) if one[0] < one[1])
            except (OverflowError, ValueError):
                continue
            if spans:
                found.append(Found(match.start(), match.end(), spans))
        text = _without(text, found[read:])
    return text


def _without(text: str, read: Sequence[Found]) -> str:
    """The text with what was read blanked, in one go however much that is."""
    kept, end = [], 0
    for one in read:
        kept += [text[end : one.start], _READ * (one.end - one.start)]
        end = one.end
    return "".join([*kept, text[end:]]) if kept else text


def _instant(day: date, zone: tzinfo) -> datetime:
    return _in_zone(datetime(day.year, day.month, day.day, tzinfo=zone), UTC)


def _in_zone(instant: datetime, zone: tzinfo) -> datetime:
    # At the calendar's ends another zone's clock may show a year that does not exist.
    try:
        return instant.astimezone(zone)
    except OverflowError:
        return instant.replace(tzinfo=zone)
