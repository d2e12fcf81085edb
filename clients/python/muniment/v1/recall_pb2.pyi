from muniment.v1 import memory_pb2 as _memory_pb2
from muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetrievalLeg(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RETRIEVAL_LEG_UNSPECIFIED: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_VECTOR: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_LEXICAL: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_SLOT: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_ENTITY: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_TIME: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_NEIGHBOUR: _ClassVar[RetrievalLeg]
    RETRIEVAL_LEG_SESSION: _ClassVar[RetrievalLeg]

class Fusion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FUSION_UNSPECIFIED: _ClassVar[Fusion]
    FUSION_SCORE: _ClassVar[Fusion]
    FUSION_RRF: _ClassVar[Fusion]

class RecallStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECALL_STAGE_UNSPECIFIED: _ClassVar[RecallStage]
    RECALL_STAGE_QUERY_EMBEDDING: _ClassVar[RecallStage]
    RECALL_STAGE_LEG: _ClassVar[RecallStage]
    RECALL_STAGE_CONSISTENCY: _ClassVar[RecallStage]
    RECALL_STAGE_RERANK: _ClassVar[RecallStage]
    RECALL_STAGE_PACKING: _ClassVar[RecallStage]

class DegradationReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEGRADATION_REASON_UNSPECIFIED: _ClassVar[DegradationReason]
    DEGRADATION_REASON_DEADLINE: _ClassVar[DegradationReason]
    DEGRADATION_REASON_EMBEDDER_UNAVAILABLE: _ClassVar[DegradationReason]
    DEGRADATION_REASON_QUERY_NOT_COVERED: _ClassVar[DegradationReason]
    DEGRADATION_REASON_EMBEDDINGS_PENDING: _ClassVar[DegradationReason]
    DEGRADATION_REASON_FAILED: _ClassVar[DegradationReason]
    DEGRADATION_REASON_QUERY_TRUNCATED: _ClassVar[DegradationReason]

class LeftOutReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEFT_OUT_REASON_UNSPECIFIED: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_BELOW_MIN_SCORE: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_LIMIT: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_TOKEN_BUDGET: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_RESPONSE_SIZE: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_NEAR_DUPLICATE: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_SOURCE_SHARE: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_SEAL_BROKEN: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_CHANGED: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_STATE: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_EXPIRED: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_FILTERED: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_TAIL: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_CONSENT: _ClassVar[LeftOutReason]
    LEFT_OUT_REASON_NO_MATCH: _ClassVar[LeftOutReason]
RETRIEVAL_LEG_UNSPECIFIED: RetrievalLeg
RETRIEVAL_LEG_VECTOR: RetrievalLeg
RETRIEVAL_LEG_LEXICAL: RetrievalLeg
RETRIEVAL_LEG_SLOT: RetrievalLeg
RETRIEVAL_LEG_ENTITY: RetrievalLeg
RETRIEVAL_LEG_TIME: RetrievalLeg
RETRIEVAL_LEG_NEIGHBOUR: RetrievalLeg
RETRIEVAL_LEG_SESSION: RetrievalLeg
FUSION_UNSPECIFIED: Fusion
FUSION_SCORE: Fusion
FUSION_RRF: Fusion
RECALL_STAGE_UNSPECIFIED: RecallStage
RECALL_STAGE_QUERY_EMBEDDING: RecallStage
RECALL_STAGE_LEG: RecallStage
RECALL_STAGE_CONSISTENCY: RecallStage
RECALL_STAGE_RERANK: RecallStage
RECALL_STAGE_PACKING: RecallStage
DEGRADATION_REASON_UNSPECIFIED: DegradationReason
DEGRADATION_REASON_DEADLINE: DegradationReason
DEGRADATION_REASON_EMBEDDER_UNAVAILABLE: DegradationReason
DEGRADATION_REASON_QUERY_NOT_COVERED: DegradationReason
DEGRADATION_REASON_EMBEDDINGS_PENDING: DegradationReason
DEGRADATION_REASON_FAILED: DegradationReason
DEGRADATION_REASON_QUERY_TRUNCATED: DegradationReason
LEFT_OUT_REASON_UNSPECIFIED: LeftOutReason
LEFT_OUT_REASON_BELOW_MIN_SCORE: LeftOutReason
LEFT_OUT_REASON_LIMIT: LeftOutReason
LEFT_OUT_REASON_TOKEN_BUDGET: LeftOutReason
LEFT_OUT_REASON_RESPONSE_SIZE: LeftOutReason
LEFT_OUT_REASON_NEAR_DUPLICATE: LeftOutReason
LEFT_OUT_REASON_SOURCE_SHARE: LeftOutReason
LEFT_OUT_REASON_SEAL_BROKEN: LeftOutReason
LEFT_OUT_REASON_CHANGED: LeftOutReason
LEFT_OUT_REASON_STATE: LeftOutReason
LEFT_OUT_REASON_EXPIRED: LeftOutReason
LEFT_OUT_REASON_FILTERED: LeftOutReason
LEFT_OUT_REASON_TAIL: LeftOutReason
LEFT_OUT_REASON_CONSENT: LeftOutReason
LEFT_OUT_REASON_NO_MATCH: LeftOutReason

class LegScore(_message.Message):
    __slots__ = ("leg", "rank", "raw_score", "contribution", "value", "weight")
    LEG_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    RAW_SCORE_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    leg: RetrievalLeg
    rank: int
    raw_score: float
    contribution: float
    value: float
    weight: float
    def __init__(self, leg: _Optional[_Union[RetrievalLeg, str]] = ..., rank: _Optional[int] = ..., raw_score: _Optional[float] = ..., contribution: _Optional[float] = ..., value: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class ScoreBasis(_message.Message):
    __slots__ = ("cosine_low", "cosine_high", "vector_weight", "lexical_weight", "around_vector_weight", "around_lexical_weight", "leg_count", "threshold")
    COSINE_LOW_FIELD_NUMBER: _ClassVar[int]
    COSINE_HIGH_FIELD_NUMBER: _ClassVar[int]
    VECTOR_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    AROUND_VECTOR_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    AROUND_LEXICAL_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    LEG_COUNT_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    cosine_low: float
    cosine_high: float
    vector_weight: float
    lexical_weight: float
    around_vector_weight: float
    around_lexical_weight: float
    leg_count: int
    threshold: float
    def __init__(self, cosine_low: _Optional[float] = ..., cosine_high: _Optional[float] = ..., vector_weight: _Optional[float] = ..., lexical_weight: _Optional[float] = ..., around_vector_weight: _Optional[float] = ..., around_lexical_weight: _Optional[float] = ..., leg_count: _Optional[int] = ..., threshold: _Optional[float] = ...) -> None: ...

class RankedMemory(_message.Message):
    __slots__ = ("memory", "rank", "score", "packed", "leg_scores", "factors", "evidence")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    LEG_SCORES_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    rank: int
    score: float
    packed: bool
    leg_scores: _containers.RepeatedCompositeFieldContainer[LegScore]
    factors: _containers.RepeatedCompositeFieldContainer[_write_pb2.ScoreFactor]
    evidence: float
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., packed: bool = ..., leg_scores: _Optional[_Iterable[_Union[LegScore, _Mapping]]] = ..., factors: _Optional[_Iterable[_Union[_write_pb2.ScoreFactor, _Mapping]]] = ..., evidence: _Optional[float] = ...) -> None: ...

class NearMiss(_message.Message):
    __slots__ = ("memory_id", "score", "reason", "leg_scores", "factors", "evidence")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LEG_SCORES_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    score: float
    reason: LeftOutReason
    leg_scores: _containers.RepeatedCompositeFieldContainer[LegScore]
    factors: _containers.RepeatedCompositeFieldContainer[_write_pb2.ScoreFactor]
    evidence: float
    def __init__(self, memory_id: _Optional[str] = ..., score: _Optional[float] = ..., reason: _Optional[_Union[LeftOutReason, str]] = ..., leg_scores: _Optional[_Iterable[_Union[LegScore, _Mapping]]] = ..., factors: _Optional[_Iterable[_Union[_write_pb2.ScoreFactor, _Mapping]]] = ..., evidence: _Optional[float] = ...) -> None: ...

class PackedContext(_message.Message):
    __slots__ = ("text", "tokens", "memory_ids", "tokenizer")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    text: str
    tokens: int
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    tokenizer: str
    def __init__(self, text: _Optional[str] = ..., tokens: _Optional[int] = ..., memory_ids: _Optional[_Iterable[str]] = ..., tokenizer: _Optional[str] = ...) -> None: ...

class LeftOut(_message.Message):
    __slots__ = ("reason", "count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: LeftOutReason
    count: int
    def __init__(self, reason: _Optional[_Union[LeftOutReason, str]] = ..., count: _Optional[int] = ...) -> None: ...

class Degradation(_message.Message):
    __slots__ = ("stage", "leg", "reason", "affected_count")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    LEG_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    stage: RecallStage
    leg: RetrievalLeg
    reason: DegradationReason
    affected_count: int
    def __init__(self, stage: _Optional[_Union[RecallStage, str]] = ..., leg: _Optional[_Union[RetrievalLeg, str]] = ..., reason: _Optional[_Union[DegradationReason, str]] = ..., affected_count: _Optional[int] = ...) -> None: ...
