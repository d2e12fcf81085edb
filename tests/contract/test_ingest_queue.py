"""The queue of conversations: when it begins, what it survives, and in whose name it works."""

import asyncio
import dataclasses
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio

from contract.stored import Stored, refused, until
from contract.verified import findings
from muniment_server._gen.muniment.v1 import erasure_pb2, ingest_pb2, memory_pb2, memory_service_pb2
from muniment_server.domain.extraction.candidate import Extraction, ExtractorKind, Turn
from muniment_server.domain.model import SourceType
from support.chat_endpoint import ChatEndpoint, chat_endpoint
from support.conversations import (
    AGENT,
    QUEUED,
    SYNC,
    ingest,
    listed,
    made,
    progress,
    stream,
    turn,
    turns,
)
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, request_id, running_service, scope
from support.telemetry import recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

TURN = memory_pb2.MEMORY_KIND_TURN
DONE, IN_QUEUE = ingest_pb2.INGEST_STATE_DONE, ingest_pb2.INGEST_STATE_QUEUED
RUNNING, FAILED = ingest_pb2.INGEST_STATE_RUNNING, ingest_pb2.INGEST_STATE_FAILED
LLM, HYBRID = ingest_pb2.EXTRACTOR_LLM, ingest_pb2.EXTRACTOR_HYBRID
KEY = "sk-test-key-77"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ChatEndpoint]:
    """The language model of the module's service."""
    with chat_endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def keys() -> Iterator[Path]:
    """The folder of the key store, for a second process."""
    with tempfile.TemporaryDirectory(prefix="muniment-keys-") as folder:
        yield Path(folder) / "keys"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    module_database: PostgresDatabase, endpoint: ChatEndpoint, keys: Path
) -> AsyncIterator[RunningService]:
    """A service with a language model, and little patience."""
    async with running_service(module_database, keys_folder=keys, **_settings(endpoint)) as running:
        yield running


def _settings(endpoint: ChatEndpoint) -> dict[str, Any]:
    return {
        "llm_url": endpoint.url,
        "llm_model": "test-model",
        "llm_api_key": KEY,
        "llm_timeout": 2.0,
        "ingest_quiet_seconds": 0.4,
        "ingest_attempts": 2,
    }


async def finished(caller: Caller, ingest_id: str, seconds: float = 15) -> ingest_pb2.GetIngestResponse:
    """Wait until an ingest has ended."""
    async with asyncio.timeout(seconds):
        while True:
            found = await progress(caller, ingest_id)
            if found.state not in (IN_QUEUE, RUNNING):
                return found
            await asyncio.sleep(0.02)


def proposal(content: str, source: str, *numbers: int, **fields: Any) -> dict[str, Any]:
    """A candidate of the language model."""
    return {"content": content, "kind": "fact", "slot": None, "source": source} | {
        "turn_numbers": list(numbers),
        **fields,
    }


# --- when -------------------------------------------------------------------------------------------


async def test_a_session_that_falls_silent_is_looked_at_by_itself(caller: Caller, stored: Stored) -> None:
    first = await ingest(caller, "u1", [turn(0, "I live in Bergen.")], mode=QUEUED)
    (kept,) = stored.rows("ingest")
    (waiting,) = stored.rows("ingest_session")
    assert waiting["due_time"] - kept["create_time"] == timedelta(seconds=0.4)
    second = await ingest(caller, "u1", [turn(1, "Actually, I live in Oslo.")], mode=QUEUED)
    assert [(await finished(caller, one.ingest_id)).state for one in (first, second)] == [DONE, DONE]
    assert [one.content for one in await listed(caller, "u1", slots=["home_city"])] == ["I live in Oslo"]
    (done,) = stored.rows("ingest_session")
    assert (done["due_time"], done["lease_time"], done["worker"]) == (None, None, None)


async def test_many_sessions_at_once_are_each_looked_at_in_their_order(caller: Caller) -> None:
    cities = [f"City{number}" for number in range(4)]

    async def talk(session: str) -> list[str]:
        return [
            (
                await ingest(
                    caller, session, [turn(n, f"Actually, I live in {city}.")], mode=QUEUED, session=session
                )
            ).ingest_id
            for n, city in enumerate(cities)
        ]

    sessions = [f"s{number}" for number in range(5)]
    ids = await asyncio.gather(*(talk(session) for session in sessions))
    for session, ingests in zip(sessions, ids, strict=True):
        for one in ingests:
            assert (await finished(caller, one)).state == DONE
        assert [one.content for one in await listed(caller, session, slots=["home_city"])] == [
            "I live in City3"
        ]


# --- streams ----------------------------------------------------------------------------------------


def part(*said: Any, **fields: Any) -> ingest_pb2.StreamIngestRequest:
    """One request of a stream."""
    return ingest_pb2.StreamIngestRequest(scope=scope("u1", session="s1"), turns=said, **fields)


async def test_a_stream_is_answered_once_for_all_its_turns(caller: Caller, stored: Stored) -> None:
    answer = await stream(
        caller,
        [
            part(turn(0, "I live in Bergen."), mode=SYNC),
            part(turn(1, "Where is that?", AGENT)),
            part(turn(2, "Actually, I live in Oslo."), turn(3, "I like tea."), end_session=True),
        ],
    )
    assert answer.state == DONE
    assert [(one.number, one.already_known) for one in answer.turns] == [
        (number, False) for number in range(4)
    ]
    assert [outcome for outcome, _ in made(answer)] == ["CREATED", "SUPERSEDED_PREVIOUS", "CREATED"]
    assert stored.count("ingest") == 1
    assert (await progress(caller, answer.ingest_id)).state == DONE


async def test_each_part_of_a_stream_is_kept_when_it_arrives(caller: Caller, stored: Stored) -> None:
    arrived = asyncio.Event()

    async def broken() -> Any:
        yield part(turn(0, "I live in Bergen."))
        yield part(turn(1, "I like tea."))
        await arrived.wait()
        raise RuntimeError("the line is dead")

    call = caller.memory.StreamIngest(broken(), metadata=caller.metadata, timeout=20)
    await until(lambda: stored.count("memory", "kind = 7") == 2)
    arrived.set()
    with pytest.raises((grpc.aio.AioRpcError, asyncio.CancelledError)):
        await call
    # What arrived is looked at after the quiet time, whether the stream ended well or not.
    await until(lambda: stored.count("memory", "kind <> 7") == 2)
    again = await stream(
        caller, [part(turn(0, "I live in Bergen.")), part(turn(1, "I like tea."), turn(2, "I hate fog."))]
    )
    assert [one.already_known for one in again.turns] == [True, True, False]
    assert (await finished(caller, again.ingest_id)).state == DONE
    assert stored.count("memory", "kind <> 7") == 3


async def test_a_stream_with_a_request_id_can_be_repeated(caller: Caller, stored: Stored) -> None:
    mark = request_id()
    parts = [part(turn(0, "I like tea."), mode=SYNC, request_id=mark), part(turn(1, "I hate fog."))]
    answer = await stream(caller, parts)
    before = stored.snapshot()
    assert await stream(caller, parts) == answer
    assert stored.snapshot() == before
    other = [parts[0], part(turn(1, "I hate rain."))]
    await refused(stream(caller, other), "ALREADY_EXISTS", "REQUEST_ID_PAYLOAD_MISMATCH")
    assert stored.snapshot() == before


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (
            ingest_pb2.StreamIngestRequest(scope=scope("u2", session="s1"), turns=[turn(1, "I like tea.")]),
            "INVALID_REQUEST",
        ),
        (part(turn(1, "I like tea."), mode=ingest_pb2.EXTRACTION_MODE_NONE), "INVALID_REQUEST"),
        (part(turn(1, "I like tea."), extractor=LLM), "INVALID_REQUEST"),
        (part(turn(1, "a\x01b")), "INVALID_REQUEST"),
        (part(), "INVALID_REQUEST"),
    ],
)
async def test_a_later_part_that_does_not_belong_is_refused(
    caller: Caller, stored: Stored, later: Any, why: str
) -> None:
    await refused(stream(caller, [part(turn(0, "Hello")), later]), "INVALID_ARGUMENT", why)
    assert stored.count("memory") == 1


async def test_a_stream_without_a_request_is_refused(caller: Caller) -> None:
    await refused(stream(caller, []), "INVALID_ARGUMENT", "INVALID_REQUEST")


# --- the language model -----------------------------------------------------------------------------


async def test_a_language_model_proposes_and_the_gates_decide(
    caller: Caller, stored: Stored, endpoint: ChatEndpoint
) -> None:
    endpoint.answers(
        {
            "candidates": [
                proposal("Ines lives in Bergen", "user_stated", 0, slot="home_city"),
                proposal("Ines owes Bo 50 euros", "third_party", 0),
                proposal("The card of Ines is 4111 1111 1111 1111", "user_stated", 0),
            ]
        }
    )
    said = [
        turn(
            0,
            "Ines here, I live in Bergen. Bo says I owe him 50 euros. My card is 4111 1111 1111 1111.",
            speaker="Ines",
        )
    ]
    answer = await ingest(caller, "u1", said, extractor=LLM)
    assert (answer.state, answer.fallback) == (DONE, 0)
    # The card is in no turn any more, so the model made it up.
    assert made(answer) == [("CREATED", "llm/v1"), ("PENDING_REVIEW", "llm/v1")]
    sent = endpoint.requests[-1]["messages"][1]["content"]
    assert "4111" not in sent, "what a gate took out of a turn is not sent on"
    assert all("4111" not in one.content for one in await listed(caller, "u1", states=[1, 2, 3, 4, 5]))


@pytest.mark.parametrize(
    ("behaviour", "fallback"),
    [
        ("error", ingest_pb2.EXTRACTION_FALLBACK_LLM_UNAVAILABLE),
        ("refuses", ingest_pb2.EXTRACTION_FALLBACK_LLM_UNAVAILABLE),
        ("broken_json", ingest_pb2.EXTRACTION_FALLBACK_LLM_INVALID_ANSWER),
        ("stalls", ingest_pb2.EXTRACTION_FALLBACK_LLM_TIMEOUT),
    ],
)
@pytest.mark.parametrize("mode", [SYNC, QUEUED])
async def test_a_failing_language_model_is_told_and_the_rules_do_the_work(
    caller: Caller,
    stored: Stored,
    endpoint: ChatEndpoint,
    behaviour: str,
    fallback: Any,
    mode: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint.behaves(behaviour)
    try:
        answer = await ingest(
            caller, "u1", ["I live in Bergen."], mode=mode, extractor=HYBRID, end_session=True
        )
        found = await finished(caller, answer.ingest_id)
    finally:
        endpoint.answers({"candidates": []})
    assert (found.state, found.fallback) == (DONE, fallback)
    assert made(found) == [("CREATED", "rules/place")]
    if mode == SYNC:
        assert answer.fallback == fallback
    last = stored.events(10)[-1]["payload"]["details"]["conversation_ingested"]
    assert (last["extractor"], last["fallback"]) == (1, fallback)
    assert KEY not in caplog.text
    assert "Bergen" not in caplog.text


# --- failing and beginning again --------------------------------------------------------------------


class Failing:
    """An extractor that fails a number of times."""

    kind = ExtractorKind.RULES

    def __init__(self, inner: Any, times: int) -> None:
        self.inner = inner
        self.times = times

    async def extract(self, turns: Sequence[Turn], *rest: Any) -> Extraction:
        """Fail, or let the rules do it."""
        if self.times > 0:
            self.times -= 1
            raise RuntimeError("secret text")
        done: Extraction = await self.inner.extract(turns, *rest)
        return done


@pytest.fixture
def failing(shared: RunningService) -> Iterator[Any]:
    """Make the rules fail so many times."""
    services = shared.service.services
    known: Any = services.extractors
    rules = known[ExtractorKind.RULES]
    policy = services.ingest
    object.__setattr__(services, "ingest", dataclasses.replace(policy, pause=1.0))

    def fail(times: int) -> None:
        known[ExtractorKind.RULES] = Failing(rules, times)

    yield fail
    known[ExtractorKind.RULES] = rules
    object.__setattr__(services, "ingest", policy)


async def test_an_attempt_that_fails_is_made_again(
    caller: Caller, stored: Stored, failing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    failing(1)
    answer = await ingest(caller, "u1", ["I live in Bergen."], mode=QUEUED, end_session=True)
    found = await finished(caller, answer.ingest_id)
    assert (found.state, found.attempts) == (DONE, 2)
    assert made(found) == [("CREATED", "rules/place")]
    assert "secret" not in caplog.text


async def test_after_some_attempts_it_is_given_up_and_can_be_asked_for_again(
    shared: RunningService, caller: Caller, stored: Stored, failing: Any
) -> None:
    failing(2)
    answer = await ingest(caller, "u1", ["I live in Bergen."], mode=QUEUED, end_session=True)
    found = await finished(caller, answer.ingest_id)
    assert (found.state, found.attempts, len(found.extracted)) == (FAILED, 2, 0)
    assert stored.events(10, 3)[0]["payload"]["reason"] == "INTERNAL"
    assert [one.kind for one in await listed(caller, "u1")] == [TURN]
    again = await ingest(caller, "u1", ["I live in Bergen."])
    assert again.turns[0].already_known
    assert made(again) == [("CREATED", "rules/place")]
    assert await findings(shared, caller.tenant) == []


async def test_a_waiting_caller_is_told_that_it_is_put_off(
    caller: Caller, stored: Stored, failing: Any
) -> None:
    failing(1)
    answer = await ingest(caller, "u1", ["I live in Bergen."], mode=SYNC)
    assert answer.state == IN_QUEUE
    assert made(await finished(caller, answer.ingest_id)) == [("CREATED", "rules/place")]


async def test_a_credential_is_worked_for_with_the_rights_that_it_had(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    tool = shared.caller(caller.tenant, source_types=[SourceType.TOOL])
    answer = await ingest(tool, "u1", ["I live in Moscow."], mode=QUEUED)
    # Somebody gives the credential more rights meanwhile, and somebody else revokes it.
    stored.database.execute(
        "UPDATE credential SET source_types = '{1,2,3,4,5}', revoke_time = now() WHERE public_id = %s",
        (tool.key.split("_")[1],),
    )
    (memory,) = [one.result.memory for one in (await finished(caller, answer.ingest_id)).extracted]
    assert memory.provenance.source_type == memory_pb2.SOURCE_TYPE_TOOL
    assert memory.provenance.trust == memory_pb2.TRUST_LEVEL_LOW


async def test_a_job_that_somebody_changed_is_not_done(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    victim = await ingest(caller, "u1", ["I live in Bergen."], mode=QUEUED)
    other = await ingest(caller, "u1", ["I live in Moscow."], mode=QUEUED, session="s2")
    stored.database.execute(
        "UPDATE ingest SET body_ct = (SELECT body_ct FROM ingest WHERE ingest_id = %s) WHERE ingest_id = %s",
        (other.ingest_id, victim.ingest_id),
    )
    assert (await finished(caller, other.ingest_id)).state == DONE
    await until(lambda: stored.count("ingest", "state = 1") == 0)
    await refused(progress(caller, victim.ingest_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert [one.content for one in await listed(caller, "u1") if one.kind != TURN] == ["I live in Moscow"]


async def test_a_scope_that_somebody_changed_does_not_hold_up_the_others(
    caller: Caller, stored: Stored, failing: Any
) -> None:
    victim = await ingest(caller, "u1", ["I live in Bergen."], mode=QUEUED)
    (row,) = stored.rows("scope")
    label = row["label_ct"]
    stored.database.execute("UPDATE scope SET label_ct = 'x' WHERE scope_id = %s", (row["scope_id"],))
    other = await ingest(caller, "u2", ["I live in Oslo."], mode=QUEUED)
    assert (await finished(caller, other.ingest_id)).state == DONE
    await until(lambda: stored.count("ingest", "state = %s", FAILED))
    await refused(progress(caller, victim.ingest_id), "DATA_LOSS", "INTEGRITY_VIOLATION")
    stored.database.execute("UPDATE scope SET label_ct = %s WHERE scope_id = %s", (label, row["scope_id"]))
    assert (await finished(caller, victim.ingest_id)).state == FAILED
    assert made(await ingest(caller, "u1", ["I live in Bergen."])) == [("CREATED", "rules/place")]


# --- several processes ------------------------------------------------------------------------------


async def test_two_services_do_not_do_a_conversation_twice(
    shared: RunningService, module_database: PostgresDatabase, endpoint: ChatEndpoint, keys: Path
) -> None:
    caller = shared.caller("both")
    stored = Stored(module_database, "both")
    tenant = shared.tenant_id("both")
    async with running_service(module_database, keys_folder=keys, **_settings(endpoint)) as other:
        there = Caller(other.channel, caller.tenant, caller.key)
        ids = []
        for number in range(12):
            who = (caller, there)[number % 2]
            session = f"n{number}"
            said = turns("I live in Bergen.", "Actually, I live in Oslo.")
            answer = await ingest(who, session, said, session=session, mode=QUEUED, end_session=True)
            for service in (shared, other):
                service.service.ingests.notify(tenant)
            ids.append((session, answer.ingest_id))
        for session, ingest_id in ids:
            found = await finished(caller, ingest_id)
            assert (found.state, found.attempts) == (DONE, 1)
            assert [one.content for one in await listed(caller, session, slots=["home_city"])] == [
                "I live in Oslo"
            ]
    assert stored.count("memory", "reinforce_count > 0") == 0
    assert stored.count("memory", "kind <> 7") == 24
    # Each call and each extraction is one event.
    assert len(stored.events(10)) == 24


@pytest.mark.parametrize("what", ["subject", "session", "turn"])
async def test_what_is_erased_while_it_is_looked_at_does_not_come_back(
    caller: Caller, stored: Stored, endpoint: ChatEndpoint, what: str
) -> None:
    thinking, go_on = threading.Event(), threading.Event()

    def slowly(_request: Any) -> Any:
        thinking.set()
        go_on.wait(1.5)
        return {
            "candidates": [
                proposal("Ines lives in Bergen", "user_stated", 0, slot="home_city"),
                proposal("Ines likes tea", "user_stated", 1),
            ]
        }

    endpoint.answers(slowly)
    said = [turn(0, "Ines lives in Bergen"), turn(1, "Ines likes tea")]
    answer = await ingest(caller, "u1", said, mode=QUEUED, extractor=LLM, end_session=True)
    await asyncio.to_thread(thinking.wait, 10)
    assert (await progress(caller, answer.ingest_id)).state == RUNNING
    if what == "subject":
        assert (await caller.erase_subject("u1")).counts.queued_jobs == 1
    elif what == "session":
        target = erasure_pb2.ErasureTarget(session=erasure_pb2.SessionTarget(scope=scope("u1", session="s1")))
        await caller.call("Erase", memory_service_pb2.EraseRequest(target=target))
    else:
        await caller.erase_memories(answer.turns[0].memory_id)
    endpoint.answers(
        {
            "candidates": [
                proposal("Ines lives in Bergen", "user_stated", 0),
                proposal("Ines likes tea", "user_stated", 1),
            ]
        }
    )
    go_on.set()
    if what == "turn":
        assert (await finished(caller, answer.ingest_id)).state == DONE
        kept = await listed(caller, "u1", states=[1, 2, 3, 4, 5])
        assert [one.content for one in kept] == ["Ines likes tea"] * 2
    else:
        await until(lambda: not stored.count("ingest_session"))
        await asyncio.sleep(0.3)
        assert stored.count("memory") == 0
        await refused(progress(caller, answer.ingest_id), "NOT_FOUND", "INGEST_NOT_FOUND")


async def test_telemetry_holds_nothing_of_a_conversation(caller: Caller, endpoint: ChatEndpoint) -> None:
    endpoint.answers({"candidates": [proposal("KORRIGAN-9 is the code", "user_stated", 0)]})
    with recording() as recorded:
        said = [turn(0, "KORRIGAN-9 is the code", speaker="Ms KORRIGAN-9")]
        answer = await ingest(caller, "KORRIGAN-9", said, extractor=HYBRID)
        assert made(answer) == [("CREATED", "llm/v1")]
        endpoint.behaves("refuses")
        await ingest(caller, "KORRIGAN-9", said, session="s2", extractor=LLM)
        endpoint.answers({"candidates": []})
        everything = recorded.everything()
    assert "muniment.ingest.extract" in everything
    assert "chat test-model" in everything
    for secret in ("KORRIGAN-9", KEY):
        assert secret not in everything
