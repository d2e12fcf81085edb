"""Consistency tokens: given by every answer, accepted by every read of the same tenant, a key to nothing."""

import base64
from typing import Any
from uuid import uuid4

import pytest

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import consistency_pb2, memory_service_pb2
from support.service import Caller, RunningService, error_info, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _reads(memory_id: str, token: str) -> dict[str, Any]:
    fresh = consistency_pb2.Consistency(at_least_as_fresh=consistency_pb2.ConsistencyToken(token=token))
    return {
        "Recall": memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea", consistency=fresh),
        "GetMemory": memory_service_pb2.GetMemoryRequest(memory_id=memory_id, consistency=fresh),
        "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), consistency=fresh),
    }


async def test_every_answer_gives_a_token_that_every_read_accepts(caller: Caller, stored: Stored) -> None:
    written = await caller.write("u1", "Likes tea", "Likes jam")
    memory_id = written.results[0].memory.memory_id
    recalled = await caller.recall("u1", "tea")
    listing = await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
    used = await caller.call("ReportUse", memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id))
    superseded = await caller.supersede(memory_id, "Likes green tea")
    target = {"memories": {"memory_ids": [written.results[1].memory.memory_id]}}
    erased = await caller.call("Erase", memory_service_pb2.EraseRequest(target=target))
    answers = [written, recalled, listing, used, superseded, erased, await caller.get(memory_id)]
    for answer in answers:
        token = answer.consistency_token.token
        assert 0 < len(token) <= 512
        for method, request in _reads(memory_id, token).items():
            assert (await caller.call(method, request)).consistency_token.token
    assert len(stored.live()) == 1


async def test_a_write_is_seen_by_every_read_that_begins_afterwards(caller: Caller) -> None:
    for number in range(10):
        memory_id = (await caller.write("u1", f"Fact {number}")).results[0].memory.memory_id
        assert memory_id in [
            one.memory.memory_id for one in (await caller.recall("u1", "Fact", limit=50)).memories
        ]
        await caller.erase_memories(memory_id)
        assert not (await caller.recall("u1", "Fact", limit=50)).memories


@pytest.mark.parametrize("requirement", [{"minimize_latency": True}, {"strong": True}])
async def test_other_requirements_are_met(caller: Caller, requirement: dict[str, bool]) -> None:
    await caller.write("u1", "Likes tea")
    wanted = consistency_pb2.Consistency(**requirement)
    answer = await caller.recall("u1", "tea", consistency=wanted)
    assert len(answer.memories) == 1
    assert not answer.degraded


@pytest.mark.parametrize(
    "token", ["x", "A" * 50, "A" * 512, base64.urlsafe_b64encode(b"\x02" + b"\0" * 36).decode().rstrip("=")]
)
async def test_text_that_is_no_token_is_refused(caller: Caller, token: str) -> None:
    await caller.write("u1", "Likes tea")
    for method, request in _reads(str(uuid4()), token).items():
        error = await refused(caller.call(method, request), "INVALID_ARGUMENT", "CONSISTENCY_TOKEN_INVALID")
        assert error_info(error).metadata["field"] == "consistency.at_least_as_fresh.token"


async def test_a_token_with_a_changed_bit_is_refused(caller: Caller) -> None:
    token = (await caller.write("u1", "Likes tea")).consistency_token.token
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    for at in range(len(raw)):
        bent = base64.urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :]).decode().rstrip("=")
        request = _reads(str(uuid4()), bent)["Recall"]
        error = await refused(caller.call("Recall", request), "INVALID_ARGUMENT")
        assert error_info(error).reason in {"CONSISTENCY_TOKEN_INVALID", "CONSISTENCY_TOKEN_FOREIGN"}


async def test_a_token_from_before_a_declared_restore_has_expired(
    shared: RunningService, caller: Caller
) -> None:
    written = await caller.write("u1", "Likes tea")
    memory_id, token = written.results[0].memory.memory_id, written.consistency_token.token
    instance = shared.service.services.instance
    restored = type(instance)(instance.instance_id, instance.model_no, instance.restore_epoch + 1)
    object.__setattr__(shared.service.services, "instance", restored)
    try:
        for method, request in _reads(memory_id, token).items():
            error = await refused(caller.call(method, request), "OUT_OF_RANGE", "CONSISTENCY_TOKEN_EXPIRED")
            assert error_info(error).metadata["field"] == "consistency.at_least_as_fresh.token"
    finally:
        object.__setattr__(shared.service.services, "instance", instance)


async def test_a_token_of_another_store_is_foreign(
    shared: RunningService, caller: Caller, postgres_server: Any
) -> None:
    token = (await caller.write("u1", "Likes tea")).consistency_token.token
    other = postgres_server.create()
    try:
        async with running_service(other) as running:
            there = running.caller(caller.tenant)
            for method, request in _reads(str(uuid4()), token).items():
                await refused(there.call(method, request), "INVALID_ARGUMENT", "CONSISTENCY_TOKEN_FOREIGN")
    finally:
        other.close()
        postgres_server.drop(other)
