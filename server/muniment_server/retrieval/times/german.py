"""Times in German. The text is in small letters: "morgen" is read where it cannot be the morning."""

import re
from collections.abc import Iterable, Iterator
from datetime import date

from muniment_server.retrieval.times import spans
from muniment_server.retrieval.times.digits import DAY, MONTH, YEAR
from muniment_server.retrieval.times.spans import FEW, Rule, Span, alternatives, relative_day, rule

_MONTH_NAMES = (
    *("januar", "februar", "märz", "april", "mai", "juni", "juli"),
    *("august", "september", "oktober", "november", "dezember"),
)
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {"jänner": 1, "feber": 2, "maerz": 3, "jan": 1, "feb": 2, "mär": 3, "apr": 4, "jun": 6, "jul": 7}
_MONTHS |= {"aug": 8, "sept": 9, "sep": 9, "okt": 10, "nov": 11, "dez": 12}
_SHARED = {
    "april",
    "august",
    "september",
    "november",
    "jan",
    "feb",
    "apr",
    "jun",
    "jul",
    "aug",
    "sept",
    "sep",
    "nov",
}
"""English as well, with rules of its own."""
_WEEKDAY_NAMES = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)} | {"sonnabend": 5}
_SEASONS = {"frühling": 3, "frühjahr": 3, "sommer": 6, "herbst": 9, "winter": spans.WINTER}
_UNITS = {"tag": "day", "woche": "week", "wochenende": "weekend", "monat": "month", "quartal": "quarter"}
_UNITS |= {"jahr": "year"}
_OFFSETS = {"vorletzt": -2, "vorvergangen": -2, "letzt": -1, "vergangen": -1, "vorig": -1, "dies": 0}
_OFFSETS |= {"nächst": 1, "naechst": 1, "kommend": 1, "übernächst": 2, "uebernaechst": 2}

_SMALL = (
    *("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_NUMBERS = {name: float(number) for number, name in enumerate(_SMALL, 1)}
_NUMBERS |= {name: 10.0 * number for number, name in enumerate(_TENS, 2)}
_NUMBERS |= {f"{one}und{tens}": _NUMBERS[one] + _NUMBERS[tens] for one in _SMALL[:9] for tens in _TENS}
_NUMBERS |= {"einem": 1, "einer": 1, "anderthalb": 1.5, "eineinhalb": 1.5, "einem halben": 0.5, "halben": 0.5}
_NUMBERS |= {"halbe": 0.5, "ein paar": FEW, "paar": FEW, "einigen": FEW, "wenigen": FEW, "mehreren": FEW}

_MONTH = alternatives(_MONTHS)
_WEEKDAY = alternatives(_WEEKDAYS)
_SEASON = alternatives(_SEASONS)
_COUNT = r"\d{1,3}|" + alternatives(_NUMBERS).replace(r"\ ", " ")
_UNIT = r"(?P<unit>tag|woche|monat|jahr)(?:en|e|n)?"
_WHICH = rf"(?P<which>{alternatives(_OFFSETS)})(?:e[nrsm]?)?"
_OF_YEAR = rf"(?: (?P<year>{YEAR})\b| (?:des )?(?P<near>{alternatives(_OFFSETS)})e[ns] jahre?s?\b)"
_YEAR_OF = _OF_YEAR + "?"
_DAY_PART = "früh|morgens?|vormittags?|mittags?|nachmittags?|abends?|nachts?"


def _count(text: str) -> float:
    return float(text) if text.isdigit() else _NUMBERS[text]


def _years(match: re.Match[str], today: date) -> Iterable[int]:
    found = match.groupdict()
    if found.get("year"):
        return [int(found["year"])]
    if found.get("near"):
        return [today.year + _OFFSETS[found["near"]]]
    return spans.possible_years(today)


def _date(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    month = match["month"]
    day, until = found.get("day"), found.get("until")
    yield from spans.dates(
        _years(match, today),
        int(month) if month.isdigit() else _MONTHS[month],
        int(day) if day else None,
        int(until) if until else None,
        days_apart=(found.get("tie") or "").strip() == "und" and not found.get("between"),
    )


def _months(match: re.Match[str], today: date) -> Iterator[Span]:
    first, last = _MONTHS[match["month"]], _MONTHS[match["last"]]
    for year in [int(match["year"])] if match["year"] else spans.possible_years(today):
        yield spans.months(year if first <= last else year - 1, first, (last - first) % 12 + 1)


def _near(match: re.Match[str], today: date) -> Iterator[Span]:
    offset, what = _OFFSETS[match["which"]], match["what"]
    if what in _UNITS:
        yield spans.unit(_UNITS[what], offset, today)
    elif what in _WEEKDAYS:
        yield spans.weekday(_WEEKDAYS[what], offset, today)
    elif what in _SEASONS:
        yield spans.season(_SEASONS[what], offset, today)
    else:
        yield spans.named_month(_MONTHS[what], offset, today)


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    found, number = match.groupdict(), _WEEKDAYS[match["weekday"]]
    if found.get("which"):
        yield spans.weekday_of_week(number, _OFFSETS[found["which"]], today)
    else:
        yield spans.last_weekday(number, today)


def _next_weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.next_weekday(_WEEKDAYS[match["weekday"]], today)


def _weekdays(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.weekdays(_WEEKDAYS[match["weekday"]], _WEEKDAYS[match["last"]], today)


def _season(match: re.Match[str], today: date) -> Iterator[Span]:
    yield from spans.seasons(_SEASONS[match["season"]], _years(match, today))


def _away(sign: int) -> spans.Make:
    return lambda match, today: [spans.away(_UNITS[match["unit"]], _count(match["count"]), sign, today)]


def _within(match: re.Match[str], today: date) -> Iterator[Span]:
    sign = 1 if _OFFSETS[match["which"]] > 0 else -1
    yield spans.within(_UNITS[match["unit"]], _count(match["count"]), today, sign)


def _year(match: re.Match[str], today: date) -> Iterator[Span]:
    first = int(match["year"])
    yield spans.years(first, int(match.groupdict().get("last") or first) - first + 1)


_NO_MORNING = "".join(
    rf"(?<!\b{word} )"
    for word in (
        *(
            "am",
            "jeden",
            "guten",
            "heute",
            "gestern",
            "diesen",
            "den",
            "der",
            "dem",
            "zum",
            "schönen",
            "jedem",
        ),
        *("eines", "frühen", "ganzen", "nächsten", "letzten", *_WEEKDAYS),
    )
)

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(
        rf"(?P<between>\bzwischen (?:dem )?)?\b(?P<day>{DAY})\."
        rf"(?P<tie> ?[-–] ?| bis (?:zum )?| und (?:dem )?)(?P<until>{DAY})\. ?"
        rf"(?P<month>{_MONTH})\b\.?{_YEAR_OF}",
        _date,
    ),
    rule(rf"(?<![\w.])(?P<day>{DAY})\. ?(?P<month>{_MONTH})\b\.?{_YEAR_OF}", _date),
    rule(
        rf"(?:(?<=\bam )|(?<=\bvom )|(?<=\bbis )|(?<=\bzum )|(?<=\bdem )|(?<=\bseit )|(?<=\bund )|(?<=\bab ))"
        rf"(?P<day>{DAY})\. ?(?P<month>{MONTH})\.(?! ?\d)",
        _date,
    ),
    rule(
        rf"\b(?:von|zwischen) (?P<month>{_MONTH}) (?:bis|und) (?P<last>{_MONTH})\b(?: (?P<year>{YEAR})\b)?",
        _months,
    ),
    rule(rf"\b(?P<month>{alternatives(set(_MONTHS) - _SHARED)}) (?P<year>{YEAR})\b", _date),
    rule(
        r"(?:(?<=\bim )|(?<=\bseit )|(?<=\banfang )|(?<=\bmitte )|(?<=\bende )|(?<=\bbis )|(?<=\bab ))"
        rf"(?P<month>{_MONTH})\b{_YEAR_OF}",
        _date,
    ),
    rule(rf"\b(?P<month>{_MONTH}) (?:des )?(?P<near>{alternatives(_OFFSETS)})e[ns] jahre?s?\b", _date),
    rule(rf"\b(?P<season>{_SEASON})s?{_OF_YEAR}", _season),
    rule(r"\b(?:vorgestern)\b", relative_day(-2)),
    rule(rf"\b(?:gestern(?: (?:{_DAY_PART}))?|letzte nacht)\b", relative_day(-1)),
    rule(rf"\b(?:heute(?: (?:{_DAY_PART}))?|diesen (?:morgen|abend|nachmittag))\b", relative_day(0)),
    rule(r"\b(?:übermorgen|uebermorgen)\b", relative_day(2)),
    rule(rf"{_NO_MORNING}\bmorgen\b(?: (?:{_DAY_PART})\b)?", relative_day(1)),
    rule(
        rf"\b(?P<weekday>{_WEEKDAY})(?:{_DAY_PART})? (?:in )?(?:der )?"
        rf"(?P<which>{alternatives(_OFFSETS)})e[rn] woche\b",
        _weekday,
    ),
    rule(rf"\b(?:von|zwischen) (?P<weekday>{_WEEKDAY}) (?:bis|und) (?P<last>{_WEEKDAY})\b", _weekdays),
    rule(rf"\b{_WHICH} (?P<count>{_COUNT}) {_UNIT}\b", _within),
    rule(rf"\b{_WHICH} (?P<what>{alternatives(_UNITS)}|{_WEEKDAY}|{_SEASON}|{_MONTH})(?:e?s)?\b", _near),
    rule(rf"(?<=\bim )(?P<season>{_SEASON})\b", _season),
    rule(
        rf"(?:(?<=\bam )|(?<=\bseit )|(?<=\bab )|(?<=\bvom )|(?<=\bdem ))"
        rf"(?P<weekday>{_WEEKDAY})(?:{_DAY_PART})?\b",
        _weekday,
    ),
    rule(rf"(?<=\bbis )(?P<weekday>{_WEEKDAY})\b", _next_weekday),
    rule(rf"\b(?P<weekday>{_WEEKDAY})(?: (?:{_DAY_PART})\b|(?=\W*$))", _weekday),
    rule(r"\b(?:am|übers|uebers) wochenende\b", lambda match, today: [spans.the_weekend(today)]),
    rule(rf"\bvor (?:etwa |rund |ungefähr )?(?P<count>{_COUNT}) {_UNIT}\b", _away(-1)),
    rule(rf"(?<=\bin )(?P<count>{_COUNT}) {_UNIT}(?=\W*$)", _away(1)),
    rule(rf"\b(?:von|zwischen) (?P<year>{YEAR}) (?:bis|und) (?P<last>{YEAR})\b", _year),
    rule(
        rf"(?:\b(?:im|dem) jahre? |(?<=\bseit )|(?<=\bbis )|(?<=\bvor )|(?<=\bnach )|(?<=\bab )"
        rf"|(?<=\bum ))(?P<year>{YEAR})\b",
        _year,
    ),
)
HINT = re.compile(
    rf"\b(?:{_MONTH}|gestern|vorgestern|heute|morgen|übermorgen|uebermorgen|{_WEEKDAY}|{_SEASON}"
    rf"|{alternatives(_OFFSETS)}|tage?n?|wochen?|wochenende|monate?n?|jahre?n?)"
    r"|\d\. ?\d|\b(?:seit|bis|vor|nach|ab|um) \d"
)
