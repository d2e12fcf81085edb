"""What is not in an answer has its true reason, and no more is said to be looked at than was."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    consistency_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    write_pb2,
)
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTOR, LEXICAL = recall_pb2.RETRIEVAL_LEG_VECTOR, recall_pb2.RETRIEVAL_LEG_LEXICAL
RRF = recall_pb2.FUSION_RRF
TEXTS = ("Likes tea very much", "The tea shop opens at nine", "The cat sleeps", "The printer is broken")
EMBEDDER = DeterministicEmbedder()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    async with running_service(module_database, embedder=EMBEDDER, embedding_patience=0.1) as running:
        yield running


@pytest.fixture
def drawing(shared: RunningService) -> Iterator[None]:
    """Scopes of more than three memories are large."""
    services = shared.service.services
    before = services.exact_rows
    object.__setattr__(services, "exact_rows", 3)
    yield
    object.__setattr__(services, "exact_rows", before)


def left_out(answer: memory_service_pb2.RecallResponse | audit_pb2.MemoriesRecalled) -> dict[str, int]:
    return {
        recall_pb2.LeftOutReason.Name(one.reason).removeprefix("LEFT_OUT_REASON_"): one.count
        for one in answer.left_out
    }


def reasons(answer: memory_service_pb2.RecallResponse | audit_pb2.MemoriesRecalled) -> list[str]:
    return [
        recall_pb2.LeftOutReason.Name(one.reason).removeprefix("LEFT_OUT_REASON_")
        for one in answer.near_misses
    ]


def contents(answer: memory_service_pb2.RecallResponse) -> list[str]:
    return [one.memory.content for one in answer.memories]


async def receipt(caller: Caller, recall_id: str) -> audit_pb2.MemoriesRecalled:
    found = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recall_id))
    told: audit_pb2.MemoriesRecalled = found.receipt.recalled
    return told


def turn(number: int, speaker: str, content: str) -> write_pb2.WriteItem:
    made = item(content, memory_pb2.MEMORY_KIND_TURN, speaker=speaker, turn_number=number)
    made.provenance.session = "s1"
    return made


async def test_a_near_miss_that_scores_enough_says_that_nothing_in_it_does(caller: Caller) -> None:
    long = "rain fell on hills and towns " * 10
    await caller.write("u1", turn(1, "Ann", long), turn(2, "Ben", "Snow"))
    answer = await caller.recall("u1", "what did Ann paint", min_score=0.1, near_miss_limit=5, explain=True)
    assert not answer.memories
    assert answer.no_relevant_memory
    first = answer.near_misses[0]
    assert first.score >= answer.applied_min_score > first.evidence, "it is Ann, and long"
    assert set(reasons(answer)) == {"BELOW_MIN_SCORE"}
    assert left_out(answer) == {"BELOW_MIN_SCORE": 2}
    stored = await receipt(caller, answer.recall_id)
    assert reasons(stored) == reasons(answer)
    assert stored.near_misses[0].evidence == pytest.approx(first.evidence, abs=1e-6)


@pytest.mark.parametrize("past", [False, True], ids=["now", "then"])
async def test_ranks_have_no_threshold_but_one_that_is_asked_for(caller: Caller, past: bool) -> None:
    await caller.write("u1", *TEXTS)
    fields: dict[str, Any] = {"fusion": RRF, "legs": [VECTOR, LEXICAL], "near_miss_limit": 10}
    if past:
        fields["as_of_time"] = Timestamp()
        fields["as_of_time"].FromDatetime(datetime.now(UTC))
    free = await caller.recall("u1", "tea shop", **fields)
    assert free.applied_min_score == 0
    assert sorted(contents(free)) == sorted(TEXTS)
    assert left_out(free) == {}
    assert not free.near_misses
    scores = [one.score for one in free.memories]
    assert len(set(scores)) == len(scores)
    for least in (scores[1], 0.99, 1.0):
        answer = await caller.recall("u1", "tea shop", min_score=least, **fields)
        expected = [one.memory.content for one in free.memories if one.score >= least]
        assert contents(answer) == expected
        assert answer.applied_min_score == least
        assert answer.no_relevant_memory == (not expected)
        assert left_out(answer) == {"BELOW_MIN_SCORE": 4 - len(expected)}
        assert reasons(answer) == ["BELOW_MIN_SCORE"] * (4 - len(expected))
        stored = await receipt(caller, answer.recall_id)
        assert (stored.min_score, left_out(stored)) == (pytest.approx(least, abs=1e-6), left_out(answer))
        assert reasons(stored) == reasons(answer)
    few = await caller.recall("u1", "tea shop", limit=1, **fields)
    assert contents(few) == contents(free)[:1]
    assert (left_out(few), set(reasons(few))) == ({"LIMIT": 3}, {"LIMIT"})


@pytest.mark.parametrize("fusion", [0, RRF])
async def test_without_a_threshold_nothing_is_below_it(caller: Caller, fusion: int) -> None:
    await caller.write("u1", *TEXTS)
    fields: dict[str, Any] = {"fusion": fusion, "legs": [LEXICAL], "near_miss_limit": 10}
    answer = await caller.recall("u1", "tea shop", min_score=0.0, **fields)
    assert contents(answer) == ["The tea shop opens at nine", "Likes tea very much"]
    assert left_out(answer) == {"NO_MATCH": 2}
    assert answer.applied_min_score == 0
    assert left_out(await receipt(caller, answer.recall_id)) == {"NO_MATCH": 2}
    strict = await caller.recall("u1", "tea shop", min_score=0.01, **fields)
    assert left_out(strict) == {"BELOW_MIN_SCORE": 2}


@pytest.mark.parametrize("fusion", [0, RRF])
async def test_what_is_pinned_comes_whatever_it_scores(caller: Caller, fusion: int) -> None:
    await caller.write("u1", *TEXTS, item("Answer in metric", memory_pb2.MEMORY_KIND_RULE, tags=["pinned"]))
    for query, relevant in (("cat sleeps", ["The cat sleeps"]), ("quantum", [])):
        answer = await caller.recall("u1", query, min_score=0.5, fusion=fusion, token_budget=500)
        assert [text for text in contents(answer) if text != "Answer in metric"] == (
            relevant if fusion == 0 else []
        )
        assert "Answer in metric" in contents(answer)
        assert answer.memories[contents(answer).index("Answer in metric")].score < 0.5
        assert answer.no_relevant_memory == (not relevant or fusion == RRF)
        assert left_out(answer) == {"BELOW_MIN_SCORE": 5 - len(answer.memories)}
        assert all(one.packed for one in answer.memories)


async def test_an_answer_from_a_large_scope_says_that_it_counts_what_was_drawn(
    caller: Caller, stored: Stored, drawing: None
) -> None:
    texts = [f"Likes tea from hill {number}" for number in range(8)]
    await caller.write("u1", *texts, *(f"The printer {number} is broken" for number in range(4)))
    answer = await caller.recall("u1", "likes tea", legs=[LEXICAL], limit=2, min_score=0.05)
    assert answer.left_out_incomplete
    assert stored.count("memory") == 12
    assert left_out(answer) == {"LIMIT": 6}, "and four that were not drawn"
    kept = await receipt(caller, answer.recall_id)
    assert kept.left_out_incomplete
    everything = await caller.recall("u1", "likes tea", legs=[LEXICAL], limit=20, min_score=0.05)
    assert not everything.left_out_incomplete, "too few were drawn, so that all were looked at"
    assert left_out(everything) == {"BELOW_MIN_SCORE": 4}
    await caller.write("u2", *texts[:3])
    small = await caller.recall("u2", "likes tea", legs=[LEXICAL], limit=1)
    assert not small.left_out_incomplete
    assert not (await receipt(caller, small.recall_id)).left_out_incomplete


async def test_a_read_that_waited_in_vain_says_so_without_a_vector_of_its_own(caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    EMBEDDER.gate.clear()
    try:
        written = await caller.write("u1", "The piano is out of tune")
        assert written.results[0].memory.memory_id
        request = memory_service_pb2.RecallRequest(
            scope=scope("u1"), query="piano", consistency=consistency_pb2.Consistency(strong=True)
        )
        answer = await caller.call("Recall", request, timeout=4.0)
        assert contents(answer) == ["The piano is out of tune"]
        assert [(one.stage, one.leg, one.reason, one.affected_count) for one in answer.degraded] == [
            (
                recall_pb2.RECALL_STAGE_QUERY_EMBEDDING,
                VECTOR,
                recall_pb2.DEGRADATION_REASON_DEADLINE,
                0,
            ),
            (
                recall_pb2.RECALL_STAGE_CONSISTENCY,
                VECTOR,
                recall_pb2.DEGRADATION_REASON_EMBEDDINGS_PENDING,
                1,
            ),
        ]
        assert list((await receipt(caller, answer.recall_id)).degraded) == list(answer.degraded)
        request.legs.append(LEXICAL)
        async with asyncio.timeout(10):
            by_words = await caller.call("Recall", request, timeout=60)
        assert not by_words.degraded, "there is nothing to wait for"
        request.ClearField("consistency")
        del request.legs[:]
        request.legs.append(VECTOR)
        relaxed = await caller.call("Recall", request, timeout=3.0)
        assert [one.stage for one in relaxed.degraded] == [recall_pb2.RECALL_STAGE_QUERY_EMBEDDING]
    finally:
        EMBEDDER.gate.set()
