"""Text: what is well-formed comes back byte for byte, what is not is refused and poisons nothing."""

from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.struct_pb2 import Struct

from contract.requests import Field, fields, path_of, valid_requests
from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from support.service import Caller, RunningService, item, reason, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

WELL_FORMED = [
    "👩‍👩‍👧‍👦 🏳️‍🌈 eats 🍣",
    "e\u0301 is not \u00e9",
    "\ufeffbegins with a mark",
    "right \u202eto left\u202c",
    "tabs\tand\r\nlines\u0085\u2028here",
    "\U0010ffff \ue000 \ufffe",
    "trailing space \u00a0 ",
    "ﷺ" * 20,
    "क्षि नमस्ते",
    "'; DROP TABLE memory; --",
    "%s {0} $1 \\x00 \\u0000",
    "q" + "\u0301" * 500,
]


@pytest.mark.parametrize("text", WELL_FORMED, ids=range(len(WELL_FORMED)))
async def test_well_formed_text_comes_back_byte_for_byte(caller: Caller, stored: Stored, text: str) -> None:
    label = text[:256].replace("\x85", " ")
    tag = label[:64]
    attributes = json_format.ParseDict({text: text}, Struct())
    properties = {"p": memory_pb2.PropertyValue(string_value=label)}
    sent = item(text, tags=[tag], slot=label[:128], properties=properties, attributes=attributes)
    place = {"agent": label, "session": label}
    memory_id = (await caller.write(label, sent, **place)).results[0].memory.memory_id
    found = (await caller.get(memory_id)).memory
    recalled = await caller.recall(label, text, narrowing=place, min_score=0.0)
    for one in (found, *(each.memory for each in recalled.memories)):
        assert one.content.encode() == text.encode()
        assert one.scope == memory_pb2.Scope(subject=label, agent=label, session=label)
        assert (list(one.tags), one.slot) == ([tag], label[:128])
        assert one.attributes == attributes
        assert dict(one.properties) == properties
    trail = memory_service_pb2.AuditRequest(filter={"memory_id": memory_id})
    assert (await caller.call("Audit", trail)).events[-1].scope == found.scope
    by_tag = await caller.recall(label, text, narrowing=place, filter={"tags_any": [tag]}, min_score=0.0)
    assert len(by_tag.memories) == len(recalled.memories)
    assert len(stored.live()) == 1


STRINGS = list(fields(FieldDescriptor.TYPE_STRING))


async def test_the_strings_of_all_requests_were_found() -> None:
    paths = {(field.method, field.path) for field in STRINGS}
    assert len(STRINGS) > 100
    for expected in (
        ("Write", "items[0].content"),
        ("Write", "items[0].properties[*]"),
        ("Write", "items[0].properties[k].string_value"),
        ("Write", "scope.subject"),
        ("Write", "request_id"),
        ("Recall", "query"),
        ("Recall", "filter.properties[0].any_of.values[0].string_value"),
        ("ListMemories", "page_token"),
        ("Erase", "target.filter.filter.tags_none[0]"),
        ("Audit", "filter.scope.agent"),
    ):
        assert expected in paths


async def _call(caller: Caller, method: str, request: Any) -> Any:
    if method != "ExportAudit":
        return await caller.call(method, request)
    return [part async for part in caller.audit.ExportAudit(request, metadata=caller.metadata, timeout=20)]


async def test_a_nul_is_refused_in_every_string_by_the_name_of_its_field(
    caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea")
    before, events = stored.snapshot(), stored.count("audit_event")
    for field in STRINGS:
        for text in ("abc\0def", "\0", "abc\0"):
            error = await refused(_call(caller, field.method, field.spoiled(text)), "INVALID_ARGUMENT")
            assert reason(error) == "INVALID_REQUEST", field.path
            assert field.path in violations(error), (field.method, field.path, violations(error))
            assert "abc" not in str(error.details())
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events
    for number in range(20):
        await caller.write("u1", f"Fact {number}")
    assert len(await caller.contents("u1", "Fact", limit=20)) == 20


@pytest.mark.parametrize("where", ["key", "value", "list", "nested key"])
async def test_a_nul_in_attributes_is_refused(caller: Caller, stored: Stored, where: str) -> None:
    inner = {"key": {"a\0": 1}, "value": {"a": "\0"}, "list": {"a": ["b\0"]}, "nested key": {"a": {"b\0": 1}}}
    attributes = Struct()
    attributes.update(inner[where])
    error = await refused(caller.write("u1", item("Likes tea", attributes=attributes)), "INVALID_ARGUMENT")
    assert violations(error) == ["items[0].attributes"]
    assert stored.count("memory") == 0


async def test_a_written_escape_is_not_a_nul(caller: Caller) -> None:
    attributes = json_format.ParseDict({"a": "\\u0000", "b": "\\\\u0000"}, Struct())
    memory_id = (
        (await caller.write("u1", item("A NUL is written \\u0000", attributes=attributes)))
        .results[0]
        .memory.memory_id
    )
    found = (await caller.get(memory_id)).memory
    assert (found.content, found.attributes) == ("A NUL is written \\u0000", attributes)


def _ill_formed(field: Field) -> bytes:
    """The bytes of a request in which this string is half of a surrogate pair."""
    mark = "0123456789abcdefMARK"
    return field.spoiled(mark).SerializeToString().replace(mark.encode(), b"\xed\xa0\xbd" + b"x" * 17)


async def test_half_a_surrogate_pair_is_refused_in_every_string_and_poisons_nothing(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Likes tea")
    before = stored.snapshot()
    for field in STRINGS:
        send = shared.channel.unary_unary(path_of(field.method))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(_ill_formed(field), metadata=caller.metadata, timeout=10)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT, field
        assert reason(caught.value) == "INVALID_REQUEST"
    assert stored.snapshot() == before
    assert await caller.contents("u1", "tea") == ["Likes tea"]
    assert (await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"scope": scope("u1")}))).events


@pytest.mark.parametrize("raw", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x00", b"\x08", b"\x0b\x08\x01"])
@pytest.mark.parametrize("method", valid_requests())
async def test_bytes_that_are_no_request_are_refused(
    shared: RunningService, caller: Caller, stored: Stored, method: str, raw: bytes
) -> None:
    send = shared.channel.unary_unary(path_of(method))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(raw, metadata=caller.metadata, timeout=10)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason(caught.value) == "INVALID_REQUEST"
    assert stored.count("audit_event") == 0


@pytest.mark.parametrize("text", ["\x01", "a\x08", "\x1b[31m", "\x7f", "\x80", "\x9f"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("Write", "items[0].content"),
        ("Write", "items[0].tags[0]"),
        ("Write", "items[0].slot"),
        ("Write", "items[0].properties[k].string_value"),
        ("Write", "items[0].provenance.source_ref"),
        ("Write", "scope.subject"),
        ("Write", "scope.agent"),
        ("Recall", "query"),
    ],
)
async def test_other_control_characters_are_refused_as_well(
    caller: Caller, stored: Stored, method: str, path: str, text: str
) -> None:
    field = next(each for each in STRINGS if (each.method, each.path) == (method, path))
    error = await refused(caller.call(method, field.spoiled(text)), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [path]
    assert stored.count("memory") == 0
