"""Wordings and combinations in long texts: the same answers as a search, only where one can begin.

A short text is searched from its start to its end, which needs no preparation. In a long one that would cost
more than everything else that happens to it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .anchors import first_characters, first_words, most_words
from .combinations import COMBINATIONS, STEP, Combination
from .wording import Wording
from .wording_en import ENGLISH
from .wording_zh import CHINESE

LONG = 100
"""From so many words or letters on, preparing pays."""
_CODES = 0xA000
"""Beyond every character that Chinese letters hold; see `instructions.chinese_letters`."""

Masks = NDArray[np.uint64]


class _Words:
    """Wordings over words: where each can begin, and what must follow within the length of a match."""

    def __init__(self, wordings: Sequence[Wording]) -> None:
        self._wordings = wordings
        self._spans = [most_words(one.pattern) or 0 for one in wordings]
        firsts = [first_words(one.pattern) for one in wordings]
        self._anchored = [
            first is not None and span > 0 for first, span in zip(firsts, self._spans, strict=True)
        ]
        known = sorted(set().union(*(one for one in firsts if one), *(one.tells for one in wordings)))
        self._ids = {word: number for number, word in enumerate(known, 1)}
        self._first = _masks(self._ids, [one or frozenset() for one in firsts])
        self._tells = _masks(self._ids, [one.tells for one in wordings])

    def found(self, words: Sequence[str]) -> Iterator[Wording]:
        """The wordings of which a match stands in the words."""
        ids = self._ids
        numbers = np.array([ids.get(word, 0) for word in words], dtype=np.int32)
        first, tells = self._first[numbers], self._tells[numbers]
        begins = np.bitwise_or.reduce(first)
        text = " ".join(words)
        offsets: NDArray[np.int64] | None = None
        for number, wording in enumerate(self._wordings):
            bit = np.uint64(1 << number)
            if not self._anchored[number]:
                if wording.pattern.search(text):
                    yield wording
                continue
            if not begins & bit:
                continue
            telling = np.flatnonzero(tells & bit)
            starts = np.flatnonzero(first & bit)
            # The next telling word is within the longest match.
            after = np.searchsorted(telling, starts)
            near = after < len(telling)
            starts, after = starts[near], after[near]
            starts = starts[telling[after] - starts < self._spans[number]]
            if not len(starts):
                continue
            if offsets is None:
                lengths = [len(word) + 1 for word in words]
                offsets = np.array([0, *accumulate(lengths)], dtype=np.int64)
            match = wording.pattern.match
            if any(match(text, place) for place in offsets[starts].tolist()):
                yield wording


class _Letters:
    """Wordings over letters without anything between: where each can begin, by two letters."""

    def __init__(self, wordings: Sequence[Wording]) -> None:
        self._wordings = wordings
        starts = [first_characters(one.pattern) for one in wordings]
        self._anchored = [one is not None for one in starts]
        self._first = _table([one[0] if one else frozenset() for one in starts])
        self._second = _table([one[1] if one else frozenset() for one in starts])

    def found(self, letters: str) -> Iterator[Wording]:
        """The wordings of which a match stands in the letters."""
        codes = np.frombuffer(letters.encode("utf-32-le"), dtype=np.uint32)
        possible = self._first[codes[:-1]] & self._second[codes[1:]]
        somewhere = np.bitwise_or.reduce(possible)
        for number, wording in enumerate(self._wordings):
            bit = np.uint64(1 << number)
            if not self._anchored[number]:
                if wording.pattern.search(letters):
                    yield wording
            elif somewhere & bit:
                match = wording.pattern.match
                if any(match(letters, place) for place in np.flatnonzero(possible & bit).tolist()):
                    yield wording


class _Together:
    """Combinations: which words count for which groups, as bits, and a window's words put together."""

    def __init__(self, combinations: Sequence[Combination]) -> None:
        groups = [group for one in combinations for group in one.groups]
        self._ids = {
            word: number
            for number, word in enumerate(
                sorted(set().union(*groups, *(one.without for one in combinations))), 1
            )
        }
        self._groups = _masks(self._ids, groups)
        self._without = _masks(self._ids, [one.without for one in combinations])
        self._needed: list[tuple[str, np.uint64]] = []
        place = 0
        for one in combinations:
            self._needed.append((one.rule, np.uint64(((1 << len(one.groups)) - 1) << place)))
            place += len(one.groups)

    def found(self, words: Sequence[str]) -> Iterator[str]:
        """The rules of the combinations that stand in a window of two steps."""
        ids = self._ids
        numbers = np.array([ids.get(word, 0) for word in words], dtype=np.int32)
        steps = np.arange(0, len(words), STEP)
        groups = np.bitwise_or.reduceat(self._groups[numbers], steps)
        without = np.bitwise_or.reduceat(self._without[numbers], steps)
        if len(steps) > 1:
            groups, without = groups[:-1] | groups[1:], without[:-1] | without[1:]
        for number, (rule, needed) in enumerate(self._needed):
            if ((groups & needed == needed) & (without & np.uint64(1 << number) == 0)).any():
                yield rule


def _masks(ids: dict[str, int], sets: Sequence[frozenset[str]]) -> Masks:
    """For each id the bits of the sets that hold its word; none for 0."""
    if len(sets) > 64:
        raise ValueError("more sets than bits")
    masks = np.zeros(len(ids) + 1, dtype=np.uint64)
    for number, words in enumerate(sets):
        for word in words:
            masks[ids[word]] |= np.uint64(1 << number)
    return masks


def _table(sets: Sequence[frozenset[str] | None]) -> Masks:
    """The same by code of a letter; None holds every letter."""
    table = np.zeros(_CODES, dtype=np.uint64)
    for number, letters in enumerate(sets):
        places = slice(None) if letters is None else [ord(one) for one in letters]
        table[places] |= np.uint64(1 << number)
    return table


@lru_cache(maxsize=1)
def _english() -> _Words:
    return _Words(ENGLISH)


@lru_cache(maxsize=1)
def _chinese() -> _Letters:
    return _Letters(CHINESE)


@lru_cache(maxsize=1)
def _together() -> _Together:
    return _Together(COMBINATIONS)


def warm_up() -> None:
    """Work out now where the wordings can begin, instead of at the first long text: 50 ms."""
    for prepare in (_english, _chinese, _together, known_words):
        prepare()


def english_in(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The English wordings and combinations in the words of a text, each with whether it is weak."""
    for wording in _english().found(words):
        yield wording.rule, wording.weak
    for rule in _together().found(words):
        yield rule, False


def chinese_in(letters: str) -> Iterator[tuple[str, bool]]:
    """The Chinese wordings in the letters of a text, each with whether it is weak."""
    for wording in _chinese().found(letters):
        yield wording.rule, wording.weak


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Every word that stands in an English wording or combination."""
    words = (word for one in ENGLISH for word in re.findall("[a-z]{2,}", one.pattern.pattern))
    return frozenset(words) | frozenset().union(*(group for one in COMBINATIONS for group in one.groups))


def around(text: str, words: Sequence[str], before: int, after: int) -> Iterator[str]:
    """The parts of a text around the words: so many characters before the start of each and after it.

    Parts that touch are one, and a text that is not much longer is one part.
    """
    if not any(word in text for word in words):
        return
    if len(text) <= 2 * (before + after):
        yield text
        return
    places = sorted(found.start() for found in _any_of(tuple(words)).finditer(text))
    start, end = 0, -1
    for place in places:
        if place - before > end:
            if end >= 0:
                yield text[start:end]
            start = max(0, place - before)
        end = place + after
    yield text[start:end]


@lru_cache(maxsize=16)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))
