"""Queries up to the contract's 8 KiB are read to their end, by words, names, times and all."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import grpc
import pytest
import pytest_asyncio

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import audit_pb2, memory_pb2, recall_pb2
from muniment_server.embedding.base import Embedder
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

MOST_BYTES = 8_192
LEXICAL = recall_pb2.RETRIEVAL_LEG_LEXICAL
ENTITY = recall_pb2.RETRIEVAL_LEG_ENTITY
TIME = recall_pb2.RETRIEVAL_LEG_TIME


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service with a model that reads less than a query may have."""
    embedder = DeterministicEmbedder(max_characters=2_000)
    async with running_service(module_database, embedder=embedder) as running:
        yield running


def _words(chance: random.Random) -> str:
    """A word that stands in no memory."""
    return "".join(chance.choice("bcdfghjklmnprstvw") + chance.choice("aeiou") for _ in range(3)) + " "


def _characters(chance: random.Random) -> str:
    """Two characters of which no memory has any."""
    return "".join(chr(chance.randrange(0x4E00, 0x7000)) for _ in range(2)) + "，"


def long_query(end: str, filling: str) -> str:
    """A query of as many bytes as there may be, with what it asks for at its end."""
    chance = random.Random(4)
    make = _words if filling == "words" else _characters
    parts: list[str] = []
    room = MOST_BYTES - len(end.encode())
    while (room := room - len((part := make(chance)).encode())) >= 0:
        parts.append(part)
    query = "".join(parts) + end
    assert MOST_BYTES - 10 < len(query.encode()) <= MOST_BYTES
    return query


@pytest.mark.parametrize("filling", ["words", "characters"])
async def test_what_stands_at_the_end_of_the_longest_query_is_looked_for(
    caller: Caller, stored: Stored, filling: str
) -> None:
    code = "The locker combination is 9083-KD"
    met = "Later we met Clara in the garden"
    trip = item("Trip to the sea", kind=memory_pb2.MEMORY_KIND_EVENT)
    trip.validity.start_time.FromDatetime(datetime(2026, 5, 5, tzinfo=UTC))
    await caller.write("u1", code, met, trip, "The cat sleeps in the kitchen")
    assert len(stored.live()) == 4

    async def found(end: str, leg: int) -> list[str]:
        answer = await caller.recall("u1", long_query(end, filling), legs=[leg], min_score=0.0, explain=True)
        assert not answer.degraded
        return [
            one.memory.content
            for one in answer.memories
            if any(score.leg == leg and score.contribution for score in one.leg_scores)
        ]

    assert await found("9083-KD?", LEXICAL) == [code]
    assert await found("and what about Clara?", ENTITY) == [met]
    assert await found("on 5 May 2026?", TIME) == ["Trip to the sea"]
    assert code in await caller.contents("u1", long_query("9083-KD?", filling), min_score=0.0)


async def test_what_the_vector_does_not_stand_for_is_named(caller: Caller) -> None:
    code = "The locker combination is 9083-KD"
    await caller.write("u1", code, "The cat sleeps in the kitchen")
    answer = await caller.recall("u1", long_query("9083-KD?", "words"), min_score=0.0)
    assert [(one.stage, one.reason) for one in answer.degraded] == [
        (recall_pb2.RECALL_STAGE_QUERY_EMBEDDING, recall_pb2.DEGRADATION_REASON_QUERY_TRUNCATED)
    ]
    assert code in [one.memory.content for one in answer.memories]
    receipt = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    assert receipt.receipt.recalled.degraded == answer.degraded
    assert not (await caller.recall("u1", "9083-KD?")).degraded
    words = await caller.recall("u1", long_query("9083-KD?", "words"), legs=[LEXICAL])
    assert not words.degraded


async def test_the_default_model_says_where_it_stops(multilingual: Embedder) -> None:
    assert multilingual.read(long_query("9083-KD?", "words")).truncated
    assert not multilingual.read("9083-KD? " * 20).truncated


async def test_one_byte_more_is_refused(caller: Caller) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await caller.recall("u1", long_query("9083-KD?", "words") + "?" * 11)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
