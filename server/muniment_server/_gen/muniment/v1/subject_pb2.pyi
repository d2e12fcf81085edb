import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import consistency_pb2 as _consistency_pb2
from muniment_server._gen.muniment.v1 import erasure_pb2 as _erasure_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from muniment_server._gen.muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConsentLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONSENT_LEVEL_UNSPECIFIED: _ClassVar[ConsentLevel]
    CONSENT_LEVEL_ALL: _ClassVar[ConsentLevel]
    CONSENT_LEVEL_NECESSARY: _ClassVar[ConsentLevel]
    CONSENT_LEVEL_NONE: _ClassVar[ConsentLevel]
CONSENT_LEVEL_UNSPECIFIED: ConsentLevel
CONSENT_LEVEL_ALL: ConsentLevel
CONSENT_LEVEL_NECESSARY: ConsentLevel
CONSENT_LEVEL_NONE: ConsentLevel

class Consent(_message.Message):
    __slots__ = ("level", "necessary_kinds", "forgotten_sessions", "update_time")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    NECESSARY_KINDS_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    level: ConsentLevel
    necessary_kinds: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryKind]
    forgotten_sessions: _containers.RepeatedScalarFieldContainer[str]
    update_time: _timestamp_pb2.Timestamp
    def __init__(self, level: _Optional[_Union[ConsentLevel, str]] = ..., necessary_kinds: _Optional[_Iterable[_Union[_memory_pb2.MemoryKind, str]]] = ..., forgotten_sessions: _Optional[_Iterable[str]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SetConsentRequest(_message.Message):
    __slots__ = ("scope", "level", "necessary_kinds", "forget_session", "erase", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    NECESSARY_KINDS_FIELD_NUMBER: _ClassVar[int]
    FORGET_SESSION_FIELD_NUMBER: _ClassVar[int]
    ERASE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    level: ConsentLevel
    necessary_kinds: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryKind]
    forget_session: str
    erase: bool
    request_id: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., level: _Optional[_Union[ConsentLevel, str]] = ..., necessary_kinds: _Optional[_Iterable[_Union[_memory_pb2.MemoryKind, str]]] = ..., forget_session: _Optional[str] = ..., erase: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class SetConsentResponse(_message.Message):
    __slots__ = ("consent", "erasure", "consistency_token", "request_id")
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    consent: Consent
    erasure: _erasure_pb2.ErasureReceipt
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, consent: _Optional[_Union[Consent, _Mapping]] = ..., erasure: _Optional[_Union[_erasure_pb2.ErasureReceipt, _Mapping]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetConsentRequest(_message.Message):
    __slots__ = ("scope",)
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ...) -> None: ...

class GetConsentResponse(_message.Message):
    __slots__ = ("consent",)
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    consent: Consent
    def __init__(self, consent: _Optional[_Union[Consent, _Mapping]] = ...) -> None: ...

class DescribeSubjectRequest(_message.Message):
    __slots__ = ("scope", "language")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    language: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., language: _Optional[str] = ...) -> None: ...

class SubjectHolding(_message.Message):
    __slots__ = ("kind", "source_type", "count", "oldest_time", "newest_time", "expiring_count", "last_expire_time", "sentence")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OLDEST_TIME_FIELD_NUMBER: _ClassVar[int]
    NEWEST_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRING_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    kind: _memory_pb2.MemoryKind
    source_type: _memory_pb2.SourceType
    count: int
    oldest_time: _timestamp_pb2.Timestamp
    newest_time: _timestamp_pb2.Timestamp
    expiring_count: int
    last_expire_time: _timestamp_pb2.Timestamp
    sentence: str
    def __init__(self, kind: _Optional[_Union[_memory_pb2.MemoryKind, str]] = ..., source_type: _Optional[_Union[_memory_pb2.SourceType, str]] = ..., count: _Optional[int] = ..., oldest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., newest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expiring_count: _Optional[int] = ..., last_expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sentence: _Optional[str] = ...) -> None: ...

class DescribeSubjectResponse(_message.Message):
    __slots__ = ("holdings", "consent", "summary", "language")
    HOLDINGS_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    holdings: _containers.RepeatedCompositeFieldContainer[SubjectHolding]
    consent: Consent
    summary: str
    language: str
    def __init__(self, holdings: _Optional[_Iterable[_Union[SubjectHolding, _Mapping]]] = ..., consent: _Optional[_Union[Consent, _Mapping]] = ..., summary: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class MemoryRecord(_message.Message):
    __slots__ = ("memory_id", "item", "state", "create_time", "agent", "session")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    item: _write_pb2.WriteItem
    state: _memory_pb2.MemoryState
    create_time: _timestamp_pb2.Timestamp
    agent: str
    session: str
    def __init__(self, memory_id: _Optional[str] = ..., item: _Optional[_Union[_write_pb2.WriteItem, _Mapping]] = ..., state: _Optional[_Union[_memory_pb2.MemoryState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ...) -> None: ...

class ExportMemoriesRequest(_message.Message):
    __slots__ = ("scope", "states")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    states: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryState]
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., states: _Optional[_Iterable[_Union[_memory_pb2.MemoryState, str]]] = ...) -> None: ...

class ExportMemoriesResponse(_message.Message):
    __slots__ = ("records", "seal_broken_memory_ids", "record_count")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[MemoryRecord]
    seal_broken_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    record_count: int
    def __init__(self, records: _Optional[_Iterable[_Union[MemoryRecord, _Mapping]]] = ..., seal_broken_memory_ids: _Optional[_Iterable[str]] = ..., record_count: _Optional[int] = ...) -> None: ...

class ImportMemoriesRequest(_message.Message):
    __slots__ = ("scope", "records", "validate_only", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    records: _containers.RepeatedCompositeFieldContainer[MemoryRecord]
    validate_only: bool
    request_id: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., records: _Optional[_Iterable[_Union[MemoryRecord, _Mapping]]] = ..., validate_only: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class ImportMemoriesResponse(_message.Message):
    __slots__ = ("results", "consistency_token", "request_id")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_write_pb2.WriteResult]
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, results: _Optional[_Iterable[_Union[_write_pb2.WriteResult, _Mapping]]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...
