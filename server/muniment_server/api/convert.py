"""Requests of the contract as domain values. What the contract's rules cannot say is checked here."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet

from muniment_server._gen.muniment.v1 import consistency_pb2, filter_pb2, memory_pb2, write_pb2
from muniment_server.domain.errors import EmbeddingModelMismatch, InvalidRequest
from muniment_server.domain.filters import Operator, PropertyCondition, to_jsonpath
from muniment_server.domain.model import (
    ClaimedProvenance,
    MemoryFilter,
    MemoryKind,
    MemoryState,
    NewMemory,
    PropertyValue,
    Scope,
    ScopeKind,
    SourceType,
    TimeRange,
    TrustLevel,
    Validity,
)
from muniment_server.domain.statement import check_text
from muniment_server.embedding.base import EmbeddingModel

MAX_ATTRIBUTES_BYTES = 8_192
MAX_ATTRIBUTES_DEPTH = 16
_LARGEST_WHOLE = 2.0**53
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_MICROSECOND = timedelta(microseconds=1)
_OF_THE_MACHINE = re.compile("localtime$|posixrules$|Factory$|posix/|right/")
"""What stands beside the zones on many machines: its own clock, and copies that count leap seconds."""


def payload(request: Message, *without: str) -> bytes:
    """Deterministic bytes of a request but for the named fields, to compare or to bind."""
    copy = type(request)()
    copy.CopyFrom(request)
    for name in without:
        copy.ClearField(name)
    return copy.SerializeToString(deterministic=True)


def require_understood(message: Message, path: str) -> None:
    """Refuse fields that this server does not know, at any depth of a message that restricts a call.

    Ignored, a condition of a newer client would widen what is read or erased. Raises InvalidRequest.
    """
    if len(UnknownFieldSet(message)) > 0:
        raise InvalidRequest.of(
            path, "message.unknown_field", "must not have fields that this server does not know"
        )
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inner = f"{path}.{field.name}"
        if isinstance(value, Message):
            require_understood(value, inner)
        else:
            for index, one in enumerate(value):
                require_understood(one, f"{inner}[{index}]")


def time_zone(name: str) -> tzinfo:
    """A time zone of the IANA database; empty is UTC. Raises InvalidRequest for an unknown one."""
    if not name:
        return UTC
    try:
        if not _OF_THE_MACHINE.match(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise InvalidRequest.of("time_zone", "time_zone.known", "must be a name of the time zone database")


def request_id(text: str) -> UUID | None:
    """The caller's request id."""
    return UUID(text) if text else None


def instant(value: Timestamp, path: str) -> datetime:
    """An instant of the contract; nanoseconds are cut to microseconds."""
    if not 0 <= value.nanos <= 999_999_999:
        raise InvalidRequest.of(path, "timestamp.nanos", "nanos must lie between 0 and 999999999")
    return value.ToDatetime(tzinfo=UTC)


def duration(value: Duration, path: str) -> timedelta:
    if not -999_999_999 <= value.nanos <= 999_999_999:
        raise InvalidRequest.of(path, "duration.nanos", "nanos must lie between -999999999 and 999999999")
    found = value.ToTimedelta()
    if not found:
        # Cut to microseconds, as the store counts, nothing is left: what is to last would be over at once.
        raise InvalidRequest.of(path, "duration.microsecond", "must be at least one microsecond")
    return found


def scope(message: memory_pb2.Scope, path: str = "scope") -> Scope:
    """A scope; its names must be text that can be stored unaltered."""
    require_understood(message, path)
    kind = ScopeKind.SUBJECT if message.WhichOneof("owner") == "subject" else ScopeKind.SPACE
    label = message.subject if kind is ScopeKind.SUBJECT else message.space
    agent = message.agent if message.HasField("agent") else None
    session = message.session if message.HasField("session") else None
    for name, text in ((kind.name.lower(), label), ("agent", agent), ("session", session)):
        plain_text(text, f"{path}.{name}")
    return Scope(kind, label, agent, session)


def plain_text(text: str | None, path: str) -> None:
    """Refuse text that cannot be stored unaltered. Raises InvalidRequest naming the field."""
    refusal = check_text(text) if text is not None else None
    if refusal is not None:
        raise InvalidRequest.of(path, str(refusal), refusal.description)


def property_value(message: memory_pb2.PropertyValue) -> PropertyValue:
    """A caller-owned value."""
    match message.WhichOneof("value"):
        case "number_value":
            return message.number_value
        case "bool_value":
            return message.bool_value
        case _:
            return message.string_value


def _properties(values: Mapping[str, memory_pb2.PropertyValue], path: str) -> dict[str, PropertyValue]:
    found = {key: property_value(value) for key, value in values.items()}
    for key, value in found.items():
        if isinstance(value, str):
            plain_text(value, f"{path}[{key}].string_value")
    return found


def _whole(value: Any) -> Any:
    """JSON in its shortest form: whole numbers without a fraction, as other languages write them."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        # Minus zero has no whole form.
        return int(value) if value or math.copysign(1, value) > 0 else value
    return value


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _attributes(message: Struct, path: str) -> str:
    try:
        found = json_format.MessageToDict(message)
        # An answer nests a memory deeper than a request does, and runtimes stop reading at 100 levels.
        if _depth(found) > MAX_ATTRIBUTES_DEPTH:
            raise InvalidRequest.of(
                path, "struct.max_depth", f"must not nest deeper than {MAX_ATTRIBUTES_DEPTH} levels"
            )
        text = json.dumps(
            _whole(found),
            ensure_ascii=False,
            separators=(",", ":"),
            sort_keys=True,
            allow_nan=False,
        )
    except (ValueError, json_format.Error):
        raise InvalidRequest.of(path, "struct.json", "must be a JSON object with finite numbers") from None
    # In JSON a NUL is an escape; a backslash before it is an escape itself.
    if _ESCAPED_NUL.search(text):
        raise InvalidRequest.of(path, "text.no_nul", "must not contain the character U+0000")
    if len(text.encode()) > MAX_ATTRIBUTES_BYTES:
        raise InvalidRequest.of(
            path, "struct.max_bytes", f"must not exceed {MAX_ATTRIBUTES_BYTES} bytes as JSON"
        )
    return text


def embedding(message: memory_pb2.Embedding, model: EmbeddingModel, path: str) -> bytes:
    """A caller's vector. Raises EmbeddingModelMismatch, or InvalidRequest for one that cannot be compared."""
    dimension = len(message.vector) // 4
    if message.model != model.name or dimension != model.dimension:
        raise EmbeddingModelMismatch(
            # A caller's own text is not echoed.
            model=message.model if message.model == model.name else None,
            dimension=dimension,
            expected_model=model.name,
            expected_dimension=model.dimension,
        )
    # In double precision, in which the length of the largest components and of the smallest is a number.
    vector = np.frombuffer(message.vector, dtype="<f4").astype(np.float64)
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length == 0.0:
        raise InvalidRequest.of(
            f"{path}.vector", "embedding.finite", "components must be finite and not all zero"
        )
    # Stored as half precision: at length 1 no component overflows and none of weight is lost.
    return (vector / length).astype("<f4").tobytes()


def _validity(message: memory_pb2.Validity, path: str) -> Validity:
    start = instant(message.start_time, f"{path}.start_time") if message.HasField("start_time") else None
    end = instant(message.end_time, f"{path}.end_time") if message.HasField("end_time") else None
    if start is not None and end is not None and not start < end:
        # In order by nanoseconds, as the contract asks, and the same instant as the store counts.
        raise InvalidRequest.of(
            f"{path}.end_time", "validity.order", "must lie a microsecond or more after start_time"
        )
    return Validity(start, end)


def new_memory(message: write_pb2.WriteItem, model: EmbeddingModel, path: str) -> NewMemory:
    """One item of a Write, or the replacement of a Supersede."""
    claimed = message.provenance
    expire_time = ttl = None
    match message.WhichOneof("expiry"):
        case "expire_time":
            expire_time = instant(message.expire_time, f"{path}.expire_time")
        case "ttl":
            ttl = duration(message.ttl, f"{path}.ttl")
    for name, text in (
        ("slot", message.slot),
        ("speaker", message.speaker),
        ("provenance.source_ref", claimed.source_ref),
        ("provenance.session", claimed.session),
        *((f"tags[{index}]", tag) for index, tag in enumerate(message.tags)),
    ):
        plain_text(text, f"{path}.{name}")
    return NewMemory(
        content=message.content,
        kind=MemoryKind(message.kind),
        slot=message.slot or None,
        speaker=message.speaker.strip() or None,
        turn_number=message.turn_number if message.HasField("turn_number") else None,
        tags=tuple(message.tags),
        properties=_properties(message.properties, f"{path}.properties"),
        attributes=_attributes(message.attributes, f"{path}.attributes")
        if message.HasField("attributes")
        else None,
        provenance=ClaimedProvenance(
            source_type=SourceType(claimed.source_type) if claimed.source_type else None,
            trust=TrustLevel(claimed.trust) if claimed.trust else None,
            confidence=claimed.confidence if claimed.HasField("confidence") else None,
            session=claimed.session if claimed.HasField("session") else None,
            source_ref=claimed.source_ref or None,
        ),
        validity=_validity(message.validity, f"{path}.validity"),
        expire_time=expire_time,
        ttl=ttl,
        embedding=embedding(message.embedding, model, f"{path}.embedding")
        if message.HasField("embedding")
        else None,
        force=message.force,
    )


def time_range(message: filter_pb2.TimeRange, path: str) -> TimeRange:
    """A span of time, open where nothing is set."""
    return TimeRange(
        instant(message.start_time, f"{path}.start_time") if message.HasField("start_time") else None,
        instant(message.end_time, f"{path}.end_time") if message.HasField("end_time") else None,
    )


def _condition(message: filter_pb2.PropertyCondition) -> PropertyCondition:
    match message.WhichOneof("operator"):
        case "equals":
            return PropertyCondition(message.key, Operator.EQUALS, (property_value(message.equals),))
        case "not_equals":
            return PropertyCondition(message.key, Operator.NOT_EQUALS, (property_value(message.not_equals),))
        case "any_of":
            return PropertyCondition(
                message.key, Operator.IN, tuple(property_value(one) for one in message.any_of.values)
            )
        case "range":
            bounds = message.range
            lower, upper = bounds.WhichOneof("lower"), bounds.WhichOneof("upper")
            return PropertyCondition(
                message.key,
                Operator.RANGE,
                gt=bounds.gt if lower == "gt" else None,
                gte=bounds.gte if lower == "gte" else None,
                lt=bounds.lt if upper == "lt" else None,
                lte=bounds.lte if upper == "lte" else None,
            )
        case _:
            return PropertyCondition(message.key, Operator.EXISTS if message.exists else Operator.NOT_EXISTS)


def memory_filter(
    message: filter_pb2.MemoryFilter,
    path: str = "filter",
    default_states: Sequence[MemoryState] = (MemoryState.ACTIVE,),
) -> MemoryFilter:
    """A restriction; `default_states` where the caller names none."""
    if not message.ByteSize():
        return MemoryFilter(states=list(default_states))
    require_understood(message, path)
    valid_time = time_range(message.valid_time, f"{path}.valid_time")
    valid_at = None
    if message.HasField("valid_at"):
        valid_at = instant(message.valid_at, f"{path}.valid_at")
    return MemoryFilter(
        kinds=[MemoryKind(kind) for kind in message.kinds],
        states=[MemoryState(state) for state in message.states] or list(default_states),
        source_types=[SourceType(source) for source in message.source_types],
        min_trust=TrustLevel(message.min_trust) if message.min_trust else None,
        slots=list(message.slots),
        sessions=list(message.sessions),
        tags_any=list(message.tags_any),
        tags_all=list(message.tags_all),
        tags_none=list(message.tags_none),
        properties=to_jsonpath([_condition(condition) for condition in message.properties]),
        create_time=time_range(message.create_time, f"{path}.create_time"),
        valid_time=valid_time,
        valid_start=time_range(message.valid_start_time, f"{path}.valid_start_time"),
        valid_at=valid_at,
    )


def consistency_token(message: consistency_pb2.Consistency, present: bool) -> str | None:
    """The token that a read must be as fresh as, or None."""
    if present and message.WhichOneof("requirement") == "at_least_as_fresh":
        return message.at_least_as_fresh.token
    return None
