"""In what two near statements differ: number, name, date, unit or negation; English and Chinese.

Nearness of meaning cannot tell "5000" from "50000", nor "likes" from "does not like". What differs here
makes two statements, whatever their cosine. The comparison is by form: it names differences that it can
see on both sides, and says nothing about the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from .gates.folding import fold, word_set

MOST_READ = 2_000
"""Characters of a text that a `Reader` looks through; of a longer one only the beginning."""
MOST_READ_TOGETHER = 40_000
"""Characters that one `Reader` looks through; it takes a few microseconds each."""


class Difference(IntEnum):
    """What differs; the contract's numbers."""

    NUMBER = 1
    NAME = 2
    DATE = 3
    UNIT = 4
    NEGATION = 5


_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}


def _in_order(text: str) -> list[str]:
    return text.split()


_SMALL_NUMBERS = _in_order(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
)
_WORDS = {word: value for value, word in enumerate(_SMALL_NUMBERS)} | {
    word: 10 * (value + 3)
    for value, word in enumerate(_in_order("thirty forty fifty sixty seventy eighty ninety"))
}
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "hundred": 100,
    "million": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "dozen": 12,
} | {char: float(value) for char, value in (_TENS | _MYRIADS).items()}
_NUMBER = re.compile(
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)\s?"
    r"(?P<scale>k(?![a-z])|thousand|hundred|million|billion|dozen|[百千万萬亿億]+)?"
    # A longer run is no number; its value would not fit into one either.
    r"|(?P<han>[零〇一二三四五六七八九两兩十百千万萬亿億]{2,24}|[二两兩三四五六七八九十](?=[个只條条年月日天号點点元块人次岁间本台件杯位]))"
    rf"|\b(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
    r"(?:[ -](?P<wordscale>hundred|thousand|million))?\b"
)
_UNITS = {
    "CNY": "元|块钱|块|人民币|rmb|cny|yuan|圆",
    "USD": "美元|美金|usd|us dollars?|dollars?|bucks",
    "EUR": "欧元|歐元|eur|euros?",
    "GBP": "英镑|英鎊|gbp|pounds? sterling",
    "JPY": "日元|日圓|jpy|yen",
    "HKD": "港币|港元|hkd",
    "kg": "公斤|千克|kgs?|kilos?|kilograms?",
    "jin": "斤",
    "g": "克|g|grams?",
    "lb": "磅|lbs?|pounds?",
    "km": "公里|千米|kms?|kilomet(?:er|re)s?",
    "mi": "英里|miles?",
    "m": "米|m|met(?:er|re)s?",
    "cm": "厘米|公分|cm|centimet(?:er|re)s?",
    "mm": "毫米|mm",
    "in": "英寸|inch(?:es)?",
    "l": "升|l|lit(?:er|re)s?",
    "ml": "毫升|ml",
    "h": "小时|小時|个小时|hours?|hrs?|h",
    "min": "分钟|分鐘|minutes?|mins?",
    "s": "秒|seconds?|secs?",
    "d": "天|日内|days?",
    "w": "周|星期|个星期|weeks?|wks?",
    "month": "个月|個月|months?",
    "y": "年|岁|years?|yrs?",
    "%": "%|percent|个百分点",
    "C": "摄氏度|℃|°c|degrees celsius",
    "F": "华氏度|℉|°f|degrees fahrenheit",
    "GB": "gb|gib|gigabytes?",
    "MB": "mb|mib|megabytes?",
    "TB": "tb|terabytes?",
}
_UNIT = re.compile(
    r"(?<=[0-9零一二三四五六七八九十百千万萬亿億kmn ])\s?(?:"
    + "|".join(f"(?P<u{number}>{words})" for number, words in enumerate(_UNITS.values()))
    + r")(?![a-z])"
)
_UNIT_NAMES = list(_UNITS)
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "CNY"}
_WEEKDAYS = _in_order("monday tuesday wednesday thursday friday saturday sunday")
_MONTHS = _in_order("january february march april may june july august september october november december")
_MONTH_WORDS = "|".join([*_MONTHS, *_in_order("jan feb mar apr jun jul aug sept? oct nov dec")])
_DATE = re.compile(
    r"(?P<iso>\b[12][0-9]{3}[-/.][01]?[0-9][-/.][0-3]?[0-9]\b)"
    r"|(?P<clock>\b[0-2]?[0-9]:[0-5][0-9]\b(?:\s?[ap]m\b)?|\b[0-9]{1,2}\s?[ap]m\b)"
    r"|(?P<zh_year>[12][0-9]{3})年|(?P<zh_month>[0-9]{1,2}|[一二三四五六七八九十]{1,2})月(?!份?内)"
    r"(?:(?P<zh_day>[0-9]{1,2}|[一二三四五六七八九十]{1,3})[日号號])?"
    r"|(?P<zh_only_day>[0-9]{1,2})[日号號](?![楼线])"
    r"|(?:周|星期|礼拜|禮拜|週)(?P<zh_weekday>[一二三四五六日天])"
    r"|(?P<zh_clock>[0-9]{1,2}|[一二三四五六七八九十两]{1,2})(?:点|點)(?P<zh_half>半)?"
    rf"|\b(?P<weekday>{'|'.join(_WEEKDAYS)})s?\b"
    rf"|\b(?P<before>[0-9]{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month_after>{_MONTH_WORDS})\b"
    rf"|\b(?P<month>{_MONTH_WORDS})\b\.?(?:\s(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?\b)?"
    r"|\b(?P<ordinal>[0-9]{1,2})(?:st|nd|rd|th)\b"
    r"|\bat (?P<oclock>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[0-9]{1,2})\b"
    r"(?! (?:percent|euros?|dollars?|years?))"
    r"|(?P<relative>\btoday\b|\btomorrow\b|\byesterday\b|\b(?:next|last|this) (?:week|month|year)\b"
    r"|今天|明天|昨天|后天|前天|下周|下个?月|明年|上周|上个?月|去年|今年|本周)"
    r"|\b(?P<year>(?:19|20)[0-9]{2})\b(?!\s?(?:元|块|euro|dollar|kg|km))"
)
_RELATIVE = {
    "今天": "today", "明天": "tomorrow", "昨天": "yesterday", "下周": "next week", "下月": "next month",
    "下个月": "next month", "明年": "next year", "上周": "last week", "上月": "last month",
    "上个月": "last month",
    "去年": "last year", "今年": "this year", "本周": "this week",
}  # fmt: skip
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't"
    r"|wasn't|weren't|hasn't|haven't|hadn't|wouldn't|shouldn't|couldn't|mustn't|ain't|hardly|dislikes?|disliked|hates?"
    r"|hated|refuses?|avoids?|stopped|quit|lacks?|unable|cancelled|canceled|rejected|declined)\b"
    r"|不(?![错仅但过過同久断斷管论論少时時妨愧料])|(?<!差)没有|沒有|(?<!有)没(?![关關收有])|(?<![有])无(?![锡线線人论論数])"
    r"|(?<!除)非(?![常洲])|未(?![来來])|(?<![特区區分性级級告个個])别(?![人的名墅])|勿|讨厌|討厭|拒绝|拒絕|取消|反对|戒"
)
_NAMED = re.compile(
    r"(?:名字?叫|名叫|叫做|叫作|叫|名字是|姓名是|住在|来自|來自|位于|位於|就职于|任职于|去了?|喜欢|喜歡|姓)"
    r"([\u4e00-\u9fffA-Za-z·]{1,8})"
)
_TITLED = re.compile(
    r"([\u4e00-\u9fff]{1,3})(?:先生|女士|小姐|老师|老師|经理|經理|医生|醫生|教授|工程师|总监|主任|阿姨|叔叔)"
)
_CAPITAL = re.compile(r"(?<![.!?。！？:：]\s)(?<!^)(?<![A-Za-z'’])[A-Z][A-Za-z'’\-]*[a-zA-Z](?![a-z])")
_FIRST = re.compile(r"^\W*([A-Z][a-z]+)")
_NO_NAMES = word_set(
    "I The A An My His Her Their Our Your It He She We They User Users Likes Prefers Monday Tuesday Wednesday"
    " Thursday Friday Saturday Sunday January February March April May June July August September October"
    " November December Does Is Has Lives Works Wants Needs Owns Takes Can Will Should"
)


@dataclass(frozen=True, slots=True)
class Features:
    """What is compared of a statement."""

    numbers: Counter[float]
    names: frozenset[str]
    dates: frozenset[str]
    units: frozenset[str]
    negated: bool


def differences(one: str, other: str) -> tuple[Difference, ...]:
    """Name what differs between two statements, in the order of `Difference`.

    A number, name, date or unit differs where both statements have some and not the same; a negation, where
    one of them is negated. The order of the arguments does not matter.
    """
    return differing(features(one), features(other))


def differing(first: Features, second: Features) -> tuple[Difference, ...]:
    """`differences` of two statements that were read before."""
    found = []
    if first.numbers and second.numbers and first.numbers != second.numbers:
        found.append(Difference.NUMBER)
    if _names_differ(first.names, second.names):
        found.append(Difference.NAME)
    if _dates_differ(first.dates, second.dates):
        found.append(Difference.DATE)
    if first.units and second.units and first.units != second.units:
        found.append(Difference.UNIT)
    if first.negated != second.negated:
        found.append(Difference.NEGATION)
    return tuple(found)


class Reader:
    """The differences between the texts of one call, of which every one is read once and so much in all.

    Whoever writes or lists must not be able to make the service compare without an end.
    """

    def __init__(self) -> None:
        self._read: dict[str, Features] = {}
        self._left = MOST_READ_TOGETHER

    def differences(self, one: str, other: str) -> tuple[Difference, ...]:
        """`differences` of the beginnings of two texts; none where too much was read before."""
        first, second = self._features(one), self._features(other)
        return differing(first, second) if first is not None and second is not None else ()

    def _features(self, text: str) -> Features | None:
        beginning = text[:MOST_READ]
        found = self._read.get(beginning)
        if found is None and len(beginning) <= self._left:
            self._left -= len(beginning)
            found = self._read[beginning] = features(beginning)
        return found


def features(text: str) -> Features:
    """What is compared of a text."""
    folded = fold(text)
    # One character may stand for eighteen; what is compared is no longer than it was written.
    visible = folded.visible[: max(100, 2 * len(text))]
    lower = visible.lower()
    dates: set[str] = set()
    rest = list(lower)
    for match in _DATE.finditer(lower):
        dates.update(_dates(match))
        rest[match.start() : match.end()] = " " * (match.end() - match.start())
    undated = "".join(rest)
    return Features(
        numbers=Counter(_numbers(undated)),
        names=frozenset(_names(visible)),
        dates=frozenset(dates),
        units=frozenset(_units(undated)),
        negated=len(_NEGATION.findall(lower.replace("’", "'"))) % 2 == 1,
    )


def _names_differ(one: frozenset[str], other: frozenset[str]) -> bool:
    # Names in two scripts cannot be compared: 咪咪 may be Mimi.
    for ascii_only in (True, False):
        first = {name for name in one if name.isascii() is ascii_only}
        second = {name for name in other if name.isascii() is ascii_only}
        if first and second and first != second:
            return True
    return False


def _dates_differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether both name a year, a month, a day, a weekday, a time or a relative one, and not the same."""
    for sort in {date.partition(" ")[0] for date in one | other}:
        first = {date for date in one if date.startswith(sort + " ")}
        second = {date for date in other if date.startswith(sort + " ")}
        if first and second and first != second:
            return True
    return False


def _names(text: str) -> Iterator[str]:
    for match in _CAPITAL.finditer(text):
        if match[0] not in _NO_NAMES:
            yield match[0].casefold()
    first = _FIRST.search(text)
    if first and first[1] not in _NO_NAMES and not first[1].endswith(("s", "ing", "ed")):
        yield first[1].casefold()
    for match in _NAMED.finditer(text):
        yield match[1].casefold()
    for match in _TITLED.finditer(text):
        yield match[1]


def _numbers(text: str) -> Iterator[float]:
    for match in _NUMBER.finditer(text):
        if match["digits"]:
            value = float(match["digits"].replace(",", ""))
            for scale in [match["scale"]] if match["scale"] in _SCALES else (match["scale"] or ""):
                value *= _SCALES.get(scale, 1.0)
            yield value
        elif match["han"]:
            yield float(_han_number(match["han"]))
        else:
            yield _WORDS[match["word"]] * _SCALES.get(match["wordscale"] or "", 1.0)


def _han_number(text: str) -> int:
    """The value of a number in Chinese characters: 五万 is 50000, 二〇二五 is 2025."""
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            section += (digit or 1) * _TENS[char]
            digit = 0
        else:
            total = (total + section + digit or 1) * _MYRIADS[char]
            section = digit = 0
    return total + section + digit


def _units(text: str) -> Iterator[str]:
    for sign, name in _SIGNS.items():
        if sign in text:
            yield name
    for match in _UNIT.finditer(text):
        yield _UNIT_NAMES[int((match.lastgroup or "u0")[1:])]


def _dates(match: re.Match[str]) -> Iterator[str]:
    kind, value = next((name, text) for name, text in match.groupdict().items() if text is not None)
    match kind:
        case "iso":
            year, month, day = re.split("[-/.]", value)
            yield from (f"year {int(year)}", f"month {int(month)}", f"day {int(day)}")
        case "clock":
            yield "time " + _clock(value)
        case "zh_clock":
            yield f"time {_small(value)}:{'30' if match['zh_half'] else '00'}"
        case "oclock":
            yield f"time {_WORDS[value] if value in _WORDS else int(value)}:00"
        case "zh_year" | "year":
            yield f"year {int(value)}"
        case "zh_month" | "month":
            number = _small(value) if kind == "zh_month" else _month(value)
            yield f"month {number}"
            day = match["zh_day"] or match["day"]
            if day:
                yield f"day {_small(day)}"
        case "before":
            yield from (f"day {int(value)}", f"month {_month(match['month_after'])}")
        case "zh_only_day" | "ordinal":
            yield f"day {int(value)}"
        case "zh_weekday":
            yield f"weekday {'一二三四五六日天'.index(value) % 7 if value != '天' else 6}"
        case "weekday":
            yield f"weekday {_WEEKDAYS.index(value)}"
        case _:
            yield "relative " + _RELATIVE.get(value, value)


def _small(text: str) -> int:
    return int(text) if text.isdecimal() else _han_number(text)


def _month(text: str) -> int:
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(text[:3]))


def _clock(text: str) -> str:
    hours, _, minutes = text.rstrip("apm ").partition(":")
    hour = int(hours) % 12 + 12 if text.endswith("pm") else int(hours)
    return f"{hour}:{minutes or '00'}"
