"""What Recall needs from a reranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

LONGEST_DOCUMENT = 4_000
"""Characters of a memory that are read: more than the 512 tokens that most models take."""


class RerankFailed(Exception):
    """The reranker did not answer, or nonsense. The message holds no content."""


class RerankLate(RerankFailed):
    """It did not answer in time."""


@dataclass(frozen=True, slots=True)
class RerankPolicy:
    """How a reranker is used: the best so many candidates, seconds to wait, and its share of a score."""

    candidates: int = 30
    patience: float = 1.0
    weight: float = 0.5


class Reranker(Protocol):
    """Says how well documents answer a query. What it is given is data, whatever it says.

    name: of the model. remote: query and documents leave this process.
    """

    @property
    def name(self) -> str: ...

    @property
    def remote(self) -> bool: ...

    async def rerank(self, query: str, documents: Sequence[str], patience: float) -> list[float]:
        """Per document how well it answers the query, from 0 to 1, in the order of the documents.

        patience: seconds for all of them. Raises RerankLate or RerankFailed.
        """

    async def close(self) -> None:
        """Free what it holds."""


def shares(scores: Sequence[float]) -> list[float]:
    """The scores, rounded so that the last digits of a processor change no order. Raises RerankFailed."""
    found = [float(score) for score in scores]
    if not all(isfinite(score) and 0 <= score <= 1 for score in found):
        raise RerankFailed("a score that does not lie between 0 and 1")
    return [round(score, 6) for score in found]
