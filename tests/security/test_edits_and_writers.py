"""Writers that meet edited rows: nothing forged is sealed anew, nothing erased stays, answers are true."""

from typing import Any
from uuid import uuid4

import pytest

from muniment_server._gen.muniment.v1 import (
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    write_pb2,
)
from security.edits import tamper
from security.looking import (
    findings,
    kinds,
    refused,
    snapshot,
    stored,
    violations_audited,
)
from support.service import Caller, RunningService, error_info, item, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

_FORGERIES = {
    "trust": "UPDATE memory SET trust = 5 WHERE memory_id = %(id)s",
    "tags": "UPDATE memory SET tags = '{urgent}' WHERE memory_id = %(id)s",
    "content": "UPDATE memory SET content_ct = set_byte(content_ct, 20, get_byte(content_ct, 20) # 1)"
    " WHERE memory_id = %(id)s",
    "kind nobody knows": "UPDATE memory SET source_type = 99 WHERE memory_id = %(id)s",
    "put back": "UPDATE memory SET state = 2 WHERE memory_id = %(id)s",
}


async def _write(caller: Caller, *items: Any, **fields: Any) -> list[str]:
    return [one.memory.memory_id for one in (await caller.write("u1", *items, **fields)).results]


def _edit(service: RunningService, *statements: str, **values: Any) -> None:
    tamper(service.database, statements, values)


@pytest.mark.parametrize("forgery", _FORGERIES)
async def test_restating_an_edited_memory_does_not_make_it_genuine(
    shared: RunningService, caller: Caller, forgery: str
) -> None:
    (victim,) = await _write(caller, "Lives in Lyon")
    if forgery == "put back":
        await caller.supersede(victim, "Lives in Porto")
    _edit(shared, _FORGERIES[forgery], id=victim)
    (before,) = stored(shared, "memory", caller.tenant, "memory_id = %s", victim)
    (result,) = (await caller.write("u1", "Lives in Lyon")).results
    assert result.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert result.memory.memory_id != victim
    assert stored(shared, "memory", caller.tenant, "memory_id = %s", victim) == [before]
    assert violations_audited(shared, caller.tenant, victim)
    await refused(caller.get(victim), "DATA_LOSS", "INTEGRITY_VIOLATION")
    answer = await caller.recall("u1", "Lyon", min_score=0.0)
    assert victim in answer.seal_broken_memory_ids
    assert result.memory.memory_id in [one.memory.memory_id for one in answer.memories]
    assert "memory_seal" in await kinds(shared, caller.tenant)


@pytest.mark.parametrize("forgery", list(_FORGERIES)[:-1])
async def test_a_slot_held_by_an_edited_memory_is_not_written(
    shared: RunningService, caller: Caller, forgery: str
) -> None:
    (victim,) = await _write(caller, item("Lives in Lyon", slot="home"))
    _edit(shared, _FORGERIES[forgery], id=victim)
    before = snapshot(shared, caller.tenant)
    error = await refused(
        caller.write("u1", "Likes tea", item("Lives in Porto", slot="home")),
        "DATA_LOSS",
        "INTEGRITY_VIOLATION",
    )
    assert error_info(error).metadata["memory_id"] == victim
    assert snapshot(shared, caller.tenant) == before
    # Nothing else in the scope is stopped by it.
    assert await _write(caller, "Likes tea")


@pytest.mark.parametrize("forgery", list(_FORGERIES))
async def test_an_edited_memory_is_not_superseded(
    shared: RunningService, caller: Caller, forgery: str
) -> None:
    (victim,) = await _write(caller, "Lives in Lyon")
    if forgery == "put back":
        await caller.supersede(victim, "Lives in Porto")
    _edit(shared, _FORGERIES[forgery], id=victim)
    before = snapshot(shared, caller.tenant)
    error = await refused(caller.supersede(victim, "Lives in Nice"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert error_info(error).metadata["memory_id"] == victim
    assert snapshot(shared, caller.tenant) == before


async def test_a_correction_does_not_take_the_slot_of_an_edited_memory(
    shared: RunningService, caller: Caller
) -> None:
    holder, other = await _write(caller, item("Lives in Lyon", slot="home"), "Works in Lyon")
    _edit(shared, _FORGERIES["trust"], id=holder)
    before = snapshot(shared, caller.tenant)
    await refused(
        caller.supersede(other, item("Lives in Porto", slot="home")), "FAILED_PRECONDITION", "SLOT_CONFLICT"
    )
    assert snapshot(shared, caller.tenant) == before


async def test_a_number_taken_by_a_forged_row_is_refused_without_a_word_of_the_database(
    shared: RunningService, caller: Caller
) -> None:
    (victim,) = await _write(caller, "Lives in Lyon")
    _edit(shared, "UPDATE memory SET doc_no = doc_no + 1 WHERE memory_id = %(id)s", id=victim)
    error = await refused(caller.write("u1", "Likes tea"), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert "memory_doc_no_key" not in str(error)
    assert len(stored(shared, "memory", caller.tenant)) == 1


# --- erasing what was edited ----------------------------------------------------------------------

_TARGETS = {
    "ids": lambda ids: erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=ids)),
    "filter": lambda ids: erasure_pb2.ErasureTarget(
        filter=erasure_pb2.FilterTarget(
            scope=scope("u1"),
            filter=filter_pb2.MemoryFilter(
                kinds=[memory_pb2.MEMORY_KIND_FACT], min_trust=memory_pb2.TRUST_LEVEL_UNTRUSTED
            ),
        )
    ),
    "session": lambda ids: erasure_pb2.ErasureTarget(
        session=erasure_pb2.SessionTarget(scope=scope("u1", session="s1"))
    ),
    "scope": lambda ids: erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=scope("u1"))),
}
_ERASABLE = {
    "labels changed": ("UPDATE memory SET trust = 5, tags = '{urgent}' WHERE memory_id = %(id)s",),
    "text changed": ("UPDATE memory SET content_ct = '' WHERE memory_id = %(id)s",),
    "seal changed": ("UPDATE memory SET seal = sha256('x') WHERE memory_id = %(id)s",),
    "number changed": ("UPDATE memory SET doc_no = 900 WHERE memory_id = %(id)s",),
    "number of terms changed": ("UPDATE memory SET term_count = 30000 WHERE memory_id = %(id)s",),
    "hidden": ("UPDATE memory SET state = 4 WHERE memory_id = %(id)s",),
    "in a state that nobody knows": ("UPDATE memory SET state = 99 WHERE memory_id = %(id)s",),
    "unreadable": (
        "UPDATE memory SET create_time = '-infinity', properties = '[]' WHERE memory_id = %(id)s",
    ),
    "a forged copy": (
        (
            "INSERT INTO memory SELECT (jsonb_populate_record(m, jsonb_build_object("
            "'memory_id', %(spare)s::text, 'doc_no', 900))).* FROM memory m WHERE memory_id = %(id)s"
        ),
    ),
    "two forged copies": (
        (
            "INSERT INTO memory SELECT (jsonb_populate_record(m, jsonb_build_object("
            "'memory_id', %(spare)s::text, 'doc_no', 900))).* FROM memory m WHERE memory_id = %(id)s"
        ),
        (
            "INSERT INTO memory SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id',"
            " gen_random_uuid(), 'doc_no', 901))).* FROM memory m WHERE memory_id = %(id)s"
        ),
    ),
    "a tombstone forged": (
        (
            "INSERT INTO tombstone SELECT tenant_id, memory_id, scope_id, gen_random_uuid(), now()"
            " FROM memory WHERE memory_id = %(id)s"
        ),
    ),
}


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("forgery", _ERASABLE)
async def test_edited_memories_can_be_erased(
    shared: RunningService, caller: Caller, forgery: str, target: str
) -> None:
    said = memory_pb2.Provenance(session="s1")
    (victim,) = await _write(caller, item("Lives in Lyon", provenance=said))
    spare = str(uuid4())
    await shared.sealed()
    _edit(shared, *_ERASABLE[forgery], id=victim, spare=spare)
    rows = stored(shared, "memory", caller.tenant, columns="memory_id")
    request = memory_service_pb2.EraseRequest(
        target=_TARGETS[target]([str(row["memory_id"]) for row in rows])
    )
    receipt = (await caller.call("Erase", request)).receipt
    assert receipt.state == erasure_pb2.ERASURE_STATE_COMPLETE
    assert receipt.counts.memories == len(rows)
    for table in ("memory", "memory_revision", "memory_embedding", "posting"):
        assert stored(shared, table, caller.tenant) == [], table
    assert {row["memory_id"] for row in stored(shared, "tombstone", caller.tenant)} == {
        row["memory_id"] for row in rows
    }
    # The scope can be used afterwards, and nothing of the forgery is left in it.
    (again,) = await _write(caller, "Likes tea")
    assert await caller.contents("u1", "tea") == ["Likes tea"]
    found = {one.kind.value for one in await findings(shared, caller.tenant)}
    # A seal that was changed was never in the set, and the one that was in it is gone for good.
    unexplained = {"scope_set"} if forgery == "seal changed" and target != "scope" else set()
    assert found <= unexplained, found
    assert again


async def test_erasing_a_genuine_memory_beside_a_deleted_one_is_possible_and_hides_nothing(
    shared: RunningService, caller: Caller
) -> None:
    lost, other, kept = await _write(caller, "Lives in Lyon", "Likes tea", "Owns a cat")
    _edit(shared, "DELETE FROM memory WHERE memory_id = %(id)s", id=lost)
    await caller.erase_memories(other)
    assert {"scope_set", "memory_lost"} <= await kinds(shared, caller.tenant)
    assert [one.memory.memory_id for one in (await caller.recall("u1", "cat")).memories] == [kept]
