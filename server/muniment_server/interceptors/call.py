"""The state of one call on its way through the stages."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

import grpc
from google.protobuf.message import Message

from muniment_server.domain.errors import MunimentError
from muniment_server.identity.principal import CallContext, Principal
from muniment_server.interceptors.methods import MethodRule

REQUEST_ID_KEY: Final = "muniment-request-id"

ServicerContext: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Call:
    """One inbound call. Made by the chain, filled by the stages in their order.

    method: fully qualified, without a leading slash, or `_OTHER`. raw: the message as received; empty for
    a call whose request is a stream. requests: the messages of such a stream as received, None for others.
    message: the request; for a stream an iterator of requests, each of which is checked when it arrives.
    rule: what the method needs, or None for a method without one. error: how it failed, for
    telemetry. gone: whether the caller hung up just before the answer. deadline: as in CallContext;
    infinite until the deadline stage has set it. recheck: raises when the credential does not allow the call
    any more; set by the authentication stage, for what lasts.
    """

    __slots__ = (
        "_next",
        "_stages",
        "context",
        "deadline",
        "error",
        "gone",
        "identity",
        "message",
        "message_type",
        "metadata",
        "method",
        "principal",
        "raw",
        "recheck",
        "request_id",
        "requests",
        "rule",
        "span_id",
        "started",
        "tenant_name",
        "trace_id",
    )

    def __init__(
        self,
        stages: Sequence[Stage],
        context: ServicerContext,
        method: str,
        rule: MethodRule | None,
        message_type: type[Message] | None,
        raw: bytes,
        requests: AsyncIterator[bytes] | None = None,
    ) -> None:
        self._stages = stages
        self._next = 0
        self.context = context
        self.method = method
        self.rule = rule
        self.message_type = message_type
        self.raw = raw
        self.requests = requests
        # A tuple of pairs, whatever the stubs say; repeated keys stay repeated.
        self.metadata = cast("Sequence[tuple[str, str | bytes]]", context.invocation_metadata() or ())
        self.started = time.perf_counter()
        self.deadline = float("inf")
        self.request_id = os.urandom(16).hex()
        self.trace_id = ""
        self.span_id = ""
        self.message: Message | AsyncIterator[Message] | None = None
        self.error: MunimentError | None = None
        self.gone = False
        self.principal: Principal | None = None
        self.tenant_name: str | None = None
        self.identity: CallContext | None = None
        self.recheck: Callable[[], Awaitable[None]] | None = None

    def proceed(self) -> Awaitable[object]:
        """Run the stages after the current one and the handler; each stage calls this once."""
        index = self._next
        self._next = index + 1
        return self._stages[index](self)

    def values(self, key: str) -> list[str]:
        """All values of a metadata key. A `-bin` spelling is another key."""
        return [value for name, value in self.metadata if name == key and isinstance(value, str)]

    def first(self, key: str) -> str | None:
        """The first value of a metadata key."""
        for name, value in self.metadata:
            if name == key and isinstance(value, str):
                return value
        return None

    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())


class Stage(Protocol):
    """One step of the chain. It acts, awaits `call.proceed()` and returns what that returned.

    The same code serves single answers and streams: a stream is written to the context inside
    `proceed`, so a stage never holds a context variable or a timeout across a yield.
    """

    @property
    def name(self) -> str:
        """Name of the stage, in the documented order."""
        ...

    async def __call__(self, call: Call) -> object:
        """Handle the call or refuse it by raising a MunimentError."""
        ...
