"""One call: metadata, deadline, repetition, trace, error."""

import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import grpc
from google.protobuf.message import Message
from opentelemetry.trace import SpanContext

from muniment import _fork, _retry
from muniment._async import runtime
from muniment._errors import InternalError
from muniment._rpcs import Rpc
from muniment._settings import Metadata, Settings
from muniment._status import to_error
from muniment._tracing import CallSpan, call_span
from muniment.v1 import audit_pb2_grpc, memory_service_pb2_grpc, review_pb2_grpc, subject_pb2_grpc

if TYPE_CHECKING:
    from muniment.v1.audit_pb2_grpc import AuditServiceAsyncStub
    from muniment.v1.memory_service_pb2_grpc import MemoryServiceAsyncStub
    from muniment.v1.review_pb2_grpc import ReviewServiceAsyncStub
    from muniment.v1.subject_pb2_grpc import SubjectServiceAsyncStub

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Response]):
    """What a call answered, and the span that it was made in."""

    message: Response
    span: SpanContext | None


class AsyncCalls:
    """Makes calls over one channel, which is opened by the first of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._server = settings.server()
        self._activity = runtime.Activity()
        self._opening = threading.Lock()
        self._closed = False
        self._opened_in = 0
        self._home: object = None
        self._channel: grpc.aio.Channel | None = None
        self._memory: MemoryServiceAsyncStub
        self._audit: AuditServiceAsyncStub
        self._review: ReviewServiceAsyncStub
        self._subject: SubjectServiceAsyncStub

    @property
    def memory(self) -> "MemoryServiceAsyncStub":
        """Methods of MemoryService."""
        self._open()
        return self._memory

    @property
    def audit(self) -> "AuditServiceAsyncStub":
        """Methods of AuditService."""
        self._open()
        return self._audit

    @property
    def review(self) -> "ReviewServiceAsyncStub":
        """Methods of ReviewService."""
        self._open()
        return self._review

    @property
    def subject(self) -> "SubjectServiceAsyncStub":
        """Methods of SubjectService."""
        self._open()
        return self._subject

    def _open(self) -> None:
        with self._opening:
            if self._closed:
                raise RuntimeError("the client is closed")
            if self._channel is None:
                self._opened_in = _fork.opened()
                self._home = runtime.home()
                channel = runtime.open_channel(self.settings)
                self._memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
                self._audit = audit_pb2_grpc.AuditServiceStub(channel)
                self._review = review_pb2_grpc.ReviewServiceStub(channel)
                self._subject = subject_pb2_grpc.SubjectServiceStub(channel)
                self._channel = channel
                return
        _fork.check(self._opened_in)
        if self._home is not runtime.home():
            raise RuntimeError("this client was used in another event loop: make one client per loop")

    async def unary(
        self,
        rpc: Rpc,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        timeout: float | None,
    ) -> Answer[Response]:
        """Make a call that answers once. timeout: seconds for it all; None: the default of the method."""
        deadline = time.monotonic() + self.settings.deadlines.seconds(rpc.deadline, timeout)
        async with self._activity:
            with call_span(rpc, request, self._server) as span:
                rounds = 0
                while True:
                    rounds += 1
                    metadata = await self._metadata(span, deadline)
                    try:
                        response = await method(
                            request, timeout=deadline - time.monotonic(), metadata=metadata
                        )
                    except grpc.RpcError as error:
                        failure = to_error(error, span.trace_id)
                        wait = _retry.delay(failure, rounds, deadline - time.monotonic())
                        if wait is None:
                            raise failure from error
                    else:
                        _check_readable(response, span)
                        span.answered(response)
                        return Answer(response, span.context)
                    await runtime.pause(wait)

    async def stream(
        self,
        rpc: Rpc,
        method: "grpc.aio.UnaryStreamMultiCallable[Request, Response]",
        request: Request,
        timeout: float | None,
    ) -> AsyncIterator[Response]:
        """Make a call that answers with a stream. What has begun is not repeated."""
        deadline = time.monotonic() + self.settings.deadlines.seconds(rpc.deadline, timeout)
        with call_span(rpc, request, self._server, current=False) as span:
            metadata = await self._metadata(span, deadline)
            call = method(request, timeout=deadline - time.monotonic(), metadata=metadata)
            try:
                async for response in call:
                    _check_readable(response, span)
                    yield response
            except grpc.RpcError as error:
                raise to_error(error, span.trace_id) from error
            finally:
                # A reader that stops early must not leave the server sending.
                call.cancel()  # type: ignore[no-untyped-call, unused-ignore]

    async def upload(
        self,
        rpc: Rpc,
        method: "grpc.aio.StreamUnaryMultiCallable[Request, Response]",
        first: Request,
        requests: AsyncIterator[Request],
        timeout: float | None,
    ) -> Answer[Response]:
        """Make a call that sends a stream and answers once. Never repeated: the stream is used up.

        first: what describes the whole stream in the trace; it is not sent.
        """
        deadline = time.monotonic() + self.settings.deadlines.seconds(rpc.deadline, timeout)
        async with self._activity:
            with call_span(rpc, first, self._server) as span:
                metadata = await self._metadata(span, deadline)
                try:
                    response = await method(requests, timeout=deadline - time.monotonic(), metadata=metadata)
                except grpc.RpcError as error:
                    raise to_error(error, span.trace_id) from error
                _check_readable(response, span)
                span.answered(response)
                return Answer(response, span.context)

    async def _metadata(self, span: CallSpan, deadline: float) -> Metadata:
        secret = await runtime.credential(self.settings.credential, deadline - time.monotonic())
        return self.settings.metadata(secret, span.headers())

    async def close(self, timeout: float) -> None:
        """Refuse new calls, wait for those under way, then end the rest with the channel."""
        with self._opening:
            self._closed = True
            channel, self._channel = self._channel, None
        await self._activity.close(timeout)
        if channel is not None and _fork.is_here(self._opened_in):
            await runtime.close_channel(channel)


def _check_readable(response: object, span: CallSpan) -> None:
    # For bytes that are no message the asynchronous transport answers None, where the other one fails.
    if response is None:
        raise InternalError("the answer could not be read", trace_id=span.trace_id)
