import datetime

from muniment_server._gen.buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from muniment_server._gen.muniment.v1 import consistency_pb2 as _consistency_pb2
from muniment_server._gen.muniment.v1 import memory_pb2 as _memory_pb2
from muniment_server._gen.muniment.v1 import write_pb2 as _write_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReviewDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_DECISION_UNSPECIFIED: _ClassVar[ReviewDecision]
    REVIEW_DECISION_APPROVE: _ClassVar[ReviewDecision]
    REVIEW_DECISION_EDIT: _ClassVar[ReviewDecision]
    REVIEW_DECISION_REJECT: _ClassVar[ReviewDecision]
REVIEW_DECISION_UNSPECIFIED: ReviewDecision
REVIEW_DECISION_APPROVE: ReviewDecision
REVIEW_DECISION_EDIT: ReviewDecision
REVIEW_DECISION_REJECT: ReviewDecision

class Review(_message.Message):
    __slots__ = ("memory", "rule", "explanation", "would_supersede_memory_id", "possible_conflicts", "create_time", "expire_time")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    WOULD_SUPERSEDE_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    POSSIBLE_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    rule: str
    explanation: str
    would_supersede_memory_id: str
    possible_conflicts: _containers.RepeatedCompositeFieldContainer[_write_pb2.PossibleConflict]
    create_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., rule: _Optional[str] = ..., explanation: _Optional[str] = ..., would_supersede_memory_id: _Optional[str] = ..., possible_conflicts: _Optional[_Iterable[_Union[_write_pb2.PossibleConflict, _Mapping]]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListReviewsRequest(_message.Message):
    __slots__ = ("scope", "states", "page_size", "page_token", "view")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    scope: _memory_pb2.Scope
    states: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryState]
    page_size: int
    page_token: str
    view: _memory_pb2.MemoryView
    def __init__(self, scope: _Optional[_Union[_memory_pb2.Scope, _Mapping]] = ..., states: _Optional[_Iterable[_Union[_memory_pb2.MemoryState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., view: _Optional[_Union[_memory_pb2.MemoryView, str]] = ...) -> None: ...

class ListReviewsResponse(_message.Message):
    __slots__ = ("reviews", "next_page_token", "seal_broken_memory_ids")
    REVIEWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEAL_BROKEN_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    reviews: _containers.RepeatedCompositeFieldContainer[Review]
    next_page_token: str
    seal_broken_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, reviews: _Optional[_Iterable[_Union[Review, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., seal_broken_memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DecideReviewRequest(_message.Message):
    __slots__ = ("memory_id", "etag", "decision", "content", "trust", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    etag: str
    decision: ReviewDecision
    content: str
    trust: _memory_pb2.TrustLevel
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., etag: _Optional[str] = ..., decision: _Optional[_Union[ReviewDecision, str]] = ..., content: _Optional[str] = ..., trust: _Optional[_Union[_memory_pb2.TrustLevel, str]] = ..., request_id: _Optional[str] = ...) -> None: ...

class DecideReviewResponse(_message.Message):
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
