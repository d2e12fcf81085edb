"""Short ways to ingest a conversation."""

from collections.abc import Iterable, Sequence
from typing import Any

from muniment_server._gen.muniment.v1 import ingest_pb2, memory_pb2, memory_service_pb2
from support.service import Caller, scope

USER = ingest_pb2.TURN_ROLE_USER
AGENT = ingest_pb2.TURN_ROLE_AGENT
TOOL = ingest_pb2.TURN_ROLE_TOOL
OTHER = ingest_pb2.TURN_ROLE_OTHER
SYNC = ingest_pb2.EXTRACTION_MODE_SYNC
QUEUED = ingest_pb2.EXTRACTION_MODE_QUEUED
NONE = ingest_pb2.EXTRACTION_MODE_NONE


def turn(number: int, content: str, role: Any = USER, **fields: Any) -> ingest_pb2.IngestTurn:
    """One turn; of the user if nothing else is said."""
    return ingest_pb2.IngestTurn(number=number, content=content, role=role, **fields)


def turns(*contents: str) -> list[ingest_pb2.IngestTurn]:
    """The user's turns, numbered from 0."""
    return [turn(number, content) for number, content in enumerate(contents)]


async def ingest(
    caller: Caller,
    subject: str,
    said: Sequence[ingest_pb2.IngestTurn | str],
    *,
    session: str = "s1",
    agent: str | None = None,
    mode: Any = SYNC,
    timeout: float = 30.0,
    **fields: Any,
) -> ingest_pb2.IngestResponse:
    """Ingest turns; plain text becomes the user's turns, numbered from 0."""
    narrowing = {"session": session} | ({"agent": agent} if agent else {})
    return await caller.call(
        "Ingest",
        ingest_pb2.IngestRequest(
            scope=scope(subject, **narrowing),
            turns=[turn(n, one) if isinstance(one, str) else one for n, one in enumerate(said)],
            mode=mode,
            **fields,
        ),
        timeout=timeout,
    )


async def stream(
    caller: Caller, requests: Iterable[ingest_pb2.StreamIngestRequest], timeout: float = 30.0
) -> ingest_pb2.StreamIngestResponse:
    """Send a stream."""
    return await caller.memory.StreamIngest(iter(requests), metadata=caller.metadata, timeout=timeout)


async def progress(caller: Caller, ingest_id: str) -> ingest_pb2.GetIngestResponse:
    """How far an ingest has come."""
    return await caller.call("GetIngest", ingest_pb2.GetIngestRequest(ingest_id=ingest_id))


async def listed(caller: Caller, subject: str, **filters: Any) -> list[memory_pb2.Memory]:
    """Everything of a subject that a filter finds, oldest first; without one all that is live."""
    from muniment_server._gen.muniment.v1 import filter_pb2

    answer = await caller.call(
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(
            scope=scope(subject),
            filter=filter_pb2.MemoryFilter(**filters),
            include_narrowed=True,
            view=memory_pb2.MEMORY_VIEW_FULL,
        ),
    )
    return list(reversed(answer.memories))


def made(answer: Any) -> list[tuple[str, str]]:
    """Outcome and rule of every candidate of an answer."""
    from muniment_server._gen.muniment.v1 import write_pb2

    prefix = "WRITE_OUTCOME_"
    return [
        (write_pb2.WriteOutcome.Name(one.result.outcome).removeprefix(prefix), one.extracted_by)
        for one in answer.extracted
    ]
