"""Zero, unset and unknown: each means what the contract says, and none of them is taken for another."""

from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from contract.requests import fields, path_of, valid_requests
from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from muniment_server.interceptors.methods import METHODS
from support.service import Caller, RunningService, item, reason, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENUMS = list(fields(FieldDescriptor.TYPE_ENUM))


async def _call(caller: Caller, method: str, request: Any) -> Any:
    return await caller.call(method, request)


@pytest.mark.parametrize("number", [99, -1, 2**31 - 1])
async def test_a_number_that_no_enum_has_is_refused_everywhere(
    caller: Caller, stored: Stored, number: int
) -> None:
    assert len(ENUMS) > 25
    await caller.write("u1", "Likes tea")
    before, events = stored.snapshot(), stored.count("audit_event")
    for field in ENUMS:
        error = await refused(_call(caller, field.method, field.spoiled(number)), "INVALID_ARGUMENT")
        assert reason(error) == "INVALID_REQUEST"
        assert field.path in violations(error), (field.method, field.path, violations(error))
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events


async def test_a_limit_of_zero_is_not_the_default(caller: Caller) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(15)))
    unset = await caller.recall("u1", "Fact")
    assert (len(unset.memories), unset.applied_limit) == (10, 10)
    error = await refused(caller.recall("u1", "Fact", limit=0), "INVALID_ARGUMENT")
    assert violations(error) == ["limit"]
    assert len((await caller.recall("u1", "Fact", limit=1)).memories) == 1
    assert len((await caller.recall("u1", "Fact", limit=200)).memories) == 15


async def test_a_score_of_zero_is_not_the_default(caller: Caller) -> None:
    await caller.write("u1", "Likes tea", "orbit of Triton")
    unset = await caller.recall("u1", "tea")
    zero = await caller.recall("u1", "tea", min_score=0.0)
    assert unset.applied_min_score == pytest.approx(0.05)
    assert zero.applied_min_score == 0.0
    assert len(zero.memories) == 2
    assert len(unset.memories) == 1


async def test_a_budget_of_zero_is_not_no_budget(caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    assert not (await caller.recall("u1", "tea")).HasField("packed_context")
    await refused(caller.recall("u1", "tea", token_budget=0), "INVALID_ARGUMENT")
    one = await caller.recall("u1", "tea", token_budget=1)
    assert one.HasField("packed_context")
    assert (one.packed_context.text, one.packed_context.tokens) == ("", 0)


async def test_a_page_size_of_zero_is_the_default_as_documented(caller: Caller) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(60)))
    await caller.write("u1", *(f"More {number}" for number in range(60)))
    for size, expected in ((0, 100), (7, 7), (1_000, 120), (5_000, 120), (2**31 - 1, 120)):
        request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=size)
        page = await caller.call("ListMemories", request)
        assert len(page.memories) == expected
        assert bool(page.next_page_token) == (expected < 120)
    negative = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=-1)
    assert violations(await refused(caller.call("ListMemories", negative), "INVALID_ARGUMENT")) == [
        "page_size"
    ]


async def test_confidence_zero_is_kept_apart_from_unset(caller: Caller, stored: Stored) -> None:
    zero = item("Likes tea", provenance=memory_pb2.Provenance(confidence=0.0))
    answer = await caller.write("u1", zero, "Likes jam")
    said, unsaid = (one.memory for one in answer.results)
    assert said.provenance.HasField("confidence")
    assert not unsaid.provenance.HasField("confidence")
    assert stored.memory(said.memory_id)["confidence"] == 0.0
    assert stored.memory(unsaid.memory_id)["confidence"] is None


@pytest.mark.parametrize("value", ["", 0.0, -0.0, False])
async def test_properties_of_nothing_are_kept(caller: Caller, value: str | float | bool) -> None:
    kind = {str: "string_value", float: "number_value", bool: "bool_value"}[type(value)]
    given = memory_pb2.PropertyValue(**{kind: value})
    memory_id = (
        (await caller.write("u1", item("Likes tea", properties={"p": given}))).results[0].memory.memory_id
    )
    found = (await caller.get(memory_id)).memory.properties["p"]
    assert found.WhichOneof("value") == kind
    assert getattr(found, kind) == value
    equal = {"properties": [{"key": "p", "equals": given}]}
    assert len((await caller.recall("u1", "tea", filter=equal)).memories) == 1


async def test_large_numbers_survive(caller: Caller) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    for before in (2**53 + 1, 2**63 - 1):
        answer = await caller.get(memory_id, include_revisions=True, before_revision=before)
        assert len(answer.revisions) == 1
    for bad in (0, -1):
        await refused(caller.get(memory_id, include_revisions=True, before_revision=bad), "INVALID_ARGUMENT")
    numbers = (2.0**53, -(2.0**53), 1.7976931348623157e308, 5e-324, 0.1)
    given = {
        f"n{index}": memory_pb2.PropertyValue(number_value=number) for index, number in enumerate(numbers)
    }
    other = (await caller.write("u1", item("Likes jam", properties=given))).results[0].memory.memory_id
    assert dict((await caller.get(other)).memory.properties) == given


async def test_every_method_has_a_request_here() -> None:
    assert {path_of(method)[1:] for method in valid_requests()} == METHODS.keys() - {
        # Its requests are those of Ingest, one after the other.
        "muniment.v1.MemoryService/StreamIngest"
    }


def _with_unknown_field(request: Any) -> bytes:
    # Field 1999 with a string, as a newer client might send it.
    return bytes(request.SerializeToString()) + bytes.fromhex("fa7c036e6577")


@pytest.mark.parametrize("method", ["Write", "Recall", "ListMemories", "Audit"])
async def test_a_field_of_a_newer_client_is_ignored(
    shared: RunningService, caller: Caller, stored: Stored, method: str
) -> None:
    request = valid_requests()[method]
    send = shared.channel.unary_unary(f"/muniment.v1.MemoryService/{method}")
    assert isinstance(await send(_with_unknown_field(request), metadata=caller.metadata, timeout=10), bytes)
    assert stored.count("memory") == (method == "Write")


async def test_output_only_fields_of_a_request_are_ignored(caller: Caller, stored: Stored) -> None:
    forged = memory_pb2.Provenance(author="root", agent="root")
    written = (await caller.write("u1", item("Likes tea", provenance=forged))).results[0].memory
    assert written.provenance.author != "root"
    assert stored.memory(written.memory_id)["author_agent"] is None
