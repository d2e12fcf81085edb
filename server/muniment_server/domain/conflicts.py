"""Near statements: what is told about them. Nearness alone neither merges nor replaces."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from .differences import Difference

MOST_NAMED = 5

NEAR = 0.75
"""Relevance (see `embedding/base.py`) from which two statements are near. Measured with the default model:
"likes" against "does not like" and 5000 against 50000 lie above 0.9, the same fact in two languages above
0.78, two statements about one topic between 0.3 and 0.75, unrelated ones below 0.3."""
NEAR_WITH_WORDS = 0.6
"""Relevance that is enough where the two share words as well."""
SHARED = 0.4
"""Share of index terms that counts as sharing words: common terms by those of the shorter text."""


class Relation(IntEnum):
    """How a judge relates a new statement to an old one; the contract's numbers."""

    REINFORCES = 1
    CONTRADICTS = 2
    REFINES = 3
    UNRELATED = 4


@dataclass(frozen=True, slots=True)
class Judgement:
    """The word of a judge; `confidence` from 0 to 1."""

    relation: Relation
    confidence: float


@dataclass(frozen=True, slots=True)
class PossibleConflict:
    """A live memory near to what was written. `relation` None: nobody judged."""

    memory_id: UUID
    similarity: float
    differences: tuple[Difference, ...] = ()
    relation: Relation | None = None
    confidence: float = 0.0


def shared_terms(one: Iterable[object], other: Iterable[object]) -> float:
    """Common terms as a share of the terms of the shorter text, from 0 to 1."""
    first, second = set(one), set(other)
    fewer = min(len(first), len(second))
    return len(first & second) / fewer if fewer else 0.0


def is_near(relevance: float, shared: float) -> bool:
    """Whether two statements are worth naming together."""
    return relevance >= NEAR or (relevance >= NEAR_WITH_WORDS and shared >= SHARED)
