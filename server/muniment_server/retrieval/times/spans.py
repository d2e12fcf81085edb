"""Spans of the calendar: what the rules of all languages make of the numbers and names that they read.

A span is two dates, half open. `today` is the day that "yesterday" starts from. An offset says how many
units away something lies: -1 is the last one, 0 this one, 1 the next.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta

MAX_CHARACTERS = 8_192
"""Characters of a query that are read for times: all that it may have."""
YEARS_BACK = 10
"""A date without its year means the next year, this one, or one of so many before."""
FEW = -1.0
"""The count of "a few": as many as fit between the nearest and the farthest that is called so."""
WINTER = 12

Span = tuple[date, date]
Make = Callable[[re.Match[str], date], Iterable[Span]]
Rule = tuple[re.Pattern[str], Make]
Part = tuple[re.Pattern[str], Sequence[Rule]]
"""Rules, and what is in each text in which any of them reads something."""

# "a few weeks ago": at least and at most.
_FEW_ARE = {"day": (1, 7), "week": (2, 6), "month": (2, 6), "year": (2, 6)}
_DAYS_OF = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "year": 366}
_MONTH_DAYS = 30.4


def rule(pattern: str, make: Make) -> Rule:
    """A pattern and what makes spans of its matches."""
    return re.compile(pattern), make


def alternatives(words: Iterable[str]) -> str:
    """The words as a pattern, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


def after(*words: str, first: str = "") -> str:
    """What stands behind one of these words, without reading it.

    first: with which of these characters it begins, which is faster to see than what stands before.
    """
    begins = f"(?=[{first}])" if first else ""
    return begins + "(?:" + "|".join(rf"(?<=\b{word} )" for word in words) + ")"


def firsts(words: Iterable[str]) -> str:
    """The characters with which words begin, as the inside of a character class."""
    return "".join(sorted({word[0] for word in words}))


def days(start: date, count: int = 1) -> Span:
    """So many days from a day on."""
    return start, start + timedelta(days=count)


def months(year: int, month: int, count: int = 1) -> Span:
    """So many months from a month on; a month outside 1 to 12 is one of another year."""
    return _first_of_month(year, month), _first_of_month(year, month + count)


def _first_of_month(year: int, month: int) -> date:
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def years(year: int, count: int = 1) -> Span:
    """So many years from a year on."""
    return date(year, 1, 1), date(year + count, 1, 1)


def relative_day(offset: int) -> Make:
    """Make the day so many days away."""
    return lambda match, today: [days(today + timedelta(days=offset))]


def possible_years(today: date) -> range:
    """The years that a date without a year may mean."""
    return range(today.year + 1, today.year - YEARS_BACK - 1, -1)


def dates(
    in_years: Iterable[int],
    month: int,
    day: int | None = None,
    until: int | None = None,
    *,
    days_apart: bool = False,
) -> Iterator[Span]:
    """The month, or its day, or its days up to another one, in each of the years that has it.

    days_apart: the two days without those between them.
    """
    for year in in_years:
        if not 1 <= month <= 12:
            return
        try:
            if day is None:
                yield months(year, month)
                continue
            start = date(year, month, day)
            end = date(year, month, until) if until else start
        except ValueError:
            continue
        if end < start:
            continue
        if days_apart:
            yield days(start)
            yield days(end)
        else:
            yield start, end + timedelta(days=1)


def unit(name: str, offset: int, today: date) -> Span:
    """The whole day, week (from Monday), weekend, month, quarter or year that lies `offset` of them away."""
    if name == "day":
        return days(today + timedelta(days=offset))
    if name == "week":
        return days(_monday(today, offset), 7)
    if name == "weekend":
        return days(_monday(today, offset) + timedelta(days=5), 2)
    if name == "month":
        return months(today.year, today.month + offset)
    if name == "quarter":
        return months(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * offset, 3)
    return years(today.year + offset)


def _monday(today: date, offset: int) -> date:
    return today + timedelta(weeks=offset, days=-today.weekday())


def the_weekend(today: date) -> Span:
    """The weekend that somebody means who does not say which: this one if it has begun, else the last."""
    return unit("weekend", 0 if today.weekday() >= 5 else -1, today)


def weekday_of_week(number: int, offset: int, today: date) -> Span:
    """The weekday (Monday is 0) in the week that lies `offset` weeks away."""
    return days(_monday(today, offset) + timedelta(days=number))


def last_weekday(number: int, today: date) -> Span:
    """The last day before today that was this weekday."""
    return days(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1))


def next_weekday(number: int, today: date) -> Span:
    """The first day after today that is this weekday."""
    return days(today + timedelta(days=(number - today.weekday() - 1) % 7 + 1))


def weekday(number: int, offset: int, today: date) -> Span:
    """Last Friday is the one before today, next Friday the one after it, this Friday that of this week."""
    if offset == 0:
        return weekday_of_week(number, 0, today)
    found = last_weekday(number, today) if offset < 0 else next_weekday(number, today)
    further = 7 * (offset + 1 if offset < 0 else offset - 1)
    return found[0] + timedelta(days=further), found[1] + timedelta(days=further)


def weekdays(first: int, last: int, today: date) -> Span:
    """ "from Monday to Friday": from the last such first day on."""
    start = last_weekday(first, today)[0]
    return days(start, (last - first) % 7 + 1)


def named_month(month: int, offset: int, today: date) -> Span:
    """Last May is the last that is over, next May the first that has not begun, this May that of the year."""
    return _named(month, 1, offset, today)


def season(first: int, offset: int, today: date) -> Span:
    """The season that begins with a month: last, this or next, as with months.

    This winter is the one that it is now, in spring the one that is just over, else the one to come.
    """
    if offset == 0 and first == WINTER and today.month <= 5:
        return months(today.year - 1, first, 3)
    return _named(first, 3, offset, today)


def _named(first: int, count: int, offset: int, today: date) -> Span:
    if offset == 0:
        return months(today.year, first, count)
    if offset < 0:
        year = today.year
        while months(year, first, count)[1] > today:
            year -= 1
        return months(year + offset + 1, first, count)
    year = today.year
    while months(year, first, count)[0] <= today:
        year += 1
    return months(year + offset - 1, first, count)


def day_of_month(day: int, offset: int, today: date) -> Iterator[Span]:
    """The day of the month that lies `offset` months away, if it has one."""
    start, end = unit("month", offset, today)
    found = start + timedelta(days=day - 1)
    if found < end:
        yield days(found)


def seasons(first: int, in_years: Iterable[int]) -> Iterator[Span]:
    """The seasons of these years. A single year has parts of two winters."""
    for year in (wanted := list(in_years)):
        if first == WINTER and len(wanted) == 1:
            yield months(year, 1, 2)
        yield months(year, first, 3)


def away(name: str, count: float, sign: int, today: date) -> Span:
    """ "three days ago" (-1) or "in three days" (1). Weeks are said of any day around theirs."""
    if count == FEW:
        return _few_away("week" if name == "fortnight" else name, sign, today)
    if name == "fortnight":
        name, count = "week", 2 * count
    if name == "year" and count % 1:
        name, count = "month", 12 * count
    if name == "week" or count % 1:
        exact = count * {"day": 1, "week": 7}.get(name, _MONTH_DAYS)
        if name == "day":
            return days(today + sign * timedelta(days=int(exact)))
        return days(today + sign * timedelta(days=int(exact)) - timedelta(days=3), 7)
    return unit(name, sign * int(count), today)


def _few_away(name: str, sign: int, today: date) -> Span:
    near, far = _FEW_ARE[name]
    if name in ("day", "week"):
        step = _DAYS_OF[name]
        ends = (today + sign * timedelta(days=step * far), today + sign * timedelta(days=step * near))
        return min(ends), max(ends) + timedelta(days=1)
    first, last = unit(name, sign * far, today), unit(name, sign * near, today)
    return min(first[0], last[0]), max(first[1], last[1])


def within(name: str, count: float, today: date, sign: int = -1) -> Span:
    """ "the last three weeks" (-1) or "the next three weeks" (1), today included."""
    if count == FEW:
        count = _FEW_ARE.get(name, _FEW_ARE["week"])[1]
    length = timedelta(days=int(_DAYS_OF[name] * count))
    if sign > 0:
        return today, today + length + timedelta(days=1)
    return today - length, today + timedelta(days=1)
