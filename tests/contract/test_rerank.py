"""A reranker moves what was found, within the time there is; what it does not do in time is named."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from opentelemetry.trace import SpanKind

from contract.stored import Stored, until
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
)
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.telemetry import names
from support.policies import set_policy
from support.postgres import PostgresDatabase
from support.rerank_endpoint import BAD_ANSWERS, FAULTS, RerankEndpoint, rerank_endpoint, scored
from support.service import Caller, RunningService, item, running_service, scope
from support.telemetry import recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUERY = "Which drink does he like"
TEXTS = ["He does like the drink", "Tea is his favourite drink", "Coffee is a drink that keeps him awake"]
WEIGHT, CANDIDATES = 0.5, 8


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RerankEndpoint]:
    with rerank_endpoint() as running:
        yield running


@pytest.fixture(autouse=True)
def _fresh(endpoint: RerankEndpoint) -> None:
    endpoint.prefers("Tea", "Coffee")
    endpoint.requests.clear()
    endpoint.asked.clear()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    module_database: PostgresDatabase, endpoint: RerankEndpoint
) -> AsyncIterator[RunningService]:
    settings: dict[str, Any] = {
        "rerank": "http",
        "rerank_url": endpoint.url,
        "rerank_model": "small",
        "rerank_timeout": 0.5,
        "rerank_weight": WEIGHT,
        "rerank_candidates": CANDIDATES,
    }
    async with running_service(module_database, **settings) as running:
        yield running


@pytest.fixture
def awake(shared: RunningService) -> None:
    """The endpoint is asked again, whatever it did before."""
    reranker: Any = shared.service.services.reranker
    reranker._failures, reranker._rests_until = 0, 0.0


def texts(answer: memory_service_pb2.RecallResponse) -> list[str]:
    return [one.memory.content for one in answer.memories]


def word(one: Any) -> Any:
    """The factor of the reranker."""
    (found,) = [factor for factor in one.factors if factor.name == "rerank"]
    return found


async def test_it_moves_what_was_found_and_says_how_far(
    shared: RunningService, caller: Caller, endpoint: RerankEndpoint
) -> None:
    await caller.write("u1", *TEXTS, "Owns a bicycle")
    answer = await caller.recall("u1", QUERY, explain=True)
    assert not answer.degraded
    assert texts(answer)[:2] == [TEXTS[1], TEXTS[2]]
    (asked,) = endpoint.requests
    assert asked["query"] == QUERY
    assert set(TEXTS) <= set(asked["documents"])
    least = shared.service.models.current.model.calibration.min_score
    values = [word(one).value for one in answer.memories]
    for one in answer.memories:
        parts = [leg.contribution for leg in one.leg_scores]
        before = sum(parts) + sum(factor.contribution for factor in one.factors if factor.name != "rerank")
        said = word(one)
        assert (said.value, said.weight) == (
            {TEXTS[1]: 0.9, TEXTS[2]: 0.8}.get(one.memory.content, 0.01),
            WEIGHT,
        )
        assert said.rank == 1 + sum(other > said.value for other in values)
        assert one.score == pytest.approx(before + said.contribution)
        assert one.score == pytest.approx(
            (1 - WEIGHT) * before + WEIGHT * (least + said.value * (1 - least)), abs=1e-6
        )
        assert least <= one.score <= 1
    assert [one.score for one in answer.memories] == sorted(
        (one.score for one in answer.memories), reverse=True
    )
    again = await caller.recall("u1", QUERY, explain=True)
    assert [(one.memory.memory_id, one.score) for one in again.memories] == [
        (one.memory.memory_id, one.score) for one in answer.memories
    ]


async def test_the_receipt_says_the_same_later(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    answer = await caller.recall("u1", QUERY, explain=True)
    record = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    for one, kept in zip(answer.memories, record.receipt.recalled.memories, strict=True):
        assert kept.memory_id == one.memory.memory_id
        assert kept.score == pytest.approx(one.score, abs=1e-6)
        assert (word(kept).value, word(kept).rank) == (word(one).value, word(one).rank)
        assert word(kept).contribution == pytest.approx(word(one).contribution, abs=1e-6)


async def test_doubt_about_a_source_weighs_on_the_rerankers_word_too(
    shared: RunningService, caller: Caller, endpoint: RerankEndpoint
) -> None:
    endpoint.prefers("best answer", "Tea")
    await caller.write("u1", TEXTS[1])
    doubtful = shared.caller(
        caller.tenant, source_types=(SourceType.THIRD_PARTY,), max_trust=TrustLevel.UNTRUSTED
    )
    stuffed = "The best answer to which drink does he like"
    told = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)
    await set_policy(shared, caller.tenant, {"review.sources": []})
    await doubtful.write("u1", item(stuffed, provenance=told))
    answer = await caller.recall("u1", QUERY, explain=True)
    least = shared.service.models.current.model.calibration.min_score
    one = {one.memory.content: one for one in answer.memories}[stuffed]
    doubt = 1.0
    for factor in one.factors:
        if factor.name in ("trust", "source"):
            doubt *= factor.value
    assert doubt < 0.9
    before = one.score - word(one).contribution
    assert word(one).value == pytest.approx(0.9)
    assert one.score == pytest.approx(
        (1 - WEIGHT) * before + WEIGHT * (least + 0.9 * doubt * (1 - least)), abs=1e-6
    )


@pytest.mark.usefixtures("awake")
@pytest.mark.parametrize("behaviour", ["one_missing", "no_number", "a_logit", "error", "hangs_up", "stalls"])
async def test_left_out_and_named_when_it_fails(
    caller: Caller, endpoint: RerankEndpoint, behaviour: str
) -> None:
    assert behaviour in {*BAD_ANSWERS, *FAULTS}
    await caller.write("u1", *TEXTS)
    endpoint.behaves(behaviour)
    answer = await caller.recall("u1", QUERY, explain=True)
    assert texts(answer)[0] == TEXTS[0]
    (left,) = answer.degraded
    assert left.stage == recall_pb2.RECALL_STAGE_RERANK
    assert left.leg == recall_pb2.RETRIEVAL_LEG_UNSPECIFIED
    late = recall_pb2.DEGRADATION_REASON_DEADLINE
    failed = recall_pb2.DEGRADATION_REASON_FAILED
    assert left.reason == (late if behaviour == "stalls" else failed)
    assert left.affected_count == len(answer.memories)
    assert not any(factor.name == "rerank" for one in answer.memories for factor in one.factors)
    record = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    assert list(record.receipt.recalled.degraded) == [left]


@pytest.mark.usefixtures("awake")
async def test_a_span_tells_of_it_without_content(caller: Caller, endpoint: RerankEndpoint) -> None:
    await caller.write("u1", *TEXTS)
    with recording() as recorded:
        await caller.recall("u1", QUERY)
        endpoint.behaves("error")
        await caller.recall("u1", QUERY)
        told = recorded.everything()
        done, failed = (span for span in recorded.spans() if span.name == "rerank small")
    assert done.kind is SpanKind.CLIENT
    assert dict(done.attributes) == {
        names.GEN_AI_OPERATION_NAME: "rerank",
        names.GEN_AI_PROVIDER_NAME: "http",
        names.GEN_AI_REQUEST_MODEL: "small",
        names.RERANK_INPUTS: len(TEXTS),
        names.RERANK_OUTPUTS: len(TEXTS),
    }
    assert failed.attributes[names.ERROR_TYPE] == "failed"
    assert names.RERANK_OUTPUTS not in failed.attributes
    assert not failed.status.is_ok
    assert not any(text in told for text in (QUERY, *TEXTS))


@pytest.mark.usefixtures("awake")
async def test_a_short_deadline_is_shared(caller: Caller, endpoint: RerankEndpoint) -> None:
    await caller.write("u1", *TEXTS)
    endpoint.behaves("stalls")
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query=QUERY)
    answer = await caller.call("Recall", request, timeout=1.5)
    assert [one.stage for one in answer.degraded] == [recall_pb2.RECALL_STAGE_RERANK]
    assert answer.memories


async def test_a_threshold_that_was_asked_for_holds_for_the_score_that_is_returned(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    usual = await caller.recall("u1", QUERY)
    assert len(usual.memories) == len(TEXTS)
    high = usual.memories[-1].score + 0.001
    answer = await caller.recall("u1", QUERY, min_score=high, near_miss_limit=5)
    assert [(one.memory.memory_id, one.score) for one in answer.memories] == [
        (one.memory.memory_id, one.score) for one in usual.memories[:-1]
    ]
    assert {one.reason: one.count for one in answer.left_out} == {
        recall_pb2.LEFT_OUT_REASON_BELOW_MIN_SCORE: 1
    }
    (missed,) = answer.near_misses
    assert (missed.memory_id, missed.score) == (
        usual.memories[-1].memory.memory_id,
        usual.memories[-1].score,
    )
    assert missed.reason == recall_pb2.LEFT_OUT_REASON_BELOW_MIN_SCORE
    assert word(missed).value == pytest.approx(0.01)


async def test_what_always_applies_stays_below_a_high_threshold(caller: Caller) -> None:
    await caller.write("u1", TEXTS[1], item("He does like a drink to be named", 1, tags=["pinned"]))
    usual = await caller.recall("u1", QUERY)
    assert texts(usual) == [TEXTS[1], "He does like a drink to be named"]
    answer = await caller.recall("u1", QUERY, min_score=usual.memories[0].score)
    assert texts(answer) == texts(usual)
    assert not answer.left_out


async def test_only_the_best_are_read_and_counts_add_up(caller: Caller, endpoint: RerankEndpoint) -> None:
    await caller.write("u1", *(f"He does like the drink number {n}" for n in range(12)))
    answer = await caller.recall("u1", QUERY, limit=3)
    assert [len(request["documents"]) for request in endpoint.requests] == [CANDIDATES]
    assert len(answer.memories) == 3
    assert {one.reason: one.count for one in answer.left_out} == {recall_pb2.LEFT_OUT_REASON_LIMIT: 9}


async def test_what_only_always_applies_is_not_read(caller: Caller, endpoint: RerankEndpoint) -> None:
    await caller.write("u1", item("Answer briefly", 5, tags=["pinned"]))
    answer = await caller.recall("u1", "zebra stripes", token_budget=400)
    assert texts(answer) == ["Answer briefly"]
    assert answer.no_relevant_memory
    assert not endpoint.requests


async def test_nothing_found_nothing_asked(caller: Caller, endpoint: RerankEndpoint) -> None:
    assert not (await caller.recall("nobody", QUERY)).memories
    assert not endpoint.requests


async def test_rank_fusion_and_the_past_are_reranked_too(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    ranked = await caller.recall("u1", QUERY, fusion=recall_pb2.FUSION_RRF, explain=True)
    assert texts(ranked)[:2] == [TEXTS[1], TEXTS[2]]
    assert word(ranked.memories[0]).value == pytest.approx(0.9)
    asked = memory_service_pb2.RecallRequest(scope=scope("u1"), query=QUERY)
    asked.as_of_time.CopyFrom(ranked.read_time)
    past = await caller.call("Recall", asked)
    assert texts(past)[:2] == [TEXTS[1], TEXTS[2]]


async def test_what_is_erased_meanwhile_does_not_come_back(
    caller: Caller, stored: Stored, endpoint: RerankEndpoint
) -> None:
    written = await caller.write("u1", *TEXTS)
    gone = written.results[1].memory.memory_id
    held = asyncio.get_running_loop()
    released = asyncio.Event()

    def wait(request: dict[str, Any]) -> Any:
        # The answer comes only when the erasure is done.
        asyncio.run_coroutine_threadsafe(released.wait(), held).result(5)
        return {"results": scored(request, lambda text: 0.9 if "Tea" in text else 0.1)}

    endpoint.answers(wait)
    recalling = asyncio.create_task(caller.recall("u1", QUERY))
    await asyncio.to_thread(endpoint.asked.wait, 5)
    await caller.erase_memories(gone)
    assert gone not in stored.live()
    released.set()
    answer = await recalling
    assert sorted(texts(answer)) == sorted([TEXTS[0], TEXTS[2]])
    assert {one.reason: one.count for one in answer.left_out} == {recall_pb2.LEFT_OUT_REASON_CHANGED: 1}


async def test_what_is_corrected_meanwhile_is_left_out(caller: Caller, endpoint: RerankEndpoint) -> None:
    written = await caller.write("u1", *TEXTS)
    old = written.results[1].memory.memory_id
    held = asyncio.get_running_loop()
    released = asyncio.Event()

    def wait(request: dict[str, Any]) -> Any:
        asyncio.run_coroutine_threadsafe(released.wait(), held).result(5)
        return {"results": scored(request, lambda _: 0.5)}

    endpoint.answers(wait)
    recalling = asyncio.create_task(caller.recall("u1", QUERY))
    await asyncio.to_thread(endpoint.asked.wait, 5)
    await caller.supersede(old, "Milk is his favourite drink")
    released.set()
    answer = await recalling
    assert sorted(texts(answer)) == sorted([TEXTS[0], TEXTS[2]])
    changed = [one.count for one in answer.left_out if one.reason == recall_pb2.LEFT_OUT_REASON_CHANGED]
    assert changed == [1]


async def test_while_it_is_waited_for_no_connection_is_held(
    shared: RunningService, caller: Caller, endpoint: RerankEndpoint
) -> None:
    await caller.write("u1", *TEXTS)
    held = asyncio.get_running_loop()
    released = asyncio.Event()

    def wait(request: dict[str, Any]) -> Any:
        asyncio.run_coroutine_threadsafe(released.wait(), held).result(5)
        return {"results": scored(request, lambda _: 0.5)}

    endpoint.answers(wait)
    recalling = asyncio.create_task(caller.recall("u1", QUERY))
    await asyncio.to_thread(endpoint.asked.wait, 5)
    try:
        # What chains events takes one now and then; the recall would hold its own until it is released.
        await until(lambda: shared.service.database.pool_stats().used == 0, 4)
    finally:
        released.set()
    assert not (await recalling).degraded
