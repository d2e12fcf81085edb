"""Request ids: a repeated call is answered again and does nothing again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import grpc
import pytest

from contract.stored import ERASE, OK, REPORT_USE, SUPERSEDE, WRITE, Stored, refused
from muniment_server._gen.muniment.v1 import (
    erasure_pb2,
    memory_service_pb2,
    write_pb2,
)
from muniment_server.application.vectors import WritePolicy
from support.service import Caller, RunningService, error_info, item, request_id, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _repeat(call: Callable[[], Awaitable[Any]], times: int = 3) -> Any:
    """The answer of a call; repeating it must give the very same."""
    first = await call()
    for _ in range(times):
        assert await call() == first
    return first


async def test_a_repeated_write_is_answered_again(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    answer = await _repeat(lambda: caller.write("u1", "Likes tea", "Likes jam", request_id=mark))
    assert answer.request_id == mark
    assert stored.live() == {one.memory.memory_id for one in answer.results}
    assert len(stored.events(WRITE)) == 1
    # Repeating is not restating.
    assert [row["reinforce_count"] for row in stored.rows("memory")] == [0, 0]
    assert stored.count("idempotency") == 1


async def test_a_repeated_supersede_is_answered_again(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", "Lives in Nice")).results[0].memory.memory_id
    mark = request_id()
    answer = await _repeat(lambda: caller.supersede(old, "Lives in Lyon", request_id=mark))
    assert stored.live() == {answer.memory.memory_id}
    assert stored.count("memory") == 2
    assert len(stored.events(SUPERSEDE)) == 1


async def test_a_repeated_supersede_is_answered_though_the_chain_went_on(
    caller: Caller, stored: Stored
) -> None:
    old = (await caller.write("u1", "Lives in Nice")).results[0].memory.memory_id
    mark = request_id()
    first = await caller.supersede(old, "Lives in Lyon", request_id=mark)
    last = await caller.supersede(first.memory.memory_id, "Lives in Metz")
    assert await caller.supersede(old, "Lives in Lyon", request_id=mark) == first
    assert stored.live() == {last.memory.memory_id}


async def test_a_repeated_erase_returns_the_receipt_and_spares_what_came_later(
    caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea", "Likes jam")
    mark = request_id()
    first = await caller.erase_subject("u1", request_id=mark)
    assert first.counts.memories == 2
    later = (await caller.write("u1", "Likes milk")).results[0].memory.memory_id
    again = await caller.erase_subject("u1", request_id=mark)
    assert again == first
    assert stored.live() == {later}
    assert stored.count("erasure") == 1
    assert len(stored.events(ERASE)) == 1


async def test_a_repeated_use_report_is_recorded_once(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes tea")
    recalled = await caller.recall("u1", "tea")
    request = memory_service_pb2.ReportUseRequest(
        recall_id=recalled.recall_id,
        memory_ids=[one.memory.memory_id for one in recalled.memories],
        request_id=request_id(),
    )
    answer = await _repeat(lambda: caller.call("ReportUse", request))
    assert [str(event["event_id"]) for event in stored.events(REPORT_USE)] == [answer.event_id]


async def test_twenty_parallel_writes_and_a_late_one_are_one_write(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    answers = await asyncio.gather(*(caller.write("u1", "Likes tea", request_id=mark) for _ in range(20)))
    answers.append(await caller.write("u1", "Likes tea", request_id=mark))
    assert len({one.results[0].memory.memory_id for one in answers}) == 1
    assert len({one.SerializeToString(deterministic=True) for one in answers}) == 1
    assert stored.count("memory") == 1
    assert len(stored.events(WRITE, OK)) == 1


async def test_parallel_repetitions_of_every_mutation_do_one_thing(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", "Lives in Nice")).results[0].memory.memory_id
    mark = request_id()
    supersedes = await asyncio.gather(
        *(caller.supersede(old, "Lives in Lyon", request_id=mark) for _ in range(10))
    )
    assert len({one.memory.memory_id for one in supersedes}) == 1
    assert stored.count("memory") == 2
    erasing = request_id()
    receipts = await asyncio.gather(*(caller.erase_subject("u1", request_id=erasing) for _ in range(6)))
    assert {one.counts.memories for one in receipts} == {2}
    assert len({one.erasure_id for one in receipts}) == 1
    assert stored.count("erasure") == 1


async def test_a_write_whose_deadline_passed_can_be_repeated(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    mark = request_id()
    request = memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item("Likes tea")], request_id=mark)
    services = shared.service.services
    policy = services.write_policy
    # One that does not store memories to give them their vectors later: it waits until there is no time.
    object.__setattr__(services, "write_policy", WritePolicy(require=True))
    embedder.gate.clear()
    try:
        await refused(caller.call("Write", request, timeout=0.3), "DEADLINE_EXCEEDED")
    finally:
        embedder.gate.set()
        object.__setattr__(services, "write_policy", policy)
    answer = await caller.call("Write", request)
    assert await caller.call("Write", request) == answer
    assert stored.live() == {answer.results[0].memory.memory_id}
    assert len(stored.events(WRITE, OK)) == 1


async def test_a_write_that_was_hung_up_on_can_be_repeated(caller: Caller, stored: Stored) -> None:
    for number in range(25):
        request = memory_service_pb2.WriteRequest(
            scope=scope("u1"), items=[item(f"Fact {number}")], request_id=request_id()
        )
        call = caller.memory.Write(request, metadata=caller.metadata, timeout=20)
        await asyncio.sleep(number / 2000)
        call.cancel()
        await caller.call("Write", request)
    assert stored.count("memory") == 25
    assert stored.count("idempotency") == 25
    assert len(stored.events(WRITE, OK)) == 25


async def test_one_id_for_two_payloads_is_refused(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    await caller.write("u1", "Likes tea", request_id=mark)
    before = stored.snapshot()
    others: list[Callable[[], Awaitable[Any]]] = [
        lambda: caller.write("u1", "Likes jam", request_id=mark),
        lambda: caller.write("u2", "Likes tea", request_id=mark),
        lambda: caller.write("u1", "Likes tea", request_id=mark, agent="a1"),
        lambda: caller.write("u1", item("Likes tea", tags=["x"]), request_id=mark),
        lambda: caller.write("u1", "Likes tea", "Likes tea", request_id=mark),
    ]
    for other in others:
        error = await refused(other(), "ALREADY_EXISTS", "REQUEST_ID_PAYLOAD_MISMATCH")
        assert dict(error_info(error).metadata) == {"request_id": mark}
    assert stored.snapshot() == before


async def test_one_id_for_two_methods_is_refused(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    memory_id = (await caller.write("u1", "Likes tea", request_id=mark)).results[0].memory.memory_id
    recalled = await caller.recall("u1", "tea")
    before = stored.snapshot()
    use = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, request_id=mark)
    others: list[Callable[[], Awaitable[Any]]] = [
        lambda: caller.supersede(memory_id, "Likes jam", request_id=mark),
        lambda: caller.erase_subject("u1", request_id=mark),
        lambda: caller.erase_memories(memory_id, request_id=mark),
        lambda: caller.call("ReportUse", use),
    ]
    for other in others:
        await refused(other(), "ALREADY_EXISTS", "REQUEST_ID_PAYLOAD_MISMATCH")
    assert stored.snapshot() == before


async def test_the_same_id_in_capital_letters_is_the_same_request(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    first = await caller.write("u1", "Likes tea", request_id=mark)
    again = await caller.write("u1", "Likes tea", request_id=mark.upper())
    assert again.results == first.results
    assert stored.count("memory") == 1


async def test_a_failed_call_does_not_use_its_id_up(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    await refused(caller.supersede(str(uuid4()), "Likes jam", request_id=mark), "NOT_FOUND")
    await refused(caller.write("u1", " ", request_id=mark), "INVALID_ARGUMENT")
    assert stored.count("idempotency") == 0
    await caller.write("u1", "Likes tea", request_id=mark)
    assert stored.count("memory") == 1


async def test_request_ids_belong_to_one_tenant(shared: RunningService, caller: Caller) -> None:
    other = shared.caller(f"{caller.tenant}-b")
    mark = request_id()
    one = await caller.write("u1", "Likes tea", request_id=mark)
    two = await other.write("u1", "Likes jam", request_id=mark)
    assert one.results[0].memory.memory_id != two.results[0].memory.memory_id
    assert Stored(shared.database, other.tenant).count("memory") == 1


async def test_the_same_text_under_three_ids_is_one_memory_said_three_times(
    caller: Caller, stored: Stored
) -> None:
    answers = await asyncio.gather(
        *(caller.write("u1", "Likes tea", request_id=request_id()) for _ in range(3))
    )
    assert len({one.results[0].memory.memory_id for one in answers}) == 1
    assert sorted(one.results[0].outcome for one in answers) == [
        write_pb2.WRITE_OUTCOME_CREATED,
        write_pb2.WRITE_OUTCOME_REINFORCED,
        write_pb2.WRITE_OUTCOME_REINFORCED,
    ]
    (row,) = stored.rows("memory")
    assert (row["state"], row["reinforce_count"]) == (2, 2)


async def test_stored_answers_hold_no_content(shared: RunningService, caller: Caller) -> None:
    answer = await caller.write("u1", "Likes tea", request_id=request_id())
    assert not answer.results[0].memory.content
    (row,) = shared.database.rows("SELECT response FROM idempotency ORDER BY create_time DESC LIMIT 1")
    assert answer.results[0].memory.memory_id.encode() not in bytes(row["response"])


async def _erase_all_of(caller: Caller, memory_ids: list[str]) -> None:
    await caller.erase_memories(*memory_ids)


async def _erase_subject(caller: Caller, memory_ids: list[str]) -> None:
    await caller.erase_subject("u1")


@pytest.mark.parametrize("erase", [_erase_all_of, _erase_subject])
async def test_what_was_erased_does_not_come_back_with_a_repeated_call(
    caller: Caller, stored: Stored, erase: Callable[[Caller, list[str]], Awaitable[None]]
) -> None:
    writing, superseding = request_id(), request_id()
    old = (await caller.write("u1", "Lives in Nice", request_id=writing)).results[0].memory.memory_id
    new = (await caller.supersede(old, "Lives in Lyon", request_id=superseding)).memory.memory_id
    await erase(caller, [old, new])
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: caller.write("u1", "Lives in Nice", request_id=writing),
        lambda: caller.supersede(old, "Lives in Lyon", request_id=superseding),
    ]
    for call in calls:
        for _ in range(2):
            await refused(call(), "FAILED_PRECONDITION", "MEMORY_ERASED")
    # Not after the scope came to life again either.
    await caller.write("u1", "Likes tea")
    for call in calls:
        await refused(call(), "FAILED_PRECONDITION", "MEMORY_ERASED")
    assert await caller.contents("u1", "Lives Likes") == ["Likes tea"]
    assert all(bytes(row["response"]) == b"" for row in stored.rows("idempotency", "method <> 'Erase'"))


async def test_an_erasure_of_one_memory_leaves_the_answers_about_others(
    caller: Caller, stored: Stored
) -> None:
    mark = request_id()
    kept = await caller.write("u1", "Likes tea", request_id=mark)
    gone = (await caller.write("u1", "Likes jam")).results[0].memory.memory_id
    await caller.erase_memories(gone)
    assert await caller.write("u1", "Likes tea", request_id=mark) == kept
    assert stored.live() == {kept.results[0].memory.memory_id}


async def test_a_dry_run_uses_no_id_up(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes tea")
    mark = request_id()
    dry = await caller.erase_subject("u1", validate_only=True, request_id=mark)
    assert (dry.counts.memories, dry.erasure_id) == (1, "")
    done = await caller.erase_subject("u1", request_id=mark)
    assert done.counts.memories == 1
    assert not stored.live()


@pytest.mark.parametrize("mark", ["1", "x" * 36, "{" + "0" * 34 + "}", str(uuid4()) + "0"])
async def test_an_id_that_is_no_uuid_is_refused(caller: Caller, stored: Stored, mark: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await caller.write("u1", "Likes tea", request_id=mark)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=scope("u1")))
    await refused(
        caller.call("Erase", memory_service_pb2.EraseRequest(target=target, request_id=mark)),
        "INVALID_ARGUMENT",
    )
    assert stored.count("memory") == 0
