"""GetMemory and ListMemories: any state, all revisions, tombstones, and tampering that is found."""

from datetime import timedelta

import pytest

from contract.stored import ACTIVE, PENDING, SUPERSEDED, Stored, memory_ids, refused
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from muniment_server.domain.model import TrustLevel
from support.service import Caller, RunningService, error_info, item, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_memory_is_read_in_whatever_state(shared: RunningService, caller: Caller) -> None:
    old = (await caller.write("u1", "Lives in Nice")).results[0].memory.memory_id
    new = (await caller.supersede(old, "Lives in Lyon")).memory.memory_id
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    waiting = (await weak.supersede(new, "Lives in Metz")).memory.memory_id
    for memory_id, state, content in (
        (old, SUPERSEDED, "Lives in Nice"),
        (new, ACTIVE, "Lives in Lyon"),
        (waiting, PENDING, "Lives in Metz"),
    ):
        full = (await caller.get(memory_id)).memory
        assert (full.state, full.content) == (state, content)
        basic = (await caller.get(memory_id, view="MEMORY_VIEW_BASIC")).memory
        assert not basic.content
        full.ClearField("content")
        assert basic == full


async def test_all_revisions_come_back_newest_first(caller: Caller, stored: Stored) -> None:
    for days in (1, 2, 3):
        written = (await caller.write("u1", item("Is away", ttl=timedelta(days=days)))).results[0].memory
    await caller.supersede(written.memory_id, "Is back")
    answer = await caller.get(written.memory_id, include_revisions=True)
    assert [one.memory.revision for one in answer.revisions] == [4, 3, 2, 1]
    assert answer.older_revision_count == 0
    assert answer.revisions[0].memory == answer.memory
    assert [one.memory.state for one in answer.revisions] == [SUPERSEDED, ACTIVE, ACTIVE, ACTIVE]
    assert not answer.revisions[0].HasField("replace_time")
    for later, earlier in zip(answer.revisions, answer.revisions[1:], strict=False):
        assert earlier.replace_time == later.memory.update_time
    assert all(one.memory.content == "Is away" for one in answer.revisions)
    assert len({one.memory.etag for one in answer.revisions}) == 4
    assert stored.count("memory_revision") == 3
    plain = await caller.get(written.memory_id)
    assert not plain.revisions
    for before, expected in ((5, [4, 3, 2, 1]), (4, [3, 2, 1]), (3, [2, 1]), (2, [1]), (1, [])):
        part = await caller.get(written.memory_id, include_revisions=True, before_revision=before)
        assert [one.memory.revision for one in part.revisions] == expected
        times = {one.memory.revision: one.replace_time for one in answer.revisions}
        assert all(one.replace_time == times[one.memory.revision] for one in part.revisions)


async def test_many_revisions_come_in_parts(caller: Caller, stored: Stored) -> None:
    for days in range(1, 106):
        written = (await caller.write("u1", item("Is away", ttl=timedelta(days=days)))).results[0].memory
    first = await caller.get(written.memory_id, include_revisions=True)
    assert [one.memory.revision for one in first.revisions] == list(range(105, 5, -1))
    assert first.older_revision_count == 5
    rest = await caller.get(written.memory_id, include_revisions=True, before_revision=6)
    assert [one.memory.revision for one in rest.revisions] == [5, 4, 3, 2, 1]
    assert rest.older_revision_count == 0
    assert stored.count("memory_revision") == 104


async def test_a_revision_that_was_tampered_with_is_left_out_and_named(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    for days in (1, 2, 3):
        written = (await caller.write("u1", item("Is away", ttl=timedelta(days=days)))).results[0].memory
    shared.database.execute(
        "UPDATE memory_revision SET trust = 1 WHERE memory_id = %s AND revision = 2", (written.memory_id,)
    )
    answer = await caller.get(written.memory_id, include_revisions=True)
    assert [one.memory.revision for one in answer.revisions] == [3, 1]
    assert list(answer.seal_broken_revisions) == [2]
    shared.database.execute("UPDATE memory SET trust = 1 WHERE memory_id = %s", (written.memory_id,))
    error = await refused(caller.get(written.memory_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert dict(error_info(error).metadata) == {"memory_id": written.memory_id}
    await refused(caller.supersede(written.memory_id, "Is back"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert stored.memory(written.memory_id)["state"] == ACTIVE


async def test_a_ciphertext_of_another_memory_is_not_taken_for_its_own(
    shared: RunningService, caller: Caller
) -> None:
    one, two = memory_ids((await caller.write("u1", "Likes tea", "Likes jam")).results)
    shared.database.execute(
        "UPDATE memory SET content_ct = (SELECT content_ct FROM memory WHERE memory_id = %s)"
        " WHERE memory_id = %s",
        (one, two),
    )
    await refused(caller.get(two), "DATA_LOSS", "INTEGRITY_VIOLATION")
    answer = await caller.recall("u1", "likes tea jam")
    assert memory_ids(answer.memories) == [one]
    assert list(answer.seal_broken_memory_ids) == [two]


async def test_an_erased_memory_is_a_tombstone_and_nothing_else(caller: Caller) -> None:
    memory_id = (await caller.write("u1", item("Likes tea", tags=["a"]))).results[0].memory.memory_id
    receipt = await caller.erase_memories(memory_id)
    for options in ({}, {"include_revisions": True}, {"view": "MEMORY_VIEW_BASIC"}):
        answer = await caller.get(memory_id, **options)
        assert answer.memory == memory_pb2.Memory(
            memory_id=memory_id,
            state=memory_pb2.MEMORY_STATE_ERASED,
            erase_time=receipt.create_time,
        )
        assert not answer.revisions


async def test_a_list_is_newest_first_and_basic_by_default(caller: Caller, stored: Stored) -> None:
    made = []
    for number in range(5):
        made += memory_ids((await caller.write("u1", f"Fact {number}", f"Other {number}")).results)
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"))
    page = await caller.call("ListMemories", listing)
    assert memory_ids(page.memories) == made[::-1]
    assert not any(one.content for one in page.memories)
    times = [one.create_time.ToMicroseconds() for one in page.memories]
    assert times == sorted(times, reverse=True)
    listing.view = memory_pb2.MEMORY_VIEW_FULL
    page = await caller.call("ListMemories", listing)
    assert [one.content for one in page.memories][:2] == ["Other 4", "Fact 4"]
    assert len(stored.live()) == 10


async def test_expired_memories_are_listed_in_no_state(caller: Caller, stored: Stored) -> None:
    gone = item("Is away")
    gone.ttl.FromMilliseconds(300)
    old = (await caller.write("u1", gone)).results[0].memory.memory_id
    await caller.supersede(old, "Is back")
    short = item("Is busy")
    short.ttl.FromMicroseconds(1)
    await caller.write("u1", short)
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), view="MEMORY_VIEW_FULL")
    assert [one.content for one in (await caller.call("ListMemories", listing)).memories] == ["Is back"]
    assert stored.count("memory") == 3
