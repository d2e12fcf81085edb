"""Audit, GetRecall, ReportUse and ExportAudit over the whole service."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from muniment_server._gen.muniment.v1 import audit_pb2, filter_pb2, memory_pb2, memory_service_pb2
from muniment_server.identity.principal import Permission
from support.history import Copy
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, reason, running_service, scope

Filter = audit_pb2.AuditFilter
A = audit_pb2


@pytest.fixture
async def service(database: PostgresDatabase) -> AsyncIterator[RunningService]:
    async with running_service(database) as running:
        yield running


@pytest.fixture
def caller(service: RunningService) -> Caller:
    return service.caller("acme")


async def pages(caller: Caller, size: int = 0, **restriction: object) -> list[list[A.AuditEvent]]:
    found: list[list[A.AuditEvent]] = []
    token = ""
    while True:
        answer = await caller.call(
            "Audit",
            memory_service_pb2.AuditRequest(filter=Filter(**restriction), page_size=size, page_token=token),
        )
        found.append(list(answer.events))
        token = answer.next_page_token
        if not token:
            return found


async def events(caller: Caller, **restriction: object) -> list[A.AuditEvent]:
    return [event for page in await pages(caller, **restriction) for event in page]


def names(found: list[A.AuditEvent]) -> list[str]:
    return [A.AuditAction.Name(event.action).removeprefix("AUDIT_ACTION_") for event in found]


async def refused(awaited: object) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await awaited  # type: ignore[misc]
    return reason(caught.value)


async def test_a_life_is_told_newest_first(service: RunningService, caller: Caller) -> None:
    written = await caller.write("u1", item("Likes tea", slot="drink"), item("Has a cat"))
    first = written.results[0].memory.memory_id
    recalled = await caller.recall("u1", "tea", token_budget=200)
    replaced = await caller.supersede(first, "Likes coffee")
    await caller.erase_memories(replaced.memory.memory_id)
    told = await events(caller)
    assert names(told) == ["ERASE", "SUPERSEDE", "RECALL", "WRITE"]
    erase, supersede, recall, write = told
    assert [one.memory_id for one in write.memory_written.items] == [
        result.memory.memory_id for result in written.results
    ]
    assert write.memory_written.items[0].kind == memory_pb2.MEMORY_KIND_FACT
    assert write.memory_written.items[0].revision == 1
    assert supersede.memory_superseded.memory_id == first
    assert supersede.memory_superseded.revision == 2
    assert supersede.memory_superseded.successor.memory_id == replaced.memory.memory_id
    assert list(erase.memory_erased.memory_ids) == [replaced.memory.memory_id]
    assert erase.memory_erased.counts.memories == 1
    assert recall.memories_recalled.recall_id == recalled.recall_id
    assert [one.memory_id for one in recall.memories_recalled.memories] == [
        one.memory.memory_id for one in recalled.memories
    ]
    assert recall.memories_recalled.memories[0].score == pytest.approx(recalled.memories[0].score, abs=1e-6)
    assert recall.memories_recalled.memories[0].packed
    assert recall.trace_id == recalled.trace_id
    assert {event.scope.subject for event in told} == {"u1"}
    assert {event.actor.kind for event in told} == {A.ACTOR_KIND_API_KEY}
    assert all(event.outcome == A.AUDIT_OUTCOME_OK for event in told)
    assert all(event.event_time.ToDatetime(UTC) <= datetime.now(UTC) for event in told)


async def test_pages_are_complete_and_not_disturbed(service: RunningService, caller: Caller) -> None:
    """1,137 events in pages of 100, while others write."""
    for _ in range(11):
        await asyncio.gather(*(caller.recall("u1", "anything") for _ in range(103)))
    await asyncio.gather(*(caller.recall("u1", "more") for _ in range(4)))
    expected = {str(row["event_id"]) for row in service.database.rows("SELECT event_id FROM audit_event")}
    assert len(expected) == 1137
    busy = service.caller("acme")

    async def disturb() -> None:
        for number in range(50):
            await busy.write("u2", f"Number {number}")

    disturbing = asyncio.create_task(disturb())
    found = await pages(caller, 100)
    await disturbing
    seen = [event.event_id for page in found for event in page]
    assert [len(page) for page in found[:-1]] == [100] * (len(found) - 1)
    assert len(seen) == len(set(seen))
    assert expected <= set(seen)
    # What was recorded before the first page was read may stand in it; nothing later does.
    assert len(seen) <= len(expected) + 50


async def test_sizes_are_coerced_and_token_are_bound(service: RunningService, caller: Caller) -> None:
    for number in range(3):
        await caller.recall("u1", f"query {number}")
    assert await refused(caller.call("Audit", memory_service_pb2.AuditRequest(page_size=-1))) == (
        "INVALID_REQUEST"
    )
    assert [len(page) for page in await pages(caller, 5000)] == [4 - 1]
    first = await caller.call("Audit", memory_service_pb2.AuditRequest(page_size=2))
    token = first.next_page_token
    assert len(first.events) == 2
    assert token

    async def attempt(who: Caller, token: str, **fields: object) -> str:
        request = memory_service_pb2.AuditRequest(page_size=2, page_token=token, **fields)
        return await refused(who.call("Audit", request))

    turned = ("A" if token[5] != "A" else "B").join((token[:5], token[6:]))
    assert await attempt(caller, turned) == "PAGE_TOKEN_INVALID"
    assert await attempt(caller, "nonsense") == "PAGE_TOKEN_INVALID"
    assert await attempt(caller, token, filter=Filter(principal="x")) == "PAGE_TOKEN_INVALID"
    assert await attempt(service.caller("other"), token) == "PAGE_TOKEN_INVALID"
    assert await attempt(service.caller("acme"), token) == "PAGE_TOKEN_INVALID"
    # The size may change from page to page.
    rest = await caller.call("Audit", memory_service_pb2.AuditRequest(page_size=50, page_token=token))
    assert len(rest.events) >= 1
    assert rest.next_page_token == ""


async def test_a_page_ends_early_rather_than_exceed_what_a_client_receives(
    service: RunningService, caller: Caller
) -> None:
    await caller.write("u1", *(item(f"Number {number} of many") for number in range(100)))
    await caller.write("u1", *(item(f"Number {number + 100} of many") for number in range(100)))
    for _ in range(12):
        await asyncio.gather(
            *(caller.recall("u1", "number of many", limit=200, min_score=0) for _ in range(16))
        )
    found = await pages(caller, 1000)
    assert len(found) > 1
    assert sum(map(len, found)) == 2 + 192
    recalled = [event for page in found for event in page if event.HasField("memories_recalled")]
    assert {len(event.memories_recalled.memories) for event in recalled} == {200}
    for page in found:
        assert memory_service_pb2.AuditResponse(events=page).ByteSize() <= 3.5 * 1024 * 1024


async def test_filters(service: RunningService, caller: Caller) -> None:
    traced = "4bf92f3577b34da6a3ce929d0e0e4736"
    written = await caller.write("u1", "Likes tea", agent="a1")
    memory_id = written.results[0].memory.memory_id
    tool = item("From a tool", provenance=memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_TOOL))
    await caller.write("u2", tool)
    recalled = await caller.call(
        "Recall",
        memory_service_pb2.RecallRequest(scope=scope("u1", agent="a1"), query="tea"),
        traceparent=f"00-{traced}-00f067aa0ba902b7-01",
    )
    await caller.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, memory_ids=[memory_id]),
    )
    other = service.caller("acme")
    await other.recall("u2", "tool")
    await service.sealed()
    one = (await events(caller, trace_id=traced))[0]
    assert one.memories_recalled.recall_id == recalled.recall_id
    assert names(await events(caller, memory_id=memory_id)) == ["REPORT_USE", "RECALL", "WRITE"]
    assert names(await events(caller, recall_id=recalled.recall_id)) == ["REPORT_USE", "RECALL"]
    u1 = await events(caller, scope=scope("u1"))
    assert names(u1) == ["REPORT_USE", "RECALL", "WRITE"]
    assert {event.scope.agent for event in u1} == {"a1"}
    # Reading about a subject concerns the subject too.
    assert names(await events(caller, scope=scope("u1")))[0] == "READ_AUDIT"
    assert names(await events(caller, scope=scope("u1", agent="a1"))) == ["REPORT_USE", "RECALL", "WRITE"]
    assert await events(caller, scope=scope("u1", agent="a2")) == []
    assert await events(caller, scope=memory_pb2.Scope(space="u1")) == []
    principal = one.actor.principal
    assert names(await events(caller, principal=principal, actions=[A.AUDIT_ACTION_RECALL])) == ["RECALL"]
    assert len(await events(caller, actions=[A.AUDIT_ACTION_RECALL])) == 2
    by_source = await events(caller, source_types=[memory_pb2.SOURCE_TYPE_TOOL])
    assert [event.scope.subject for event in by_source] == ["u2"]
    assert await events(caller, outcomes=[A.AUDIT_OUTCOME_DENIED]) == []
    moment = one.event_time.ToDatetime(UTC)

    def between(start: datetime, end: datetime) -> filter_pb2.TimeRange:
        made = filter_pb2.TimeRange()
        made.start_time.FromDatetime(start)
        made.end_time.FromDatetime(end)
        return made

    micro = timedelta(microseconds=1)
    assert await events(caller, event_time=between(moment, moment + micro)) == [one]
    assert await events(caller, event_time=between(moment - micro, moment)) == []
    assert one in await events(
        caller, event_time=between(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
    )


async def test_a_memorys_events_are_found_before_they_are_chained(database: PostgresDatabase) -> None:
    async with running_service(database) as service:
        assert service.service.sealer is not None
        await service.service.sealer.stop()
        caller = service.caller("acme")
        memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
        found = await events(caller, memory_id=memory_id)
        assert names(found) == ["WRITE"]
        assert (found[0].sequence, found[0].digest, found[0].prev_digest) == (0, b"", b"")


async def test_a_bound_credential_sees_its_subject_only(service: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    recalled = await caller.recall("u1", "tea")
    mine = await caller.write("u2", "Plays the cello")
    theirs = await caller.recall("u2", "cello")
    bound = service.caller("acme", subject="u2")
    assert {event.scope.subject for event in await events(bound)} == {"u2"}
    assert await events(bound, recall_id=recalled.recall_id) == []
    assert await events(bound, memory_id=mine.results[0].memory.memory_id)
    assert await refused(
        bound.call("Audit", memory_service_pb2.AuditRequest(filter=Filter(scope=scope("u1"))))
    ) == ("PERMISSION_DENIED")
    assert await refused(bound.call("GetRecall", A.GetRecallRequest(recall_id=recalled.recall_id))) == (
        "RECALL_NOT_FOUND"
    )
    answer = await bound.call("GetRecall", A.GetRecallRequest(recall_id=theirs.recall_id))
    assert answer.receipt.scope.subject == "u2"
    report = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id)
    assert await refused(bound.call("ReportUse", report)) == "RECALL_NOT_FOUND"

    async def export() -> None:
        async for _ in bound.audit.ExportAudit(A.ExportAuditRequest(), metadata=bound.metadata):
            pytest.fail("a bound credential exported the tenant's chain")

    assert await refused(export()) == "PERMISSION_DENIED"


async def test_another_tenant_sees_nothing(service: RunningService, caller: Caller) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    recalled = await caller.recall("u1", "tea")
    other = service.caller("other")
    assert await events(other) == []
    assert await events(other, memory_id=memory_id) == []
    assert await events(other, trace_id=recalled.trace_id) == []
    foreign = refused(other.call("GetRecall", A.GetRecallRequest(recall_id=recalled.recall_id)))
    unknown = refused(other.call("GetRecall", A.GetRecallRequest(recall_id=str(uuid4()))))
    assert await foreign == await unknown == "RECALL_NOT_FOUND"
    report = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id)
    assert await refused(other.call("ReportUse", report)) == "RECALL_NOT_FOUND"


async def test_a_label_is_shown_as_long_as_it_can_be_read(service: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    recalled = await caller.recall("u1", "tea")
    (recall,) = await events(caller, actions=[A.AUDIT_ACTION_RECALL])
    assert recall.scope.subject == "u1"
    await caller.erase_subject("u1")
    (recall,) = await events(caller, actions=[A.AUDIT_ACTION_RECALL])
    assert not recall.HasField("scope")
    assert recall.scope_id
    receipt = (await caller.call("GetRecall", A.GetRecallRequest(recall_id=recalled.recall_id))).receipt
    assert not receipt.HasField("scope")
    assert [one.memory_id for one in receipt.recalled.memories] == [
        one.memory.memory_id for one in recalled.memories
    ]


async def test_use_reports(service: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea", "Likes green tea best")
    recalled = await caller.recall("u1", "tea", narrowing={})
    ids = [one.memory.memory_id for one in recalled.memories]
    report = memory_service_pb2.ReportUseRequest(
        recall_id=recalled.recall_id,
        memory_ids=[ids[1].upper()],
        outcome=A.USE_OUTCOME_HELPFUL,
        model="some-model",
        prompt_ref="run-7",
        request_id=str(uuid4()),
    )
    first = await caller.call("ReportUse", report)
    again = await caller.call("ReportUse", report)
    assert first == again
    assert first.request_id == report.request_id
    await caller.call("ReportUse", memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id))
    receipt = (await caller.call("GetRecall", A.GetRecallRequest(recall_id=recalled.recall_id))).receipt
    assert receipt.recall_id == recalled.recall_id
    assert receipt.trace_id == recalled.trace_id
    assert [one.memory_id for one in receipt.recalled.memories] == ids
    assert [list(use.used.memory_ids) for use in receipt.uses] == [[ids[1]], []]
    used = receipt.uses[0].used
    assert (used.outcome, used.model, used.prompt_ref) == (A.USE_OUTCOME_HELPFUL, "some-model", "run-7")
    assert receipt.uses[0].event_id == first.event_id
    changed = memory_service_pb2.ReportUseRequest()
    changed.CopyFrom(report)
    changed.model = "another"
    assert await refused(caller.call("ReportUse", changed)) == "REQUEST_ID_PAYLOAD_MISMATCH"
    stranger = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, memory_ids=[str(uuid4())])
    assert await refused(caller.call("ReportUse", stranger)) == "MEMORY_NOT_IN_RECALL"
    unknown = memory_service_pb2.ReportUseRequest(recall_id=str(uuid4()))
    assert await refused(caller.call("ReportUse", unknown)) == "RECALL_NOT_FOUND"
    count = service.database.row("SELECT count(*) AS n FROM audit_event WHERE action = 5 AND outcome = 1")
    assert count["n"] == 2


async def test_the_same_report_at_the_same_time_is_recorded_once(
    service: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    recalled = await caller.recall("u1", "tea")
    report = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, request_id=str(uuid4()))
    answers = await asyncio.gather(*(caller.call("ReportUse", report) for _ in range(8)))
    assert len({answer.event_id for answer in answers}) == 1
    count = service.database.row("SELECT count(*) AS n FROM audit_event WHERE action = 5")
    assert count["n"] == 1


async def test_the_old_trace_still_names_what_was_offered(service: RunningService, caller: Caller) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    before = await caller.recall("u1", "tea")
    empty = await caller.recall("u9", "tea")
    await caller.supersede(memory_id, "Likes coffee")
    await caller.erase_subject("u1")
    (told,) = await events(caller, trace_id=before.trace_id)
    (offered,) = told.memories_recalled.memories
    assert (offered.memory_id, offered.revision, offered.rank) == (memory_id, 1, 1)
    assert offered.leg_scores
    (nothing,) = await events(caller, trace_id=empty.trace_id)
    assert nothing.memories_recalled.no_relevant_memory
    assert not nothing.memories_recalled.memories


async def test_reading_is_recorded_once_for_all_pages(service: RunningService, caller: Caller) -> None:
    for number in range(5):
        await caller.recall("u1", f"query {number}")
    assert [len(page) for page in await pages(caller, 2)] == [2, 2, 1]
    recall_id = (await events(caller, actions=[A.AUDIT_ACTION_RECALL]))[0].memories_recalled.recall_id
    await caller.call("GetRecall", A.GetRecallRequest(recall_id=recall_id))
    readings = await events(caller, actions=[A.AUDIT_ACTION_READ_AUDIT])
    assert len(readings) == 3
    # Who looked at a receipt does not belong to the receipt.
    assert names(await events(caller, recall_id=recall_id)) == ["RECALL"]


async def test_the_permission_is_needed(service: RunningService) -> None:
    without = service.caller("acme", permissions=[Permission.RECALL, Permission.WRITE])
    assert await refused(without.call("Audit", memory_service_pb2.AuditRequest())) == "PERMISSION_DENIED"
    assert await refused(without.call("GetRecall", A.GetRecallRequest(recall_id=str(uuid4())))) == (
        "PERMISSION_DENIED"
    )
    auditor = service.caller("acme", permissions=[Permission.AUDIT])
    denied = await events(auditor, outcomes=[A.AUDIT_OUTCOME_DENIED])
    assert names(denied) == ["READ_AUDIT", "READ_AUDIT"]
    assert denied[0].access_denied.permission == "audit"
    assert denied[0].reason != 0


async def test_a_changed_event_is_marked_and_never_told(service: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    recalled = await caller.recall("u1", "tea")
    untouched = await caller.recall("u1", "tea again")
    await service.sealed()
    Copy(service.database, None).tamper(  # type: ignore[arg-type]
        "UPDATE audit_event SET payload = convert_to(replace(convert_from(payload, 'UTF8'),"
        " '\"rank\":1', '\"rank\":9'), 'UTF8') WHERE recall_id = %(id)s",
        id=recalled.recall_id,
    )
    told = await events(caller)
    assert names(told) == ["RECALL", "UNSPECIFIED", "WRITE"]
    mark = told[1]
    assert mark.sequence == 2
    assert mark.integrity_violation.count == 1
    assert mark.WhichOneof("details") == "integrity_violation"
    assert not mark.HasField("event_time")
    assert not mark.HasField("actor")
    assert await refused(caller.call("GetRecall", A.GetRecallRequest(recall_id=recalled.recall_id))) == (
        "INTEGRITY_VIOLATION"
    )
    report = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id)
    assert await refused(caller.call("ReportUse", report)) == "INTEGRITY_VIOLATION"
    assert (await caller.call("GetRecall", A.GetRecallRequest(recall_id=untouched.recall_id))).receipt
    found = await events(caller, actions=[A.AUDIT_ACTION_INTEGRITY_CHECK])
    assert len(found) == 3
    assert {event.integrity_violation.check for event in found} == {"chain"}


async def test_a_forged_scope_column_shows_nothing_to_a_bound_credential(
    service: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    await caller.write("u2", "Plays the cello")
    Copy(service.database, None).tamper(  # type: ignore[arg-type]
        "UPDATE audit_event SET scope_id = (SELECT scope_id FROM audit_event ORDER BY event_id DESC LIMIT 1)"
    )
    bound = service.caller("acme", subject="u2")
    told = await events(bound)
    assert names(told) == ["WRITE", "UNSPECIFIED"]
    assert not told[1].memory_written.items


class Export:
    """An export as somebody outside checks it: nothing but hashlib and an Ed25519 library."""

    def __init__(self, parts: list[A.ExportAuditResponse]) -> None:
        self.header = parts[0].header
        self.trailer = parts[-1].trailer
        self.events = [event for part in parts for event in part.events.events]
        self.checkpoints = [part.checkpoint for part in parts if part.HasField("checkpoint")]

    def holds(self) -> bool:
        digest, sequence = self.header.first_prev_digest, self.header.first_sequence - 1
        known: dict[int, bytes] = {}
        for event in self.events:
            sequence += 1
            step = b"muniment.audit.v1\0" + digest + event.sequence.to_bytes(8) + event.canonical_bytes
            if (event.sequence, event.prev_digest, event.digest) != (
                sequence,
                digest,
                hashlib.sha256(step).digest(),
            ):
                return False
            digest = event.digest
            known[sequence] = digest
        keys = {key.signing_key_id: key.public_key for key in self.header.signing_keys}
        for checkpoint in self.checkpoints:
            signed = json.loads(checkpoint.signed_bytes)
            public = Ed25519PublicKey.from_public_bytes(keys[checkpoint.signing_key_id])
            public.verify(checkpoint.signature, checkpoint.signed_bytes)
            if signed["tenant_id"] != self.header.tenant_id:
                return False
            if bytes.fromhex(signed["digest"]) != known[checkpoint.sequence]:
                return False
        return (self.trailer.last_digest, self.trailer.event_count) == (digest, len(self.events))


async def export(caller: Caller, **request: int) -> Export:
    stream = caller.audit.ExportAudit(A.ExportAuditRequest(**request), metadata=caller.metadata)
    return Export([part async for part in stream])


async def test_an_export_can_be_checked_outside(service: RunningService, caller: Caller) -> None:
    for number in range(30):
        await caller.write("u1", f"Number {number}")
    await caller.recall("u1", "number", limit=20)
    whole = await export(caller)
    assert whole.holds()
    assert whole.header.tenant == "acme"
    # Its own reading is chained before it begins, and signed.
    assert whole.trailer.event_count == 32
    assert whole.trailer.unchained_count == 0
    assert whole.checkpoints[-1].sequence == 32
    assert json.loads(whole.events[-1].canonical_bytes)["action"] == A.AUDIT_ACTION_READ_AUDIT
    part = await export(caller, from_sequence=11, to_sequence=20)
    assert part.holds()
    assert [event.sequence for event in part.events] == list(range(11, 21))
    assert part.header.first_prev_digest == whole.events[9].digest
    nothing = await export(caller, from_sequence=500)
    assert (nothing.header.first_sequence, nothing.trailer.event_count) == (0, 0)
    assert not nothing.events
    assert "Number" not in repr(whole.events)


async def test_a_broken_chain_is_exported_as_it_is(service: RunningService, caller: Caller) -> None:
    for number in range(6):
        await caller.write("u1", f"Number {number}")
    await service.sealed()
    Copy(service.database, None).tamper(  # type: ignore[arg-type]
        "DELETE FROM audit_event WHERE event_id = (SELECT event_id FROM audit_chain WHERE sequence = 3)"
    )
    broken = await export(caller)
    assert len(broken.events) == 7
    assert broken.events[2].canonical_bytes == b""
    assert not broken.holds()
