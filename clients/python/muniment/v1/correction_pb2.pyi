import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment.v1 import consistency_pb2 as _consistency_pb2
from muniment.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UndoOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDO_OUTCOME_UNSPECIFIED: _ClassVar[UndoOutcome]
    UNDO_OUTCOME_ARCHIVED: _ClassVar[UndoOutcome]
    UNDO_OUTCOME_RESTORED: _ClassVar[UndoOutcome]
    UNDO_OUTCOME_LEFT: _ClassVar[UndoOutcome]
UNDO_OUTCOME_UNSPECIFIED: UndoOutcome
UNDO_OUTCOME_ARCHIVED: UndoOutcome
UNDO_OUTCOME_RESTORED: UndoOutcome
UNDO_OUTCOME_LEFT: UndoOutcome

class RestoreRequest(_message.Message):
    __slots__ = ("memory_id", "etag", "revision", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    etag: str
    revision: int
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., etag: _Optional[str] = ..., revision: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class RestoreResponse(_message.Message):
    __slots__ = ("memory", "superseded_memory_id", "consistency_token", "request_id")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    superseded_memory_id: str
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., superseded_memory_id: _Optional[str] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetractRequest(_message.Message):
    __slots__ = ("memory_id", "etag", "end_time", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    etag: str
    end_time: _timestamp_pb2.Timestamp
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., etag: _Optional[str] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetractResponse(_message.Message):
    __slots__ = ("memory", "consistency_token", "request_id")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class UndoneMemory(_message.Message):
    __slots__ = ("memory_id", "outcome")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    outcome: UndoOutcome
    def __init__(self, memory_id: _Optional[str] = ..., outcome: _Optional[_Union[UndoOutcome, str]] = ...) -> None: ...

class UndoWriteRequest(_message.Message):
    __slots__ = ("write_request_id", "validate_only", "request_id")
    WRITE_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    write_request_id: str
    validate_only: bool
    request_id: str
    def __init__(self, write_request_id: _Optional[str] = ..., validate_only: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class UndoWriteResponse(_message.Message):
    __slots__ = ("memories", "consistency_token", "request_id")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[UndoneMemory]
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, memories: _Optional[_Iterable[_Union[UndoneMemory, _Mapping]]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...
