"""Restore, Retract and UndoWrite: what was changed comes back, what changed since is left."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import ACTIVE, PENDING, SUPERSEDED, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import audit_pb2, correction_pb2, memory_pb2, memory_service_pb2
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from support.service import (
    Caller,
    RunningService,
    error_info,
    item,
    reason,
    request_id,
    scope,
    violations,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

ARCHIVED = memory_pb2.MEMORY_STATE_ARCHIVED
GONE, BACK, LEFT = (
    correction_pb2.UNDO_OUTCOME_ARCHIVED,
    correction_pb2.UNDO_OUTCOME_RESTORED,
    correction_pb2.UNDO_OUTCOME_LEFT,
)


async def restore(caller: Caller, memory_id: str, **fields: Any) -> correction_pb2.RestoreResponse:
    return await caller.call("Restore", correction_pb2.RestoreRequest(memory_id=memory_id, **fields))


async def retract(caller: Caller, memory_id: str, **fields: Any) -> correction_pb2.RetractResponse:
    return await caller.call("Retract", correction_pb2.RetractRequest(memory_id=memory_id, **fields))


async def undo(caller: Caller, write: str, **fields: Any) -> dict[str, int]:
    answer = await caller.call("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=write, **fields))
    return {one.memory_id: one.outcome for one in answer.memories}


async def one(caller: Caller, content: Any = "Lives in Nice", **options: Any) -> Any:
    return (await caller.write("u1", content, **options)).results[0].memory


def at(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


async def events(caller: Caller, action: int) -> list[audit_pb2.AuditEvent]:
    restriction = audit_pb2.AuditFilter(actions=[action], outcomes=[audit_pb2.AUDIT_OUTCOME_OK])
    return list((await caller.call("Audit", memory_service_pb2.AuditRequest(filter=restriction))).events)


class TestRestore:
    async def test_a_corrected_memory_comes_back_in_the_place_of_its_correction(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        old = await one(caller)
        middle = (await caller.supersede(old.memory_id, "Lives in Lyon")).memory
        last = (await caller.supersede(middle.memory_id, "Lives in Metz")).memory
        answer = await restore(caller, old.memory_id)
        assert answer.superseded_memory_id == last.memory_id
        back = answer.memory
        assert (back.state, back.revision, back.superseded_by) == (ACTIVE, 3, "")
        assert not back.HasField("validity")
        assert stored.live() == {old.memory_id}
        row = stored.memory(last.memory_id)
        assert (row["state"], str(row["superseded_by"])) == (SUPERSEDED, old.memory_id)
        assert row["valid_to"] is not None
        assert await caller.contents("u1", "Lives in Nice Lyon Metz") == ["Lives in Nice"]
        assert (await caller.get(old.memory_id)).memory.state == ACTIVE
        (event,) = await events(caller, audit_pb2.AUDIT_ACTION_RESTORE_MEMORY)
        assert [(each.memory_id, each.state) for each in event.memories_corrected.memories] == [
            (old.memory_id, ACTIVE),
            (last.memory_id, SUPERSEDED),
        ]
        assert await findings(shared, caller.tenant) == []

    async def test_back_and_forth_and_corrected_again(self, shared: RunningService, caller: Caller) -> None:
        old = await one(caller)
        new = (await caller.supersede(old.memory_id, "Lives in Lyon")).memory
        for _ in range(2):
            assert (await restore(caller, old.memory_id)).superseded_memory_id == new.memory_id
            assert (await restore(caller, new.memory_id)).superseded_memory_id == old.memory_id
        await restore(caller, old.memory_id)
        newest = (await caller.supersede(old.memory_id, "Lives in Metz")).memory
        assert await caller.contents("u1", "Lives in Nice Lyon Metz") == ["Lives in Metz"]
        assert (await restore(caller, new.memory_id)).superseded_memory_id == newest.memory_id
        assert await caller.contents("u1", "Lives in Nice Lyon Metz") == ["Lives in Lyon"]
        assert await findings(shared, caller.tenant) == []

    async def test_the_holder_of_its_slot_gives_way(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        old = await one(caller, item("Nice", slot="home"))
        await retract(caller, old.memory_id)
        new = await one(caller, item("Lyon", slot="home"))
        assert (await restore(caller, old.memory_id)).superseded_memory_id == new.memory_id
        assert stored.live() == {old.memory_id}
        assert await findings(shared, caller.tenant) == []

    async def test_the_same_statement_is_never_live_twice(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        old = await one(caller)
        await retract(caller, old.memory_id)
        again = await one(caller)
        assert again.memory_id != old.memory_id
        assert (await restore(caller, old.memory_id)).superseded_memory_id == again.memory_id
        assert stored.live() == {old.memory_id}

    async def test_two_memories_in_its_place_are_a_conflict(self, caller: Caller, stored: Stored) -> None:
        old = await one(caller, item("Nice", slot="home"))
        await caller.supersede(old.memory_id, item("Lyon", slot="city"))
        holder = await one(caller, item("Metz", slot="home"))
        error = await refused(restore(caller, old.memory_id), "FAILED_PRECONDITION", "SLOT_CONFLICT")
        assert error_info(error).metadata["memory_id"] == holder.memory_id

    async def test_what_the_credential_may_not_say_waits_for_a_reviewer(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
        stated = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED)
        old = await one(caller, item("Lives in Nice", provenance=stated))
        new = (await caller.supersede(old.memory_id, item("Lives in Lyon", provenance=stated))).memory
        answer = await restore(weak, old.memory_id)
        assert (answer.memory.state, answer.superseded_memory_id) == (PENDING, "")
        assert stored.live() == {new.memory_id}
        assert await findings(shared, caller.tenant) == []

    async def test_a_memory_of_less_trust_than_what_is_live_waits(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
        old = await one(weak, item("Nice", slot="home"))
        new = await one(caller, item("Lyon", slot="home"))
        assert (await restore(caller, old.memory_id)).memory.state == PENDING
        assert stored.live() == {new.memory_id}

    async def test_an_earlier_revision_by_its_number(self, shared: RunningService, caller: Caller) -> None:
        weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
        old = await one(weak)
        await caller.write("u1", "Lives in Nice")
        await caller.supersede(old.memory_id, "Lives in Lyon")
        back = (await restore(caller, old.memory_id)).memory
        assert (back.revision, back.provenance.trust) == (4, memory_pb2.TRUST_LEVEL_MEDIUM)
        await retract(caller, back.memory_id)
        back = (await restore(caller, old.memory_id, revision=1)).memory
        assert (back.revision, back.provenance.trust) == (6, memory_pb2.TRUST_LEVEL_LOW)
        assert await findings(shared, caller.tenant) == []

    async def test_what_cannot_be_restored(self, caller: Caller, stored: Stored) -> None:
        live = await one(caller)
        why = ("FAILED_PRECONDITION", "MEMORY_NOT_RESTORABLE")
        await refused(restore(caller, live.memory_id), *why)
        archived = (await retract(caller, live.memory_id)).memory
        for number in (2, 7):
            await refused(restore(caller, live.memory_id, revision=number), *why)
        await refused(restore(caller, live.memory_id, etag="x"), "ABORTED", "REVISION_CONFLICT")
        await refused(restore(caller, str(uuid4())), "NOT_FOUND", "MEMORY_NOT_FOUND")
        assert (await restore(caller, live.memory_id, etag=archived.etag)).memory.state == ACTIVE
        await caller.erase_memories(live.memory_id)
        await refused(restore(caller, live.memory_id), "FAILED_PRECONDITION", "MEMORY_ERASED")

    async def test_bindings_hold(self, shared: RunningService, caller: Caller) -> None:
        old = await one(caller, agent="a1")
        await retract(caller, old.memory_id)
        for stranger in (
            shared.caller(),
            shared.caller(caller.tenant, subject="u2"),
            shared.caller(caller.tenant, agent="a2"),
        ):
            await refused(restore(stranger, old.memory_id), "NOT_FOUND", "MEMORY_NOT_FOUND")
            await refused(retract(stranger, old.memory_id), "NOT_FOUND", "MEMORY_NOT_FOUND")
        assert (await restore(shared.caller(caller.tenant, agent="a1"), old.memory_id)).memory.state == ACTIVE

    async def test_a_repeated_request_is_answered_again(self, caller: Caller, stored: Stored) -> None:
        old = await one(caller)
        await caller.supersede(old.memory_id, "Lives in Lyon")
        fixed = request_id()
        first = await restore(caller, old.memory_id, request_id=fixed)
        assert await restore(caller, old.memory_id, request_id=fixed) == first
        assert stored.memory(old.memory_id)["revision"] == 3
        await refused(retract(caller, old.memory_id, request_id=fixed), "ALREADY_EXISTS")

    async def test_an_older_row_put_back_after_a_restore_is_refused(
        self, shared: RunningService, caller: Caller
    ) -> None:
        old = await one(caller)
        new = (await caller.supersede(old.memory_id, "Lives in Lyon")).memory
        await restore(caller, old.memory_id)
        shared.database.execute(
            "UPDATE memory m SET (revision, state, superseded_by, valid_to, update_time, seal) ="
            " (h.revision, h.state, h.superseded_by, h.valid_to, h.update_time, h.seal)"
            " FROM memory_revision h WHERE h.memory_id = m.memory_id AND h.revision = 1 AND m.memory_id = %s",
            (new.memory_id,),
        )
        shared.database.execute("DELETE FROM memory_revision WHERE memory_id = %s", (new.memory_id,))
        answer = await caller.recall("u1", "Lives in Nice Lyon")
        assert new.memory_id in answer.seal_broken_memory_ids
        assert await findings(shared, caller.tenant) != []


class TestAtTheSameMoment:
    async def test_one_memory_is_live_whoever_comes_first(
        self, shared: RunningService, caller: Caller
    ) -> None:
        chain = [await one(caller, item("Nice", slot="home"))]
        for text in ("Lyon", "Metz"):
            chain.append((await caller.supersede(chain[-1].memory_id, item(text, slot="home"))).memory)
        calls: list[Any] = [restore(caller, each.memory_id) for each in (*chain, *chain)]
        calls += [retract(caller, chain[-1].memory_id), caller.write("u1", item("Brest", slot="home"))]
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(answer, grpc.aio.AioRpcError):
                assert reason(answer) in (
                    "MEMORY_NOT_RESTORABLE",
                    "MEMORY_SUPERSEDED",
                    "MEMORY_NOT_ACTIVE",
                    "TRANSACTION_CONFLICT",
                )
        listed = await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
        assert len(listed.memories) <= 1
        assert await findings(shared, caller.tenant) == []


class TestRetract:
    async def test_it_is_archived_with_its_validity_closed(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        start = datetime(2020, 1, 1, tzinfo=UTC)
        old = await one(caller, item("Lives in Nice", validity=memory_pb2.Validity(start_time=at(start))))
        early = at(start - timedelta(days=1))
        error = await refused(retract(caller, old.memory_id, end_time=early), "INVALID_ARGUMENT")
        assert violations(error) == ["end_time"]
        end = datetime(2021, 1, 1, tzinfo=UTC)
        answer = await retract(caller, old.memory_id, end_time=at(end))
        assert (answer.memory.state, answer.memory.revision) == (ARCHIVED, 2)
        assert answer.memory.validity.end_time.ToDatetime(tzinfo=UTC) == end
        assert await caller.contents("u1", "Lives in Nice") == []
        await refused(retract(caller, old.memory_id), "FAILED_PRECONDITION", "MEMORY_NOT_ACTIVE")
        assert len(await events(caller, audit_pb2.AUDIT_ACTION_RETRACT)) == 1
        assert await findings(shared, caller.tenant) == []

    async def test_nobody_takes_away_what_is_trusted_more_than_he_is(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        tool = shared.caller(
            caller.tenant,
            permissions=(Permission.WRITE, Permission.SUPERSEDE),
            source_types=(SourceType.TOOL,),
            max_trust=TrustLevel.LOW,
        )
        write = request_id()
        old = await one(caller, request_id=write)
        error = await refused(retract(tool, old.memory_id), "PERMISSION_DENIED")
        assert error_info(error).metadata["permission"] == "review"
        await refused(undo(tool, write), "PERMISSION_DENIED")
        assert stored.live() == {old.memory_id}


class TestUndo:
    async def test_a_write_is_taken_back(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        held = await one(caller, item("Nice", slot="home"))
        write = request_id()
        results = (
            await caller.write(
                "u1",
                item("Lyon", slot="home"),
                "Likes tea",
                item("Metz", slot="home"),
                "Likes tea",
                request_id=write,
            )
        ).results
        lyon, tea, metz = (results[index].memory.memory_id for index in range(3))
        expected = {lyon: GONE, tea: GONE, metz: GONE, held.memory_id: BACK}
        before = stored.snapshot()
        assert await undo(caller, write, validate_only=True) == expected
        assert stored.snapshot() == before
        fixed = request_id()
        assert await undo(caller, write, request_id=fixed) == expected
        assert await undo(caller, write, request_id=fixed) == expected
        assert stored.live() == {held.memory_id}
        assert await caller.contents("u1", "Nice Lyon Metz tea") == ["Nice"]
        assert not (await caller.get(held.memory_id)).memory.HasField("validity")
        (event,) = await events(caller, audit_pb2.AUDIT_ACTION_UNDO_WRITE)
        assert event.memories_corrected.write_request_id == write
        assert set((await undo(caller, write)).values()) == {LEFT}
        assert await findings(shared, caller.tenant) == []

    async def test_a_correction_is_taken_back(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        old = await one(caller)
        write = request_id()
        new = (await caller.supersede(old.memory_id, "Lives in Lyon", request_id=write)).memory
        assert await undo(caller, write) == {new.memory_id: GONE, old.memory_id: BACK}
        assert stored.live() == {old.memory_id}
        # Undone is not forgotten: it can still be put back.
        assert (await restore(caller, new.memory_id)).superseded_memory_id == old.memory_id
        assert await findings(shared, caller.tenant) == []

    async def test_what_changed_since_is_left(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        write = request_id()
        results = (
            await caller.write("u1", "Likes tea", "Likes figs", "Likes rye", "Likes jam", request_id=write)
        ).results
        tea, figs, rye, jam = (result.memory.memory_id for result in results)
        await caller.write("u1", "Likes tea")
        await caller.supersede(figs, "Likes dates")
        await caller.erase_memories(rye)
        assert await undo(caller, write) == {tea: LEFT, figs: LEFT, rye: LEFT, jam: GONE}
        assert await findings(shared, caller.tenant) == []

    async def test_a_place_that_was_taken_meanwhile_stays_taken(self, caller: Caller, stored: Stored) -> None:
        old = await one(caller, item("Nice", slot="home"))
        write = request_id()
        new = (await caller.supersede(old.memory_id, item("Lyon", slot="city"), request_id=write)).memory
        taken = await one(caller, item("Metz", slot="home"))
        assert await undo(caller, write) == {new.memory_id: GONE, old.memory_id: LEFT}
        assert stored.live() == {taken.memory_id}

    async def test_a_pending_correction_is_taken_back(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
        old = await one(caller)
        write = request_id()
        new = (await weak.supersede(old.memory_id, "Lives in Lyon", request_id=write)).memory
        assert await undo(weak, write) == {new.memory_id: GONE}
        assert stored.live() == {old.memory_id}

    async def test_what_is_no_write_is_not_found(self, shared: RunningService, caller: Caller) -> None:
        why = ("NOT_FOUND", "WRITE_NOT_FOUND")
        await refused(undo(caller, request_id()), *why)
        write, other = request_id(), request_id()
        memory = await one(caller, request_id=write, agent="a1")
        await retract(caller, memory.memory_id, request_id=other)
        await refused(undo(caller, other), *why)
        for stranger in (
            shared.caller(),
            shared.caller(caller.tenant, subject="u2"),
            shared.caller(caller.tenant, agent="a2"),
        ):
            await refused(undo(stranger, write), *why)

    async def test_what_only_restated_or_is_erased_is_out_of_another_agents_reach(
        self, shared: RunningService, caller: Caller
    ) -> None:
        write, again = request_id(), request_id()
        memory = await one(caller, request_id=write, agent="a1")
        await one(caller, request_id=again, agent="a1")
        stranger = shared.caller(caller.tenant, agent="a2")
        await refused(undo(stranger, again), "NOT_FOUND", "WRITE_NOT_FOUND")
        await caller.erase_memories(memory.memory_id)
        await refused(undo(stranger, write), "NOT_FOUND", "WRITE_NOT_FOUND")
        assert await undo(caller, write) == {memory.memory_id: LEFT}

    async def test_a_write_of_an_erased_subject_has_nothing_left(self, caller: Caller) -> None:
        write = request_id()
        memory = await one(caller, request_id=write)
        await caller.erase_subject("u1")
        assert await undo(caller, write) == {memory.memory_id: LEFT}
