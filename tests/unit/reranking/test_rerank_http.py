"""A reranker's endpoint that answers, answers badly, stalls and refuses: a real server on loopback."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from math import exp

import pytest
import pytest_asyncio

from muniment_server.config import ConfigError, Settings
from muniment_server.reranking.base import RerankFailed, RerankLate
from muniment_server.reranking.factory import configured_reranker
from muniment_server.reranking.http import Endpoint, HttpReranker
from support.rerank_endpoint import BAD_ANSWERS, FAULTS, RerankEndpoint, rerank_endpoint, scored

KEY = "sk-very-secret-key"
QUERY, TEXTS = "Which drink?", ["Likes jam", "Likes tea", "The code of the locker is 9083"]


@pytest.fixture
def endpoint() -> Iterator[RerankEndpoint]:
    with rerank_endpoint() as running:
        running.prefers("tea", "jam")
        yield running


@pytest_asyncio.fixture
async def reranker(endpoint: RerankEndpoint) -> AsyncIterator[HttpReranker]:
    made = HttpReranker(Endpoint(endpoint.url, "small", KEY))
    yield made
    await made.close()


async def test_scores_come_in_the_order_of_the_documents(
    endpoint: RerankEndpoint, reranker: HttpReranker
) -> None:
    assert await reranker.rerank(QUERY, TEXTS, 5.0) == [0.8, 0.9, 0.01]
    assert endpoint.paths == ["/v1/rerank"]
    assert endpoint.requests == [{"model": "small", "query": QUERY, "documents": TEXTS, "top_n": 3}]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (reranker.name, reranker.remote) == ("small", True)


async def test_logits_become_probabilities_where_the_operator_says_that_they_are_logits(
    endpoint: RerankEndpoint,
) -> None:
    logits = {"tea": 3.0, "jam": -1.0}
    endpoint.answers(
        lambda request: {
            "results": scored(
                request, lambda text: next((score for word, score in logits.items() if word in text), -900)
            )
        }
    )
    reranker = HttpReranker(Endpoint(endpoint.url, "small", scale="logit"))
    found = await reranker.rerank(QUERY, TEXTS, 5.0)
    assert found == pytest.approx([1 / (1 + exp(1)), 1 / (1 + exp(-3)), 0], abs=1e-6)
    assert "authorization" not in endpoint.headers[0]
    await reranker.close()


@pytest.mark.parametrize("behaviour", [*BAD_ANSWERS, *FAULTS])
async def test_what_it_does_wrong_is_one_failure_in_time_and_tells_nothing(
    endpoint: RerankEndpoint, reranker: HttpReranker, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.behaves(behaviour)
    patience = 0.5
    began = time.monotonic()
    with caplog.at_level(logging.DEBUG), pytest.raises(RerankFailed) as failed:
        await reranker.rerank(QUERY, TEXTS, patience)
    assert time.monotonic() - began < patience + 2
    assert (type(failed.value) is RerankLate) == (behaviour in ("stalls", "trickles"))
    told = f"{failed.value!r} {failed.value.__cause__!r} {caplog.text}"
    assert not any(word in told for word in (KEY, QUERY, *TEXTS))
    assert len(endpoint.requests) == 1


async def test_a_redirect_is_not_followed(endpoint: RerankEndpoint, reranker: HttpReranker) -> None:
    endpoint.behaves("redirects")
    with pytest.raises(RerankFailed, match="307"):
        await reranker.rerank(QUERY, TEXTS, 5.0)
    assert endpoint.paths == ["/v1/rerank"]


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        reranker = HttpReranker(Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", "small"))
        with pytest.raises(RerankFailed, match="ConnectError"):
            await reranker.rerank(QUERY, TEXTS, 5.0)
        await reranker.close()


async def test_it_is_left_alone_for_a_moment_after_failures_in_a_row(endpoint: RerankEndpoint) -> None:
    now = 100.0
    reranker = HttpReranker(Endpoint(endpoint.url, "small"), clock=lambda: now)
    endpoint.behaves("error")
    for _ in range(2):
        with pytest.raises(RerankFailed, match="503"):
            await reranker.rerank(QUERY, TEXTS, 5.0)
    endpoint.prefers("tea")
    await reranker.rerank(QUERY, TEXTS, 5.0)
    endpoint.behaves("error")
    for _ in range(3):
        with pytest.raises(RerankFailed, match="503"):
            await reranker.rerank(QUERY, TEXTS, 5.0)
    asked = len(endpoint.requests)
    endpoint.prefers("tea")
    with pytest.raises(RerankFailed, match="a moment ago"):
        await reranker.rerank(QUERY, TEXTS, 5.0)
    assert len(endpoint.requests) == asked
    now += 5.1
    assert (await reranker.rerank(QUERY, TEXTS, 5.0))[1] == 0.9
    await reranker.close()


async def test_callers_in_a_hurry_do_not_switch_it_off_for_the_others(endpoint: RerankEndpoint) -> None:
    reranker = HttpReranker(Endpoint(endpoint.url, "small", fair=0.5))
    endpoint.behaves("stalls")
    for _ in range(4):
        with pytest.raises(RerankLate):
            await reranker.rerank(QUERY, TEXTS, 0.05)
    endpoint.prefers("tea")
    assert (await reranker.rerank(QUERY, TEXTS, 5.0))[1] == 0.9
    endpoint.behaves("stalls")
    for _ in range(3):
        with pytest.raises(RerankLate):
            await reranker.rerank(QUERY, TEXTS, 0.5)
    with pytest.raises(RerankFailed, match="a moment ago"):
        await reranker.rerank(QUERY, TEXTS, 5.0)
    await reranker.close()


async def test_several_at_once(endpoint: RerankEndpoint, reranker: HttpReranker) -> None:
    answers = await asyncio.gather(*(reranker.rerank(f"{QUERY} {n}", TEXTS, 5.0) for n in range(20)))
    assert answers == [[0.8, 0.9, 0.01]] * 20


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"rerank": "http", "rerank_model": "small"}, "MUNIMENT_RERANK_URL"),
        ({"rerank": "http", "rerank_url": "https://host/v1"}, "MUNIMENT_RERANK_MODEL"),
        ({"rerank": "cross-encoder"}, "MUNIMENT_RERANK_MODEL"),
        ({"rerank_key": KEY, "rerank_key_file": "pyproject.toml"}, "MUNIMENT_RERANK_KEY_FILE"),
        ({"rerank_key_file": "/nowhere"}, "MUNIMENT_RERANK_KEY_FILE"),
    ],
)
def test_settings_that_make_no_reranker(settings: dict[str, str], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Settings(**settings)  # type: ignore[arg-type]


def test_content_is_sent_in_clear_to_this_machine_only() -> None:
    with pytest.raises(ValueError, match="https"):
        Settings(rerank="http", rerank_model="small", rerank_url="http://192.0.2.1/v1")


def test_none_by_default_and_an_endpoint_by_name() -> None:
    assert configured_reranker(Settings()) is None
    made = configured_reranker(Settings(rerank="http", rerank_model="m", rerank_url="https://host/v1"))
    assert isinstance(made, HttpReranker)
    with pytest.raises(ConfigError, match="MUNIMENT_RERANK_KEY"):
        configured_reranker(
            Settings(rerank="http", rerank_model="m", rerank_url="https://host/v1", rerank_key="a\nb")  # type: ignore[arg-type]
        )
