"""Memories as records to take along, and records as memories to take in."""

from uuid import UUID

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from muniment_server._gen.muniment.v1 import subject_pb2, write_pb2
from muniment_server.api import answers, convert
from muniment_server.application.import_memories import Record
from muniment_server.domain.model import Memory, MemoryState
from muniment_server.embedding.base import EmbeddingModel


def record(value: Memory) -> subject_pb2.MemoryRecord:
    """A whole memory. What an import makes anew, or never believes, stands in it for who reads it."""
    shown = answers.memory(value)
    item = write_pb2.WriteItem(
        kind=shown.kind,
        slot=shown.slot,
        content=shown.content,
        tags=shown.tags,
        properties=shown.properties,
        attributes=json_format.Parse(value.attributes, Struct()) if value.attributes else None,
        speaker=value.speaker or "",
        turn_number=value.turn_number,
        provenance=shown.provenance,
        validity=shown.validity if shown.HasField("validity") else None,
        expire_time=shown.expire_time if shown.HasField("expire_time") else None,
    )
    scope = value.scope
    return subject_pb2.MemoryRecord(
        memory_id=str(value.memory_id),
        item=item,
        state=answers.number(value.state),
        create_time=answers.timestamp(value.create_time),
        agent=scope.agent if scope else None,
        session=scope.session if scope else None,
    )


def imported(message: subject_pb2.MemoryRecord, model: EmbeddingModel, path: str) -> Record:
    """A record. Raises InvalidRequest naming the field at fault."""
    agent = message.agent if message.HasField("agent") else None
    session = message.session if message.HasField("session") else None
    convert.plain_text(agent, f"{path}.agent")
    convert.plain_text(session, f"{path}.session")
    return Record(
        item=convert.new_memory(message.item, model, f"{path}.item"),
        state=MemoryState(message.state) if message.state else None,
        origin_id=UUID(message.memory_id) if message.memory_id else None,
        create_time=convert.instant(message.create_time, f"{path}.create_time")
        if message.HasField("create_time")
        else None,
        agent=agent,
        session=session,
    )
