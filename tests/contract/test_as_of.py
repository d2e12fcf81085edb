"""What was known at an instant: memories as they stood then, in the states that they had then."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import log
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import PENDING, SUPERSEDED, Stored, refused
from contract.test_histories import EVERY, History
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    correction_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    review_pb2,
    subject_pb2,
)
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.model import MemoryKind, TrustLevel
from support.clock import MovableClock
from support.policies import set_policy
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, error_info, item, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTOR, LEXICAL = recall_pb2.RETRIEVAL_LEG_VECTOR, recall_pb2.RETRIEVAL_LEG_LEXICAL
FOUND = {"min_score": 0.0, "limit": 200}


CLOCK = MovableClock()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    async with running_service(module_database, clock=CLOCK) as running:
        yield running


def _stamp(instant: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(instant)
    return stamp


async def _instant() -> datetime:
    """An instant after all that was done and before all that is still to come."""
    await asyncio.sleep(0.002)
    found = CLOCK()
    await asyncio.sleep(0.002)
    return found


async def _known(caller: Caller, instant: datetime, query: str = "Lives in town", **fields: Any) -> list[str]:
    return await caller.contents("u1", query, as_of_time=_stamp(instant), **{**FOUND, **fields})


async def _recalled(caller: Caller, instant: datetime, **fields: Any) -> memory_service_pb2.RecallResponse:
    return await caller.recall("u1", "Lives in town", as_of_time=_stamp(instant), **{**FOUND, **fields})


async def _written(caller: Caller, text: str, **fields: Any) -> str:
    return (await caller.write("u1", item(text, **fields))).results[0].memory.memory_id


def _left_out(answer: memory_service_pb2.RecallResponse) -> dict[str, int]:
    return {recall_pb2.LeftOutReason.Name(one.reason)[16:]: one.count for one in answer.left_out}


async def test_what_was_corrected_restored_and_retracted_stands_as_it_did(
    shared: RunningService, caller: Caller
) -> None:
    before = await _instant()
    old = await _written(caller, "Lives in town Nice")
    first = await _instant()
    new = (await caller.supersede(old, "Lives in town Lyon")).memory.memory_id
    second = await _instant()
    await caller.call("Restore", correction_pb2.RestoreRequest(memory_id=old))
    third = await _instant()
    await caller.call("Retract", correction_pb2.RetractRequest(memory_id=old))
    fourth = await _instant()
    assert await _known(caller, before) == []
    assert await _known(caller, first) == ["Lives in town Nice"]
    assert await _known(caller, second) == ["Lives in town Lyon"]
    assert await _known(caller, third) == ["Lives in town Nice"]
    assert await _known(caller, fourth) == []
    assert await _known(caller, fourth + timedelta(days=1)) == []
    was = await _recalled(caller, second, filter={"states": [SUPERSEDED]})
    assert [(one.memory.memory_id, one.memory.superseded_by) for one in was.memories] == [(old, new)]
    then = await _recalled(caller, first)
    (one,) = then.memories
    assert (one.memory.revision, one.memory.superseded_by) == (1, "")
    assert one.memory.state == memory_pb2.MEMORY_STATE_ACTIVE
    assert not one.memory.validity.HasField("end_time")
    assert _left_out(await _recalled(caller, second)) == {"STATE": 1}


async def test_what_waited_for_a_person_was_not_known_yet(shared: RunningService, caller: Caller) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    old = await _written(caller, "Lives in town Nice")
    new = (await weak.supersede(old, "Lives in town Lyon")).memory
    assert new.state == PENDING
    waiting = await _instant()
    await caller.call(
        "DecideReview",
        review_pb2.DecideReviewRequest(memory_id=new.memory_id, decision=2, content="Lives in town Lille"),
    )
    decided = await _instant()
    assert await _known(caller, waiting) == ["Lives in town Nice"]
    assert await _known(caller, waiting, filter={"states": [PENDING]}) == ["Lives in town Lyon"]
    assert await _known(caller, decided) == ["Lives in town Lille"]
    # Each text is compared by its own vector, also when it was another one's before.
    found = await _recalled(caller, waiting, filter={"states": [PENDING]}, legs=[VECTOR], explain=True)
    assert [one.leg_scores[0].leg for one in found.memories] == [VECTOR]


async def test_what_was_erased_never_comes_back(caller: Caller) -> None:
    gone, kept = await _written(caller, "Lives in town Nice"), await _written(caller, "Lives in town Lyon")
    await caller.supersede(gone, "Lives in town Lille")
    then = await _instant()
    await caller.erase_memories(gone)
    assert sorted(await _known(caller, then)) == ["Lives in town Lille", "Lives in town Lyon"]
    assert kept
    await caller.erase_subject("u1")
    assert await _known(caller, then) == []
    await _written(caller, "Lives in town Brest")
    assert await _known(caller, then) == []


async def test_labels_and_expiry_are_those_of_then(shared: RunningService, caller: Caller) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    await _written(weak, "Lives in town Nice")
    short = item("Lives in town Lyon", tags=["short"])
    short.ttl.FromTimedelta(timedelta(hours=1))
    await caller.write("u1", short)
    before = await _instant()
    await _written(caller, "Lives in town Nice")
    after = await _instant()
    high = {"min_trust": memory_pb2.TRUST_LEVEL_MEDIUM, "tags_none": ["short"]}
    assert await _known(caller, before, filter=high) == []
    assert await _known(caller, after, filter=high) == ["Lives in town Nice"]
    try:
        CLOCK.ahead = timedelta(hours=3)
        assert await _known(caller, before, filter={"tags_any": ["short"]}) == ["Lives in town Lyon"]
        assert _left_out(await _recalled(caller, before + timedelta(hours=2)))["EXPIRED"] == 1
    finally:
        CLOCK.ahead = timedelta(0)


async def test_views_consent_and_narrowing_hold(shared: RunningService, caller: Caller) -> None:
    old = await _written(caller, "Lives in town Nice")
    await _written(caller, "Lives in town Lyon", kind=memory_pb2.MEMORY_KIND_RULE)
    await caller.write("u1", "Lives in town Lille", agent="a")
    then = await _instant()
    await caller.supersede(old, "Lives in town Brest")
    assert sorted(await _known(caller, then)) == ["Lives in town Lyon", "Lives in town Nice"]
    view = AgentView(kinds=frozenset({MemoryKind.FACT}))
    await set_policy(shared, caller.tenant, views={"a": view})
    assert sorted(await _known(caller, then, narrowing={"agent": "a"})) == [
        "Lives in town Lille",
        "Lives in town Nice",
    ]
    none = subject_pb2.SetConsentRequest(scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_NONE)
    await caller.call("SetConsent", none)
    withheld = await _recalled(caller, then)
    assert not withheld.memories
    assert set(_left_out(withheld)) == {"CONSENT"}


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE memory_revision SET trust = 5 WHERE memory_id = %s",
        "UPDATE memory_revision SET scope_id = scope_id, tags = '{x}' WHERE memory_id = %s",
        # What was current then, hidden by moving or taking away what says until when it was.
        "UPDATE memory SET update_time = update_time + interval '1 hour' WHERE memory_id = %s",
        "UPDATE memory SET revision = 3 WHERE memory_id = %s",
        "UPDATE memory_revision SET revision = 5 WHERE memory_id = %s",
    ],
)
async def test_no_forged_past_is_offered(shared: RunningService, caller: Caller, forgery: str) -> None:
    old = await _written(caller, "Lives in town Nice")
    then = await _instant()
    await caller.supersede(old, "Lives in town Lyon")
    assert await _known(caller, then) == ["Lives in town Nice"]
    assert shared.database.execute(forgery, (old,)) == 1
    answer = await _recalled(caller, then)
    assert not answer.memories
    assert list(answer.seal_broken_memory_ids) == [old]


async def test_other_legs_do_not_look_back(caller: Caller) -> None:
    await _written(caller, "Lives in town Nice")
    now = await _instant()
    for leg in recall_pb2.RetrievalLeg.values()[1:]:
        asked = _recalled(caller, now, legs=[LEXICAL, leg] if leg != LEXICAL else [leg])
        if leg in (VECTOR, LEXICAL):
            assert len((await asked).memories) == 1
        else:
            error = await refused(asked, "UNIMPLEMENTED", "UNIMPLEMENTED")
            assert error_info(error).metadata["feature"].startswith("as_of_time with the legs ")


async def test_the_receipt_says_which_instant(caller: Caller) -> None:
    await _written(caller, "Lives in town Nice")
    then = await _instant()
    answer = await _recalled(caller, then, token_budget=100, near_miss_limit=5)
    assert answer.packed_context.text
    request = audit_pb2.GetRecallRequest(recall_id=answer.recall_id)
    receipt = await caller.call("GetRecall", request)
    assert receipt.receipt.recalled.as_of_time.ToDatetime(tzinfo=UTC) == then
    plain = await caller.recall("u1", "town")
    receipt = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=plain.recall_id))
    assert not receipt.receipt.recalled.HasField("as_of_time")


def _shares(query: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    """What the lexical leg must give each text: the share of retrieval/bm25.py with every tf 1."""
    documents = {text: text.lower().split() for text in texts}
    mean = sum(map(len, documents.values())) / len(documents)

    def idf(word: str) -> float:
        frequency = max(1, sum(word in words for words in documents.values()))
        return log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))

    reach = sum(idf(word) for word in query) * 2.2
    return {
        text: sum(
            idf(word) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * min(4.0, len(words) / mean)))
            for word in query
            if word in words
        )
        / reach
        for text, words in documents.items()
    }


async def test_words_count_as_they_were_spread_then(caller: Caller) -> None:
    texts = ["kivu zorn", "kivu mabo", "zorn mabo tesk plim", "tesk kivu kivu", "plim"]
    ids = [await _written(caller, text) for text in texts]
    then = await _instant()
    expected = _shares(["kivu", "zorn"], texts)
    for memory_id, text in zip(ids[:3], ("vorm", "vorm gask", "gask"), strict=True):
        await caller.supersede(memory_id, text)
    await caller.erase_memories(ids[4])
    now = await _instant()
    # What was erased is in no statistics either.
    expected = _shares(["kivu", "zorn"], texts[:4])
    answer = await caller.recall("u1", "kivu zorn", as_of_time=_stamp(then), legs=[LEXICAL], min_score=0.0)
    found = {one.memory.content: one.score for one in answer.memories}
    assert found == pytest.approx({text: share for text, share in expected.items() if share})
    assert list(found) == sorted(found, key=lambda text: -found[text])
    today = await caller.recall("u1", "vorm gask", as_of_time=_stamp(now), legs=[LEXICAL], min_score=0.0)
    today_expected = _shares(["vorm", "gask"], ["tesk kivu kivu", "vorm", "vorm gask", "gask"])
    assert {one.memory.content: one.score for one in today.memories} == pytest.approx(
        {text: share for text, share in today_expected.items() if share}
    )


@pytest.mark.parametrize("fusion", [1, 2])
async def test_of_now_it_says_what_recall_says(caller: Caller, fusion: int) -> None:
    for number in range(12):
        await _written(caller, f"Lives in town number {number} by the river", tags=[str(number % 3)])
    fields = {"explain": True, "fusion": fusion, "legs": [VECTOR, LEXICAL], "filter": {"tags_none": ["2"]}}
    now = await caller.recall("u1", "town number 7", **FOUND, **fields)
    then = await caller.recall("u1", "town number 7", as_of_time=_stamp(await _instant()), **FOUND, **fields)
    assert len(now.memories) == 8
    for one, other in zip(now.memories, then.memories, strict=True):
        assert one.memory == other.memory
        assert one.score == pytest.approx(other.score)
        assert [(leg.leg, leg.rank) for leg in one.leg_scores] == [
            (leg.leg, leg.rank) for leg in other.leg_scores
        ]
    assert now.left_out == then.left_out


async def test_every_instant_of_a_random_history_is_told_as_it_was(
    shared: RunningService, caller: Caller
) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    history = History(caller, weak, 7)
    await history.write(caller)
    seen: list[tuple[datetime, dict[str, tuple[int, str]]]] = []
    for _ in range(40):
        # Much of it is refused, and changes nothing.
        with suppress(grpc.aio.AioRpcError):
            await history.step()
        listed = await caller.call(
            "ListMemories",
            memory_service_pb2.ListMemoriesRequest(
                scope=scope("u1"), page_size=1000, view=memory_pb2.MEMORY_VIEW_FULL
            ),
        )
        seen.append(
            (await _instant(), {one.memory_id: (one.revision, one.content) for one in listed.memories})
        )
    left = {str(row["memory_id"]) for row in Stored(shared.database, caller.tenant).rows("memory")}
    revisions: dict[str, list[memory_pb2.Memory]] = {}
    for memory_id in left:
        got = await caller.get(memory_id, include_revisions=True)
        revisions[memory_id] = [got.memory, *(one.memory for one in got.revisions)]
    for instant, live in seen:
        answer = await _recalled(caller, instant)
        assert not answer.seal_broken_memory_ids
        found = {one.memory.memory_id: (one.memory.revision, one.memory.content) for one in answer.memories}
        assert found == {memory_id: was for memory_id, was in live.items() if memory_id in left}
        every = await _recalled(caller, instant, filter={"states": EVERY})
        told = {}
        for memory_id, known in revisions.items():
            before = [one for one in known if one.update_time.ToDatetime(tzinfo=UTC) <= instant]
            if before:
                newest = max(before, key=lambda one: one.revision)
                told[memory_id] = (newest.revision, newest.content, newest.state)
        assert {
            one.memory.memory_id: (one.memory.revision, one.memory.content, one.memory.state)
            for one in every.memories
        } == told
