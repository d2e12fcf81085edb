"""Spans, trace context, and the proof which memories entered a prompt."""

import logging
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import muniment
from client.peer import Fail, Peer
from muniment.v1 import memory_service_pb2, recall_pb2

MARKER = "PII-8841 jo@example.test"
ID = "01890000-0000-7000-8000-000000000001"

_exporter = InMemorySpanExporter()
_metrics = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[_metrics]))


@pytest.fixture
def spans() -> Iterator[Any]:
    def finished(name: str | None = None) -> list[ReadableSpan]:
        return [span for span in _exporter.get_finished_spans() if name in (None, span.name)]

    _exporter.clear()
    yield finished
    _exporter.clear()


def recall_response(count: int = 3, packed: bool = True) -> memory_service_pb2.RecallResponse:
    ids = [f"m{number}" for number in range(count)]
    return memory_service_pb2.RecallResponse(
        recall_id=ID,
        memories=[recall_pb2.RankedMemory(memory={"memory_id": each, "content": MARKER}) for each in ids],
        packed_context=recall_pb2.PackedContext(text=MARKER, memory_ids=ids[:2]) if packed else None,
    )


@pytest.fixture(autouse=True)
def answers(peer: Peer) -> None:
    peer.answer("Recall", recall_response())
    peer.answer("Write", memory_service_pb2.WriteResponse())
    peer.answer("Supersede", memory_service_pb2.SupersedeResponse(memory={"memory_id": "new"}))
    peer.answer("Erase", memory_service_pb2.EraseResponse(receipt={"counts": {"memories": 4}}))
    peer.answer("GetMemory", memory_service_pb2.GetMemoryResponse())
    peer.answer("ReportUse", memory_service_pb2.ReportUseResponse())


async def test_memory_spans(client: Any, peer: Peer, spans: Any) -> None:
    port = int(peer.target.rpartition(":")[2])
    common = {"gen_ai.provider.name": "muniment", "server.address": "127.0.0.1", "server.port": port}
    await client.recall("q", subject="u", agent="bot", session="s1")
    await client.write(["x", "y"], subject="u", request_id=ID)
    await client.supersede(ID, "x", request_id=ID)
    await client.erase(subject="u", request_id=ID)
    assert {span.name: dict(span.attributes) for span in spans()} == {
        "search_memory": common
        | {
            "gen_ai.operation.name": "search_memory",
            "gen_ai.memory.record.count": 3,
            "gen_ai.agent.id": "bot",
            "gen_ai.conversation.id": "s1",
            "muniment.recall.id": ID,
        },
        "upsert_memory": common
        | {
            "gen_ai.operation.name": "upsert_memory",
            "gen_ai.memory.record.count": 2,
            "muniment.request.id": ID,
        },
        "update_memory": common
        | {
            "gen_ai.operation.name": "update_memory",
            "gen_ai.memory.record.id": ID,
            "gen_ai.memory.record.count": 1,
            "muniment.supersede.new_id": "new",
            "muniment.request.id": ID,
        },
        "delete_memory": common
        | {
            "gen_ai.operation.name": "delete_memory",
            "gen_ai.memory.record.count": 4,
            "muniment.request.id": ID,
        },
    }
    assert {span.kind for span in spans()} == {SpanKind.CLIENT}
    assert {span.status.status_code for span in spans()} == {StatusCode.UNSET}


async def test_other_calls_are_rpc_spans(client: Any, spans: Any) -> None:
    await client.get_memory(ID)
    [span] = spans()
    assert span.name == "muniment.v1.MemoryService/GetMemory"
    assert span.attributes["rpc.system.name"] == "grpc"
    assert span.attributes["rpc.method"] == span.name
    assert span.attributes["rpc.response.status_code"] == "OK"


async def test_trace_context_travels(client: Any, peer: Peer, spans: Any) -> None:
    with trace.get_tracer("test").start_as_current_span("turn") as turn:
        await client.recall("q", subject="u")
        assert trace.get_current_span() is turn
    [span] = spans("search_memory")
    assert span.parent.span_id == turn.get_span_context().span_id
    [header] = peer.last("Recall").values("traceparent")
    assert str(header).startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-")
    assert not peer.last("Recall").values("baggage")


async def test_repetitions_are_one_span(client: Any, peer: Peer, spans: Any) -> None:
    peer.answer("Recall", Fail(grpc.StatusCode.UNAVAILABLE), recall_response())
    await client.recall("q", subject="u")
    assert len(spans()) == 1
    assert len({call.values("traceparent")[0] for call in peer.received}) == 1


async def test_failed_calls(client: Any, peer: Peer, spans: Any) -> None:
    peer.answer("Recall", Fail(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", MARKER))
    with pytest.raises(muniment.InvalidRequest) as raised:
        await client.recall(MARKER, subject="u")
    [span] = spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert span.attributes["error.type"] == span.attributes["muniment.error.reason"] == "INVALID_REQUEST"
    assert not span.events
    assert raised.value.trace_id == f"{span.context.trace_id:032x}"


async def test_no_content_in_telemetry(
    client: Any, peer: Peer, spans: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await client.write(MARKER, subject=MARKER, tags=[MARKER], properties={"p": MARKER})
    recalled = await client.recall(MARKER, subject=MARKER)
    async with client.model_call(recalled):
        pass
    await client.erase(subject=MARKER)
    peer.answer("Recall", Fail(grpc.StatusCode.INTERNAL, "INTERNAL", MARKER))
    with pytest.raises(muniment.InternalError):
        await client.recall(MARKER, subject=MARKER)
    everything = "".join(span.to_json() for span in spans()) + str(_metrics.get_metrics_data())
    assert len(spans()) >= 5
    for secret in (MARKER, "PII-8841", "mk_dev_5ecret"):
        assert secret not in everything
        assert secret not in "".join(
            record.getMessage() for record in caplog.records if record.name.startswith("muniment")
        )


async def test_duration_metric(client: Any, peer: Peer) -> None:
    await client.recall("q", subject="u")
    data = _metrics.get_metrics_data()
    found = [
        point
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "rpc.client.call.duration" and metric.unit == "s"
        for point in metric.data.data_points
        if point.attributes.get("server.port") == int(peer.target.rpartition(":")[2])
    ]
    [point] = found
    assert point.attributes["rpc.method"] == "muniment.v1.MemoryService/Recall"
    assert point.attributes["rpc.response.status_code"] == "OK"
    assert len(point.explicit_bounds) == 14


# --- the prompt's own span ----------------------------------------------------------------------------


async def test_model_call_stamps_the_callers_span_and_reports(client: Any, peer: Peer, spans: Any) -> None:
    recalled = await client.recall("q", subject="u")
    with trace.get_tracer("test").start_as_current_span("chat some-model"):
        async with client.model_call(recalled, model="some-model", prompt_ref="run-1"):
            pass
    [chat] = spans("chat some-model")
    [search] = spans("search_memory")
    stamped = {"muniment.recall.id": ID, "muniment.recall.memory.ids": ("m0", "m1")}
    assert dict(chat.attributes) == stamped
    [link] = chat.links
    assert link.context.span_id == search.context.span_id
    assert dict(link.attributes) == stamped
    report = peer.last("ReportUse").request
    assert (report.recall_id, list(report.memory_ids)) == (ID, ["m0", "m1"])
    assert (report.model, report.prompt_ref, report.outcome) == ("some-model", "run-1", 0)
    assert report.request_id
    assert not spans("muniment.model_call")


async def test_model_call_without_a_span_makes_one(client: Any, spans: Any) -> None:
    recalled = await client.recall("q", subject="u")
    async with client.model_call(recalled):
        inner = trace.get_current_span()
        assert inner.is_recording()
    [span] = spans("muniment.model_call")
    assert span.context.span_id == inner.get_span_context().span_id
    assert span.attributes["muniment.recall.memory.ids"] == ("m0", "m1")
    assert len(span.links) == 1


async def test_what_really_entered_the_prompt(client: Any, peer: Peer, spans: Any) -> None:
    recalled = await client.recall("q", subject="u")
    async with client.model_call(recalled) as call:
        call.use([recalled[2], "m0"])
        call.outcome = muniment.UseOutcome.HELPFUL
        with trace.get_tracer("test").start_as_current_span("chat") as chat:
            call.stamp(chat)
        with pytest.raises(ValueError, match="not offered"):
            call.use(["m9"])
    report = peer.last("ReportUse").request
    assert list(report.memory_ids) == ["m2", "m0"]
    assert report.outcome == 1
    for name in ("chat", "muniment.model_call"):
        [span] = spans(name)
        assert span.attributes["muniment.recall.memory.ids"] == ("m2", "m0")


async def test_nothing_used_is_reported_too(client: Any, peer: Peer) -> None:
    recalled = await client.recall("q", subject="u")
    async with client.model_call(recalled, memories=[]):
        pass
    assert not peer.last("ReportUse").request.memory_ids


async def test_without_a_packed_context_everything_counts(client: Any, peer: Peer) -> None:
    peer.answer("Recall", recall_response(packed=False))
    recalled = await client.recall("q", subject="u")
    async with client.model_call(recalled):
        pass
    assert list(peer.last("ReportUse").request.memory_ids) == ["m0", "m1", "m2"]


async def test_a_prompt_from_two_recalls(client: Any, peer: Peer, spans: Any) -> None:
    first = await client.recall("q", subject="u")
    other = recall_response()
    other.recall_id = ID.replace("1", "2")
    for index, memory in enumerate(other.memories):
        memory.memory.memory_id = f"n{index}"
    other.packed_context.memory_ids[:] = ["n0"]
    peer.answer("Recall", other)
    second = await client.recall("q", space="team")
    async with client.model_call(first, second):
        pass
    [span] = spans("muniment.model_call")
    assert span.attributes["muniment.recall.memory.ids"] == ("m0", "m1", "n0")
    assert [link.attributes["muniment.recall.id"] for link in span.links] == [ID, second.recall_id]
    reports = [(call.request.recall_id, list(call.request.memory_ids)) for call in peer.calls("ReportUse")]
    assert reports == [(ID, ["m0", "m1"]), (second.recall_id, ["n0"])]


async def test_a_failed_model_call_reports_nothing(client: Any, peer: Peer, spans: Any) -> None:
    recalled = await client.recall("q", subject="u")
    with pytest.raises(RuntimeError, match="no answer"):
        async with client.model_call(recalled):
            raise RuntimeError("no answer")
    assert not peer.calls("ReportUse")
    [span] = spans("muniment.model_call")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "RuntimeError"
    assert not span.events


async def test_a_failed_report_does_not_cost_the_answer(
    client: Any, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    peer.answer("ReportUse", Fail(grpc.StatusCode.NOT_FOUND, "RECALL_NOT_FOUND"))
    recalled = await client.recall("q", subject="u")
    async with client.model_call(recalled) as call:
        pass
    assert call.report_error.reason == "RECALL_NOT_FOUND"
    assert "RECALL_NOT_FOUND" in caplog.text
    with pytest.raises(muniment.NotFound):
        async with client.model_call(recalled, strict=True):
            pass


async def test_stamp_is_capped(client: Any, peer: Peer, spans: Any) -> None:
    peer.answer("Recall", recall_response(120, packed=False))
    recalled = await client.recall("q", subject="u")
    with trace.get_tracer("test").start_as_current_span("chat"):
        recalled.stamp()
    [span] = spans("chat")
    assert len(span.attributes["muniment.recall.memory.ids"]) == 50
    assert span.attributes["muniment.recall.memory.omitted"] == 70


async def test_stamp_without_a_span_does_nothing(client: Any) -> None:
    recalled = await client.recall("q", subject="u")
    recalled.stamp()


async def test_a_stream_leaves_the_callers_span_current(client: Any, peer: Peer, spans: Any) -> None:
    peer.answer("ExportAudit", [Fail(grpc.StatusCode.INTERNAL, "INTERNAL")])
    with trace.get_tracer("test").start_as_current_span("turn") as turn:
        with pytest.raises(muniment.InternalError):
            async for _part in client.export_audit():
                pass
        assert trace.get_current_span() is turn
    [span] = spans("muniment.v1.AuditService/ExportAudit")
    assert span.parent.span_id == turn.get_span_context().span_id
