import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import audit_pb2 as _audit_pb2
from muniment_server._gen.muniment.v1 import consistency_pb2 as _consistency_pb2
from muniment_server._gen.muniment.v1 import correction_pb2 as _correction_pb2
from muniment_server._gen.muniment.v1 import erasure_pb2 as _erasure_pb2
from muniment_server._gen.muniment.v1 import filter_pb2 as _filter_pb2
from muniment_server._gen.muniment.v1 import ingest_pb2 as _ingest_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from muniment_server._gen.muniment.v1 import recall_pb2 as _recall_pb2
from muniment_server._gen.muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WriteRequest(_message.Message):
    __slots__ = ("scope", "items", "request_id")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    items: _containers.RepeatedCompositeFieldContainer[_write_pb2.WriteItem]
    request_id: str
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., items: _Optional[_Iterable[_Union[_write_pb2.WriteItem, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ("results", "consistency_token", "request_id")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_write_pb2.WriteResult]
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, results: _Optional[_Iterable[_Union[_write_pb2.WriteResult, _Mapping]]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("scope", "query", "query_embedding", "filter", "limit", "min_score", "token_budget", "legs", "view", "consistency", "explain", "near_miss_limit", "as_of_time", "reference_time", "time_zone", "fusion")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    QUERY_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    LEGS_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    NEAR_MISS_LIMIT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_TIME_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_TIME_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    query: str
    query_embedding: _memory_pb2.Embedding
    filter: _filter_pb2.MemoryFilter
    limit: int
    min_score: float
    token_budget: int
    legs: _containers.RepeatedScalarFieldContainer[_recall_pb2.RetrievalLeg]
    view: _memory_pb2.MemoryView
    consistency: _consistency_pb2.Consistency
    explain: bool
    near_miss_limit: int
    as_of_time: _timestamp_pb2.Timestamp
    reference_time: _timestamp_pb2.Timestamp
    time_zone: str
    fusion: _recall_pb2.Fusion
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., query: _Optional[str] = ..., query_embedding: _Optional[_Union[_memory_pb2.Embedding, _Mapping]] = ..., filter: _Optional[_Union[_filter_pb2.MemoryFilter, _Mapping]] = ..., limit: _Optional[int] = ..., min_score: _Optional[float] = ..., token_budget: _Optional[int] = ..., legs: _Optional[_Iterable[_Union[_recall_pb2.RetrievalLeg, str]]] = ..., view: _Optional[_Union[_memory_pb2.MemoryView, str]] = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, _Mapping]] = ..., explain: bool = ..., near_miss_limit: _Optional[int] = ..., as_of_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reference_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_zone: _Optional[str] = ..., fusion: _Optional[_Union[_recall_pb2.Fusion, str]] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("memories", "recall_id", "packed_context", "no_relevant_memory", "left_out", "degraded", "seal_broken_memory_ids", "applied_min_score", "applied_limit", "near_misses", "left_out_incomplete", "score_basis", "consistency_token", "trace_id", "read_time")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    PACKED_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NO_RELEVANT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    APPLIED_MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    APPLIED_LIMIT_FIELD_NUMBER: _ClassVar[int]
    NEAR_MISSES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_INCOMPLETE_FIELD_NUMBER: _ClassVar[int]
    SCORE_BASIS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    READ_TIME_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_recall_pb2.RankedMemory]
    recall_id: str
    packed_context: _recall_pb2.PackedContext
    no_relevant_memory: bool
    left_out: _containers.RepeatedCompositeFieldContainer[_recall_pb2.LeftOut]
    degraded: _containers.RepeatedCompositeFieldContainer[_recall_pb2.Degradation]
    seal_broken_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    applied_min_score: float
    applied_limit: int
    near_misses: _containers.RepeatedCompositeFieldContainer[_recall_pb2.NearMiss]
    left_out_incomplete: bool
    score_basis: _recall_pb2.ScoreBasis
    consistency_token: _consistency_pb2.ConsistencyToken
    trace_id: str
    read_time: _timestamp_pb2.Timestamp
    def __init__(self, memories: _Optional[_Iterable[_Union[_recall_pb2.RankedMemory, _Mapping]]] = ..., recall_id: _Optional[str] = ..., packed_context: _Optional[_Union[_recall_pb2.PackedContext, _Mapping]] = ..., no_relevant_memory: bool = ..., left_out: _Optional[_Iterable[_Union[_recall_pb2.LeftOut, _Mapping]]] = ..., degraded: _Optional[_Iterable[_Union[_recall_pb2.Degradation, _Mapping]]] = ..., seal_broken_memory_ids: _Optional[_Iterable[str]] = ..., applied_min_score: _Optional[float] = ..., applied_limit: _Optional[int] = ..., near_misses: _Optional[_Iterable[_Union[_recall_pb2.NearMiss, _Mapping]]] = ..., left_out_incomplete: bool = ..., score_basis: _Optional[_Union[_recall_pb2.ScoreBasis, _Mapping]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., trace_id: _Optional[str] = ..., read_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SupersedeRequest(_message.Message):
    __slots__ = ("memory_id", "etag", "item", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    etag: str
    item: _write_pb2.WriteItem
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., etag: _Optional[str] = ..., item: _Optional[_Union[_write_pb2.WriteItem, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class SupersedeResponse(_message.Message):
    __slots__ = ("superseded", "memory", "outcome", "consistency_token", "embedding_state", "possible_conflicts", "rule", "explanation", "request_id", "findings", "importance_factors")
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_STATE_FIELD_NUMBER: _ClassVar[int]
    POSSIBLE_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FACTORS_FIELD_NUMBER: _ClassVar[int]
    superseded: _memory_pb2.Memory
    memory: _memory_pb2.Memory
    outcome: _write_pb2.WriteOutcome
    consistency_token: _consistency_pb2.ConsistencyToken
    embedding_state: _memory_pb2.EmbeddingState
    possible_conflicts: _containers.RepeatedCompositeFieldContainer[_write_pb2.PossibleConflict]
    rule: str
    explanation: str
    request_id: str
    findings: _containers.RepeatedCompositeFieldContainer[_write_pb2.GateFinding]
    importance_factors: _containers.RepeatedCompositeFieldContainer[_write_pb2.ScoreFactor]
    def __init__(self, superseded: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., outcome: _Optional[_Union[_write_pb2.WriteOutcome, str]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., embedding_state: _Optional[_Union[_memory_pb2.EmbeddingState, str]] = ..., possible_conflicts: _Optional[_Iterable[_Union[_write_pb2.PossibleConflict, _Mapping]]] = ..., rule: _Optional[str] = ..., explanation: _Optional[str] = ..., request_id: _Optional[str] = ..., findings: _Optional[_Iterable[_Union[_write_pb2.GateFinding, _Mapping]]] = ..., importance_factors: _Optional[_Iterable[_Union[_write_pb2.ScoreFactor, _Mapping]]] = ...) -> None: ...

class EraseRequest(_message.Message):
    __slots__ = ("target", "validate_only", "reason", "reason_code", "request_id")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    target: _erasure_pb2.ErasureTarget
    validate_only: bool
    reason: _erasure_pb2.ErasureReason
    reason_code: str
    request_id: str
    def __init__(self, target: _Optional[_Union[_erasure_pb2.ErasureTarget, _Mapping]] = ..., validate_only: bool = ..., reason: _Optional[_Union[_erasure_pb2.ErasureReason, str]] = ..., reason_code: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("receipt", "consistency_token", "request_id")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    receipt: _erasure_pb2.ErasureReceipt
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, receipt: _Optional[_Union[_erasure_pb2.ErasureReceipt, _Mapping]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetErasureRequest(_message.Message):
    __slots__ = ("erasure_id",)
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    def __init__(self, erasure_id: _Optional[str] = ...) -> None: ...

class GetErasureResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: _erasure_pb2.ErasureReceipt
    def __init__(self, receipt: _Optional[_Union[_erasure_pb2.ErasureReceipt, _Mapping]] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("memory_id", "view", "include_revisions", "before_revision", "consistency")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_REVISION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    view: _memory_pb2.MemoryView
    include_revisions: bool
    before_revision: int
    consistency: _consistency_pb2.Consistency
    def __init__(self, memory_id: _Optional[str] = ..., view: _Optional[_Union[_memory_pb2.MemoryView, str]] = ..., include_revisions: bool = ..., before_revision: _Optional[int] = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, _Mapping]] = ...) -> None: ...

class GetMemoryResponse(_message.Message):
    __slots__ = ("memory", "revisions", "older_revision_count", "seal_broken_revisions", "consistency_token")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    OLDER_REVISION_COUNT_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    revisions: _containers.RepeatedCompositeFieldContainer[_memory_pb2.MemoryRevision]
    older_revision_count: int
    seal_broken_revisions: _containers.RepeatedScalarFieldContainer[int]
    consistency_token: _consistency_pb2.ConsistencyToken
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., revisions: _Optional[_Iterable[_Union[_memory_pb2.MemoryRevision, _Mapping]]] = ..., older_revision_count: _Optional[int] = ..., seal_broken_revisions: _Optional[_Iterable[int]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("scope", "filter", "page_size", "page_token", "view", "include_narrowed", "consistency")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_NARROWED_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    filter: _filter_pb2.MemoryFilter
    page_size: int
    page_token: str
    view: _memory_pb2.MemoryView
    include_narrowed: bool
    consistency: _consistency_pb2.Consistency
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., filter: _Optional[_Union[_filter_pb2.MemoryFilter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., view: _Optional[_Union[_memory_pb2.MemoryView, str]] = ..., include_narrowed: bool = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, _Mapping]] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token", "seal_broken_memory_ids", "consistency_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    next_page_token: str
    seal_broken_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    consistency_token: _consistency_pb2.ConsistencyToken
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., seal_broken_memory_ids: _Optional[_Iterable[str]] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class ReportUseRequest(_message.Message):
    __slots__ = ("recall_id", "memory_ids", "outcome", "model", "prompt_ref", "request_id")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_REF_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    outcome: _audit_pb2.UseOutcome
    model: str
    prompt_ref: str
    request_id: str
    def __init__(self, recall_id: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Union[_audit_pb2.UseOutcome, str]] = ..., model: _Optional[str] = ..., prompt_ref: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ReportUseResponse(_message.Message):
    __slots__ = ("event_id", "consistency_token", "request_id")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    consistency_token: _consistency_pb2.ConsistencyToken
    request_id: str
    def __init__(self, event_id: _Optional[str] = ..., consistency_token: _Optional[_Union[_consistency_pb2.ConsistencyToken, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class AuditRequest(_message.Message):
    __slots__ = ("filter", "page_size", "page_token")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: _audit_pb2.AuditFilter
    page_size: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[_audit_pb2.AuditFilter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class AuditResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_audit_pb2.AuditEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_audit_pb2.AuditEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
