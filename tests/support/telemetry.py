"""Telemetry that tests can read: spans and metrics in memory, made current for the duration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from muniment_server.telemetry import setup
from muniment_server.telemetry.instruments import use


class _Running(SpanProcessor):
    """Counts the spans that have begun and not ended."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.count += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.count -= 1


class Recorded:
    """What was exported so far."""

    def __init__(
        self, exporter: InMemorySpanExporter, reader: InMemoryMetricReader, running: _Running | None = None
    ) -> None:
        self._exporter = exporter
        self._reader = reader
        self._running = running or _Running()

    def running(self) -> int:
        """How many spans have begun and not ended."""
        return self._running.count

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        """The only finished span of that name."""
        (found,) = [each for each in self.spans() if each.name == name]
        return found

    def clear(self) -> None:
        self._exporter.clear()

    def metrics(self) -> dict[str, list[Any]]:
        """Data points by metric name."""
        points: dict[str, list[Any]] = {}
        data = self._reader.get_metrics_data()
        if data is not None:
            for resource in data.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        points.setdefault(metric.name, []).extend(metric.data.data_points)
        return points

    def everything(self) -> str:
        """All that left the process, as one text to search in."""
        spans = "\n".join(each.to_json() for each in self.spans())
        return spans + repr(self.metrics())


@contextmanager
def recording(*, capture: bool = False) -> Iterator[Recorded]:
    """Record everything until the end of the block."""
    exporter, reader, running = InMemorySpanExporter(), InMemoryMetricReader(), _Running()
    before = use(setup.Instruments())
    telemetry = setup.configure(
        version="test",
        environ={},
        capture=capture,
        span_processors=[running, SimpleSpanProcessor(exporter)],
        metric_readers=[reader],
    )
    try:
        yield Recorded(exporter, reader, running)
    finally:
        use(before)
        telemetry.shutdown()
