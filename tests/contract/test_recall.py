"""Recall: legs, scores, thresholds, what was left out and why, and corpora with next to nothing in them."""

import math
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from contract.stored import Stored, memory_ids, refused
from muniment_server._gen.muniment.v1 import consistency_pb2, memory_pb2, memory_service_pb2, recall_pb2
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTOR = recall_pb2.RETRIEVAL_LEG_VECTOR
LEXICAL = recall_pb2.RETRIEVAL_LEG_LEXICAL

# The only texts with known directions; all others are sums of their words' directions.
TABLE = {
    "north": [1.0],
    "north-east": [1.0, 1.0],
    "east": [0.0, 1.0],
    "south": [-1.0],
    "to the north": [1.0],
    "north north": [3.0, 1.0],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service with an embedder that knows directions."""
    async with running_service(module_database, embedder=DeterministicEmbedder(TABLE)) as running:
        yield running


def _left_out(answer: memory_service_pb2.RecallResponse) -> dict[str, int]:
    return {
        recall_pb2.LeftOutReason.Name(one.reason).removeprefix("LEFT_OUT_REASON_"): one.count
        for one in answer.left_out
    }


async def test_an_answer_tells_all_about_itself(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", *(f"Fact number {number}" for number in range(7)))
    answer = await caller.recall("u1", "Fact number 3", limit=5, explain=True)
    assert [one.rank for one in answer.memories] == [1, 2, 3, 4, 5]
    scores = [one.score for one in answer.memories]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert answer.memories[0].memory.content == "Fact number 3"
    assert answer.applied_limit == 5
    assert answer.applied_min_score == pytest.approx(0.05)
    assert not answer.no_relevant_memory
    assert not answer.degraded
    assert not answer.HasField("packed_context")
    assert _left_out(answer) == {"LIMIT": 2}
    assert len(answer.trace_id) == 32
    assert answer.consistency_token.token
    assert answer.read_time.ToDatetime() >= answer.memories[0].memory.create_time.ToDatetime()
    for one in answer.memories:
        assert sum(leg.contribution for leg in one.leg_scores) == pytest.approx(one.score)
        assert {leg.leg for leg in one.leg_scores} == {VECTOR, LEXICAL}
    plain = await caller.recall("u1", "Fact number 3", limit=5)
    assert not any(one.leg_scores for one in plain.memories)
    assert plain.recall_id != answer.recall_id
    assert stored.count("audit_event", "recall_id = %s", answer.recall_id) == 1


async def test_a_basic_view_has_no_content(caller: Caller) -> None:
    await caller.write("u1", item("Likes tea", tags=["a"]))
    answer = await caller.recall("u1", "tea", view="MEMORY_VIEW_BASIC")
    assert [list(one.memory.tags) for one in answer.memories] == [["a"]]
    assert not answer.memories[0].memory.content


async def test_each_leg_alone_finds_what_is_its_own(caller: Caller) -> None:
    await caller.write("u1", "north", "north-east", "east", "south")
    vector = await caller.recall("u1", "to the north", legs=[VECTOR], min_score=0.5, explain=True)
    assert [one.memory.content for one in vector.memories] == ["north", "north-east"]
    assert [leg.raw_score for one in vector.memories for leg in one.leg_scores] == pytest.approx(
        [1.0, math.sqrt(0.5)], abs=1e-3
    )
    assert [one.score for one in vector.memories] == pytest.approx([1.0, math.sqrt(0.5)], abs=1e-3)
    lexical = await caller.recall("u1", "to the south", legs=[LEXICAL], explain=True)
    assert [one.memory.content for one in lexical.memories] == ["south"]
    assert [leg.leg for leg in lexical.memories[0].leg_scores] == [LEXICAL]
    assert not (await caller.recall("u1", "nowhere", legs=[LEXICAL], min_score=0.0)).memories


async def test_no_threshold_means_no_threshold(caller: Caller) -> None:
    await caller.write("u1", "north", "north-east", "east", "south")
    answer = await caller.recall("u1", "to the north", legs=[VECTOR], min_score=0.0)
    assert answer.applied_min_score == 0.0
    assert [one.memory.content for one in answer.memories][:2] == ["north", "north-east"]
    assert {one.memory.content for one in answer.memories} == {"north", "north-east", "east", "south"}
    assert _left_out(answer) == {}
    assert [one.score for one in answer.memories][2:] == pytest.approx([0.0, 0.0], abs=1e-3)


@pytest.mark.parametrize("min_score", [0.2, 0.9, 1.0])
async def test_nothing_below_the_threshold_is_returned(caller: Caller, min_score: float) -> None:
    await caller.write("u1", "north", "north-east", "east", "south")
    everything = await caller.recall("u1", "to the north", legs=[VECTOR], min_score=0.0)
    answer = await caller.recall("u1", "to the north", legs=[VECTOR], min_score=min_score)
    expected = [one.memory.content for one in everything.memories if one.score >= min_score]
    assert [one.memory.content for one in answer.memories] == expected
    assert answer.applied_min_score == min_score
    assert _left_out(answer).get("BELOW_MIN_SCORE", 0) == 4 - len(expected)
    assert answer.no_relevant_memory == (not expected)


async def test_every_leg_can_be_asked_for_alone(caller: Caller) -> None:
    await caller.write("u1", "The tea is green")
    for leg in recall_pb2.RetrievalLeg.values()[1:]:
        answer = await caller.recall("u1", "tea", legs=[leg], explain=True)
        assert {one.leg for found in answer.memories for one in found.leg_scores} <= {leg}


async def test_what_was_left_out_adds_up(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", *(item(f"Fact {number}", tags=["keep"]) for number in range(6)))
    await caller.write("u1", item("Fact filtered"), item("Something else entirely", tags=["keep"]))
    expiring = item("Fact expired", tags=["keep"])
    expiring.ttl.FromMicroseconds(1_000)
    await caller.write("u1", expiring)
    old = (await caller.write("u1", item("Fact old", tags=["keep"]))).results[0].memory.memory_id
    await caller.supersede(old, item("Fact new", tags=["keep"]))
    answer = await caller.recall("u1", "Fact", limit=4, filter={"tags_all": ["keep"]}, legs=[LEXICAL])
    assert _left_out(answer) == {
        "STATE": 1, "EXPIRED": 1, "FILTERED": 1, "BELOW_MIN_SCORE": 1, "LIMIT": 3,
    }  # fmt: skip
    assert len(answer.memories) + sum(_left_out(answer).values()) == stored.count("memory")


async def test_expired_memories_are_not_recalled_and_not_lost(caller: Caller, stored: Stored) -> None:
    expiring = item("Is on holiday")
    expiring.ttl.FromMicroseconds(1_000)
    written = (await caller.write("u1", expiring, item("Is at work", ttl=timedelta(days=1)))).results[0]
    assert await caller.contents("u1", "is on holiday at work") == ["Is at work"]
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"))
    assert len((await caller.call("ListMemories", listing)).memories) == 1
    assert (await caller.get(written.memory.memory_id)).memory.content == "Is on holiday"
    assert stored.count("memory") == 2
    again = (await caller.write("u1", "Is on holiday")).results[0]
    assert again.memory.memory_id != written.memory.memory_id


async def test_past_validity_alone_does_not_hide(caller: Caller) -> None:
    past = memory_pb2.Validity()
    past.start_time.FromJsonString("2001-01-01T00:00:00Z")
    past.end_time.FromJsonString("2001-01-02T00:00:00Z")
    await caller.write("u1", item("Trip to Lyon", memory_pb2.MEMORY_KIND_EVENT, validity=past))
    assert await caller.contents("u1", "trip") == ["Trip to Lyon"]


@pytest.mark.parametrize(
    "texts", [[], ["!!!"], ["the"], ["🤷"], ["!!!", "the", "🤷", "...", "a"], ["a" * 3_000]], ids=str
)
@pytest.mark.parametrize("query", ["train timetable", "!!!", "the", "🤷", "a", " "])
async def test_a_corpus_of_next_to_nothing_is_searched_like_any(
    caller: Caller, stored: Stored, texts: list[str], query: str
) -> None:
    if texts:
        await caller.write("u1", *texts)
    for options in ({}, {"min_score": 0.0, "limit": 200}, {"legs": [LEXICAL]}, {"legs": [VECTOR]}):
        answer = await caller.recall("u1", query, explain=True, token_budget=500, **options)
        assert {one.memory.content for one in answer.memories} <= set(texts)
        for one in answer.memories:
            numbers = [one.score, *(leg.raw_score for leg in one.leg_scores)]
            assert all(math.isfinite(number) for number in numbers)
            assert 0 <= one.score <= 1
    assert len(stored.live()) == len(texts)


async def test_one_memory_with_a_large_limit_is_one_row(caller: Caller) -> None:
    await caller.write("u1", "Takes the train at eight")
    answer = await caller.recall("u1", "train timetable", limit=50)
    assert len(answer.memories) == 1
    await caller.write("u1", "🤷", "!!!", "the")
    answer = await caller.recall("u1", "train timetable", limit=50, min_score=0.0)
    assert answer.memories[0].memory.content == "Takes the train at eight"


async def test_a_scope_that_nobody_wrote_to_answers_honestly(caller: Caller, stored: Stored) -> None:
    answer = await caller.recall("nobody", "anything", token_budget=100)
    assert answer.no_relevant_memory
    assert not answer.memories
    assert not answer.packed_context.text
    assert not answer.left_out
    assert stored.count("scope") == 0
    assert stored.count("audit_event", "recall_id = %s", answer.recall_id) == 1


async def test_queries_of_different_quality_have_different_scores(caller: Caller) -> None:
    await caller.write("u1", *(f"Cooking note {number}: soup with salt" for number in range(20)))
    exact = await caller.recall("u1", "Cooking note 7: soup with salt", min_score=0.0)
    vague = await caller.recall("u1", "soup", min_score=0.0)
    off = await caller.recall("u1", "orbit of Triton", min_score=0.0)
    assert exact.memories[0].memory.content == "Cooking note 7: soup with salt"
    assert exact.memories[0].score > vague.memories[0].score > 2 * off.memories[0].score
    assert [one.score for one in exact.memories] != [one.score for one in vague.memories]


async def test_a_failing_embedder_takes_one_leg_away_and_says_so(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    await caller.write("u1", "Likes tea", "Likes jam")
    embedder.failing = RuntimeError("gone")
    try:
        answer = await caller.recall("u1", "tea for two please")
        none_left = await caller.recall("u1", "coffee for me please", legs=[VECTOR])
    finally:
        embedder.failing = None
    assert [one.memory.content for one in answer.memories] == ["Likes tea"]
    for one in (answer, none_left):
        (degradation,) = one.degraded
        assert degradation.stage == recall_pb2.RECALL_STAGE_QUERY_EMBEDDING
        assert degradation.reason == recall_pb2.DEGRADATION_REASON_EMBEDDER_UNAVAILABLE
    assert not none_left.memories
    (event,) = stored.events(4)[:1]
    assert event["payload"]["details"]["memories_recalled"]["degraded"]


async def test_a_query_that_the_model_cannot_read_is_answered_by_words(caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    answer = await caller.recall("u1", "🤷")
    assert [one.reason for one in answer.degraded] == [recall_pb2.DEGRADATION_REASON_QUERY_NOT_COVERED]
    assert not answer.memories


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": -1}, "limit"),
        ({"min_score": -0.1}, "min_score"),
        ({"min_score": 1.1}, "min_score"),
        ({"min_score": float("nan")}, "min_score"),
        ({"token_budget": 0}, "token_budget"),
        ({"token_budget": 200_001}, "token_budget"),
        ({"legs": [99]}, "legs[0]"),
        ({"legs": [0]}, "legs[0]"),
        ({"legs": [VECTOR, VECTOR]}, "legs"),
        ({"view": 99}, "view"),
        ({"query": ""}, ""),
        ({"query": "x" * 8_193}, "query"),
        ({"query": "a\x01"}, "query"),
        ({"consistency": consistency_pb2.Consistency()}, "consistency.requirement"),
        ({"consistency": consistency_pb2.Consistency(strong=False)}, "consistency.strong"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_recall_that_cannot_be_meant_is_refused(
    caller: Caller, stored: Stored, fields: dict[str, Any], field: str
) -> None:
    request = memory_service_pb2.RecallRequest(**({"scope": scope("u1"), "query": "tea"} | fields))
    error = await refused(caller.call("Recall", request), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [field]
    assert stored.count("audit_event") == 0


@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("query", ["Fact", "quantum"])
async def test_behind_a_tampered_pin_the_next_one_applies(
    shared: RunningService, caller: Caller, stored: Stored, query: str, limit: int
) -> None:
    rules = [item(f"Rule {number}", memory_pb2.MEMORY_KIND_RULE, tags=["pinned"]) for number in range(20)]
    pinned = memory_ids((await caller.write("u1", *rules)).results)
    await caller.write("u1", "Fact 1", "Fact 2")
    legs = [recall_pb2.RETRIEVAL_LEG_LEXICAL, recall_pb2.RETRIEVAL_LEG_SLOT]
    before = await caller.recall("u1", query, limit=limit, legs=legs)
    offered = [one for one in memory_ids(before.memories) if one in pinned]
    shared.database.execute(
        "UPDATE memory SET trust = 5 WHERE memory_id = ANY(%s::uuid[]) AND tenant_id = %s",
        (offered, stored.tenant_id),
    )
    answer = await caller.recall("u1", query, limit=limit, legs=legs)
    assert set(answer.seal_broken_memory_ids) == set(offered)
    assert not set(memory_ids(answer.memories)) & set(offered)
    assert len([one for one in memory_ids(answer.memories) if one in pinned]) == min(
        len(offered), 20 - len(offered)
    )
    assert len(answer.memories) + sum(_left_out(answer).values()) == stored.count("memory")


async def test_tampered_memories_are_named_and_not_returned(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", *(item(f"Fact {number}", tags=["a"]) for number in range(8)))
    victims = sorted(stored.live())[2:5]
    shared.database.execute(
        "UPDATE memory SET trust = 5 WHERE memory_id = ANY(%s::uuid[]) AND tenant_id = %s",
        (victims, stored.tenant_id),
    )
    answer = await caller.recall("u1", "Fact", limit=5)
    assert len(answer.memories) == 5
    assert not set(memory_ids(answer.memories)) & set(victims)
    assert set(answer.seal_broken_memory_ids) <= set(victims)
    whole = await caller.recall("u1", "Fact", limit=50)
    assert sorted(whole.seal_broken_memory_ids) == victims
    assert len(whole.memories) == 5
    assert _left_out(whole) == {"SEAL_BROKEN": 3}
    counted = Counter(event["action"] for event in stored.events(outcome=3))
    assert counted[21] >= 1
