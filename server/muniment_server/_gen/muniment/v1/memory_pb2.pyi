import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_KIND_UNSPECIFIED: _ClassVar[MemoryKind]
    MEMORY_KIND_PREFERENCE: _ClassVar[MemoryKind]
    MEMORY_KIND_FACT: _ClassVar[MemoryKind]
    MEMORY_KIND_EVENT: _ClassVar[MemoryKind]
    MEMORY_KIND_DECISION: _ClassVar[MemoryKind]
    MEMORY_KIND_RULE: _ClassVar[MemoryKind]
    MEMORY_KIND_SUMMARY: _ClassVar[MemoryKind]
    MEMORY_KIND_TURN: _ClassVar[MemoryKind]

class MemoryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATE_UNSPECIFIED: _ClassVar[MemoryState]
    MEMORY_STATE_PENDING: _ClassVar[MemoryState]
    MEMORY_STATE_ACTIVE: _ClassVar[MemoryState]
    MEMORY_STATE_SUPERSEDED: _ClassVar[MemoryState]
    MEMORY_STATE_ARCHIVED: _ClassVar[MemoryState]
    MEMORY_STATE_QUARANTINED: _ClassVar[MemoryState]
    MEMORY_STATE_ERASED: _ClassVar[MemoryState]

class SourceType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_TYPE_UNSPECIFIED: _ClassVar[SourceType]
    SOURCE_TYPE_USER_STATED: _ClassVar[SourceType]
    SOURCE_TYPE_USER_CONFIRMED: _ClassVar[SourceType]
    SOURCE_TYPE_AGENT_INFERRED: _ClassVar[SourceType]
    SOURCE_TYPE_TOOL: _ClassVar[SourceType]
    SOURCE_TYPE_THIRD_PARTY: _ClassVar[SourceType]

class TrustLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUST_LEVEL_UNSPECIFIED: _ClassVar[TrustLevel]
    TRUST_LEVEL_UNTRUSTED: _ClassVar[TrustLevel]
    TRUST_LEVEL_LOW: _ClassVar[TrustLevel]
    TRUST_LEVEL_MEDIUM: _ClassVar[TrustLevel]
    TRUST_LEVEL_HIGH: _ClassVar[TrustLevel]
    TRUST_LEVEL_CONFIRMED: _ClassVar[TrustLevel]

class MemoryView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_VIEW_UNSPECIFIED: _ClassVar[MemoryView]
    MEMORY_VIEW_BASIC: _ClassVar[MemoryView]
    MEMORY_VIEW_FULL: _ClassVar[MemoryView]

class EmbeddingState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EMBEDDING_STATE_UNSPECIFIED: _ClassVar[EmbeddingState]
    EMBEDDING_STATE_READY: _ClassVar[EmbeddingState]
    EMBEDDING_STATE_PENDING: _ClassVar[EmbeddingState]
    EMBEDDING_STATE_NOT_COVERED: _ClassVar[EmbeddingState]
    EMBEDDING_STATE_PARTIAL: _ClassVar[EmbeddingState]
MEMORY_KIND_UNSPECIFIED: MemoryKind
MEMORY_KIND_PREFERENCE: MemoryKind
MEMORY_KIND_FACT: MemoryKind
MEMORY_KIND_EVENT: MemoryKind
MEMORY_KIND_DECISION: MemoryKind
MEMORY_KIND_RULE: MemoryKind
MEMORY_KIND_SUMMARY: MemoryKind
MEMORY_KIND_TURN: MemoryKind
MEMORY_STATE_UNSPECIFIED: MemoryState
MEMORY_STATE_PENDING: MemoryState
MEMORY_STATE_ACTIVE: MemoryState
MEMORY_STATE_SUPERSEDED: MemoryState
MEMORY_STATE_ARCHIVED: MemoryState
MEMORY_STATE_QUARANTINED: MemoryState
MEMORY_STATE_ERASED: MemoryState
SOURCE_TYPE_UNSPECIFIED: SourceType
SOURCE_TYPE_USER_STATED: SourceType
SOURCE_TYPE_USER_CONFIRMED: SourceType
SOURCE_TYPE_AGENT_INFERRED: SourceType
SOURCE_TYPE_TOOL: SourceType
SOURCE_TYPE_THIRD_PARTY: SourceType
TRUST_LEVEL_UNSPECIFIED: TrustLevel
TRUST_LEVEL_UNTRUSTED: TrustLevel
TRUST_LEVEL_LOW: TrustLevel
TRUST_LEVEL_MEDIUM: TrustLevel
TRUST_LEVEL_HIGH: TrustLevel
TRUST_LEVEL_CONFIRMED: TrustLevel
MEMORY_VIEW_UNSPECIFIED: MemoryView
MEMORY_VIEW_BASIC: MemoryView
MEMORY_VIEW_FULL: MemoryView
EMBEDDING_STATE_UNSPECIFIED: EmbeddingState
EMBEDDING_STATE_READY: EmbeddingState
EMBEDDING_STATE_PENDING: EmbeddingState
EMBEDDING_STATE_NOT_COVERED: EmbeddingState
EMBEDDING_STATE_PARTIAL: EmbeddingState

class Scope(_message.Message):
    __slots__ = ("subject", "space", "agent", "session")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    subject: str
    space: str
    agent: str
    session: str
    def __init__(self, subject: _Optional[str] = ..., space: _Optional[str] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class Provenance(_message.Message):
    __slots__ = ("source_type", "source_ref", "session", "author", "agent", "confidence", "trust")
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REF_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    source_type: SourceType
    source_ref: str
    session: str
    author: str
    agent: str
    confidence: float
    trust: TrustLevel
    def __init__(self, source_type: _Optional[_Union[SourceType, str]] = ..., source_ref: _Optional[str] = ..., session: _Optional[str] = ..., author: _Optional[str] = ..., agent: _Optional[str] = ..., confidence: _Optional[float] = ..., trust: _Optional[_Union[TrustLevel, str]] = ...) -> None: ...

class Validity(_message.Message):
    __slots__ = ("start_time", "end_time")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PropertyValue(_message.Message):
    __slots__ = ("string_value", "number_value", "bool_value")
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_VALUE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    string_value: str
    number_value: float
    bool_value: bool
    def __init__(self, string_value: _Optional[str] = ..., number_value: _Optional[float] = ..., bool_value: bool = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("model", "vector")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    model: str
    vector: bytes
    def __init__(self, model: _Optional[str] = ..., vector: _Optional[bytes] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("memory_id", "revision", "etag", "state", "scope", "kind", "slot", "content", "tags", "properties", "attributes", "speaker", "turn_number", "provenance", "validity", "marks", "create_time", "update_time", "expire_time", "erase_time", "supersedes", "superseded_by", "reinforcement_count", "reinforce_time", "embedding_state")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: PropertyValue
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[PropertyValue, _Mapping]] = ...) -> None: ...
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    TURN_NUMBER_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    VALIDITY_FIELD_NUMBER: _ClassVar[int]
    MARKS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    ERASE_TIME_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    REINFORCEMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    REINFORCE_TIME_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_STATE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    etag: str
    state: MemoryState
    scope: Scope
    kind: MemoryKind
    slot: str
    content: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    properties: _containers.MessageMap[str, PropertyValue]
    attributes: _struct_pb2.Struct
    speaker: str
    turn_number: int
    provenance: Provenance
    validity: Validity
    marks: _containers.RepeatedScalarFieldContainer[str]
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    erase_time: _timestamp_pb2.Timestamp
    supersedes: str
    superseded_by: str
    reinforcement_count: int
    reinforce_time: _timestamp_pb2.Timestamp
    embedding_state: EmbeddingState
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., etag: _Optional[str] = ..., state: _Optional[_Union[MemoryState, str]] = ..., scope: _Optional[_Union[Scope, _Mapping]] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., slot: _Optional[str] = ..., content: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., properties: _Optional[_Mapping[str, PropertyValue]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., speaker: _Optional[str] = ..., turn_number: _Optional[int] = ..., provenance: _Optional[_Union[Provenance, _Mapping]] = ..., validity: _Optional[_Union[Validity, _Mapping]] = ..., marks: _Optional[_Iterable[str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., erase_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., supersedes: _Optional[str] = ..., superseded_by: _Optional[str] = ..., reinforcement_count: _Optional[int] = ..., reinforce_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., embedding_state: _Optional[_Union[EmbeddingState, str]] = ...) -> None: ...

class MemoryRevision(_message.Message):
    __slots__ = ("memory", "replace_time")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REPLACE_TIME_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    replace_time: _timestamp_pb2.Timestamp
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., replace_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
