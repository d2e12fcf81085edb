"""The other end of the wire: a gRPC server made of the client's own generated service classes.

It knows the protocol, not the product: a test says what it answers and looks at what arrived.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from muniment.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

KEY = "mk_dev_5ecret"
"""What the clients of the tests show."""


@dataclass(frozen=True)
class Fail:
    """An answer that is an error, with details as the service sends them."""

    code: grpc.StatusCode
    reason: str = ""
    message: str = "it failed"
    metadata: Mapping[str, str] = field(default_factory=dict)
    details: Sequence[Message] = ()
    retry_after: timedelta | None = None
    domain: str = "muniment.dev"

    def trailers(self) -> list[tuple[str, str | bytes]]:
        status = status_pb2.Status(code=self.code.value[0], message=self.message)
        details = list(self.details)
        if self.reason:
            details.insert(
                0,
                error_details_pb2.ErrorInfo(reason=self.reason, domain=self.domain, metadata=self.metadata),
            )
        if self.retry_after is not None:
            delay = Duration()
            delay.FromTimedelta(self.retry_after)
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        for detail in details:
            packed = AnyMessage()
            packed.Pack(detail)
            status.details.append(packed)
        return [
            ("muniment-request-id", "cafe" * 8),
            ("grpc-status-details-bin", status.SerializeToString()),
        ]


@dataclass(frozen=True)
class Received:
    """A call as it arrived."""

    method: str
    request: Any
    metadata: tuple[tuple[str, str | bytes], ...]
    remaining: float

    def values(self, key: str) -> list[str | bytes]:
        return [value for name, value in self.metadata if name == key]


Answer = Message | Fail | Callable[[Any], Any] | list[Any]


class Peer:
    """What is answered: the answers given for a method, in order, the last one again and again."""

    def __init__(self) -> None:
        self.target = ""
        self.received: list[Received] = []
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        self._lock = threading.Lock()

    def answer(self, method: str, *answers: Answer) -> None:
        self._answers[method] = deque(answers)

    def calls(self, method: str) -> list[Received]:
        return [each for each in self.received if each.method == method]

    def last(self, method: str) -> Received:
        return self.calls(method)[-1]

    def _next(self, method: str, request: Any, context: grpc.ServicerContext) -> Answer:
        with self._lock:
            self.received.append(
                Received(
                    method,
                    request,
                    tuple((key, value) for key, value in context.invocation_metadata()),
                    context.time_remaining(),
                )
            )
            answers = self._answers[method]
            if not answers:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, f"no answer for {method}")
            return answers.popleft() if len(answers) > 1 else answers[0]

    def unary(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        answer: Any = self._next(method, request, context)
        if callable(answer) and not isinstance(answer, Message):
            answer = answer(request)
        if isinstance(answer, Fail):
            context.set_trailing_metadata(answer.trailers())
            context.abort(answer.code, answer.message)
        return answer

    def stream(self, method: str, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        answer: Any = self._next(method, request, context)
        for each in answer if isinstance(answer, list) else [answer]:
            if isinstance(each, Fail):
                context.set_trailing_metadata(each.trailers())
                context.abort(each.code, each.message)
            yield each


def _servicer(base: type, service: Any, peer: Peer) -> Any:
    def bind(method: str, streaming: bool) -> Callable[..., Any]:
        run = peer.stream if streaming else peer.unary
        return lambda self, request, context: run(method, request, context)

    return type(
        base.__name__,
        (base,),
        {each.name: bind(each.name, each.server_streaming) for each in service.methods},
    )()


@contextmanager
def running(port: int = 0, credentials: grpc.ServerCredentials | None = None) -> Iterator[Peer]:
    """A peer that listens on loopback."""
    peer = Peer()
    server = grpc.server(futures.ThreadPoolExecutor(16))
    memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(
        _servicer(
            memory_service_pb2_grpc.MemoryServiceServicer,
            memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
            peer,
        ),
        server,
    )
    audit_pb2_grpc.add_AuditServiceServicer_to_server(
        _servicer(
            audit_pb2_grpc.AuditServiceServicer,
            audit_pb2.DESCRIPTOR.services_by_name["AuditService"],
            peer,
        ),
        server,
    )
    address = f"127.0.0.1:{port}"
    bound = (
        server.add_insecure_port(address)
        if credentials is None
        else server.add_secure_port(address, credentials)
    )
    peer.target = f"127.0.0.1:{bound}"
    server.start()
    try:
        yield peer
    finally:
        server.stop(0).wait()
