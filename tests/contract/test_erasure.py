"""Erase: what is counted is what is gone, and only that; the receipt can be checked by anybody."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from contract.stored import ERASE, OK, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
)
from muniment_server.crypto.errors import KeyStoreUnavailable, ScopeKeyDestroyed, ScopeKeyMissing
from support.service import Caller, RunningService, error_info, item, request_id, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE = erasure_pb2.ERASURE_STATE_COMPLETE


async def _erase(caller: Caller, **target: Any) -> erasure_pb2.ErasureReceipt:
    request = memory_service_pb2.EraseRequest(target=erasure_pb2.ErasureTarget(**target))
    receipt: erasure_pb2.ErasureReceipt = (await caller.call("Erase", request)).receipt
    return receipt


async def test_a_large_subject_is_erased_whole_in_one_call(caller: Caller, stored: Stored) -> None:
    written = 0
    while written < 1_037:
        count = min(100, 1_037 - written)
        await caller.write("u1", *(f"Fact {written + number}" for number in range(count)))
        written += count
    await caller.write("u2", "Of somebody else")
    assert stored.count("memory") == 1_038
    begun = datetime.now(UTC)
    receipt = await caller.erase_subject("u1")
    assert (datetime.now(UTC) - begun).total_seconds() < 5
    assert receipt.counts.memories == receipt.counts.embeddings == 1_037
    assert stored.count("memory") == stored.count("memory_embedding") == 1
    assert not (await caller.recall("u1", "Fact", min_score=0.0)).memories
    again = await caller.erase_subject("u1")
    assert again.counts == erasure_pb2.ErasureCounts()
    events = stored.events(ERASE, OK)
    counts = [event["payload"]["details"]["memory_erased"]["counts"]["memories"] for event in events]
    assert counts == [1_037, 0]
    assert len(events[0]["memory_ids"]) == 1_037
    shown = await caller.call(
        "Audit", memory_service_pb2.AuditRequest(filter={"actions": ["AUDIT_ACTION_ERASE"]})
    )
    assert len(shown.events[1].memory_erased.memory_ids) == 1_000
    assert shown.events[1].memory_erased.counts.memories == 1_037


async def _family(caller: Caller) -> list[str]:
    """A subject with a chain of three, a slot, narrowed memories and a pending one; gives all ids."""
    ids = [one.memory.memory_id for one in (await caller.write("u1", "Lives in Nice", "Likes tea")).results]
    for city in ("Lyon", "Metz"):
        ids.append(
            (
                await caller.supersede(ids[-1] if city == "Metz" else ids[0], f"Lives in {city}")
            ).memory.memory_id
        )
    places: list[dict[str, str]] = [{"agent": "a1"}, {"session": "s1"}, {"agent": "a1", "session": "s1"}]
    ids += [
        (await caller.write("u1", f"Of {place}", **place)).results[0].memory.memory_id for place in places
    ]
    low = memory_pb2.Provenance(trust=memory_pb2.TRUST_LEVEL_LOW)
    ids.append((await caller.supersede(ids[1], item("Likes jam", provenance=low))).memory.memory_id)
    return ids


async def test_a_subject_goes_with_history_narrowed_and_waiting_memories(
    caller: Caller, stored: Stored
) -> None:
    ids = await _family(caller)
    counted = {
        "memories": stored.count("memory"),
        "revisions": stored.count("memory_revision"),
        "embeddings": stored.count("memory_embedding"),
        "postings": stored.count("posting"),
    }
    receipt = await caller.erase_subject("u1", reason="ERASURE_REASON_SUBJECT_REQUEST", reason_code="T-1")
    for name, number in counted.items():
        assert getattr(receipt.counts, name) == number, name
    assert receipt.counts.memories == len(ids)
    assert receipt.state == COMPLETE
    assert receipt.keys_destroyed >= 1
    for table in ("memory", "memory_revision", "memory_embedding", "posting"):
        assert stored.count(table) == 0, table
    assert {str(row["memory_id"]) for row in stored.rows("tombstone")} == set(ids)
    for memory_id in ids:
        left = (await caller.get(memory_id, include_revisions=True)).memory
        assert left == memory_pb2.Memory(
            memory_id=memory_id, state=memory_pb2.MEMORY_STATE_ERASED, erase_time=left.erase_time
        )
        assert left.HasField("erase_time")
    (place,) = stored.rows("scope")
    assert place["label_ct"] is None
    found = await caller.call(
        "GetErasure", memory_service_pb2.GetErasureRequest(erasure_id=receipt.erasure_id)
    )
    assert found.receipt == receipt


async def test_erasing_ids_erases_these_and_no_others(caller: Caller, stored: Stored) -> None:
    ids = await _family(caller)
    receipt = await caller.erase_memories(ids[0], ids[4])
    assert (receipt.counts.memories, receipt.counts.revisions) == (2, 1)
    assert receipt.keys_destroyed == 0
    kept = {(one.item, one.reason) for one in receipt.kept}
    assert (erasure_pb2.KEPT_ITEM_KEYS, erasure_pb2.KEPT_REASON_KEY_IN_USE) in kept
    assert {str(row["memory_id"]) for row in stored.rows("memory")} == {*ids} - {ids[0], ids[4]}
    again = await caller.erase_memories(ids[0], ids[1], ids[4])
    assert again.counts.memories == 1
    assert (await caller.erase_memories(*ids)).counts.memories == len(ids) - 3
    assert stored.count("memory") == 0
    assert (await caller.erase_memories(*ids)).counts.memories == 0


async def test_ids_of_several_subjects_go_in_one_call(caller: Caller, stored: Stored) -> None:
    ids = [
        (await caller.write(subject, "Likes tea")).results[0].memory.memory_id
        for subject in ("u1", "u2", "u3")
    ]
    assert (await caller.erase_memories(*ids[:2])).counts.memories == 2
    assert stored.live() == {ids[2]}
    (event,) = stored.events(ERASE, OK)
    assert event["scope_id"] is None
    assert sorted(map(str, event["memory_ids"])) == sorted(ids[:2])


@pytest.mark.parametrize(
    ("place", "gone"),
    [
        ({"session": "s1"}, {"in s1", "heard in s1", "a1 in s1"}),
        ({"session": "s1", "agent": "a1"}, {"a1 in s1"}),
        ({"session": "s%"}, set()),
        ({"session": "s2"}, {"heard in s2"}),
    ],
    ids=str,
)
async def test_a_session_goes_with_what_was_heard_in_it(
    caller: Caller, stored: Stored, place: dict[str, str], gone: set[str]
) -> None:
    heard = memory_pb2.Provenance(session="s1")
    await caller.write("u1", "in s1", session="s1")
    await caller.write("u1", "a1 in s1", session="s1", agent="a1")
    await caller.write("u1", item("heard in s1", provenance=heard))
    await caller.write("u1", item("heard in s2", provenance=memory_pb2.Provenance(session="s2")))
    await caller.write("u1", "in no session")
    await caller.write("u2", item("heard in s1 by another", provenance=heard))
    everything = {"in s1", "heard in s1", "a1 in s1", "heard in s2", "in no session"}
    target = erasure_pb2.SessionTarget(scope=memory_pb2.Scope(subject="u1", **place))
    dry = await caller.call(
        "Erase",
        memory_service_pb2.EraseRequest(target=erasure_pb2.ErasureTarget(session=target), validate_only=True),
    )
    receipt = await _erase(caller, session=target)
    assert receipt.counts.memories == dry.receipt.counts.memories == len(gone)
    listing = memory_service_pb2.ListMemoriesRequest(
        scope=scope("u1"), include_narrowed=True, view="MEMORY_VIEW_FULL"
    )
    left = {one.content for one in (await caller.call("ListMemories", listing)).memories}
    assert left == everything - gone
    assert len(stored.live()) == len(left) + 1


async def test_a_filter_erases_what_it_finds(caller: Caller, stored: Stored) -> None:
    await caller.write(
        "u1", *(item(f"Fact {number}", tags=["old" if number < 3 else "new"]) for number in range(5))
    )
    await caller.write("u1", item("Narrowed", tags=["old"]), agent="a1")
    await caller.write("u2", item("Of somebody else", tags=["old"]))
    old = filter_pb2.MemoryFilter(tags_any=["old"])
    narrow = erasure_pb2.FilterTarget(scope=scope("u1", agent="a1"), filter=old)
    assert (await _erase(caller, filter=narrow)).counts.memories == 1
    assert (await caller.erase_filter("u1", old)).counts.memories == 3
    assert len(stored.live()) == 3


def _said(source: int, session: str) -> memory_pb2.Provenance:
    return memory_pb2.Provenance(source_type=source, session=session)


@pytest.mark.parametrize(
    ("session", "sources", "gone"),
    [
        ("s1", [], True),
        ("s2", [], True),
        ("s3", [], False),
        ("", [memory_pb2.SOURCE_TYPE_TOOL], True),
        ("", [memory_pb2.SOURCE_TYPE_THIRD_PARTY], False),
        ("s1", [memory_pb2.SOURCE_TYPE_TOOL], True),
        # No revision comes from this source and this session.
        ("s1", [memory_pb2.SOURCE_TYPE_USER_STATED], False),
    ],
    ids=str,
)
async def test_what_was_said_first_counts_after_it_was_restated(
    shared: RunningService, caller: Caller, stored: Stored, session: str, sources: list[int], gone: bool
) -> None:
    for source, heard in ((memory_pb2.SOURCE_TYPE_TOOL, "s1"), (memory_pb2.SOURCE_TYPE_USER_STATED, "s2")):
        written = await caller.write("u1", item("Allergic to nuts", provenance=_said(source, heard)))
    memory = written.results[0].memory
    assert (memory.revision, memory.provenance.session) == (2, "s2")
    (kept,) = (
        await caller.write(
            "u1", item("Likes tea", provenance=_said(memory_pb2.SOURCE_TYPE_USER_STATED, "s9"))
        )
    ).results
    restriction = filter_pb2.MemoryFilter(sessions=[session] if session else [], source_types=sources)
    assert (await caller.erase_filter("u1", restriction)).counts.memories == int(gone)
    assert stored.live() == {kept.memory.memory_id, *([] if gone else [memory.memory_id])}
    assert stored.count("memory_revision") == int(not gone)
    if session and not sources and not gone:
        target = erasure_pb2.SessionTarget(scope=scope("u1", session="s1"))
        assert (await _erase(caller, session=target)).counts.revisions == 1
        assert stored.count("memory_revision") == 0
    assert await findings(shared, caller.tenant) == []


async def test_a_filter_finds_expired_and_superseded_memories_too(caller: Caller, stored: Stored) -> None:
    expiring = item("Expires", tags=["x"])
    expiring.ttl.FromMicroseconds(1_000)
    await caller.write("u1", expiring)
    old = (await caller.write("u1", item("Old", tags=["x"]))).results[0].memory.memory_id
    await caller.supersede(old, item("New", tags=["x"]))
    assert (await caller.erase_filter("u1", filter_pb2.MemoryFilter(tags_any=["x"]))).counts.memories == 3
    assert stored.count("memory") == 0


async def test_a_dry_run_says_what_the_real_one_does_and_changes_nothing(
    caller: Caller, stored: Stored
) -> None:
    ids = await _family(caller)
    before, events = stored.snapshot(), stored.count("audit_event")
    dry = await caller.erase_subject("u1", validate_only=True)
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events
    assert dry.validate_only
    assert not dry.erasure_id
    assert not dry.event_id
    assert not dry.signature
    assert dry.state == 0
    assert list(dry.sample_memory_ids) == sorted(ids, reverse=True)
    real = await caller.erase_subject("u1")
    real.counts.idempotency_records = dry.counts.idempotency_records
    assert real.counts == dry.counts
    assert not real.sample_memory_ids
    many = [f"Fact {number}" for number in range(100)]
    await caller.write("u1", *many)
    newest = (await caller.write("u1", *(text + "." for text in many))).results
    dry = await caller.erase_subject("u1", validate_only=True)
    assert (dry.counts.memories, len(dry.sample_memory_ids)) == (200, 100)
    assert list(dry.sample_memory_ids) == [one.memory.memory_id for one in reversed(newest)]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({}, "target.target"),
        ({"memories": {}}, "target.memories.memory_ids"),
        ({"memories": {"memory_ids": ["x"]}}, "target.memories.memory_ids[0]"),
        ({"memories": {"memory_ids": [str(uuid4()) for _ in range(1_001)]}}, "target.memories.memory_ids"),
        ({"memories": {"memory_ids": [str(uuid4())] * 2}}, "target.memories.memory_ids"),
        ({"scope": {}}, "target.scope.scope"),
        ({"scope": {"scope": {"subject": "u1", "agent": "a1"}}}, "target.scope.scope"),
        ({"scope": {"scope": {"subject": "u1", "session": "s1"}}}, "target.scope.scope"),
        ({"session": {"scope": {"subject": "u1"}}}, "target.session.scope"),
        ({"filter": {"scope": {"subject": "u1"}}}, "target.filter.filter"),
        ({"filter": {"scope": {"subject": "u1"}, "filter": {}}}, "target.filter.filter"),
        ({"filter": {"filter": {"tags_any": ["a"]}}}, "target.filter.scope"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_a_target_that_is_not_clear_erases_nothing(
    caller: Caller, stored: Stored, target: dict[str, Any], field: str
) -> None:
    await caller.write("u1", "Likes tea")
    request = memory_service_pb2.EraseRequest(target=erasure_pb2.ErasureTarget(**target))
    error = await refused(caller.call("Erase", request), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [field]
    assert len(stored.live()) == 1


async def test_a_subject_that_never_was_counts_nothing(caller: Caller, stored: Stored) -> None:
    receipt = await caller.erase_subject("nobody")
    assert (receipt.counts, receipt.keys_destroyed) == (erasure_pb2.ErasureCounts(), 0)
    assert receipt.state == COMPLETE
    assert stored.count("erasure") == 1
    assert stored.count("scope") == 0


async def test_after_an_erasure_the_subject_begins_anew(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes tea")
    (before,) = stored.rows("scope")
    await caller.erase_subject("u1")
    written = (await caller.write("u1", "Likes tea")).results[0].memory
    (after,) = stored.rows("scope")
    assert after["scope_id"] == before["scope_id"]
    assert after["key_epoch"] > before["key_epoch"]
    assert stored.memory(written.memory_id)["key_epoch"] == after["key_epoch"]
    assert await caller.contents("u1", "tea") == ["Likes tea"]


async def test_the_key_of_an_erased_subject_is_gone(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea")
    (place,) = stored.rows("scope")
    assert await shared.service.keys.get(stored.tenant_id, place["scope_id"], place["key_epoch"])
    await caller.erase_subject("u1")
    with pytest.raises((ScopeKeyDestroyed, ScopeKeyMissing)):
        await shared.service.keys.get(stored.tenant_id, place["scope_id"], place["key_epoch"])


async def test_a_receipt_can_be_checked_with_the_public_key(caller: Caller, stored: Stored) -> None:
    ids = await _family(caller)
    receipts = [
        await caller.erase_memories(ids[0]),
        await caller.erase_subject(
            "u1", reason="ERASURE_REASON_SECURITY", reason_code="T:2", request_id=request_id()
        ),
    ]
    exported = caller.audit.ExportAudit(audit_pb2.ExportAuditRequest(), metadata=caller.metadata)
    keys = {}
    async for part in exported:
        keys.update({key.signing_key_id: key.public_key for key in part.header.signing_keys})
    for receipt in receipts:
        public = keys[receipt.signing_key_id]
        assert receipt.signing_key_id == sha256(public).hexdigest()[:16]
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(receipt.signature, receipt.signed_bytes)
        with pytest.raises(InvalidSignature):
            key.verify(receipt.signature, receipt.signed_bytes.replace(b'"memories":', b'"memories":1'))
        facts = json.loads(receipt.signed_bytes)
        assert facts["type"] == "muniment.erasure-receipt.v1"
        assert facts["tenant_id"] == str(stored.tenant_id)
        assert facts["erasure_id"] == receipt.erasure_id
        assert facts["event_id"] == receipt.event_id
        assert facts["counts"]["memories"] == receipt.counts.memories
        assert facts["keys_destroyed"] == receipt.keys_destroyed
        assert facts["state"] == receipt.state == COMPLETE
        assert facts["reason"] == receipt.reason
        assert facts["reason_code"] == receipt.reason_code
        assert receipt.complete_time.ToDatetime() >= receipt.create_time.ToDatetime()
        (event,) = stored.rows("audit_event", "event_id = %s", receipt.event_id)
        assert event["action"] == ERASE


@pytest.mark.parametrize("how", ["count", "unsigned", "exchanged", "pending"])
async def test_a_tampered_receipt_is_not_returned(
    shared: RunningService, caller: Caller, stored: Stored, how: str
) -> None:
    await caller.write("u1", "Likes tea")
    other = await caller.erase_subject("u2")
    mark = request_id()
    receipt = await caller.erase_subject("u1", request_id=mark)
    request = memory_service_pb2.GetErasureRequest(erasure_id=receipt.erasure_id)
    assert (await caller.call("GetErasure", request)).receipt == receipt
    forged = receipt.signed_bytes.replace(b'"memories":1', b'"memories":9')
    assert forged != receipt.signed_bytes
    changes: dict[str, tuple[str, tuple[Any, ...]]] = {
        "count": ("receipt = %s", (forged,)),
        "unsigned": ("receipt = %s, signature = NULL", (forged,)),
        "exchanged": ("receipt = %s, signature = %s", (other.signed_bytes, other.signature)),
        "pending": ("state = 1, receipt = %s", (receipt.signed_bytes.replace(b'"state":2', b'"state":1'),)),
    }
    change, values = changes[how]
    shared.database.execute(
        f"UPDATE erasure SET {change} WHERE erasure_id = %s", (*values, receipt.erasure_id)
    )
    error = await refused(caller.call("GetErasure", request), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert dict(error_info(error).metadata) == {"erasure_id": receipt.erasure_id}
    await refused(caller.erase_subject("u1", request_id=mark), "DATA_LOSS", "INTEGRITY_VIOLATION")
    shared.database.execute("DELETE FROM erasure WHERE tenant_id = %s", (stored.tenant_id,))


async def test_an_erasure_that_waits_for_the_key_store_says_so_and_is_completed_later(
    shared: RunningService, caller: Caller, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.write("u1", "Likes tea")
    (place,) = stored.rows("scope")
    mark = request_id()

    async def down(*_: object) -> int:
        raise KeyStoreUnavailable("away")

    with monkeypatch.context() as outage:
        outage.setattr(shared.key_store, "destroy_scope_keys", down)
        receipt = await caller.erase_subject("u1", request_id=mark)
        assert receipt.state == erasure_pb2.ERASURE_STATE_PENDING
        assert (receipt.counts.memories, receipt.signature, receipt.signed_bytes) == (1, b"", b"")
        assert not receipt.HasField("complete_time")
        assert stored.count("memory") == 0
        assert await caller.erase_subject("u1", request_id=mark) == receipt
        assert await shared.service.upkeep.finish_pending_erasures() == 1
    assert await shared.service.upkeep.finish_pending_erasures() == 0
    done = await caller.erase_subject("u1", request_id=mark)
    assert (done.state, done.keys_destroyed, len(done.signature)) == (COMPLETE, 1, 64)
    with pytest.raises((ScopeKeyDestroyed, ScopeKeyMissing)):
        await shared.service.keys.get(stored.tenant_id, place["scope_id"], place["key_epoch"])


async def test_an_erasure_that_the_service_did_not_record_destroys_no_key(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea")
    await caller.erase_subject("u1")
    await caller.write("u1", "Likes jam")
    (place,) = stored.rows("scope")
    shared.database.execute(
        "UPDATE erasure SET state = 1, key_epoch = %s WHERE tenant_id = %s",
        (place["key_epoch"], stored.tenant_id),
    )
    assert await shared.service.upkeep.finish_pending_erasures() == 1
    shared.service.keys.drop_all()
    assert await caller.contents("u1", "jam") == ["Likes jam"]
    (row,) = stored.rows("erasure")
    assert row["state"] == 1
    shared.database.execute("DELETE FROM erasure WHERE tenant_id = %s", (stored.tenant_id,))
