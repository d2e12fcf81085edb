"""OpenTelemetry of the client, through the API alone: without an SDK all of this does nothing.

One CLIENT span per call. Write, Recall, Supersede and Erase follow the GenAI memory conventions (in
development, no release yet), the other methods the RPC conventions of SCHEMA_URL. Nothing that a
caller wrote to remember, and no query, is ever an attribute.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Final

from google.protobuf.message import Message
from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from muniment._errors import MunimentError
from muniment._rpcs import Rpc
from muniment._version import __version__

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
RPC_SYSTEM_NAME: Final = "rpc.system.name"
RPC_METHOD: Final = "rpc.method"
# Renamed to rpc.status_code after schema 1.44.0; changes together with SCHEMA_URL.
RPC_STATUS_CODE: Final = "rpc.response.status_code"
RPC_CLIENT_CALL_DURATION: Final = "rpc.client.call.duration"
RPC_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
ERROR_REASON: Final = "muniment.error.reason"
RECALL_ID: Final = "muniment.recall.id"
RECALL_MEMORY_IDS: Final = "muniment.recall.memory.ids"
RECALL_MEMORY_OMITTED: Final = "muniment.recall.memory.omitted"
SPAN_MODEL_CALL: Final = "muniment.model_call"

STAMPED_IDS_CAP: Final = 50
"""Ids written onto a span; 50 UUIDs stay under the 2 kB at which some trace stores cut values."""

_tracer: Final = trace.get_tracer("muniment.client", __version__, schema_url=SCHEMA_URL)
_duration: Final = metrics.get_meter("muniment.client", __version__, schema_url=SCHEMA_URL).create_histogram(
    RPC_CLIENT_CALL_DURATION,
    unit="s",
    description="Duration of outbound calls, retries included.",
    explicit_bucket_boundaries_advisory=RPC_BUCKETS,
)
# Not the global propagator: by default that one sends baggage, too.
_propagator: Final = TraceContextTextMapPropagator()


class CallSpan:
    """The span of one call."""

    __slots__ = ("_rpc", "span")

    def __init__(self, rpc: Rpc, span: Span) -> None:
        self._rpc = rpc
        self.span = span

    @property
    def context(self) -> SpanContext | None:
        """To link to; None when nothing is traced."""
        context = self.span.get_span_context()
        return context if context.is_valid else None

    @property
    def trace_id(self) -> str:
        """W3C trace id, empty when nothing is traced."""
        context = self.context
        return trace.format_trace_id(context.trace_id) if context is not None else ""

    def headers(self) -> list[tuple[str, str]]:
        """The W3C trace context as metadata."""
        carrier: dict[str, str] = {}
        _propagator.inject(carrier, trace.set_span_in_context(self.span))
        return list(carrier.items())

    def answered(self, response: Message) -> None:
        """Add what is known only now."""
        if self.span.is_recording():
            self.span.set_attributes(self._rpc.response_attributes(response))


@contextmanager
def call_span(
    rpc: Rpc, request: Message, server: Mapping[str, AttributeValue], *, current: bool = True
) -> Iterator[CallSpan]:
    """The span of a call; failed when an exception leaves.

    current: whether it is the current span inside. Not for a stream, which gives control back to its
    reader in between.
    """
    attributes: dict[str, AttributeValue] = {**rpc.request_attributes(request), **server}
    started = perf_counter()
    code, error_type = "OK", ""
    span = _tracer.start_span(rpc.operation or rpc.method, kind=SpanKind.CLIENT, attributes=attributes)
    # The text of an exception is nobody's business in a trace, so none is recorded.
    scope = (
        trace.use_span(span, record_exception=False, set_status_on_exception=False)
        if current
        else nullcontext()
    )
    with scope:
        try:
            yield CallSpan(rpc, span)
        except GeneratorExit:
            # The reader of a stream has had enough.
            raise
        except BaseException as error:
            code = error.code if isinstance(error, MunimentError) else "CANCELLED"
            error_type = _error_type(error)
            span.set_attribute(ERROR_TYPE, error_type)
            if isinstance(error, MunimentError) and error.reason:
                span.set_attribute(ERROR_REASON, error.reason)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            if rpc.operation is None:
                span.set_attribute(RPC_STATUS_CODE, code)
            labels: dict[str, AttributeValue] = {
                RPC_SYSTEM_NAME: "grpc",
                RPC_METHOD: rpc.method,
                RPC_STATUS_CODE: code,
                **server,
            }
            if code != "OK":
                labels[ERROR_TYPE] = code
            _duration.record(perf_counter() - started, labels)
            span.end()


def _error_type(error: BaseException) -> str:
    if isinstance(error, MunimentError):
        return error.reason or error.code
    return type(error).__qualname__


def stamp(
    span: Span | None, recall_id: str, memory_ids: Sequence[str], recall_span: SpanContext | None
) -> None:
    """Write a recall and the memories used of it onto a span (by default the current one), and link it."""
    target = span if span is not None else trace.get_current_span()
    if not target.is_recording():
        return
    attributes = stamp_attributes(recall_id, memory_ids)
    target.set_attributes(attributes)
    if recall_span is not None:
        # The link says it again, because a second recall stamped onto the span overwrites the first.
        target.add_link(recall_span, attributes)


def stamp_attributes(recall_id: str, memory_ids: Sequence[str]) -> dict[str, AttributeValue]:
    """Attributes of a stamp."""
    attributes: dict[str, AttributeValue] = {
        RECALL_ID: recall_id,
        RECALL_MEMORY_IDS: tuple(memory_ids[:STAMPED_IDS_CAP]),
    }
    if len(memory_ids) > STAMPED_IDS_CAP:
        attributes[RECALL_MEMORY_OMITTED] = len(memory_ids) - STAMPED_IDS_CAP
    return attributes


@contextmanager
def model_call_span(span: Span | None) -> Iterator[Span]:
    """The span that a model call is stamped on: the given one, the current one, or else a new one."""
    given = span if span is not None else trace.get_current_span()
    if span is not None or given.is_recording():
        yield given
        return
    with _tracer.start_as_current_span(
        SPAN_MODEL_CALL, kind=SpanKind.INTERNAL, record_exception=False, set_status_on_exception=False
    ) as own:
        try:
            yield own
        except BaseException as error:
            own.set_attribute(ERROR_TYPE, type(error).__qualname__)
            own.set_status(Status(StatusCode.ERROR))
            raise
