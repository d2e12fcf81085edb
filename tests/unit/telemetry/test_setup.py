"""Exporters by the standard variables, and nothing on the network without them."""

import io
import json
import logging
import re
import socket
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from rich.console import Console

from muniment_server.storage.queries import compile_statement
from muniment_server.telemetry import names, setup, spans
from muniment_server.telemetry.console import SpanTreeExporter
from muniment_server.telemetry.instruments import metrics, use
from muniment_server.telemetry.logs import Formatter, configure_logging, describe_exception
from support.telemetry import recording

MARKER = "PII-8841 jo@example.test"


@pytest.fixture(autouse=True)
def _restored() -> Any:
    before = use(setup.Instruments())
    yield
    use(before)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_default_exports_nothing_and_still_has_ids() -> None:
    telemetry = setup.configure(environ={})
    assert telemetry.tracer_provider.sampler is ALWAYS_OFF
    assert not telemetry.instruments.tracing
    assert not telemetry.instruments.metrics.enabled
    assert not telemetry.instruments.capture_content
    context = telemetry.instruments.tracer.start_span("x").get_span_context()
    assert context.is_valid
    assert not context.trace_flags.sampled
    telemetry.shutdown()


@pytest.mark.parametrize(
    ("environ", "tracing", "measuring"),
    [
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, False, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "console,otlp"}, True, False),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, False, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, False, True),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, False, False),
    ],
)
def test_variables_choose_the_exporters(environ: dict[str, str], tracing: bool, measuring: bool) -> None:
    telemetry = setup.configure(environ=environ)
    try:
        assert telemetry.instruments.tracing is tracing
        assert telemetry.instruments.metrics.enabled is measuring
        processors = telemetry.tracer_provider._active_span_processor._span_processors
        assert all(isinstance(each, BatchSpanProcessor) for each in processors)
    finally:
        telemetry.tracer_provider.shutdown()


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({"OTEL_TRACES_EXPORTER": "jaeger"}, "OTEL_TRACES_EXPORTER"),
        ({"OTEL_METRICS_EXPORTER": "console"}, "OTEL_METRICS_EXPORTER"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        ),
        (
            {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": "x"},
            "OTEL_EXPORTER_PROMETHEUS_PORT",
        ),
    ],
)
def test_unknown_values_name_their_variable(environ: dict[str, str], variable: str) -> None:
    with pytest.raises(setup.TelemetryError, match=variable) as caught:
        setup.configure(environ=environ)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("true", True),
        ("TRUE", True),
        ("1", True),
        ("SPAN_ONLY", True),
        ("false", False),
        ("", False),
        ("NO_CONTENT", False),
    ],
)
def test_capture_switch(value: str, expected: bool) -> None:
    assert setup.capture_content({setup.CAPTURE_VARIABLE: value}) is expected


def test_service_name_is_ours_unless_given() -> None:
    assert setup._resource("1.0", {}).attributes["service.name"] == "muniment"
    assert setup._resource("1.0", {}).attributes["service.version"] == "1.0"
    assert "service.name" not in setup._resource("", {"OTEL_SERVICE_NAME": "mine"}).attributes or (
        setup._resource("", {"OTEL_SERVICE_NAME": "mine"}).attributes["service.name"] != "muniment"
    )


def test_span_made_just_before_the_end_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    telemetry = setup.configure(environ={"OTEL_TRACES_EXPORTER": "otlp"})
    with spans.memory_span(names.OP_SEARCH_MEMORY):
        pass
    telemetry.shutdown()
    server.shutdown()
    server.server_close()
    assert len(received) == 1
    assert b"search_memory" in received[0]


async def test_collector_that_does_not_answer_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    telemetry = setup.configure(environ={"OTEL_TRACES_EXPORTER": "otlp"})
    with spans.memory_span(names.OP_SEARCH_MEMORY):
        pass
    started = time.monotonic()
    await telemetry.aclose(timeout=1.0)
    assert time.monotonic() - started < 3


def test_prometheus_endpoint() -> None:
    port = free_port()
    environ = {
        "OTEL_METRICS_EXPORTER": "prometheus",
        "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(port),
    }
    telemetry = setup.configure(environ=environ)
    try:
        metrics().rpc("muniment.v1.MemoryService/Recall", "OK", 0.01, server_error=False)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        assert 'rpc_server_call_duration_seconds_count{rpc_method="muniment.v1.MemoryService/Recall"' in text
        with pytest.raises(setup.TelemetryError, match="OTEL_EXPORTER_PROMETHEUS_PORT: cannot listen"):
            setup.configure(environ=environ)
    finally:
        telemetry.shutdown()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=1)


def test_what_an_alert_counts_the_increase_of_stands_at_nought_from_the_start() -> None:
    alerts = (Path(__file__).parents[3] / "docs" / "sre.md").read_text("utf-8")
    counted = set(re.findall(r"increase\((\w+)", alerts))
    assert len(counted) == 2
    port = free_port()
    telemetry = setup.configure(
        environ={
            "OTEL_METRICS_EXPORTER": "prometheus",
            "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(port),
        }
    )
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    finally:
        telemetry.shutdown()
    assert counted == {line.removesuffix(" 0.0") for line in lines if line.removesuffix(" 0.0") in counted}


def test_console_prints_one_tree_per_call() -> None:
    out = io.StringIO()
    exporter = SpanTreeExporter(Console(file=out, width=200, no_color=True))
    telemetry = setup.configure(environ={}, span_processors=[SimpleSpanProcessor(exporter)])
    with spans.memory_span(names.OP_SEARCH_MEMORY, store_id="store-1") as root:
        with spans.leg_span("vector", top_k=5), spans.sql_span(compile_statement("recall_legs", "SELECT 1")):
            pass
        with spans.pack_span("approximate", inputs=3):
            pass
        assert out.getvalue() == ""
        spans.record_offered(root, ["m1", "m2", "m3", "m4", "m5"], [0.5] * 5, [1] * 5)
    telemetry.shutdown()
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[0].startswith("search_memory  ")
    assert "memory.ids=[m1, m2, m3, +2]" in lines[0]
    assert lines[1].startswith("├── retrieval memory_vectors")
    assert lines[2].startswith("│   └── recall_legs")
    assert lines[3].startswith("└── muniment.recall.pack")
    assert exporter._waiting == {}


def test_console_forgets_traces_that_never_end() -> None:
    exporter = SpanTreeExporter(Console(file=io.StringIO()))
    with recording() as recorded:
        for _ in range(600):
            with spans.memory_span(names.OP_SEARCH_MEMORY), spans.pack_span("t", inputs=1):
                pass
        children = [each for each in recorded.spans() if each.parent is not None]
    exporter.export(children)
    assert len(exporter._waiting) == 256


# --- logs ---------------------------------------------------------------------------------------


def _record(
    msg: str = "call %s", args: tuple[object, ...] = ("failed",), exc_info: Any = None
) -> logging.LogRecord:
    return logging.LogRecord("muniment.x", logging.ERROR, "f.py", 1, msg, args, exc_info)


def test_logs_never_quote_an_exception() -> None:
    try:
        try:
            raise KeyError(MARKER)
        except KeyError as inner:
            raise ValueError(MARKER) from inner
    except ValueError as error:
        record = _record(exc_info=(type(error), error, error.__traceback__))
        described = describe_exception(error)
    for as_json in (True, False):
        line = Formatter(as_json=as_json).format(record)
        assert "\n" not in line
        assert MARKER not in line
        assert "ValueError" in line
        assert "KeyError" in line
    assert "test_logs_never_quote_an_exception" in described


def test_one_record_is_one_line() -> None:
    for as_json in (True, False):
        line = Formatter(as_json=as_json).format(_record(msg="a\nb", args=()))
        assert "\n" not in line


def test_json_lines_carry_the_trace() -> None:
    with recording(), spans.memory_span(names.OP_SEARCH_MEMORY):
        record = _record()
        record.method = "m"
        entry = json.loads(Formatter(as_json=True).format(record))
    assert entry["message"] == "call failed"
    assert (entry["level"], entry["logger"], entry["method"]) == ("ERROR", "muniment.x", "m")
    assert len(entry["trace_id"]) == 32


def test_logging_is_configured_once_and_libraries_are_quiet() -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    import sys

    hook = sys.excepthook
    out = io.StringIO()
    try:
        configure_logging("debug", as_json=True, stream=out)
        configure_logging("debug", as_json=True, stream=out)
        logging.getLogger("muniment.x").debug("hello")
        logging.getLogger("psycopg.pool").info("connection string")
        assert len(out.getvalue().splitlines()) == 1
    finally:
        sys.excepthook = hook
        root.handlers[:] = handlers
        root.setLevel(level)
        for name in (
            "grpc",
            "psycopg",
            "psycopg.pool",
            "urllib3",
            "httpx",
            "httpcore",
            "asyncio",
            "opentelemetry",
        ):
            logging.getLogger(name).setLevel(logging.NOTSET)
