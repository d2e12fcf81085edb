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

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from opentelemetry import trace
from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from muniment_server.telemetry import names
from muniment_server.telemetry.active import NOTHING, OpenSpan, SpansTogether, opened, recording
from muniment_server.telemetry.active import ActiveSpan as ActiveSpan
from muniment_server.telemetry.instruments import instruments

_DATA_SOURCES: Final[Mapping[str, str]] = {
    "vector": "memory_vectors",
    "lexical": "memory_text",
    "slot": "memory_slots",
    "entity": "memory_entities",
    "time": "memory_times",
    "neighbour": "memory_neighbours",
    "session": "memory_sessions",
}


def span(name: str, attributes: Mapping[str, AttributeValue | None] | None = None) -> ActiveSpan:
    """A plain internal span, for background work; `name` begins with `muniment.`."""
    return opened(name, SpanKind.INTERNAL, attributes) if recording() else NOTHING


def memory_span(
    operation: str,
    *,
    store_id: str | None = None,
    record_id: str | None = None,
    record_count: int | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> ActiveSpan:
    """The span of one memory operation (`search_memory`, `upsert_memory`, ...).

    store_id: the tenant's id, which is what a memory store is here. agent, session: only what the
    request itself carried.
    """
    if not recording():
        return NOTHING
    return opened(
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
    if not recording():
        return OpenSpan(None, kind, None, finish) if state.metrics.enabled else NOTHING
    return opened(
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
    if not recording():
        return NOTHING
    return opened(
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
    if recording():
        return opened(name, kind, attributes, on_end)
    return OpenSpan(None, kind, None, on_end) if on_end is not None else NOTHING


def stage_timing(stage: str) -> ActiveSpan:
    """The duration of a stage of a recall that has its spans elsewhere."""
    on_end = _stage_end(stage)
    return OpenSpan(None, SpanKind.INTERNAL, None, on_end) if on_end is not None else NOTHING


def leg_span(leg: str, *, top_k: int | None = None) -> ActiveSpan:
    """The span of one leg of a recall: `vector`, `lexical`, `slot`, `entity`, `time`, ...

    It tells what the leg gave. How long a leg took nobody knows: all are one statement, `stage_timing`.
    """
    if not recording():
        return NOTHING
    source = _DATA_SOURCES[leg]
    return opened(
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


class Statement(Protocol):
    """What a span says of an SQL statement. text: with placeholders; never with values put in."""

    @property
    def name(self) -> str:
        """Of the query in its file, which is also the span's name."""

    @property
    def operation(self) -> str:
        """For example SELECT."""

    @property
    def collection(self) -> str | None:
        """The table."""

    @property
    def text(self) -> str:
        """As it is sent."""


def sql_span(statement: Statement) -> ActiveSpan:
    """The span of one SQL statement, and its duration metric.

    Only below a span that is recorded: readiness checks and background work make no traces of single
    statements.
    """
    return _sql_span(statement, None) if _sql_is_told() else NOTHING


def sql_spans(statements: Sequence[Statement], came: Callable[[int], bool]) -> ActiveSpan:
    """The spans of statements that are sent and answered together, and their duration metrics.

    Each takes the time of all, since none is answered by itself, and says how many they are. came: whether
    the answer to the statement of a place came, when another failed.
    """
    if not _sql_is_told():
        return NOTHING
    size = len(statements) if len(statements) > 1 else None
    return SpansTogether([_sql_span(one, size) for one in statements], came)


def _sql_is_told() -> bool:
    return trace.get_current_span().is_recording() or instruments().metrics.enabled


def _sql_span(statement: Statement, together: int | None) -> OpenSpan:
    state = instruments()

    def finish(seconds: float, failure: str | None) -> None:
        state.metrics.database(statement.operation, statement.collection, seconds, failure)

    if not trace.get_current_span().is_recording():
        return OpenSpan(None, SpanKind.CLIENT, None, finish)
    return opened(
        statement.name,
        SpanKind.CLIENT,
        {
            names.DB_SYSTEM_NAME: names.DB_SYSTEM_POSTGRESQL,
            names.DB_COLLECTION_NAME: statement.collection,
            names.DB_OPERATION_NAME: statement.operation,
            names.DB_OPERATION_BATCH_SIZE: together,
            names.DB_QUERY_SUMMARY: statement.name,
            names.DB_QUERY_TEXT: statement.text,
        },
        finish,
    )
