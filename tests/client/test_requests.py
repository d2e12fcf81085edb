"""What the arguments of calls become on the wire."""

from array import array
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from google.protobuf.json_format import MessageToDict

import muniment
from client.peer import Peer
from muniment import Filter, Property, WriteItem
from muniment.v1 import erasure_pb2, memory_pb2, memory_service_pb2, write_pb2

ID = "01890000-0000-7000-8000-000000000001"


@pytest.fixture(autouse=True)
def answers(peer: Peer) -> None:
    peer.answer("Write", memory_service_pb2.WriteResponse())
    peer.answer("Recall", memory_service_pb2.RecallResponse())
    peer.answer("Supersede", memory_service_pb2.SupersedeResponse())
    peer.answer("Erase", memory_service_pb2.EraseResponse())
    peer.answer("GetErasure", memory_service_pb2.GetErasureResponse())
    peer.answer("GetMemory", memory_service_pb2.GetMemoryResponse())
    peer.answer("ListMemories", memory_service_pb2.ListMemoriesResponse())
    peer.answer("ReportUse", memory_service_pb2.ReportUseResponse())
    peer.answer("Audit", memory_service_pb2.AuditResponse())


async def test_metadata_of_every_call(client: Any, peer: Peer) -> None:
    await client.write("x", subject="u")
    received = peer.last("Write")
    assert received.values("authorization") == ["Bearer mk_dev_5ecret"]
    assert received.values("muniment-tenant") == ["dev"]
    assert received.values("muniment-client") == [f"muniment-python/{muniment.__version__}"]
    agents = received.values("user-agent")
    assert len(agents) == 1
    assert str(agents[0]).startswith(f"muniment-python/{muniment.__version__} ")


async def test_write_a_text(client: Any, peer: Peer) -> None:
    await client.write(
        "Lives in Lyon", subject="u1", slot="home_city", kind="preference", source="user_stated"
    )
    request = peer.last("Write").request
    assert request.scope == memory_pb2.Scope(subject="u1")
    [item] = request.items
    assert item == write_pb2.WriteItem(
        content="Lives in Lyon",
        kind=memory_pb2.MEMORY_KIND_PREFERENCE,
        slot="home_city",
        provenance=memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED),
    )
    assert UUID(request.request_id).version == 4


async def test_write_everything(client: Any, peer: Peer) -> None:
    paris = timezone(timedelta(hours=2))
    item = WriteItem(
        "Meets Li on Monday 👩‍👩‍👧‍👦",
        kind=muniment.MemoryKind.EVENT,
        slot="next",
        tags=["a", "b"],
        properties={"text": "2", "number": 2, "half": 0.5, "flag": True},
        attributes={"nested": {"list": [1, 2.5, None, "x", False]}, "empty": {}},
        source=muniment.Provenance(
            source_type=muniment.SourceType.TOOL,
            source_ref="https://example.test/1",
            session="s1",
            confidence=0.0,
            trust=muniment.TrustLevel.LOW,
            author="ignored",
        ),
        validity=(datetime(2025, 7, 25, 4, 0, 0, 123456, tzinfo=paris), None),
        expires=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        embedding=muniment.Embedding("model-1", [1.0, -0.5]),
    )
    await client.write([item, "plain"], space="team", agent="bot", session="s9")
    request = peer.last("Write").request
    assert request.scope == memory_pb2.Scope(space="team", agent="bot", session="s9")
    first, second = request.items
    assert first.content == "Meets Li on Monday 👩‍👩‍👧‍👦"
    assert first.kind == memory_pb2.MEMORY_KIND_EVENT
    assert list(first.tags) == ["a", "b"]
    assert first.properties["text"] == memory_pb2.PropertyValue(string_value="2")
    assert first.properties["number"] == memory_pb2.PropertyValue(number_value=2)
    assert first.properties["flag"] == memory_pb2.PropertyValue(bool_value=True)
    assert MessageToDict(first.attributes) == {"nested": {"list": [1, 2.5, None, "x", False]}, "empty": {}}
    assert first.provenance.HasField("confidence")
    assert first.provenance.confidence == 0
    assert first.provenance.session == "s1"
    assert first.provenance.author == ""
    assert (first.validity.start_time.seconds, first.validity.start_time.nanos) == (1753408800, 123456000)
    assert not first.validity.HasField("end_time")
    assert (first.expire_time.seconds, first.expire_time.nanos) == (253402300799, 999999000)
    assert first.embedding.vector == array("f", [1.0, -0.5]).tobytes()
    assert second.kind == memory_pb2.MEMORY_KIND_FACT
    assert not second.HasField("provenance")


async def test_ttl_and_times_before_1970(client: Any, peer: Peer) -> None:
    moon = datetime(1969, 7, 20, 20, 17, 40, 5, tzinfo=UTC)
    await client.write("x", subject="u", expires=timedelta(days=1, microseconds=1), validity=(moon, None))
    [item] = peer.last("Write").request.items
    assert (item.ttl.seconds, item.ttl.nanos) == (86400, 1000)
    assert item.validity.start_time.ToDatetime(tzinfo=UTC) == moon


async def test_recall_defaults_send_nothing(client: Any, peer: Peer) -> None:
    await client.recall("q", subject="u")
    assert peer.last("Recall").request == memory_service_pb2.RecallRequest(
        scope=memory_pb2.Scope(subject="u"), query="q"
    )


async def test_zero_is_not_unset(client: Any, peer: Peer) -> None:
    await client.recall("q", subject="u", limit=0, min_score=0, token_budget=0)
    request = peer.last("Recall").request
    assert request.HasField("limit")
    assert request.HasField("min_score")
    assert request.HasField("token_budget")


async def test_recall_everything(client: Any, peer: Peer) -> None:
    await client.recall(
        "q",
        space="team",
        filter=Filter(
            kinds=["fact", muniment.MemoryKind.RULE],
            states=["active"],
            slots=["s"],
            tags_any=["a"],
            tags_all=["b"],
            tags_none=["c"],
            source_types=["user_stated"],
            min_trust="medium",
            sessions=["s1"],
            properties=[
                Property("a") == "x",
                Property("b") != True,  # noqa: E712
                Property("c") > 1,
                Property("d") >= 1,
                Property("e") < 2.5,
                Property("f") <= 2,
                Property("g").between(2, 10),
                Property("h").one_of(["x", 2, False]),
                Property("i").exists(),
                Property("j").missing(),
            ],
            create_time=(datetime(2025, 1, 1, tzinfo=UTC), None),
            valid_at=datetime(2025, 1, 2, tzinfo=UTC),
        ),
        limit=5,
        min_score=0.25,
        token_budget=100,
        legs=["lexical"],
        view="basic",
        explain=True,
        query_embedding=muniment.Embedding("m", [1.0]),
        consistency="strong",
    )
    sent = MessageToDict(peer.last("Recall").request, preserving_proto_field_name=True)
    assert sent["filter"]["properties"] == [
        {"key": "a", "equals": {"string_value": "x"}},
        {"key": "b", "not_equals": {"bool_value": True}},
        {"key": "c", "range": {"gt": 1.0}},
        {"key": "d", "range": {"gte": 1.0}},
        {"key": "e", "range": {"lt": 2.5}},
        {"key": "f", "range": {"lte": 2.0}},
        {"key": "g", "range": {"gte": 2.0, "lte": 10.0}},
        {
            "key": "h",
            "any_of": {"values": [{"string_value": "x"}, {"number_value": 2.0}, {"bool_value": False}]},
        },
        {"key": "i", "exists": True},
        {"key": "j", "exists": False},
    ]
    assert sent["filter"]["kinds"] == ["MEMORY_KIND_FACT", "MEMORY_KIND_RULE"]
    assert sent["filter"]["min_trust"] == "TRUST_LEVEL_MEDIUM"
    assert sent["filter"]["create_time"] == {"start_time": "2025-01-01T00:00:00Z"}
    assert sent["legs"] == ["RETRIEVAL_LEG_LEXICAL"]
    assert sent["consistency"] == {"strong": True}
    assert sent["view"] == "MEMORY_VIEW_BASIC"


async def test_supersede(client: Any, peer: Peer) -> None:
    await client.supersede(UUID(ID), "Lives in Paris", etag="e1", source="user_stated")
    request = peer.last("Supersede").request
    assert (request.memory_id, request.etag, request.item.content) == (ID, "e1", "Lives in Paris")
    assert request.request_id


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ({"memory_ids": [UUID(ID)]}, {"memories": {"memory_ids": [ID]}}),
        ({"subject": "u"}, {"scope": {"scope": {"subject": "u"}}}),
        ({"space": "s"}, {"scope": {"scope": {"space": "s"}}}),
        ({"subject": "u", "session": "s"}, {"session": {"scope": {"subject": "u", "session": "s"}}}),
        (
            {"subject": "u", "session": "s", "agent": "a"},
            {"session": {"scope": {"subject": "u", "agent": "a", "session": "s"}}},
        ),
        (
            {"subject": "u", "filter": Filter(tags_any=["x"])},
            {"filter": {"scope": {"subject": "u"}, "filter": {"tags_any": ["x"]}}},
        ),
        # Left to the server to refuse, but never a wider target.
        ({"subject": "u", "filter": Filter()}, {"filter": {"scope": {"subject": "u"}, "filter": {}}}),
        ({"memory_ids": []}, {"memories": {}}),
    ],
)
async def test_erase_targets(
    client: Any, peer: Peer, arguments: dict[str, Any], target: dict[str, Any]
) -> None:
    await client.erase(**arguments, reason="subject_request", reason_code="T-1", dry_run=True)
    request = peer.last("Erase").request
    assert MessageToDict(request.target, preserving_proto_field_name=True) == target
    assert request.validate_only
    assert request.reason == erasure_pb2.ERASURE_REASON_SUBJECT_REQUEST
    assert request.reason_code == "T-1"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"memory_ids": None},
        {"subject": None},
        {"subject": "u", "session": None},
        {"subject": "u", "filter": None},
        {"subject": "u", "agent": None},
        {"subject": "u", "space": "s"},
        {"session": "s"},
        {"memory_ids": [ID], "subject": "u"},
    ],
)
async def test_erase_refuses_an_unclear_target(client: Any, peer: Peer, arguments: dict[str, Any]) -> None:
    with pytest.raises(muniment.InvalidRequest):
        await client.erase(**arguments)
    assert not peer.received


async def test_report_use(client: Any, peer: Peer) -> None:
    await client.report_use(ID, [], outcome="harmful", model="m", prompt_ref="run-1")
    request = peer.last("ReportUse").request
    assert (request.recall_id, request.model, request.prompt_ref, request.outcome) == (ID, "m", "run-1", 3)
    assert not request.memory_ids


async def test_get_and_list(client: Any, peer: Peer) -> None:
    await client.get_memory(ID, include_revisions=True, before_revision=4, view="basic")
    request = peer.last("GetMemory").request
    assert (request.memory_id, request.include_revisions, request.before_revision) == (ID, True, 4)
    assert [memory async for memory in client.list_memories(subject="u", include_narrowed=True)] == []
    assert peer.last("ListMemories").request == memory_service_pb2.ListMemoriesRequest(
        scope=memory_pb2.Scope(subject="u"), include_narrowed=True
    )
    await client.list_memories(subject="u", view="full").all()
    assert peer.last("ListMemories").request.view == memory_pb2.MEMORY_VIEW_FULL


async def test_audit_filter(client: Any, peer: Peer) -> None:
    await client.audit().all()
    assert peer.last("Audit").request == memory_service_pb2.AuditRequest(filter={})
    await client.audit(
        subject="u", memory_id=ID, actions=["recall"], event_time=(None, datetime(2026, 1, 1, tzinfo=UTC))
    ).all()
    sent = MessageToDict(peer.last("Audit").request, preserving_proto_field_name=True)["filter"]
    assert sent == {
        "scope": {"subject": "u"},
        "memory_id": ID,
        "actions": ["AUDIT_ACTION_RECALL"],
        "event_time": {"end_time": "2026-01-01T00:00:00Z"},
    }


async def test_audit_refuses_filters_that_would_mean_everything(client: Any) -> None:
    with pytest.raises(muniment.InvalidRequest, match=r"filter\.memory_id"):
        client.audit(memory_id="")
    with pytest.raises(muniment.InvalidRequest, match="subject or a space"):
        client.audit(session="s1")


@pytest.mark.parametrize("text", ["abc\x00def", "\ud83d", "x\udfff"])
async def test_text_that_cannot_be_stored(client: Any, peer: Peer, text: str) -> None:
    calls = {
        "items[0].content": lambda: client.write(text, subject="u"),
        "items[1].content": lambda: client.write(["good", WriteItem(text)], subject="u"),
        "items[0].slot": lambda: client.write("x", subject="u", slot=text),
        "items[0].tags[1]": lambda: client.write("x", subject="u", tags=["a", text]),
        "items[0].properties['k']": lambda: client.write("x", subject="u", properties={"k": text}),
        "a key of items[0].properties": lambda: client.write("x", subject="u", properties={text: "v"}),
        "items[0].attributes.a[0]": lambda: client.write("x", subject="u", attributes={"a": [text]}),
        "a key of items[0].attributes": lambda: client.write("x", subject="u", attributes={text: 1}),
        "scope.subject": lambda: client.write("x", subject=text),
        "scope.session": lambda: client.recall("x", subject="u", session=text),
        "query": lambda: client.recall(text, subject="u"),
        "filter.tags_any[0]": lambda: client.recall("q", subject="u", filter=Filter(tags_any=[text])),
        "memory_id": lambda: client.supersede(text, "x"),
        "item.content": lambda: client.supersede(ID, text),
        "etag": lambda: client.supersede(ID, "x", etag=text),
        "request_id": lambda: client.write("x", subject="u", request_id=text),
        "target.memories.memory_ids[0]": lambda: client.erase([text]),
        "prompt_ref": lambda: client.report_use(ID, [], prompt_ref=text),
    }
    for field, call in calls.items():
        with pytest.raises(muniment.InvalidRequest) as raised:
            await call()
        assert raised.value.field_violations[0].field == field
        assert raised.value.reason == muniment.ErrorReason.INVALID_REQUEST
        assert text not in str(raised.value)
    assert not peer.received


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"properties": {"n": 2**53 + 1}}, "items[0].properties['n']"),
        ({"properties": {"n": float("nan")}}, "items[0].properties['n']"),
        ({"attributes": {"n": -(2**60)}}, "items[0].attributes.n"),
        ({"attributes": {"n": float("inf")}}, "items[0].attributes.n"),
        ({"expires": datetime(2030, 1, 1)}, "items[0].expires"),  # noqa: DTZ001
        ({"validity": (None, datetime(2030, 1, 1))}, "items[0].validity.end_time"),  # noqa: DTZ001
        ({"kind": "opinion"}, "items[0].kind"),
        ({"source": "gossip"}, "items[0].provenance.source_type"),
        ({"embedding": muniment.Embedding("m", [float("nan")])}, "items[0].embedding.vector"),
        ({"embedding": muniment.Embedding("m", [1e60])}, "items[0].embedding.vector"),
    ],
)
async def test_values_that_protobuf_would_bend(
    client: Any, peer: Peer, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(muniment.InvalidRequest) as raised:
        await client.write("x", subject="u", **arguments)
    assert raised.value.field_violations[0].field == field
    assert not peer.received


async def test_mistakes_of_the_program_are_type_errors(client: Any, peer: Peer) -> None:
    for call in (
        lambda: client.write(17, subject="u"),
        lambda: client.write([17], subject="u"),
        lambda: client.write(WriteItem("x"), subject="u", slot="s"),
        lambda: client.write("x", subject="u", tags="abc"),
        lambda: client.write("x", subject="u", kind=muniment.TrustLevel.LOW),
        lambda: client.write("x", subject="u", colour="red"),
        lambda: client.write("x", subject="u", attributes={"a": object()}),
        lambda: client.write("x", subject=17),
        lambda: client.recall("q", subject="u", filter=Filter(properties=[True])),
        lambda: client.recall("q", subject="u", consistency="soon"),
        lambda: client.erase(ID),
    ):
        with pytest.raises(TypeError):
            await call()
    assert not peer.received


async def test_a_scope_needs_one_owner(client: Any) -> None:
    for arguments in ({}, {"subject": "u", "space": "s"}):
        with pytest.raises(muniment.InvalidRequest, match="subject or a space"):
            await client.recall("q", **arguments)


def test_conditions_do_not_chain() -> None:
    with pytest.raises(TypeError, match="between"):
        _ = 2 <= Property("x") <= 9
    with pytest.raises(TypeError):
        Property("x").one_of("abc")
    with pytest.raises(TypeError):
        Filter(properties=[Property("x") >= "9"]).message()  # type: ignore[operator]


async def test_request_ids_are_kept_or_made(client: Any, peer: Peer) -> None:
    given = uuid4()
    await client.write("x", subject="u", request_id=given)
    assert peer.last("Write").request.request_id == str(given)
    for call, method in (
        (lambda: client.write("x", subject="u"), "Write"),
        (lambda: client.supersede(ID, "x"), "Supersede"),
        (lambda: client.erase([ID]), "Erase"),
        (lambda: client.report_use(ID, []), "ReportUse"),
    ):
        await call()
        await call()
        first, second = (UUID(each.request.request_id) for each in peer.calls(method)[-2:])
        assert first != second
