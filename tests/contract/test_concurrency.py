"""Callers that get in each other's way: one wins, the others are told, and nothing is lost or doubled."""

import asyncio
import itertools
import random
from collections import Counter
from typing import Any

import pytest

from contract.stored import OK, SUPERSEDE, Stored, outcome
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from support.service import Caller, item

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_of_twenty_corrections_of_one_memory_one_wins(caller: Caller, stored: Stored) -> None:
    memory_id = (await caller.write("u1", "Office is in Lyon")).results[0].memory.memory_id
    codes = await asyncio.gather(
        *(outcome(caller.supersede(memory_id, f"Office is in city {number}")) for number in range(20))
    )
    assert codes.count("OK") == 1
    assert set(codes) <= {"OK", "ABORTED", "FAILED_PRECONDITION"}
    (live,) = stored.live()
    retired = stored.memory(memory_id)
    assert str(retired["superseded_by"]) == live
    assert str(stored.memory(live)["supersedes"]) == memory_id
    assert stored.count("memory") == 2
    (event,) = stored.events(SUPERSEDE, OK)
    details = event["payload"]["details"]["memory_superseded"]
    assert (details["memory_id"], details["successor"]["memory_id"]) == (memory_id, live)


async def test_corrections_with_an_etag_win_once(caller: Caller, stored: Stored) -> None:
    memory = (await caller.write("u1", "Office is in Lyon")).results[0].memory
    codes = await asyncio.gather(
        *(
            outcome(caller.supersede(memory.memory_id, f"Office is in {number}", etag=memory.etag))
            for number in range(10)
        )
    )
    assert codes.count("OK") == 1
    assert len(stored.live()) == 1


async def test_a_chain_under_fire_stays_a_chain(caller: Caller, stored: Stored) -> None:
    first = (await caller.write("u1", "Office is in city 0")).results[0].memory.memory_id
    numbers = itertools.count(1)

    async def chase() -> int:
        won = 0
        for _ in range(8):
            (target,) = stored.live()
            won += await outcome(caller.supersede(target, f"Office is in city {next(numbers)}")) == "OK"
        return won

    won = sum(await asyncio.gather(*(chase() for _ in range(6))))
    chain = [first]
    while (row := stored.memory(chain[-1]))["superseded_by"] is not None:
        chain.append(str(row["superseded_by"]))
    assert {chain[-1]} == stored.live()
    assert len(chain) == won + 1 == stored.count("memory")


async def test_two_clients_in_opposite_order_do_not_lock_each_other(caller: Caller, stored: Stored) -> None:
    codes: Counter[str] = Counter()
    originals: set[str] = set()

    async def correct(ids: list[str], mark: str) -> None:
        for memory_id in ids:
            codes[await outcome(caller.supersede(memory_id, f"{mark} {memory_id}"))] += 1

    async def erase_each(ids: list[str]) -> None:
        for memory_id in ids:
            codes[await outcome(caller.erase_memories(memory_id))] += 1

    async def erase_many(ids: list[str]) -> None:
        codes[await outcome(caller.erase_memories(*ids))] += 1

    for turn in range(2):
        ids = []
        for subject in ("u1", "u2", "u3"):
            texts = [f"Fact {turn} {number}" for number in range(17)]
            ids += [one.memory.memory_id for one in (await caller.write(subject, *texts)).results]
        originals.update(ids)
        chance = random.Random(turn)
        chance.shuffle(ids)
        jobs = [correct(ids, "A"), correct(ids[::-1], "B")]
        if turn:
            jobs += [erase_many(ids[:25]), erase_many(ids[24::-1]), erase_each(ids[10:35][::-1])]
        await asyncio.gather(*jobs)
        stored.check()
    assert set(codes) <= {"OK", "FAILED_PRECONDITION", "ABORTED", "NOT_FOUND"}, codes
    assert codes["OK"] >= 51
    for memory_id in originals:
        heirs = stored.rows("memory", "supersedes = %s AND state = 2", memory_id)
        alive = stored.rows("memory", "memory_id = %s AND state = 2", memory_id)
        assert len(heirs) + len(alive) <= 1


async def test_writers_and_an_eraser_of_one_subject(caller: Caller, stored: Stored) -> None:
    codes: Counter[str] = Counter()

    async def write(number: int) -> None:
        for turn in range(6):
            codes[await outcome(caller.write("u1", f"Fact {number} {turn}"))] += 1

    async def erase() -> int:
        gone = 0
        for _ in range(6):
            gone += (await caller.erase_subject("u1")).counts.memories
            await asyncio.sleep(0)
        return gone

    *_, gone = await asyncio.gather(*(write(number) for number in range(6)), erase())
    assert codes == {"OK": 36}
    assert gone + stored.count("memory") == 36
    assert stored.count("tombstone") == gone
    # What was written under destroyed keys is gone, what came after can be read.
    listing = memory_service_pb2.ListMemoriesRequest(
        scope=memory_pb2.Scope(subject="u1"), view="MEMORY_VIEW_FULL"
    )
    listed = (await caller.call("ListMemories", listing)).memories
    assert {one.memory_id for one in listed} == stored.live()
    assert all(one.content.startswith("Fact ") for one in listed)
    await caller.erase_subject("u1")
    assert stored.count("memory") == 0


async def test_a_recall_during_an_erasure_sees_all_or_nothing_of_a_write(caller: Caller) -> None:
    seen: list[int] = []

    async def look(over: asyncio.Event) -> None:
        while not over.is_set():
            answer = await caller.recall("u1", "Fact", limit=100)
            assert all(one.memory.content.startswith("Fact ") for one in answer.memories)
            seen.append(len(answer.memories))

    over = asyncio.Event()
    looking = [asyncio.create_task(look(over)) for _ in range(3)]
    for turn in range(8):
        await caller.write("u1", *(f"Fact {turn} {number}" for number in range(7)))
        await caller.erase_subject("u1")
    over.set()
    await asyncio.gather(*looking)
    assert set(seen) <= {0, 7}


async def test_first_writers_of_one_subject_share_its_key(caller: Caller, stored: Stored) -> None:
    answers: list[Any] = await asyncio.gather(
        *(caller.write("newcomer", item(f"Fact {number}")) for number in range(12))
    )
    assert len({one.results[0].memory.memory_id for one in answers}) == 12
    (place,) = stored.rows("scope")
    assert {row["key_epoch"] for row in stored.rows("memory")} == {place["key_epoch"]}
    assert len((await caller.recall("newcomer", "Fact", limit=50)).memories) == 12
