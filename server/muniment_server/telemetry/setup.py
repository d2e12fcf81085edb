"""Building tracer and meter from the standard OTEL_* variables.

A tracer provider always exists, so that every call has trace and span ids (or continues the
caller's); without an exporter its sampler is off and a span costs next to nothing. Only batching
processors are used: nothing is exported on the event loop.

| Variable | Values | Default |
| --- | --- | --- |
| OTEL_TRACES_EXPORTER | none, console, otlp (several with commas) | none; otlp if an OTLP endpoint is set |
| OTEL_METRICS_EXPORTER | none, otlp, prometheus | the same |
| OTEL_EXPORTER_OTLP_PROTOCOL (also _TRACES_, _METRICS_) | http/protobuf, grpc | http/protobuf |
| OTEL_EXPORTER_PROMETHEUS_HOST, _PORT | address of the scrape endpoint | localhost, 9464 |
| OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT | true, false | false |

Endpoints, headers, sampler, limits and resource attributes are read by the SDK itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import Instruments, use

_log = logging.getLogger("muniment.telemetry")

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_TRACE_EXPORTERS: Final = frozenset({"console", "otlp"})
_METRIC_EXPORTERS: Final = frozenset({"otlp", "prometheus"})
_PROTOCOLS: Final = frozenset({"http/protobuf", "grpc"})
_CAPTURE_ON: Final = frozenset({"true", "1", "span_only", "span_and_event"})


class TelemetryError(Exception):
    """A telemetry setting that cannot be used; the text is one line that names the variable."""


class Telemetry:
    """The telemetry of one process: its instruments, and how to end them."""

    def __init__(
        self,
        instruments: Instruments,
        tracer_provider: TracerProvider,
        meter_provider: MeterProvider | None,
        closers: Sequence[Callable[[], None]] = (),
    ) -> None:
        self.instruments = instruments
        self.tracer_provider = tracer_provider
        self._meter_provider = meter_provider
        self._closers = closers

    def shutdown(self, timeout: float = 5.0) -> None:
        """Send what is buffered and end the exporters; blocks for `timeout` seconds at most.

        An exporter retries a collector that is away for longer than any timeout it is given, so it
        is left to a thread that does not keep the process alive.
        """
        ending = threading.Thread(target=self._end, args=(int(timeout * 1000),), daemon=True)
        ending.start()
        ending.join(timeout)
        if ending.is_alive():
            _log.warning("telemetry was not delivered within %.1f s and is lost", timeout)

    def _end(self, milliseconds: int) -> None:
        self.tracer_provider.force_flush(milliseconds)
        self.tracer_provider.shutdown()
        if self._meter_provider is not None:
            with contextlib.suppress(Exception):
                self._meter_provider.force_flush(milliseconds)
            with contextlib.suppress(Exception):
                self._meter_provider.shutdown(timeout_millis=milliseconds)
        for close in self._closers:
            close()

    async def aclose(self, timeout: float = 5.0) -> None:
        """`shutdown` away from the event loop."""
        await asyncio.to_thread(self.shutdown, timeout)


def capture_content(environ: Mapping[str, str]) -> bool:
    """Whether the standard switch asks for content in spans."""
    return environ.get(CAPTURE_VARIABLE, "").strip().lower() in _CAPTURE_ON


def configure(
    *,
    version: str = "",
    environ: Mapping[str, str] | None = None,
    capture: bool | None = None,
    span_processors: Sequence[SpanProcessor] = (),
    metric_readers: Sequence[MetricReader] = (),
) -> Telemetry:
    """Build telemetry from `environ` and make it current.

    capture: overrides the standard switch. span_processors, metric_readers: added to what the
    variables ask for (tests, embedding applications). Raises TelemetryError.
    """
    env = os.environ if environ is None else environ
    disabled = env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    resource = _resource(version, env)
    closers: list[Callable[[], None]] = []
    processors = list(span_processors)
    readers = list(metric_readers)
    if not disabled:
        processors += [
            BatchSpanProcessor(_span_exporter(kind, env), schedule_delay_millis=_delay(kind, env))
            for kind in _chosen(env, "TRACES", _TRACE_EXPORTERS)
        ]
        for kind in _chosen(env, "METRICS", _METRIC_EXPORTERS):
            if kind == "prometheus":
                reader, close = _prometheus(env)
                readers.append(reader)
                closers.append(close)
            else:
                readers.append(PeriodicExportingMetricReader(_metric_exporter(env)))

    tracing = bool(processors) and not disabled
    tracer_provider = TracerProvider(
        # None leaves the choice to OTEL_TRACES_SAMPLER.
        sampler=None if tracing else ALWAYS_OFF,
        resource=resource,
        shutdown_on_exit=False,
        meter_provider=NoOpMeterProvider(),
    )
    for processor in processors:
        tracer_provider.add_span_processor(processor)
    meter_provider = MeterProvider(readers, resource, shutdown_on_exit=False) if readers else None
    instruments = Instruments(
        tracer_provider.get_tracer(names.SCOPE, version, names.SCHEMA_URL),
        meter_provider.get_meter(names.SCOPE, version, names.SCHEMA_URL) if meter_provider else None,
        tracing=tracing,
        capture_content=capture_content(env) if capture is None else capture,
    )
    use(instruments)
    return Telemetry(instruments, tracer_provider, meter_provider, closers)


def _resource(version: str, env: Mapping[str, str]) -> Resource:
    attributes = {SERVICE_VERSION: version} if version else {}
    # Attributes given here win over the environment's, so the name is given only if that has none.
    if not env.get("OTEL_SERVICE_NAME") and f"{SERVICE_NAME}=" not in env.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        attributes[SERVICE_NAME] = "muniment"
    return Resource.create(attributes)


def _chosen(env: Mapping[str, str], signal: str, allowed: frozenset[str]) -> list[str]:
    variable = f"OTEL_{signal}_EXPORTER"
    raw = env.get(variable)
    if raw is None or not raw.strip():
        endpoint = env.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        return ["otlp"] if endpoint else []
    chosen = [part.strip().lower() for part in raw.split(",") if part.strip()]
    if chosen == ["none"]:
        return []
    if not set(chosen) <= allowed:
        raise TelemetryError(f"{variable}: use none or one of {', '.join(sorted(allowed))}")
    return list(dict.fromkeys(chosen))


def _protocol(env: Mapping[str, str], signal: str) -> str:
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        value = env.get(variable, "").strip().lower()
        if value:
            if value not in _PROTOCOLS:
                raise TelemetryError(f"{variable}: use one of {', '.join(sorted(_PROTOCOLS))}")
            return value
    return "http/protobuf"


def _delay(kind: str, env: Mapping[str, str]) -> float | None:
    if env.get("OTEL_BSP_SCHEDULE_DELAY"):
        # The processor reads it by itself.
        return None
    # A person who watches the console wants the tree while the call is still in mind.
    return 200 if kind == "console" else 1000


def _span_exporter(kind: str, env: Mapping[str, str]) -> SpanExporter:
    if kind == "console":
        from muniment_server.telemetry.console import SpanTreeExporter

        return SpanTreeExporter()
    if _protocol(env, "TRACES") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _metric_exporter(env: Mapping[str, str]) -> MetricExporter:
    if _protocol(env, "METRICS") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter()


def _prometheus(env: Mapping[str, str]) -> tuple[MetricReader, Callable[[], None]]:
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from prometheus_client import CollectorRegistry, start_http_server

    host = env.get("OTEL_EXPORTER_PROMETHEUS_HOST", "").strip() or "localhost"
    port = env.get("OTEL_EXPORTER_PROMETHEUS_PORT", "").strip() or "9464"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise TelemetryError("OTEL_EXPORTER_PROMETHEUS_PORT: use a port number from 1 to 65535")
    registry = CollectorRegistry()
    reader = PrometheusMetricReader(registry=registry, scope_info_enabled=False)
    try:
        server, thread = start_http_server(int(port), addr=host, registry=registry)
    except OSError as error:
        raise TelemetryError(
            f"OTEL_EXPORTER_PROMETHEUS_PORT: cannot listen on {host}:{port} ({error.strerror})"
        ) from error

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join(1)

    return reader, close
