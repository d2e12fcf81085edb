import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import filter_pb2 as _filter_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErasureState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASURE_STATE_UNSPECIFIED: _ClassVar[ErasureState]
    ERASURE_STATE_PENDING: _ClassVar[ErasureState]
    ERASURE_STATE_COMPLETE: _ClassVar[ErasureState]
    ERASURE_STATE_PARTIAL: _ClassVar[ErasureState]

class ErasureTargetKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASURE_TARGET_KIND_UNSPECIFIED: _ClassVar[ErasureTargetKind]
    ERASURE_TARGET_KIND_MEMORIES: _ClassVar[ErasureTargetKind]
    ERASURE_TARGET_KIND_SCOPE: _ClassVar[ErasureTargetKind]
    ERASURE_TARGET_KIND_SESSION: _ClassVar[ErasureTargetKind]
    ERASURE_TARGET_KIND_FILTER: _ClassVar[ErasureTargetKind]

class ErasureReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASURE_REASON_UNSPECIFIED: _ClassVar[ErasureReason]
    ERASURE_REASON_SUBJECT_REQUEST: _ClassVar[ErasureReason]
    ERASURE_REASON_CONSENT_WITHDRAWN: _ClassVar[ErasureReason]
    ERASURE_REASON_RETENTION: _ClassVar[ErasureReason]
    ERASURE_REASON_INCORRECT: _ClassVar[ErasureReason]
    ERASURE_REASON_SECURITY: _ClassVar[ErasureReason]
    ERASURE_REASON_OTHER: _ClassVar[ErasureReason]

class KeptItem(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEPT_ITEM_UNSPECIFIED: _ClassVar[KeptItem]
    KEPT_ITEM_AUDIT_EVENTS: _ClassVar[KeptItem]
    KEPT_ITEM_TOMBSTONES: _ClassVar[KeptItem]
    KEPT_ITEM_MEMORIES: _ClassVar[KeptItem]
    KEPT_ITEM_KEYS: _ClassVar[KeptItem]
    KEPT_ITEM_BACKUPS: _ClassVar[KeptItem]

class KeptReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEPT_REASON_UNSPECIFIED: _ClassVar[KeptReason]
    KEPT_REASON_PROOF: _ClassVar[KeptReason]
    KEPT_REASON_STORE_UNAVAILABLE: _ClassVar[KeptReason]
    KEPT_REASON_KEY_IN_USE: _ClassVar[KeptReason]
    KEPT_REASON_OUT_OF_REACH: _ClassVar[KeptReason]
ERASURE_STATE_UNSPECIFIED: ErasureState
ERASURE_STATE_PENDING: ErasureState
ERASURE_STATE_COMPLETE: ErasureState
ERASURE_STATE_PARTIAL: ErasureState
ERASURE_TARGET_KIND_UNSPECIFIED: ErasureTargetKind
ERASURE_TARGET_KIND_MEMORIES: ErasureTargetKind
ERASURE_TARGET_KIND_SCOPE: ErasureTargetKind
ERASURE_TARGET_KIND_SESSION: ErasureTargetKind
ERASURE_TARGET_KIND_FILTER: ErasureTargetKind
ERASURE_REASON_UNSPECIFIED: ErasureReason
ERASURE_REASON_SUBJECT_REQUEST: ErasureReason
ERASURE_REASON_CONSENT_WITHDRAWN: ErasureReason
ERASURE_REASON_RETENTION: ErasureReason
ERASURE_REASON_INCORRECT: ErasureReason
ERASURE_REASON_SECURITY: ErasureReason
ERASURE_REASON_OTHER: ErasureReason
KEPT_ITEM_UNSPECIFIED: KeptItem
KEPT_ITEM_AUDIT_EVENTS: KeptItem
KEPT_ITEM_TOMBSTONES: KeptItem
KEPT_ITEM_MEMORIES: KeptItem
KEPT_ITEM_KEYS: KeptItem
KEPT_ITEM_BACKUPS: KeptItem
KEPT_REASON_UNSPECIFIED: KeptReason
KEPT_REASON_PROOF: KeptReason
KEPT_REASON_STORE_UNAVAILABLE: KeptReason
KEPT_REASON_KEY_IN_USE: KeptReason
KEPT_REASON_OUT_OF_REACH: KeptReason

class MemoriesTarget(_message.Message):
    __slots__ = ("memory_ids",)
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ScopeTarget(_message.Message):
    __slots__ = ("scope",)
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ...) -> None: ...

class SessionTarget(_message.Message):
    __slots__ = ("scope",)
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ...) -> None: ...

class FilterTarget(_message.Message):
    __slots__ = ("scope", "filter")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    filter: _filter_pb2.MemoryFilter
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., filter: _Optional[_Union[_filter_pb2.MemoryFilter, _Mapping]] = ...) -> None: ...

class ErasureTarget(_message.Message):
    __slots__ = ("memories", "scope", "session", "filter")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    memories: MemoriesTarget
    scope: ScopeTarget
    session: SessionTarget
    filter: FilterTarget
    def __init__(self, memories: _Optional[_Union[MemoriesTarget, _Mapping]] = ..., scope: _Optional[_Union[ScopeTarget, _Mapping]] = ..., session: _Optional[_Union[SessionTarget, _Mapping]] = ..., filter: _Optional[_Union[FilterTarget, _Mapping]] = ...) -> None: ...

class ErasureCounts(_message.Message):
    __slots__ = ("memories", "revisions", "embeddings", "postings", "idempotency_records", "queued_jobs", "derived_rows")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    POSTINGS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_RECORDS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_JOBS_FIELD_NUMBER: _ClassVar[int]
    DERIVED_ROWS_FIELD_NUMBER: _ClassVar[int]
    memories: int
    revisions: int
    embeddings: int
    postings: int
    idempotency_records: int
    queued_jobs: int
    derived_rows: int
    def __init__(self, memories: _Optional[int] = ..., revisions: _Optional[int] = ..., embeddings: _Optional[int] = ..., postings: _Optional[int] = ..., idempotency_records: _Optional[int] = ..., queued_jobs: _Optional[int] = ..., derived_rows: _Optional[int] = ...) -> None: ...

class ErasureKept(_message.Message):
    __slots__ = ("item", "count", "reason")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    item: KeptItem
    count: int
    reason: KeptReason
    def __init__(self, item: _Optional[_Union[KeptItem, str]] = ..., count: _Optional[int] = ..., reason: _Optional[_Union[KeptReason, str]] = ...) -> None: ...

class ErasureReceipt(_message.Message):
    __slots__ = ("erasure_id", "state", "target_kind", "reason", "reason_code", "validate_only", "counts", "kept", "keys_destroyed", "create_time", "complete_time", "sample_memory_ids", "event_id", "signature", "signing_key_id", "signed_bytes")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TARGET_KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    KEYS_DESTROYED_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_TIME_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNED_BYTES_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    state: ErasureState
    target_kind: ErasureTargetKind
    reason: ErasureReason
    reason_code: str
    validate_only: bool
    counts: ErasureCounts
    kept: _containers.RepeatedCompositeFieldContainer[ErasureKept]
    keys_destroyed: int
    create_time: _timestamp_pb2.Timestamp
    complete_time: _timestamp_pb2.Timestamp
    sample_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    event_id: str
    signature: bytes
    signing_key_id: str
    signed_bytes: bytes
    def __init__(self, erasure_id: _Optional[str] = ..., state: _Optional[_Union[ErasureState, str]] = ..., target_kind: _Optional[_Union[ErasureTargetKind, str]] = ..., reason: _Optional[_Union[ErasureReason, str]] = ..., reason_code: _Optional[str] = ..., validate_only: bool = ..., counts: _Optional[_Union[ErasureCounts, _Mapping]] = ..., kept: _Optional[_Iterable[_Union[ErasureKept, _Mapping]]] = ..., keys_destroyed: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., complete_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sample_memory_ids: _Optional[_Iterable[str]] = ..., event_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., signing_key_id: _Optional[str] = ..., signed_bytes: _Optional[bytes] = ...) -> None: ...
