"""Ids that name nothing: refused with the field's or the thing's name, and nothing is changed."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from contract.stored import ERASE, FAILED, OK, SUPERSEDE, Stored, refused
from muniment_server._gen.muniment.v1 import audit_pb2, erasure_pb2, memory_service_pb2
from support.service import Caller, error_info, item, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

Request = Callable[[str], Any]


def _erase(*memory_ids: str) -> memory_service_pb2.EraseRequest:
    return memory_service_pb2.EraseRequest(
        target=erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=memory_ids))
    )


REQUESTS: dict[str, tuple[Request, str, str]] = {
    "Supersede": (
        lambda name: memory_service_pb2.SupersedeRequest(memory_id=name, item=item("New")),
        "memory_id",
        "MEMORY_NOT_FOUND",
    ),
    "Erase": (_erase, "target.memories.memory_ids[0]", "MEMORY_NOT_FOUND"),
    "GetMemory": (
        lambda name: memory_service_pb2.GetMemoryRequest(memory_id=name),
        "memory_id",
        "MEMORY_NOT_FOUND",
    ),
    "GetErasure": (
        lambda name: memory_service_pb2.GetErasureRequest(erasure_id=name),
        "erasure_id",
        "ERASURE_NOT_FOUND",
    ),
    "ReportUse": (
        lambda name: memory_service_pb2.ReportUseRequest(recall_id=name),
        "recall_id",
        "RECALL_NOT_FOUND",
    ),
    "GetRecall": (lambda name: audit_pb2.GetRecallRequest(recall_id=name), "recall_id", "RECALL_NOT_FOUND"),
}


def _call(caller: Caller, method: str, name: str) -> Awaitable[Any]:
    return caller.call(method, REQUESTS[method][0](name))


@pytest.mark.parametrize("method", REQUESTS)
async def test_an_id_that_never_existed_is_not_found(caller: Caller, stored: Stored, method: str) -> None:
    await caller.write("u1", "Likes tea")
    before = stored.snapshot()
    name = str(uuid4())
    error = await refused(_call(caller, method, name), "NOT_FOUND", REQUESTS[method][2])
    assert name in error_info(error).metadata.values()
    assert stored.snapshot() == before
    attempts = [event for event in stored.events() if event["action"] != 1]
    assert [event["outcome"] for event in attempts] == [FAILED]


@pytest.mark.parametrize("name", ["12", "", "not-a-uuid", "0" * 37, "{00000000-0000-0000-0000-000000000000}"])
@pytest.mark.parametrize("method", REQUESTS)
async def test_a_malformed_id_is_refused_by_the_name_of_its_field(
    caller: Caller, stored: Stored, method: str, name: str
) -> None:
    await caller.write("u1", "Likes tea")
    before = stored.snapshot()
    error = await refused(_call(caller, method, name), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert set(violations(error)) == {REQUESTS[method][1]}
    assert stored.snapshot() == before
    assert not stored.events(SUPERSEDE, OK)
    assert not stored.events(ERASE, OK)


async def test_one_unknown_id_among_others_erases_nothing(caller: Caller, stored: Stored) -> None:
    known = [one.memory.memory_id for one in (await caller.write("u1", "Likes tea", "Likes jam")).results]
    before = stored.snapshot()
    unknown = str(uuid4())
    error = await refused(caller.erase_memories(known[0], unknown, known[1]), "NOT_FOUND", "MEMORY_NOT_FOUND")
    assert error_info(error).metadata["memory_id"] == unknown
    assert stored.snapshot() == before


async def test_an_id_is_the_same_in_capital_letters(caller: Caller, stored: Stored) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    assert (await caller.get(memory_id.upper())).memory.memory_id == memory_id
    assert (await caller.erase_memories(memory_id.upper())).counts.memories == 1
    assert not stored.live()
