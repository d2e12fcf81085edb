"""Times in German. The text is in small letters: "morgen" is read where it cannot be the morning."""

import re

from muniment_server.retrieval.times import makers, spans
from muniment_server.retrieval.times.digits import DAY, MONTH, YEAR
from muniment_server.retrieval.times.spans import FEW, Part, after, alternatives, firsts, relative_day, rule

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
# What a year cannot be is one for whoever wrote it, so that no other year is meant.
_YEAR_OF = rf"(?:{_OF_YEAR}|(?! \d{{3,4}}\b))"
_YEARS_AGO = rf"vor (?P<ago>{_COUNT}) jahr(?:en)?\b"
# A date is blank when weekdays are looked for: "Dienstag, 5. Mai" is one day.
_NO_DATE = r"(?!,? (?:de[mnr] )?\x00)"
_HOLIDAYS = {"weihnachten": (12, 24, 3), "heiligabend": (12, 24, 1), "heiligen abend": (12, 24, 1)}
_HOLIDAYS |= {"silvester": (12, 31, 1), "neujahr": (1, 1, 1), "neujahrstag": (1, 1, 1)}
_HOLIDAY_FIRSTS = firsts(_HOLIDAYS)
_HOLIDAY = alternatives(_HOLIDAYS).replace(r"\ ", " ")
_PARTS = ("morgen", "vormittag", "mittag", "nachmittag", "abend", "nacht")
_DAY_PARTS = ("früh", *(part + ending for part in _PARTS for ending in ("", "s")))
_DAY_PART = alternatives(_DAY_PARTS)


def _count(text: str) -> float:
    return float(text) if text.isdigit() else _NUMBERS[text]


_by = makers.reading(
    year=int,
    last=lambda text: int(text) if text.isdigit() else _MONTHS[text],
    last_weekday=_WEEKDAYS.__getitem__,
    near=_OFFSETS.__getitem__,
    which=_OFFSETS.__getitem__,
    week=_OFFSETS.__getitem__,
    month=lambda text: int(text) if text.isdigit() else _MONTHS[text],
    day=int,
    until=int,
    apart=lambda text: text.strip().startswith("und"),
    between=str,
    weekday=_WEEKDAYS.__getitem__,
    season=_SEASONS.__getitem__,
    unit=_UNITS.__getitem__,
    count=_count,
    ago=_count,
    sign=lambda text: 1 if _OFFSETS[text] > 0 else -1,
    holiday=_HOLIDAYS.__getitem__,
)


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
PARTS: tuple[Part, ...] = (
    (
        re.compile(rf"\b(?:{_HOLIDAY})\b"),
        (
            rule(rf"\b{_WHICH} (?P<holiday>{_HOLIDAY})\b", _by(makers.holiday)),
            rule(rf"\b(?P<holiday>{_HOLIDAY}){_OF_YEAR}", _by(makers.holiday)),
            rule(
                after("an", "zu", "über", "seit", "vor", "nach", "bis", "am", first=_HOLIDAY_FIRSTS)
                + rf"(?P<holiday>{_HOLIDAY})\b",
                _by(makers.holiday),
            ),
        ),
    ),
    (
        re.compile(rf"\b(?:{_MONTH})|\d\."),
        (
            rule(rf"(?<![\w.])(?P<day>{DAY})\. ?(?P<month>{_MONTH}) {_YEARS_AGO}", _by(makers.a_date)),
            rule(rf"\b(?P<month>{_MONTH}) {_YEARS_AGO}", _by(makers.a_date)),
            rule(rf"\b{_YEARS_AGO} im (?P<month>{_MONTH})\b", _by(makers.a_date)),
            rule(
                rf"(?P<between>\bzwischen (?:dem )?)?\b(?P<day>{DAY})\."
                rf"(?P<apart> ?[-–] ?| bis (?:zum )?| und (?:dem )?)(?P<until>{DAY})\. ?"
                rf"(?P<month>{_MONTH})\b\.?{_YEAR_OF}",
                _by(makers.a_date),
            ),
            rule(rf"(?<![\w.])(?P<day>{DAY})\. ?(?P<month>{_MONTH})\b\.?{_YEAR_OF}", _by(makers.a_date)),
            rule(
                after("am", "vom", "bis", "zum", "dem", "seit", "und", "ab", first="0-9")
                + rf"(?P<day>{DAY})\. ?(?P<month>{MONTH})\.(?! ?\d)",
                _by(makers.a_date),
            ),
            rule(
                rf"\b(?:von|zwischen) (?P<month>{_MONTH}) (?:bis|und) (?P<last>{_MONTH})\b"
                rf"(?: (?P<year>{YEAR})\b)?",
                _by(makers.some_months),
            ),
            # "5 mai 2024" is French, and a day.
            rule(
                rf"(?<!\d )(?<!\der )(?<! à )(?<! et )\b(?P<month>{alternatives(set(_MONTHS) - _SHARED)})"
                rf" (?P<year>{YEAR})\b",
                _by(makers.a_date),
            ),
            rule(
                after("im", "seit", "anfang", "mitte", "ende", "bis", "ab", first=firsts(_MONTHS))
                + rf"(?P<month>{_MONTH})\b{_YEAR_OF}",
                _by(makers.a_date),
            ),
            rule(
                rf"\b(?P<month>{_MONTH}) (?:des )?(?P<near>{alternatives(_OFFSETS)})e[ns] jahre?s?\b",
                _by(makers.a_date),
            ),
            rule(rf"\b{_WHICH} (?P<month>{_MONTH})s?\b", _by(makers.near_month)),
        ),
    ),
    (
        re.compile(rf"\b(?:{_SEASON})"),
        (
            rule(rf"\b(?P<season>{_SEASON})s? {_YEARS_AGO}", _by(makers.season)),
            rule(rf"\b(?P<season>{_SEASON})s?{_OF_YEAR}", _by(makers.season)),
            rule(rf"\b{_WHICH} (?P<season>{_SEASON})s?\b", _by(makers.season)),
            rule(rf"(?<=\bim )(?P<season>{_SEASON})\b", _by(makers.season)),
        ),
    ),
    (
        re.compile(r"gestern|heute|morgen|nacht|abend|nachmittag"),
        (
            rule(r"\b(?:vorgestern)\b", relative_day(-2)),
            rule(rf"\b(?:gestern(?: (?:{_DAY_PART}))?|letzte nacht)\b", relative_day(-1)),
            rule(rf"\b(?:heute(?: (?:{_DAY_PART}))?|diesen (?:morgen|abend|nachmittag))\b", relative_day(0)),
            rule(r"\b(?:übermorgen|uebermorgen)\b", relative_day(2)),
            rule(rf"(?=morgen){_NO_MORNING}\bmorgen\b(?: (?:{_DAY_PART})\b)?", relative_day(1)),
        ),
    ),
    (
        re.compile(rf"\b(?:{_WEEKDAY})"),
        (
            rule(
                rf"\b(?P<weekday>{_WEEKDAY})(?:{_DAY_PART})? (?:in )?(?:der )?"
                rf"(?P<week>{alternatives(_OFFSETS)})e[rn] woche\b",
                _by(makers.weekday),
            ),
            rule(
                rf"\b(?:von|zwischen) (?P<weekday>{_WEEKDAY}) (?:bis|und) (?P<last_weekday>{_WEEKDAY})\b",
                _by(makers.some_weekdays),
            ),
            rule(rf"\b{_WHICH} (?P<weekday>{_WEEKDAY})s?\b", _by(makers.weekday)),
            rule(
                after("am", "seit", "ab", "vom", "dem", first=firsts(_WEEKDAYS))
                + rf"(?P<weekday>{_WEEKDAY})(?:{_DAY_PART})?\b{_NO_DATE}",
                _by(makers.weekday),
            ),
            rule(rf"(?<=\bbis )(?P<weekday>{_WEEKDAY})\b{_NO_DATE}", _by(makers.next_weekday)),
            rule(rf"\b(?P<weekday>{_WEEKDAY}){_NO_DATE}(?: (?:{_DAY_PART})\b|(?=\W*$))", _by(makers.weekday)),
        ),
    ),
    (
        re.compile(r"\b(?:tag|woche|wochenende|monat|quartal|jahr)"),
        (
            rule(
                rf"\b{_WHICH.replace('P<which>', 'P<sign>')} (?P<count>{_COUNT}) {_UNIT}\b",
                _by(makers.within),
            ),
            rule(rf"\b{_WHICH} (?P<unit>{alternatives(_UNITS)})(?:e?s)?\b", _by(makers.near_unit)),
            rule(r"\b(?:am|übers|uebers) wochenende\b", _by(makers.the_weekend)),
            rule(
                rf"\bvor (?:etwa |rund |ungefähr )?(?P<count>{_COUNT}) {_UNIT}\b", _by(makers.away, sign=-1)
            ),
            rule(rf"(?<=\bin )(?P<count>{_COUNT}) {_UNIT}(?=\W*$)", _by(makers.away, sign=1)),
        ),
    ),
    (
        re.compile(r"\b(?:19|20)\d\d\b"),
        (
            rule(rf"\b(?:von|zwischen) (?P<year>{YEAR}) (?:bis|und) (?P<last>{YEAR})\b", _by(makers.a_year)),
            rule(
                rf"(?:\b(?:im|dem) jahre? |(?<=\bseit )|(?<=\bbis )|(?<=\bvor )|(?<=\bnach )|(?<=\bab )"
                rf"|(?<=\bum ))(?P<year>{YEAR})\b",
                _by(makers.a_year),
            ),
        ),
    ),
)
HINTS = frozenset(
    (
        *("gestern", "vorgestern", "heute", "morgen", "übermorgen", "uebermorgen", "heiligen"),
        *(*_MONTHS, *_HOLIDAYS),
        *(season + ending for season in _SEASONS for ending in ("", "s")),
        *(offset + ending for offset in _OFFSETS for ending in ("", "e", "en", "er", "es", "em")),
        *(day + part for day in _WEEKDAYS for part in ("", "s", *_DAY_PARTS)),
        *(unit + ending for unit in _UNITS for ending in ("", "e", "en", "n", "es", "s")),
    )
)
"""One of these words is in each text in which a rule reads something, or else a number as below."""
HINT = re.compile(r"\d\. ?\d|\b(?:seit|bis|vor|nach|ab|um) \d")
