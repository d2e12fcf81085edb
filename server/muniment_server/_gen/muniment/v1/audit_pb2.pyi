import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import erasure_pb2 as _erasure_pb2
from muniment_server._gen.muniment.v1 import error_reason_pb2 as _error_reason_pb2
from muniment_server._gen.muniment.v1 import filter_pb2 as _filter_pb2
from muniment_server._gen.muniment.v1 import ingest_pb2 as _ingest_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from muniment_server._gen.muniment.v1 import recall_pb2 as _recall_pb2
from muniment_server._gen.muniment.v1 import review_pb2 as _review_pb2
from muniment_server._gen.muniment.v1 import subject_pb2 as _subject_pb2
from muniment_server._gen.muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuditAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUDIT_ACTION_UNSPECIFIED: _ClassVar[AuditAction]
    AUDIT_ACTION_WRITE: _ClassVar[AuditAction]
    AUDIT_ACTION_SUPERSEDE: _ClassVar[AuditAction]
    AUDIT_ACTION_ERASE: _ClassVar[AuditAction]
    AUDIT_ACTION_RECALL: _ClassVar[AuditAction]
    AUDIT_ACTION_REPORT_USE: _ClassVar[AuditAction]
    AUDIT_ACTION_GET_MEMORY: _ClassVar[AuditAction]
    AUDIT_ACTION_LIST_MEMORIES: _ClassVar[AuditAction]
    AUDIT_ACTION_GET_ERASURE: _ClassVar[AuditAction]
    AUDIT_ACTION_READ_AUDIT: _ClassVar[AuditAction]
    AUDIT_ACTION_INGEST: _ClassVar[AuditAction]
    AUDIT_ACTION_RESTORE_MEMORY: _ClassVar[AuditAction]
    AUDIT_ACTION_RETRACT: _ClassVar[AuditAction]
    AUDIT_ACTION_UNDO_WRITE: _ClassVar[AuditAction]
    AUDIT_ACTION_DECIDE_REVIEW: _ClassVar[AuditAction]
    AUDIT_ACTION_LIST_REVIEWS: _ClassVar[AuditAction]
    AUDIT_ACTION_SET_CONSENT: _ClassVar[AuditAction]
    AUDIT_ACTION_DESCRIBE_SUBJECT: _ClassVar[AuditAction]
    AUDIT_ACTION_EXPORT_MEMORIES: _ClassVar[AuditAction]
    AUDIT_ACTION_IMPORT_MEMORIES: _ClassVar[AuditAction]
    AUDIT_ACTION_MAINTENANCE: _ClassVar[AuditAction]
    AUDIT_ACTION_INTEGRITY_CHECK: _ClassVar[AuditAction]
    AUDIT_ACTION_RESTORE: _ClassVar[AuditAction]
    AUDIT_ACTION_ADMINISTER: _ClassVar[AuditAction]

class AuditOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUDIT_OUTCOME_UNSPECIFIED: _ClassVar[AuditOutcome]
    AUDIT_OUTCOME_OK: _ClassVar[AuditOutcome]
    AUDIT_OUTCOME_DENIED: _ClassVar[AuditOutcome]
    AUDIT_OUTCOME_FAILED: _ClassVar[AuditOutcome]

class ActorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTOR_KIND_UNSPECIFIED: _ClassVar[ActorKind]
    ACTOR_KIND_API_KEY: _ClassVar[ActorKind]
    ACTOR_KIND_JWT: _ClassVar[ActorKind]
    ACTOR_KIND_SERVICE: _ClassVar[ActorKind]
    ACTOR_KIND_OPERATOR: _ClassVar[ActorKind]

class UseOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USE_OUTCOME_UNSPECIFIED: _ClassVar[UseOutcome]
    USE_OUTCOME_HELPFUL: _ClassVar[UseOutcome]
    USE_OUTCOME_NEUTRAL: _ClassVar[UseOutcome]
    USE_OUTCOME_HARMFUL: _ClassVar[UseOutcome]

class AdministrativeAct(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADMINISTRATIVE_ACT_UNSPECIFIED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_TENANT_CREATED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_API_KEY_CREATED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_API_KEY_REVOKED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_MASTER_KEY_REWRAPPED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_MASTER_KEY_RETIRED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_SETTING_CHANGED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_VIEW_CHANGED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_STARTED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_RELEASED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_ABORTED: _ClassVar[AdministrativeAct]
    ADMINISTRATIVE_ACT_EMBEDDING_SWITCHED: _ClassVar[AdministrativeAct]
AUDIT_ACTION_UNSPECIFIED: AuditAction
AUDIT_ACTION_WRITE: AuditAction
AUDIT_ACTION_SUPERSEDE: AuditAction
AUDIT_ACTION_ERASE: AuditAction
AUDIT_ACTION_RECALL: AuditAction
AUDIT_ACTION_REPORT_USE: AuditAction
AUDIT_ACTION_GET_MEMORY: AuditAction
AUDIT_ACTION_LIST_MEMORIES: AuditAction
AUDIT_ACTION_GET_ERASURE: AuditAction
AUDIT_ACTION_READ_AUDIT: AuditAction
AUDIT_ACTION_INGEST: AuditAction
AUDIT_ACTION_RESTORE_MEMORY: AuditAction
AUDIT_ACTION_RETRACT: AuditAction
AUDIT_ACTION_UNDO_WRITE: AuditAction
AUDIT_ACTION_DECIDE_REVIEW: AuditAction
AUDIT_ACTION_LIST_REVIEWS: AuditAction
AUDIT_ACTION_SET_CONSENT: AuditAction
AUDIT_ACTION_DESCRIBE_SUBJECT: AuditAction
AUDIT_ACTION_EXPORT_MEMORIES: AuditAction
AUDIT_ACTION_IMPORT_MEMORIES: AuditAction
AUDIT_ACTION_MAINTENANCE: AuditAction
AUDIT_ACTION_INTEGRITY_CHECK: AuditAction
AUDIT_ACTION_RESTORE: AuditAction
AUDIT_ACTION_ADMINISTER: AuditAction
AUDIT_OUTCOME_UNSPECIFIED: AuditOutcome
AUDIT_OUTCOME_OK: AuditOutcome
AUDIT_OUTCOME_DENIED: AuditOutcome
AUDIT_OUTCOME_FAILED: AuditOutcome
ACTOR_KIND_UNSPECIFIED: ActorKind
ACTOR_KIND_API_KEY: ActorKind
ACTOR_KIND_JWT: ActorKind
ACTOR_KIND_SERVICE: ActorKind
ACTOR_KIND_OPERATOR: ActorKind
USE_OUTCOME_UNSPECIFIED: UseOutcome
USE_OUTCOME_HELPFUL: UseOutcome
USE_OUTCOME_NEUTRAL: UseOutcome
USE_OUTCOME_HARMFUL: UseOutcome
ADMINISTRATIVE_ACT_UNSPECIFIED: AdministrativeAct
ADMINISTRATIVE_ACT_TENANT_CREATED: AdministrativeAct
ADMINISTRATIVE_ACT_API_KEY_CREATED: AdministrativeAct
ADMINISTRATIVE_ACT_API_KEY_REVOKED: AdministrativeAct
ADMINISTRATIVE_ACT_MASTER_KEY_REWRAPPED: AdministrativeAct
ADMINISTRATIVE_ACT_MASTER_KEY_RETIRED: AdministrativeAct
ADMINISTRATIVE_ACT_SETTING_CHANGED: AdministrativeAct
ADMINISTRATIVE_ACT_VIEW_CHANGED: AdministrativeAct
ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_STARTED: AdministrativeAct
ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_RELEASED: AdministrativeAct
ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_ABORTED: AdministrativeAct
ADMINISTRATIVE_ACT_EMBEDDING_SWITCHED: AdministrativeAct

class Actor(_message.Message):
    __slots__ = ("kind", "principal", "agent", "client")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    kind: ActorKind
    principal: str
    agent: str
    client: str
    def __init__(self, kind: _Optional[_Union[ActorKind, str]] = ..., principal: _Optional[str] = ..., agent: _Optional[str] = ..., client: _Optional[str] = ...) -> None: ...

class WrittenMemory(_message.Message):
    __slots__ = ("memory_id", "revision", "outcome", "kind", "source_type", "trust", "superseded_memory_id", "rule", "findings", "importance_factors")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FACTORS_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    outcome: _write_pb2.WriteOutcome
    kind: _memory_pb2.MemoryKind
    source_type: _memory_pb2.SourceType
    trust: _memory_pb2.TrustLevel
    superseded_memory_id: str
    rule: str
    findings: _containers.RepeatedCompositeFieldContainer[_write_pb2.GateFinding]
    importance_factors: _containers.RepeatedCompositeFieldContainer[_write_pb2.ScoreFactor]
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., outcome: _Optional[_Union[_write_pb2.WriteOutcome, str]] = ..., kind: _Optional[_Union[_memory_pb2.MemoryKind, str]] = ..., source_type: _Optional[_Union[_memory_pb2.SourceType, str]] = ..., trust: _Optional[_Union[_memory_pb2.TrustLevel, str]] = ..., superseded_memory_id: _Optional[str] = ..., rule: _Optional[str] = ..., findings: _Optional[_Iterable[_Union[_write_pb2.GateFinding, _Mapping]]] = ..., importance_factors: _Optional[_Iterable[_Union[_write_pb2.ScoreFactor, _Mapping]]] = ...) -> None: ...

class MemoryWritten(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WrittenMemory]
    def __init__(self, items: _Optional[_Iterable[_Union[WrittenMemory, _Mapping]]] = ...) -> None: ...

class MemorySuperseded(_message.Message):
    __slots__ = ("memory_id", "revision", "successor")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    successor: WrittenMemory
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., successor: _Optional[_Union[WrittenMemory, _Mapping]] = ...) -> None: ...

class MemoryErased(_message.Message):
    __slots__ = ("erasure_id", "target_kind", "reason", "reason_code", "counts", "keys_destroyed", "memory_ids")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    KEYS_DESTROYED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    target_kind: _erasure_pb2.ErasureTargetKind
    reason: _erasure_pb2.ErasureReason
    reason_code: str
    counts: _erasure_pb2.ErasureCounts
    keys_destroyed: int
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, erasure_id: _Optional[str] = ..., target_kind: _Optional[_Union[_erasure_pb2.ErasureTargetKind, str]] = ..., reason: _Optional[_Union[_erasure_pb2.ErasureReason, str]] = ..., reason_code: _Optional[str] = ..., counts: _Optional[_Union[_erasure_pb2.ErasureCounts, _Mapping]] = ..., keys_destroyed: _Optional[int] = ..., memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RecalledMemory(_message.Message):
    __slots__ = ("memory_id", "revision", "rank", "score", "packed", "leg_scores", "factors", "evidence")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    LEG_SCORES_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    rank: int
    score: float
    packed: bool
    leg_scores: _containers.RepeatedCompositeFieldContainer[_recall_pb2.LegScore]
    factors: _containers.RepeatedCompositeFieldContainer[_write_pb2.ScoreFactor]
    evidence: float
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., packed: bool = ..., leg_scores: _Optional[_Iterable[_Union[_recall_pb2.LegScore, _Mapping]]] = ..., factors: _Optional[_Iterable[_Union[_write_pb2.ScoreFactor, _Mapping]]] = ..., evidence: _Optional[float] = ...) -> None: ...

class MemoriesRecalled(_message.Message):
    __slots__ = ("recall_id", "memories", "left_out", "degraded", "seal_broken_memory_ids", "no_relevant_memory", "limit", "min_score", "token_budget", "packed_tokens", "tokenizer", "embedding_model", "near_misses", "fusion", "as_of_time", "left_out_incomplete", "query_digest", "score_basis")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    NO_RELEVANT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    PACKED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    NEAR_MISSES_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    AS_OF_TIME_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_INCOMPLETE_FIELD_NUMBER: _ClassVar[int]
    QUERY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SCORE_BASIS_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    memories: _containers.RepeatedCompositeFieldContainer[RecalledMemory]
    left_out: _containers.RepeatedCompositeFieldContainer[_recall_pb2.LeftOut]
    degraded: _containers.RepeatedCompositeFieldContainer[_recall_pb2.Degradation]
    seal_broken_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    no_relevant_memory: bool
    limit: int
    min_score: float
    token_budget: int
    packed_tokens: int
    tokenizer: str
    embedding_model: str
    near_misses: _containers.RepeatedCompositeFieldContainer[_recall_pb2.NearMiss]
    fusion: _recall_pb2.Fusion
    as_of_time: _timestamp_pb2.Timestamp
    left_out_incomplete: bool
    query_digest: bytes
    score_basis: _recall_pb2.ScoreBasis
    def __init__(self, recall_id: _Optional[str] = ..., memories: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., left_out: _Optional[_Iterable[_Union[_recall_pb2.LeftOut, _Mapping]]] = ..., degraded: _Optional[_Iterable[_Union[_recall_pb2.Degradation, _Mapping]]] = ..., seal_broken_memory_ids: _Optional[_Iterable[str]] = ..., no_relevant_memory: bool = ..., limit: _Optional[int] = ..., min_score: _Optional[float] = ..., token_budget: _Optional[int] = ..., packed_tokens: _Optional[int] = ..., tokenizer: _Optional[str] = ..., embedding_model: _Optional[str] = ..., near_misses: _Optional[_Iterable[_Union[_recall_pb2.NearMiss, _Mapping]]] = ..., fusion: _Optional[_Union[_recall_pb2.Fusion, str]] = ..., as_of_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., left_out_incomplete: bool = ..., query_digest: _Optional[bytes] = ..., score_basis: _Optional[_Union[_recall_pb2.ScoreBasis, _Mapping]] = ...) -> None: ...

class MemoriesUsed(_message.Message):
    __slots__ = ("recall_id", "memory_ids", "outcome", "model", "prompt_ref")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_REF_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    outcome: UseOutcome
    model: str
    prompt_ref: str
    def __init__(self, recall_id: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Union[UseOutcome, str]] = ..., model: _Optional[str] = ..., prompt_ref: _Optional[str] = ...) -> None: ...

class MemoriesRead(_message.Message):
    __slots__ = ("memory_ids", "count")
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    count: int
    def __init__(self, memory_ids: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ...) -> None: ...

class AccessDenied(_message.Message):
    __slots__ = ("method", "permission")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    method: str
    permission: str
    def __init__(self, method: _Optional[str] = ..., permission: _Optional[str] = ...) -> None: ...

class IntegrityViolation(_message.Message):
    __slots__ = ("memory_ids", "check", "count")
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    check: str
    count: int
    def __init__(self, memory_ids: _Optional[_Iterable[str]] = ..., check: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class RestoreDeclared(_message.Message):
    __slots__ = ("anchored_sequence", "restored_sequence", "reference")
    ANCHORED_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    RESTORED_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    anchored_sequence: int
    restored_sequence: int
    reference: str
    def __init__(self, anchored_sequence: _Optional[int] = ..., restored_sequence: _Optional[int] = ..., reference: _Optional[str] = ...) -> None: ...

class Administered(_message.Message):
    __slots__ = ("act", "credential_id", "public_id", "permissions", "source_types", "max_trust", "subject_bound", "agent", "expire_time", "master_key_id", "setting", "value", "policy_revision", "policy_digest")
    ACT_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_ID_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_ID_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    MAX_TRUST_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_BOUND_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    MASTER_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    act: AdministrativeAct
    credential_id: str
    public_id: str
    permissions: _containers.RepeatedScalarFieldContainer[str]
    source_types: _containers.RepeatedScalarFieldContainer[_memory_pb2.SourceType]
    max_trust: _memory_pb2.TrustLevel
    subject_bound: bool
    agent: str
    expire_time: _timestamp_pb2.Timestamp
    master_key_id: str
    setting: str
    value: str
    policy_revision: int
    policy_digest: bytes
    def __init__(self, act: _Optional[_Union[AdministrativeAct, str]] = ..., credential_id: _Optional[str] = ..., public_id: _Optional[str] = ..., permissions: _Optional[_Iterable[str]] = ..., source_types: _Optional[_Iterable[_Union[_memory_pb2.SourceType, str]]] = ..., max_trust: _Optional[_Union[_memory_pb2.TrustLevel, str]] = ..., subject_bound: bool = ..., agent: _Optional[str] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., master_key_id: _Optional[str] = ..., setting: _Optional[str] = ..., value: _Optional[str] = ..., policy_revision: _Optional[int] = ..., policy_digest: _Optional[bytes] = ...) -> None: ...

class ConversationIngested(_message.Message):
    __slots__ = ("ingest_id", "state", "items", "extractor", "fallback")
    INGEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    ingest_id: str
    state: _ingest_pb2.IngestState
    items: _containers.RepeatedCompositeFieldContainer[WrittenMemory]
    extractor: _ingest_pb2.Extractor
    fallback: _ingest_pb2.ExtractionFallback
    def __init__(self, ingest_id: _Optional[str] = ..., state: _Optional[_Union[_ingest_pb2.IngestState, str]] = ..., items: _Optional[_Iterable[_Union[WrittenMemory, _Mapping]]] = ..., extractor: _Optional[_Union[_ingest_pb2.Extractor, str]] = ..., fallback: _Optional[_Union[_ingest_pb2.ExtractionFallback, str]] = ...) -> None: ...

class CorrectedMemory(_message.Message):
    __slots__ = ("memory_id", "revision", "state")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    state: _memory_pb2.MemoryState
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., state: _Optional[_Union[_memory_pb2.MemoryState, str]] = ...) -> None: ...

class MemoriesCorrected(_message.Message):
    __slots__ = ("memories", "write_request_id")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    WRITE_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[CorrectedMemory]
    write_request_id: str
    def __init__(self, memories: _Optional[_Iterable[_Union[CorrectedMemory, _Mapping]]] = ..., write_request_id: _Optional[str] = ...) -> None: ...

class ReviewDecided(_message.Message):
    __slots__ = ("memory_id", "revision", "decision", "superseded_memory_id", "trust")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    revision: int
    decision: _review_pb2.ReviewDecision
    superseded_memory_id: str
    trust: _memory_pb2.TrustLevel
    def __init__(self, memory_id: _Optional[str] = ..., revision: _Optional[int] = ..., decision: _Optional[_Union[_review_pb2.ReviewDecision, str]] = ..., superseded_memory_id: _Optional[str] = ..., trust: _Optional[_Union[_memory_pb2.TrustLevel, str]] = ...) -> None: ...

class ConsentChanged(_message.Message):
    __slots__ = ("level", "necessary_kinds", "session_forgotten", "erasure_id")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    NECESSARY_KINDS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    level: _subject_pb2.ConsentLevel
    necessary_kinds: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryKind]
    session_forgotten: bool
    erasure_id: str
    def __init__(self, level: _Optional[_Union[_subject_pb2.ConsentLevel, str]] = ..., necessary_kinds: _Optional[_Iterable[_Union[_memory_pb2.MemoryKind, str]]] = ..., session_forgotten: bool = ..., erasure_id: _Optional[str] = ...) -> None: ...

class AuditEvent(_message.Message):
    __slots__ = ("event_id", "event_time", "action", "outcome", "reason", "actor", "scope", "scope_id", "trace_id", "span_id", "request_id", "sequence", "digest", "prev_digest", "memory_written", "memory_superseded", "memory_erased", "memories_recalled", "memories_used", "memories_read", "access_denied", "integrity_violation", "restore_declared", "administered", "conversation_ingested", "memories_corrected", "review_decided", "consent_changed")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PREV_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MEMORY_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ERASED_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_RECALLED_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_USED_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_READ_FIELD_NUMBER: _ClassVar[int]
    ACCESS_DENIED_FIELD_NUMBER: _ClassVar[int]
    INTEGRITY_VIOLATION_FIELD_NUMBER: _ClassVar[int]
    RESTORE_DECLARED_FIELD_NUMBER: _ClassVar[int]
    ADMINISTERED_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_INGESTED_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_CORRECTED_FIELD_NUMBER: _ClassVar[int]
    REVIEW_DECIDED_FIELD_NUMBER: _ClassVar[int]
    CONSENT_CHANGED_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    event_time: _timestamp_pb2.Timestamp
    action: AuditAction
    outcome: AuditOutcome
    reason: _error_reason_pb2.ErrorReason
    actor: Actor
    scope: _memory_pb2.Scope
    scope_id: str
    trace_id: str
    span_id: str
    request_id: str
    sequence: int
    digest: bytes
    prev_digest: bytes
    memory_written: MemoryWritten
    memory_superseded: MemorySuperseded
    memory_erased: MemoryErased
    memories_recalled: MemoriesRecalled
    memories_used: MemoriesUsed
    memories_read: MemoriesRead
    access_denied: AccessDenied
    integrity_violation: IntegrityViolation
    restore_declared: RestoreDeclared
    administered: Administered
    conversation_ingested: ConversationIngested
    memories_corrected: MemoriesCorrected
    review_decided: ReviewDecided
    consent_changed: ConsentChanged
    def __init__(self, event_id: _Optional[str] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., action: _Optional[_Union[AuditAction, str]] = ..., outcome: _Optional[_Union[AuditOutcome, str]] = ..., reason: _Optional[_Union[_error_reason_pb2.ErrorReason, str]] = ..., actor: _Optional[_Union[Actor, _Mapping]] = ..., scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., scope_id: _Optional[str] = ..., trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., request_id: _Optional[str] = ..., sequence: _Optional[int] = ..., digest: _Optional[bytes] = ..., prev_digest: _Optional[bytes] = ..., memory_written: _Optional[_Union[MemoryWritten, _Mapping]] = ..., memory_superseded: _Optional[_Union[MemorySuperseded, _Mapping]] = ..., memory_erased: _Optional[_Union[MemoryErased, _Mapping]] = ..., memories_recalled: _Optional[_Union[MemoriesRecalled, _Mapping]] = ..., memories_used: _Optional[_Union[MemoriesUsed, _Mapping]] = ..., memories_read: _Optional[_Union[MemoriesRead, _Mapping]] = ..., access_denied: _Optional[_Union[AccessDenied, _Mapping]] = ..., integrity_violation: _Optional[_Union[IntegrityViolation, _Mapping]] = ..., restore_declared: _Optional[_Union[RestoreDeclared, _Mapping]] = ..., administered: _Optional[_Union[Administered, _Mapping]] = ..., conversation_ingested: _Optional[_Union[ConversationIngested, _Mapping]] = ..., memories_corrected: _Optional[_Union[MemoriesCorrected, _Mapping]] = ..., review_decided: _Optional[_Union[ReviewDecided, _Mapping]] = ..., consent_changed: _Optional[_Union[ConsentChanged, _Mapping]] = ...) -> None: ...

class AuditFilter(_message.Message):
    __slots__ = ("memory_id", "scope", "recall_id", "trace_id", "principal", "actions", "outcomes", "source_types", "event_time")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    scope: _memory_pb2.Scope
    recall_id: str
    trace_id: str
    principal: str
    actions: _containers.RepeatedScalarFieldContainer[AuditAction]
    outcomes: _containers.RepeatedScalarFieldContainer[AuditOutcome]
    source_types: _containers.RepeatedScalarFieldContainer[_memory_pb2.SourceType]
    event_time: _filter_pb2.TimeRange
    def __init__(self, memory_id: _Optional[str] = ..., scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., recall_id: _Optional[str] = ..., trace_id: _Optional[str] = ..., principal: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[AuditAction, str]]] = ..., outcomes: _Optional[_Iterable[_Union[AuditOutcome, str]]] = ..., source_types: _Optional[_Iterable[_Union[_memory_pb2.SourceType, str]]] = ..., event_time: _Optional[_Union[_filter_pb2.TimeRange, _Mapping]] = ...) -> None: ...

class UseReport(_message.Message):
    __slots__ = ("event_id", "report_time", "actor", "used")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    report_time: _timestamp_pb2.Timestamp
    actor: Actor
    used: MemoriesUsed
    def __init__(self, event_id: _Optional[str] = ..., report_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor: _Optional[_Union[Actor, _Mapping]] = ..., used: _Optional[_Union[MemoriesUsed, _Mapping]] = ...) -> None: ...

class RecallReceipt(_message.Message):
    __slots__ = ("recall_id", "recall_time", "actor", "scope", "trace_id", "span_id", "recalled", "uses", "event_id", "sequence", "digest")
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    RECALL_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    recall_time: _timestamp_pb2.Timestamp
    actor: Actor
    scope: _memory_pb2.Scope
    trace_id: str
    span_id: str
    recalled: MemoriesRecalled
    uses: _containers.RepeatedCompositeFieldContainer[UseReport]
    event_id: str
    sequence: int
    digest: bytes
    def __init__(self, recall_id: _Optional[str] = ..., recall_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor: _Optional[_Union[Actor, _Mapping]] = ..., scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., recalled: _Optional[_Union[MemoriesRecalled, _Mapping]] = ..., uses: _Optional[_Iterable[_Union[UseReport, _Mapping]]] = ..., event_id: _Optional[str] = ..., sequence: _Optional[int] = ..., digest: _Optional[bytes] = ...) -> None: ...

class AuditCheckpoint(_message.Message):
    __slots__ = ("sequence", "digest", "create_time", "signing_key_id", "signature", "signed_bytes")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    SIGNED_BYTES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    digest: bytes
    create_time: _timestamp_pb2.Timestamp
    signing_key_id: str
    signature: bytes
    signed_bytes: bytes
    def __init__(self, sequence: _Optional[int] = ..., digest: _Optional[bytes] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., signing_key_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., signed_bytes: _Optional[bytes] = ...) -> None: ...

class SigningKey(_message.Message):
    __slots__ = ("signing_key_id", "algorithm", "public_key")
    SIGNING_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    signing_key_id: str
    algorithm: str
    public_key: bytes
    def __init__(self, signing_key_id: _Optional[str] = ..., algorithm: _Optional[str] = ..., public_key: _Optional[bytes] = ...) -> None: ...

class ExportHeader(_message.Message):
    __slots__ = ("format_version", "tenant", "tenant_id", "first_sequence", "last_sequence", "first_prev_digest", "signing_keys")
    FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FIRST_PREV_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEYS_FIELD_NUMBER: _ClassVar[int]
    format_version: int
    tenant: str
    tenant_id: str
    first_sequence: int
    last_sequence: int
    first_prev_digest: bytes
    signing_keys: _containers.RepeatedCompositeFieldContainer[SigningKey]
    def __init__(self, format_version: _Optional[int] = ..., tenant: _Optional[str] = ..., tenant_id: _Optional[str] = ..., first_sequence: _Optional[int] = ..., last_sequence: _Optional[int] = ..., first_prev_digest: _Optional[bytes] = ..., signing_keys: _Optional[_Iterable[_Union[SigningKey, _Mapping]]] = ...) -> None: ...

class ExportedEvent(_message.Message):
    __slots__ = ("sequence", "event_id", "canonical_bytes", "prev_digest", "digest")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    CANONICAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    PREV_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    event_id: str
    canonical_bytes: bytes
    prev_digest: bytes
    digest: bytes
    def __init__(self, sequence: _Optional[int] = ..., event_id: _Optional[str] = ..., canonical_bytes: _Optional[bytes] = ..., prev_digest: _Optional[bytes] = ..., digest: _Optional[bytes] = ...) -> None: ...

class ExportedEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[ExportedEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[ExportedEvent, _Mapping]]] = ...) -> None: ...

class ExportTrailer(_message.Message):
    __slots__ = ("event_count", "last_sequence", "last_digest", "unchained_count")
    EVENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    UNCHAINED_COUNT_FIELD_NUMBER: _ClassVar[int]
    event_count: int
    last_sequence: int
    last_digest: bytes
    unchained_count: int
    def __init__(self, event_count: _Optional[int] = ..., last_sequence: _Optional[int] = ..., last_digest: _Optional[bytes] = ..., unchained_count: _Optional[int] = ...) -> None: ...

class GetRecallRequest(_message.Message):
    __slots__ = ("recall_id",)
    RECALL_ID_FIELD_NUMBER: _ClassVar[int]
    recall_id: str
    def __init__(self, recall_id: _Optional[str] = ...) -> None: ...

class GetRecallResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: RecallReceipt
    def __init__(self, receipt: _Optional[_Union[RecallReceipt, _Mapping]] = ...) -> None: ...

class ExportAuditRequest(_message.Message):
    __slots__ = ("from_sequence", "to_sequence")
    FROM_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TO_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    from_sequence: int
    to_sequence: int
    def __init__(self, from_sequence: _Optional[int] = ..., to_sequence: _Optional[int] = ...) -> None: ...

class ExportAuditResponse(_message.Message):
    __slots__ = ("header", "events", "checkpoint", "trailer")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    TRAILER_FIELD_NUMBER: _ClassVar[int]
    header: ExportHeader
    events: ExportedEvents
    checkpoint: AuditCheckpoint
    trailer: ExportTrailer
    def __init__(self, header: _Optional[_Union[ExportHeader, _Mapping]] = ..., events: _Optional[_Union[ExportedEvents, _Mapping]] = ..., checkpoint: _Optional[_Union[AuditCheckpoint, _Mapping]] = ..., trailer: _Optional[_Union[ExportTrailer, _Mapping]] = ...) -> None: ...
