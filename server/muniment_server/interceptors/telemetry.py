"""First stage: the server span, its trace context, and the duration metric."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Final

import grpc
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from muniment_server.interceptors.call import Call, ServicerContext
from muniment_server.telemetry import names
from muniment_server.telemetry.active import SERVER_ERROR_CODES
from muniment_server.telemetry.instruments import instruments

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_NO_PARENT: Final = Context()
_ERROR: Final = Status(StatusCode.ERROR)


class TelemetryStage:
    """Opens the server span, continues the caller's trace, and counts the call however it ends.

    server_address, server_port: what this server listens on, for the span.
    """

    name = "telemetry"

    def __init__(self, server_address: str | None = None, server_port: int | None = None) -> None:
        self._server_address = server_address
        self._server_port = server_port

    async def __call__(self, call: Call) -> object:
        state = instruments()
        parent = _parent(call)
        span = state.tracer.start_span(
            call.method,
            context=parent,
            kind=SpanKind.SERVER,
            attributes=self._attributes(call) if state.tracing else None,
        )
        ids = span.get_span_context()
        if ids.is_valid:
            call.trace_id = f"{ids.trace_id:032x}"
            call.span_id = f"{ids.span_id:016x}"
        else:
            # Telemetry is switched off altogether; errors and the audit still need an id.
            call.trace_id = secrets.token_hex(16)
            call.span_id = secrets.token_hex(8)
        token = otel_context.attach(trace.set_span_in_context(span, parent))
        code = "UNKNOWN"
        try:
            answer = await call.proceed()
            code = _status_name(call.context, "OK")
            return answer
        except grpc.aio.AbortError:
            code = _status_name(call.context, code)
            raise
        except asyncio.CancelledError:
            code = _cancelled(call.context)
            raise
        finally:
            otel_context.detach(token)
            server_error = code in SERVER_ERROR_CODES
            if span.is_recording():
                _finish(span, call, code, server_error)
            span.end()
            if state.metrics.enabled:
                state.metrics.rpc(
                    call.method, code, time.perf_counter() - call.started, server_error=server_error
                )

    def _attributes(self, call: Call) -> dict[str, AttributeValue]:
        attributes: dict[str, AttributeValue] = {
            names.RPC_SYSTEM_NAME: names.RPC_SYSTEM_GRPC,
            names.RPC_METHOD: call.method,
        }
        if self._server_address is not None:
            attributes[names.SERVER_ADDRESS] = self._server_address
        if self._server_port is not None:
            attributes[names.SERVER_PORT] = self._server_port
        address, port = parse_peer(call.context.peer())
        if address is not None:
            attributes[names.NETWORK_PEER_ADDRESS] = address
        if port is not None:
            attributes[names.NETWORK_PEER_PORT] = port
        return attributes


def _parent(call: Call) -> Context:
    traceparent = call.first("traceparent")
    if traceparent is None:
        return _NO_PARENT
    carrier = {"traceparent": traceparent}
    tracestate = call.first("tracestate")
    if tracestate is not None:
        carrier["tracestate"] = tracestate
    return _PROPAGATOR.extract(carrier, _NO_PARENT)


def _finish(span: Span, call: Call, code: str, server_error: bool) -> None:
    span.set_attribute(names.RPC_STATUS_CODE, code)
    if call.error is not None:
        span.set_attribute(names.ERROR_REASON, call.error.reason)
    if server_error:
        span.set_attribute(names.ERROR_TYPE, code)
        span.set_status(_ERROR)


def _status_name(context: ServicerContext, default: str) -> str:
    # A StatusCode, or 0 while none was set, whatever the stubs say.
    code: object = context.code()
    if isinstance(code, grpc.StatusCode):
        return code.name
    return _BY_NUMBER.get(code, default) if isinstance(code, int) else default


_BY_NUMBER: Final[dict[int, str]] = {code.value[0]: code.name for code in grpc.StatusCode}


def _cancelled(context: ServicerContext) -> str:
    # None for a call without a deadline, whatever the stubs say.
    remaining: float | None = context.time_remaining()
    return "DEADLINE_EXCEEDED" if remaining is not None and remaining <= 0 else "CANCELLED"


def parse_peer(peer: str) -> tuple[str | None, int | None]:
    """Address and port from gRPC's `ipv4:1.2.3.4:5`, `ipv6:%5B::1%5D:5` or `unix:path`."""
    family, _, rest = peer.partition(":")
    if family not in ("ipv4", "ipv6"):
        return None, None
    address, _, port = rest.rpartition(":")
    address = address.replace("%5B", "").replace("%5D", "").strip("[]")
    return address or None, int(port) if port.isdecimal() else None
