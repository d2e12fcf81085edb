"""Where in a text a pattern can match at all, worked out from the pattern itself.

To search a long text for patterns takes some sixty nanoseconds a character and pattern. Most of them begin
with one of a few words, so it is much quicker to look at these words alone. What the analysis does not
understand it says nothing of, and the pattern is searched for everywhere.
"""

import re
from collections.abc import Iterable, Sequence
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_ANY = "\0"
"""Stands for a character that is not known. No text holds one: the gate for the form refuses it."""
_MOST = 20_000
"""Beginnings of one pattern; one with more is not looked into."""
_FEW = 64
"""Characters of a class that are told apart; a larger one counts as any character."""


class _Unclear(Exception):
    """The pattern has too many beginnings."""


def first_words(pattern: re.Pattern[str]) -> frozenset[str] | None:
    """The words with which a match can begin, for a pattern over words with one space between them.

    None where that is not known.
    """
    found = _beginnings(pattern, lambda text: " " in text or _ANY in text)
    if found is None:
        return None
    words = frozenset(one.partition(" ")[0] for one in found)
    return None if any(_ANY in word or not word for word in words) else words


def first_characters(pattern: re.Pattern[str]) -> tuple[frozenset[str], frozenset[str] | None] | None:
    """The characters with which a match can begin, and those that can follow; None for any.

    None altogether where the first ones are not known, or where a match can be a single character.
    """
    found = _beginnings(pattern, lambda text: len(text) > 1 or _ANY in text)
    if found is None or any(not one or one[0] == _ANY for one in found):
        return None
    if any(len(one) < 2 for one in found):
        return None
    seconds = frozenset(one[1] for one in found)
    return frozenset(one[0] for one in found), None if _ANY in seconds else seconds


def most_words(pattern: re.Pattern[str]) -> int | None:
    """How many words a match holds at most; None for no bound."""
    spaces = _spaces(_parsed(pattern))
    return None if spaces is None else spaces + 1


def _parsed(pattern: re.Pattern[str]) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags)


def _beginnings(pattern: re.Pattern[str], enough: Any) -> set[str] | None:
    if pattern.flags & re.IGNORECASE:
        return None
    try:
        return _extended(_parsed(pattern), {""}, enough)
    except _Unclear:
        return None


def _extended(items: Iterable[Any], before: set[str], enough: Any) -> set[str]:
    """Everything that the beginnings become when the items follow; those that are enough stay."""
    texts = before
    for item in items:
        going = {text for text in texts if not enough(text)}
        if not going:
            return texts
        texts = (texts - going) | _followed(item, going, enough)
        if len(texts) > _MOST:
            raise _Unclear
    return texts


def _followed(item: Any, texts: set[str], enough: Any) -> set[str]:
    kind, value = item
    if kind is _constants.LITERAL:
        return {text + chr(value) for text in texts}
    if kind is _constants.IN:
        return {text + one for text in texts for one in _members(value)}
    if kind is _constants.BRANCH:
        return set().union(*(_extended(branch, texts, enough) for branch in value[1]))
    if kind is _constants.SUBPATTERN:
        return _extended(value[-1], texts, enough)
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        return _repeated(value, texts, enough)
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT):
        return texts
    return {text + _ANY for text in texts}


def _repeated(value: Any, texts: set[str], enough: Any) -> set[str]:
    least, most, inner = value
    found = set(texts) if least == 0 else set()
    now = texts
    for count in range(1, most + 1 if most is not _constants.MAXREPEAT else 1_000):
        now = _extended(inner, now, enough)
        if count >= least:
            found |= now
        if all(map(enough, now)) or len(found) > _MOST:
            # Further rounds change nothing of these.
            found |= now
            break
    return found


def _members(value: Sequence[Any]) -> list[str]:
    members: list[str] = []
    for kind, one in value:
        if kind is _constants.LITERAL:
            members.append(chr(one))
        elif kind is _constants.RANGE and one[1] - one[0] < _FEW:
            members += map(chr, range(one[0], one[1] + 1))
        else:
            return [_ANY]
    return members if len(members) <= _FEW else [_ANY]


def _spaces(items: Iterable[Any]) -> int | None:
    total = 0
    for kind, value in items:
        found: int | None = 0
        if kind is _constants.LITERAL:
            found = int(chr(value) == " ")
        elif kind is _constants.BRANCH:
            counts = [_spaces(branch) for branch in value[1]]
            found = None if None in counts else max(count for count in counts if count is not None)
        elif kind is _constants.SUBPATTERN:
            found = _spaces(value[-1])
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            found = _spaces(value[2])
            if found:
                found = None if value[1] is _constants.MAXREPEAT else found * value[1]
        elif kind not in (_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT) and not _is_of_words(
            kind, value
        ):
            found = None
        if found is None:
            return None
        total += found
    return total


def _is_of_words(kind: Any, value: Any) -> bool:
    """Whether an item matches one character that is no space."""
    if kind is not _constants.IN:
        return False
    return all(
        one == _constants.CATEGORY_WORD
        if each is _constants.CATEGORY
        else (chr(one) != " " if each is _constants.LITERAL else each is _constants.RANGE and one[0] > 32)
        for each, one in value
    )
