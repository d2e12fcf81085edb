"""Where the spans and metrics of this process go."""

from __future__ import annotations

from typing import final

from opentelemetry import trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import Tracer

from muniment_server.telemetry.metrics import Metrics


@final
class Instruments:
    """Where spans and metrics of this process go; one is current at a time.

    tracing: whether any span can be recorded at all.
    capture_content: the opt-in to write query texts and memories into spans.
    """

    __slots__ = ("capture_content", "metrics", "tracer", "tracing")

    def __init__(
        self,
        tracer: Tracer | None = None,
        meter: Meter | None = None,
        *,
        tracing: bool = False,
        capture_content: bool = False,
    ) -> None:
        self.tracer: Tracer = tracer or trace.NoOpTracer()
        self.metrics = Metrics(meter)
        self.tracing = tracing
        self.capture_content = capture_content


_current = Instruments()


def instruments() -> Instruments:
    """The current instruments; silent ones until `use` was called."""
    return _current


def metrics() -> Metrics:
    """The current metrics."""
    return _current.metrics


def use(new: Instruments) -> Instruments:
    """Make `new` current for the process and return those it replaces."""
    global _current
    old, _current = _current, new
    return old
