"""What a memory is marked with: whether its text names a time. And whether a question asks for one.

Apart from what is read out of queries, and narrower: marks stand in the index of what is stored already, so
that what they are given for may change with the analyser's version alone (retrieval/versions.py).
"""

import re
from datetime import date

from muniment_server.retrieval.analysis import normalize
from muniment_server.retrieval.times.spans import MAX_CHARACTERS

_MAX_MARKED = 2_000
"""Characters of a memory that are read for its mark."""
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WEEKDAY_NAMES = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_WEEKDAY = rf"{_WEEKDAY_NAMES}|thurs|tues|mon|wed|fri"
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_SEASON = "spring|summer|autumn|fall|winter"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_ORDINAL = r"(?:st|nd|rd|th)?"
_COUNT = r"\d{1,3}|(?:a )?couple of|(?:a )?few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten"
_UNIT = r"day|week|fortnight|month|year"
_HAN_COUNT = r"\d{1,3}|[一二两三四五六七八九十]{1,3}|[几数半]"
_LEAP_YEAR = 2_000

_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?P<day>{_DAY}){_ORDINAL}(?: of)? (?P<month>{_MONTH})\b\.?(?:,? (?P<year>{_YEAR})\b)?",
        rf"\b(?P<month>{_MONTH})\b\.? (?P<day>{_DAY}){_ORDINAL}(?!\d)(?:,? (?P<year>{_YEAR})\b)?",
        rf"(?<!\d)(?P<year>{_YEAR})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>{_DAY})(?!\d)",
        rf"(?P<year>{_YEAR}) ?年 ?(?P<month>\d{{1,2}}) ?月(?: ?(?P<day>{_DAY}) ?[日号])?",
        rf"(?<![\d.])(?P<year>)(?P<month>\d{{1,2}}) ?月(?: ?(?P<day>{_DAY}) ?[日号])?",
    )
)
_OTHERS = re.compile(
    "|".join(
        (
            rf"(?<![\d-]){_YEAR}-(?:0[1-9]|1[0-2])(?![\d-])",
            rf"\b(?:{_MONTH})\b\.?,?(?: of)? {_YEAR}\b",
            rf"\b(?:in|during|since|of|early|late|mid|this|last) (?:{_MONTH})\b",
            rf"\b(?:(?:last|this|next|past) |(?:in|during|of|since)(?: the)? )(?:{_SEASON})\b",
            r"[春夏秋冬][天季]",
            r"\b(?:yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|tomorrow)\b",
            r"\b(?:the )?day after tomorrow\b",
            r"[昨今明]日|[昨今明]晚|昨夜|今早|明早|[前昨今明后]天",
            rf"\b(?:last|this|next|coming|past) (?:{_WEEKDAY})\b|\bon (?:{_WEEKDAY_NAMES})\b",
            r"[上这本下]个?(?:周|週|星期|礼拜)[一二三四五六日天末]",
            rf"\b(?:in|over|during|within) the (?:last|past) (?:{_COUNT})? ?(?:{_UNIT})s?\b",
            rf"\b(?:last|past) (?:{_COUNT}) (?:{_UNIT})s\b",
            rf"(?:最近|过去|近)(?:{_HAN_COUNT}) ?个?(?:天|日|周|星期|月|年)",
            r"\b(?:last|past|previous|this|current|next|coming) (?:weekend|week|month|year)\b",
            r"(?:上个?|这个?|本|下个?)(?:周|週|星期|礼拜|月)|[先今来][週月]",
            rf"\b(?:{_COUNT}) (?:{_UNIT})s? (?:ago|back|earlier)\b",
            rf"(?:{_HAN_COUNT}) ?个?(?:天|日|周|星期|礼拜|月|年)[之以]?前",
            r"[前去今本明后]年",
            rf"\b(?:in|during|since|of|year|by|until|around|before|after) {_YEAR}\b|{_YEAR} ?年",
        )
    )
)
# One of these is in whatever is read; most texts have none, and are looked through once.
_HINT = re.compile(
    rf"\d|[年月周週季]|最近|过去|[前昨今明后]天|[昨今明][日晚早夜]|星期|礼拜|天[之以]?前"
    rf"|\b(?:{_MONTH}|{_SEASON}|today|tonight|tomorrow|yesterday|ago|last|past|previous|next|coming|this|current"
    rf"|{_WEEKDAY_NAMES})\b"
)
_ASKS_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|time|year|month)|how (?:long|recently|often))\b"
    r"|什么时候|什么时间|何时|哪[一]?[天年月日]|几[号月点]|多久|多长时间|日期|いつ|언제",
)


def _exists(match: re.Match[str]) -> bool:
    month = _MONTHS.get(match["month"]) or int(match["month"])
    try:
        date(int(match["year"] or _LEAP_YEAR), month, int(match["day"] or 1))
    except ValueError:
        return False
    return True


def names_time(text: str) -> bool:
    """Whether a text says when: a date, a day, or a time relative to another."""
    text = normalize(text[:_MAX_MARKED]).lower()
    if not _HINT.search(text):
        return False
    return bool(_OTHERS.search(text)) or any(
        _exists(match) for pattern in _DATES for match in pattern.finditer(text)
    )


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_ASKS_WHEN.search(normalize(text[:MAX_CHARACTERS]).lower()))
