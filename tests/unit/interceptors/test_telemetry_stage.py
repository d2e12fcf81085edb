"""The server span and its metric, on every way a call can end."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from muniment_server.domain import errors as reasons
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import MethodClass
from muniment_server.interceptors.telemetry import parse_peer
from muniment_server.telemetry import names, setup
from support.rpc import RPCS, VALID, serving
from support.telemetry import recording

RECALL = "muniment.v1.MemoryService/Recall"
TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
MARKER = "PII-8841 jo@example.test"


def raising(error: BaseException) -> Any:
    async def handler(_request: Any, _context: Any) -> Any:
        raise error

    return handler


async def test_span_of_a_call() -> None:
    with recording() as recorded:
        async with serving() as rpc:
            request = memory_service_pb2.WriteRequest()
            request.CopyFrom(VALID["Write"])
            request.request_id = "0190b0a0-0000-7000-8000-00000000000A"
            await rpc.call("Write", request)
            tenant = str(rpc.directory.tenants["t1"])
        span = recorded.span("muniment.v1.MemoryService/Write")
        attributes = dict(span.attributes or {})
        assert attributes.pop(names.NETWORK_PEER_PORT)
        assert attributes == {
            "rpc.system.name": "grpc",
            "rpc.method": "muniment.v1.MemoryService/Write",
            "rpc.response.status_code": "OK",
            "server.address": "127.0.0.1",
            "server.port": 7443,
            "network.peer.address": "127.0.0.1",
            "muniment.tenant.id": tenant,
            "muniment.request.id": "0190b0a0-0000-7000-8000-00000000000a",
        }
        assert span.kind is SpanKind.SERVER
        assert span.parent is None
        assert span.status.status_code is StatusCode.UNSET
        assert span.events == ()
        scope = span.instrumentation_scope
        assert scope is not None
        assert (scope.name, scope.schema_url) == ("muniment", names.SCHEMA_URL)
        (point,) = recorded.metrics()["rpc.server.call.duration"]
        assert dict(point.attributes) == {
            "rpc.system.name": "grpc",
            "rpc.method": "muniment.v1.MemoryService/Write",
            "rpc.response.status_code": "OK",
        }
        assert tuple(point.explicit_bounds) == names.RPC_BUCKETS
        assert point.count == 1


@pytest.mark.parametrize(
    ("error", "code", "reason", "fault"),
    [
        (reasons.MemoryNotFound("m"), "NOT_FOUND", "MEMORY_NOT_FOUND", False),
        (reasons.RevisionConflict("m"), "ABORTED", "REVISION_CONFLICT", False),
        (reasons.MemoryErased("m"), "FAILED_PRECONDITION", "MEMORY_ERASED", False),
        (reasons.RequestIdPayloadMismatch("r"), "ALREADY_EXISTS", "REQUEST_ID_PAYLOAD_MISMATCH", False),
        (reasons.Overloaded(), "RESOURCE_EXHAUSTED", "OVERLOADED", False),
        (reasons.ConsistencyTokenExpired("f"), "OUT_OF_RANGE", "CONSISTENCY_TOKEN_EXPIRED", False),
        (reasons.DatabaseUnavailable(), "UNAVAILABLE", "DATABASE_UNAVAILABLE", True),
        (reasons.DeadlineExceeded(), "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", True),
        (reasons.IntegrityViolation(), "DATA_LOSS", "INTEGRITY_VIOLATION", True),
        (reasons.Unimplemented(), "UNIMPLEMENTED", "UNIMPLEMENTED", True),
        (RuntimeError(MARKER), "INTERNAL", "INTERNAL", True),
    ],
)
async def test_only_faults_of_the_server_are_errors(
    error: BaseException, code: str, reason: str, fault: bool
) -> None:
    with recording() as recorded:
        async with serving() as rpc:
            rpc.handlers.custom["Recall"] = raising(error)
            failure = await rpc.fails("Recall")
        span = recorded.span(RECALL)
        attributes = dict(span.attributes or {})
        assert attributes["rpc.response.status_code"] == code == failure.code
        assert attributes["muniment.error.reason"] == reason
        assert attributes.get("error.type") == (code if fault else None)
        assert span.status.status_code is (StatusCode.ERROR if fault else StatusCode.UNSET)
        assert span.status.description is None
        assert span.events == ()
        (point,) = recorded.metrics()["rpc.server.call.duration"]
        assert point.attributes["rpc.response.status_code"] == code
        assert point.attributes.get("error.type") == (code if fault else None)


async def test_refusals_carry_their_reason() -> None:
    with recording() as recorded:
        async with serving() as rpc:
            await rpc.fails("Recall", metadata=())
            await rpc.fails("Recall", metadata=rpc.metadata(tenant="t2"))
        found = [dict(span.attributes or {}) for span in recorded.spans()]
        assert [each["muniment.error.reason"] for each in found] == [
            "CREDENTIALS_MISSING",
            "PERMISSION_DENIED",
        ]
        assert all("muniment.tenant.id" not in each for each in found)


async def test_callers_trace_is_continued() -> None:
    with recording() as recorded:
        async with serving() as rpc:
            context = ("traceparent", f"00-{TRACE}-{SPAN}-01")
            seen: list[trace.SpanContext] = []

            async def handler(_request: Any, _context: Any) -> Any:
                seen.append(trace.get_current_span().get_span_context())
                return memory_service_pb2.RecallResponse()

            rpc.handlers.custom["Recall"] = handler
            await rpc.call("Recall", metadata=(*rpc.metadata(), context, ("tracestate", "vendor=1")))
        span = recorded.span(RECALL)
        assert span.parent is not None
        assert f"{span.parent.span_id:016x}" == SPAN
        assert f"{span.context.trace_id:032x}" == TRACE
        assert span.parent.is_remote
        assert span.context.trace_state.get("vendor") == "1"
        assert seen == [span.context]


async def test_binary_and_malformed_trace_contexts_do_not_count() -> None:
    other = "1" * 32
    with recording() as recorded:
        async with serving() as rpc:
            await rpc.call(
                "Recall",
                metadata=(
                    *rpc.metadata(),
                    ("traceparent-bin", f"00-{other}-{SPAN}-01".encode()),
                    ("traceparent", f"00-{TRACE}-{SPAN}-01"),
                ),
            )
            await rpc.call("Recall", metadata=(*rpc.metadata(), ("traceparent", "nonsense")))
        first, second = recorded.spans()
        assert f"{first.context.trace_id:032x}" == TRACE
        assert second.parent is None


async def test_ids_exist_without_any_exporter() -> None:
    telemetry = setup.configure(environ={})
    try:
        async with serving() as rpc:
            rpc.handlers.custom["Recall"] = raising(RuntimeError())
            failure = await rpc.fails(
                "Recall", metadata=(*rpc.metadata(), ("traceparent", f"00-{TRACE}-{SPAN}-01"))
            )
            assert failure.details["RequestInfo"].request_id == TRACE
            failure = await rpc.fails("Recall")
            own = failure.details["RequestInfo"].request_id
            assert len(own) == 32
            assert own not in (TRACE, "0" * 32)
    finally:
        telemetry.shutdown()


async def test_ids_exist_with_the_sdk_switched_off() -> None:
    telemetry = setup.configure(environ={"OTEL_SDK_DISABLED": "true"})
    try:
        async with serving() as rpc:
            rpc.handlers.custom["Recall"] = raising(RuntimeError())
            own = (await rpc.fails("Recall")).details["RequestInfo"].request_id
            assert len(own) == 32
            assert own != "0" * 32
    finally:
        telemetry.shutdown()


async def test_unknown_methods_are_counted_under_one_name() -> None:
    with recording() as recorded:
        async with serving() as rpc:
            for path in ("/muniment.v1.MemoryService/Nope", "/x.Y/Z"):
                with pytest.raises(grpc.aio.AioRpcError):
                    await rpc.channel.unary_unary(path)(b"", timeout=5)
        assert [span.name for span in recorded.spans()] == ["_OTHER", "_OTHER"]
        (point,) = recorded.metrics()["rpc.server.call.duration"]
        assert (point.attributes["rpc.method"], point.count) == ("_OTHER", 2)
        assert point.attributes["rpc.response.status_code"] == "UNIMPLEMENTED"


async def test_abort_of_a_handler_is_recorded_with_its_code() -> None:
    async def handler(_request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.NOT_FOUND, MARKER)

    async def set_code(_request: Any, context: Any) -> Any:
        context.set_code(grpc.StatusCode.OUT_OF_RANGE)
        return memory_service_pb2.RecallResponse()

    with recording() as recorded:
        async with serving() as rpc:
            rpc.handlers.custom["Recall"] = handler
            await rpc.fails("Recall")
            rpc.handlers.custom["Recall"] = set_code
            await rpc.fails("Recall")
        codes = [(span.attributes or {})["rpc.response.status_code"] for span in recorded.spans()]
        assert codes == ["NOT_FOUND", "OUT_OF_RANGE"]
        assert all(span.events == () for span in recorded.spans())
        assert MARKER not in recorded.everything()


@pytest.mark.parametrize("slots", [100, 10])
async def test_hundred_cancelled_calls_end_their_spans_and_log_no_error(
    slots: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With 100 slots most run when they are cancelled, with 10 slots 91 wait in line."""
    caplog.set_level(logging.DEBUG)

    async def handler(_request: Any, _context: Any) -> Any:
        await asyncio.sleep(30)

    limits = LimitStage({MethodClass.RECALL: slots}, waiting_per_slot=10, patience=20)
    limiter = limits.limiters[MethodClass.RECALL]
    with recording() as recorded:
        async with serving(limits=limits) as rpc:
            rpc.handlers.custom["Recall"] = handler
            calls = [
                rpc.method("Recall")(VALID["Recall"], metadata=rpc.metadata(), timeout=40) for _ in range(100)
            ]
            waiting = [asyncio.ensure_future(_swallow(call)) for call in calls]
            await _until(lambda: limiter.held + limiter.waiting == 100)
            assert limiter.held == slots - slots // 8
            for call in calls:
                call.cancel()
            await asyncio.gather(*waiting)
            await _until(lambda: len(recorded.spans()) == 100)
            assert (limiter.held, limiter.waiting) == (0, 0)
        spans = recorded.spans()
        assert {(span.attributes or {})["rpc.response.status_code"] for span in spans} == {"CANCELLED"}
        assert {span.status.status_code for span in spans} == {StatusCode.UNSET}
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert "Failed to detach" not in caplog.text


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("did not come true")


async def _swallow(call: Any) -> None:
    try:
        await call
    except (asyncio.CancelledError, grpc.aio.AioRpcError):
        return


async def test_streams_are_recorded_and_detach_cleanly(caplog: pytest.LogCaptureFixture) -> None:
    async def endless(_request: Any, _context: Any) -> Any:
        from muniment_server._gen.muniment.v1 import audit_pb2

        while True:
            yield audit_pb2.ExportAuditResponse()
            await asyncio.sleep(0.001)

    with recording() as recorded:
        async with serving() as rpc:
            await rpc.call("ExportAudit")
            rpc.handlers.stream = endless
            call = rpc.method("ExportAudit")(VALID["ExportAudit"], metadata=rpc.metadata(), timeout=10)
            async for _ in call:
                break
            call.cancel()
            await _until(lambda: len(recorded.spans()) == 2)
        codes = [(span.attributes or {})["rpc.response.status_code"] for span in recorded.spans()]
        assert codes == ["OK", "CANCELLED"]
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_marker_and_credential_leave_the_process_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scope = memory_pb2.Scope(subject=MARKER)
    item = write_pb2.WriteItem(content=MARKER, kind=memory_pb2.MEMORY_KIND_FACT, tags=["x"])
    requests = {
        "Write": memory_service_pb2.WriteRequest(scope=scope, items=[item]),
        "Recall": memory_service_pb2.RecallRequest(scope=scope, query=MARKER),
        "Supersede": memory_service_pb2.SupersedeRequest(memory_id=VALID["GetMemory"].memory_id, item=item),  # type: ignore[attr-defined]
        "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=scope),
    }
    with recording() as recorded:
        async with serving() as rpc:
            secret = rpc.key.secret
            noise = (("muniment-client", MARKER), ("x-note", MARKER), ("baggage", f"note={MARKER}"))
            for name in RPCS:
                await rpc.call(name, requests.get(name), metadata=(*rpc.metadata(), *noise))
                await rpc.fails(name, requests.get(name), metadata=rpc.metadata(tenant=MARKER))
            invalid = memory_service_pb2.WriteRequest(scope=scope, items=[item], request_id=MARKER)
            await rpc.fails("Write", invalid)
            for error in (RuntimeError(MARKER), KeyError(MARKER), UnicodeError(MARKER)):
                rpc.handlers.custom["Recall"] = raising(error)
                await rpc.fails("Recall", requests["Recall"])
        assert len(recorded.spans()) == 2 * len(RPCS) + 4
        for marker in (MARKER, "PII-8841", "example.test", secret):
            assert marker not in recorded.everything()
            assert marker not in caplog.text


def test_peers_are_parsed() -> None:
    assert parse_peer("ipv4:127.0.0.1:41706") == ("127.0.0.1", 41706)
    assert parse_peer("ipv6:%5B::1%5D:41706") == ("::1", 41706)
    assert parse_peer("ipv6:[::1]:41706") == ("::1", 41706)
    assert parse_peer("unix:/tmp/socket") == (None, None)
    assert parse_peer("") == (None, None)
