"""The trail: every call leaves its event, every recall its receipt, and both outlive what they tell of."""

import os
from hashlib import sha256
from typing import Any
from uuid import uuid4

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from contract.stored import ERASE, OK, RECALL, REPORT_USE, SUPERSEDE, WRITE, Stored, memory_ids, refused
from contract.trail import record_events
from muniment_server._gen.muniment.v1 import audit_pb2, memory_pb2, memory_service_pb2, write_pb2
from muniment_server.audit.events import AuditAction
from support.service import Caller, RunningService, error_info, item, request_id, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _traceparent() -> tuple[str, str, str]:
    trace, parent = os.urandom(16).hex(), os.urandom(8).hex()
    return trace, parent, f"00-{trace}-{parent}-01"


async def _audit(caller: Caller, **restriction: Any) -> list[audit_pb2.AuditEvent]:
    request = memory_service_pb2.AuditRequest(filter=audit_pb2.AuditFilter(**restriction), page_size=1_000)
    return list((await caller.call("Audit", request)).events)


async def _receipt(caller: Caller, recall_id: str) -> audit_pb2.RecallReceipt:
    answer = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recall_id))
    receipt: audit_pb2.RecallReceipt = answer.receipt
    return receipt


async def test_every_call_leaves_its_event_with_all_that_is_known_of_it(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    trace, _, traceparent = _traceparent()
    marks = {name: request_id() for name in ("Write", "Supersede", "Erase", "ReportUse")}
    options = {"traceparent": traceparent, "muniment_client": "muniment-go/1.2"}
    write = memory_service_pb2.WriteRequest(
        scope=scope("u1", agent="a1", session="s1"), items=[item("Likes tea")], request_id=marks["Write"]
    )
    memory_id = (await caller.call("Write", write, **options)).results[0].memory.memory_id
    place = scope("u1", agent="a1", session="s1")
    recall = memory_service_pb2.RecallRequest(scope=place, query="tea")
    recall_id = (await caller.call("Recall", recall, **options)).recall_id
    use = memory_service_pb2.ReportUseRequest(
        recall_id=recall_id,
        memory_ids=[memory_id],
        outcome="USE_OUTCOME_HELPFUL",
        model="m-1",
        prompt_ref="run:7",
        request_id=marks["ReportUse"],
    )
    used = await caller.call("ReportUse", use, **options)
    correct = memory_service_pb2.SupersedeRequest(
        memory_id=memory_id, item=item("Likes jam"), request_id=marks["Supersede"]
    )
    new = (await caller.call("Supersede", correct, **options)).memory
    erase = memory_service_pb2.EraseRequest(
        target={"memories": {"memory_ids": [new.memory_id]}}, request_id=marks["Erase"]
    )
    erased = (await caller.call("Erase", erase, **options)).receipt
    await shared.sealed()
    events = await _audit(caller, trace_id=trace)
    assert [event.action for event in events] == [ERASE, SUPERSEDE, REPORT_USE, RECALL, WRITE]
    for event in events:
        assert event.outcome == OK
        assert (event.trace_id, len(event.span_id)) == (trace, 16)
        assert event.actor.kind == audit_pb2.ACTOR_KIND_API_KEY
        assert event.actor.client == "muniment-go/1.2"
        assert event.sequence > 0
        assert len(event.digest) == len(event.prev_digest) == 32
        assert event.scope.subject == "u1"
    erasing, correcting, using, recalling, writing = events
    assert writing.scope == recalling.scope == using.scope == correcting.scope == place
    assert [event.request_id for event in events] == [
        marks["Erase"], marks["Supersede"], marks["ReportUse"], "", marks["Write"],
    ]  # fmt: skip
    (written,) = writing.memory_written.items
    assert (written.memory_id, written.revision) == (memory_id, 1)
    assert written.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert written.kind == memory_pb2.MEMORY_KIND_FACT
    assert written.source_type == memory_pb2.SOURCE_TYPE_AGENT_INFERRED
    assert written.trust == memory_pb2.TRUST_LEVEL_MEDIUM
    assert recalling.memories_recalled.recall_id == recall_id
    assert using.event_id == used.event_id
    assert using.memories_used == audit_pb2.MemoriesUsed(
        recall_id=recall_id,
        memory_ids=[memory_id],
        outcome="USE_OUTCOME_HELPFUL",
        model="m-1",
        prompt_ref="run:7",
    )
    assert (correcting.memory_superseded.memory_id, correcting.memory_superseded.revision) == (memory_id, 2)
    assert correcting.memory_superseded.successor.memory_id == new.memory_id
    assert erasing.event_id == erased.event_id
    assert erasing.memory_erased.erasure_id == erased.erasure_id
    assert list(erasing.memory_erased.memory_ids) == [new.memory_id]
    assert stored.count("audit_event") == 5 + 1


async def test_the_trail_names_exactly_what_was_put_into_an_answer_for_ever(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    written = await caller.write("u1", *(f"Fact number {number}" for number in range(7)))
    trace, _, traceparent = _traceparent()
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query="Fact number", limit=5)
    answer = await caller.call("Recall", request, traceparent=traceparent)
    assert answer.trace_id == trace
    offered = [(one.memory.memory_id, one.memory.revision, one.rank) for one in answer.memories]
    assert len(offered) == 5
    await caller.supersede(offered[0][0], "Corrected")
    await caller.erase_memories(offered[1][0])
    await caller.erase_subject("u1")
    (event,) = await _audit(caller, trace_id=trace)
    receipt = await _receipt(caller, answer.recall_id)
    for recalled in (event.memories_recalled, receipt.recalled):
        assert [(one.memory_id, one.revision, one.rank) for one in recalled.memories] == offered
        assert [one.score for one in recalled.memories] == pytest.approx(
            [one.score for one in answer.memories], abs=1e-6
        )
        assert all(one.leg_scores for one in recalled.memories)
        assert recalled.limit == 5
        assert recalled.min_score == pytest.approx(answer.applied_min_score)
        assert recalled.embedding_model == "deterministic"
        assert {one.reason: one.count for one in recalled.left_out} == {
            one.reason: one.count for one in answer.left_out
        }
        assert recalled.query_digest
    assert (receipt.trace_id, receipt.span_id) == (trace, event.span_id)
    assert receipt.event_id == event.event_id
    assert receipt.recall_time == answer.read_time
    assert not receipt.HasField("scope")
    for result in written.results:
        named = await _audit(caller, memory_id=result.memory.memory_id)
        assert named[-1].action == WRITE
        assert named[0].action == ERASE
    assert stored.count("memory") == 0


async def test_a_recall_that_found_nothing_is_recorded_too(caller: Caller, stored: Stored) -> None:
    answer = await caller.recall("nobody", "anything", token_budget=50)
    receipt = await _receipt(caller, answer.recall_id)
    assert not receipt.recalled.memories
    assert receipt.recalled.no_relevant_memory
    assert receipt.recalled.token_budget == 50
    assert stored.count("audit_event", "recall_id = %s", answer.recall_id) == 1


async def test_what_was_packed_stands_in_the_receipt(caller: Caller) -> None:
    await caller.write("u1", "tea", "tea " * 400)
    answer = await caller.recall("u1", "tea", token_budget=150)
    receipt = await _receipt(caller, answer.recall_id)
    assert {one.memory_id for one in receipt.recalled.memories if one.packed} == set(
        answer.packed_context.memory_ids
    )
    assert receipt.recalled.packed_tokens == answer.packed_context.tokens
    assert receipt.recalled.tokenizer == answer.packed_context.tokenizer


async def test_equal_queries_of_one_scope_have_one_digest_and_others_another(caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    await caller.write("u2", "Likes tea")
    digests = []
    for subject, query in (("u1", "tea"), ("u1", "tea"), ("u1", "jam"), ("u2", "tea")):
        answer = await caller.recall(subject, query)
        digests.append((await _receipt(caller, answer.recall_id)).recalled.query_digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


async def test_use_reports_join_their_receipt(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes tea", "Likes jam")
    answer = await caller.recall("u1", "likes tea jam")
    offered = memory_ids(answer.memories)
    for used in (offered[::-1], [], offered[:1]):
        request = memory_service_pb2.ReportUseRequest(recall_id=answer.recall_id, memory_ids=used)
        await caller.call("ReportUse", request)
    receipt = await _receipt(caller, answer.recall_id)
    assert [list(one.used.memory_ids) for one in receipt.uses] == [offered[::-1], [], offered[:1]]
    found = await _audit(caller, recall_id=answer.recall_id)
    assert [event.action for event in found] == [REPORT_USE] * 3 + [RECALL]
    stranger = str(uuid4())
    wrong = memory_service_pb2.ReportUseRequest(recall_id=answer.recall_id, memory_ids=[offered[0], stranger])
    error = await refused(caller.call("ReportUse", wrong), "INVALID_ARGUMENT", "MEMORY_NOT_IN_RECALL")
    assert dict(error_info(error).metadata) == {"recall_id": answer.recall_id, "memory_id": stranger}
    # A memory that was erased since was offered all the same.
    await caller.erase_memories(*offered)
    late = memory_service_pb2.ReportUseRequest(recall_id=answer.recall_id, memory_ids=offered)
    await caller.call("ReportUse", late)
    assert len(stored.events(REPORT_USE, OK)) == 4


async def test_two_hundred_results_are_all_in_the_receipt(caller: Caller) -> None:
    for part in range(2):
        await caller.write("u1", *(f"Fact {part} {number}" for number in range(100)))
    answer = await caller.recall("u1", "Fact", limit=200, min_score=0.0)
    receipt = await _receipt(caller, answer.recall_id)
    assert [one.memory_id for one in receipt.recalled.memories] == memory_ids(answer.memories)
    assert len(receipt.recalled.memories) == 200


async def test_events_are_found_by_each_of_their_marks(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    tool = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_TOOL)
    other = shared.caller(caller.tenant)
    memory_id = (await other.write("u1", item("From a tool", provenance=tool))).results[0].memory.memory_id
    await caller.write("u1", "Likes tea", agent="a1")
    await caller.write("u2", "Likes tea")
    await refused(caller.get(str(uuid4())), "NOT_FOUND")
    everything = await _audit(caller)
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"source_types": ["SOURCE_TYPE_TOOL"]}, lambda e: memory_id in str(e)),
        ({"memory_id": memory_id}, lambda e: memory_id in str(e)),
        ({"scope": scope("u1")}, lambda e: e.scope.subject == "u1"),
        ({"scope": scope("u1", agent="a1")}, lambda e: e.scope.agent == "a1"),
        ({"outcomes": ["AUDIT_OUTCOME_FAILED"]}, lambda e: e.outcome == 3),
        ({"actions": ["AUDIT_ACTION_WRITE"]}, lambda e: e.action == WRITE),
        ({"principal": everything[-1].actor.principal}, lambda e: e.event_id == everything[-1].event_id),
        ({"actions": ["AUDIT_ACTION_WRITE"], "scope": scope("u2")}, lambda e: e.scope.subject == "u2"),
    ]
    for restriction, holds in cases:
        expected = [event.event_id for event in everything if holds(event)]
        assert expected, restriction
        assert [event.event_id for event in await _audit(caller, **restriction)] == expected, restriction
    assert stored.count("memory") == 3


async def test_an_export_can_be_checked_by_anybody(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await record_events(shared, caller, 450, action=AuditAction.GET_MEMORY)
    await caller.write("u1", "Likes tea")
    await caller.recall("u1", "tea")
    await shared.sealed()
    parts = [
        part
        async for part in caller.audit.ExportAudit(
            audit_pb2.ExportAuditRequest(), metadata=caller.metadata, timeout=30
        )
    ]
    assert all(part.ByteSize() < 3_670_016 for part in parts)
    header, trailer = parts[0].header, parts[-1].trailer
    assert header.tenant == caller.tenant
    assert header.tenant_id == str(stored.tenant_id)
    assert header.first_prev_digest == bytes(32)
    keys = {
        key.signing_key_id: Ed25519PublicKey.from_public_bytes(key.public_key) for key in header.signing_keys
    }
    digest, sequence, checked = header.first_prev_digest, 0, 0
    digests: dict[int, bytes] = {}
    for part in parts:
        for event in part.events.events:
            sequence += 1
            assert (event.sequence, event.prev_digest) == (sequence, digest)
            step = b"muniment.audit.v1\0" + digest + sequence.to_bytes(8) + event.canonical_bytes
            digest = sha256(step).digest()
            assert event.digest == digest
            digests[sequence] = digest
        if part.HasField("checkpoint"):
            checkpoint = part.checkpoint
            keys[checkpoint.signing_key_id].verify(checkpoint.signature, checkpoint.signed_bytes)
            assert digests[checkpoint.sequence] == checkpoint.digest
            checked += 1
    assert checked
    assert trailer.event_count == sequence == header.last_sequence >= 453
    assert trailer.last_digest == digest
    assert trailer.unchained_count == 0
    for first, last in ((10, 20), (1, 1), (sequence, 2**63 - 1), (2**63 - 1, 2**63 - 1), (20, 10)):
        request = audit_pb2.ExportAuditRequest(from_sequence=first, to_sequence=last)
        some = [
            part async for part in caller.audit.ExportAudit(request, metadata=caller.metadata, timeout=30)
        ]
        numbers = [event.sequence for part in some for event in part.events.events]
        end = min(last, some[-1].trailer.last_sequence or 0)
        assert numbers == list(range(first, end + 1)) if first <= last else numbers == []


@pytest.mark.parametrize(
    ("restriction", "field"),
    [
        ({"memory_id": "x"}, "filter.memory_id"),
        ({"trace_id": "x" * 32}, "filter.trace_id"),
        ({"trace_id": "A" * 32}, "filter.trace_id"),
        ({"actions": [0]}, "filter.actions[0]"),
        ({"actions": [99]}, "filter.actions[0]"),
        ({"scope": memory_pb2.Scope()}, "filter.scope.owner"),
        ({"event_time": {}}, "filter.event_time"),
    ],
)
async def test_a_filter_of_the_trail_that_is_not_understood_is_refused(
    caller: Caller, restriction: dict[str, Any], field: str
) -> None:
    request = memory_service_pb2.AuditRequest(filter=restriction)
    error = await refused(caller.call("Audit", request), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [field]


async def test_an_unknown_condition_on_the_trail_is_refused(shared: RunningService, caller: Caller) -> None:
    unknown = audit_pb2.AuditFilter.FromString(bytes.fromhex("fa7c036e6577"))
    request = memory_service_pb2.AuditRequest(filter=unknown)
    await refused(caller.call("Audit", request), "INVALID_ARGUMENT", "INVALID_REQUEST")


async def test_a_forged_event_is_marked_and_a_forged_receipt_refused(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea")
    answer = await caller.recall("u1", "tea")
    shared.database.execute(
        "UPDATE audit_event SET payload ="
        " replace(encode(payload, 'escape'), '\"rank\":1', '\"rank\":2')::bytea WHERE recall_id = %s",
        (answer.recall_id,),
    )
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _receipt(caller, answer.recall_id)
    assert caught.value.code() is grpc.StatusCode.DATA_LOSS
    assert dict(error_info(caught.value).metadata) == {"recall_id": answer.recall_id}
    (event,) = await _audit(caller, recall_id=answer.recall_id)
    assert event.reason
    assert not event.HasField("memories_recalled")
    assert stored.events(21)


async def test_reads_are_recorded_with_what_they_returned(caller: Caller, stored: Stored) -> None:
    made = memory_ids((await caller.write("u1", "Likes tea", "Likes jam")).results)
    await caller.get(made[0], include_revisions=True)
    await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
    listed, got, _ = await _audit(caller)
    assert got.action == audit_pb2.AUDIT_ACTION_GET_MEMORY
    assert list(got.memories_read.memory_ids) == made[:1]
    assert listed.action == audit_pb2.AUDIT_ACTION_LIST_MEMORIES
    assert list(listed.memories_read.memory_ids) == made[::-1]
    assert listed.memories_read.count == 2
    assert listed.scope == got.scope == scope("u1")
    assert "tea" not in str(stored.events())


async def test_what_cannot_be_recorded_is_not_done_and_not_answered(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    recall_id = (await caller.recall("u1", "tea")).recall_id
    before = stored.snapshot()
    shared.database.execute("REVOKE INSERT ON audit_event FROM muniment_app")
    try:
        for call in (
            caller.recall("u1", "tea"),
            caller.write("u1", "Likes jam"),
            caller.supersede(memory_id, "Likes jam"),
            caller.erase_memories(memory_id),
            caller.erase_subject("u1"),
            caller.get(memory_id),
            caller.call("ReportUse", memory_service_pb2.ReportUseRequest(recall_id=recall_id)),
            caller.call("Audit", memory_service_pb2.AuditRequest()),
        ):
            await refused(call, "INTERNAL", "INTERNAL")
    finally:
        shared.database.execute("GRANT INSERT ON audit_event TO muniment_app")
    assert stored.snapshot() == before
    assert await caller.contents("u1", "likes") == ["Likes tea"]
