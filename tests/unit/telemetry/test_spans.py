"""The span helpers: names, attributes, failures, metrics, and what they cost when nobody listens."""

import asyncio
import time
from typing import Any

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from muniment_server.domain.errors import DatabaseUnavailable, MemoryNotFound
from muniment_server.storage.queries import compile_statement
from muniment_server.telemetry import names, setup, spans
from muniment_server.telemetry.instruments import metrics, use
from muniment_server.telemetry.metrics import PoolStats
from support.telemetry import Recorded, recording

MARKER = "PII-8841 jo@example.test"
QUERY = compile_statement("q", "SELECT 1")
TYPES: dict[str, Any] = {"string": str, "int": int, "double": float, "boolean": bool}


def check_types(recorded: Recorded) -> None:
    """Every attribute that was emitted is listed, with its type."""
    for span in recorded.spans():
        for name, value in (span.attributes or {}).items():
            kind = names.ATTRIBUTE_TYPES[name]
            if kind.endswith("[]"):
                assert isinstance(value, tuple)
                assert all(type(item) is TYPES[kind[:-2]] for item in value), name
            elif kind != "any":
                assert type(value) is TYPES[kind], name


def test_a_recall_has_the_documented_tree() -> None:
    with recording() as recorded:
        with spans.memory_span(names.OP_SEARCH_MEMORY, store_id="s", agent="a", session="c") as span:
            with spans.embeddings_span(
                "muniment", "e5", dimensions=384, batch_size=1, cache_hit=False
            ) as embed:
                embed.set(names.GEN_AI_USAGE_INPUT_TOKENS, 7)
            with spans.leg_span("vector", top_k=50) as leg, spans.stage_timing("find"):
                with spans.sql_span(compile_statement("recall_vector", "SELECT v FROM memory_vector")):
                    pass
                leg.update({names.LEG_RESULTS: 3, names.LEG_SCORE_MAX: 0.9, names.LEG_SCORE_MIN: None})
            with spans.leg_span("lexical", top_k=50):
                pass
            with spans.fuse_span("weighted_sum", inputs=5) as fuse:
                fuse.set(names.FUSE_OUTPUTS, 4)
            with spans.rerank_span("muniment", "ce", inputs=4) as rerank:
                rerank.set(names.RERANK_OUTPUTS, 4)
            with spans.pack_span("approximate", inputs=4, token_budget=100) as pack:
                pack.update({names.PACK_TOKENS: 90, names.PACK_OUTPUTS: 4})
            span.update({names.RECALL_ID: "r", names.RECALL_DEGRADED: ["vector"], names.RECALL_LIMIT: 10})
            spans.record_offered(span, [f"m{n}" for n in range(60)], [0.5] * 60, [1] * 60)
        tree = {each.name: each for each in recorded.spans()}
        root = tree["search_memory"]
        assert {
            name: each.parent.span_id == root.context.span_id for name, each in tree.items() if each.parent
        } == {
            "embeddings e5": True,
            "retrieval memory_vectors": True,
            "recall_vector": False,
            "retrieval memory_text": True,
            "muniment.recall.fuse": True,
            "rerank ce": True,
            "muniment.recall.pack": True,
        }
        assert tree["recall_vector"].kind is SpanKind.CLIENT
        assert root.kind is SpanKind.INTERNAL
        attributes = dict(root.attributes or {})
        assert len(attributes[names.RECALL_MEMORY_IDS]) == 50  # type: ignore[arg-type]
        assert len(attributes[names.RECALL_MEMORY_SCORES]) == 50  # type: ignore[arg-type]
        assert len(attributes[names.RECALL_MEMORY_REVISIONS]) == 50  # type: ignore[arg-type]
        assert attributes[names.RECALL_MEMORY_OMITTED] == 10
        assert attributes[names.GEN_AI_PROVIDER_NAME] == "muniment"
        assert names.LEG_SCORE_MIN not in (tree["retrieval memory_vectors"].attributes or {})
        check_types(recorded)
        stages = {
            point.attributes["muniment.recall.stage"]
            for point in recorded.metrics()["muniment.recall.stage.duration"]
        }
        assert stages == {"find", "fuse", "rerank", "pack"}
        assert recorded.metrics()["gen_ai.client.embeddings.duration"][0].count == 1
        (sql,) = recorded.metrics()["db.client.operation.duration"]
        assert dict(sql.attributes) == {
            "db.system.name": "postgresql",
            "db.operation.name": "SELECT",
            "db.collection.name": "memory_vector",
        }


@pytest.mark.parametrize(
    ("error", "kind", "fault"),
    [
        (MemoryNotFound("m"), "MEMORY_NOT_FOUND", False),
        (DatabaseUnavailable(), "DATABASE_UNAVAILABLE", True),
        (asyncio.CancelledError(MARKER), "cancelled", False),
        (TimeoutError(MARKER), "timeout", True),
        (ValueError(MARKER), "ValueError", True),
        (psycopg.errors.UniqueViolation(MARKER), "23505", True),
    ],
)
def test_failures_leave_a_type_and_never_a_text(error: BaseException, kind: str, fault: bool) -> None:
    with recording() as recorded:
        with spans.span("muniment.test"), pytest.raises(type(error)):  # noqa: SIM117
            with spans.sql_span(QUERY):
                raise error
        span = next(one for one in recorded.spans() if one.name == "q")
        attributes = dict(span.attributes or {})
        assert attributes["error.type"] == kind
        assert attributes.get("db.response.status_code") == ("23505" if kind == "23505" else None)
        assert span.status.status_code is (StatusCode.ERROR if fault else StatusCode.UNSET)
        assert span.status.description is None
        assert span.events == ()
        (point,) = recorded.metrics()["db.client.operation.duration"]
        assert point.attributes["error.type"] == kind
        assert MARKER not in recorded.everything()


def test_content_needs_the_switch() -> None:
    for capture in (False, True):
        asked = []

        def text(asked: list[int] = asked) -> str:
            asked.append(1)
            return MARKER

        with recording(capture=capture) as recorded:
            with spans.memory_span(names.OP_SEARCH_MEMORY) as span:
                span.content(names.GEN_AI_MEMORY_QUERY_TEXT, text)
                span.content(names.GEN_AI_MEMORY_RECORDS, lambda: [{"content": MARKER, "id": "m"}])
            assert (MARKER in recorded.everything()) is capture
            assert bool(asked) is capture


def test_nothing_is_recorded_below_an_unsampled_parent() -> None:
    with recording() as recorded:
        parent = trace.NonRecordingSpan(
            trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(0))
        )
        with trace.use_span(parent), spans.memory_span(names.OP_SEARCH_MEMORY) as span:
            assert not span.recording
        assert recorded.spans() == ()


def test_metrics_without_traces_are_still_recorded() -> None:
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    before = use(setup.Instruments())
    telemetry = setup.configure(environ={}, metric_readers=[reader])
    try:
        with (
            spans.stage_timing("find"),
            spans.sql_span(QUERY),
            spans.embeddings_span("p", "m"),
        ):
            pass
        metrics().observe_pool("app", lambda: PoolStats(used=2, idle=3, maximum=10, pending=1))
        metrics().written("CREATED", 3)
        metrics().ingest_attempt("done", "rules", "llm_timeout")
        metrics().recall("hybrid", 5, 120)
        metrics().embeddings_pending(3, 1.5)
        metrics().ingests_pending(2, 0.0)
        metrics().reviews_pending(4)
        metrics().audit_pending(5)
        metrics().erasures_pending(1)
        metrics().erased("subject", 0.5)
        metrics().integrity_violation()
        metrics().connection_wait("app", 0.001)
        data = Recorded(None, reader).metrics()  # type: ignore[arg-type]
        assert set(data) == {value for name, value in vars(names).items() if name.startswith("METRIC_")} - {
            names.METRIC_RPC_SERVER_CALL_DURATION,
        }
        counts = {
            point.attributes["db.client.connection.state"]: point.value
            for point in data["db.client.connection.count"]
        }
        assert counts == {"used": 2, "idle": 3}
        for points in data.values():
            for point in points:
                assert not {"tenant", "user", "id"} & {
                    part for key in point.attributes for part in key.split(".")
                }
    finally:
        use(before)
        telemetry.shutdown()


def test_spans_cost_little_when_nobody_listens() -> None:
    """The target is 10 microseconds on an idle machine; the bound here allows for a busy one."""
    before = use(setup.Instruments())
    telemetry = setup.configure(environ={})
    try:
        rounds = 2000
        best = float("inf")
        for _ in range(5):
            started = time.process_time()
            for _ in range(rounds):
                with spans.memory_span(names.OP_SEARCH_MEMORY, store_id="s") as span:
                    span.set(names.RECALL_ID, "r")
            best = min(best, (time.process_time() - started) / rounds)
        assert best < 10e-6
    finally:
        use(before)
        telemetry.shutdown()


def test_a_statement_outside_of_a_call_makes_no_trace() -> None:
    with recording() as recorded:
        with spans.sql_span(QUERY):
            pass
        assert recorded.spans() == ()
        assert recorded.metrics()["db.client.operation.duration"]
