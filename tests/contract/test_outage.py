"""A database that goes away and comes back, and a service that is told to stop."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import psycopg
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contract.stored import Stored, outcome, refused, until
from muniment_server._gen.muniment.v1 import memory_service_pb2
from muniment_server.crypto.errors import KeyStoreUnavailable
from support.postgres import PostgresDatabase, PostgresServer, running_server
from support.service import Caller, RunningService, item, reason, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = ("", "readiness", "muniment.v1.MemoryService", "muniment.v1.AuditService")


async def _health(running: RunningService, service: str = "", **options: Any) -> int:
    stub = health_pb2_grpc.HealthStub(running.channel)
    request = health_pb2.HealthCheckRequest(service=service)
    return int((await stub.Check(request, timeout=5, **options)).status)


async def test_health_needs_nothing_and_knows_its_services(shared: RunningService) -> None:
    for service in (*SERVICES, "liveness"):
        assert await _health(shared, service) == SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _health(shared, "muniment.v1.Other")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert await _health(shared, metadata=(("muniment-tenant", "%%"), ("authorization", "x"))) == SERVING


async def test_a_part_that_fails_makes_the_service_not_ready_but_alive(
    shared: RunningService,
) -> None:
    shared.service.embeddings.ready.clear()
    await until(lambda: not shared.service.server.health.ready)  # type: ignore[union-attr]
    for service in SERVICES:
        assert await _health(shared, service) == NOT_SERVING
    assert await _health(shared, "liveness") == SERVING
    shared.service.embeddings.ready.set()
    await until(lambda: shared.service.server.health.ready)  # type: ignore[union-attr]
    assert await _health(shared) == SERVING


async def test_without_the_key_store_nothing_is_read_or_written_and_it_is_said(
    shared: RunningService, caller: Caller, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.write("u1", "Likes tea")
    shared.service.keys.drop_all()

    async def away(*_: object, **__: object) -> Any:
        raise KeyStoreUnavailable("away")

    with monkeypatch.context() as outage:
        for name in ("tenant_key", "scope_key", "newest_scope_key"):
            outage.setattr(shared.key_store, name, away)
        for call in (caller.recall("u1", "tea"), caller.write("u1", "Likes jam")):
            await refused(call, "UNAVAILABLE", "KEY_STORE_UNAVAILABLE")
    assert await caller.contents("u1", "tea") == ["Likes tea"]
    assert len(stored.live()) == 1


@pytest.fixture(scope="module")
def private_server() -> Iterator[PostgresServer]:
    """A database server that a test may stop."""
    with running_server() as server:
        yield server


@pytest.fixture
def private_database(private_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A database on it."""
    created = private_server.create()
    yield created
    created.close()


@pytest_asyncio.fixture(loop_scope="module")
async def private(private_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service on it."""
    async with running_service(private_database) as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_an_outage_of_the_database_is_told_at_once_and_ends_by_itself(
    private_server: PostgresServer, private: RunningService
) -> None:
    caller = private.caller("acme")
    await caller.write("u1", "Likes tea")
    assert await _health(private) == SERVING
    private.database.close()
    await asyncio.to_thread(private_server.embedded.stop)
    assert private.service.server is not None
    await until(lambda: not private.service.server.health.ready, 10)  # type: ignore[union-attr]
    assert await _health(private) == NOT_SERVING
    assert await _health(private, "liveness") == SERVING
    down_since = time.monotonic()
    # Longer than the pool tries to reconnect on its own.
    while time.monotonic() - down_since < 8:
        for call in (caller.recall("u1", "tea"), caller.write("u1", "Likes jam")):
            begun = time.monotonic()
            error = await refused(call, "UNAVAILABLE")
            assert reason(error) == "DATABASE_UNAVAILABLE"
            assert time.monotonic() - begun < 4
    await asyncio.to_thread(private_server.embedded.start)
    begun = time.monotonic()
    async with asyncio.timeout(30):
        while await outcome(caller.recall("u1", "tea")) != "OK":  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.2)
    assert time.monotonic() - begun < 30
    await until(lambda: private.service.server.health.ready, 30)  # type: ignore[union-attr]
    assert await _health(private) == SERVING
    # All at once after the outage, and yet no more connections than it may have: those of the pool, and the
    # one that listens for hints.
    await asyncio.gather(*(outcome(caller.recall("u1", "tea")) for _ in range(60)))
    ours = "SELECT count(*) AS n FROM pg_stat_activity WHERE usename = 'muniment_app'"
    assert private.database.row(ours)["n"] <= private.service.settings.pool_max_size + 1
    assert (await caller.write("u1", "Likes jam")).results[0].memory.memory_id
    assert sorted(await caller.contents("u1", "likes tea jam")) == ["Likes jam", "Likes tea"]
    stored = Stored(private.database, "acme")
    stored.check()
    async with asyncio.timeout(30):
        await private.sealed()
    assert stored.count("audit_queue") == 0


async def test_a_stop_lets_running_calls_finish_and_says_so_first(database: PostgresDatabase) -> None:
    async with running_service(database, drain_delay=0.3, shutdown_grace=10.0) as running:
        caller = running.caller("acme")
        await caller.write("u1", "Likes tea")
        stub = health_pb2_grpc.HealthStub(running.channel)
        watched = stub.Watch(health_pb2.HealthCheckRequest(), timeout=30)
        seen = asyncio.Queue[int]()

        async def watch() -> None:
            async for one in watched:
                seen.put_nowait(one.status)

        watching = asyncio.create_task(watch())
        assert await seen.get() == SERVING
        embedder: Any = running.service.parts.embedder
        embedder.gate.clear()
        embedder.entered.clear()
        request = memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item("Likes jam")])
        running_call = asyncio.ensure_future(caller.call("Write", request))
        await asyncio.to_thread(embedder.entered.wait, 10)
        stopping = asyncio.create_task(running.service.stop())
        assert await asyncio.wait_for(seen.get(), 10) == NOT_SERVING
        # Told, but not yet refused: balancers need a moment to notice.
        assert len((await caller.recall("u1", "tea", legs=["RETRIEVAL_LEG_LEXICAL"])).memories) == 1
        await asyncio.wait([watching], timeout=10)
        embedder.gate.set()
        assert (await running_call).results[0].memory.memory_id
        await stopping
        assert await outcome(caller.recall("u1", "tea")) == "UNAVAILABLE"
        stored = Stored(database, "acme")
        assert len(stored.live()) == 2
        stored.check()


async def test_a_call_that_outlasts_a_stop_is_told_that_the_server_stops(database: PostgresDatabase) -> None:
    async with running_service(database, shutdown_grace=2.0) as running:
        caller = running.caller("acme")
        await caller.write("u1", "Likes tea")
        with psycopg.connect(database.superuser_conninfo) as holder:
            holder.execute("LOCK TABLE muniment.memory IN SHARE MODE")
            # Its own patience is longer than the server's.
            late = asyncio.ensure_future(caller.write("u1", "Likes jam"))
            waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
            pid = holder.info.backend_pid
            async with asyncio.timeout(10):
                while database.row(waiting, (pid,))["n"] == 0:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(0.02)
            await running.service.stop()
            error = await refused(late, "UNAVAILABLE")
            assert reason(error) == "SHUTTING_DOWN"
            assert dict(error.trailing_metadata() or ())["grpc-retry-pushback-ms"] == "500"
            holder.rollback()
        stored = Stored(database, "acme")
        assert len(stored.live()) == 1
        stored.check()
