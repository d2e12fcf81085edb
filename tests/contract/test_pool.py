"""Connections: nothing of one call stays on them for the next, and their number and health are kept."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import grpc
import psycopg
import pytest
import pytest_asyncio
from psycopg_pool import PoolTimeout

from contract.stored import outcome, until
from muniment_server._gen.muniment.v1 import correction_pb2, memory_service_pb2
from muniment_server.domain.errors import DatabaseUnavailable
from muniment_server.storage.database import Database
from muniment_server.storage.queries import compile_statement
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, request_id, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service with a single connection for all of its calls."""
    async with running_service(module_database, pool_min_size=1, pool_max_size=1) as running:
        yield running


async def test_one_connection_serves_two_tenants_and_leaks_nothing(
    shared: RunningService, caller: Caller
) -> None:
    other = shared.caller(f"{caller.tenant}-b")
    texts = {}
    for who in (caller, other):
        texts[who.tenant] = {f"Fact {number} of {who.tenant}" for number in range(5)}
        await who.write("u1", *sorted(texts[who.tenant]))
    database = shared.service.database
    database.statements["broken"] = compile_statement("broken", "SELECT 1 / 0 AS one")
    chance = random.Random(14)
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query="Fact", limit=20)
    cancelled = 0

    async def recall(number: int) -> None:
        nonlocal cancelled
        who = (caller, other)[number % 2]
        call = who.memory.Recall(request, metadata=who.metadata, timeout=30)
        if number % 20 == 0:
            asyncio.get_running_loop().call_later(chance.uniform(0.0, 0.02), call.cancel)
        if number % 25 == 0:
            with pytest.raises(Exception, match="division by zero"):
                async with database.transaction(shared.tenant_id(who.tenant)) as work:
                    await work.fetch("broken")
        try:
            answer = await call
        except asyncio.CancelledError:
            cancelled += 1
            return
        assert {one.memory.content for one in answer.memories} == texts[who.tenant]

    try:
        for start in range(0, 500, 10):
            await asyncio.gather(*(recall(start + number) for number in range(10)))
    finally:
        del database.statements["broken"]
    assert cancelled
    await until(lambda: database.pool_stats().used == 0)


async def test_no_call_waits_for_a_second_connection_while_it_holds_one(
    shared: RunningService, caller: Caller
) -> None:
    write = request_id()
    (written,) = (await caller.write("u1", "Likes tea", request_id=write)).results
    named = {"memory_id": written.memory.memory_id}
    for method, request in (
        ("Supersede", memory_service_pb2.SupersedeRequest(**named, item=item("Likes coffee"))),
        ("Restore", correction_pb2.RestoreRequest(**named)),
        ("Retract", correction_pb2.RetractRequest(**named)),
        ("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=write)),
    ):
        # Settings and views are read anew, and there is one connection.
        shared.service.services.settings.drop_all()
        await caller.call(method, request)


async def test_no_setting_of_a_call_outlives_it(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    database = shared.service.database
    query = (
        "SELECT coalesce(current_setting('app.tenant_id', true), '') AS tenant,"
        " coalesce(current_setting('app.credential', true), '') AS credential,"
        " current_setting('statement_timeout') AS timeout, (SELECT count(*) FROM memory) AS rows,"
        " (SELECT rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user) AS bypass"
    )
    database.statements["left"] = compile_statement("left", query)
    try:
        for _ in range(3):
            await caller.recall("u1", "tea")
            async with database.transaction(None) as work:
                (left,) = await work.fetch("left")
            assert (left["tenant"], left["credential"], left["rows"]) == ("", "", 0)
            assert left["timeout"] == "0"
            assert left["bypass"] is False
    finally:
        del database.statements["left"]


async def test_without_a_connection_calls_wait_in_line_or_are_told(
    shared: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    codes = await asyncio.gather(*(outcome(caller.recall("u1", "tea")) for _ in range(100)))
    assert set(codes) <= {"OK", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
    assert codes.count("OK") > 10


async def test_a_connection_that_was_ended_is_not_handed_out(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    ours = (
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename LIKE 'muniment%%' ORDER BY pid"
    )
    for turn in range(5):
        pids = [row["pid"] for row in shared.database.rows(ours)]
        assert pids
        shared.database.rows("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS p (pid)", (pids,))
        await until(lambda gone=set(pids): not gone & {row["pid"] for row in shared.database.rows(ours)})
        assert "Likes tea" in await caller.contents("u1", "tea")
        await caller.write("u1", f"Likes tea {turn}")


async def test_connections_that_are_of_no_use_are_an_outage_and_no_crowd(database: PostgresDatabase) -> None:
    pool = database.app(acquire_timeout=1.5)
    await pool.open()
    try:
        async with pool.transaction(None) as work:
            await work.fetch("ping")
        # Connections are made, and end while they are set up.
        database.execute("ALTER TYPE vector RENAME TO renamed")
        ours = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = 'muniment_app'"
        )
        gone = {row["pid"] for row in database.rows(ours)}
        database.rows("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS p (pid)", (list(gone),))
        await until(lambda: not gone & {row["pid"] for row in database.rows(ours)})
        with pytest.raises(DatabaseUnavailable):
            async with pool.transaction(None) as work:
                await work.fetch("ping")
        database.execute("ALTER TYPE renamed RENAME TO vector")
        async with asyncio.timeout(20):
            while not await _answers(pool):  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.1)
    finally:
        await pool.close()


async def _answers(pool: Database) -> bool:
    try:
        await pool.check()
    except (DatabaseUnavailable, psycopg.OperationalError, PoolTimeout):
        return False
    return True


async def test_two_hundred_recalls_on_four_connections(
    module_database: PostgresDatabase, shared: RunningService
) -> None:
    most = 0
    async with running_service(
        module_database, keys_folder=None, pool_min_size=1, pool_max_size=4
    ) as running:
        caller = running.caller("four")
        await caller.write("u1", "Likes tea")
        over = asyncio.Event()

        async def count() -> None:
            nonlocal most
            query = (
                "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
                " AND usename = 'muniment_app'"
            )
            while not over.is_set():
                most = max(most, module_database.row(query)["n"])
                await asyncio.sleep(0.01)

        counting = asyncio.create_task(count())
        codes = await asyncio.gather(*(outcome(caller.recall("u1", "tea")) for _ in range(200)))
        over.set()
        await counting
        assert set(codes) <= {"OK", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
        assert codes.count("OK") >= 64
        assert len((await caller.recall("u1", "tea")).memories) == 1
    # Of the other service on this database: one connection; of each: one that listens for hints.
    assert most <= 4 + 1 + 1 + 1


async def test_an_unknown_method_is_unimplemented(shared: RunningService, caller: Caller) -> None:
    send: Any = shared.channel.unary_unary("/muniment.v1.MemoryService/Forget")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(b"", metadata=caller.metadata, timeout=10)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
