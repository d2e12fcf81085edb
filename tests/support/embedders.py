"""Embedders for tests: known vectors, failures and delays on demand. No model is involved."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from muniment_server.embedding.base import (
    Calibration,
    EmbeddingModel,
    Matrix,
    Reading,
    Vector,
    require_readable,
)

CALIBRATION = Calibration(
    cosine_low=0.0, cosine_high=1.0, vector_weight=0.5, lexical_weight=0.5, min_score=0.05
)


class DeterministicEmbedder:
    """The same text has the same vector on every machine; every step can be steered from a test.

    A text in `table` has the vector given there (padded with zeros, brought to length 1). Any other text
    is the sum of one pseudo-random direction for each of its words, so that texts with common words are
    similar (two texts with half of their words in common: about 0.5) and others nearly orthogonal.
    """

    def __init__(
        self,
        table: Mapping[str, Sequence[float]] | None = None,
        *,
        dimension: int = 384,
        name: str = "deterministic",
        calibration: Calibration = CALIBRATION,
        reads: Callable[[str], float] = lambda text: 1.0 if any(map(str.isalnum, text)) else 0.0,
        max_characters: int = 100_000,
        setting: str = "auto",
    ) -> None:
        """Set up an embedder; `reads` gives the coverage of a text."""
        self.table = dict(table or {})
        self.batches: list[tuple[str, tuple[str, ...]]] = []
        """What was embedded, in order: "query" or "passage", and the texts."""
        self.failing: Exception | None = None
        """Raised by every call while it is set."""
        self.failing_texts: dict[str, Exception] = {}
        """Raised by every batch that has the text."""
        self.gate = threading.Event()
        """Every call waits for it; cleared, it holds the worker thread."""
        self.gate.set()
        self.entered = threading.Event()
        """Set when a call has reached the gate."""
        self.reads = reads
        self.max_characters = max_characters
        self._model = EmbeddingModel(
            name=name,
            digest=blake2b(f"{name}/{dimension}".encode(), digest_size=32).hexdigest(),
            dimension=dimension,
            query_prefix="",
            passage_prefix="",
            max_tokens=max_characters,
            min_coverage=0.5,
            calibration=calibration,
            setting=setting,
        )

    @property
    def model(self) -> EmbeddingModel:
        """Identity of this embedder: another name or dimension is another model."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell what `reads` says of a text."""
        require_readable(text)
        return Reading(self.reads(text), len(text) > self.max_characters)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed passages; a passage and the same query have the same vector."""
        self._enter("passage", texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        self._enter("query", [text])
        return self._vector(text)

    def _enter(self, purpose: str, texts: Iterable[str]) -> None:
        self.batches.append((purpose, tuple(texts)))
        self.entered.set()
        if not self.gate.wait(timeout=60):
            raise TimeoutError("a test never opened the gate")
        if self.failing is not None:
            raise self.failing
        for text in texts:
            if text in self.failing_texts:
                raise self.failing_texts[text]

    def _vector(self, text: str) -> Vector:
        require_readable(text)
        vector = np.zeros(self._model.dimension, dtype=np.float64)
        if text in self.table:
            given = self.table[text]
            vector[: len(given)] = given
        else:
            for word in text.casefold().split() or [text]:
                vector += _direction(word, self._model.dimension)
        unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


def _direction(word: str, dimension: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimension)
