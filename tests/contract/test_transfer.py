"""Taking memories along and taking them in: the same statements, no more trust than the credential gives."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from contract.stored import OK, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import (
    correction_pb2,
    memory_pb2,
    subject_pb2,
    write_pb2,
)
from muniment_server.application import export_memories
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.storage.database import Row, UnitOfWork
from support.service import (
    EVENT,
    PREFERENCE,
    Caller,
    RunningService,
    error_info,
    item,
    request_id,
    scope,
    violations,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

ACTIVE, ARCHIVED, SUPERSEDED = (
    memory_pb2.MEMORY_STATE_ACTIVE,
    memory_pb2.MEMORY_STATE_ARCHIVED,
    memory_pb2.MEMORY_STATE_SUPERSEDED,
)
EXPORT_MEMORIES, IMPORT_MEMORIES = 18, 19
CREATED, SUPERSEDED_PREVIOUS, DROPPED = (
    write_pb2.WRITE_OUTCOME_CREATED,
    write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS,
    write_pb2.WRITE_OUTCOME_DROPPED,
)
STATED = memory_pb2.SOURCE_TYPE_USER_STATED


async def taken(caller: Caller, subject: str = "u1", **fields: Any) -> list[subject_pb2.MemoryRecord]:
    """Everything of a subject; the last message says how many records there were."""
    request = subject_pb2.ExportMemoriesRequest(scope=scope(subject), **fields)
    records: list[subject_pb2.MemoryRecord] = []
    last = None
    async for part in caller.subject.ExportMemories(request, metadata=caller.metadata, timeout=30):
        records += part.records
        last = part
    assert last is not None
    assert last.record_count == len(records)
    return records


async def bring(
    caller: Caller, records: list[subject_pb2.MemoryRecord], subject: str = "u1", **fields: Any
) -> subject_pb2.ImportMemoriesResponse:
    request = subject_pb2.ImportMemoriesRequest(scope=scope(subject), records=records, **fields)
    return await caller.call("ImportMemories", request)


def record(content: str, **fields: Any) -> subject_pb2.MemoryRecord:
    labels = {name: fields.pop(name) for name in ("state", "agent", "session", "memory_id") if name in fields}
    return subject_pb2.MemoryRecord(item=item(content, **fields), **labels)


def told(records: list[subject_pb2.MemoryRecord]) -> list[tuple[Any, ...]]:
    """What must be the same wherever a memory goes."""
    return sorted(
        (
            one.item.content,
            one.item.kind,
            one.item.slot,
            sorted(one.item.tags),
            sorted(json_format.MessageToJson(value) for value in one.item.properties.values()),
            json_format.MessageToJson(one.item.attributes),
            one.item.speaker,
            one.item.provenance.source_type,
            one.item.provenance.session,
            one.item.provenance.confidence,
            one.item.validity.start_time.ToJsonString(),
            one.item.expire_time.ToJsonString() if one.item.HasField("expire_time") else "",
            one.agent,
            one.session,
            one.state,
        )
        for one in records
    )


async def lived(caller: Caller) -> None:
    """A subject with a bit of everything."""
    attributes = Struct()
    attributes.update({"source": "crm", "rows": [1, 2]})
    start = memory_pb2.Validity()
    start.start_time.FromDatetime(datetime(2024, 5, 6, tzinfo=UTC))
    stated = memory_pb2.Provenance(source_type=STATED, session="s9", confidence=0.75)
    full = item(
        "Likes figs",
        PREFERENCE,
        slot="fruit",
        tags=["a", "c'%_"],
        properties={"rank": memory_pb2.PropertyValue(number_value=2.5)},
        attributes=attributes,
        speaker="Ada",
        provenance=stated,
        validity=start,
    )
    full.expire_time.FromDatetime(datetime(9000, 1, 1, tzinfo=UTC))
    await caller.write("u1", full, "喜欢喝茶 🍵")
    await caller.write("u1", "Only for one agent", agent="a1")
    await caller.write("u1", "Only in one session", session="s1")
    old, gone = (one.memory for one in (await caller.write("u1", "Lives in Nice", "Was in Metz")).results)
    await caller.supersede(old.memory_id, "Lives in Lyon")
    await caller.call("Retract", correction_pb2.RetractRequest(memory_id=gone.memory_id))


class TestThereAndBack:
    async def test_the_same_statements_after_an_erasure(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        await lived(caller)
        before = await taken(caller)
        assert [one.item.content for one in before if one.state == SUPERSEDED] == ["Lives in Nice"]
        assert all(one.memory_id and one.HasField("create_time") for one in before)
        lines = [json_format.MessageToJson(one, indent=None, ensure_ascii=False) for one in before]
        assert any("喜欢喝茶 🍵" in line for line in lines)
        await caller.erase_subject("u1")
        assert await taken(caller) == []
        parsed = [json_format.Parse(line, subject_pb2.MemoryRecord()) for line in lines]
        answer = await bring(caller, parsed)
        left = {one.rule for one in answer.results if one.outcome == write_pb2.WRITE_OUTCOME_DROPPED}
        assert left == {"STATE_NOT_IMPORTED"}
        assert all(one.explanation for one in answer.results if one.rule)
        after = await taken(caller)
        assert told(after) == told([one for one in before if one.state != SUPERSEDED])
        assert {one.memory_id for one in after}.isdisjoint(one.memory_id for one in before)
        (event,) = stored.events(IMPORT_MEMORIES, OK)
        items = event["payload"]["details"]["memory_written"]["items"]
        assert [one["origin_id"] for one in items] == [one.memory_id for one in before]
        assert len(stored.events(EXPORT_MEMORIES, OK)) == 3
        assert await findings(shared, caller.tenant) == []

    async def test_again_changes_nothing(self, caller: Caller, stored: Stored) -> None:
        await lived(caller)
        before = await taken(caller, states=[ACTIVE, ARCHIVED])
        answer = await bring(caller, before)
        outcomes = {(one.outcome, one.rule) for one in answer.results}
        assert outcomes == {
            (write_pb2.WRITE_OUTCOME_REINFORCED, ""),
            (write_pb2.WRITE_OUTCOME_DROPPED, "ALREADY_STORED"),
        }
        assert told(await taken(caller, states=[ACTIVE, ARCHIVED])) == told(before)

    async def test_what_was_archived_can_be_restored(self, shared: RunningService, caller: Caller) -> None:
        answer = await bring(caller, [record("Was in Metz", state=ARCHIVED)])
        memory = answer.results[0].memory
        assert memory.state == ARCHIVED
        assert await caller.contents("u1", "Was in Metz") == []
        restored = await caller.call("Restore", correction_pb2.RestoreRequest(memory_id=memory.memory_id))
        assert restored.memory.state == ACTIVE
        assert await caller.contents("u1", "Was in Metz") == ["Was in Metz"]
        assert await findings(shared, caller.tenant) == []

    async def test_many_in_several_pages_and_messages(
        self, caller: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(export_memories, "_ROWS", 4)
        monkeypatch.setattr(export_memories, "_MESSAGE_BYTES", 3_000)
        texts = [f"Likes number {number}" for number in range(9)]
        await caller.write("u1", *texts)
        request = subject_pb2.ExportMemoriesRequest(scope=scope("u1"))
        sent = caller.subject.ExportMemories(request, metadata=caller.metadata, timeout=30)
        parts = [part async for part in sent]
        assert len(parts) > 3
        assert [one.item.content for part in parts for one in part.records] == texts
        assert parts[-1].record_count == 9


class TestImport:
    async def test_a_dry_run_changes_nothing(self, caller: Caller, stored: Stored) -> None:
        there = (await caller.write("u1", "Likes tea")).results[0].memory
        before = stored.snapshot()
        answer = await bring(
            caller, [record("Likes tea"), record("Likes figs")], validate_only=True, request_id=request_id()
        )
        assert [one.outcome for one in answer.results] == [
            write_pb2.WRITE_OUTCOME_REINFORCED,
            write_pb2.WRITE_OUTCOME_CREATED,
        ]
        assert answer.results[0].memory.memory_id == there.memory_id
        assert not answer.results[1].HasField("memory")
        assert stored.snapshot() == before

    async def test_into_nothing_as_well(self, caller: Caller, stored: Stored) -> None:
        answer = await bring(caller, [record("Likes figs")], validate_only=True)
        assert answer.results[0].outcome == write_pb2.WRITE_OUTCOME_CREATED
        assert stored.count("scope") == 0

    async def test_all_or_none(self, caller: Caller, stored: Stored) -> None:
        bad = record(" ")
        error = await refused(bring(caller, [record("Likes figs"), bad]), "INVALID_ARGUMENT")
        assert violations(error) == ["records[1].item.content"]
        assert stored.count("memory") == 0

    async def test_what_the_gates_refuse_is_named_by_its_place(self, caller: Caller, stored: Stored) -> None:
        card = record("Pays by card", tags=["4111 1111 1111 1111"], agent="a1")
        error = await refused(
            bring(caller, [record("Likes figs"), record("Likes tea", agent="a1"), card]),
            "INVALID_ARGUMENT",
            "CONTENT_REFUSED",
        )
        assert violations(error) == ["records[2].item.tags[0]"]
        assert error_info(error).metadata["item"] == "2"
        assert stored.count("memory") == 0

    async def test_it_is_repeated_and_taken_back_by_its_request_id(
        self, shared: RunningService, caller: Caller, stored: Stored
    ) -> None:
        held = (await caller.write("u1", item("Nice", slot="home"))).results[0].memory
        fixed = request_id()
        records = [record("Lyon", slot="home"), record("Likes figs", agent="a1")]
        first = await bring(caller, records, request_id=fixed)
        assert await bring(caller, records, request_id=fixed) == first
        assert stored.count("memory") == 3
        answer = await caller.call("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=fixed))
        outcomes = {one.memory_id: one.outcome for one in answer.memories}
        assert outcomes == {
            first.results[0].memory.memory_id: correction_pb2.UNDO_OUTCOME_ARCHIVED,
            first.results[1].memory.memory_id: correction_pb2.UNDO_OUTCOME_ARCHIVED,
            held.memory_id: correction_pb2.UNDO_OUTCOME_RESTORED,
        }
        assert stored.live() == {held.memory_id}
        assert await findings(shared, caller.tenant) == []

    async def test_no_trust_is_brought_along(self, shared: RunningService, caller: Caller) -> None:
        claimed = memory_pb2.Provenance(source_type=STATED, trust=memory_pb2.TRUST_LEVEL_CONFIRMED)
        weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
        answer = await bring(weak, [record("Likes figs", provenance=claimed)])
        assert answer.results[0].memory.provenance.trust == memory_pb2.TRUST_LEVEL_LOW
        tool = shared.caller(caller.tenant, source_types=(SourceType.TOOL,))
        error = await refused(
            bring(tool, [record("Likes rye"), record("Likes figs", provenance=claimed)]),
            "PERMISSION_DENIED",
            "SOURCE_NOT_ALLOWED",
        )
        assert error_info(error).metadata["item"] == "1"

    async def test_an_event_without_a_start_began_when_it_was_recorded(self, caller: Caller) -> None:
        met = record("Met Bo", kind=EVENT)
        met.create_time.FromDatetime(datetime(2020, 2, 3, tzinfo=UTC))
        likes = record("Likes figs")
        likes.create_time.CopyFrom(met.create_time)
        first, second = (await bring(caller, [met, likes])).results
        assert first.memory.validity.start_time == met.create_time
        assert not second.memory.HasField("validity")

    async def test_consent_and_bindings(self, shared: RunningService, caller: Caller) -> None:
        decision = subject_pb2.SetConsentRequest(scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_NONE)
        await caller.call("SetConsent", decision)
        answer = await bring(caller, [record("Likes figs"), record("Likes tea", state=ARCHIVED)])
        assert [one.rule for one in answer.results] == ["CONSENT_NONE"] * 2
        bound = shared.caller(caller.tenant, subject="u2", agent="a1")
        await refused(bring(bound, [record("Likes figs")]), "PERMISSION_DENIED")
        await refused(bring(bound, [record("Likes figs", agent="a2")], "u2"), "PERMISSION_DENIED")
        assert len((await bring(bound, [record("Likes figs", agent="a1")], "u2")).results) == 1

    async def test_sessions_cost_no_round_trips(
        self, shared: RunningService, caller: Caller, stored: Stored, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trips = []
        fetch = UnitOfWork.fetch
        # What health and the queues ask meanwhile is not counted.
        of_an_import = {
            "scope_lock",
            "consent_events",
            "write_candidates",
            "import_known",
            "idempotency_read",
        }

        async def counted(work: UnitOfWork, name: str, /, **values: Any) -> list[Row]:
            trips.append(name)
            return await fetch(work, name, **values)

        def many(sessions: int) -> list[subject_pb2.MemoryRecord]:
            return [
                subject_pb2.MemoryRecord(
                    item=item(f"Fact {number}", slot=f"slot-{number % 3}" if number % 7 == 0 else ""),
                    state=ARCHIVED if number % 5 == 0 else ACTIVE,
                    session=f"s{number % sessions}",
                )
                for number in range(100)
            ]

        await caller.write("u2", "Something")
        monkeypatch.setattr(UnitOfWork, "fetch", counted)
        counts = []
        for subject, sessions in (("u1", 1), ("u2", 100)):
            trips.clear()
            results = (await bring(caller, many(sessions), subject)).results
            counts.append(len([name for name in trips if name in of_an_import]))
            assert {one.outcome for one in results} <= {CREATED, SUPERSEDED_PREVIOUS}
        # The first has to make the row of the subject; the second has a hundred times as many sessions.
        assert counts == [5, 3]
        by_session = {row["session"] for row in stored.rows("memory", "session IS NOT NULL")}
        assert len(by_session) == 100
        assert stored.count("memory", "session IS NOT NULL") == 200
        scopes = stored.rows("scope")
        assert sorted(row["generation"] for row in scopes) == [1, 2]
        assert sorted(row["next_doc"] for row in scopes) == [101, 102]
        assert await findings(shared, caller.tenant) == []

    async def test_archived_and_live_in_one_session(self, caller: Caller, stored: Stored) -> None:
        """In the order of the records, each against what those before it left."""
        fact = item("Lives in Nice", slot="home")
        later = item("Lives in Lyon", slot="home")
        records = [
            subject_pb2.MemoryRecord(item=one, state=state, session="s1")
            for one, state in (
                (fact, ARCHIVED),
                (fact, ARCHIVED),
                (fact, ACTIVE),
                (later, ACTIVE),
                (later, ARCHIVED),
            )
        ]
        results = (await bring(caller, records)).results
        assert [(one.outcome, one.rule) for one in results] == [
            (CREATED, ""),
            (DROPPED, "ALREADY_STORED"),
            (CREATED, ""),
            (SUPERSEDED_PREVIOUS, ""),
            (DROPPED, "ALREADY_STORED"),
        ]
        assert stored.live() == {results[3].memory.memory_id}
        states = sorted(row["state"] for row in stored.rows("memory"))
        assert states == [ACTIVE, SUPERSEDED, ARCHIVED]

    async def test_ids_and_times_are_checked(self, caller: Caller) -> None:
        assert violations(
            await refused(bring(caller, [record("Likes figs", memory_id="12")]), "INVALID_ARGUMENT")
        ) == ["records[0].memory_id"]
        assert (await bring(caller, [record("Likes figs", memory_id=str(uuid4()))])).results[0].memory


class TestExport:
    async def test_bindings_hold(self, shared: RunningService, caller: Caller) -> None:
        await lived(caller)
        assert await taken(shared.caller()) == []
        bound = shared.caller(caller.tenant, agent="a2")
        seen = [one.item.content for one in await taken(bound)]
        assert "Only for one agent" not in seen
        assert "Only in one session" in seen
        await refused(taken(shared.caller(caller.tenant, subject="u2")), "PERMISSION_DENIED")

    async def test_withdrawn_consent_still_lets_the_subject_see(self, caller: Caller) -> None:
        await caller.write("u1", "Likes tea")
        decision = subject_pb2.SetConsentRequest(scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_NONE)
        await caller.call("SetConsent", decision)
        assert [one.item.content for one in await taken(caller)] == ["Likes tea"]

    async def test_what_was_changed_behind_the_service_is_named(
        self, shared: RunningService, caller: Caller
    ) -> None:
        good, bad = (one.memory for one in (await caller.write("u1", "Likes tea", "Likes figs")).results)
        shared.database.execute("UPDATE memory SET trust = 5 WHERE memory_id = %s", (bad.memory_id,))
        request = subject_pb2.ExportMemoriesRequest(scope=scope("u1"))
        parts = [
            part
            async for part in caller.subject.ExportMemories(request, metadata=caller.metadata, timeout=30)
        ]
        assert [one for part in parts for one in part.seal_broken_memory_ids] == [bad.memory_id]
        assert [one.memory_id for part in parts for one in part.records] == [good.memory_id]

    async def test_a_narrowed_scope_is_refused(self, caller: Caller) -> None:
        request = subject_pb2.ExportMemoriesRequest(scope=scope("u1", agent="a1"))

        async def narrowed() -> None:
            async for _ in caller.subject.ExportMemories(request, metadata=caller.metadata, timeout=30):
                pass

        assert violations(await refused(narrowed(), "INVALID_ARGUMENT")) == ["scope"]
