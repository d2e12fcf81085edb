"""A call that fails in the middle leaves everything as it was, and says that it failed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from contract.stored import OK, Stored, refused, until
from muniment_server._gen.muniment.v1 import memory_pb2, write_pb2
from muniment_server.application.vectors import WritePolicy
from support.service import Caller, RunningService, error_info, item, request_id, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _unchanged(caller: Caller, stored: Stored, before: Any, events: int) -> None:
    assert stored.snapshot() == before
    assert len(stored.events(outcome=OK)) == events
    stored.check()
    assert await caller.contents("u1", "Office") == ["Office is in Lyon"]


@pytest.fixture
def vectors_required(shared: RunningService) -> Iterator[None]:
    """A Write without its vectors fails, instead of storing memories that wait for them."""
    services = shared.service.services
    policy = services.write_policy
    object.__setattr__(services, "write_policy", WritePolicy(require=True))
    yield
    object.__setattr__(services, "write_policy", policy)


@pytest.mark.usefixtures("vectors_required")
async def test_a_failing_embedder_changes_nothing(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    old = (await caller.write("u1", "Office is in Lyon")).results[0].memory.memory_id
    before, events = stored.snapshot(), len(stored.events(outcome=OK))
    embedder.failing = RuntimeError("the model fell over with Office is in Metz")
    try:
        for call in (
            caller.supersede(old, "Office is in Metz", request_id=request_id()),
            caller.write("u1", "Office is in Metz", request_id=request_id()),
        ):
            error = await refused(call, "UNAVAILABLE", "EMBEDDER_UNAVAILABLE")
            assert "Metz" not in str(error.details())
    finally:
        embedder.failing = None
    await _unchanged(caller, stored, before, events)


@pytest.mark.usefixtures("vectors_required")
async def test_one_text_that_cannot_be_embedded_keeps_all_items_out(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    await caller.write("u1", "Office is in Lyon")
    before, events = stored.snapshot(), len(stored.events(outcome=OK))
    embedder.failing_texts = {"Poison": ValueError("no")}
    try:
        await refused(
            caller.write("u1", "Likes tea", "Poison", "Likes jam"), "UNAVAILABLE", "EMBEDDER_UNAVAILABLE"
        )
    finally:
        embedder.failing_texts = {}
    await _unchanged(caller, stored, before, events)


async def test_a_new_content_over_the_limit_changes_nothing(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", "Office is in Lyon")).results[0].memory.memory_id
    before, events = stored.snapshot(), len(stored.events(outcome=OK))
    error = await refused(caller.supersede(old, "x" * 32_769), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == ["item.content"]
    await _unchanged(caller, stored, before, events)


@asynccontextmanager
async def _held_in_the_middle(
    shared: RunningService, call: Awaitable[Any]
) -> AsyncIterator[tuple["asyncio.Task[Any]", int]]:
    """A call whose transaction waits at its audit event; gives its task and its backend's process id."""
    with psycopg.connect(shared.database.superuser_conninfo) as lock:
        # Everything else of the call is written before its audit event, so that it stands half done.
        lock.execute("LOCK TABLE muniment.audit_event IN EXCLUSIVE MODE")
        task = asyncio.ensure_future(call)
        waiting = await until(
            lambda: shared.database.rows(
                "SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted"
                " WHERE l.relation = 'muniment.audit_event'::regclass AND a.datname = current_database()"
                " AND a.usename = 'muniment_app'"
            )
        )
        yield task, waiting[0]["pid"]
        lock.rollback()


Calls = dict[str, Callable[[Caller, str], Awaitable[Any]]]

MUTATIONS: Calls = {
    "write": lambda caller, old: caller.write("u1", "Office is in Metz", "Likes tea"),
    "write to a slot": lambda caller, old: caller.write("u1", item("Office is in Metz", slot="office")),
    "restate": lambda caller, old: caller.write("u1", item("Office is in Lyon", slot="office")),
    "supersede": lambda caller, old: caller.supersede(old, "Office is in Metz"),
    "erase": lambda caller, old: caller.erase_memories(old),
    "erase subject": lambda caller, old: caller.erase_subject("u1"),
}


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_connection_that_dies_in_the_middle_changes_nothing(
    shared: RunningService, caller: Caller, stored: Stored, name: str
) -> None:
    written = await caller.write("u1", item("Office is in Lyon", slot="office"))
    old = written.results[0].memory.memory_id
    await shared.sealed()
    before, events = stored.snapshot(), len(stored.events(outcome=OK))
    async with _held_in_the_middle(shared, MUTATIONS[name](caller, old)) as (task, process):
        shared.database.execute("SELECT pg_terminate_backend(%s)", (process,))
        error = await refused(task, "UNAVAILABLE", "DATABASE_UNAVAILABLE")
        assert not error_info(error).metadata
    await _unchanged(caller, stored, before, events)
    # And the next call of the same kind goes through.
    await MUTATIONS[name](caller, old)
    assert stored.snapshot() != before


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_caller_that_hangs_up_in_the_middle_changes_nothing(
    shared: RunningService, caller: Caller, stored: Stored, name: str
) -> None:
    written = await caller.write("u1", item("Office is in Lyon", slot="office"))
    old = written.results[0].memory.memory_id
    await shared.sealed()
    before, events = stored.snapshot(), len(stored.events(outcome=OK))
    async with _held_in_the_middle(shared, MUTATIONS[name](caller, old)) as (task, process):
        task.cancel()
        await asyncio.wait([task])
        await until(
            lambda: (
                not shared.database.rows(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state <> 'idle'", (process,)
                )
            )
        )
    await _unchanged(caller, stored, before, events)


async def test_every_ready_memory_has_its_vector(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    texts = [f"Fact {number}" for number in range(12)]
    embedder.failing_texts = {texts[5]: ValueError("no"), texts[9]: ValueError("no")}
    try:
        results = await asyncio.gather(*(caller.write("u1", text) for text in texts))
    finally:
        embedder.failing_texts = {}
    states = {one.results[0].memory.memory_id: one.results[0].embedding_state for one in results}
    assert stored.live() == set(states)
    pending = memory_pb2.EMBEDDING_STATE_PENDING
    waiting = {memory_id for memory_id, state in states.items() if state == pending}
    assert len(waiting) == 2
    for one in results:
        assert one.results[0].outcome == write_pb2.WRITE_OUTCOME_CREATED
    rows = {row["doc_no"]: row for row in stored.rows("memory_embedding")}
    for memory_id in states.keys() - waiting:
        assert rows[stored.memory(memory_id)["doc_no"]]["embedding"] is not None
    # The others get theirs as soon as the embedder takes them again.
    await until(lambda: all(row["embedding"] is not None for row in stored.rows("memory_embedding")))
    found = await caller.recall("u1", "Fact 3", legs=["RETRIEVAL_LEG_VECTOR"], min_score=0.0, limit=50)
    assert len(found.memories) == 12
