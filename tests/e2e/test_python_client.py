"""Both Python clients against the service as its own process, with its own database."""

import asyncio
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import muniment
from client import both
from muniment import Filter, Property, WriteItem
from support.postgres import reachable_folder

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(180)


@dataclass
class Server:
    target: str
    key: str


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with reachable_folder() as folder:
        home = folder / "home"
        process = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "server"),
                "PYTHONUNBUFFERED": "1",
                "MUNIMENT_HOME": str(home),
                "MUNIMENT_DRAIN_DELAY": "0",
            },
        )
        assert process.stdout is not None
        target = ""
        for line in process.stdout:
            if found := re.search(r"serves on (\S+)", line):
                target = found[1]
            if line.startswith("Not wanted any more"):
                break
        assert target
        try:
            yield Server(target, (home / "dev-key").read_text().strip())
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            process.stdout.close()


@pytest.fixture(params=["async", "sync"])
def connect(request: pytest.FixtureRequest, server: Server) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        return both.connect(
            request.param,
            server.target,
            **{"tenant": "dev", "api_key": server.key, "deadlines": PATIENT, **options},
        )

    return make


# The machine that runs the tests may be busy; how long calls take is not the question here.
PATIENT = muniment.Deadlines(recall=20, write=20, supersede=20, erase=60, other=20)


@pytest.fixture
async def client(connect: Callable[..., Any]) -> AsyncIterator[Any]:
    made = connect()
    yield made
    await made.close()


@pytest.fixture
def subject() -> str:
    """A subject that nobody else uses."""
    return f"user-{uuid4()}"


async def test_a_memorys_life(client: Any, subject: str) -> None:
    [tea] = await client.write(
        "Drinks green tea, never coffee.", subject=subject, kind="preference", source="user_stated"
    )
    assert tea.outcome is muniment.WriteOutcome.CREATED
    [again] = await client.write(
        "Drinks green tea,  never coffee.", subject=subject, kind="preference", source="user_stated"
    )
    assert (again.outcome, again.memory_id) == (muniment.WriteOutcome.REINFORCED, tea.memory_id)

    recalled = await client.recall("What does she drink?", subject=subject, token_budget=300, explain=True)
    assert recalled.memory_ids == (tea.memory_id,)
    assert recalled[0].content == "Drinks green tea, never coffee."
    assert recalled[0].leg_scores
    assert tea.memory_id in recalled.context
    async with client.model_call(recalled, model="some-model", prompt_ref="run-1") as call:
        call.outcome = "helpful"
    assert call.report_error is None

    receipt = await client.get_recall(recalled.recall_id)
    assert [(each.memory_id, each.packed) for each in receipt.recalled.memories] == [(tea.memory_id, True)]
    [use] = receipt.uses
    assert use.used == muniment.MemoriesUsed(
        recalled.recall_id, (tea.memory_id,), muniment.UseOutcome.HELPFUL, "some-model", "run-1"
    )
    assert use.actor.client == f"muniment-python/{muniment.__version__}"

    corrected = await client.supersede(
        tea.memory_id, "Drinks black tea.", kind="preference", source="user_confirmed"
    )
    assert corrected.outcome is muniment.WriteOutcome.SUPERSEDED_PREVIOUS
    assert corrected.old.superseded_by == corrected.memory.memory_id
    recalled = await client.recall("What does she drink?", subject=subject)
    assert [each.content for each in recalled] == ["Drinks black tea."]
    history = await client.get_memory(tea.memory_id, include_revisions=True)
    assert history.memory.state is muniment.MemoryState.SUPERSEDED
    assert [each.memory.content for each in history.revisions][-1] == "Drinks green tea, never coffee."

    planned = await client.erase(subject=subject, dry_run=True)
    assert planned.dry_run
    assert set(planned.sample_memory_ids) == {tea.memory_id, corrected.memory.memory_id}
    erased = await client.erase(subject=subject, reason="subject_request", reason_code="T-1")
    assert (erased.counts.memories, erased.keys_destroyed) == (2, 1)
    assert (await client.get_erasure(erased.erasure_id)).erasure_id == erased.erasure_id
    assert not await client.recall("What does she drink?", subject=subject)
    tombstone = (await client.get_memory(tea.memory_id)).memory
    assert (tombstone.state, tombstone.content) == (muniment.MemoryState.ERASED, "")
    assert (await client.erase(subject=subject)).counts.memories == 0

    events = await client.audit(memory_id=tea.memory_id, page_size=2).all()
    actions = [event.action.name for event in reversed(events)]
    assert [each for each in actions if each not in ("GET_MEMORY", "LIST_MEMORIES")] == [
        "WRITE",
        "WRITE",
        "RECALL",
        "REPORT_USE",
        "SUPERSEDE",
        "ERASE",
    ]


async def test_what_is_written_comes_back(client: Any, subject: str) -> None:
    start = datetime(2025, 7, 25, 2, 0, 0, 123456, tzinfo=UTC)
    end = datetime(2031, 1, 1, tzinfo=UTC)
    expires = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    item = WriteItem(
        "👩‍👩‍👧‍👦 🏳️‍🌈 eats 🍣",
        kind="event",
        slot="dinner",
        tags=["food", "c'%_"],
        properties={"priority": 9, "where": "東京", "sure": True, "share": 0.1},
        attributes={"nested": [{"n": 5, "half": 0.5, "none": None}], "flag": False},
        source=muniment.Provenance(
            source_type=muniment.SourceType.USER_STATED, source_ref="msg-1", session="s1", confidence=0.0
        ),
        validity=(start, end),
        expires=expires,
    )
    [result] = await client.write(item, subject=subject)
    [listed] = await client.list_memories(subject=subject, view="full").all()
    got = (await client.get_memory(result.memory_id)).memory
    [recalled] = await client.recall("eats", subject=subject, min_score=0)
    assert listed == got == recalled.memory
    assert got.content == item.content
    assert got.kind is muniment.MemoryKind.EVENT
    assert (got.slot, got.tags, got.properties) == (item.slot, tuple(item.tags), item.properties)
    assert got.attributes == item.attributes
    assert got.validity == muniment.Validity(start, end)
    assert got.expire_time == expires
    assert got.provenance.source_ref == "msg-1"
    assert got.provenance.confidence == 0.0
    assert got.provenance.trust is muniment.TrustLevel.HIGH
    assert got.scope == muniment.Scope(subject=subject)
    assert got.create_time is not None
    assert abs(datetime.now(UTC) - got.create_time) < timedelta(minutes=2)


async def test_filters(client: Any, subject: str) -> None:
    written = await client.write(
        [
            WriteItem("The low one", properties={"priority": 2}, tags=["a"]),
            WriteItem("The middle one", properties={"priority": 9}, tags=["b"], kind="rule"),
            WriteItem("The high one", properties={"priority": 10}, tags=["c'%_"]),
        ],
        subject=subject,
    )
    low, middle, high = written.memory_ids

    async def found(**conditions: Any) -> set[str]:
        listed = client.list_memories(subject=subject, filter=Filter(**conditions))
        return {memory.memory_id async for memory in listed}

    priority = Property("priority")
    assert await found(properties=[priority >= 9]) == {middle, high}
    assert await found(properties=[priority.between(2, 9)]) == {low, middle}
    assert await found(properties=[priority.one_of([2, 10, "9"])]) == {low, high}
    assert await found(properties=[priority != 2, Property("none").missing()]) == {middle, high}
    assert await found(tags_any=["c'%_"]) == {high}
    assert await found(tags_none=["a"]) == {middle, high}
    assert await found(kinds=["rule"]) == {middle}
    receipt = await client.erase(subject=subject, filter=Filter(properties=[priority < 9]))
    assert (receipt.counts.memories, receipt.keys_destroyed) == (1, 0)
    assert await found() == {middle, high}


async def test_sessions(client: Any, subject: str) -> None:
    for session in ("s1", "s2"):
        await client.write(f"Said in {session}", subject=subject, session=session, kind="turn")
    assert await client.list_memories(subject=subject).all() == []
    listed = await client.list_memories(subject=subject, include_narrowed=True, page_size=1).all()
    assert {memory.scope.session for memory in listed} == {"s1", "s2"}
    assert (await client.erase(subject=subject, session="s1")).counts.memories == 1
    [left] = await client.list_memories(subject=subject, session="s2", view="full").all()
    assert left.content == "Said in s2"


async def test_repeating_a_request(client: Any, subject: str) -> None:
    request_id = uuid4()
    first = await client.write("Once", subject=subject, request_id=request_id)
    assert await client.write("Once", subject=subject, request_id=request_id) == first
    with pytest.raises(muniment.AlreadyExists) as raised:
        await client.write("Twice", subject=subject, request_id=request_id)
    assert raised.value.reason == muniment.ErrorReason.REQUEST_ID_PAYLOAD_MISMATCH
    assert raised.value.metadata["request_id"] == str(request_id)


async def test_errors(client: Any, connect: Callable[..., Any], subject: str) -> None:
    unknown = uuid4()
    with pytest.raises(muniment.NotFound) as missing:
        await client.supersede(unknown, "x")
    assert missing.value.reason == muniment.ErrorReason.MEMORY_NOT_FOUND
    assert missing.value.metadata == {"memory_id": str(unknown)}
    with pytest.raises(muniment.NotFound):
        await client.erase([unknown])
    with pytest.raises(muniment.NotFound):
        await client.get_recall(unknown)

    for call, field in (
        (lambda: client.supersede("12", "x"), "memory_id"),
        (lambda: client.recall("q", subject=subject, limit=0), "limit"),
        (lambda: client.recall("q", subject=""), "scope.subject"),
        (lambda: client.write("", subject=subject), "items[0].content"),
        (lambda: client.write("x", subject=subject, kind=muniment.MemoryKind(99)), "items[0].kind"),
        (lambda: client.erase(subject=subject, filter=Filter()), "target.filter.filter"),
        (lambda: client.list_memories(subject=subject, page_size=-1).all(), "page_size"),
    ):
        with pytest.raises(muniment.InvalidRequest) as invalid:
            await call()
        assert [violation.field for violation in invalid.value.field_violations] == [field]
        assert invalid.value.call_id

    [result] = await client.write("Old", subject=subject)
    with pytest.raises(muniment.Conflict) as conflict:
        await client.supersede(result.memory_id, "New", etag="stale")
    assert conflict.value.reason == muniment.ErrorReason.REVISION_CONFLICT
    await client.supersede(result.memory_id, "New", etag=result.memory.etag)
    with pytest.raises(muniment.FailedPrecondition) as done:
        await client.supersede(result.memory_id, "Newer")
    assert done.value.reason == muniment.ErrorReason.MEMORY_SUPERSEDED

    async with connect(tenant="acme") as other:
        with pytest.raises(muniment.PermissionDenied):
            await other.recall("q", subject=subject)
    async with connect(api_key="mnm_" + "x" * 20 + "_" + "y" * 43) as nobody:
        with pytest.raises(muniment.Unauthenticated) as refused:
            await nobody.recall("q", subject=subject)
    assert refused.value.reason == muniment.ErrorReason.CREDENTIALS_INVALID
    assert "mnm_" not in str(refused.value)


async def test_the_trace_leads_to_the_audit_trail(client: Any, subject: str) -> None:
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    await client.write("Likes tea", subject=subject)
    with trace.get_tracer("test").start_as_current_span("turn") as turn:
        recalled = await client.recall("tea", subject=subject)
    trace_id = trace.format_trace_id(turn.get_span_context().trace_id)
    assert recalled.trace_id == trace_id
    [event] = await client.audit(trace_id=trace_id).all()
    assert event.action is muniment.AuditAction.RECALL
    assert isinstance(event.details, muniment.MemoriesRecalled)
    assert tuple(each.memory_id for each in event.details.memories) == recalled.memory_ids


async def test_pages_of_the_audit_trail(client: Any, subject: str) -> None:
    for number in range(7):
        await client.write(f"Number {number}", subject=subject)
    pages = client.audit(subject=subject, actions=["write"], page_size=3)
    events = [event async for event in pages]
    assert len({event.event_id for event in events}) == len(events) == 7
    assert events == sorted(events, key=lambda event: event.event_time, reverse=True)


async def whole_chain(client: Any) -> list[muniment.ExportPart]:
    """An export without events that wait to be chained, which happens shortly after they were recorded."""
    for _ in range(100):
        parts = [part async for part in client.export_audit()]
        assert isinstance(parts[-1], muniment.ExportTrailer)
        if parts[-1].unchained_count == 0:
            break
        await asyncio.sleep(0.1)
    return parts


async def test_an_export_is_a_chain_without_gaps(client: Any, subject: str) -> None:
    await client.write("For the record", subject=subject)
    header, *middle, trailer = await whole_chain(client)
    assert isinstance(header, muniment.ExportHeader)
    assert isinstance(trailer, muniment.ExportTrailer)
    assert (header.tenant, header.first_sequence, header.format_version) == ("dev", 1, 1)
    digest, sequence = header.first_prev_digest, header.first_sequence
    digests: dict[int, bytes] = {}
    for part in middle:
        if isinstance(part, muniment.ExportedEvent):
            assert (part.prev_digest, part.sequence) == (digest, sequence)
            digests[sequence] = part.digest
            digest, sequence = part.digest, sequence + 1
        else:
            assert isinstance(part, muniment.AuditCheckpoint)
            assert part.digest == digests[part.sequence]
            assert part.signing_key_id in {key.signing_key_id for key in header.signing_keys}
    assert (digest, sequence - 1) == (trailer.last_digest, trailer.last_sequence)
    rest = [part async for part in client.export_audit(from_sequence=sequence - 1, to_sequence=sequence - 1)]
    assert [part.sequence for part in rest if isinstance(part, muniment.ExportedEvent)] == [sequence - 1]


async def test_an_export_can_be_checked_outside(client: Any, subject: str) -> None:
    await client.write("For the record", subject=subject)
    receipt = await client.erase(subject=subject)
    header, *middle, _trailer = await whole_chain(client)
    assert isinstance(header, muniment.ExportHeader)
    assert header.first_prev_digest == bytes(32)
    keys = {
        key.signing_key_id: Ed25519PublicKey.from_public_bytes(key.public_key) for key in header.signing_keys
    }
    for part in middle:
        if isinstance(part, muniment.ExportedEvent):
            step = b"muniment.audit.v1\0" + part.prev_digest + part.sequence.to_bytes(8, "big")
            assert part.digest == hashlib.sha256(step + part.canonical_bytes).digest()
        elif isinstance(part, muniment.AuditCheckpoint):
            keys[part.signing_key_id].verify(part.signature, part.signed_bytes)
            signed = json.loads(part.signed_bytes)
            assert signed["type"] == "muniment.audit-checkpoint.v1"
            assert (signed["sequence"], signed["digest"]) == (part.sequence, part.digest.hex())
            assert signed["tenant_id"] == header.tenant_id
    keys[receipt.signing_key_id].verify(receipt.signature, receipt.signed_bytes)
    signed = json.loads(receipt.signed_bytes)
    assert signed["type"] == "muniment.erasure-receipt.v1"
    assert signed["erasure_id"] == receipt.erasure_id


async def test_many_calls_at_once(client: Any, subject: str) -> None:
    await asyncio.gather(*(client.write(f"Number {number}", subject=subject) for number in range(30)))
    answers = await asyncio.gather(
        *(client.recall(f"number {number}", subject=subject, min_score=0, limit=50) for number in range(30))
    )
    assert {len(answer) for answer in answers} == {30}


def test_the_example_of_the_readme_runs(server: Server, tmp_path: Path) -> None:
    readme = (ROOT / "clients" / "python" / "README.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    environment = {
        **os.environ,
        "MUNIMENT_TARGET": server.target,
        "MUNIMENT_TENANT": "dev",
        "MUNIMENT_API_KEY": server.key,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "SUPERSEDED_PREVIOUS" in done.stdout
    assert "3 memories, 1 key(s) destroyed" in done.stdout
