"""What a language is for the rules of grammar.py: a table of its words for times.

Each word, or group of words, has a kind, a letter, and what it stands for. A text becomes a string with one
kind for each word; what no table has is `OTHER`, so that nothing is read across it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from muniment_server.retrieval.analysis import normalize
from muniment_server.retrieval.times.digits import BUDDHIST

# The kinds, and what their words stand for.
DAY = "T"  # yesterday: the number of days away
MONTH = "M"  # that may be another word: read beside a day, a year or a preposition
SURE_MONTH = "Z"  # that is nothing else
WEEKDAY = "A"  # that may be another word: read behind `ON` or beside an offset
LAST_WEEKDAY = "a"  # read where a sentence ends, too
SURE_WEEKDAY = "q"  # read anywhere
UNIT, WEEK, MONTHS, DAYS, YEARS = "U", "k", "m", "d", "y"  # MONTHS, DAYS, YEARS also stand before a number
FIVE_OR_YEAR = "5"  # năm is both
COUNTED = "K"  # two days, in one word: count and unit
NUMBER = "C"  # in words
HALF = "b"  # and a half, behind a unit
BEFORE, AROUND, BEHIND = "P", "O", "S"  # this, last, next: before a unit, on either side, behind it
BEHIND_AGO = "B"  # with a count as well: three weeks ago
BEHIND_WITHIN = "V"  # with a count as well: the past three weeks
WITHIN = "v"  # with a count only
AGO_BEFORE, AGO_BEHIND = "G", "g"  # -1: ago, 1: from now; with a count
AGO_ANY = "J"  # the same, before a unit that stands for one alone, too
DAY_PART = "p"  # behind a weekday
FOR = "H"  # for three days: those until now
NEAR = "L"  # last week, in one word: unit and offset
SEASON, SEASON_BEHIND = "R", "7"  # the second only behind an article or the like
QUARTER = "Q"
HOLIDAY, SURE_HOLIDAY = "8", "9"  # month, day and number of days; the first only behind a preposition
ERA = "e"  # before a year
OF, IN, ON, UNTIL, ARTICLE, TO, AND, BETWEEN, EVERY = "o", "i", "w", "n", "r", "t", "&", "W", "h"
MONTH_OF = "z"  # the month of, before a name
THINGS = "#"  # behind a number that is no year
OTHER = "x"
# In digits: 1 to 31, years, and other numbers of up to three, and of four.
DAY_DIGITS, YEAR_DIGITS, DIGITS, LARGE_DIGITS = "D", "Y", "N", "0"

_ENDS = ".!?;؟。"
_BUDDHIST = range(2_400, 2_600)
# Decimals, versions and clock times are no numbers of anything.
_NUMERAL = r"\d+(?:[.,:]\d+)+|\d+(?:er|[oa])?(?![^\W_])|\d+"
_VOWEL_SIGNS = "\u064b-\u0652\u0670"
_TOKEN = re.compile(
    rf"(?P<number>{_NUMERAL})|(?P<word>[^\W\d_](?:[^\W\d_]|[{_VOWEL_SIGNS}])*)|\x00+|[^\w\s]|_+"
)
_WORDS = re.compile(r"[^\W\d_]+")

Words = Mapping[str, Mapping[Any, str] | str]
"""The table of a language: by kind, words with commas between them, by what they stand for if they do."""
ROMANCE_THINGS = (
    "euros, dólares, dollars, pesos, francs, personas, personnes, habitantes, habitants, veces, fois, km, "
    "kilómetros, kilomètres, metros, mètres, páginas, pages"
)
"""One list: both tables read a text of either language."""
_STAND_FOR = {WEEK: "week", MONTHS: "month", DAYS: "day", YEARS: "year", QUARTER: "quarter"}


class Token(NamedTuple):
    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Language:
    """A table made ready.

    phrases: by their first word, the longest first. hints: first words that make a text worth a look. fold:
    makes one of the spellings of a word. glued: letters that may stand before a word as part of it.
    scan: finds the words of a script that has no spaces.
    """

    phrases: Mapping[str, Sequence[tuple[Sequence[str], str, Any]]]
    hints: frozenset[str]
    fold: Callable[[str], str] | None = None
    glued: str = ""
    scan: re.Pattern[str] | None = None
    buddhist: bool = False


# What stands in any text says nothing of whether it is worth a look.
_NO_HINTS = {
    NUMBER,
    HALF,
    BEFORE,
    AGO_BEHIND,
    DAY_PART,
    OF,
    ON,
    ARTICLE,
    TO,
    AND,
    EVERY,
    MONTH_OF,
    THINGS,
    OTHER,
}


def _entries(words: Words) -> Iterator[tuple[str, Any, str]]:
    for kind, known in words.items():
        by_value = {_STAND_FOR.get(kind): known} if isinstance(known, str) else known
        for stands_for, texts in by_value.items():
            for text in texts.split(", "):
                yield kind, stands_for, text


def language(
    words: Words,
    *,
    fold: Callable[[str], str] | None = None,
    glued: str = "",
    unspaced: bool = False,
    numbering: str = "",
    buddhist: bool = False,
    no_hints: Iterable[str] = (),
    more_hints: Iterable[str] = (),
) -> Language:
    """Make a table ready.

    unspaced: whether its words have no spaces between them. numbering: how words end that are read before a
    number only. no_hints: words that are not worth a look by themselves, since other languages have them as
    well; more_hints: others that are.
    """
    phrases: dict[str, list[tuple[Sequence[str], str, Any]]] = {}
    texts: list[str] = []
    hints: set[str] = set()
    for kind, stands_for, spelt in _entries(words):
        spelt = normalize(spelt)
        text = fold(spelt) if fold else spelt
        texts.append(text)
        parts = [text] if unspaced else [match[0] for match in _TOKEN.finditer(text)]
        phrases.setdefault(parts[0], []).append((parts[1:], kind, stands_for))
        if kind not in _NO_HINTS:
            hints.update((parts[0], *_WORDS.findall(spelt)[:1]))
    for found in phrases.values():
        found.sort(key=lambda entry: -len(entry[0]))
    scan = None
    if unspaced:
        longest = "|".join(
            re.escape(word) + (r"(?= ?\d)" if numbering and word.endswith(numbering) else "")
            for word in sorted(texts, key=lambda word: (-len(word), word))
        )
        # A vowel or a mark that is written around a letter makes another syllable of it.
        scan = re.compile(
            rf"(?P<number>{_NUMERAL})|(?P<word>(?<![เแโใไ])(?:{longest})(?![ะ-ฺๅ็-๎]))|\x00+|[^\s]"
        )
    return Language(phrases, frozenset(hints - set(no_hints)) | set(more_hints), fold, glued, scan, buddhist)


def words_of(text: str) -> frozenset[str]:
    """The words of a text, to see whether a language has any of them."""
    return frozenset(_WORDS.findall(text))


def _number(text: str, buddhist: bool) -> tuple[str, Any]:
    digits = text.rstrip("aeor")
    if not digits.isdigit() or len(digits) > 4:
        return OTHER, None
    value = int(digits)
    if len(digits) <= 2 and 1 <= value <= 31:
        return DAY_DIGITS, value
    if len(digits) <= 3:
        return DIGITS, value
    if len(digits) == 4 and 1_900 <= value < 2_100:
        return YEAR_DIGITS, value
    if len(digits) == 4 and buddhist and value in _BUDDHIST:
        return YEAR_DIGITS, value - BUDDHIST
    return LARGE_DIGITS, None


def _sign(text: str) -> str:
    if text in _ENDS:
        return "."
    return TO if text in "-–—~" else "," if text in ",،" else "/" if text == "/" else OTHER


def tokens_of(text: str, known: Language) -> tuple[str, list[Token]]:
    """The kinds of the words of a text, and where they stand."""
    matches = list((known.scan or _TOKEN).finditer(text))
    fold = known.fold
    written = [fold(match[0]) if fold and not match[0].isascii() else match[0] for match in matches]
    kinds: list[str] = []
    tokens: list[Token] = []
    at = 0
    while at < len(matches):
        match = matches[at]
        kind, value, length, start = OTHER, None, 1, match.start()
        if match["number"]:
            kind, value = _number(match[0], known.buddhist)
            if known.buddhist and kind == DIGITS and value < 100 and kinds[-1:] in ([MONTH], [SURE_MONTH]):
                # "5 พ.ค. 67" is said of 2567.
                kind, value = YEAR_DIGITS, value + 2_500 - BUDDHIST
        else:
            word = written[at]
            found = known.phrases.get(word)
            if found is None and len(word) > 3 and word[0] in known.glued:
                found = known.phrases.get(word[1:])
                if found and AND in (entered for _, entered, _ in known.phrases.get(word[0], ())):
                    kinds.append(AND)
                    tokens.append(Token(start, start + 1, None))
                    start += 1
            if found is None:
                kind = OTHER if match["word"] else _sign(word)
            else:
                for rest, entered, stands_for in found:
                    if list(rest) == written[at + 1 : at + 1 + len(rest)]:
                        kind, value, length = entered, stands_for, 1 + len(rest)
                        break
        kinds.append(kind)
        tokens.append(Token(start, matches[at + length - 1].end(), value))
        at += length
    return "".join(kinds), tokens
