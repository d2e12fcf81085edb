import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment.v1 import consistency_pb2 as _consistency_pb2
from muniment.v1 import memory_pb2 as _memory_pb2
from muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TurnRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_ROLE_UNSPECIFIED: _ClassVar[TurnRole]
    TURN_ROLE_USER: _ClassVar[TurnRole]
    TURN_ROLE_AGENT: _ClassVar[TurnRole]
    TURN_ROLE_TOOL: _ClassVar[TurnRole]
    TURN_ROLE_OTHER: _ClassVar[TurnRole]

class ExtractionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXTRACTION_MODE_UNSPECIFIED: _ClassVar[ExtractionMode]
    EXTRACTION_MODE_SYNC: _ClassVar[ExtractionMode]
    EXTRACTION_MODE_QUEUED: _ClassVar[ExtractionMode]
    EXTRACTION_MODE_NONE: _ClassVar[ExtractionMode]

class Extractor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXTRACTOR_UNSPECIFIED: _ClassVar[Extractor]
    EXTRACTOR_RULES: _ClassVar[Extractor]
    EXTRACTOR_LLM: _ClassVar[Extractor]
    EXTRACTOR_HYBRID: _ClassVar[Extractor]

class IngestState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INGEST_STATE_UNSPECIFIED: _ClassVar[IngestState]
    INGEST_STATE_QUEUED: _ClassVar[IngestState]
    INGEST_STATE_RUNNING: _ClassVar[IngestState]
    INGEST_STATE_DONE: _ClassVar[IngestState]
    INGEST_STATE_FAILED: _ClassVar[IngestState]
    INGEST_STATE_STORED: _ClassVar[IngestState]
    INGEST_STATE_REFUSED: _ClassVar[IngestState]

class ExtractionFallback(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXTRACTION_FALLBACK_UNSPECIFIED: _ClassVar[ExtractionFallback]
    EXTRACTION_FALLBACK_LLM_UNAVAILABLE: _ClassVar[ExtractionFallback]
    EXTRACTION_FALLBACK_LLM_TIMEOUT: _ClassVar[ExtractionFallback]
    EXTRACTION_FALLBACK_LLM_INVALID_ANSWER: _ClassVar[ExtractionFallback]
TURN_ROLE_UNSPECIFIED: TurnRole
TURN_ROLE_USER: TurnRole
TURN_ROLE_AGENT: TurnRole
TURN_ROLE_TOOL: TurnRole
TURN_ROLE_OTHER: TurnRole
EXTRACTION_MODE_UNSPECIFIED: ExtractionMode
EXTRACTION_MODE_SYNC: ExtractionMode
EXTRACTION_MODE_QUEUED: ExtractionMode
EXTRACTION_MODE_NONE: ExtractionMode
EXTRACTOR_UNSPECIFIED: Extractor
EXTRACTOR_RULES: Extractor
EXTRACTOR_LLM: Extractor
EXTRACTOR_HYBRID: Extractor
INGEST_STATE_UNSPECIFIED: IngestState
INGEST_STATE_QUEUED: IngestState
INGEST_STATE_RUNNING: IngestState
INGEST_STATE_DONE: IngestState
INGEST_STATE_FAILED: IngestState
INGEST_STATE_STORED: IngestState
INGEST_STATE_REFUSED: IngestState
EXTRACTION_FALLBACK_UNSPECIFIED: ExtractionFallback
EXTRACTION_FALLBACK_LLM_UNAVAILABLE: ExtractionFallback
EXTRACTION_FALLBACK_LLM_TIMEOUT: ExtractionFallback
EXTRACTION_FALLBACK_LLM_INVALID_ANSWER: ExtractionFallback

class IngestTurn(_message.Message):
    __slots__ = ("number", "role", "speaker", "content", "time")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    number: int
    role: TurnRole
    speaker: str
    content: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, number: _Optional[int] = ..., role: _Optional[_Union[TurnRole, str]] = ..., speaker: _Optional[str] = ..., content: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class IngestedTurn(_message.Message):
    __slots__ = ("number", "memory_id", "already_known", "outcome")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ALREADY_KNOWN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    number: int
    memory_id: str
    already_known: bool
    outcome: _write_pb2.WriteOutcome
    def __init__(self, number: _Optional[int] = ..., memory_id: _Optional[str] = ..., already_known: bool = ..., outcome: _Optional[_Union[_write_pb2.WriteOutcome, str]] = ...) -> None: ...

class ExtractedMemory(_message.Message):
    __slots__ = ("result", "turn_numbers", "extracted_by")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    TURN_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_BY_FIELD_NUMBER: _ClassVar[int]
    result: _write_pb2.WriteResult
    turn_numbers: _containers.RepeatedScalarFieldContainer[int]
    extracted_by: str
    def __init__(self, result: _Optional[_Union[_write_pb2.WriteResult, _Mapping]] = ..., turn_numbers: _Optional[_Iterable[int]] = ..., extracted_by: _Optional[str] = ...) -> None: ...

class IngestRequest(_message.Message):
    __slots__ = ("scope", "turns", "mode", "extractor", "end_session", "turn_ttl", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    END_SESSION_FIELD_NUMBER: _ClassVar[int]
    TURN_TTL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    turns: _containers.RepeatedCompositeFieldContainer[IngestTurn]
    mode: ExtractionMode
    extractor: Extractor
    end_session: bool
    turn_ttl: _duration_pb2.Duration
    request_id: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[IngestTurn, _Mapping]]] = ..., mode: _Optional[_Union[ExtractionMode, str]] = ..., extractor: _Optional[_Union[Extractor, str]] = ..., end_session: bool = ..., turn_ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class IngestResponse(_message.Message):
    __slots__ = ("ingest_id", "state", "turns", "extracted", "fallback", "consistency_token", "request_id")
    INGEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ingest_id: str
    state: IngestState
    turns: _containers.RepeatedCompositeFieldContainer[IngestedTurn]
    extracted: _containers.RepeatedCompositeFieldContainer[ExtractedMemory]
    fallback: ExtractionFallback
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, ingest_id: _Optional[str] = ..., state: _Optional[_Union[IngestState, str]] = ..., turns: _Optional[_Iterable[_Union[IngestedTurn, _Mapping]]] = ..., extracted: _Optional[_Iterable[_Union[ExtractedMemory, _Mapping]]] = ..., fallback: _Optional[_Union[ExtractionFallback, str]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class StreamIngestRequest(_message.Message):
    __slots__ = ("scope", "turns", "mode", "extractor", "end_session", "turn_ttl", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    END_SESSION_FIELD_NUMBER: _ClassVar[int]
    TURN_TTL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    turns: _containers.RepeatedCompositeFieldContainer[IngestTurn]
    mode: ExtractionMode
    extractor: Extractor
    end_session: bool
    turn_ttl: _duration_pb2.Duration
    request_id: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[IngestTurn, _Mapping]]] = ..., mode: _Optional[_Union[ExtractionMode, str]] = ..., extractor: _Optional[_Union[Extractor, str]] = ..., end_session: bool = ..., turn_ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class StreamIngestResponse(_message.Message):
    __slots__ = ("ingest_id", "state", "turns", "extracted", "fallback", "consistency_token", "request_id")
    INGEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ingest_id: str
    state: IngestState
    turns: _containers.RepeatedCompositeFieldContainer[IngestedTurn]
    extracted: _containers.RepeatedCompositeFieldContainer[ExtractedMemory]
    fallback: ExtractionFallback
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, ingest_id: _Optional[str] = ..., state: _Optional[_Union[IngestState, str]] = ..., turns: _Optional[_Iterable[_Union[IngestedTurn, _Mapping]]] = ..., extracted: _Optional[_Iterable[_Union[ExtractedMemory, _Mapping]]] = ..., fallback: _Optional[_Union[ExtractionFallback, str]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetIngestRequest(_message.Message):
    __slots__ = ("ingest_id",)
    INGEST_ID_FIELD_NUMBER: _ClassVar[int]
    ingest_id: str
    def __init__(self, ingest_id: _Optional[str] = ...) -> None: ...

class GetIngestResponse(_message.Message):
    __slots__ = ("ingest_id", "state", "extracted", "fallback", "attempts", "create_time", "end_time")
    INGEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    ingest_id: str
    state: IngestState
    extracted: _containers.RepeatedCompositeFieldContainer[ExtractedMemory]
    fallback: ExtractionFallback
    attempts: int
    create_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, ingest_id: _Optional[str] = ..., state: _Optional[_Union[IngestState, str]] = ..., extracted: _Optional[_Iterable[_Union[ExtractedMemory, _Mapping]]] = ..., fallback: _Optional[_Union[ExtractionFallback, str]] = ..., attempts: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
