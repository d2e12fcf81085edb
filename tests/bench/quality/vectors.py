"""An embedder that keeps what it computed in a file, so that a second run does not compute it again."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from muniment_server.embedding.base import Embedder, EmbeddingModel, Matrix, Reading, Vector


class KeptVectors:
    """Wraps a real embedder; the same text gives the same vector, from the file or from the model."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._kept: dict[str, Vector] = {}
        if path.exists():
            with np.load(path) as stored:
                self._kept = dict(zip(stored["names"].tolist(), stored["vectors"], strict=True))

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the wrapped model."""
        return self._inner.model

    def read(self, text: str) -> Reading:
        """As the wrapped one."""
        return self._inner.read(text)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Kept vectors, and computed ones for what is new."""
        names = [self._name("passage", text) for text in texts]
        new = [place for place, name in enumerate(names) if name not in self._kept]
        if new:
            made = self._inner.embed_passages([texts[place] for place in new])
            self._kept |= {names[place]: vector for place, vector in zip(new, made, strict=True)}
        return np.stack([self._kept[name] for name in names])

    def embed_query(self, text: str) -> Vector:
        """A kept vector, or a computed one."""
        name = self._name("query", text)
        if name not in self._kept:
            self._kept[name] = self._inner.embed_query(text)
        return self._kept[name]

    def save(self) -> None:
        """Write the file."""
        if self._kept:
            with self._path.open("wb") as file:
                np.savez(file, names=np.array(list(self._kept)), vectors=np.stack(list(self._kept.values())))

    def _name(self, purpose: str, text: str) -> str:
        return hashlib.sha256(f"{self.model.digest}\n{purpose}\n{text}".encode()).hexdigest()[:32]
