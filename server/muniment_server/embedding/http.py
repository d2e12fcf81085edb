"""Any OpenAI-compatible embedding endpoint.

What may go wrong there (no connection, no answer in time, another status than 200, an answer that is no
answer) is one EmbedderUnavailable whose text holds a kind and a status, never a key, a text or a body. A
request is tried once more when trying again may help, within the same budget of time. After failures in
a row the endpoint is left alone for a moment, so that calls lose no time with it.
"""

import base64
import binascii
import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import httpx
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

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
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
        headers = {"accept": "application/json"}
        if options.key:
            headers["authorization"] = f"Bearer {options.key}"
        self._client = httpx.Client(
            base_url=options.url.rstrip("/"),
            headers=headers,
            timeout=httpx.Timeout(options.timeout),
            follow_redirects=False,
            trust_env=True,
        )
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
        self._client.close()

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
        try:
            left = max(0.05, end - time.monotonic())
            body = {"model": self._options.model, "input": texts, "encoding_format": "float"}
            with self._client.stream("POST", "/embeddings", json=body, timeout=left) as response:
                status = response.status_code
                if status == httpx.codes.OK:
                    return self._vectors(_content(response, end), len(texts))
                if status in _REFUSALS:
                    raise TextRefused(f"the embedding endpoint refused a text with status {status}")
                if status not in _RETRIED:
                    raise EmbedderUnavailable(f"the embedding endpoint answered with status {status}")
                fault = f"the embedding endpoint answered with status {status}"
                pause = _retry_after(response)
        except httpx.TimeoutException:
            raise EmbedderSlow("the embedding endpoint did not answer in time") from None
        except httpx.HTTPError as error:
            fault = f"the embedding endpoint cannot be reached: {type(error).__name__}"
        if not again or time.monotonic() + pause >= end:
            raise EmbedderUnavailable(fault)
        time.sleep(pause)
        return self._attempt(texts, end, again=False)

    def _vectors(self, content: bytes, count: int) -> Matrix:
        """The vectors of an answer, in the order of the texts, brought to length 1."""
        try:
            data = json.loads(content)["data"]
            ordered = sorted(data, key=lambda one: int(one["index"])) if _indexed(data) else data
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


def _content(response: httpx.Response, end: float) -> bytes:
    """The body, within the time and a bound of bytes: an endpoint may send one byte now and then for ever."""
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise EmbedderUnavailable("the embedding endpoint answered with too much")
        if time.monotonic() > end:
            raise EmbedderSlow("the embedding endpoint did not answer in time")
    return b"".join(parts)


def _indexed(data: Any) -> bool:
    return all("index" in one for one in data)


def _numbers(given: Any) -> Any:
    if isinstance(given, str):
        return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").tolist()
    return given


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(max(float(response.headers.get("retry-after", "0.2")), 0.05), _LONGEST_WAIT)
    except ValueError:
        return 0.2
