import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryFilter(_message.Message):
    __slots__ = ("kinds", "states", "slots", "tags_any", "tags_all", "tags_none", "source_types", "min_trust", "sessions", "properties", "create_time", "valid_time", "valid_start_time", "valid_at")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    TAGS_ALL_FIELD_NUMBER: _ClassVar[int]
    TAGS_NONE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    MIN_TRUST_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_START_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryKind]
    states: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryState]
    slots: _containers.RepeatedScalarFieldContainer[str]
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    tags_all: _containers.RepeatedScalarFieldContainer[str]
    tags_none: _containers.RepeatedScalarFieldContainer[str]
    source_types: _containers.RepeatedScalarFieldContainer[_memory_pb2.SourceType]
    min_trust: _memory_pb2.TrustLevel
    sessions: _containers.RepeatedScalarFieldContainer[str]
    properties: _containers.RepeatedCompositeFieldContainer[PropertyCondition]
    create_time: TimeRange
    valid_time: TimeRange
    valid_start_time: TimeRange
    valid_at: _timestamp_pb2.Timestamp
    def __init__(self, kinds: _Optional[_Iterable[_Union[_memory_pb2.MemoryKind, str]]] = ..., states: _Optional[_Iterable[_Union[_memory_pb2.MemoryState, str]]] = ..., slots: _Optional[_Iterable[str]] = ..., tags_any: _Optional[_Iterable[str]] = ..., tags_all: _Optional[_Iterable[str]] = ..., tags_none: _Optional[_Iterable[str]] = ..., source_types: _Optional[_Iterable[_Union[_memory_pb2.SourceType, str]]] = ..., min_trust: _Optional[_Union[_memory_pb2.TrustLevel, str]] = ..., sessions: _Optional[_Iterable[str]] = ..., properties: _Optional[_Iterable[_Union[PropertyCondition, _Mapping]]] = ..., create_time: _Optional[_Union[TimeRange, _Mapping]] = ..., valid_time: _Optional[_Union[TimeRange, _Mapping]] = ..., valid_start_time: _Optional[_Union[TimeRange, _Mapping]] = ..., valid_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PropertyCondition(_message.Message):
    __slots__ = ("key", "equals", "not_equals", "any_of", "range", "exists")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EQUALS_FIELD_NUMBER: _ClassVar[int]
    NOT_EQUALS_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    key: str
    equals: _memory_pb2.PropertyValue
    not_equals: _memory_pb2.PropertyValue
    any_of: PropertyValues
    range: NumberRange
    exists: bool
    def __init__(self, key: _Optional[str] = ..., equals: _Optional[_Union[_memory_pb2.PropertyValue, _Mapping]] = ..., not_equals: _Optional[_Union[_memory_pb2.PropertyValue, _Mapping]] = ..., any_of: _Optional[_Union[PropertyValues, _Mapping]] = ..., range: _Optional[_Union[NumberRange, _Mapping]] = ..., exists: bool = ...) -> None: ...

class PropertyValues(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[_memory_pb2.PropertyValue]
    def __init__(self, values: _Optional[_Iterable[_Union[_memory_pb2.PropertyValue, _Mapping]]] = ...) -> None: ...

class NumberRange(_message.Message):
    __slots__ = ("gt", "gte", "lt", "lte")
    GT_FIELD_NUMBER: _ClassVar[int]
    GTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    gt: float
    gte: float
    lt: float
    lte: float
    def __init__(self, gt: _Optional[float] = ..., gte: _Optional[float] = ..., lt: _Optional[float] = ..., lte: _Optional[float] = ...) -> None: ...

class TimeRange(_message.Message):
    __slots__ = ("start_time", "end_time")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
