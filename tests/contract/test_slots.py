"""Slots: what a memory answers is answered by one live memory at a time."""

import asyncio

import pytest

from contract.stored import ACTIVE, PENDING, SUPERSEDED, Stored
from muniment_server._gen.muniment.v1 import write_pb2
from muniment_server.domain.model import TrustLevel
from support.service import Caller, RunningService, item

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_write_to_a_held_slot_supersedes_its_holder(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0]
    new = (await caller.write("u1", item("Lives in Lyon", slot="home_city"))).results[0]
    assert old.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert new.outcome == write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS
    assert new.superseded_memory_id == new.memory.supersedes == old.memory.memory_id
    assert stored.live() == {new.memory.memory_id}
    assert str(stored.memory(old.memory.memory_id)["superseded_by"]) == new.memory.memory_id
    assert await caller.contents("u1", "lives") == ["Lives in Lyon"]


async def test_the_same_answer_to_the_same_slot_is_a_restatement(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0]
    again = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0]
    assert again.outcome == write_pb2.WRITE_OUTCOME_REINFORCED
    assert stored.live() == {old.memory.memory_id}


async def test_slots_are_compared_exactly(caller: Caller, stored: Stored) -> None:
    names = [
        "home_city",
        "home-city",
        "homeXcity",
        "Home_city",
        "home",
        "home_city ",
        "%",
        "_",
        "\u00e9",
        "e\u0301",
    ]
    for name in names:
        written = (await caller.write("u1", item(f"Answer to {name}.", slot=name))).results[0]
        assert written.outcome == write_pb2.WRITE_OUTCOME_CREATED, name
    assert len(stored.live()) == len(names)
    for name in names:
        found = await caller.recall("u1", "Answer", filter={"slots": [name]})
        assert [one.memory.slot for one in found.memories] == [name]


async def test_a_slot_belongs_to_its_narrowing(caller: Caller, stored: Stored) -> None:
    places: list[dict[str, str]] = [
        {},
        {"agent": "a1"},
        {"agent": "a2"},
        {"session": "s1"},
        {"agent": "a1", "session": "s1"},
        {"agent": "s1"},
    ]
    for number, place in enumerate(places):
        written = (await caller.write("u1", item(f"Answer {number}", slot="mood"), **place)).results[0]
        assert written.outcome == write_pb2.WRITE_OUTCOME_CREATED, place
    elsewhere = (await caller.write("u2", item("Answer 9", slot="mood"))).results[0]
    assert elsewhere.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert len(stored.live()) == len(places) + 1
    again = (await caller.write("u1", item("Answer 10", slot="mood"), agent="a1")).results[0]
    assert stored.memory(again.superseded_memory_id)["agent"] == "a1"
    assert stored.memory(again.superseded_memory_id)["session"] is None


async def test_a_less_trusted_answer_waits_for_review(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    old = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0]
    new = (await weak.write("u1", item("Lives in Lyon", slot="home_city"))).results[0]
    assert new.outcome == write_pb2.WRITE_OUTCOME_PENDING_REVIEW
    assert (new.rule, new.superseded_memory_id) == ("LESS_TRUSTED_THAN_CORRECTED", "")
    assert stored.live() == {old.memory.memory_id}
    assert stored.memory(new.memory.memory_id)["state"] == PENDING
    assert await caller.contents("u1", "lives") == ["Lives in Nice"]


async def test_a_slot_is_free_again_after_its_holder_was_erased(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0]
    await caller.erase_memories(old.memory.memory_id)
    new = (await caller.write("u1", item("Lives in Lyon", slot="home_city"))).results[0]
    assert new.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert stored.live() == {new.memory.memory_id}


async def test_items_of_one_write_take_a_slot_one_after_the_other(caller: Caller, stored: Stored) -> None:
    held = (await caller.write("u1", item("Lives in Nice", slot="home_city"))).results[0].memory
    answer = await caller.write(
        "u1", *(item(f"Lives in {city}", slot="home_city") for city in ("Lyon", "Metz", "Brest"))
    )
    assert [one.outcome for one in answer.results] == [write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS] * 3
    chain = [held.memory_id, *(one.memory.memory_id for one in answer.results)]
    assert [one.superseded_memory_id for one in answer.results] == chain[:-1]
    states = [stored.memory(memory_id)["state"] for memory_id in chain]
    assert states == [SUPERSEDED, SUPERSEDED, SUPERSEDED, ACTIVE]
    # What the answer says of each memory is what is stored of it after the whole call.
    assert [one.memory.state for one in answer.results] == states[1:]


async def test_twenty_writers_of_one_slot_leave_one_answer(caller: Caller, stored: Stored) -> None:
    answers = await asyncio.gather(
        *(caller.write("u1", item(f"Lives at number {number}", slot="address")) for number in range(20))
    )
    assert len(stored.live()) == 1
    assert stored.count("memory", "state = 3") == 19
    outcomes = [one.results[0].outcome for one in answers]
    assert outcomes.count(write_pb2.WRITE_OUTCOME_CREATED) == 1
    assert outcomes.count(write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS) == 19
    replaced = {one.results[0].superseded_memory_id for one in answers} - {""}
    assert len(replaced) == 19
    assert await caller.contents("u1", "lives at number") == [
        (await caller.get(next(iter(stored.live())))).memory.content
    ]
