"""What was reported of uses moves later recalls a little: one voice per reporter, and in no other scope."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2, recall_pb2
from muniment_server.domain.ranking import FEEDBACK
from muniment_server.identity.principal import Permission
from support.policies import set_policy
from support.service import Caller, RunningService, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = ("The lamp in the hall is green", "The lamp in the attic is green")
QUERY = "What about the lamp that is green"
HELPFUL, NEUTRAL, HARMFUL = (
    audit_pb2.USE_OUTCOME_HELPFUL,
    audit_pb2.USE_OUTCOME_NEUTRAL,
    audit_pb2.USE_OUTCOME_HARMFUL,
)


async def report(
    caller: Caller, outcome: int, text: str = TEXTS[1], subject: str = "u1", request_id: str = ""
) -> None:
    """Recall, and say of one of the offered memories what it did."""
    answer = await caller.recall(subject, QUERY)
    (memory_id,) = [one.memory.memory_id for one in answer.memories if one.memory.content == text]
    await caller.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=answer.recall_id,
            memory_ids=[memory_id],
            outcome=outcome,  # type: ignore[arg-type]
            request_id=request_id,
        ),
    )


async def ranked(caller: Caller, subject: str = "u1", **fields: Any) -> dict[str, Any]:
    """The offered memories by text, best first."""
    answer = await caller.recall(subject, QUERY, explain=True, **fields)
    return {one.memory.content: one for one in answer.memories}


def felt(one: Any) -> float:
    """The factor that reports make; 1 where it says nothing."""
    found = [factor.value for factor in one.factors if factor.name == "feedback"]
    assert len(found) < 2
    return found[0] if found else 1.0


def counts(stored: Stored) -> list[tuple[Any, ...]]:
    """What is stored of the caller's tenant."""
    return [
        (row["helpful"], row["neutral"], row["harmful"])
        for row in stored.rows("memory_feedback", "true ORDER BY scope_id, doc_no, actor")
    ]


async def test_a_use_that_helped_lifts_and_one_that_misled_lowers_a_memory(
    caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", *TEXTS)
    before = await ranked(caller)
    assert [felt(one) for one in before.values()] == [1, 1]
    first, second = before
    await report(caller, HELPFUL, second)
    await report(caller, HARMFUL, first)
    after = await ranked(caller)
    assert list(after) == [second, first]
    # One voice of (1 - 0) / (1 + 1), among one reporter and the two that always stand beside.
    assert felt(after[second]) == pytest.approx(1 + FEEDBACK * 0.5 / 3, abs=1e-6)
    assert felt(after[first]) == pytest.approx(1 - FEEDBACK * 0.5 / 3, abs=1e-6)
    for text, one in after.items():
        assert one.score == pytest.approx(before[text].score * felt(one), rel=1e-6)
        parts = [leg.contribution for leg in one.leg_scores] + [each.contribution for each in one.factors]
        assert one.score == pytest.approx(sum(parts), abs=1e-6)
    assert sorted(counts(stored)) == [(0, 0, 1), (1, 0, 0)]


async def test_explanation_and_receipt_say_so(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    await report(caller, HELPFUL)
    answer = await caller.recall("u1", QUERY, explain=True)
    record = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    kept = {one.memory_id: one for one in record.receipt.recalled.memories}
    told = {one.memory.memory_id: one for one in answer.memories}
    assert {memory_id: felt(one) for memory_id, one in kept.items()} == pytest.approx(
        {memory_id: felt(one) for memory_id, one in told.items()}, abs=1e-6
    )
    assert sorted(felt(one) for one in kept.values()) == pytest.approx([1, 1 + FEEDBACK / 6], abs=1e-6)


async def test_equal_stores_have_equal_answers(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    await report(caller, HELPFUL)
    first, second = [await caller.recall("u1", QUERY, explain=True) for _ in range(2)]
    assert list(first.memories) == list(second.memories)


@pytest.mark.parametrize("outcome", [HELPFUL, HARMFUL])
async def test_one_agent_alone_moves_a_memory_by_a_third_of_the_bound_at_most(
    shared: RunningService, caller: Caller, stored: Stored, outcome: int
) -> None:
    await caller.write("u1", *TEXTS)
    rights = (Permission.RECALL,)
    keys = [shared.caller(caller.tenant, permissions=rights, agent="zealot") for _ in range(2)]
    answer = await keys[0].recall("u1", QUERY)
    (memory_id,) = [one.memory.memory_id for one in answer.memories if one.memory.content == TEXTS[1]]
    request = memory_service_pb2.ReportUseRequest(
        recall_id=answer.recall_id,
        memory_ids=[memory_id],
        outcome=outcome,  # type: ignore[arg-type]
    )
    for number in range(40):
        await keys[number % 2].call("ReportUse", request)
    assert [sum(one) for one in counts(stored)] == [40]
    zealous = abs(felt((await ranked(caller))[TEXTS[1]]) - 1)
    assert FEEDBACK * 0.9 / 3 < zealous < FEEDBACK / 3
    for agent in ("one", "two", "three"):
        await report(shared.caller(caller.tenant, permissions=rights, agent=agent), outcome)
    together = abs(felt((await ranked(caller))[TEXTS[1]]) - 1)
    assert zealous * 1.2 < together < FEEDBACK


async def test_other_voices_outweigh_one(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    for _ in range(10):
        await report(caller, HARMFUL)
    assert felt((await ranked(caller))[TEXTS[1]]) < 1
    for agent in ("one", "two", "three"):
        await report(shared.caller(caller.tenant, agent=agent), HELPFUL)
    assert felt((await ranked(caller))[TEXTS[1]]) > 1


async def test_no_difference_weakens_a_voice_and_no_judgement_is_none(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", *TEXTS)
    await report(caller, audit_pb2.USE_OUTCOME_UNSPECIFIED)
    assert counts(stored) == []
    await report(caller, HELPFUL)
    once = felt((await ranked(caller))[TEXTS[1]])
    for _ in range(3):
        await report(caller, NEUTRAL)
    weakened = felt((await ranked(caller))[TEXTS[1]])
    assert 1 < weakened < once
    assert counts(stored) == [(1, 3, 0)]


async def test_a_repeated_request_counts_once(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", *TEXTS)
    answer = await caller.recall("u1", QUERY)
    request = memory_service_pb2.ReportUseRequest(
        recall_id=answer.recall_id,
        memory_ids=[answer.memories[0].memory.memory_id],
        outcome=HELPFUL,
        request_id=str(uuid4()),
    )
    for _ in range(3):
        await caller.call("ReportUse", request)
    assert counts(stored) == [(1, 0, 0)]


async def test_other_subjects_and_tenants_are_not_moved(shared: RunningService, caller: Caller) -> None:
    elsewhere = shared.caller(f"t-{uuid4().hex[:12]}")
    await elsewhere.write("u1", *TEXTS)
    await caller.write("u2", *TEXTS)
    await caller.write("u1", *TEXTS)
    untouched = [await ranked(caller, "u2"), await ranked(elsewhere)]
    for _ in range(3):
        await report(caller, HARMFUL)
    again = [await ranked(caller, "u2"), await ranked(elsewhere)]
    for before, after in zip(untouched, again, strict=True):
        assert list(after) == list(before)
        assert [one.score for one in after.values()] == [one.score for one in before.values()]
        assert [felt(one) for one in after.values()] == [1, 1]


async def test_the_past_knows_nothing_of_reports(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    before = await caller.recall("u1", QUERY)
    asked = memory_service_pb2.RecallRequest(scope=scope("u1"), query=QUERY, explain=True)
    asked.as_of_time.CopyFrom(before.read_time)
    earlier = await caller.call("Recall", asked)
    for _ in range(3):
        await report(caller, HARMFUL, earlier.memories[0].memory.content)
    later = await caller.call("Recall", asked)
    assert list(later.memories) == list(earlier.memories)
    assert [felt(one) for one in later.memories] == [1, 1]


async def test_a_tenant_scales_it_and_switches_it_off(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    await report(caller, HELPFUL)
    usual = felt((await ranked(caller))[TEXTS[1]]) - 1
    for factor in (3, 0):
        await set_policy(shared, caller.tenant, {"ranking.feedback": factor})
        assert felt((await ranked(caller))[TEXTS[1]]) - 1 == pytest.approx(usual * factor, abs=1e-6)
    # What another version may have allowed is no setting here.
    await set_policy(shared, caller.tenant, {"ranking.feedback": 3.1})
    assert felt((await ranked(caller))[TEXTS[1]]) - 1 == pytest.approx(usual, abs=1e-6)


async def test_ranks_are_not_moved_by_it(caller: Caller) -> None:
    await caller.write("u1", *TEXTS)
    before = await ranked(caller, fusion=recall_pb2.FUSION_RRF)
    await report(caller, HARMFUL, next(iter(before)))
    after = await ranked(caller, fusion=recall_pb2.FUSION_RRF)
    assert [(text, one.score) for text, one in after.items()] == [
        (text, one.score) for text, one in before.items()
    ]


async def test_what_is_erased_takes_its_reports_along(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", *TEXTS)
    for text in TEXTS:
        await report(caller, HELPFUL, text)
    assert len(counts(stored)) == 2
    offered = await caller.recall("u1", QUERY)
    await caller.erase_memories(offered.memories[0].memory.memory_id)
    assert len(counts(stored)) == 1
    # Whoever used it may still say so; there is nothing left to count it for.
    request = memory_service_pb2.ReportUseRequest(
        recall_id=offered.recall_id,
        memory_ids=[one.memory.memory_id for one in offered.memories],
        outcome=HELPFUL,
    )
    await caller.call("ReportUse", request)
    assert counts(stored) == [(2, 0, 0)]
    await caller.erase_subject("u1")
    assert counts(stored) == []


async def test_reports_and_an_erasure_at_once(caller: Caller, stored: Stored) -> None:
    texts = [f"The lamp number {number} is green" for number in range(6)]
    await caller.write("u1", *texts)
    offered = await caller.recall("u1", QUERY)
    ids = [one.memory.memory_id for one in offered.memories]

    def request(order: list[str]) -> Any:
        return memory_service_pb2.ReportUseRequest(
            recall_id=offered.recall_id, memory_ids=order, outcome=HELPFUL
        )

    await asyncio.gather(
        *(caller.call("ReportUse", request(ids[::step])) for step in (1, -1) * 5),
        caller.erase_memories(*ids[:3]),
    )
    assert counts(stored) == [(10, 0, 0)] * 3


@pytest.mark.parametrize("forged", [(2**31 - 1, 0, 0), (-(2**31), 0, 0), (0, 0, 2**31 - 1), (-5, -7, -9)])
async def test_forged_counts_break_nothing_and_stay_within_the_bound(
    shared: RunningService, caller: Caller, stored: Stored, forged: tuple[int, int, int]
) -> None:
    await caller.write("u1", *TEXTS)
    await report(caller, HELPFUL)
    tenant_id = shared.tenant_id(caller.tenant)
    shared.database.execute(
        "UPDATE memory_feedback SET helpful = %s, neutral = %s, harmful = %s WHERE tenant_id = %s",
        (*forged, tenant_id),
    )
    assert abs(felt((await ranked(caller))[TEXTS[1]]) - 1) <= FEEDBACK / 3
    await report(caller, HARMFUL)
    assert abs(felt((await ranked(caller))[TEXTS[1]]) - 1) <= FEEDBACK / 3
    assert len(counts(stored)) == 1
