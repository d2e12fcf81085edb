"""Supersede: one memory for another, in one step, and only by who saw the present state."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from contract.stored import ACTIVE, PENDING, SUPERSEDED, Stored, refused
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from muniment_server.domain.model import TrustLevel
from support.service import FACT, PREFERENCE, Caller, RunningService, error_info, item, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _one(caller: Caller, content: str | write_pb2.WriteItem = "Lives in Nice", **options: Any) -> Any:
    return (await caller.write("u1", content, **options)).results[0].memory


async def test_both_memories_tell_of_each_other(caller: Caller, stored: Stored) -> None:
    old = await _one(caller)
    answer = await caller.supersede(old.memory_id, "Lives in Lyon")
    assert answer.outcome == write_pb2.WRITE_OUTCOME_SUPERSEDED_PREVIOUS
    assert answer.embedding_state == memory_pb2.EMBEDDING_STATE_READY
    assert not answer.rule
    assert not answer.explanation
    assert answer.consistency_token.token
    was, new = answer.superseded, answer.memory
    assert (was.memory_id, was.state, was.revision) == (old.memory_id, SUPERSEDED, 2)
    assert (new.state, new.revision) == (ACTIVE, 1)
    assert (was.superseded_by, new.supersedes) == (new.memory_id, old.memory_id)
    assert was.validity.end_time == was.update_time == new.create_time
    assert was.etag != old.etag
    # Answers are kept for repeated request ids, so they never hold content.
    assert not was.content
    assert not new.content
    row = stored.memory(new.memory_id)
    assert (row["state"], str(row["supersedes"])) == (ACTIVE, old.memory_id)
    (history,) = stored.rows("memory_revision", "memory_id = %s", old.memory_id)
    assert (history["revision"], history["state"]) == (1, ACTIVE)


async def test_nothing_but_scope_and_slot_is_taken_over(caller: Caller, stored: Stored) -> None:
    old = await _one(
        caller,
        item(
            "Lives in Nice",
            PREFERENCE,
            slot="home_city",
            tags=["a"],
            properties={"n": memory_pb2.PropertyValue(number_value=1)},
        ),
        agent="planner",
        session="s1",
    )
    new = (await caller.supersede(old.memory_id, item("Lives in Lyon", FACT))).memory
    assert new.scope == old.scope
    assert new.slot == "home_city"
    assert (new.kind, list(new.tags), dict(new.properties)) == (FACT, [], {})
    assert stored.memory(new.memory_id)["agent"] == "planner"


async def test_validity_ends_where_the_new_statement_begins(caller: Caller, stored: Stored) -> None:
    moved = datetime(2025, 3, 1, tzinfo=UTC)
    old = await _one(caller)
    begin = memory_pb2.Validity()
    begin.start_time.FromDatetime(moved)
    answer = await caller.supersede(old.memory_id, item("Lives in Lyon", validity=begin))
    assert answer.superseded.validity.end_time.ToDatetime(UTC) == moved
    assert stored.memory(old.memory_id)["valid_to"] == moved
    assert stored.memory(answer.memory.memory_id)["valid_from"] == moved


async def test_the_etag_of_the_present_revision_is_accepted(caller: Caller, stored: Stored) -> None:
    old = await _one(caller)
    answer = await caller.supersede(old.memory_id, "Lives in Lyon", etag=old.etag)
    assert stored.live() == {answer.memory.memory_id}


async def test_a_stale_etag_loses(shared: RunningService, caller: Caller, stored: Stored) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    old = (await weak.write("u1", "Lives in Nice")).results[0].memory
    # A restatement by somebody more trusted makes a new revision.
    await caller.write("u1", "Lives in Nice")
    assert stored.memory(old.memory_id)["revision"] == 2
    before = stored.snapshot()
    error = await refused(
        caller.supersede(old.memory_id, "Lives in Lyon", etag=old.etag), "ABORTED", "REVISION_CONFLICT"
    )
    assert dict(error_info(error).metadata) == {"memory_id": old.memory_id, "current_revision": "2"}
    assert stored.snapshot() == before


@pytest.mark.parametrize("etag", ["x", "0" * 24, "é", "a" * 128])
async def test_what_is_no_etag_of_the_memory_loses(caller: Caller, stored: Stored, etag: str) -> None:
    old = await _one(caller)
    await refused(caller.supersede(old.memory_id, "Lives in Lyon", etag=etag), "ABORTED", "REVISION_CONFLICT")
    assert stored.live() == {old.memory_id}


async def test_the_etag_of_another_memory_loses(caller: Caller, stored: Stored) -> None:
    old, other = await _one(caller), await _one(caller, "Likes tea")
    await refused(
        caller.supersede(old.memory_id, "Lives in Lyon", etag=other.etag), "ABORTED", "REVISION_CONFLICT"
    )
    assert stored.live() == {old.memory_id, other.memory_id}


async def test_what_was_superseded_already_is_refused_with_its_successor(
    caller: Caller, stored: Stored
) -> None:
    old = await _one(caller)
    new = (await caller.supersede(old.memory_id, "Lives in Lyon")).memory
    error = await refused(
        caller.supersede(old.memory_id, "Lives in Metz"), "FAILED_PRECONDITION", "MEMORY_SUPERSEDED"
    )
    assert dict(error_info(error).metadata) == {
        "memory_id": old.memory_id,
        "superseded_by": new.memory_id,
    }
    assert stored.live() == {new.memory_id}


async def test_what_was_erased_is_refused(caller: Caller, stored: Stored) -> None:
    old = await _one(caller)
    await caller.erase_memories(old.memory_id)
    await refused(caller.supersede(old.memory_id, "Lives in Metz"), "FAILED_PRECONDITION", "MEMORY_ERASED")
    assert stored.count("memory") == 0


async def test_a_less_trusted_correction_waits_for_review(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    old = await _one(caller)
    answer = await weak.supersede(old.memory_id, "Lives in Lyon")
    assert answer.outcome == write_pb2.WRITE_OUTCOME_PENDING_REVIEW
    assert answer.rule == "LESS_TRUSTED_THAN_CORRECTED"
    assert answer.explanation
    assert (answer.superseded.state, answer.memory.state) == (ACTIVE, PENDING)
    assert answer.superseded.revision == 1
    assert stored.live() == {old.memory_id}
    assert stored.memory(answer.memory.memory_id)["state"] == PENDING
    assert await caller.contents("u1", "Lives in Lyon") == ["Lives in Nice"]
    error = await refused(
        caller.supersede(answer.memory.memory_id, "Lives in Metz"),
        "FAILED_PRECONDITION",
        "MEMORY_NOT_ACTIVE",
    )
    assert error_info(error).metadata["state"] == "PENDING"
    # The correction by somebody trusted goes through, whatever waits.
    done = await caller.supersede(old.memory_id, "Lives in Metz")
    assert stored.live() == {done.memory.memory_id}


async def test_a_slot_of_somebody_else_is_not_taken_in_passing(caller: Caller, stored: Stored) -> None:
    holder = await _one(caller, item("Lives in Nice", slot="home_city"))
    old = await _one(caller, "Works in Nice")
    before = stored.snapshot()
    error = await refused(
        caller.supersede(old.memory_id, item("Works in Lyon", slot="home_city")),
        "FAILED_PRECONDITION",
        "SLOT_CONFLICT",
    )
    assert error_info(error).metadata["memory_id"] == holder.memory_id
    assert stored.snapshot() == before


async def test_a_correction_may_move_to_a_free_slot(caller: Caller, stored: Stored) -> None:
    old = await _one(caller, item("Lives in Nice", slot="city"))
    new = (await caller.supersede(old.memory_id, item("Lives in Lyon", slot="home_city"))).memory
    assert stored.memory(new.memory_id)["slot"] == "home_city"
    again = (await caller.write("u1", item("Works in Nice", slot="city"))).results[0]
    assert again.outcome == write_pb2.WRITE_OUTCOME_CREATED


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": ""}, "item.content"),
        ({"content": " \n\t"}, "item.content"),
        ({"content": "x" * 32_769}, "item.content"),
        ({"kind": 0}, "item.kind"),
        ({"slot": "s" * 129}, "item.slot"),
        ({"tags": ["a", "a"]}, "item.tags"),
    ],
)
async def test_a_correction_is_held_to_the_rules_of_a_write(
    caller: Caller, stored: Stored, change: dict[str, Any], field: str
) -> None:
    old = await _one(caller)
    request = memory_service_pb2.SupersedeRequest(
        memory_id=old.memory_id, item=write_pb2.WriteItem(**({"content": "New", "kind": FACT} | change))
    )
    error = await refused(caller.call("Supersede", request), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [field]
    assert stored.live() == {old.memory_id}


async def test_an_item_is_required(caller: Caller, stored: Stored) -> None:
    request = memory_service_pb2.SupersedeRequest(memory_id=str(uuid4()))
    error = await refused(caller.call("Supersede", request), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == ["item"]
    assert stored.count("memory") == 0
