"""WordLlama's 256 dimensions: the mean of static token vectors, English, no inference at all.

The weights (16 MB) and the tokenizer are in the `wordllama` package (MIT); its code is not used: it sets up
logging when it is imported, and would download what it does not find. A vector costs some ten microseconds,
and knows no order of words: a choice for small machines, and for trying a change of model.
"""

import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from muniment_server.embedding.base import (
    Calibration,
    EmbeddingModel,
    Matrix,
    Reading,
    Vector,
    require_readable,
)
from muniment_server.embedding.errors import EmbedderNotInstalled, EmbedderUnavailable

NAME = "wordllama-l2-supercat-256"
CALIBRATION = Calibration(
    cosine_low=0.1, cosine_high=0.6, vector_weight=0.3, lexical_weight=0.7, min_score=0.12
)
_MIN_COVERAGE = 0.8
_MAX_CHARACTERS = 16_384


class WordLlama:
    """The embedder `wordllama`. Loading takes about 0.2 s."""

    def __init__(self) -> None:
        """Load the weights that the package ships."""
        spec = find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations or not find_spec("safetensors"):
            raise EmbedderNotInstalled(
                "the embedder 'wordllama' needs the package 'wordllama': install muniment-server[wordllama]"
            )
        folder = Path(next(iter(spec.submodule_search_locations)))
        weights = folder / "weights" / "l2_supercat_256.safetensors"
        vocabulary = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        try:
            tensors: Any = import_module("safetensors.numpy")
            tokenizers: Any = import_module("tokenizers")
            image = weights.read_bytes()
            digest = hashlib.sha256(image)
            digest.update(vocabulary.read_bytes())
            self._table: Matrix = np.ascontiguousarray(
                tensors.load(image)["embedding.weight"], dtype=np.float32
            )
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(vocabulary))
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
        except (ImportError, KeyError, OSError, ValueError) as error:
            raise EmbedderUnavailable(f"cannot load {weights.name}: {type(error).__name__}") from error
        self._model = EmbeddingModel(
            name=NAME,
            digest=digest.hexdigest(),
            dimension=int(self._table.shape[1]),
            query_prefix="",
            passage_prefix="",
            max_tokens=_MAX_CHARACTERS,
            min_coverage=_MIN_COVERAGE,
            calibration=CALIBRATION,
            setting="wordllama",
        )

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the loaded model."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell how much of a text is ASCII: of other scripts the vocabulary has single letters at best."""
        require_readable(text)
        letters = [char for char in text[:_MAX_CHARACTERS] if char.isalnum()]
        coverage = sum(char.isascii() for char in letters) / len(letters) if letters else 0.0
        return Reading(coverage, len(text) > _MAX_CHARACTERS)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts one by one, so that a text has the same vector alone and in a batch."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a text; the model makes no difference between queries and passages."""
        require_readable(text)
        ids = self._tokenizer.encode(text[:_MAX_CHARACTERS], add_special_tokens=False).ids
        known = np.clip(np.asarray(ids or [0], dtype=np.int64), 0, len(self._table) - 1)
        mean = self._table[known].mean(axis=0)
        vector: Vector = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        return vector
