"""Callers that hang up, and deadlines that pass: nothing half done, nothing left running."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from contract.stored import OK, WRITE, Stored, outcome, refused, until
from muniment_server._gen.muniment.v1 import memory_service_pb2
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, request_id, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service that does nothing but what it is asked for."""
    async with running_service(module_database) as running:
        await running.without_upkeep()
        yield running


def _idle(shared: RunningService) -> bool:
    """Whether no call holds or waits for a connection, and the database runs nothing of ours."""
    stats = shared.service.database.pool_stats()
    active = shared.database.row(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
        " AND usename = 'muniment_app' AND state <> 'idle'"
    )["n"]
    return stats.used == 0 and stats.pending == 0 and active == 0


async def test_five_hundred_cancelled_writes_are_each_done_or_not(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    chance = random.Random(500)
    codes: list[str] = []

    async def write(number: int) -> None:
        request = memory_service_pb2.WriteRequest(
            scope=scope(f"u{number % 7}"), items=[item(f"Fact {number}")], request_id=request_id()
        )
        call = caller.memory.Write(request, metadata=caller.metadata, timeout=20)
        # Most of them early, where there is something to cut off, and some as late as 200 ms.
        latest = 0.2 if number % 4 == 0 else 0.06
        asyncio.get_running_loop().call_later(chance.uniform(0.001, latest), call.cancel)
        try:
            await call
        except asyncio.CancelledError:
            codes.append("CANCELLED")
        else:
            codes.append("OK")

    for start in range(0, 500, 20):
        await asyncio.gather(*(write(start + number) for number in range(20)))
    assert len(codes) == 500
    assert codes.count("CANCELLED") > 50
    await until(lambda: _idle(shared))
    rows = stored.count("memory")
    assert rows >= codes.count("OK")
    assert rows == len(stored.events(WRITE, OK)) == stored.count("idempotency")
    assert rows == stored.count("memory_embedding")
    told = [memory_id for event in stored.events(WRITE, OK) for memory_id in event["memory_ids"]]
    assert sorted(told) == sorted(row["memory_id"] for row in stored.rows("memory"))
    await caller.write("u1", "Still here")
    assert await caller.contents("u1", "still here", limit=1) == ["Still here"]


@contextmanager
def _locked(shared: RunningService) -> Iterator[None]:
    """All of our tables are locked by somebody else."""
    with psycopg.connect(shared.database.superuser_conninfo) as lock:
        lock.execute("LOCK TABLE muniment.memory, muniment.scope IN ACCESS EXCLUSIVE MODE")
        yield
        lock.rollback()


REQUESTS: dict[str, Callable[[str], Any]] = {
    "Recall": lambda memory_id: memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea"),
    "Write": lambda memory_id: memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item("Likes jam")]),
    "Supersede": lambda memory_id: memory_service_pb2.SupersedeRequest(
        memory_id=memory_id, item=item("Likes jam")
    ),
    "Erase": lambda memory_id: memory_service_pb2.EraseRequest(
        target={"memories": {"memory_ids": [memory_id]}}
    ),
    "GetMemory": lambda memory_id: memory_service_pb2.GetMemoryRequest(memory_id=memory_id),
    "ListMemories": lambda memory_id: memory_service_pb2.ListMemoriesRequest(scope=scope("u1")),
}


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_deadline_ends_the_call_and_its_statement(
    shared: RunningService, caller: Caller, stored: Stored, method: str
) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    await shared.sealed()
    before, events = stored.snapshot(), stored.count("audit_event")
    with _locked(shared):
        begun = time.monotonic()
        error = await refused(
            caller.call(method, REQUESTS[method](memory_id), timeout=0.5), "DEADLINE_EXCEEDED"
        )
        assert time.monotonic() - begun < 2
        assert error
        await until(lambda: _idle(shared), 3)
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events
    await caller.call(method, REQUESTS[method](memory_id))


async def test_many_calls_that_wait_for_a_lock_end_with_their_deadlines(
    shared: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    request = REQUESTS["Recall"]("")
    with _locked(shared):
        codes = await asyncio.gather(
            *(outcome(caller.call("Recall", request, timeout=0.6)) for _ in range(60))
        )
        assert set(codes) <= {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}
        await until(lambda: _idle(shared), 3)
    assert len((await caller.recall("u1", "tea")).memories) == 1


async def test_hanging_up_ends_the_statement_in_the_database(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    request = REQUESTS["Recall"]("")
    with _locked(shared):
        calls = [caller.memory.Recall(request, metadata=caller.metadata, timeout=20) for _ in range(8)]
        waiting = [asyncio.ensure_future(outcome(call)) for call in calls]
        await until(lambda: shared.service.database.pool_stats().used >= 8)
        for call in calls:
            call.cancel()
        await asyncio.wait(waiting)
        await until(lambda: _idle(shared), 3)
    assert len((await caller.recall("u1", "tea")).memories) == 1


@pytest.mark.parametrize("seconds", [0.001, 0.01])
async def test_a_deadline_too_short_to_begin_with_is_refused_at_once(
    caller: Caller, stored: Stored, seconds: float
) -> None:
    for method in ("Write", "Recall"):
        await refused(caller.call(method, REQUESTS[method](""), timeout=seconds), "DEADLINE_EXCEEDED")
    await caller.recall("u1", "tea")
    assert stored.count("memory") == 0


async def test_something_cancelled_inside_a_call_is_answered_at_once(
    shared: RunningService, caller: Caller, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as broken:
        broken.setattr(shared.service.embeddings, "query_within", cancelled)
        broken.setattr(shared.service.embeddings, "passages_within", cancelled)
        for method in ("Recall", "Write"):
            begun = time.monotonic()
            await refused(caller.call(method, REQUESTS[method](""), timeout=20), "INTERNAL", "INTERNAL")
            assert time.monotonic() - begun < 5
    await caller.write("u1", "Likes tea")
    assert len(stored.live()) == 1


async def test_a_slow_model_costs_one_leg_and_not_the_deadline(
    shared: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    embedder: Any = shared.service.parts.embedder
    embedder.gate.clear()
    try:
        request = memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea, please")
        answer = await caller.call("Recall", request, timeout=2.0)
    finally:
        embedder.gate.set()
    assert [one.memory.content for one in answer.memories] == ["Likes tea"]
    assert [one.reason for one in answer.degraded] == [1]
