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


_TO = re.compile(
    r" ?(?:-|–|—|~|〜|～|到|至|から) ?|,? (?:to|until|till|through|thru|up to|bis(?: zum| zu)?)(?: the)? "
    r"|(?: ?부터|에서)(?: |, )?"
)
_AND = re.compile(r" and (?:the )?| und (?:dem )?|[和与と]|(?:와|과) ")
_BETWEEN_BEFORE = re.compile(r"(?:\bbetween(?: the)?|\bzwischen(?: dem)?|在) ?$")
_BETWEEN_BEHIND = re.compile(r"之?[间間]|の間| ?사이")
_NEAR = 20
"""Characters in which a word stands that ties to a time behind it."""
_RANGE_END = re.compile("まで|까지|为止")

_BEFORE = re.compile(
    r"\b(?:(?P<since>since|seit(?: dem)?|ab(?: dem)?)|(?P<after>after|nach(?: dem)?)"
    r"|(?P<before>before|prior to|vor(?: dem)?)|(?P<until>until|till|up to|bis(?: zum)?))(?: the)? $"
)
_BEHIND = re.compile(
    r" ?(?:(?P<since>以来|以降|から|起(?![床来码])|开始|이래|부터|onwards?\b)"
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
            joined[-1] = Found(last.start, end.end() if end else one.end, spans)
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


def _opened(text: str, one: Found, today: date) -> Found:
    side = _BEFORE.search(_just_before(text, one)) or _BEHIND.match(text, one.end)
    if side is None:
        return one
    # Of the years that a date may mean it is the last one that has begun.
    begun = [span for span in one.spans if span[0] <= today]
    start, end = max(begun) if begun and len(one.spans) > 1 else one.spans[0]
    tomorrow = today + timedelta(days=1) if today < date.max else today
    match side.lastgroup:
        case "since":
            span = start, max(tomorrow, end)
        case "after":
            span = (end, tomorrow) if end < tomorrow else (end, date.max)
        case "before":
            span = date.min, start
        case _:
            span = date.min, end
    return replace(one, spans=(span,))
