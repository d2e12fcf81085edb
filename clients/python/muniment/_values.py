"""Single values between Python and protobuf. Encoders refuse with InvalidRequest what the contract
would refuse or protobuf would bend: they name the field, never the value."""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from muniment._enums import OpenEnum
from muniment._errors import InvalidRequest
from muniment._types import PropertyScalar
from muniment.v1 import memory_pb2

E = TypeVar("E", bound=OpenEnum)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EXACT: Final = 2**53
_MAX_DEPTH: Final = 64


def text(value: str, field: str) -> str:
    """Text that can be sent: no NUL, no lone surrogate."""
    if not isinstance(value, str):
        raise TypeError(f"{field} must be str, not {type(value).__name__}")
    if "\x00" in value:
        raise InvalidRequest.of(field, "string.no_nul", "must not hold a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest.of(
            field, "string.well_formed", "must be well-formed Unicode: it holds a lone surrogate"
        ) from None
    return value


def texts(values: Iterable[str], field: str) -> list[str]:
    """Several texts."""
    return [text(each, f"{field}[{index}]") for index, each in enumerate(_many(values, field))]


def identifier(value: str | UUID, field: str) -> str:
    """An id as text."""
    return str(value) if isinstance(value, UUID) else text(value, field)


def identifiers(values: Iterable[str | UUID], field: str) -> list[str]:
    """Several ids."""
    return [identifier(each, f"{field}[{index}]") for index, each in enumerate(_many(values, field))]


def enum(cls: type[E], value: E | str, field: str) -> Any:
    """An enum's number, from a member or from its name in any case."""
    if isinstance(value, str):
        try:
            return int(cls[value.upper()])
        except KeyError:
            names = ", ".join(name for name, member in cls.__members__.items() if member)
            raise InvalidRequest.of(field, "enum.defined_only", f"must be one of {names}") from None
    if not isinstance(value, cls):
        raise TypeError(f"{field} must be {cls.__name__} or its name, not {type(value).__name__}")
    return int(value)


def enums(cls: type[E], values: Iterable[E | str], field: str) -> list[Any]:
    """Several enum values."""
    return [enum(cls, each, f"{field}[{index}]") for index, each in enumerate(_many(values, field))]


def _many(values: Iterable[Any], field: str) -> Iterable[Any]:
    if isinstance(values, str | bytes):
        raise TypeError(f"{field} must be a sequence, not {type(values).__name__}")
    return values


def timestamp(value: datetime, field: str) -> Timestamp:
    """An instant."""
    if not isinstance(value, datetime):
        raise TypeError(f"{field} must be datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidRequest.of(field, "timestamp.aware", "must have a time zone")
    seconds, microseconds = divmod((value - _EPOCH) // _MICROSECOND, 1_000_000)
    return Timestamp(seconds=seconds, nanos=microseconds * 1000)


def duration(value: timedelta) -> Duration:
    """A length of time."""
    seconds, microseconds = divmod(value // _MICROSECOND, 1_000_000)
    if seconds < 0 < microseconds:
        # Both parts bear the same sign.
        seconds, microseconds = seconds + 1, microseconds - 1_000_000
    return Duration(seconds=seconds, nanos=microseconds * 1000)


def instant(message: Any, field: str) -> datetime | None:
    """A field of type Timestamp; None when it is not set or lies outside the years 1 to 9999."""
    if not message.HasField(field):
        return None
    value = getattr(message, field)
    try:
        return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    except OverflowError:
        return None


def property_value(value: PropertyScalar, field: str) -> memory_pb2.PropertyValue:
    """A filterable value."""
    if isinstance(value, bool):
        return memory_pb2.PropertyValue(bool_value=value)
    if isinstance(value, str):
        return memory_pb2.PropertyValue(string_value=text(value, field))
    if isinstance(value, int | float):
        return memory_pb2.PropertyValue(number_value=number(value, field))
    raise TypeError(f"{field} must be str, int, float or bool, not {type(value).__name__}")


def number(value: float, field: str) -> float:
    """A finite double that equals the number given."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field} must be a number, not {type(value).__name__}")
    if isinstance(value, int) and abs(value) > _EXACT:
        raise InvalidRequest.of(field, "double.exact", "is a whole number beyond 2**53: send it as text")
    converted = float(value)
    if not math.isfinite(converted):
        raise InvalidRequest.of(field, "double.finite", "must be finite")
    return converted


def scalar(value: memory_pb2.PropertyValue) -> PropertyScalar | None:
    """The value of a property; None for a type of a newer server."""
    which = value.WhichOneof("value")
    if which == "number_value":
        return plain_number(value.number_value)
    return None if which is None else getattr(value, which)


def plain_number(value: float) -> int | float:
    """JSON knows one sort of number; whole ones become int again, as they were given."""
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def json_struct(values: Mapping[str, object], field: str) -> Struct:
    """A dict as JSON object. Numbers are doubles; NaN, infinities and other types are refused."""
    return _json_struct(values, field, 0)


def _json_struct(values: Mapping[str, object], field: str, depth: int) -> Struct:
    if not isinstance(values, Mapping):
        raise TypeError(f"{field} must be a dict, not {type(values).__name__}")
    message = Struct()
    for key, value in values.items():
        message.fields[text(key, f"a key of {field}")].CopyFrom(_json(value, f"{field}.{key}", depth + 1))
    return message


def _json(value: object, field: str, depth: int) -> Value:
    if depth > _MAX_DEPTH:
        raise InvalidRequest.of(field, "struct.depth", f"is nested more than {_MAX_DEPTH} levels deep")
    if value is None:
        return Value(null_value=NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int | float):
        return Value(number_value=number(value, field))
    if isinstance(value, str):
        return Value(string_value=text(value, field))
    if isinstance(value, Mapping):
        return Value(struct_value=_json_struct(value, field, depth))
    if isinstance(value, list | tuple):
        items = [_json(each, f"{field}[{index}]", depth + 1) for index, each in enumerate(value)]
        return Value(list_value=ListValue(values=items))
    raise TypeError(f"{field} must be a JSON value, not {type(value).__name__}")


def plain_struct(message: Struct) -> dict[str, object]:
    """A JSON object as dict."""
    return {key: _plain(value) for key, value in message.fields.items()}


def _plain(value: Value) -> object:
    which = value.WhichOneof("kind")
    if which == "struct_value":
        return plain_struct(value.struct_value)
    if which == "list_value":
        return [_plain(each) for each in value.list_value.values]
    if which == "number_value":
        return plain_number(value.number_value)
    return None if which in (None, "null_value") else getattr(value, which)


def float_bytes(vector: Sequence[float], field: str) -> bytes:
    """Components as single precision, little endian."""
    try:
        packed = struct.pack(f"<{len(vector)}f", *vector)
    except (OverflowError, struct.error):
        raise InvalidRequest.of(
            field, "embedding.finite", "must hold finite single-precision numbers"
        ) from None
    if not all(map(math.isfinite, vector)):
        raise InvalidRequest.of(field, "embedding.finite", "must hold finite single-precision numbers")
    return packed
