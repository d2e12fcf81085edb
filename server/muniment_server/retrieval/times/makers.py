"""What the rules of all languages make of what they have read: named values in, spans of the calendar out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from muniment_server.retrieval.times import spans
from muniment_server.retrieval.times.spans import Span

Named = Mapping[str, Any]
"""Numbers, months, offsets and units by the names of a rule's groups; what was not said is not there."""
Maker = Callable[[Named, date], Iterable[Span]]
_COUNTABLE = ("day", "week", "fortnight", "month", "year")


def reading(**values: Callable[[str], Any]) -> Callable[..., spans.Make]:
    """Let makers read the groups of a pattern: by name, what its text stands for. An empty group says
    nothing, and a group may be named again with a stroke behind its name.
    """

    def by(make: Maker, **fixed: Any) -> spans.Make:
        def read(match: re.Match[str], today: date) -> Iterable[Span]:
            said = {
                (plain := name.rstrip("_")): values[plain](text)
                for name, text in match.groupdict().items()
                if text
            }
            return make({**fixed, **said}, today)

        return read

    return by


def years_of(named: Named, today: date) -> Iterable[int]:
    """The years of a date: the one that it names, the one that "last year" is, or all that it may mean."""
    if "year" in named:
        return [named["year"]]
    if "near" in named:
        return [today.year + named["near"]]
    if "ago" in named:
        return [today.year - int(named["ago"])]
    return spans.possible_years(today)


def a_date(named: Named, today: date) -> Iterator[Span]:
    """A month, a day of it, or its days from one to another."""
    yield from spans.dates(
        years_of(named, today),
        named["month"],
        named.get("day"),
        named.get("until"),
        days_apart=named.get("apart", False) and "between" not in named,
    )


def some_months(named: Named, today: date) -> Iterator[Span]:
    """ "from March to May 2025"; what ends before it begins has begun a year before."""
    first, last = named["month"], named["last"]
    for year in years_of(named, today):
        yield spans.months(year if first <= last else year - 1, first, (last - first) % 12 + 1)


def near_month(named: Named, today: date) -> Iterator[Span]:
    yield spans.named_month(named["month"], named["which"], today)


def day_of_month(named: Named, today: date) -> Iterator[Span]:
    """ "the 5th of last month", and "the 5th": the last one, today's included."""
    day = named["day"]
    yield from spans.day_of_month(day, named.get("which", 0 if day <= today.day else -1), today)


def the_weekend(named: Named, today: date) -> Iterator[Span]:
    yield spans.the_weekend(today)


def near_unit(named: Named, today: date) -> Iterator[Span]:
    yield spans.unit(named["unit"], named["which"], today)


def weekday(named: Named, today: date) -> Iterator[Span]:
    if "week" in named:
        yield spans.weekday_of_week(named["weekday"], named["week"], today)
    else:
        yield spans.weekday(named["weekday"], named.get("which", -1), today)


def next_weekday(named: Named, today: date) -> Iterator[Span]:
    yield spans.next_weekday(named["weekday"], today)


def some_weekdays(named: Named, today: date) -> Iterator[Span]:
    yield spans.weekdays(named["weekday"], named["last_weekday"], today)


def season(named: Named, today: date) -> Iterator[Span]:
    if "which" in named:
        yield spans.season(named["season"], named["which"], today)
    else:
        yield from spans.seasons(named["season"], years_of(named, today))


def quarter(named: Named, today: date) -> Iterator[Span]:
    if not 1 <= named["quarter"] <= 4:
        return
    for year in years_of(named, today):
        yield spans.months(year, 3 * named["quarter"] - 2, 3)


def away(named: Named, today: date) -> Iterator[Span]:
    """ "three days ago", "in three days"."""
    if (count := _count(named)) == spans.FEW and named["unit"] not in _COUNTABLE:
        raise ValueError(named["unit"])
    yield spans.away(named["unit"], count, named["sign"], today)


def within(named: Named, today: date) -> Iterator[Span]:
    """ "in the last three days", "in the next three days"."""
    if named["unit"] not in _COUNTABLE:
        raise ValueError(named["unit"])
    yield spans.within(named["unit"], _count(named), today, named["sign"])


def _count(named: Named) -> float:
    count: float = named.get("count", 1)
    return count + 0.5 if "half" in named and count > 0 else count


def a_year(named: Named, today: date) -> Iterator[Span]:
    for year in years_of(named, today):
        if (count := named.get("last", year) - year + 1) > 0:
            yield spans.years(year, count)


def holiday(named: Named, today: date) -> Iterator[Span]:
    """Days of a date that each year has: those of a year, of the last, this or next time, or of any year."""
    month, day, length = named["holiday"]
    if "which" not in named:
        years = years_of(named, today)
    elif not named["which"]:
        years = [today.year]
    elif named["which"] < 0:
        years = [
            today.year if spans.days(date(today.year, month, day), length)[1] <= today else today.year - 1
        ]
    else:
        years = [today.year if date(today.year, month, day) > today else today.year + 1]
    for year in years:
        yield spans.days(date(year, month, day), length)
