"""A reranker behind an HTTP endpoint that speaks the common `/rerank`.

Asked with query, documents and `top_n`, it answers `results` with `index` and `relevance_score`. Query and
documents go to that endpoint, and to nobody else: neither redirects nor proxies of the environment are
followed. Its answer is read as numbers and believed in nothing else. What may go wrong is one RerankFailed
whose text holds a kind and a status, never a key, a text or a body. There is one attempt: a Recall does not
wait for a second one. After failures in a row the endpoint is left alone for a moment.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp, isfinite
from typing import Literal

from muniment_server.outbound import EndpointClient, Late, Unanswered

from .base import RerankFailed, RerankLate, shares

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
        self._client = EndpointClient(endpoint.url, endpoint.key, parallel=_PARALLEL)
        self._failures = 0
        self._rests_until = 0.0

    @property
    def name(self) -> str:
        """Name of the model, as the endpoint knows it."""
        return self._endpoint.model

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

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
            raw = await self._client.post(_PATH, body, patience)
            scores = _scores(raw, len(documents), self._endpoint.scale)
        except Late as fault:
            error: RerankFailed = RerankLate(str(fault))
        except Unanswered as fault:
            error = RerankFailed(str(fault))
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
