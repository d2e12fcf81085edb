"""From the client's plain values back to messages of the contract, by their descriptors."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

import muniment
from muniment import _transfer, _values
from muniment.v1 import error_reason_pb2

RENAMED = {
    (muniment.Recalled, "packed_context"): "packed",
    (muniment.Superseded, "superseded"): "old",
    (muniment.ErasureReceipt, "validate_only"): "dry_run",
}


def to_json(value: object, message: Message) -> dict[str, Any]:
    """Proto JSON of a value of the client; `message` is an empty one of the contract's type."""
    fill(value, message)
    return json_format.MessageToDict(message)


def fill(value: object, message: Message) -> None:
    """Set every field that the value has."""
    for field in message.DESCRIPTOR.fields:
        given = _attribute(value, field)
        if given is None:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key, each in given.items():
                target = getattr(message, field.name)
                if field.message_type.fields_by_name["value"].message_type is None:
                    target[key] = each
                else:
                    target[key].CopyFrom(_values.property_value(each, key))
        elif field.is_repeated:
            for each in given:
                if field.message_type is None:
                    getattr(message, field.name).append(_scalar(each, field))
                else:
                    _set(each, getattr(message, field.name).add())
        elif field.message_type is not None:
            inner = getattr(message, field.name)
            inner.SetInParent()
            _set(given, inner)
        else:
            setattr(message, field.name, _scalar(given, field))


def _attribute(value: object, field: FieldDescriptor) -> Any:
    if isinstance(value, Mapping):
        return value.get(field.name)
    if isinstance(value, muniment.AuditEvent) and field.containing_oneof is not None:
        details = value.details
        matches = details is not None and type(details).__name__ == field.message_type.name
        return details if matches else None
    return getattr(value, RENAMED.get((type(value), field.name), field.name), None)


def _scalar(value: Any, field: FieldDescriptor) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        return error_reason_pb2.ErrorReason.Value(f"ERROR_REASON_{value}") if value else 0
    return int(value) if field.enum_type is not None else value


def _set(value: object, message: Message) -> None:
    if isinstance(value, muniment.MemoryRecord):
        message.CopyFrom(_transfer.encode(value, "record"))
    elif isinstance(value, datetime):
        message.CopyFrom(_values.timestamp(value, "time"))
    elif isinstance(value, timedelta):
        message.CopyFrom(_values.duration(value))
    elif message.DESCRIPTOR.full_name == "google.protobuf.Struct":
        message.CopyFrom(_values.json_struct(value, "attributes"))  # type: ignore[arg-type]
    elif is_dataclass(value) or isinstance(value, Mapping):
        fill(value, message)
    else:
        raise TypeError(f"{type(value).__name__} is no {message.DESCRIPTOR.full_name}")
