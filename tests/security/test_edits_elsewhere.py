"""Edits of everything around the memories: scopes, vectors, index, tombstones, answers, receipts, trail."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    erasure_pb2,
    memory_service_pb2,
    recall_pb2,
)
from muniment_server.crypto.errors import ScopeKeyDestroyed
from security.edits import ids_of, tamper
from security.looking import kinds, outcome, refused, snapshot, stored, unless
from support.history import written_columns
from support.service import Caller, RunningService, item, request_id, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEGS = ([], [recall_pb2.RETRIEVAL_LEG_VECTOR], [recall_pb2.RETRIEVAL_LEG_LEXICAL])


async def _write(caller: Caller, *items: Any, subject: str = "u1", **fields: Any) -> list[str]:
    return [one.memory.memory_id for one in (await caller.write(subject, *items, **fields)).results]


# --- scopes ---------------------------------------------------------------------------------------

_SCOPE_EDITS = {
    "live_count": "live_count + 1000",
    "live_count below zero": "-5",
    "live_terms": "live_terms + 1000",
    "live_terms zero": "0",
    "live_terms below zero": "-1000",
    "generation": "generation - 1",
    "generation ahead": "generation + 10",
    "generation at its end": "9223372036854775807",
    "next_doc": "1",
    "next_doc at its end": "2147483647",
    "set_count": "set_count - 1",
    "set_digest": "set_byte(set_digest, 40, get_byte(set_digest, 40) # 1)",
    "set_digest emptied": "''",
    "label_ct": "set_byte(label_ct, 20, get_byte(label_ct, 20) # 1)",
    "label_ct emptied": "NULL",
    "kind": "2",
    "kind nobody knows": "99",
    "key_epoch": "key_epoch + 1",
    "key_epoch back": "0",
    "key_epoch at its end": "2147483647",
    "scope_no": "scope_no + 1",
    "seal": "sha256('x')",
    "seal emptied": "''",
}


@pytest.mark.parametrize("edit", _SCOPE_EDITS)
async def test_an_edited_scope_is_noticed_and_can_still_be_erased(
    shared: RunningService, caller: Caller, edit: str
) -> None:
    first, second = await _write(caller, "Lives in Lyon", "Likes green tea")
    contents = {first: "Lives in Lyon", second: "Likes green tea"}
    ids = ids_of(shared.database, first)
    await shared.sealed()
    old_epoch = stored(shared, "scope", caller.tenant)[0]["key_epoch"]
    column = edit.split(" ")[0]
    tamper(
        shared.database,
        [f"UPDATE scope SET {column} = {_SCOPE_EDITS[edit]} WHERE scope_id = %(scope_id)s"],
        ids,
    )
    # Readers get what is genuine, or are told; they never get less without a word.
    for legs in LEGS:
        query = "Lives in Lyon, likes green tea"
        answer = await unless(caller.recall("u1", query, min_score=0.0, legs=legs), "DATA_LOSS")
        if answer is not None:
            assert {one.memory.memory_id: one.memory.content for one in answer.memories} == contents
    for memory_id, content in contents.items():
        got = await unless(caller.get(memory_id), "DATA_LOSS")
        if got is not None:
            assert (got.memory.content, got.memory.scope) == (content, scope("u1"))
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"))
    page = await caller.call("ListMemories", listing)
    assert {one.memory_id for one in page.memories} | set(page.seal_broken_memory_ids) == set(contents)
    # Writers refuse, and change nothing.
    before = snapshot(shared, caller.tenant)
    await refused(caller.write("u1", "Owns a cat"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    await refused(caller.supersede(first, "Lives in Porto"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    await refused(caller.erase_memories(first), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert snapshot(shared, caller.tenant) == before
    assert await kinds(shared, caller.tenant)
    # The subject can be erased, and it is the key of its texts that is destroyed.
    receipt = await caller.erase_subject("u1")
    assert receipt.state == erasure_pb2.ERASURE_STATE_COMPLETE
    assert receipt.counts.memories == 2
    assert receipt.keys_destroyed >= 1
    with pytest.raises(ScopeKeyDestroyed):
        await shared.key_store.scope_key(ids["tenant_id"], ids["scope_id"], old_epoch)
    for table in ("memory", "memory_embedding", "posting"):
        assert stored(shared, table, caller.tenant) == []
    # And it can be used again, with nothing left to find.
    (again,) = await _write(caller, "Owns a cat")
    assert await caller.contents("u1", "cat") == ["Owns a cat"]
    assert (await caller.get(again)).memory.scope == scope("u1")
    await shared.sealed()
    assert await kinds(shared, caller.tenant) == set()


@pytest.mark.parametrize("emptied", [False, True], ids=["memories left", "all gone"])
async def test_a_subject_whose_scope_was_deleted_loses_its_key_when_it_is_erased(
    shared: RunningService, caller: Caller, emptied: bool
) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    ids = ids_of(shared.database, memory_id)
    epoch = stored(shared, "scope", caller.tenant)[0]["key_epoch"]
    statements = ["DELETE FROM scope WHERE scope_id = %(scope_id)s"]
    if emptied:
        statements += [
            "DELETE FROM memory WHERE scope_id = %(scope_id)s",
            "DELETE FROM memory_embedding WHERE scope_no = %(scope_no)s",
            "DELETE FROM posting WHERE scope_no = %(scope_no)s",
        ]
    tamper(shared.database, statements, ids)
    assert "memory_lost" in await kinds(shared, caller.tenant) or not emptied
    receipt = await caller.erase_subject("u1")
    assert receipt.counts.memories == (0 if emptied else 1)
    assert receipt.keys_destroyed == 1
    with pytest.raises(ScopeKeyDestroyed):
        await shared.key_store.scope_key(ids["tenant_id"], ids["scope_id"], epoch)
    assert stored(shared, "memory", caller.tenant) == []
    await _write(caller, "Owns a cat")
    assert await caller.contents("u1", "cat") == ["Owns a cat"]


async def test_an_epoch_without_a_key_is_told_and_does_not_read_as_nothing_remembered(
    shared: RunningService, caller: Caller
) -> None:
    await _write(caller, "Lives in Lyon")
    tamper(
        shared.database,
        ["UPDATE scope SET key_epoch = key_epoch + 7 WHERE tenant_id = %(tenant_id)s"],
        {"tenant_id": shared.tenant_id(caller.tenant)},
    )
    await refused(caller.recall("u1", "Lyon"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    # What was never written about is still just that.
    assert (await caller.recall("u2", "Lyon")).no_relevant_memory


# --- vectors and index ----------------------------------------------------------------------------

_OF_FIRST = "doc_no = (SELECT doc_no FROM memory WHERE memory_id = %(first)s) AND scope_no = %(scope_no)s"
_OTHERS = (
    "UPDATE memory_embedding e SET embedding = o.embedding FROM memory_embedding o, memory m"
    " WHERE m.memory_id = %(first)s AND e.doc_no = m.doc_no AND e.scope_no = %(scope_no)s"
    " AND o.scope_no = e.scope_no AND o.doc_no <> e.doc_no"
)
_INDEX_EDITS = {
    "vector exchanged": _OTHERS,
    "vector of length zero": "UPDATE memory_embedding SET embedding ="
    f" array_fill(0::float4, ARRAY[384])::halfvec WHERE {_OF_FIRST}",
    "vector of three numbers": f"UPDATE memory_embedding SET embedding = '[1,2,3]' WHERE {_OF_FIRST}",
    "vector of huge numbers": "UPDATE memory_embedding SET embedding ="
    f" array_fill(65504::float4, ARRAY[384])::halfvec WHERE {_OF_FIRST}",
    "vector deleted": f"DELETE FROM memory_embedding WHERE {_OF_FIRST}",
    "vector moved to another revision": f"UPDATE memory_embedding SET content_revision = 7 WHERE {_OF_FIRST}",
    "vector of a document that there is not": f"UPDATE memory_embedding SET doc_no = 900 WHERE {_OF_FIRST}",
    "vector of another model": f"UPDATE memory_embedding SET model_no = 9 WHERE {_OF_FIRST}",
    "seal of a vector": f"UPDATE memory_embedding SET seal = sha256('x') WHERE {_OF_FIRST}",
    "postings deleted": f"DELETE FROM posting WHERE {_OF_FIRST}",
    "frequency at its highest": f"UPDATE posting SET tf = 32767 WHERE {_OF_FIRST}",
    "frequency zero": f"UPDATE posting SET tf = 0 WHERE {_OF_FIRST}",
    "frequency below zero": f"UPDATE posting SET tf = -3 WHERE {_OF_FIRST}",
    "length zero": f"UPDATE posting SET doc_terms = 0 WHERE {_OF_FIRST}",
    "length below zero": f"UPDATE posting SET doc_terms = -100 WHERE {_OF_FIRST}",
    "postings of everything under one document": "INSERT INTO posting"
    " SELECT tenant_id, scope_no, token, 900, tf, doc_terms FROM posting WHERE scope_no = %(scope_no)s"
    " ON CONFLICT DO NOTHING",
    "postings of a thousand documents": "INSERT INTO posting"
    " SELECT p.tenant_id, p.scope_no, p.token, n, 1, 1 FROM posting p, generate_series(1000, 2000) n"
    " WHERE p.scope_no = %(scope_no)s ON CONFLICT DO NOTHING",
}


@pytest.mark.parametrize("edit", _INDEX_EDITS)
async def test_an_edited_index_hides_at_most_what_it_is_the_index_of(
    shared: RunningService, caller: Caller, edit: str
) -> None:
    first, second = await _write(caller, "Lives in Lyon near the harbour", "Likes green tea very much")
    ids = {"first": first, "second": second} | ids_of(shared.database, first)
    tamper(shared.database, [_INDEX_EDITS[edit]], ids)
    for query, memory_id in (("green tea", second), ("Lyon harbour", first)):
        for legs in LEGS:
            answer = await caller.recall(
                "u1", query, min_score=0.0, legs=legs, explain=True, token_budget=1_000
            )
            returned = [one.memory.memory_id for one in answer.memories]
            assert set(returned) <= {first, second}
            if memory_id == second:
                assert second in returned
    found = await kinds(shared, caller.tenant)
    assert found
    assert "vector_missing" in found or edit != "vector deleted"
    # The best that an index can do for a broken memory is to make it a candidate.
    tamper(shared.database, ["UPDATE memory SET tags = '{x}' WHERE memory_id = %(first)s"], ids)
    for legs in LEGS:
        answer = await caller.recall("u1", "Lyon harbour", min_score=0.0, legs=legs)
        assert first not in [one.memory.memory_id for one in answer.memories]


# --- tombstones -----------------------------------------------------------------------------------


async def test_a_removed_tombstone_brings_nothing_back_and_is_found(
    shared: RunningService, caller: Caller
) -> None:
    mark = request_id()
    (memory_id,) = await _write(caller, "Lives in Lyon", request_id=mark)
    await caller.erase_memories(memory_id)
    tamper(shared.database, ["DELETE FROM tombstone WHERE memory_id = %(id)s"], {"id": memory_id})
    await refused(caller.get(memory_id), "NOT_FOUND", "MEMORY_NOT_FOUND")
    await refused(
        caller.write("u1", "Lives in Lyon", request_id=mark), "FAILED_PRECONDITION", "MEMORY_ERASED"
    )
    assert (await caller.recall("u1", "Lyon", min_score=0.0)).no_relevant_memory
    assert await kinds(shared, caller.tenant) == {"memory_lost"}


async def test_a_forged_tombstone_hides_no_memory_and_is_found(
    shared: RunningService, caller: Caller
) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    tamper(
        shared.database,
        [
            (
                "INSERT INTO tombstone SELECT tenant_id, memory_id, scope_id, gen_random_uuid(), now()"
                " FROM memory WHERE memory_id = %(id)s"
            )
        ],
        {"id": memory_id},
    )
    assert (await caller.get(memory_id)).memory.content == "Lives in Lyon"
    assert await caller.contents("u1", "Lyon") == ["Lives in Lyon"]
    assert "erased_memory_back" in await kinds(shared, caller.tenant)


async def test_a_tombstone_in_the_place_of_a_memory_that_nobody_erased_is_found(
    shared: RunningService, caller: Caller
) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    tamper(
        shared.database,
        [
            (
                "INSERT INTO tombstone SELECT tenant_id, memory_id, scope_id, gen_random_uuid(), now()"
                " FROM memory WHERE memory_id = %(id)s"
            ),
            "DELETE FROM memory WHERE memory_id = %(id)s",
        ],
        {"id": memory_id},
    )
    assert "scope_set" in await kinds(shared, caller.tenant)


@pytest.mark.parametrize("value", ["'infinity'", "NULL"])
async def test_an_unreadable_tombstone_is_told(shared: RunningService, caller: Caller, value: str) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    await caller.erase_memories(memory_id)
    shared.database.execute("ALTER TABLE tombstone ALTER erase_time DROP NOT NULL")
    tamper(
        shared.database,
        [f"UPDATE tombstone SET erase_time = {value} WHERE memory_id = %(id)s"],
        {"id": memory_id},
    )
    await refused(caller.get(memory_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert await outcome(caller.supersede(memory_id, "Lives in Porto")) == "FAILED_PRECONDITION"


# --- stored answers -------------------------------------------------------------------------------


async def _report(caller: Caller, recall_id: str, mark: str) -> Any:
    return await caller.call(
        "ReportUse", memory_service_pb2.ReportUseRequest(recall_id=recall_id, request_id=mark)
    )


async def _twice(caller: Caller, method: str, one: str, two: str) -> tuple[Callable[[], Awaitable[Any]], ...]:
    """Two calls of one method that have been answered, ready to be repeated."""
    if method == "Write":
        calls = [
            lambda: caller.write("u1", "Lives in Lyon", request_id=one),
            lambda: caller.write("u1", "Likes tea", request_id=two),
        ]
    elif method == "Supersede":
        first, second = await _write(caller, "Lives in Lyon", "Likes tea")
        calls = [
            lambda: caller.supersede(first, "Lives in Porto", request_id=one),
            lambda: caller.supersede(second, "Likes coffee", request_id=two),
        ]
    elif method == "Erase":
        first, second = await _write(caller, "Lives in Lyon", "Likes tea")
        calls = [
            lambda: caller.erase_memories(first, request_id=one),
            lambda: caller.erase_memories(second, request_id=two),
        ]
    else:
        await _write(caller, "Lives in Lyon")
        first = (await caller.recall("u1", "Lyon")).recall_id
        second = (await caller.recall("u1", "Lyon")).recall_id
        calls = [lambda: _report(caller, first, one), lambda: _report(caller, second, two)]
    for call in calls:
        assert await call() == await call()
    return tuple(calls)


@pytest.mark.parametrize("method", ["Write", "Supersede", "Erase", "ReportUse"])
async def test_a_stored_answer_exchanged_for_another_is_not_given(
    shared: RunningService, caller: Caller, method: str
) -> None:
    one, two = request_id(), request_id()
    calls = await _twice(caller, method, one, two)
    tamper(
        shared.database,
        [
            (
                "UPDATE idempotency m SET response = o.response FROM idempotency o"
                " WHERE (m.request_id, o.request_id) IN ((%(one)s, %(two)s), (%(two)s, %(one)s))"
            )
        ],
        {"one": one, "two": two},
    )
    before = snapshot(shared, caller.tenant)
    for call in calls:
        await refused(call(), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert snapshot(shared, caller.tenant) == before


@pytest.mark.parametrize("method", ["Write", "Supersede", "Erase", "ReportUse"])
@pytest.mark.parametrize(
    "change",
    [
        "response = set_byte(response, 3, get_byte(response, 3) # 1)",
        "response = substr(response, 1, 10)",
        "response = response || 'x'",
        "scope_id = NULL, key_epoch = NULL",
        (
            "scope_id = (SELECT min(s.scope_id::text)::uuid FROM scope s"
            " WHERE s.tenant_id = idempotency.tenant_id), key_epoch = 1"
        ),
        "payload_digest = sha256('x')",
        "payload_digest = ''",
        "method = 'Erase2'",
    ],
)
async def test_an_edited_stored_answer_is_not_given(
    shared: RunningService, caller: Caller, method: str, change: str
) -> None:
    one, two = request_id(), request_id()
    call, _ = await _twice(caller, method, one, two)
    answer = await call()
    tamper(shared.database, [f"UPDATE idempotency SET {change} WHERE request_id = %(one)s"], {"one": one})
    before = snapshot(shared, caller.tenant)
    assert await unless(call(), "DATA_LOSS", "ALREADY_EXISTS", "FAILED_PRECONDITION") in (answer, None)
    assert snapshot(shared, caller.tenant) == before


# --- erasures -------------------------------------------------------------------------------------


async def _erasure(caller: Caller, erasure_id: str) -> erasure_pb2.ErasureReceipt:
    request = memory_service_pb2.GetErasureRequest(erasure_id=erasure_id)
    return (await caller.call("GetErasure", request)).receipt


_RECEIPT_EDITS = {
    "counts": "receipt = convert_to("
    "replace(convert_from(receipt, 'UTF8'), '\"memories\":1', '\"memories\":9'), 'UTF8')",
    "signature": "signature = set_byte(signature, 3, get_byte(signature, 3) # 1)",
    "signature removed": "signature = NULL",
    "no JSON": "receipt = 'x'",
    "receipt emptied": "receipt = ''",
    "state": "state = 1",
    "state nobody knows": "state = 99",
    "target nobody knows": "target = 99",
    "another erasure's receipt": "receipt = o.receipt, signature = o.signature",
}


@pytest.mark.parametrize("edit", _RECEIPT_EDITS)
async def test_an_edited_receipt_is_not_given(shared: RunningService, caller: Caller, edit: str) -> None:
    first, second = await _write(caller, "Lives in Lyon", "Likes tea")
    mark = request_id()
    receipt = await caller.erase_memories(first, request_id=mark)
    other = await caller.erase_memories(second)
    assert await _erasure(caller, receipt.erasure_id) == receipt
    tamper(
        shared.database,
        [
            f"UPDATE erasure e SET {_RECEIPT_EDITS[edit]} FROM erasure o"
            " WHERE e.erasure_id = %(id)s AND o.erasure_id = %(other)s"
            if edit.startswith("another")
            else f"UPDATE erasure SET {_RECEIPT_EDITS[edit]} WHERE erasure_id = %(id)s"
        ],
        {"id": receipt.erasure_id, "other": other.erasure_id},
    )
    await refused(_erasure(caller, receipt.erasure_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    await refused(caller.erase_memories(first, request_id=mark), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert await _erasure(caller, other.erasure_id) == other
    if edit not in ("state nobody knows", "target nobody knows"):
        assert "receipt_forged" in await kinds(shared, caller.tenant)
    # What is pending is looked at now and then: nothing forged may stop that, or be finished.
    await shared.service.upkeep.finish_pending_erasures()
    await refused(_erasure(caller, receipt.erasure_id), "DATA_LOSS", "INTEGRITY_VIOLATION")


async def test_a_forged_erasure_destroys_no_key(shared: RunningService, caller: Caller) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    await _write(caller, "Likes tea", subject="u2")
    await caller.erase_subject("u2")
    ids = ids_of(shared.database, memory_id)
    tamper(
        shared.database,
        [
            (
                "INSERT INTO erasure SELECT tenant_id, gen_random_uuid(), 1, target, %(scope_id)s, 1000,"
                " receipt, signature, create_time, NULL FROM erasure WHERE tenant_id = %(tenant_id)s"
            ),
            (
                "INSERT INTO erasure SELECT tenant_id, gen_random_uuid(), 1, target, NULL, NULL, receipt,"
                " NULL, create_time, NULL FROM erasure WHERE tenant_id = %(tenant_id)s AND state = 2"
            ),
            (
                "INSERT INTO erasure SELECT tenant_id, gen_random_uuid(), 1, 99, scope_id, 1, receipt,"
                " NULL, create_time, NULL FROM erasure WHERE tenant_id = %(tenant_id)s AND state = 2"
            ),
        ],
        ids,
    )
    assert await shared.service.upkeep.finish_pending_erasures() >= 3
    assert await caller.contents("u1", "Lyon") == ["Lives in Lyon"]
    # Others are finished all the same.
    other = shared.caller(f"t-{uuid4().hex[:12]}")
    await _write(other, "Owns a cat")
    assert (await other.erase_subject("u1")).state == erasure_pb2.ERASURE_STATE_COMPLETE
    tamper(shared.database, ["DELETE FROM erasure WHERE tenant_id = %(tenant_id)s AND state = 1"], ids)


# --- the trail ------------------------------------------------------------------------------------

_EVENT_EDITS = {
    "payload": "payload = convert_to("
    "replace(convert_from(payload, 'UTF8'), '\"rank\":1', '\"rank\":7'), 'UTF8')",
    "mac": "mac = sha256('x')",
    "mac emptied": "mac = ''",
    "payload emptied": "payload = ''",
    "no JSON": "payload = 'x'",
    "event_time": "event_time = event_time + interval '1 second'",
    "event_time beyond reach": "event_time = 'infinity'",
    "actor": "actor = 'somebody'",
    "memory_ids": "memory_ids = '{}'",
    "memory_ids with a hole": "memory_ids = ARRAY[NULL]::uuid[]",
    "agent": "agent = 'a1'",
    "trace_id": "trace_id = repeat('0', 32)",
    "source_types": "source_types = '{1}'",
    "scope_id": "scope_id = gen_random_uuid()",
    "scope_id removed": "scope_id = NULL",
}


@pytest.mark.parametrize("edit", _EVENT_EDITS)
async def test_an_edited_receipt_of_a_recall_is_not_given(
    shared: RunningService, caller: Caller, edit: str
) -> None:
    (memory_id,) = await _write(caller, "Lives in Lyon")
    genuine = (await caller.recall("u1", "Lyon")).recall_id
    recall_id = (await caller.recall("u1", "Lyon")).recall_id
    await shared.sealed()
    tamper(
        shared.database,
        [f"UPDATE audit_event SET {_EVENT_EDITS[edit]} WHERE recall_id = %(id)s"],
        {"id": recall_id},
    )
    await refused(
        caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recall_id)),
        "DATA_LOSS",
        "INTEGRITY_VIOLATION",
    )
    report = memory_service_pb2.ReportUseRequest(recall_id=recall_id, memory_ids=[memory_id])
    await refused(caller.call("ReportUse", report), "DATA_LOSS", "INTEGRITY_VIOLATION")
    page = await caller.call("Audit", memory_service_pb2.AuditRequest(page_size=500))
    (event_id,) = [
        str(row["event_id"])
        for row in stored(
            shared,
            "audit_event",
            caller.tenant,
            "recall_id = %s AND action = 4",
            recall_id,
            columns="event_id",
        )
    ]
    (shown,) = [event for event in page.events if event.event_id == event_id]
    # The event keeps its place; nothing that somebody else wrote into it is told.
    assert shown.action == audit_pb2.AUDIT_ACTION_UNSPECIFIED
    assert shown.sequence > 0
    assert not shown.HasField("memories_recalled")
    assert not shown.actor.principal
    violations = stored(shared, "audit_event", caller.tenant, "action = 21", columns="payload")
    assert any(event_id.encode() in bytes(row["payload"]) for row in violations)
    assert "event_changed" in await kinds(shared, caller.tenant)
    receipt = (await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=genuine))).receipt
    assert receipt.recalled.memories[0].memory_id == memory_id


async def test_another_recalls_receipt_is_not_given_for_this_one(
    shared: RunningService, caller: Caller
) -> None:
    await _write(caller, "Lives in Lyon")
    one = (await caller.recall("u1", "Lyon")).recall_id
    two = (await caller.recall("u1", "Lyon")).recall_id
    tamper(
        shared.database,
        [
            "UPDATE audit_event SET recall_id = gen_random_uuid() WHERE recall_id = %(one)s",
            "UPDATE audit_event SET recall_id = %(one)s WHERE recall_id = %(two)s",
        ],
        {"one": one, "two": two},
    )
    await refused(
        caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=one)),
        "DATA_LOSS",
        "INTEGRITY_VIOLATION",
    )
    await refused(
        caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=two)), "NOT_FOUND", "RECALL_NOT_FOUND"
    )


async def test_rows_of_before_an_erasure_come_back_as_nothing(shared: RunningService, caller: Caller) -> None:
    (memory_id,) = await _write(caller, item("Lives in Lyon", tags=["home"]))
    database = shared.database
    database.execute(
        "CREATE TEMP TABLE kept_memory AS SELECT * FROM memory WHERE memory_id = %s", (memory_id,)
    )
    ids = ids_of(database, memory_id)
    database.execute(
        "CREATE TEMP TABLE kept_vector AS SELECT * FROM memory_embedding WHERE scope_no = %(scope_no)s", ids
    )
    database.execute(
        "CREATE TEMP TABLE kept_posting AS SELECT * FROM posting WHERE scope_no = %(scope_no)s", ids
    )
    await caller.erase_subject("u1")
    (kept,) = await _write(caller, "Likes tea")
    vectors = written_columns(database, "memory_embedding")
    tamper(
        database,
        [
            "UPDATE kept_memory SET doc_no = 900",
            "UPDATE kept_vector SET doc_no = 900",
            "UPDATE kept_posting SET doc_no = 900",
            "INSERT INTO memory SELECT * FROM kept_memory",
            f"INSERT INTO memory_embedding ({vectors}) SELECT {vectors} FROM kept_vector",
            "INSERT INTO posting SELECT * FROM kept_posting",
        ],
        {},
    )
    for legs in LEGS:
        answer = await caller.recall("u1", "Lives in Lyon", min_score=0.0, legs=legs)
        assert "Lives in Lyon" not in [one.memory.content for one in answer.memories]
    assert [one.memory.memory_id for one in (await caller.recall("u1", "tea")).memories] == [kept]
    await refused(caller.get(memory_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert "erased_memory_back" in await kinds(shared, caller.tenant)
    assert UUID(memory_id) in {
        row["memory_id"] for row in stored(shared, "tombstone", caller.tenant, columns="memory_id")
    }
