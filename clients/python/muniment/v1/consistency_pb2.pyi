from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConsistencyToken(_message.Message):
    __slots__ = ("token", "order")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    token: str
    order: int
    def __init__(self, token: _Optional[str] = ..., order: _Optional[int] = ...) -> None: ...

class Consistency(_message.Message):
    __slots__ = ("minimize_latency", "at_least_as_fresh", "strong")
    MINIMIZE_LATENCY_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_AS_FRESH_FIELD_NUMBER: _ClassVar[int]
    STRONG_FIELD_NUMBER: _ClassVar[int]
    minimize_latency: bool
    at_least_as_fresh: ConsistencyToken
    strong: bool
    def __init__(self, minimize_latency: bool = ..., at_least_as_fresh: _Optional[_Union[ConsistencyToken, _Mapping]] = ..., strong: bool = ...) -> None: ...
