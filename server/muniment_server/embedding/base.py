"""What the service needs from an embedder, and what it knows about a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector

from muniment_server.embedding.errors import UnreadableText

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")

Vector = npt.NDArray[np.float32]
"""Shape (dimension,), float32, length 1."""
Matrix = npt.NDArray[np.float32]
"""Shape (texts, dimension), float32, each row of length 1."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's cosines mean, and how to mix them with the lexical share.

    relevance = greatest(0, least(1, (cosine - cosine_low) / (cosine_high - cosine_low)))
    score     = vector_weight * relevance + lexical_weight * share

    cosine_low: what unrelated texts reach; at or below it the vector says nothing.
    cosine_high: what a direct answer reaches. Weights sum to 1. When one leg cannot contribute (a text
    that the model cannot read, a query without terms) the other one has weight 1.
    min_score: below it a memory is not returned. ADR 0003 has the measurements.
    """

    cosine_low: float
    cosine_high: float
    vector_weight: float
    lexical_weight: float
    min_score: float

    def relevance(self, cosine: float) -> float:
        """Map a cosine to [0, 1]; the same formula as in SQL."""
        span = self.cosine_high - self.cosine_low
        return max(0.0, min(1.0, (cosine - self.cosine_low) / span))

    def score(self, cosine: float | None, share: float | None) -> float:
        """Fuse both legs. None is a leg that could not contribute, 0 one that found nothing."""
        if cosine is None:
            return share or 0.0
        if share is None:
            return self.relevance(cosine)
        return self.vector_weight * self.relevance(cosine) + self.lexical_weight * share


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Identity and properties of a model. Vectors of two models are never compared.

    digest: SHA-256 of the model file, in hex. max_tokens: how much of a text the model reads.
    min_coverage: below this share of readable text a vector would be noise. setting: what
    MUNIMENT_EMBEDDER says to load this model.
    """

    name: str
    digest: str
    dimension: int
    query_prefix: str
    passage_prefix: str
    max_tokens: int
    min_coverage: float
    calibration: Calibration
    setting: str = "auto"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model makes of a text before embedding it.

    coverage: share of the text's letters and digits that the model knows, 0 for a text without any.
    truncated: the model reads only the beginning, as much as `EmbeddingModel.max_tokens`.
    """

    coverage: float
    truncated: bool


class Embedder(Protocol):
    """A loaded model. Blocking and bound to the processor: never call it in an event loop.

    Methods may be called from any thread. A text gives the same vector alone and in a batch. Texts with
    a NUL or a lone surrogate raise `UnreadableText`; any other exception is a failure of the model.
    """

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the loaded model."""

    def read(self, text: str) -> Reading:
        """Tell what the model can make of a text."""

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts that will be searched."""

    def embed_query(self, text: str) -> Vector:
        """Embed a text to search with."""


def covers(embedder: Embedder, text: str) -> bool:
    """Whether a vector of this text means anything."""
    return embedder.read(text).coverage >= embedder.model.min_coverage


def require_readable(text: str) -> None:
    """Raise `UnreadableText` for text that C code would cut (NUL) or that has no UTF-8 form."""
    if _UNREADABLE.search(text):
        raise UnreadableText("the text contains U+0000 or half of a surrogate pair")


def passage_text(content: str, author_label: str | None = None) -> str:
    """The text of a memory as it is embedded and indexed: with its speaker's name, where there is one."""
    return f"{author_label}: {content}" if author_label else content


def to_halfvec(vector: Vector) -> HalfVector:
    """Return a vector as psycopg sends it to a `halfvec` column, with `pgvector.psycopg` registered."""
    return HalfVector(vector)
