"""Ingest: turns are kept, and become memories."""

from typing import Any

from muniment_server._gen.muniment.v1 import ingest_pb2, memory_pb2, write_pb2
from support.service import RunningService, scope

SYNC = ingest_pb2.EXTRACTION_MODE_SYNC


def turn(number: int, content: str, role: int = ingest_pb2.TURN_ROLE_USER, **fields: Any) -> Any:
    return ingest_pb2.IngestTurn(number=number, content=content, role=role, **fields)  # type: ignore[arg-type]


async def test_first(service: RunningService) -> None:
    caller = service.caller()
    answer = await caller.call(
        "Ingest",
        ingest_pb2.IngestRequest(
            scope=scope("u1", session="s1"),
            turns=[turn(0, "I live in Bergen.", speaker="Ines"), turn(1, "Actually, I live in Oslo.")],
            mode=SYNC,
        ),
    )
    print(answer)
    assert answer.state == ingest_pb2.INGEST_STATE_DONE
