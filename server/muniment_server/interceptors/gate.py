"""The gate in front of the chain: closed while the service starts, when only health answers.

The port is open from the beginning of a start, so that whoever asks hears NOT_SERVING instead of nothing.
A gRPC server takes handlers and interceptors only before it is started; the real ones are made later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import grpc

from muniment_server.domain.errors import DatabaseUnavailable
from muniment_server.interceptors.call import Call, ServicerContext, Stage
from muniment_server.interceptors.methods import METHODS, UNGUARDED_PREFIXES
from muniment_server.telemetry import names

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Continuation: TypeAlias = Callable[[grpc.HandlerCallDetails], "Awaitable[Handler | None]"]

_RETRY: Final = timedelta(seconds=1)

if TYPE_CHECKING:
    _Interceptor = grpc.aio.ServerInterceptor[Any, Any]
    _Handlers = grpc.GenericRpcHandler[Any, Any]
else:
    # Generic in the stubs only.
    _Interceptor = grpc.aio.ServerInterceptor
    _Handlers = grpc.GenericRpcHandler


class LateHandlers(_Handlers):
    """Handlers that a server looks up by name when a call comes. Generated code adds to it as to a server."""

    def __init__(self) -> None:
        self._by_path: dict[str, Handler] = {}
        self._others: list[grpc.GenericRpcHandler[Any, Any]] = []

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Add the methods of one service by their names."""
        self._by_path.update({f"/{service}/{method}": handler for method, handler in handlers.items()})

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler[Any, Any]]) -> None:
        """Add handlers that know their paths themselves."""
        self._others.extend(handlers)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        """The handler of a call, or None."""
        found = self._by_path.get(handler_call_details.method)
        if found is not None:
            return found
        return next(filter(None, (each.service(handler_call_details) for each in self._others)), None)


class _Starting:
    name = "handler"

    async def __call__(self, call: Call) -> object:
        # No connection to the database is open yet; nothing of the call was done.
        raise DatabaseUnavailable("starting", _RETRY)


class Gate(_Interceptor):
    """Refuses calls until it is opened, and hands them to the chain from then on.

    stages: what a refused call passes, telemetry and error mapping. Health and reflection pass always.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._run = (*stages, _Starting())
        self._chain: grpc.aio.ServerInterceptor[Any, Any] | None = None
        self._opened = False

    def open(self, chain: grpc.aio.ServerInterceptor[Any, Any] | None) -> None:
        """Let calls pass, through `chain` if there is one."""
        self._chain = chain
        self._opened = True

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> Handler:
        if self._chain is not None:
            return await self._chain.intercept_service(cast("Any", continuation), handler_call_details)
        path = handler_call_details.method
        if self._opened or path.startswith(UNGUARDED_PREFIXES):
            return cast("Handler", await continuation(handler_call_details))
        method = path.lstrip("/")
        return self._refusal(method if method in METHODS else names.RPC_METHOD_OTHER)

    def _refusal(self, method: str) -> Handler:
        async def refuse(_requests: AsyncIterator[bytes], context: ServicerContext) -> None:
            await Call(self._run, context, method, None, None, b"").proceed()

        return grpc.stream_stream_rpc_method_handler(cast(Any, refuse))
