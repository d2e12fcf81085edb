import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WriteOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WRITE_OUTCOME_UNSPECIFIED: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_CREATED: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_REINFORCED: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_SUPERSEDED_PREVIOUS: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_PENDING_REVIEW: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_QUARANTINED: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_REDACTED: _ClassVar[WriteOutcome]
    WRITE_OUTCOME_DROPPED: _ClassVar[WriteOutcome]

class GateVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GATE_VERDICT_UNSPECIFIED: _ClassVar[GateVerdict]
    GATE_VERDICT_ALLOWED: _ClassVar[GateVerdict]
    GATE_VERDICT_MARKED: _ClassVar[GateVerdict]
    GATE_VERDICT_REDACTED: _ClassVar[GateVerdict]
    GATE_VERDICT_REVIEW: _ClassVar[GateVerdict]
    GATE_VERDICT_QUARANTINED: _ClassVar[GateVerdict]
    GATE_VERDICT_DROPPED: _ClassVar[GateVerdict]

class Relation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_UNSPECIFIED: _ClassVar[Relation]
    RELATION_REINFORCES: _ClassVar[Relation]
    RELATION_CONTRADICTS: _ClassVar[Relation]
    RELATION_REFINES: _ClassVar[Relation]
    RELATION_UNRELATED: _ClassVar[Relation]

class Difference(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIFFERENCE_UNSPECIFIED: _ClassVar[Difference]
    DIFFERENCE_NUMBER: _ClassVar[Difference]
    DIFFERENCE_NAME: _ClassVar[Difference]
    DIFFERENCE_DATE: _ClassVar[Difference]
    DIFFERENCE_UNIT: _ClassVar[Difference]
    DIFFERENCE_NEGATION: _ClassVar[Difference]
WRITE_OUTCOME_UNSPECIFIED: WriteOutcome
WRITE_OUTCOME_CREATED: WriteOutcome
WRITE_OUTCOME_REINFORCED: WriteOutcome
WRITE_OUTCOME_SUPERSEDED_PREVIOUS: WriteOutcome
WRITE_OUTCOME_PENDING_REVIEW: WriteOutcome
WRITE_OUTCOME_QUARANTINED: WriteOutcome
WRITE_OUTCOME_REDACTED: WriteOutcome
WRITE_OUTCOME_DROPPED: WriteOutcome
GATE_VERDICT_UNSPECIFIED: GateVerdict
GATE_VERDICT_ALLOWED: GateVerdict
GATE_VERDICT_MARKED: GateVerdict
GATE_VERDICT_REDACTED: GateVerdict
GATE_VERDICT_REVIEW: GateVerdict
GATE_VERDICT_QUARANTINED: GateVerdict
GATE_VERDICT_DROPPED: GateVerdict
RELATION_UNSPECIFIED: Relation
RELATION_REINFORCES: Relation
RELATION_CONTRADICTS: Relation
RELATION_REFINES: Relation
RELATION_UNRELATED: Relation
DIFFERENCE_UNSPECIFIED: Difference
DIFFERENCE_NUMBER: Difference
DIFFERENCE_NAME: Difference
DIFFERENCE_DATE: Difference
DIFFERENCE_UNIT: Difference
DIFFERENCE_NEGATION: Difference

class WriteItem(_message.Message):
    __slots__ = ("kind", "slot", "content", "tags", "properties", "attributes", "speaker", "turn_number", "provenance", "validity", "expire_time", "ttl", "embedding", "force")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _memory_pb2.PropertyValue
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_memory_pb2.PropertyValue, _Mapping]] = ...) -> None: ...
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
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    kind: _memory_pb2.MemoryKind
    slot: str
    content: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    properties: _containers.MessageMap[str, _memory_pb2.PropertyValue]
    attributes: _struct_pb2.Struct
    speaker: str
    turn_number: int
    provenance: _memory_pb2.Provenance
    validity: _memory_pb2.Validity
    expire_time: _timestamp_pb2.Timestamp
    ttl: _duration_pb2.Duration
    embedding: _memory_pb2.Embedding
    force: bool
    def __init__(self, kind: _Optional[_Union[_memory_pb2.MemoryKind, str]] = ..., slot: _Optional[str] = ..., content: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., properties: _Optional[_Mapping[str, _memory_pb2.PropertyValue]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., speaker: _Optional[str] = ..., turn_number: _Optional[int] = ..., provenance: _Optional[_Union[_memory_pb2.Provenance, _Mapping]] = ..., validity: _Optional[_Union[_memory_pb2.Validity, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., embedding: _Optional[_Union[_memory_pb2.Embedding, _Mapping]] = ..., force: bool = ...) -> None: ...

class ScoreFactor(_message.Message):
    __slots__ = ("name", "value", "weight", "contribution", "rank")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    weight: float
    contribution: float
    rank: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., weight: _Optional[float] = ..., contribution: _Optional[float] = ..., rank: _Optional[int] = ...) -> None: ...

class GateFinding(_message.Message):
    __slots__ = ("gate", "rule", "verdict", "count")
    GATE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    gate: str
    rule: str
    verdict: GateVerdict
    count: int
    def __init__(self, gate: _Optional[str] = ..., rule: _Optional[str] = ..., verdict: _Optional[_Union[GateVerdict, str]] = ..., count: _Optional[int] = ...) -> None: ...

class PossibleConflict(_message.Message):
    __slots__ = ("memory_id", "similarity", "differences", "relation", "confidence")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    similarity: float
    differences: _containers.RepeatedScalarFieldContainer[Difference]
    relation: Relation
    confidence: float
    def __init__(self, memory_id: _Optional[str] = ..., similarity: _Optional[float] = ..., differences: _Optional[_Iterable[_Union[Difference, str]]] = ..., relation: _Optional[_Union[Relation, str]] = ..., confidence: _Optional[float] = ...) -> None: ...

class WriteResult(_message.Message):
    __slots__ = ("memory", "outcome", "superseded_memory_id", "embedding_state", "possible_conflicts", "possible_conflicts_partial", "rule", "explanation", "findings", "importance_factors")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_STATE_FIELD_NUMBER: _ClassVar[int]
    POSSIBLE_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    POSSIBLE_CONFLICTS_PARTIAL_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FACTORS_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    outcome: WriteOutcome
    superseded_memory_id: str
    embedding_state: _memory_pb2.EmbeddingState
    possible_conflicts: _containers.RepeatedCompositeFieldContainer[PossibleConflict]
    possible_conflicts_partial: bool
    rule: str
    explanation: str
    findings: _containers.RepeatedCompositeFieldContainer[GateFinding]
    importance_factors: _containers.RepeatedCompositeFieldContainer[ScoreFactor]
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., outcome: _Optional[_Union[WriteOutcome, str]] = ..., superseded_memory_id: _Optional[str] = ..., embedding_state: _Optional[_Union[_memory_pb2.EmbeddingState, str]] = ..., possible_conflicts: _Optional[_Iterable[_Union[PossibleConflict, _Mapping]]] = ..., possible_conflicts_partial: bool = ..., rule: _Optional[str] = ..., explanation: _Optional[str] = ..., findings: _Optional[_Iterable[_Union[GateFinding, _Mapping]]] = ..., importance_factors: _Optional[_Iterable[_Union[ScoreFactor, _Mapping]]] = ...) -> None: ...
