"""Contradictions, likeness and equal names: nothing is merged, replaced or lost unless the caller says so."""

import asyncio
import threading

import psycopg
import pytest

from contract.stored import SUPERSEDED, Stored, memory_ids
from muniment_server._gen.muniment.v1 import write_pb2
from support.service import Caller, RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_fact_and_its_opposite_are_both_kept(caller: Caller, stored: Stored) -> None:
    first = (await caller.write("u1", "Likes cilantro")).results[0].memory
    before = stored.memory(first.memory_id)
    second = (await caller.write("u1", "Does not like cilantro")).results[0].memory
    assert first.memory_id != second.memory_id
    assert stored.live() == {first.memory_id, second.memory_id}
    assert stored.memory(first.memory_id) == before
    assert set(await caller.contents("u1", "cilantro")) == {"Likes cilantro", "Does not like cilantro"}


async def test_a_correction_replaces_what_it_names(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", "Likes cilantro")).results[0].memory
    answer = await caller.supersede(old.memory_id, "Does not like cilantro")
    assert answer.outcome == write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS
    assert await caller.contents("u1", "likes cilantro") == ["Does not like cilantro"]
    assert stored.live() == {answer.memory.memory_id}
    retired = stored.memory(old.memory_id)
    assert (retired["state"], str(retired["superseded_by"])) == (SUPERSEDED, answer.memory.memory_id)
    assert (await caller.get(old.memory_id)).memory.content == "Likes cilantro"


async def test_a_correction_that_is_written_already_leaves_both_corrections_live(
    caller: Caller, stored: Stored
) -> None:
    old = (await caller.write("u1", "Likes cilantro")).results[0].memory
    other = (await caller.write("u1", "Does not like cilantro")).results[0].memory
    new = (await caller.supersede(old.memory_id, "Does not like cilantro")).memory
    assert stored.live() == {other.memory_id, new.memory_id}
    assert "Likes cilantro" not in await caller.contents("u1", "likes cilantro")


async def test_at_no_moment_of_a_correction_is_there_no_live_memory(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    memory_id = (await caller.write("u1", "Office is in Lyon, edition 0")).results[0].memory.memory_id
    over = threading.Event()
    seen: set[int] = set()

    def watch() -> None:
        with psycopg.connect(shared.database.superuser_conninfo, autocommit=True) as eye:
            while not over.is_set():
                query = "SELECT count(*) FROM muniment.memory WHERE tenant_id = %s AND state = 2"
                seen.update(row[0] for row in eye.execute(query, (stored.tenant_id,)))

    watching = asyncio.create_task(asyncio.to_thread(watch))
    for edition in range(1, 21):
        answer = await caller.supersede(memory_id, f"Office is in Lyon, edition {edition}")
        memory_id = answer.memory.memory_id
        assert len(await caller.contents("u1", "Office Lyon")) == 1
    over.set()
    await watching
    assert seen == {1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Takes the lift to floor 1", "Takes the lift to floor 10"),
        ("Owes Ann 100 €", "Owes Ann 100 €."),
        ("Lives in Nice", "lives in nice"),
        ("Can come on Monday", "Can't come on Monday"),
        ("The code is １２", "The code is 12"),
        ("Jordan Lee drinks tea", "Jordan Lee drinks tea?"),
        ("ﬁle under A", "file under A"),
    ],
)
async def test_likeness_neither_merges_nor_replaces(
    caller: Caller, stored: Stored, one: str, other: str
) -> None:
    first = (await caller.write("u1", one)).results[0]
    second = (await caller.write("u1", other)).results[0]
    assert first.outcome == second.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert stored.live() == {first.memory.memory_id, second.memory.memory_id}
    texts = [(await caller.get(each.memory.memory_id)).memory.content for each in (first, second)]
    assert texts == [one, other]


async def test_two_subjects_of_the_same_name_stay_two(caller: Caller, stored: Stored) -> None:
    tea = (await caller.write("u1", "Jordan Lee drinks tea")).results[0].memory
    coffee = (await caller.write("u2", "Jordan Lee drinks coffee")).results[0].memory
    before = stored.memory(coffee.memory_id)
    assert await caller.contents("u1", "what does Jordan drink") == ["Jordan Lee drinks tea"]
    await caller.supersede(tea.memory_id, "Jordan Lee drinks water")
    assert stored.memory(coffee.memory_id) == before
    assert (await caller.get(coffee.memory_id)).memory == (
        await caller.recall("u2", "what does Jordan drink")
    ).memories[0].memory
    assert await caller.contents("u1", "what does Jordan drink") == ["Jordan Lee drinks water"]


async def test_equal_statements_of_two_subjects_are_two_memories(caller: Caller, stored: Stored) -> None:
    one = (await caller.write("u1", "Likes tea")).results[0]
    two = (await caller.write("u2", "Likes tea")).results[0]
    assert one.outcome == two.outcome == write_pb2.WRITE_OUTCOME_CREATED
    rows = [stored.memory(each.memory.memory_id) for each in (one, two)]
    # The keyed hashes of one text have nothing in common, so that the database cannot join them.
    assert rows[0]["statement_hash"] != rows[1]["statement_hash"]
    assert not set(rows[0]["tokens"]) & set(rows[1]["tokens"])
    await caller.erase_subject("u1")
    assert await caller.contents("u2", "tea") == ["Likes tea"]


async def test_superseded_memories_are_on_no_path_of_recall(caller: Caller, stored: Stored) -> None:
    others = [f"The {name} office has parking" for name in ("Nantes", "Lille", "Paris", "Metz", "Brest")]
    await caller.write("u1", *others)
    memory_id = (await caller.write("u1", "Office is in Lyon (v0)")).results[0].memory.memory_id
    for version in range(1, 51):
        memory_id = (await caller.supersede(memory_id, f"Office is in Lyon (v{version})")).memory.memory_id
    five = await caller.recall("u1", "Office Lyon", limit=5)
    assert five.memories[0].memory.content == "Office is in Lyon (v50)"
    assert len(five.memories) == 5
    assert {one.memory.content for one in five.memories[1:]} < set(others)
    all_of_them = await caller.contents("u1", "Office Lyon", limit=50)
    assert sorted(all_of_them) == sorted([*others, "Office is in Lyon (v50)"])
    for legs in (["RETRIEVAL_LEG_LEXICAL"], ["RETRIEVAL_LEG_VECTOR"]):
        found = await caller.recall("u1", "Office is in Lyon (v7)", legs=legs, min_score=0.0, limit=200)
        assert "Office is in Lyon (v7)" not in [one.memory.content for one in found.memories]
    lexical = await caller.recall("u1", "v7", legs=["RETRIEVAL_LEG_LEXICAL"], min_score=0.0)
    assert not lexical.memories
    assert stored.count("memory", "state = 3") == 50
    assert memory_ids(five.memories)[0] == memory_id
