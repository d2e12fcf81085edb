"""Telemetry: it follows the caller's trace, loses no evidence, and never holds content or credentials."""

import asyncio
import logging
import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from opentelemetry.trace import SpanKind

from contract.stored import FAILED, Stored, memory_ids, outcome, refused, spellings, until
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
)
from muniment_server.telemetry import names
from support.service import Caller, RunningService, error_info, item, scope
from support.telemetry import Recorded, recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKER = "PII-8841 jo@example.test"


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """Everything that would leave the process as telemetry."""
    with recording() as found:
        yield found


def _recall_span(recorded: Recorded) -> Any:
    (span,) = [each for each in recorded.spans() if names.RECALL_ID in (each.attributes or {})]
    return span


async def test_a_recall_continues_the_callers_trace_and_names_what_it_offered(
    caller: Caller, recorded: Recorded
) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(7)))
    recorded.clear()
    trace, parent = os.urandom(16).hex(), os.urandom(8).hex()
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query="Fact", limit=5, token_budget=2_000)
    answer = await caller.call("Recall", request, traceparent=f"00-{trace}-{parent}-01")
    await until(lambda: [each for each in recorded.spans() if each.kind is SpanKind.SERVER])
    (server,) = [each for each in recorded.spans() if each.kind is SpanKind.SERVER]
    assert f"{server.context.trace_id:032x}" == trace == answer.trace_id
    assert f"{server.parent.span_id:016x}" == parent
    offered = _recall_span(recorded)
    assert offered.context.trace_id == server.context.trace_id
    assert offered.parent.span_id == server.context.span_id
    assert offered.attributes[names.RECALL_ID] == answer.recall_id
    assert list(offered.attributes[names.RECALL_MEMORY_IDS]) == memory_ids(answer.memories)
    assert list(offered.attributes[names.RECALL_MEMORY_REVISIONS]) == [
        one.memory.revision for one in answer.memories
    ]
    assert all(each.dropped_attributes == each.dropped_events == 0 for each in recorded.spans())
    events = await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"trace_id": trace}))
    assert [event.span_id for event in events.events] == [f"{server.context.span_id:016x}"]


async def test_every_leg_that_was_asked_for_tells_what_it_gave(caller: Caller, recorded: Recorded) -> None:
    await caller.write("u1", item("Lives in Graz", slot="home_city"), "Works for Ann in Graz", "Likes tea")
    recorded.clear()
    await caller.recall("u1", "Which home city?", min_score=0.0)
    told = {
        span.attributes[names.LEG]: (span.name, span.attributes)
        for span in recorded.spans()
        if names.LEG in (span.attributes or {})
    }
    assert {leg: name for leg, (name, _) in told.items()} == {
        "vector": "retrieval memory_vectors",
        "lexical": "retrieval memory_text",
        "slot": "retrieval memory_slots",
        "entity": "retrieval memory_entities",
        "time": "retrieval memory_times",
        "neighbour": "retrieval memory_neighbours",
        "session": "retrieval memory_sessions",
    }
    slot = told["slot"][1]
    assert (slot[names.LEG_RESULTS], slot[names.LEG_SCORE_MAX], slot[names.LEG_SCORE_MIN]) == (1, 1.0, 1.0)
    for leg in ("entity", "time", "neighbour", "session"):
        assert told[leg][1][names.LEG_RESULTS] == 0
        assert names.LEG_SCORE_MAX not in told[leg][1]
    assert told["vector"][1][names.LEG_RESULTS] == 3
    assert _recall_span(recorded).attributes[names.RECALL_CANDIDATES] == 3
    assert [span.name for span in recorded.spans()].count("recall_turns") == 1
    (find,) = recorded.metrics()["muniment.recall.stage.duration"]
    assert (find.attributes["muniment.recall.stage"], find.count) == ("find", 1)
    recorded.clear()
    lexical, vector = recall_pb2.RETRIEVAL_LEG_LEXICAL, recall_pb2.RETRIEVAL_LEG_VECTOR
    await caller.recall("u1", "Graz", legs=[lexical, vector], consistency={"strong": True})
    legs = [span.attributes[names.LEG] for span in recorded.spans() if names.LEG in (span.attributes or {})]
    assert legs == ["vector", "lexical"]
    waited = _recall_span(recorded).attributes
    assert waited[names.CONSISTENCY_MODE] == "strong"
    assert waited[names.CONSISTENCY_WAIT] >= 0


@pytest.mark.parametrize("limit", [None, "8"])
async def test_limits_of_spans_cost_no_evidence(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, limit: str | None
) -> None:
    for part in range(2):
        await caller.write("u1", *(f"Fact {part} {number}" for number in range(100)))
    if limit is not None:
        monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", limit)
        monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", limit)
    with recording() as recorded:
        answer = await caller.recall("u1", "Fact", limit=200, min_score=0.0)
        span = _recall_span(recorded)
        assert span.dropped_attributes == span.dropped_events == span.dropped_links == 0
        named = list(span.attributes[names.RECALL_MEMORY_IDS])
        assert len(named) == names.OFFERED_IDS_CAP
        assert span.attributes[names.RECALL_MEMORY_OMITTED] == 200 - names.OFFERED_IDS_CAP
        if limit is None:
            assert named == memory_ids(answer.memories)[: len(named)]
    receipt = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
    assert [one.memory_id for one in receipt.receipt.recalled.memories] == memory_ids(answer.memories)


async def test_without_telemetry_the_trail_is_complete(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes tea")
    trace = os.urandom(16).hex()
    request = memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea")
    for flags in ("00", "01"):
        answer = await caller.call("Recall", request, traceparent=f"00-{trace}-{'0' * 15}1-{flags}")
        assert answer.trace_id == trace
    plain = await caller.call("Recall", request)
    assert len(plain.trace_id) == 32
    events = await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"trace_id": trace}))
    assert len(events.events) == 2
    assert stored.count("audit_event", "trace_id = %s", plain.trace_id) == 1


async def _everything_with(caller: Caller, marker: str) -> None:
    """Every call, succeeding and failing, with the marker wherever a caller can put it."""
    attributes = json_format.ParseDict({marker: marker}, Struct())
    marked = item(
        f"Says {marker}",
        slot=marker,
        tags=[marker],
        properties={"p": memory_pb2.PropertyValue(string_value=marker)},
        attributes=attributes,
        provenance=memory_pb2.Provenance(source_ref=marker),
    )
    memory_id = (await caller.write(marker, marked)).results[0].memory.memory_id
    recalled = await caller.recall(
        marker, f"who says {marker}", token_budget=300, filter={"tags_any": [marker]}
    )
    assert recalled.memories
    await caller.get(memory_id, include_revisions=True)
    await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope(marker)))
    use = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, model=marker, prompt_ref=marker)
    await caller.call("ReportUse", use)
    await caller.supersede(memory_id, f"Says {marker} again")
    await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"scope": scope(marker)}))
    await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recalled.recall_id))
    failing: list[Any] = [
        caller.supersede(memory_id, f"Says {marker}"),
        caller.supersede(str(uuid4()), f"Says {marker}"),
        caller.get(marker),
        caller.write(marker, item(marker, tags=[marker, marker])),
        caller.write(marker, item(f"{marker}\0")),
        caller.write(marker, item(marker, properties={marker: memory_pb2.PropertyValue(bool_value=True)})),
        caller.write(marker * 50, marker),
        caller.recall(marker, marker, limit=0),
        caller.recall(marker, marker + "\x01"),
        caller.write(marker, marker, request_id=marker),
        caller.call("Audit", memory_service_pb2.AuditRequest(page_token=marker)),
    ]
    for call in failing:
        assert await outcome(call) != "OK"
    await caller.erase_subject(marker)


async def test_content_queries_labels_and_subjects_are_in_no_telemetry(
    shared: RunningService, caller: Caller, recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await _everything_with(caller, MARKER)
    embedder: Any = shared.service.parts.embedder
    embedder.failing = RuntimeError(f"cannot embed {MARKER}")
    try:
        await caller.write("u1", f"Another {MARKER}")
        await caller.recall("u1", f"Another {MARKER}")
    finally:
        embedder.failing = None
    await shared.sealed()
    await until(lambda: len([each for each in recorded.spans() if each.kind is SpanKind.SERVER]) >= 22)
    told = recorded.everything() + caplog.text + "".join(repr(vars(one)) for one in caplog.records)
    assert "muniment.v1.MemoryService/Write" in told
    needles = [*spellings("PII-8841"), *spellings("jo@example.test")]
    raw = told.encode()
    assert not [needle for needle in needles if needle in raw]
    assert caller.key not in told
    assert caller.key.split("_")[2] not in told
    assert "Bearer" not in told


async def test_errors_repeat_nothing_of_a_request(caller: Caller) -> None:
    bad = [
        caller.write("u1", item("x", tags=[MARKER, MARKER])),
        caller.write("u1", item("x", properties={MARKER: memory_pb2.PropertyValue(bool_value=True)})),
        caller.get(MARKER),
        caller.recall("u1", f"{MARKER}\x01"),
        caller.write("u1", "x", request_id=MARKER),
    ]
    for call in bad:
        error = await refused(call, "INVALID_ARGUMENT")
        told = str(error.details()) + repr(error.trailing_metadata()) + repr(error.initial_metadata())
        assert MARKER not in told
        assert "8841" not in told


async def test_metrics_have_no_names_of_tenants_or_subjects(
    shared: RunningService, caller: Caller, recorded: Recorded
) -> None:
    memory_id = (await caller.write("u-4711", "Likes tea")).results[0].memory.memory_id
    await caller.recall("u-4711", "tea")
    points = recorded.metrics()
    assert points
    labels = repr([dict(point.attributes) for found in points.values() for point in found])
    for name in (caller.tenant, str(shared.tenant_id(caller.tenant)), "u-4711", memory_id):
        assert name not in labels


async def test_content_is_captured_only_when_asked_for(caller: Caller) -> None:
    with recording(capture=True) as captured:
        await caller.write("u1", "Likes tea")
        await caller.recall("u1", "who likes tea")
        span = _recall_span(captured)
        assert span.attributes[names.GEN_AI_MEMORY_QUERY_TEXT] == "who likes tea"
    with recording() as silent:
        await caller.recall("u1", "who likes tea")
        span = _recall_span(silent)
        assert names.GEN_AI_MEMORY_QUERY_TEXT not in span.attributes
        assert span.attributes[names.RECALL_QUERY_LENGTH] == len("who likes tea")


async def test_details_of_errors_reach_the_client_with_telemetry_on(
    caller: Caller, recorded: Recorded
) -> None:
    unknown = str(uuid4())
    error = await refused(caller.get(unknown), "NOT_FOUND", "MEMORY_NOT_FOUND")
    assert dict(error_info(error).metadata) == {"memory_id": unknown}
    assert "muniment-request-id" in {key for key, _ in error.trailing_metadata() or ()}
    (server,) = await until(lambda: [each for each in recorded.spans() if each.kind is SpanKind.SERVER])
    assert server.attributes[names.ERROR_REASON] == "MEMORY_NOT_FOUND"
    assert server.attributes[names.RPC_STATUS_CODE] == "NOT_FOUND"


@pytest.mark.parametrize("kind", ["recalls", "refusals", "writes"])
async def test_cancelled_calls_end_their_spans_and_log_no_error(
    caller: Caller, recorded: Recorded, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(50)))
    await caller.recall("u1", "Fact")
    before = len([each for each in recorded.spans() if each.kind is SpanKind.SERVER])
    for number in range(100):
        requests: dict[str, tuple[Any, Any]] = {
            "recalls": (
                caller.memory.Recall,
                memory_service_pb2.RecallRequest(scope=scope("u1"), query="Fact"),
            ),
            "refusals": (
                caller.memory.GetMemory,
                memory_service_pb2.GetMemoryRequest(memory_id=str(uuid4())),
            ),
            "writes": (
                caller.memory.Write,
                memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item(f"Note {number}")]),
            ),
        }
        method, request = requests[kind]
        call = method(request, metadata=caller.metadata, timeout=10)
        await asyncio.sleep((number % 20) / 2_000)
        call.cancel()
    await caller.recall("u1", "Fact")
    # A call that was cancelled before it reached the server has no span there; every other one has ended.
    await until(lambda: recorded.running() == 0)
    servers = [each for each in recorded.spans() if each.kind is SpanKind.SERVER]
    assert before < len(servers) <= before + 101
    assert not [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]


async def test_a_failed_attempt_is_in_the_trail_without_its_content(caller: Caller, stored: Stored) -> None:
    await refused(caller.supersede(str(uuid4()), f"Says {MARKER}"), "NOT_FOUND")
    target = erasure_pb2.MemoriesTarget(memory_ids=[str(uuid4())])
    request = memory_service_pb2.EraseRequest(target=erasure_pb2.ErasureTarget(memories=target))
    with pytest.raises(grpc.aio.AioRpcError):
        await caller.call("Erase", request)
    attempts = stored.events(outcome=FAILED)
    assert [event["action"] for event in attempts] == [2, 3]
    assert "8841" not in repr(attempts)
