"""Times in English."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from muniment_server.retrieval.times import spans
from muniment_server.retrieval.times.digits import DAY, YEAR
from muniment_server.retrieval.times.spans import FEW, Rule, Span, alternatives, relative_day, rule

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_WEEKDAYS |= {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": spans.WINTER}
_OFFSETS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_OFFSETS |= {"upcoming": 1}

_SMALL = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {name: float(number) for number, name in enumerate(_SMALL, 1)}
_NUMBERS |= {name: 10.0 * number for number, name in enumerate(_TENS, 2)}
_NUMBERS |= {f"{tens}-{one}": _NUMBERS[tens] + _NUMBERS[one] for tens in _TENS for one in _SMALL[:9]}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a couple": 2, "half a": 0.5, "half": 0.5}
_NUMBERS |= {
    "a half": 0.5,
    "one and a half": 1.5,
    "a few": FEW,
    "few": FEW,
    "several": FEW,
    "some": FEW,
    "a dozen": 12,
}
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second", "twenty-third"),
    *("twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth"),
    *("twenty-ninth", "thirtieth", "thirty-first"),
)
_DAYS_IN_WORDS = {name: number for number, name in enumerate(_ORDINALS, 1)}

_IN_WORDS = alternatives(_DAYS_IN_WORDS).replace(r"\-", "[- ]")
_MONTH = alternatives(MONTHS)
_WEEKDAY = alternatives(_WEEKDAYS)
_FULL_WEEKDAY = alternatives(_WEEKDAY_NAMES)
_SEASON = alternatives(_SEASONS)
_COUNT = r"\d{1,3}|" + alternatives(_NUMBERS).replace(r"\-", "[- ]").replace(r"\ ", " ")
_UNIT = "day|week|fortnight|month|year"
_WHICH = alternatives(_OFFSETS)
_DAY_PART = "morning|afternoon|evening|night"


def _after(*words: str) -> str:
    """What stands behind one of these words, without reading it."""
    return "(?:" + "|".join(rf"(?<=\b{word} )" for word in words) + ")"


def _count(text: str) -> float:
    return float(text) if text.isdigit() else _NUMBERS[text if text in _NUMBERS else text.replace(" ", "-")]


def _years(match: re.Match[str], today: date) -> Iterable[int]:
    """The years of a date: the one that it names, the one that "last year" is, or all that it may mean."""
    found = match.groupdict()
    if found.get("year"):
        return [int(found["year"])]
    if found.get("near"):
        return [today.year + _OFFSETS[found["near"]]]
    return spans.possible_years(today)


def _named(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    day, until = found.get("day"), found.get("until")
    yield from spans.dates(
        _years(match, today),
        MONTHS[match["month"]],
        int(day) if day else None,
        int(until) if until else None,
        days_apart=(found.get("tie") or "").strip() == "and" and not found.get("between"),
    )


def _in_words(match: re.Match[str], today: date) -> Iterator[Span]:
    day = _DAYS_IN_WORDS[match["day"].replace(" ", "-")]
    yield from spans.dates(_years(match, today), MONTHS[match["month"]], day)


def _named_month(match: re.Match[str], today: date) -> Iterator[Span]:
    month = match["month"] or "may"
    yield spans.named_month(MONTHS[month], _OFFSETS[match["which"] or match["of"] or "this"], today)


def _months(match: re.Match[str], today: date) -> Iterator[Span]:
    """ "from March to May 2025"."""
    first, last = MONTHS[match["month"]], MONTHS[match["last"]]
    for year in [int(match["year"])] if match["year"] else spans.possible_years(today):
        yield spans.months(year if first <= last else year - 1, first, (last - first) % 12 + 1)


def _day_of_month(match: re.Match[str], today: date) -> Iterator[Span]:
    """ "the 5th of last month", and "on the 5th": the last one, today's included."""
    day, which = int(match["day"]), match["which"]
    offset = _OFFSETS[which] if which else (0 if day <= today.day else -1)
    yield from spans.day_of_month(day, offset, today)


def _near_unit(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.unit(match["unit"], _OFFSETS[match["which"]], today)


def _before_last(match: re.Match[str], today: date) -> Iterator[Span]:
    offset = -2 if match["side"] == "before last" else 2
    name = match["unit"]
    if name in _WEEKDAYS:
        yield spans.weekday(_WEEKDAYS[name], offset, today)
    else:
        yield spans.unit(name, offset, today)


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    number = _WEEKDAYS[match["weekday"]]
    if found.get("week"):
        yield spans.weekday_of_week(number, _OFFSETS[match["week"]], today)
    else:
        yield spans.weekday(number, _OFFSETS[found.get("which") or "last"], today)


def _next_weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.next_weekday(_WEEKDAYS[match["weekday"]], today)


def _weekdays(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.weekdays(_WEEKDAYS[match["weekday"]], _WEEKDAYS[match["last"]], today)


def _season(match: re.Match[str], today: date) -> Iterator[Span]:
    first, found = _SEASONS[match["season"]], match.groupdict()
    if found.get("year") or found.get("near"):
        yield from spans.seasons(first, _years(match, today))
    elif found.get("which"):
        yield spans.season(first, _OFFSETS[match["which"]], today)
    else:
        yield from spans.seasons(first, spans.possible_years(today))


def _quarter(match: re.Match[str], today: date) -> Iterator[Span]:
    number = int(match["quarter"] or min(4, _DAYS_IN_WORDS.get(match["nth"], 4)))
    for year in _years(match, today):
        yield spans.months(year, 3 * number - 2, 3)


def _away(sign: int) -> spans.Make:
    return lambda match, today: [spans.away(match["unit"], _count(match["count"]), sign, today)]


def _and_a_half(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.away(match["unit"], _count(match["count"]) + 0.5, -1, today)


def _within(sign: int) -> spans.Make:
    return lambda match, today: [spans.within(match["unit"], _count(match["count"] or "one"), today, sign)]


def _before(match: re.Match[str], today: date) -> Iterator[Span]:
    """ "the week before 9 June": up to the date, not on it."""
    name = match["unit"]
    length = {"day": 1, "week": 7, "weekend": 7, "month": 31}.get(name, 0)
    for start, end in _named(match, today):
        if name in _WEEKDAYS:
            number = _WEEKDAYS[name]
            before = match["side"] == "before"
            yield spans.last_weekday(number, start) if before else spans.next_weekday(number, start)
        elif match["side"] == "before":
            yield spans.days(start - timedelta(days=length), length)
        else:
            yield spans.days(end, length)


def _year(match: re.Match[str], today: date) -> Iterator[Span]:
    first = int(match["year"])
    yield spans.years(first, int(match.groupdict().get("last") or first) - first + 1)


_ORDINAL = "(?:st|nd|rd|th)?"
_OF_YEAR = rf"(?:,? (?:of |in )?(?:(?P<year>{YEAR})\b|(?P<near>last|previous|this|next) year\b))?"
_TIE = r"(?P<tie> ?[-–—~] ?| (?:to|until|till|through|thru|and) )(?:the )?"
_NOT_A_NUMBER_OF = (
    r"(?! ?(?:%|percent|people|persons|guests|times|miles?|kms?|kilomet|met(?:er|re)s?|hours?|minutes?"
    r"|days|weeks|months|years|dollars|euros|of (?:us|them|you|my|our|the)))"
)
_VERB = r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bhe )(?<!\bshe )(?<!\bit )(?<!\bthat )(?<!\bwho )"
_DAY_MONTH = rf"(?P<day>{DAY}){_ORDINAL}(?: of)? (?P<month>{_MONTH})\b\.?{_OF_YEAR}"
_MONTH_DAY = (
    rf"{_VERB}\b(?P<month>{_MONTH})\b\.? (?:the )?(?P<day>{DAY}){_ORDINAL}(?![\d:%]|\.\d){_NOT_A_NUMBER_OF}"
)
_BEFORE = rf"\b(?P<unit>day|weekend|week|month|{_FULL_WEEKDAY})s? (?P<side>before|after) (?:the )?"
_TIMES_OF = ("in", "during", "since", "of", "early", "late", "mid", "by", "until", "till", "before", "after")

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(_BEFORE + _DAY_MONTH, _before),
    rule(_BEFORE + _MONTH_DAY + _OF_YEAR, _before),
    rule(
        rf"(?P<between>\bbetween (?:the )?)?\b(?P<day>{DAY}){_ORDINAL}{_TIE}"
        + _DAY_MONTH.replace("P<day>", "P<until>"),
        _named,
    ),
    rule(
        rf"(?P<between>\bbetween )?{_MONTH_DAY}{_TIE}(?P<until>{DAY}){_ORDINAL}(?!\d)"
        rf"(?! (?:{_MONTH})\b){_OF_YEAR}",
        _named,
    ),
    rule(r"\b(?<![\d.])" + _DAY_MONTH, _named),
    rule(_MONTH_DAY + _OF_YEAR, _named),
    rule(
        rf"\b(?P<day>{_IN_WORDS}) of (?P<month>{_MONTH})\b{_OF_YEAR}",
        _in_words,
    ),
    rule(
        rf"\b(?:from|between) (?P<month>{_MONTH}) (?:to|and|until|till|through) (?P<last>{_MONTH})\b"
        rf"(?:,? (?:of )?(?P<year>{YEAR})\b)?",
        _months,
    ),
    rule(rf"\b(?P<month>{_MONTH})\b\.?,?(?: of| in)? (?P<year>{YEAR})\b", _named),
    rule(rf"\b(?P<month>{_MONTH})\b,?(?: of| in)? (?P<near>last|previous|this|next) year\b", _named),
    rule(rf"\b(?P<near>last|previous|this|next) year,?(?: in)? (?P<month>{_MONTH})\b", _named),
    # "This may help" names no month, and "the last may be" neither.
    rule(
        rf"\b(?<!\bthe )(?P<which>last|past|previous|this|next|coming) (?P<month>(?!may\b)(?:{_MONTH}))\b"
        r"|(?<!\bthe )\b(?P<of>last|past|previous|next|coming) (?P<may>may)\b(?! be\b)"
        r"|\bthis (?P<this>may)\b(?=\W*$|[,.;:!?])",
        _named_month,
    ),
    rule(rf"{_after(*_TIMES_OF)}(?P<month>{_MONTH})\b", _named),
    rule(rf"\bmid-(?P<month>{_MONTH})\b", _named),
    rule(
        rf"\b(?:the )?(?P<day>{DAY})(?:st|nd|rd|th) of (?:the )?"
        r"(?P<which>last|previous|this|next|coming) month\b",
        _day_of_month,
    ),
    rule(rf"(?<=\bon )the (?P<day>{DAY})(?:st|nd|rd|th)(?P<which>)(?= ?(?:[.,;:!?]|$))", _day_of_month),
    rule(
        rf"\b(?P<season>{_SEASON})\b(?:,? of|,? in)? (?:(?P<year>{YEAR})\b|(?P<near>last|this|next) year\b)",
        _season,
    ),
    rule(rf"\b(?P<which>{_WHICH}) (?P<season>{_SEASON})\b", _season),
    rule(
        _after("in", "during", "of", "since", "in the", "during the", "since the")
        + rf"(?P<season>{_SEASON})\b",
        _season,
    ),
    rule(
        rf"\b(?:q(?P<quarter>[1-4])|(?:the )?(?P<nth>first|second|third|fourth|last) quarter) ?(?:of |in )?"
        rf"(?:(?P<year>{YEAR})\b|(?P<near>last|previous|this|next) year\b)",
        _quarter,
    ),
    rule(r"\b(?:the )?day before yesterday\b", relative_day(-2)),
    rule(r"\b(?:the )?day after tomorrow\b", relative_day(2)),
    rule(r"\b(?:yesterday|last night)\b", relative_day(-1)),
    rule(rf"\b(?:today|tonight|this (?:{_DAY_PART}))\b", relative_day(0)),
    rule(r"\btomorrow\b", relative_day(1)),
    rule(
        rf"\b(?:the )?(?P<unit>week|weekend|month|year|{_FULL_WEEKDAY}) (?P<side>before last|after next)\b",
        _before_last,
    ),
    rule(rf"\b(?P<weekday>{_FULL_WEEKDAY})(?: of)? (?P<week>last|previous|this|next) week\b", _weekday),
    rule(rf"\b(?P<week>last|previous|this|next) week,?(?: on|'s)? (?P<weekday>{_FULL_WEEKDAY})\b", _weekday),
    rule(
        rf"\b(?:from|between) (?P<weekday>{_FULL_WEEKDAY}) (?:to|and|until|till|through) "
        rf"(?P<last>{_FULL_WEEKDAY})\b",
        _weekdays,
    ),
    rule(rf"\b(?P<which>{_WHICH}) (?P<weekday>{_WEEKDAY})\b", _weekday),
    rule(rf"{_after('on', 'since', 'after')}(?P<weekday>{_FULL_WEEKDAY})\b", _weekday),
    rule(rf"{_after('until', 'till', 'by', 'before')}(?P<weekday>{_FULL_WEEKDAY})\b", _next_weekday),
    rule(
        rf"(?<!\bevery )(?<!\beach )\b(?P<weekday>{_FULL_WEEKDAY})(?: (?:{_DAY_PART})\b|(?=\W*$))", _weekday
    ),
    rule(
        rf"\b(?:in|over|during|within|for) the (?:last|past) (?P<count>{_COUNT})? ?(?P<unit>{_UNIT})s?\b",
        _within(-1),
    ),
    rule(rf"\b(?:last|past|previous) (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?\b", _within(-1)),
    rule(rf"\b(?:next|coming|following) (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?\b", _within(1)),
    rule(rf"\b(?P<which>{_WHICH}) (?P<unit>weekend|week|month|quarter|year)\b", _near_unit),
    rule(r"\b(?:over|on|at|during) the weekend\b", lambda match, today: [spans.the_weekend(today)]),
    rule(r"\b(?P<count>a|an|one|two|three) (?P<unit>year|month|week)s? and a half ago\b", _and_a_half),
    rule(rf"\b(?P<count>{_COUNT}) (?P<unit>{_UNIT})s? (?:ago|back|earlier)\b", _away(-1)),
    rule(rf"\b(?:in )?(?P<count>{_COUNT}) (?P<unit>{_UNIT})s?(?: from (?:now|today)\b|'s? time\b)", _away(1)),
    rule(rf"\b(?:between|from) (?P<year>{YEAR}) (?:and|to|until|till|through) (?P<last>{YEAR})\b", _year),
    rule(
        _after("in", "during", "since", "of", "year", "by", "until", "around", "before", "after")
        + rf"(?P<year>{YEAR})\b",
        _year,
    ),
)
HINT = re.compile(
    rf"\b(?:{_MONTH}|{_SEASON}|today|tonight|tomorrow|yesterday|ago|back|earlier|{_WHICH}|weekend|time|from|year"
    rf"|{_FULL_WEEKDAY})\b|\d"
)
