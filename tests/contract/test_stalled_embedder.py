"""An embedder that stalls costs three recalls their patience, and the ones behind them nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from muniment_server._gen.muniment.v1 import audit_pb2, memory_pb2, memory_service_pb2, recall_pb2
from muniment_server.embedding.breaker import Breaker
from muniment_server.embedding.http import HttpEmbedder
from support.embedding_endpoint import EmbeddingEndpoint, embedding_endpoint
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

LATE = recall_pb2.DEGRADATION_REASON_DEADLINE
AWAY = recall_pb2.DEGRADATION_REASON_EMBEDDER_UNAVAILABLE
PATIENT, HASTY = 30.0, 1.2


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EmbeddingEndpoint]:
    with embedding_endpoint() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    module_database: PostgresDatabase, endpoint: EmbeddingEndpoint
) -> AsyncIterator[RunningService]:
    embedder = HttpEmbedder(endpoint.options())
    async with running_service(module_database, embedder=embedder) as running:
        yield running
        endpoint.goes_on()


@pytest.fixture
def clock(shared: RunningService) -> Clock:
    found = Clock()
    shared.service.embeddings.breaker = Breaker(found)
    return found


async def recall(caller: Caller, query: str, timeout: float) -> memory_service_pb2.RecallResponse:
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query=query)
    answer: memory_service_pb2.RecallResponse = await caller.call("Recall", request, timeout=timeout)
    return answer


def degraded(answer: memory_service_pb2.RecallResponse) -> list[int]:
    """Why there was no vector of the query."""
    assert {one.stage for one in answer.degraded} <= {recall_pb2.RECALL_STAGE_QUERY_EMBEDDING}
    return [one.reason for one in answer.degraded]


async def test_it_is_left_alone_for_a_while_and_then_tried_once(
    caller: Caller, endpoint: EmbeddingEndpoint, clock: Clock
) -> None:
    await caller.write("u1", "Likes green tea")
    assert degraded(await recall(caller, "green", PATIENT)) == []

    endpoint.stalls()
    for number in range(3):
        answer = await recall(caller, f"green {number}", HASTY)
        assert degraded(answer) == [LATE]
        assert [one.memory.content for one in answer.memories] == ["Likes green tea"], "by its words"
    asked = len(endpoint.texts)
    answer = await recall(caller, "green again", PATIENT)
    assert degraded(answer) == [AWAY]
    assert [one.memory.content for one in answer.memories] == ["Likes green tea"]
    stored = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    assert list(stored.receipt.recalled.degraded) == list(answer.degraded)
    assert degraded(await recall(caller, "green", PATIENT)) == [], "what is known needs no embedder"
    assert len(endpoint.texts) == asked

    endpoint.goes_on()
    written = await caller.write("u1", "Likes black coffee")
    assert [one.embedding_state for one in written.results] == [memory_pb2.EMBEDDING_STATE_READY]
    assert degraded(await recall(caller, "green once more", PATIENT)) == [AWAY]

    endpoint.stalls()
    clock.now += 5.0
    both: list[Any] = await asyncio.gather(
        recall(caller, "black one", HASTY), recall(caller, "black two", HASTY)
    )
    assert sorted(degraded(one)[0] for one in both) == sorted([LATE, AWAY])
    assert degraded(await recall(caller, "black three", PATIENT)) == [AWAY]

    endpoint.goes_on()
    clock.now += 5.0
    for query in ("black four", "black five"):
        assert degraded(await recall(caller, query, PATIENT)) == []
    assert not {"green again", "green once more", "black three"} & set(endpoint.texts)


async def test_a_hasty_tenant_takes_it_from_nobody_else(
    shared: RunningService, caller: Caller, endpoint: EmbeddingEndpoint, clock: Clock
) -> None:
    other = shared.caller("beside-the-hasty")
    for one in (caller, other):
        await one.write("u1", "Likes green tea")
    endpoint.stalls()
    for number in range(3):
        assert degraded(await recall(caller, f"hasty {number}", HASTY)) == [LATE]
    endpoint.goes_on()
    assert degraded(await recall(caller, "hasty again", PATIENT)) == [AWAY]
    assert degraded(await recall(other, "patient", PATIENT)) == []
    assert degraded(await recall(caller, "hasty still", PATIENT)) == [AWAY]
    clock.now += 5.0
    assert degraded(await recall(caller, "hasty no more", PATIENT)) == []


async def test_nobody_can_tell_what_another_tenant_wrote_or_asked(
    shared: RunningService, caller: Caller, endpoint: EmbeddingEndpoint, clock: Clock
) -> None:
    spy = shared.caller("guessing")
    secret, guess = "The alarm code is 9083", "The alarm code is 9084"
    await caller.write("u1", secret)
    await recall(caller, secret, PATIENT)
    await spy.write("u1", "Likes green tea")
    endpoint.stalls()
    told = [degraded(await recall(spy, text, HASTY)) for text in (secret, guess)]
    assert told == [[LATE], [LATE]]
    for text in (secret, guess):
        request = memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item(text)])
        written = await spy.call("Write", request, timeout=HASTY)
        assert [one.embedding_state for one in written.results] == [memory_pb2.EMBEDDING_STATE_PENDING]
    assert degraded(await recall(caller, secret, HASTY)) == [], "its own is remembered"
    rows = shared.database.rows(
        "SELECT e.state FROM memory_embedding e JOIN tenant t USING (tenant_id) WHERE t.name = 'guessing'"
    )
    assert sorted(row["state"] for row in rows) == [1, 2, 2]
    endpoint.goes_on()
