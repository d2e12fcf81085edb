"""What stands around times: "from A to B" is one span, and "since A" one that begins there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from muniment_server.retrieval.times.spans import Span


@dataclass(frozen=True, slots=True)
class Found:
    """A place of a text, and the spans that it names."""

    start: int
    end: int
    spans: tuple[Span, ...]
    closed: bool = False
    """Whether both ends are said: "from" before it is no "since"."""


def _ways(*by_language: str) -> str:
    return "|".join(by_language)


_TO = re.compile(
    _ways(
        r" ?(?:-|–|—|~|〜|～|到|至|から) ?",
        r",? (?:to|until|till|through|thru|up to|bis(?: zum| zu)?)(?: the)? ",
        r"(?: ?부터|에서)(?: |, )?",
        r" (?:al?|hasta)(?: el| la)? ",
        r" (?:au |à (?:la |l')?|jusqu'(?:au|à|en) )",
        r" (?:cho )?(?:đến|tới) ",
        r" ?(?:จนถึง|ถึง) ?",
        r" (?:إلى|الى|حتى|لغاية) ",
    )
)
_AND = re.compile(
    _ways(
        r" and (?:the )?",
        r" und (?:dem )?",
        r"[和与と]|(?:와|과) ",
        r" y (?:el )?",
        r" et (?:le )?",
        r" và ",
        r" ?(?:และ|กับ) ?",
        r" ?و ?",
    )
)
_BETWEEN_BEFORE = re.compile(
    r"(?:\b(?:between(?: the)?|zwischen(?: dem)?|entre(?: el| le)?|giữa|بين)|在|ระหว่าง) ?$"
)
_BETWEEN_BEHIND = re.compile(r"之?[间間]|の間| ?사이")
_NEAR = 20
"""Characters in which a word stands that ties to a time behind it."""
_RANGE_END = re.compile("まで|까지|为止")

# "đến" and "ถึง" alone say that somebody came.
_SIDES = {
    "since": (
        *("since", "seit", "ab", "desde", "a partir de", "a partir del", "depuis", "à partir de"),
        *("à partir du", "à partir d'", "dès", "từ", "kể từ", "منذ"),
    ),
    "after": ("after", "nach", "después de", "después del", "tras", "après", "sau", "بعد"),
    "before": ("before", "prior to", "vor", "antes de", "antes del", "avant", "trước", "قبل"),
    "until": (
        *("until", "till", "up to", "bis", "bis zum", "hasta", "jusqu'au", "jusqu'à", "jusqu'en"),
        *("cho đến", "cho tới", "đến hết", "đến tận", "حتى", "لغاية"),
    ),
}
_ARTICLES = ("", " the", " dem", " el", " la", " le", " l'")
_SIDE_OF = {
    glued + word + article: side
    for side, words in _SIDES.items()
    for word in words
    for article in _ARTICLES
    for glued in (("", "و", "ف") if "ء" <= word[0] <= "ي" else ("",))
}
_SIDE_WORDS = max(len(words.split()) for words in _SIDE_OF)
# Thai has no spaces.
_SIDE_OF_UNSPACED = {"ตั้งแต่": "since", "นับจาก": "since", "หลังจาก": "after", "หลัง": "after", "ก่อน": "before"}
_SIDE_OF_UNSPACED |= {"จนถึง": "until"}
_OPENING = re.compile('[(\\[{"„“”«¿¡—–/]')
"""Marks that stand right before a word."""
_BEHIND = re.compile(
    r" ?(?:(?P<since>以来|以降|から|起(?![床来码])|开始|이래|부터|onwards?\b|เป็นต้น[มไ]"
    r"|en adelante\b|trở (?:đi|lại đây)\b|فصاعد)"
    r"|(?P<after>之后|以后|后(?![面来天台半])|이후|후에)"
    r"|(?P<before>之前|以前|より前|前(?![面台后半])|이전|전에)|(?P<until>为止|まで|까지))"
)


def join_ranges(text: str, found: Sequence[Found]) -> list[Found]:
    """Make one of two neighbours that are the ends of a range. The text is that before anything was read."""
    joined: list[Found] = []
    for one in found:
        last = joined[-1] if joined else None
        if (
            last is not None
            and _is_range(text, last, one)
            and (spans := tuple(_ranges(last.spans, one.spans)))
        ):
            end = _RANGE_END.match(text, one.end)
            joined[-1] = Found(last.start, end.end() if end else one.end, spans, closed=True)
        else:
            joined.append(one)
    return joined


def _is_range(text: str, first: Found, second: Found) -> bool:
    between = text[first.end : second.start]
    if _TO.fullmatch(between):
        return True
    return bool(_AND.fullmatch(between)) and bool(
        _BETWEEN_BEFORE.search(_just_before(text, first)) or _BETWEEN_BEHIND.match(text, second.end)
    )


def _just_before(text: str, one: Found) -> str:
    return text[max(0, one.start - _NEAR) : one.start]


def _ranges(firsts: Sequence[Span], lasts: Sequence[Span]) -> Iterator[Span]:
    """Of what each end may mean, those that lie next to each other."""
    nearest: dict[Span, Span] = {}
    for last in sorted(lasts):
        before = [first for first in firsts if first[0] <= last[0] and first[1] <= last[1]]
        if before:
            nearest.setdefault(max(before), last)
    for first in firsts:
        if first in nearest:
            yield first[0], nearest[first][1]


def open_ends(text: str, found: Sequence[Found], today: date) -> list[Found]:
    """Let "since", "after", "before" and "until" a time reach from it, or to it."""
    return [_opened(text, one, today) for one in found]


def _side(text: str, one: Found) -> str | None:
    """From where a time reaches, or where to, if what stands around it says so."""
    before = _just_before(text, one)
    if before.endswith((" ", "'")):
        words = before.split()
        for count in range(1, _SIDE_WORDS + 1):
            if len(words) < count:
                break
            first = _OPENING.split(words[-count])[-1]
            side = _SIDE_OF.get(" ".join((first, *words[len(words) - count + 1 :])))
            if side:
                return side
    if not before.isascii():
        bare = before.rstrip()
        for word, side in _SIDE_OF_UNSPACED.items():
            if bare.endswith(word):
                return side
    behind = _BEHIND.match(text, one.end)
    return behind.lastgroup if behind else None


def _opened(text: str, one: Found, today: date) -> Found:
    side = _side(text, one)
    if side is None or (one.closed and side == "since"):
        return one
    # Of the years that a date may mean it is the last one that has begun.
    begun = [span for span in one.spans if span[0] <= today]
    start, end = max(begun) if begun and len(one.spans) > 1 else one.spans[0]
    tomorrow = today + timedelta(days=1) if today < date.max else today
    match side:
        case "since":
            span = start, max(tomorrow, end)
        case "after":
            span = (end, tomorrow) if end < tomorrow else (end, date.max)
        case "before":
            span = date.min, start
        case _:
            span = date.min, end
    # Before the first day of the calendar there is none.
    return replace(one, spans=(span,) if span[0] < span[1] else ())
