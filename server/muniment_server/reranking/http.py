"""A reranker behind an HTTP endpoint that speaks the common `/rerank`.

Asked with query, documents and `top_n`, it answers `results` with `index` and `relevance_score`. Query and
documents go to that endpoint, and to nobody else: neither redirects nor proxies of the environment are
followed. Its answer is read as numbers and believed in nothing else. What may go wrong is one RerankFailed
whose text holds a kind and a status, never a key, a text or a body. There is one attempt: a Recall does not
wait for a second one. After failures in a row the endpoint is left alone for a moment.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, isfinite
from typing import Any, Literal

import httpx

from .base import RerankFailed, RerankLate, shares

_MOST_BYTES = 512 * 1024
_PATH = "rerank"
_PARALLEL = 8
_FAILURES = 3
_REST = 5.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a reranker is. url: base, for example `https://host/v1`.

    scale: whether its scores are probabilities, or logits that still have to become such. fair: seconds that
    it may need; what somebody in a greater hurry does not get is no failure of the endpoint.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    scale: Literal["probability", "logit"] = "probability"
    fair: float = 0.0


class HttpReranker:
    """The reranker `http`. Making it sends nothing."""

    remote = True

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.monotonic) -> None:
        self._endpoint = endpoint
        self._clock = clock
        headers = {"accept": "application/json"}
        if endpoint.key:
            headers["authorization"] = f"Bearer {endpoint.key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            # A redirect or a proxy of the environment could carry content and key to somebody else.
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=_PARALLEL, max_keepalive_connections=_PARALLEL),
        )
        self._failures = 0
        self._rests_until = 0.0

    @property
    def name(self) -> str:
        """Name of the model, as the endpoint knows it."""
        return self._endpoint.model

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def rerank(self, query: str, documents: Sequence[str], patience: float) -> list[float]:
        """See Reranker."""
        if self._clock() < self._rests_until:
            raise RerankFailed("the endpoint failed a moment ago")
        body = {
            "model": self._endpoint.model,
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
        }
        try:
            # Over the whole answer: an endpoint may send one byte now and then for ever.
            async with asyncio.timeout(patience):
                scores = _scores(await self._post(body, patience), len(documents), self._endpoint.scale)
        except (TimeoutError, httpx.TimeoutException):
            error: RerankFailed = RerankLate("no answer in time")
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            error = RerankFailed(type(fault).__name__)
        except RerankFailed as fault:
            error = fault
        else:
            self._failures = 0
            return scores
        if isinstance(error, RerankLate) and patience < self._endpoint.fair:
            raise error from None
        self._failures += 1
        if self._failures >= _FAILURES:
            self._rests_until = self._clock() + _REST
        raise error from None

    async def _post(self, body: Mapping[str, Any], patience: float) -> bytes:
        url = f"{self._endpoint.url.rstrip('/')}/{_PATH}"
        async with self._client.stream("POST", url, json=body, timeout=patience) as response:
            if response.status_code != httpx.codes.OK:
                raise RerankFailed(f"HTTP status {response.status_code}")
            received = bytearray()
            async for part in response.aiter_bytes():
                received += part
                if len(received) > _MOST_BYTES:
                    raise RerankFailed("an answer that is too long")
            return bytes(received)


def _scores(raw: bytes, count: int, scale: str) -> list[float]:
    """The scores of an answer in the order of the documents; each has to be there once."""
    found: dict[int, float] = {}
    try:
        for one in json.loads(raw)["results"]:
            index, score = one["index"], one["relevance_score"]
            if type(index) is not int or type(score) not in (int, float) or not 0 <= index < count:
                raise ValueError
            if index in found or not isfinite(score):
                raise ValueError
            found[index] = 1 / (1 + exp(-max(-50.0, min(50.0, score)))) if scale == "logit" else float(score)
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        # ValueError covers what is no JSON and what is no UTF-8.
        raise RerankFailed("something else than the scores that were asked for") from None
    if len(found) != count:
        raise RerankFailed("not a score for each document")
    return shares([found[index] for index in range(count)])
