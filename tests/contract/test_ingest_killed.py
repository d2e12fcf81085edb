"""A process that is killed at every step from turns to memories: nothing is lost, nothing is done twice."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio

from contract.stored import OK, Stored, until
from contract.verified import findings
from muniment_server._gen.muniment.v1 import ingest_pb2, memory_pb2
from support.chat_endpoint import ChatEndpoint, chat_endpoint
from support.conversations import QUEUED, SYNC, ingest, listed, made, progress, turns
from support.gates import held, install, waits
from support.postgres import PostgresDatabase
from support.served import Born, Nursery
from support.service import Caller, RunningService, request_id, running_service

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

TURN = memory_pb2.MEMORY_KIND_TURN
DONE = ingest_pb2.INGEST_STATE_DONE
INGEST = 10
RULES, HYBRID = ingest_pb2.EXTRACTOR_RULES, ingest_pb2.EXTRACTOR_HYBRID
ACTIVE, SUPERSEDED = memory_pb2.MEMORY_STATE_ACTIVE, memory_pb2.MEMORY_STATE_SUPERSEDED
BEFORE = "I live in Nice."
SAID = ("I live in Bergen.", "Actually, I live in Oslo.", "I decided to learn Norwegian.")

_TURNS = [(said, ACTIVE) for said in (BEFORE, *SAID)]
EXPECTED = [
    *_TURNS,
    ("I live in Nice", SUPERSEDED),
    ("I live in Bergen", SUPERSEDED),
    ("I live in Oslo", ACTIVE),
    ("I decided to learn Norwegian", ACTIVE),
]
EXPECTED_OF_A_MODEL = EXPECTED[:-1]
"""The model finds nothing, and the rules only what is theirs in a hybrid."""
OUTCOMES = ["SUPERSEDED_PREVIOUS", "SUPERSEDED_PREVIOUS", "CREATED"]

GATES = {
    # The call that takes the turns in.
    "turn": "AFTER INSERT ON memory WHEN NEW.kind = 7",
    "taken": "AFTER INSERT ON ingest",
    # The work that follows.
    "claimed": "AFTER UPDATE ON ingest_session WHEN OLD.worker IS NULL AND NEW.worker IS NOT NULL",
    "tried": "AFTER UPDATE ON ingest WHEN NEW.attempts > OLD.attempts",
    "memory": "AFTER INSERT ON memory WHEN NEW.kind <> 7",
    "retired": "AFTER UPDATE ON memory WHEN NEW.state = 3 AND OLD.state = 2",
    "vector": "AFTER INSERT ON memory_embedding",
    "word": "AFTER INSERT ON posting",
    "told": "AFTER INSERT ON audit_event",
    "ended": "AFTER UPDATE ON ingest WHEN NEW.state <> OLD.state",
    "released": "AFTER UPDATE ON ingest_session WHEN OLD.worker IS NOT NULL AND NEW.worker IS NULL",
}
"""Statements after which the process is held, and killed."""
CALL = ("turn", "taken")
PLACES = (*GATES, "thinking", "done")


@dataclass(frozen=True)
class Killed:
    """What a process was given that was killed, and what was stored before it came.

    ingest_id: of a call that was answered.
    """

    tenant: str
    key: str
    request: str
    extractor: Any
    before: dict[str, Any]
    events: int
    ingest_id: str | None = None


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ChatEndpoint]:
    """A language model."""
    with chat_endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def settings(endpoint: ChatEndpoint) -> dict[str, Any]:
    """Settings of all processes."""
    return {
        "llm_url": endpoint.url,
        "llm_model": "test-model",
        "llm_timeout": 5.0,
        "ingest_quiet_seconds": 60,
    }


@pytest.fixture(scope="module")
def keys() -> Iterator[Path]:
    """The folder of the key store."""
    with tempfile.TemporaryDirectory(prefix="muniment-keys-") as folder:
        yield Path(folder) / "keys"


Found = tuple[RunningService, dict[str, Killed]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def after(
    module_database: PostgresDatabase, endpoint: ChatEndpoint, settings: dict[str, Any], keys: Path
) -> AsyncIterator[Found]:
    """One process after the other, each killed in its own moment; then one that lives.

    Every killed one has a tenant of its own.
    """
    async with running_service(module_database, keys_folder=keys) as first:
        callers = {where: first.caller(f"t-{where}") for where in PLACES}
        for caller in callers.values():
            await ingest(caller, "u1", turns(BEFORE), session="s0", mode=SYNC)
    install(module_database, GATES)
    killed = {}
    with closing(Nursery()) as nursery:
        for where, caller in callers.items():
            child = await nursery.start(module_database, keys, sweeps=False, **settings)
            async with grpc.aio.insecure_channel(f"127.0.0.1:{child.port}") as channel:
                there = Caller(channel, caller.tenant, caller.key)
                killed[where] = await _killed_at(module_database, endpoint, child, there, where)
    endpoint.answers({"candidates": []})
    # What they held is free when their leases are over.
    module_database.execute("UPDATE ingest_session SET lease_time = now() WHERE lease_time IS NOT NULL")
    async with running_service(module_database, keys_folder=keys, **settings) as last:
        for where in PLACES:
            last.service.ingests.notify(last.tenant_id(f"t-{where}"))
        yield last, killed


def _said(caller: Caller, one: Killed) -> Awaitable[ingest_pb2.IngestResponse]:
    return ingest(
        caller,
        "u1",
        turns(*SAID),
        mode=QUEUED,
        extractor=one.extractor,
        end_session=True,
        request_id=one.request,
    )


async def _killed_at(
    database: PostgresDatabase, endpoint: ChatEndpoint, child: Born, caller: Caller, where: str
) -> Killed:
    """Let a process come to a place of its work, and kill it there."""
    stored = Stored(database, caller.tenant)
    one = Killed(
        caller.tenant,
        caller.key,
        request_id(),
        HYBRID if where == "thinking" else RULES,
        stored.snapshot(),
        len(stored.events(INGEST)),
    )
    if where in CALL:
        with held(database, where):
            call = asyncio.ensure_future(_said(caller, one))
            await waits(database, where)
            child.kill()
        await asyncio.wait([call])
        assert isinstance(call.exception(), grpc.aio.AioRpcError)
        return one
    if where == "thinking":
        asked = len(endpoint.requests)
        endpoint.behaves("stalls")
        answer = await _said(caller, one)
        await until(lambda: len(endpoint.requests) > asked, 30)
        child.kill()
    elif where == "done":
        answer = await _said(caller, one)
        query = "SELECT 1 FROM ingest WHERE ingest_id = %s AND state = %s"
        await until(lambda: database.rows(query, (answer.ingest_id, DONE)), 30)
        child.kill()
    else:
        with held(database, "claimed") as first:
            answer = await _said(caller, one)
            await waits(database, "claimed")
            if where == "claimed":
                child.kill()
            else:
                # Not before: the call that takes the turns in comes by there as well.
                with held(database, where):
                    first.close()
                    await waits(database, where)
                    child.kill()
    return replace(one, ingest_id=answer.ingest_id)


@pytest.mark.parametrize("where", PLACES)
async def test_a_process_that_is_killed_loses_nothing_and_does_nothing_twice(
    after: Found, where: str
) -> None:
    service, killed = after
    one = killed[where]
    stored = Stored(service.database, one.tenant)
    caller = Caller(service.channel, one.tenant, one.key)
    ingest_id = one.ingest_id
    if ingest_id is None:
        # Nobody was told that it succeeded, and nothing of it is there, until it is said again.
        assert stored.snapshot() == one.before
        assert len(stored.events(INGEST)) == one.events
        assert stored.count("ingest") == 1
        ingest_id = (await _said(caller, one)).ingest_id
    async with asyncio.timeout(60):
        while (found := await progress(caller, ingest_id)).state != DONE:
            assert found.state in (ingest_pb2.INGEST_STATE_QUEUED, ingest_pb2.INGEST_STATE_RUNNING)
            await asyncio.sleep(0.05)
    assert 1 <= found.attempts <= 2
    # Repeating the call is answered with the same, and adds nothing.
    before = stored.snapshot()
    assert (await _said(caller, one)).ingest_id == ingest_id
    assert stored.snapshot() == before

    everything = Counter(
        (memory.content, memory.state) for memory in await listed(caller, "u1", states=[1, 2, 3, 4, 5])
    )
    expected = EXPECTED_OF_A_MODEL if one.extractor == HYBRID else EXPECTED
    assert everything == Counter(expected)
    assert stored.count("memory", "reinforce_count > 0") == 0
    assert [each for each, _ in made(found)] == OUTCOMES[: len(expected) - len(_TURNS) - 1]
    # One event of the call and one of what was made of it.
    assert len(stored.events(INGEST, OK)) == one.events + 2
    assert stored.count("ingest_session", "lease_time IS NOT NULL OR worker IS NOT NULL") == 0
    stored.check()
    assert await findings(service, one.tenant) == []
