"""A peer that fails as told. It knows gRPC, not the product, and answers with empty messages."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2


class Peer(grpc.GenericRpcHandler):
    """`plan`: how the next calls fail, first come first failed; when it is used up calls succeed."""

    def __init__(self) -> None:
        self.plan: list[dict[str, Any]] = []
        self.received: list[tuple[str, bytes, dict[str, list[Any]]]] = []
        self._server: grpc.aio.Server | None = None
        self.port = 0

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        method = str(handler_call_details.method)

        async def answer(request: bytes, context: Any) -> bytes:
            metadata: dict[str, list[Any]] = {}
            for key, value in context.invocation_metadata() or ():
                metadata.setdefault(key, []).append(value)
            self.received.append((method, request, metadata))
            if self.plan:
                await _fail(context, self.plan.pop(0))
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)

    async def start(self, port: int = 0) -> None:
        """Listen; on the port of before when it is given."""
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((self,))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        await self._server.start()

    async def stop(self) -> None:
        """Say GOAWAY and end."""
        if self._server is not None:
            await self._server.stop(0.5)
            self._server = None

    async def restart(self) -> None:
        """Come back on the same port."""
        await self.stop()
        await self.start(self.port)


async def _fail(context: Any, how: dict[str, Any]) -> None:
    code = grpc.StatusCode[how.get("code", "UNAVAILABLE")]
    status = status_pb2.Status(code=code.value[0], message="as told")
    trailers: list[tuple[str, Any]] = []
    abort: Callable[..., Awaitable[Any]] = context.abort
    if how.get("reason"):
        info = error_details_pb2.ErrorInfo(reason=how["reason"], domain="muniment.dev")
        _pack(status, info)
    if how.get("retry_after_ms") is not None:
        delay = Duration()
        delay.FromMilliseconds(how["retry_after_ms"])
        _pack(status, error_details_pb2.RetryInfo(retry_delay=delay))
        trailers.append(("grpc-retry-pushback-ms", str(how["retry_after_ms"])))
    if status.details:
        trailers.append(("grpc-status-details-bin", status.SerializeToString()))
    await abort(code, "as told", tuple(trailers))


def _pack(status: status_pb2.Status, detail: Any) -> None:
    packed = AnyMessage()
    packed.Pack(detail)
    status.details.append(packed)
