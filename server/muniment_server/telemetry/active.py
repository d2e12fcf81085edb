"""What a span is while it is open: the machinery below the words of `spans.py`.

Texts of exceptions are never recorded, since they may quote content; a failed span carries `error.type` and,
when the fault is on the service's side, the error status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from time import perf_counter
from types import TracebackType
from typing import Final, Self, final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from muniment_server.domain.errors import MunimentError
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import instruments

SERVER_ERROR_CODES: Final = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)
"""Status codes that make a server span an error; all others are the caller's business."""

_ERROR: Final = Status(StatusCode.ERROR)


def error_type(error: BaseException) -> str:
    """Low-cardinality name of a failure: reason, SQLSTATE or class name; never its text."""
    if isinstance(error, MunimentError):
        return error.reason
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    if isinstance(error, TimeoutError):
        return "timeout"
    sqlstate = getattr(error, "sqlstate", None)
    return sqlstate if isinstance(sqlstate, str) and sqlstate else type(error).__qualname__


def _is_fault(error: BaseException) -> bool:
    if isinstance(error, MunimentError):
        return error.code in SERVER_ERROR_CODES
    return not isinstance(error, asyncio.CancelledError)


class ActiveSpan:
    """A span or timing that is open between `with` and its end. This base does nothing at all."""

    __slots__ = ()

    recording: bool = False

    def set(self, name: str, value: AttributeValue | None) -> None:
        """Set one attribute; None leaves it out."""

    def update(self, attributes: Mapping[str, AttributeValue | None]) -> None:
        """Set several attributes."""

    def content(self, name: str, value: Callable[[], AttributeValue]) -> None:
        """Set an opt-in attribute that holds content; `value` is called only while capture is on."""

    def fail(self, kind: str, *, fault: bool = True) -> None:
        """Mark the span as failed without an exception."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


NOTHING: Final = ActiveSpan()
"""Where no span would be recorded and no metric read."""


@final
class OpenSpan(ActiveSpan):
    """A span, or without a name only a timing. on_end: told the seconds, and the kind of a failure."""

    __slots__ = (
        "_attributes",
        "_error",
        "_kind",
        "_name",
        "_on_end",
        "_span",
        "_started",
        "_token",
        "recording",
    )

    def __init__(
        self,
        name: str | None,
        kind: SpanKind,
        attributes: dict[str, AttributeValue] | None,
        on_end: Callable[[float, str | None], None] | None,
    ) -> None:
        self._name = name
        self._kind = kind
        self._attributes = attributes
        self._on_end = on_end
        self._error: str | None = None
        self._span: Span = trace.INVALID_SPAN
        self._token: Token[Context] | None = None
        self.recording = False

    def __enter__(self) -> Self:
        self.begin()
        if self._name is not None:
            self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self

    def begin(self) -> None:
        """Start without becoming the current span, below which others stand."""
        if self._name is not None:
            self._span = instruments().tracer.start_span(
                self._name, kind=self._kind, attributes=self._attributes
            )
            self.recording = self._span.is_recording()
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = perf_counter() - self._started
        if error is not None and not isinstance(error, GeneratorExit):
            self.fail(error_type(error), fault=_is_fault(error))
            sqlstate = getattr(error, "sqlstate", None)
            if isinstance(sqlstate, str) and self._on_end is not None and self._kind is SpanKind.CLIENT:
                self.set(names.DB_RESPONSE_STATUS_CODE, sqlstate)
        if self._token is not None:
            otel_context.detach(self._token)
        if self._name is not None:
            self._span.end()
        if self._on_end is not None:
            self._on_end(seconds, self._error)

    def set(self, name: str, value: AttributeValue | None) -> None:
        if self.recording and value is not None:
            self._span.set_attribute(name, value)

    def update(self, attributes: Mapping[str, AttributeValue | None]) -> None:
        if self.recording:
            for name, value in attributes.items():
                if value is not None:
                    self._span.set_attribute(name, value)

    def content(self, name: str, value: Callable[[], AttributeValue]) -> None:
        if self.recording and instruments().capture_content:
            self._span.set_attribute(name, value())

    def fail(self, kind: str, *, fault: bool = True) -> None:
        self._error = kind
        if self.recording:
            self._span.set_attribute(names.ERROR_TYPE, kind)
            if fault:
                self._span.set_status(_ERROR)


def recording() -> bool:
    """Whether a span opened now could be recorded.

    Asks the parent first: below a span that is not sampled nothing is, and starting a span only to
    throw it away costs several microseconds.
    """
    if not instruments().tracing:
        return False
    parent = trace.get_current_span()
    return parent.is_recording() or not parent.get_span_context().is_valid


@final
class SpansTogether(ActiveSpan):
    """Spans side by side, for what is asked and answered at once: each takes the whole time.

    came: whether that of a place came, when another failed.
    """

    __slots__ = ("_came", "_spans")

    def __init__(self, spans: Sequence[OpenSpan], came: Callable[[int], bool]) -> None:
        self._spans = spans
        self._came = came

    def __enter__(self) -> Self:
        for one in self._spans:
            one.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for place, one in enumerate(self._spans):
            if error is not None and self._came(place):
                one.__exit__(None, None, None)
            else:
                one.__exit__(kind, error, trace)


def opened(
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, AttributeValue | None] | None,
    on_end: Callable[[float, str | None], None] | None = None,
) -> OpenSpan:
    """A span that is recorded; attributes that are None are left out."""
    known: dict[str, AttributeValue] | None = None
    if attributes:
        known = {key: value for key, value in attributes.items() if value is not None}
    return OpenSpan(name, kind, known, on_end)
