"""A peer that answers as told: with errors, with messages, with bytes that no server of today sends, or late.

It knows gRPC, not the product. `plan` holds what comes of the next calls, first come first served; when it is
used up calls are answered with empty messages. Every entry is one of

- a failure: `code` (default UNAVAILABLE), `reason`, `metadata`, `violations` ({field, rule}),
  `retry_after_ms` (`pushback`: another number for gRPC itself, or false), `resource`,
  `precondition`, `quota`, `request_info` (each the text that stands in the detail of that name), and
  `unknown_detail: true`, a detail of a type that nobody knows;
- an answer: `json` (proto JSON of the method's response) or `hex` (its bytes; # begins a comment), or
  `size`: a response of exactly so many bytes, most of them in a field that is not known;
- nothing of these: an empty answer.

and with `hold: true` it waits until the call is let go.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

_UNKNOWN_FIELD = 3999


class Peer(grpc.GenericRpcHandler):
    """A server on a port of its own."""

    def __init__(self) -> None:
        self.plan: list[dict[str, Any]] = []
        self.received: list[tuple[str, bytes, dict[str, list[Any]]]] = []
        self._arrival = asyncio.Condition()
        self._let_go = asyncio.Event()
        self._server: grpc.aio.Server | None = None
        self._ending: asyncio.Task[None] | None = None
        self.port = 0

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        method = str(handler_call_details.method)

        async def answer(request: bytes, context: Any) -> bytes:
            metadata: dict[str, list[Any]] = {}
            for key, value in context.invocation_metadata() or ():
                metadata.setdefault(key, []).append(value)
            planned = self.plan.pop(0) if self.plan else {}
            async with self._arrival:
                self.received.append((method, request, metadata))
                self._arrival.notify_all()
            if planned.get("hold"):
                await self._let_go.wait()
            if "code" in planned or "reason" in planned:
                await _fail(context, planned)
            return _response(method, planned)

        return grpc.unary_unary_rpc_method_handler(answer)

    async def start(self, port: int = 0) -> None:
        """Listen; on the port of before when it is given."""
        self._server = grpc.aio.server(
            options=(("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
        )
        self._server.add_generic_rpc_handlers((self,))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        await self._server.start()

    async def stop(self) -> None:
        """Say GOAWAY and end."""
        self._let_go.set()
        if self._ending is not None:
            await self._ending
            self._ending = None
        if self._server is not None:
            await self._server.stop(0.5)
            self._server = None

    async def restart(self) -> None:
        """Come back on the same port."""
        await self.stop()
        await self.start(self.port)

    async def renew(self) -> None:
        """Forget everything, on another port: clients keep how often a server failed by its address."""
        await self.stop()
        self.plan.clear()
        self.received.clear()
        self._let_go.clear()
        await self.start()

    async def arrived(self, count: int) -> None:
        """Wait until so many calls have come. TimeoutError after ten seconds."""
        async with asyncio.timeout(10), self._arrival:
            await self._arrival.wait_for(lambda: len(self.received) >= count)

    def goaway(self) -> None:
        """Say GOAWAY and take no new calls; those under way have half a minute."""
        assert self._server is not None
        self._ending, self._server = asyncio.create_task(_stop(self._server)), None

    def let_go(self) -> None:
        """Answer the calls that are held."""
        self._let_go.set()


async def _stop(server: grpc.aio.Server) -> None:
    await server.stop(30)


def _response(method: str, planned: Mapping[str, Any]) -> bytes:
    if "hex" in planned:
        return bytes.fromhex(re.sub(r"#.*", "", planned["hex"]))
    if "size" in planned:
        return padded(planned["size"])
    if "json" not in planned:
        return b""
    response: Message = GetMessageClass(_descriptor(method).output_type)()
    return json_format.ParseDict(planned["json"], response).SerializeToString()


def request_type(method: str) -> Any:
    """The class of a method's requests."""
    return GetMessageClass(_descriptor(method).input_type)


def _descriptor(method: str) -> Any:
    service, _, name = method.strip("/").partition("/")
    return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]


def padded(size: int) -> bytes:
    """A message of exactly so many bytes, at least ten, with a single field that no contract has."""
    tag = _varint(_UNKNOWN_FIELD << 3 | 2)
    for width in range(1, 5):
        length = size - len(tag) - width
        if len(_varint(length)) == width:
            return tag + _varint(length) + b"x" * length
    raise ValueError(f"no message has {size} bytes")


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


async def _fail(context: Any, how: Mapping[str, Any]) -> None:
    code = grpc.StatusCode[how.get("code", "UNAVAILABLE")]
    status = status_pb2.Status(code=code.value[0], message="as told")
    trailers: list[tuple[str, Any]] = []
    abort: Callable[..., Awaitable[Any]] = context.abort
    for detail in _details(how):
        status.details.add().Pack(detail)
    if how.get("unknown_detail"):
        status.details.append(
            AnyMessage(type_url="type.googleapis.com/muniment.v9.Unheard", value=b"\x08\x01")
        )
    pushback = how.get("pushback", how.get("retry_after_ms"))
    if pushback is not None and pushback is not False:
        trailers.append(("grpc-retry-pushback-ms", str(pushback)))
    if status.details:
        trailers.append(("grpc-status-details-bin", status.SerializeToString()))
    await abort(code, "as told", tuple(trailers))


def _details(how: Mapping[str, Any]) -> list[Message]:
    details: list[Message] = []
    if how.get("reason"):
        details.append(
            error_details_pb2.ErrorInfo(
                reason=how["reason"], domain="muniment.dev", metadata=how.get("metadata", {})
            )
        )
    if how.get("retry_after_ms") is not None:
        delay = Duration()
        delay.FromMilliseconds(how["retry_after_ms"])
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if "resource" in how:
        details.append(error_details_pb2.ResourceInfo(resource_type="memory", resource_name=how["resource"]))
    if "precondition" in how:
        failure = error_details_pb2.PreconditionFailure()
        failure.violations.add(type="STATE", subject=how["precondition"])
        details.append(failure)
    if "quota" in how:
        exceeded = error_details_pb2.QuotaFailure()
        exceeded.violations.add(subject="tenant", description=how["quota"])
        details.append(exceeded)
    if "request_info" in how:
        details.append(error_details_pb2.RequestInfo(request_id=how["request_info"]))
    if "violations" in how:
        bad = error_details_pb2.BadRequest()
        for each in how["violations"]:
            bad.field_violations.add(field=each["field"], reason=each["rule"])
        details.append(bad)
    return details
