"""Any OpenAI-compatible embedding endpoint.

What may go wrong there (no connection, no answer in time, another status than 200, an answer that is no
answer) is one EmbedderUnavailable whose text holds a kind and a status, never a key, a text or a body. A
request is tried once more when trying again may help, within the same budget of time. After failures in
a row the endpoint is left alone for a moment, so that calls lose no time with it.
"""

import asyncio
import base64
import binascii
import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from muniment_server.embedding.base import (
    EmbeddingModel,
    Matrix,
    Reading,
    Vector,
    require_readable,
)
from muniment_server.embedding.errors import EmbedderSlow, EmbedderUnavailable, TextRefused
from muniment_server.embedding.options import CAUTIOUS, HttpOptions
from muniment_server.outbound import AnswerTooLong, EndpointClient, Late, StatusRefused, Unreached

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_PATH = "embeddings"
_REFUSALS = frozenset({400, 413, 422})
_LONGEST_WAIT = 2.0
"""Seconds of a Retry-After that are waited for."""
_MOST_BYTES = 256 * 1024 * 1024
_FAILURES = 3
_REST = 5.0
_SHORTEST_NORM = 1e-6


class HttpEmbedder:
    """The embedder `http`. Making it sends nothing: an endpoint that is down does not keep a server from
    starting. `remote`: what it does depends on the network.
    """

    remote = True

    def __init__(self, options: HttpOptions, setting: str = "http") -> None:
        """Take the options of the endpoint. Raises OptionError for a calibration that makes no sense."""
        self._options = options
        self._client = EndpointClient(options.url, options.key, parallel=1, most_bytes=_MOST_BYTES)
        self._loop = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._closed = False
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until = 0.0
        identity = [options.model, options.dimension, options.query_prefix, options.passage_prefix]
        self._model = EmbeddingModel(
            name=f"http/{options.model}"[:128],
            # There is no file to hash: whoever exchanges the model behind a name has to change the name.
            digest=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
            dimension=options.dimension,
            query_prefix=options.query_prefix,
            passage_prefix=options.passage_prefix,
            max_tokens=options.max_characters,
            min_coverage=0.5,
            calibration=options.calibration.apply(CAUTIOUS),
            setting=setting,
        )

    @property
    def model(self) -> EmbeddingModel:
        """Identity: name, dimension and prefixes, by which the vectors of this model are known."""
        return self._model

    def read(self, text: str) -> Reading:
        """Tell that any text with a letter or a digit is read: what the model knows cannot be asked."""
        require_readable(text)
        coverage = 1.0 if any(map(str.isalnum, text)) else 0.0
        return Reading(coverage, len(text) > self._options.max_characters)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed texts in as few requests as the batch size allows."""
        size = self._options.batch
        prefix = self._options.passage_prefix
        parts = [
            self._request([prefix + self._cut(text) for text in texts[start : start + size]])
            for start in range(0, len(texts), size)
        ]
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vector:
        """Embed a text to search with."""
        vector: Vector = self._request([self._options.query_prefix + self._cut(text)])[0]
        return vector

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if not self._closed:
                self._closed = True
                with self._loop as loop:
                    loop.run(self._client.close())

    def _cut(self, text: str) -> str:
        require_readable(text)
        return text[: self._options.max_characters]

    def _request(self, texts: list[str]) -> Matrix:
        with self._lock:
            if time.monotonic() < self._rests_until:
                raise EmbedderUnavailable("the embedding endpoint failed a moment ago")
            end = time.monotonic() + self._options.timeout
            try:
                found = self._attempt(texts, end, again=True)
            except EmbedderUnavailable:
                self._failures += 1
                if self._failures >= _FAILURES:
                    self._rests_until = time.monotonic() + _REST
                raise
            self._failures = 0
            return found

    def _attempt(self, texts: list[str], end: float, *, again: bool) -> Matrix:
        pause = 0.05
        body = {"model": self._options.model, "input": texts, "encoding_format": "float"}
        try:
            left = max(0.05, end - time.monotonic())
            return self._vectors(self._loop.run(self._client.post(_PATH, body, left)), len(texts))
        except Late:
            raise EmbedderSlow("the embedding endpoint did not answer in time") from None
        except AnswerTooLong:
            raise EmbedderUnavailable("the embedding endpoint answered with too much") from None
        except StatusRefused as refused:
            fault = f"the embedding endpoint answered with status {refused.status}"
            if refused.status in _REFUSALS:
                raise TextRefused(
                    f"the embedding endpoint refused a text with status {refused.status}"
                ) from None
            if refused.status not in _RETRIED:
                raise EmbedderUnavailable(fault) from None
            pause = _pause(refused.retry_after)
        except Unreached as error:
            fault = f"the embedding endpoint cannot be reached: {error}"
        if not again or time.monotonic() + pause >= end:
            raise EmbedderUnavailable(fault)
        time.sleep(pause)
        return self._attempt(texts, end, again=False)

    def _vectors(self, content: bytes, count: int) -> Matrix:
        """The vectors of an answer, in the order of the texts, brought to length 1."""
        try:
            data = json.loads(content)["data"]
            ordered = sorted(data, key=_index) if _indexed(data) else data
            rows = np.array([_numbers(one["embedding"]) for one in ordered], dtype=np.float64)
        except (binascii.Error, KeyError, OverflowError, RecursionError, TypeError, ValueError):
            raise EmbedderUnavailable("the embedding endpoint answered with something else") from None
        if rows.shape != (count, self._options.dimension):
            raise EmbedderUnavailable(
                "the embedding endpoint answered with another number or size of vectors than it should"
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms < _SHORTEST_NORM).any():
            raise EmbedderUnavailable("the embedding endpoint answered with vectors without a direction")
        vectors: Matrix = (rows / norms).astype(np.float32)
        return vectors


def _indexed(data: Any) -> bool:
    """Whether each vector says of which text it is. Raises ValueError where only some say the same.

    Some endpoints give all of them one number; then they stand in order.
    """
    if not all("index" in one for one in data):
        return False
    different = len(set(map(_index, data)))
    if 1 < different < len(data):
        raise ValueError("two vectors of one text")
    return different > 1


def _index(one: Any) -> int:
    return int(one["index"])


def _numbers(given: Any) -> Any:
    if isinstance(given, str):
        return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").tolist()
    return given


def _pause(retry_after: str | None) -> float:
    """Seconds to wait before the repetition."""
    try:
        return min(max(float(retry_after or "0.2"), 0.05), _LONGEST_WAIT)
    except ValueError:
        return 0.2
