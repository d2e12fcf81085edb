"""Requests of Ingest and StreamIngest."""

from collections.abc import Iterable
from datetime import timedelta

from muniment._enums import ExtractionMode, Extractor, TurnRole
from muniment._subject_types import IngestTurn
from muniment._values import duration, enum, text, timestamp
from muniment.v1 import ingest_pb2, memory_pb2


def turn(given: IngestTurn, field: str) -> ingest_pb2.IngestTurn:
    """One turn."""
    if not isinstance(given, IngestTurn):
        raise TypeError(f"{field} must be IngestTurn, not {type(given).__name__}")
    made = ingest_pb2.IngestTurn(
        number=given.number,
        role=enum(TurnRole, given.role, f"{field}.role"),
        speaker=text(given.speaker, f"{field}.speaker"),
        content=text(given.content, f"{field}.content"),
    )
    if given.time is not None:
        made.time.CopyFrom(timestamp(given.time, f"{field}.time"))
    return made


def ingest(
    where: memory_pb2.Scope,
    turns: Iterable[IngestTurn],
    *,
    mode: ExtractionMode | str | None,
    extractor: Extractor | str | None,
    end_session: bool,
    turn_ttl: timedelta | None,
    request_id: str,
) -> ingest_pb2.IngestRequest:
    """Request of Ingest."""
    request = ingest_pb2.IngestRequest(
        scope=where,
        turns=[turn(each, f"turns[{index}]") for index, each in enumerate(turns)],
        end_session=end_session,
        request_id=request_id,
    )
    if mode is not None:
        request.mode = enum(ExtractionMode, mode, "mode")
    if extractor is not None:
        request.extractor = enum(Extractor, extractor, "extractor")
    if turn_ttl is not None:
        request.turn_ttl.CopyFrom(duration(turn_ttl))
    return request


def streamed(request: ingest_pb2.IngestRequest) -> ingest_pb2.StreamIngestRequest:
    """The same as one message of a stream: the two have the same fields."""
    return ingest_pb2.StreamIngestRequest.FromString(request.SerializeToString())
