"""The chain: one gRPC interceptor that runs the stages in their settled order.

The order is telemetry, error mapping, deadline, authentication and tenant, permission, limits,
validation, handler. It is one interceptor and not seven because grpc.aio builds a handler object
per interceptor and call, and because a stage must see both kinds of handlers alike.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import grpc
from google.protobuf.message import Message

from muniment_server.domain.errors import Unimplemented
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.call import REQUEST_ID_KEY, Call, ServicerContext, Stage
from muniment_server.interceptors.deadline import DeadlineStage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import METHODS, UNGUARDED_PREFIXES
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage
from muniment_server.telemetry import names

MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Continuation: TypeAlias = Callable[[grpc.HandlerCallDetails], "Awaitable[Handler | None]"]


class ResponseTooLargeError(Exception):
    """A handler built a message that no client with default settings can receive."""


def stages(
    telemetry: TelemetryStage,
    errors: ErrorStage,
    deadline: DeadlineStage,
    authentication: AuthenticationStage,
    permission: PermissionStage,
    limits: LimitStage,
    validation: ValidationStage,
) -> tuple[Stage, ...]:
    """The stages in the order in which every call passes them. The order is part of the contract."""
    return (telemetry, errors, deadline, authentication, permission, limits, validation)


if TYPE_CHECKING:
    _Interceptor = grpc.aio.ServerInterceptor[Any, Any]
else:
    # Generic in the stubs only.
    _Interceptor = grpc.aio.ServerInterceptor


class Chain(_Interceptor):
    """Wraps every handler in the stages; handlers must be asynchronous.

    Health and reflection pass around it. Methods that do not exist, and methods that read a stream and
    answer with one (none of ours does), pass telemetry and error mapping and are UNIMPLEMENTED. Where the
    request is a stream the stages run once, before its first message is read; size and rules of each message
    are checked when it arrives, and the deadline and the slot are those of the whole stream.
    """

    def __init__(self, ordered: Sequence[Stage]) -> None:
        self.stages = tuple(ordered)
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}
        self._unknown = self._refusal(names.RPC_METHOD_OTHER)

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> Handler:
        path = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None:
            return self._unknown
        known = self._wrapped.get(path)
        if known is not None and known[0] is handler:
            return known[1]
        wrapped = handler if path.startswith(UNGUARDED_PREFIXES) else self._wrap(path.lstrip("/"), handler)
        self._wrapped[path] = (handler, wrapped)
        return wrapped

    def _wrap(self, method: str, handler: Handler) -> Handler:
        if handler.request_streaming and handler.response_streaming:
            return self._refusal(method)
        rule = METHODS.get(method)
        message_type = _message_type(handler)
        if handler.request_streaming:
            run = (*self.stages, _Single(handler, handler.stream_unary))

            async def collect(requests: AsyncIterator[bytes], context: ServicerContext) -> object:
                return await Call(run, context, method, rule, message_type, b"", requests).proceed()

            return grpc.stream_unary_rpc_method_handler(cast(Any, collect))
        if handler.response_streaming:
            run = (*self.stages, _Streaming(handler))

            async def stream(raw: bytes, context: ServicerContext) -> None:
                await Call(run, context, method, rule, message_type, raw).proceed()

            return grpc.unary_stream_rpc_method_handler(
                cast(Any, stream), response_serializer=handler.response_serializer
            )
        run = (*self.stages, _Single(handler, handler.unary_unary))

        async def single(raw: bytes, context: ServicerContext) -> object:
            return await Call(run, context, method, rule, message_type, raw).proceed()

        return grpc.unary_unary_rpc_method_handler(cast(Any, single))

    def _refusal(self, method: str) -> Handler:
        run = (*self.stages[:2], _refuse)

        async def refuse(_requests: AsyncIterator[bytes], context: ServicerContext) -> None:
            await Call(run, context, method, None, None, b"").proceed()

        return grpc.stream_stream_rpc_method_handler(cast(Any, refuse))


class _Refuse:
    name = "handler"

    async def __call__(self, call: Call) -> object:
        raise Unimplemented


_refuse: Final = _Refuse()


async def _begin_answer(call: Call) -> None:
    """Send the headers of an answer."""
    await _sent(call, call.context.send_initial_metadata(((REQUEST_ID_KEY, call.request_id),)))


async def _sent(call: Call, sending: Awaitable[None]) -> None:
    """Wait until a part of an answer has left."""
    try:
        await sending
    except grpc.aio.InternalError:
        # The transport takes nothing for this call any more: the caller has hung up. The cancellation of
        # this task may come a moment later, or never.
        call.gone = True
        raise asyncio.CancelledError from None


class _Single:
    """Runs a handler that answers once, and serializes its answer."""

    name = "handler"

    def __init__(self, handler: Handler, behaviour: Any) -> None:
        self._behaviour = behaviour
        self._serialize = handler.response_serializer

    async def __call__(self, call: Call) -> object:
        answer = await self._behaviour(call.message, call.context)
        raw = self._serialize(answer) if self._serialize is not None else answer
        if len(raw) > MAX_RESPONSE_BYTES:
            raise ResponseTooLargeError
        # Only now: a call that has sent headers is never retried by a client's own policy.
        await _begin_answer(call)
        return raw


class _Streaming:
    """Runs a handler that answers with a stream, and writes the stream itself."""

    name = "handler"

    def __init__(self, handler: Handler) -> None:
        self._behaviour: Any = handler.unary_stream

    async def __call__(self, call: Call) -> object:
        answers = self._behaviour(call.message, call.context)
        if not hasattr(answers, "__aiter__"):
            # The handler writes to the context by itself, headers included.
            return await answers
        context = call.context
        begun = False
        async with aclosing(answers) as stream:
            async for answer in stream:
                if not begun:
                    await _begin_answer(call)
                    begun = True
                elif call.recheck is not None:
                    await call.recheck()
                await _sent(call, context.write(answer))
        return None


def _message_type(handler: Handler) -> type[Message] | None:
    """The request's class: generated code passes its `FromString` as the deserializer."""
    owner = getattr(handler.request_deserializer, "__self__", None)
    return owner if inspect.isclass(owner) and issubclass(owner, Message) else None
