"""Spans in the words of the service.

Every helper returns a context manager whose value takes further attributes:

    with memory_span(names.OP_SEARCH_MEMORY, store_id=store) as span:
        ...
        span.set(names.RECALL_ID, recall_id)

They are made to be left in hot code: when no span would be recorded and no metric read, a helper
returns one shared object and costs well under a microsecond. Texts of exceptions are never
recorded, since they may quote content; a failed span carries `error.type` and, when the fault is
on the service's side, the error status.
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
_DATA_SOURCES: Final[Mapping[str, str]] = {
    "vector": "memory_vectors",
    "lexical": "memory_text",
    "slot": "memory_slots",
    "entity": "memory_entities",
    "time": "memory_times",
    "neighbour": "memory_neighbours",
    "session": "memory_sessions",
}


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


_NOTHING: Final = ActiveSpan()


@final
class _OpenSpan(ActiveSpan):
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
        if self._name is not None:
            self._span = instruments().tracer.start_span(
                self._name, kind=self._kind, attributes=self._attributes
            )
            self.recording = self._span.is_recording()
            self._token = otel_context.attach(trace.set_span_in_context(self._span))
        self._started = perf_counter()
        return self

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


def _recording() -> bool:
    """Whether a span opened now could be recorded.

    Asks the parent first: below a span that is not sampled nothing is, and starting a span only to
    throw it away costs several microseconds.
    """
    if not instruments().tracing:
        return False
    parent = trace.get_current_span()
    return parent.is_recording() or not parent.get_span_context().is_valid


def _open(
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, AttributeValue | None] | None,
    on_end: Callable[[float, str | None], None] | None = None,
) -> ActiveSpan:
    known: dict[str, AttributeValue] | None = None
    if attributes:
        known = {key: value for key, value in attributes.items() if value is not None}
    return _OpenSpan(name, kind, known, on_end)


def span(name: str, attributes: Mapping[str, AttributeValue | None] | None = None) -> ActiveSpan:
    """A plain internal span, for background work; `name` begins with `muniment.`."""
    return _open(name, SpanKind.INTERNAL, attributes) if _recording() else _NOTHING


def memory_span(
    operation: str,
    *,
    store_id: str | None = None,
    record_id: str | None = None,
    record_count: int | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> ActiveSpan:
    """The span of one memory operation (`search_memory`, `create_memory`, ...).

    store_id: the tenant's id, which is what a memory store is here. agent, session: only what the
    request itself carried.
    """
    if not _recording():
        return _NOTHING
    return _open(
        operation,
        SpanKind.INTERNAL,
        {
            names.GEN_AI_OPERATION_NAME: operation,
            names.GEN_AI_PROVIDER_NAME: names.PROVIDER_MUNIMENT,
            names.GEN_AI_MEMORY_STORE_ID: store_id,
            names.GEN_AI_MEMORY_RECORD_ID: record_id,
            names.GEN_AI_MEMORY_RECORD_COUNT: record_count,
            names.GEN_AI_AGENT_ID: agent,
            names.GEN_AI_CONVERSATION_ID: session,
        },
    )


def record_offered(
    active: ActiveSpan, ids: Sequence[str], scores: Sequence[float], revisions: Sequence[int]
) -> None:
    """Put the packed memories on the span: three arrays of one order, capped, with what was omitted."""
    if not active.recording:
        return
    cap = names.OFFERED_IDS_CAP
    active.set(names.RECALL_MEMORY_IDS, list(ids[:cap]))
    active.set(names.RECALL_MEMORY_SCORES, [float(score) for score in scores[:cap]])
    active.set(names.RECALL_MEMORY_REVISIONS, list(revisions[:cap]))
    active.set(names.RECALL_MEMORY_OMITTED, max(0, len(ids) - cap))


def embeddings_span(
    provider: str,
    model: str,
    *,
    dimensions: int | None = None,
    batch_size: int | None = None,
    cache_hit: bool | None = None,
    remote: bool = False,
    server_address: str | None = None,
    server_port: int | None = None,
) -> ActiveSpan:
    """The span of one embedder call, and its duration metric. remote: the model runs elsewhere."""
    state = instruments()

    def finish(seconds: float, failure: str | None) -> None:
        state.metrics.embeddings(provider, model, seconds, failure)

    kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
    if not _recording():
        return _OpenSpan(None, kind, None, finish) if state.metrics.enabled else _NOTHING
    return _open(
        f"{names.OP_EMBEDDINGS} {model}",
        kind,
        {
            names.GEN_AI_OPERATION_NAME: names.OP_EMBEDDINGS,
            names.GEN_AI_PROVIDER_NAME: provider,
            names.GEN_AI_REQUEST_MODEL: model,
            names.GEN_AI_EMBEDDINGS_DIMENSION_COUNT: dimensions,
            names.EMBED_BATCH_SIZE: batch_size,
            names.EMBED_CACHE_HIT: cache_hit,
            names.SERVER_ADDRESS: server_address,
            names.SERVER_PORT: server_port,
        },
        finish,
    )


def chat_span(model: str) -> ActiveSpan:
    """The span of one question to a language model behind an endpoint."""
    if not _recording():
        return _NOTHING
    return _open(
        f"{names.OP_CHAT} {model}",
        SpanKind.CLIENT,
        {
            names.GEN_AI_OPERATION_NAME: names.OP_CHAT,
            names.GEN_AI_PROVIDER_NAME: names.PROVIDER_OPENAI,
            names.GEN_AI_REQUEST_MODEL: model,
        },
        None,
    )


def _stage_end(stage: str) -> Callable[[float, str | None], None] | None:
    recorder = instruments().metrics
    if not recorder.enabled:
        return None
    return lambda seconds, _failure: recorder.recall_stage(stage, seconds)


def _stage(
    name: str, stage: str, attributes: Mapping[str, AttributeValue | None], kind: SpanKind = SpanKind.INTERNAL
) -> ActiveSpan:
    on_end = _stage_end(stage)
    if _recording():
        return _open(name, kind, attributes, on_end)
    return _OpenSpan(None, kind, None, on_end) if on_end is not None else _NOTHING


def stage_timing(stage: str) -> ActiveSpan:
    """The duration of a stage of a recall that has its spans elsewhere."""
    on_end = _stage_end(stage)
    return _OpenSpan(None, SpanKind.INTERNAL, None, on_end) if on_end is not None else _NOTHING


def leg_span(leg: str, *, top_k: int | None = None) -> ActiveSpan:
    """The span of one leg of a recall: `vector`, `lexical`, `slot`, `entity`, `time`, ...

    It tells what the leg gave. How long a leg took nobody knows: all are one statement, `stage_timing`.
    """
    if not _recording():
        return _NOTHING
    source = _DATA_SOURCES[leg]
    return _open(
        f"{names.OP_RETRIEVAL} {source}",
        SpanKind.INTERNAL,
        {
            names.GEN_AI_OPERATION_NAME: names.OP_RETRIEVAL,
            names.GEN_AI_DATA_SOURCE_ID: source,
            names.GEN_AI_RETRIEVAL_TOP_K: top_k,
            names.LEG: leg,
        },
    )


def fuse_span(method: str, *, inputs: int, k: int | None = None) -> ActiveSpan:
    """The span of the fusion of the legs; `k` belongs to rank fusion."""
    return _stage(
        names.SPAN_FUSE,
        "fuse",
        {names.FUSE_METHOD: method, names.FUSE_K: k, names.FUSE_INPUTS: inputs},
    )


def rerank_span(provider: str, model: str, *, inputs: int, remote: bool = False) -> ActiveSpan:
    """The span of one reranker call."""
    return _stage(
        f"{names.OP_RERANK} {model}",
        "rerank",
        {
            names.GEN_AI_OPERATION_NAME: names.OP_RERANK,
            names.GEN_AI_PROVIDER_NAME: provider,
            names.GEN_AI_REQUEST_MODEL: model,
            names.RERANK_INPUTS: inputs,
        },
        SpanKind.CLIENT if remote else SpanKind.INTERNAL,
    )


def pack_span(tokenizer: str, *, inputs: int, token_budget: int | None = None) -> ActiveSpan:
    """The span of packing what was found into the token budget."""
    return _stage(
        names.SPAN_PACK,
        "pack",
        {
            names.PACK_TOKENIZER: tokenizer,
            names.PACK_TOKEN_BUDGET: token_budget,
            names.PACK_INPUTS: inputs,
        },
    )


def sql_span(
    summary: str,
    *,
    operation: str,
    collection: str | None = None,
    text: str | None = None,
    namespace: str | None = None,
    server_address: str | None = None,
    server_port: int | None = None,
) -> ActiveSpan:
    """The span of one SQL statement, and its duration metric.

    Only below a span that is recorded: readiness checks and background work make no traces of single
    statements.

    summary: the name of the query in its file, which is also the span's name.
    text: the statement with placeholders; never with values put in.
    """
    state = instruments()

    def finish(seconds: float, failure: str | None) -> None:
        state.metrics.database(operation, collection, seconds, failure)

    if not trace.get_current_span().is_recording():
        return _OpenSpan(None, SpanKind.CLIENT, None, finish) if state.metrics.enabled else _NOTHING
    return _open(
        summary,
        SpanKind.CLIENT,
        {
            names.DB_SYSTEM_NAME: names.DB_SYSTEM_POSTGRESQL,
            names.DB_NAMESPACE: namespace,
            names.DB_COLLECTION_NAME: collection,
            names.DB_OPERATION_NAME: operation,
            names.DB_QUERY_SUMMARY: summary,
            names.DB_QUERY_TEXT: text,
            names.SERVER_ADDRESS: server_address,
            names.SERVER_PORT: server_port,
        },
        finish,
    )
