"""Times in English."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from muniment_server.retrieval.times import makers, spans
from muniment_server.retrieval.times.digits import DAY, YEAR
from muniment_server.retrieval.times.english_words import (
    DAYS_IN_WORDS,
    HOLIDAYS,
    MONTHS,
    NUMBERS,
    OFFSETS,
    SEASONS,
    WEEKDAY_NAMES,
    WEEKDAYS,
)
from muniment_server.retrieval.times.makers import Named
from muniment_server.retrieval.times.spans import (
    Part,
    Span,
    after,
    alternatives,
    firsts,
    relative_day,
    rule,
)

_IN_WORDS = alternatives(DAYS_IN_WORDS).replace(r"\-", "[- ]")
_MONTH = alternatives(MONTHS)
_WEEKDAY = alternatives(WEEKDAYS)
_WEEKDAY_FIRSTS = firsts(WEEKDAYS)
_FULL_WEEKDAY = alternatives(WEEKDAY_NAMES)
_SEASON = alternatives(SEASONS)
_COUNT = r"\d{1,3}|" + alternatives(NUMBERS).replace(r"\-", "[- ]").replace(r"\ ", " ")
_UNIT = "day|week|fortnight|month|year"
_WHICH = alternatives(OFFSETS)
_DAY_PART = "morning|afternoon|evening|night"


def _count(text: str) -> float:
    return float(text) if text.isdigit() else NUMBERS[text if text in NUMBERS else text.replace(" ", "-")]


def _day(text: str) -> int:
    return int(text) if text.isdigit() else DAYS_IN_WORDS[text.replace(" ", "-")]


def _quarter(text: str) -> int:
    return int(text) if text.isdigit() else min(4, DAYS_IN_WORDS.get(text, 4))


_by = makers.reading(
    year=int,
    last=lambda text: int(text) if text.isdigit() else MONTHS[text],
    last_weekday=WEEKDAYS.__getitem__,
    near=OFFSETS.__getitem__,
    which=OFFSETS.__getitem__,
    week=OFFSETS.__getitem__,
    month=MONTHS.__getitem__,
    day=_day,
    until=int,
    apart=lambda text: text.strip() == "and",
    between=str,
    weekday=WEEKDAYS.__getitem__,
    season=SEASONS.__getitem__,
    quarter=_quarter,
    unit=str,
    count=_count,
    ago=_count,
    half=str,
    side=str,
    holiday=HOLIDAYS.__getitem__,
)


def _before_last(named: Named, today: date) -> Iterator[Span]:
    """ "the week before last", "the Friday after next"."""
    offset = -2 if named["side"] == "before last" else 2
    name = named["unit"]
    if name in WEEKDAYS:
        yield spans.weekday(WEEKDAYS[name], offset, today)
    else:
        yield spans.unit(name, offset, today)


def _before(named: Named, today: date) -> Iterator[Span]:
    """ "the week before 9 June": up to the date, not on it."""
    name, before = named["unit"], named["side"] == "before"
    length = {"day": 1, "week": 7, "weekend": 7, "month": 31}.get(name, 0)
    for start, end in makers.a_date(named, today):
        if name in WEEKDAYS:
            number = WEEKDAYS[name]
            yield spans.last_weekday(number, start) if before else spans.next_weekday(number, start)
        elif before:
            yield spans.days(start - timedelta(days=length), length)
        else:
            yield spans.days(end, length)


def _in_time(match: re.Match[str], today: date) -> Iterable[Span]:
    """ "in 3 days" is said of how long something takes as well: read where a sentence looks ahead."""
    before = match.string[max(0, match.start() - _LOOKED_BACK) : match.start()]
    if before.strip() and (_PAST.search(before) or not _AHEAD.search(before)):
        raise ValueError(match[0])
    return _by(makers.away, sign=1)(match, today)


_ORDINAL = "(?:st|nd|rd|th)?"
_SAID_YEAR = rf",? (?:of |in )?(?:(?P<year>{YEAR})\b|(?P<near>last|previous|this|next) year\b)"
# What a year cannot be is one for whoever wrote it, so that no other year is meant.
_NO_YEAR = r"(?!,? (?:of |in )?\d{3,4}\b)"
_OF_YEAR = f"(?:{_SAID_YEAR}|{_NO_YEAR})"
_TIE = r"(?P<apart> ?[-–—~] ?| (?:to|until|till|through|thru|and) )(?:the )?"
_NOT_A_NUMBER_OF = (
    r"(?! ?(?:%|percent|people|persons|guests|times|miles?|kms?|kilomet|met(?:er|re)s?|hours?|minutes?"
    r"|days|weeks|months|years|dollars|euros|of (?:us|them|you|my|our|the)))"
)
_FIRSTS = firsts(MONTHS)
_VERB = (
    rf"(?=[{_FIRSTS}])\b"
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bhe )(?<!\bshe )(?<!\bit )(?<!\bthat )(?<!\bwho )"
)
_DAY_MONTH = rf"(?P<day>{DAY}){_ORDINAL}(?: of)? (?P<month>{_MONTH})\b\.?{_OF_YEAR}"
_MONTH_DAY = (
    rf"{_VERB}(?P<month>{_MONTH})\b\.? (?:the )?(?P<day>{DAY}){_ORDINAL}(?![\d:%]|\.\d){_NOT_A_NUMBER_OF}"
)
_BEFORE = rf"\b(?P<unit>day|weekend|week|month|{_FULL_WEEKDAY})s? (?P<side>before|after) (?:the )?"
_TIMES_OF = ("in", "during", "since", "of", "early", "late", "mid", "by", "until", "till", "before", "after")

_YEARS_AGO = rf"(?P<ago>{_COUNT}) years? ago\b"
_NO_DATE = r"(?!,? (?:the )?\x00)"
"""Not beside a date, which is blank when weekdays are looked for: "Tuesday, 5 May" is one day."""
_LOOKED_BACK = 60
_AHEAD = re.compile(
    r"\b(?:will|won't|shall|going|due|plans?|planned|planning|scheduled|upcoming|coming|starts?|begins?|expires?"
    r"|ends?|leaves?|leaving|fl(?:ies|ying)|arriv(?:es?|ing)|happen(?:s|ing)|do i have|what(?:'s| is)|remind"
    r"|appointments?|deadline|have to|need to|supposed to|should|what do i do|what am i doing|where am i"
    r"|events?|meetings?)\b|'ll\b"
)
_PAST = re.compile(
    r"\b(?:did|was|were|had|been|done|can|could|possible|takes?|took|within|how|finish(?:ed)?|read|learn|lost|made)\b"
)
_THINGS_OF = (
    "tree|card|present|gift|cake|song|carol|party|market|dinner|movie|light|decoration|story|shopping"
)
_HOLIDAY = rf"(?:christmas (?:day|eve)|boxing day|new year's (?:day|eve)|christmas(?! (?:{_THINGS_OF})))"
_NO_THING_OF = r"(?! (?:party|parties|resolution|dinner|menu|service|story|song))"

# The order counts: what a rule has read is not read again by those below it.
PARTS: tuple[Part, ...] = (
    (
        re.compile(r"christmas|boxing day|new year"),
        (
            rule(
                rf"\b(?P<which>last|this|next) (?P<holiday>{_HOLIDAY})\b{_NO_THING_OF}", _by(makers.holiday)
            ),
            rule(rf"\b(?P<holiday>{_HOLIDAY}){_SAID_YEAR}", _by(makers.holiday)),
            rule(
                after("on", "at", "for", "over", "before", "after", "since", "during", "around", "until")
                + rf"(?P<holiday>{_HOLIDAY})\b{_NO_THING_OF}",
                _by(makers.holiday),
            ),
        ),
    ),
    (
        re.compile(rf"\b(?:{_MONTH})\b"),
        (
            rule(
                rf"\b(?P<day>{DAY})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b,? {_YEARS_AGO}",
                _by(makers.a_date),
            ),
            rule(rf"{_VERB}(?P<month>{_MONTH})\b,? {_YEARS_AGO}", _by(makers.a_date)),
            rule(rf"\b{_YEARS_AGO},? in (?P<month>{_MONTH})\b", _by(makers.a_date)),
            rule(_BEFORE + _DAY_MONTH, _by(_before)),
            rule(_BEFORE + _MONTH_DAY + _OF_YEAR, _by(_before)),
            rule(
                rf"(?P<between>\bbetween (?:the )?)?\b(?P<day>{DAY}){_ORDINAL}{_TIE}"
                + _DAY_MONTH.replace("P<day>", "P<until>"),
                _by(makers.a_date),
            ),
            rule(
                rf"(?P<between>\bbetween )?{_MONTH_DAY}{_TIE}(?P<until>{DAY}){_ORDINAL}(?!\d)"
                rf"(?! (?:{_MONTH})\b){_OF_YEAR}",
                _by(makers.a_date),
            ),
            rule(r"\b(?<![\d.])" + _DAY_MONTH, _by(makers.a_date)),
            rule(_MONTH_DAY + _OF_YEAR, _by(makers.a_date)),
            rule(
                rf"\b(?P<day>{_IN_WORDS}) of (?P<month>{_MONTH})\b{_OF_YEAR}",
                _by(makers.a_date),
            ),
            rule(
                rf"\b(?:from|between) (?P<month>{_MONTH}) (?:to|and|until|till|through) (?P<last>{_MONTH})\b"
                rf"(?:,? (?:of )?(?P<year>{YEAR})\b)?",
                _by(makers.some_months),
            ),
            rule(rf"\b(?P<month>{_MONTH})\b\.?,?(?: of| in)? (?P<year>{YEAR})\b", _by(makers.a_date)),
            rule(
                rf"\b(?P<month>{_MONTH})\b,?(?: of| in)? (?P<near>last|previous|this|next) year\b",
                _by(makers.a_date),
            ),
            rule(
                rf"\b(?P<near>last|previous|this|next) year,?(?: in)? (?P<month>{_MONTH})\b",
                _by(makers.a_date),
            ),
            # "This may help" names no month, and "the last may be" neither.
            rule(
                r"\b(?<!\bthe )(?P<which>last|past|previous|this|next|coming)"
                rf" (?P<month>(?!may\b)(?:{_MONTH}))\b"
                r"|(?<!\bthe )\b(?P<which_>last|past|previous|next|coming) may\b(?! be\b)"
                r"|\b(?P<which__>this) may\b(?=\W*$|[,.;:!?])",
                _by(makers.near_month, month=5),
            ),
            rule(rf"{after(*_TIMES_OF, first=_FIRSTS)}(?P<month>{_MONTH})\b{_NO_YEAR}", _by(makers.a_date)),
            rule(rf"\bmid-(?P<month>{_MONTH})\b", _by(makers.a_date)),
        ),
    ),
    (
        re.compile(r"\d(?:st|nd|rd|th)\b"),
        (
            rule(
                rf"\b(?:the )?(?P<day>{DAY})(?:st|nd|rd|th) of (?:the )?"
                r"(?P<which>last|previous|this|next|coming) month\b",
                _by(makers.day_of_month),
            ),
            rule(
                rf"(?<=\bon )the (?P<day>{DAY})(?:st|nd|rd|th)(?P<which>)(?= ?(?:[.,;:!?]|$))",
                _by(makers.day_of_month),
            ),
        ),
    ),
    (
        re.compile(rf"\b(?:{_SEASON})\b"),
        (
            rule(rf"\b(?P<season>{_SEASON})\b,? {_YEARS_AGO}", _by(makers.season)),
            rule(
                rf"\b(?P<season>{_SEASON})\b(?:,? of|,? in)?"
                rf" (?:(?P<year>{YEAR})\b|(?P<near>last|this|next) year\b)",
                _by(makers.season),
            ),
            rule(rf"\b(?P<which>{_WHICH}) (?P<season>{_SEASON})\b", _by(makers.season)),
            rule(
                after(
                    "in", "during", "of", "since", "in the", "during the", "since the", first=firsts(SEASONS)
                )
                + rf"(?P<season>{_SEASON})\b",
                _by(makers.season),
            ),
        ),
    ),
    (
        re.compile(r"\b(?:q[1-4]|quarter)\b"),
        (
            rule(
                rf"\b(?:q(?P<quarter>[1-4])|(?:the )?(?P<quarter_>first|second|third|fourth|last) quarter)"
                rf" ?(?:of |in )?(?:(?P<year>{YEAR})\b|(?P<near>last|previous|this|next) year\b)",
                _by(makers.quarter),
            ),
        ),
    ),
    (
        re.compile(r"day|morrow|tonight|last night|this"),
        (
            rule(r"\b(?:the )?day before yesterday\b", relative_day(-2)),
            rule(r"\b(?:the )?day after tomorrow\b", relative_day(2)),
            rule(r"\b(?:yesterday|last night)\b", relative_day(-1)),
            rule(rf"\b(?:today|tonight|this (?:{_DAY_PART}))\b", relative_day(0)),
            rule(r"\btomorrow\b", relative_day(1)),
        ),
    ),
    (
        re.compile(r"before last|after next"),
        (
            rule(
                rf"\b(?:the )?(?P<unit>week|weekend|month|year|{_FULL_WEEKDAY})"
                r" (?P<side>before last|after next)\b",
                _by(_before_last),
            ),
        ),
    ),
    (
        re.compile(rf"\b(?:{_WEEKDAY})\b"),
        (
            rule(
                rf"\b(?P<weekday>{_FULL_WEEKDAY})(?: of)? (?P<week>last|previous|this|next) week\b",
                _by(makers.weekday),
            ),
            rule(
                rf"\b(?P<week>last|previous|this|next) week,?(?: on|'s)? (?P<weekday>{_FULL_WEEKDAY})\b",
                _by(makers.weekday),
            ),
            rule(
                rf"\b(?:from|between) (?P<weekday>{_FULL_WEEKDAY}) (?:to|and|until|till|through) "
                rf"(?P<last_weekday>{_FULL_WEEKDAY})\b",
                _by(makers.some_weekdays),
            ),
            rule(rf"\b(?P<which>{_WHICH}) (?P<weekday>{_WEEKDAY})\b", _by(makers.weekday)),
            rule(
                after("on", "since", "after", first=_WEEKDAY_FIRSTS)
                + rf"(?P<weekday>{_FULL_WEEKDAY})\b{_NO_DATE}",
                _by(makers.weekday),
            ),
            rule(
                after("until", "till", "by", "before", first=_WEEKDAY_FIRSTS)
                + rf"(?P<weekday>{_FULL_WEEKDAY})\b{_NO_DATE}",
                _by(makers.next_weekday),
            ),
            rule(
                rf"(?=[{_WEEKDAY_FIRSTS}])\b(?<!\bevery )(?<!\beach )(?P<weekday>{_FULL_WEEKDAY}){_NO_DATE}"
                rf"(?: (?:{_DAY_PART})\b|(?=\W*$))",
                _by(makers.weekday),
            ),
        ),
    ),
    (
        re.compile(rf"\b(?:{_UNIT}|weekend|quarter)"),
        (
            rule(
                rf"\b(?:in|over|during|within|for) the (?:last|past)"
                rf" (?P<count>{_COUNT})? ?(?P<unit>{_UNIT})s?\b",
                _by(makers.within, sign=-1),
            ),
            rule(
                rf"\b(?:last|past|previous) (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?\b",
                _by(makers.within, sign=-1),
            ),
            rule(
                rf"\b(?:next|coming|following) (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?\b",
                _by(makers.within, sign=1),
            ),
            rule(
                rf"\b(?P<which>{_WHICH}) (?P<unit>weekend|week|month|quarter|year)\b", _by(makers.near_unit)
            ),
            rule(r"\b(?:over|on|at|during) the weekend\b", _by(makers.the_weekend)),
            rule(
                r"\b(?P<count>a|an|one|two|three) (?P<unit>year|month|week)s? (?P<half>and a half) ago\b",
                _by(makers.away, sign=-1),
            ),
            rule(
                rf"\b(?P<count>{_COUNT}) (?P<unit>{_UNIT})s? (?:ago|back|earlier)\b",
                _by(makers.away, sign=-1),
            ),
            rule(
                rf"\b(?:in )?(?P<count>{_COUNT}) (?P<unit>{_UNIT})s?(?: from (?:now|today)\b|'s? time\b)",
                _by(makers.away, sign=1),
            ),
            rule(rf"\bin (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?(?='? ?(?:[.,;:!?]|$))", _in_time),
        ),
    ),
    (
        re.compile(r"\b(?:19|20)\d\d\b"),
        (
            rule(
                rf"\b(?:between|from) (?P<year>{YEAR}) (?:and|to|until|till|through) (?P<last>{YEAR})\b",
                _by(makers.a_year),
            ),
            rule(
                after(
                    "in",
                    "during",
                    "since",
                    "of",
                    "year",
                    "by",
                    "until",
                    "around",
                    "before",
                    "after",
                    first="12",
                )
                + rf"(?P<year>{YEAR})\b",
                _by(makers.a_year),
            ),
        ),
    ),
)
HINTS = frozenset(
    (
        *(*MONTHS, *SEASONS, *OFFSETS, *WEEKDAY_NAMES, "today", "tonight", "tomorrow", "yesterday", "ago"),
        *("back", "earlier", "weekend", "time", "from", "christmas", "boxing"),
        *("day", "days", "week", "weeks", "month", "months", "year"),
    )
)
"""One of these words is in each text in which a rule reads something, or else a number as below."""
HINT = re.compile(
    rf"\b(?:q[1-4]|\d{{1,2}}(?:st|nd|rd|th)"
    rf"|(?:in|during|since|of|by|until|around|before|after|between) {YEAR})\b"
)
