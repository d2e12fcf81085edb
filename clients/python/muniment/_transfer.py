"""Memories taken along: records, and their form as lines of JSON Lines."""

from dataclasses import dataclass
from datetime import datetime

from google.protobuf import json_format

from muniment import _decode, _encode
from muniment._arguments import WriteItem
from muniment._enums import MemoryKind, MemoryState
from muniment._errors import InvalidRequest
from muniment._values import enum, instant, plain_struct, scalar, text, timestamp
from muniment.v1 import subject_pb2, write_pb2


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory as it is exported and imported."""

    item: WriteItem
    """The statement; its embedding is never exported."""
    memory_id: str = ""
    """The memory's id where it comes from."""
    state: MemoryState | str = MemoryState.ACTIVE
    create_time: datetime | None = None
    """When it was first recorded where it comes from."""
    agent: str | None = None
    session: str | None = None

    def to_json(self) -> str:
        """One line of JSON Lines: the contract's MemoryRecord in proto JSON."""
        return json_format.MessageToJson(encode(self, "record"), indent=None)

    @staticmethod
    def from_json(line: str) -> "MemoryRecord":
        """Raises InvalidRequest when the line is no record."""
        message = subject_pb2.MemoryRecord()
        try:
            json_format.Parse(line, message)
        except json_format.ParseError:
            raise InvalidRequest.of("record", "record.json", "is no memory record in proto JSON") from None
        return decode(message)


def encode(record: MemoryRecord, field: str) -> subject_pb2.MemoryRecord:
    """For the wire."""
    made = subject_pb2.MemoryRecord(
        memory_id=text(record.memory_id, f"{field}.memory_id"),
        item=_encode.item(record.item, {}, f"{field}.item"),
        state=enum(MemoryState, record.state, f"{field}.state"),
    )
    if record.create_time is not None:
        made.create_time.CopyFrom(timestamp(record.create_time, f"{field}.create_time"))
    if record.agent is not None:
        made.agent = text(record.agent, f"{field}.agent")
    if record.session is not None:
        made.session = text(record.session, f"{field}.session")
    return made


def decode(message: subject_pb2.MemoryRecord) -> MemoryRecord:
    """From the wire."""
    return MemoryRecord(
        item=_item(message.item),
        memory_id=message.memory_id,
        state=MemoryState(message.state),
        create_time=instant(message, "create_time"),
        agent=message.agent if message.HasField("agent") else None,
        session=message.session if message.HasField("session") else None,
    )


def _item(message: write_pb2.WriteItem) -> WriteItem:
    values = {key: scalar(value) for key, value in message.properties.items()}
    return WriteItem(
        content=message.content,
        kind=MemoryKind(message.kind),
        slot=message.slot,
        tags=tuple(message.tags),
        properties={key: value for key, value in values.items() if value is not None} or None,
        attributes=plain_struct(message.attributes) if message.HasField("attributes") else None,
        source=_decode.provenance(message.provenance) if message.HasField("provenance") else None,
        validity=_decode.validity(message.validity) if message.HasField("validity") else None,
        expires=instant(message, "expire_time")
        if message.HasField("expire_time")
        else (message.ttl.ToTimedelta() if message.HasField("ttl") else None),
        speaker=message.speaker,
        turn_number=message.turn_number if message.HasField("turn_number") else None,
        force=message.force,
    )
