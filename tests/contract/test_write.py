"""Write: what is answered is what is stored, all of a request or nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from contract.stored import ACTIVE, OK, WRITE, Stored, refused
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from support.service import EVENT, FACT, PREFERENCE, Caller, RunningService, error_info, item, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

KINDS = [memory_pb2.MemoryKind.Name(number) for number in range(1, 8)]


async def test_every_field_of_an_item_comes_back(caller: Caller, stored: Stored) -> None:
    validity = memory_pb2.Validity()
    validity.start_time.FromDatetime(datetime(2025, 7, 25, 2, tzinfo=UTC))
    validity.end_time.FromDatetime(datetime(2025, 7, 28, tzinfo=UTC))
    attributes = json_format.ParseDict(
        {"a": [1, 2.5, None, True, {"b": "ü"}], "": "empty key", "big": 2.0**53}, Struct()
    )
    sent = item(
        "Trip to Lyon\r\n\twith Ann 🍣",
        EVENT,
        slot="trip",
        tags=["b", "a", "c'%_"],
        properties={
            "priority": memory_pb2.PropertyValue(number_value=10),
            "name": memory_pb2.PropertyValue(string_value=""),
            "done": memory_pb2.PropertyValue(bool_value=False),
        },
        attributes=attributes,
        provenance=memory_pb2.Provenance(
            source_type=memory_pb2.SOURCE_TYPE_USER_STATED,
            source_ref="mail:17",
            session="s7",
            confidence=0.0,
        ),
        validity=validity,
        ttl=timedelta(days=3),
    )
    answer = await caller.write("u1", sent, agent="planner", session="s7")
    (result,) = answer.results
    basic = result.memory
    assert UUID(basic.memory_id).version == 7
    assert (basic.revision, basic.state) == (1, ACTIVE)
    assert not basic.content
    assert not basic.HasField("attributes")
    full = (await caller.get(basic.memory_id)).memory
    assert full.content == sent.content
    assert full.attributes == attributes
    basic.content = full.content
    basic.attributes.CopyFrom(full.attributes)
    assert full == basic
    assert full.scope == memory_pb2.Scope(subject="u1", agent="planner", session="s7")
    assert (full.kind, full.slot, list(full.tags)) == (EVENT, "trip", ["b", "a", "c'%_"])
    assert dict(full.properties) == dict(sent.properties)
    assert full.validity == validity
    assert full.expire_time.ToDatetime() - full.create_time.ToDatetime() == timedelta(days=3)
    said = full.provenance
    assert (said.source_ref, said.session, said.confidence) == ("mail:17", "s7", 0.0)
    assert said.HasField("confidence")
    assert (said.trust, said.agent) == (memory_pb2.TRUST_LEVEL_HIGH, "")
    assert said.author
    assert (full.reinforcement_count, full.HasField("reinforce_time")) == (0, False)
    row = stored.memory(basic.memory_id)
    assert row["valid_from"] == datetime(2025, 7, 25, 2, tzinfo=UTC)
    assert row["author"] == said.author
    listed = await caller.call(
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(scope=full.scope, view="MEMORY_VIEW_FULL"),
    )
    assert list(listed.memories) == [full]
    recalled = await caller.recall("u1", "Lyon", narrowing={"agent": "planner", "session": "s7"})
    assert recalled.memories[0].memory == full


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_is_stored(caller: Caller, stored: Stored, kind: str) -> None:
    written = (await caller.write("u1", item("Likes tea", memory_pb2.MemoryKind.Value(kind)))).results[0]
    assert written.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert stored.memory(written.memory.memory_id)["kind"] == memory_pb2.MemoryKind.Value(kind)


async def test_a_space_is_written_like_a_subject(caller: Caller, stored: Stored) -> None:
    request = memory_service_pb2.WriteRequest(
        scope=memory_pb2.Scope(space="handbook"), items=[item("The office opens at eight")]
    )
    written = (await caller.call("Write", request)).results[0].memory
    assert written.scope == memory_pb2.Scope(space="handbook")
    recalled = await caller.call(
        "Recall",
        memory_service_pb2.RecallRequest(scope=memory_pb2.Scope(space="handbook"), query="office"),
    )
    assert [one.memory.memory_id for one in recalled.memories] == [written.memory_id]
    assert not (await caller.recall("handbook", "office")).memories
    assert len(stored.rows("scope")) == 1


async def test_results_stand_in_the_order_of_the_items(caller: Caller, stored: Stored) -> None:
    texts = [f"Fact number {number}" for number in range(100)]
    answer = await caller.write("u1", *texts)
    assert len(answer.results) == 100
    ids = [one.memory.memory_id for one in answer.results]
    assert ids == sorted(ids)
    recalled = await caller.recall("u1", "Fact number", limit=200)
    found = {one.memory.memory_id: one.memory.content for one in recalled.memories}
    assert [found[memory_id] for memory_id in ids] == texts
    (event,) = stored.events(WRITE, OK)
    assert [each["memory_id"] for each in event["payload"]["details"]["memory_written"]["items"]] == ids


async def test_ready_means_that_the_vector_is_stored(caller: Caller, stored: Stored) -> None:
    answer = await caller.write("u1", "Likes tea", "🤷", "!!!")
    states = [one.embedding_state for one in answer.results]
    assert states == [
        memory_pb2.EMBEDDING_STATE_READY,
        memory_pb2.EMBEDDING_STATE_NOT_COVERED,
        memory_pb2.EMBEDDING_STATE_NOT_COVERED,
    ]
    with_vector = {row["doc_no"] for row in stored.rows("memory_embedding") if row["embedding"] is not None}
    assert with_vector == {stored.memory(answer.results[0].memory.memory_id)["doc_no"]}


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \u00a0\n"}, "content"),
        ({"content": "a\x0bb"}, "content"),
        ({"content": "a\x7f"}, "content"),
        ({"kind": 0}, "kind"),
        ({"slot": "x" * 129}, "slot"),
        ({"tags": [""]}, "tags[0]"),
        ({"tags": ["x" * 65]}, "tags[0]"),
        ({"tags": [f"t{number}" for number in range(33)]}, "tags"),
        ({"tags": ["a", "b", "a"]}, "tags"),
        ({"properties": {"Priority": memory_pb2.PropertyValue(bool_value=True)}}, "properties[*]"),
        ({"properties": {"a": memory_pb2.PropertyValue()}}, "properties[a].value"),
        (
            {"properties": {"a": memory_pb2.PropertyValue(number_value=float("nan"))}},
            "properties[a].number_value",
        ),
        (
            {"properties": {"a": memory_pb2.PropertyValue(string_value="x" * 257)}},
            "properties[a].string_value",
        ),
        ({"attributes": {"a": "x" * 8_192}}, "attributes"),
        ({"provenance": memory_pb2.Provenance(confidence=1.01)}, "provenance.confidence"),
        ({"provenance": memory_pb2.Provenance(source_ref="x" * 513)}, "provenance.source_ref"),
        ({"provenance": memory_pb2.Provenance(session="")}, "provenance.session"),
        ({"expire_time": datetime(2020, 1, 1, tzinfo=UTC)}, "expire_time"),
        ({"ttl": timedelta(0)}, "ttl"),
        ({"ttl": timedelta(days=365 * 101)}, "ttl"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_one_bad_item_keeps_all_items_out(
    caller: Caller, stored: Stored, fault: dict[str, Any], field: str
) -> None:
    good, bad = item("Likes tea"), item(**({"content": "Likes jam", "kind": FACT} | fault))
    error = await refused(caller.write("u1", good, bad), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [f"items[1].{field}"]
    assert stored.snapshot() == {table: [] for table in stored.snapshot()}
    assert not stored.events()


@pytest.mark.parametrize("count", [0, 101])
async def test_a_write_has_one_to_a_hundred_items(caller: Caller, stored: Stored, count: int) -> None:
    error = await refused(
        caller.write("u1", *(f"Fact {number}" for number in range(count))), "INVALID_ARGUMENT"
    )
    assert violations(error) == ["items"]
    assert stored.count("memory") == 0


async def test_many_faults_are_named_up_to_twenty(caller: Caller) -> None:
    error = await refused(caller.write("u1", *[item("", 0)] * 30), "INVALID_ARGUMENT")
    assert len(violations(error)) == 20
    assert error_info(error).metadata["violation_count"] == "60"


def _vector(*components: float) -> memory_pb2.Embedding:
    values = np.zeros(384, dtype="<f4")
    values[: len(components)] = components
    return memory_pb2.Embedding(model="deterministic", vector=values.tobytes())


async def test_a_given_vector_is_used_instead_of_a_made_one(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    embedder: Any = shared.service.parts.embedder
    embedder.batches.clear()
    await caller.write(
        "u1", item("North", embedding=_vector(3.0)), item("East", embedding=_vector(0.0, 1e30))
    )
    assert not embedder.batches
    assert stored.count("memory_embedding") == 2
    request = memory_service_pb2.RecallRequest(
        scope=memory_pb2.Scope(subject="u1"), query_embedding=_vector(0.1, 1.0)
    )
    answer = await caller.call("Recall", request)
    assert [one.memory.content for one in answer.memories] == ["East", "North"]
    assert not embedder.batches


@pytest.mark.parametrize(
    ("embedding", "why", "field"),
    [
        (memory_pb2.Embedding(model="other", vector=b"\0\0\x80?" * 384), "EMBEDDING_MODEL_MISMATCH", None),
        (
            memory_pb2.Embedding(model="deterministic", vector=b"\0\0\x80?" * 383),
            "EMBEDDING_MODEL_MISMATCH",
            None,
        ),
        (
            memory_pb2.Embedding(model="deterministic", vector=b"\0\0\x80?" * 768),
            "EMBEDDING_MODEL_MISMATCH",
            None,
        ),
        (memory_pb2.Embedding(model="deterministic", vector=b"\0" * 1536), "INVALID_REQUEST", "vector"),
        (
            memory_pb2.Embedding(model="deterministic", vector=b"\0\0\xc0\x7f" * 384),
            "INVALID_REQUEST",
            "vector",
        ),
        (memory_pb2.Embedding(model="deterministic", vector=b"\0" * 1535), "INVALID_REQUEST", "vector"),
        (memory_pb2.Embedding(model="", vector=b"\0\0\x80?" * 384), "INVALID_REQUEST", "model"),
    ],
    ids=["model", "short", "long", "zero", "nan", "broken", "nameless"],
)
async def test_a_vector_that_cannot_be_compared_is_refused(
    caller: Caller, stored: Stored, embedding: memory_pb2.Embedding, why: str, field: str | None
) -> None:
    error = await refused(caller.write("u1", item("North", embedding=embedding)), "INVALID_ARGUMENT", why)
    if field is None:
        found = error_info(error).metadata
        assert (found["expected_model"], found["expected_dimension"]) == ("deterministic", "384")
    else:
        assert violations(error) == [f"items[0].embedding.{field}"]
    recall = memory_service_pb2.RecallRequest(scope=memory_pb2.Scope(subject="u1"), query_embedding=embedding)
    await refused(caller.call("Recall", recall), "INVALID_ARGUMENT", why)
    assert stored.count("memory") == 0


async def test_the_same_statement_of_another_kind_is_another_memory(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", item("Likes tea", FACT), item("Likes tea", PREFERENCE))
    assert len(stored.live()) == 2
