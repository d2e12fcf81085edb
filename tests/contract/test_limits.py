"""Sizes: up to the limit works for every default client, beyond it the limit is named, and nothing breaks."""

from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from contract.stored import RECALL, Stored, memory_ids, refused
from contract.trail import record_events
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, recall_pb2
from muniment_server.audit.events import AuditAction
from support.conversations import ingest, made, progress
from support.service import PREFERENCE, Caller, RunningService, error_info, item, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

KIB = 1024
CONTENT = 32 * KIB
REQUEST = 4 * KIB * KIB
ANSWER = 3_670_016
"""3.5 MiB."""


@pytest.mark.parametrize("letter", ["x", "é", "茶", "🍣"])
async def test_a_content_at_the_limit_is_kept_and_one_byte_more_is_refused(
    caller: Caller, stored: Stored, letter: str
) -> None:
    wide = len(letter.encode())
    text = letter * (CONTENT // wide) + "y" * (CONTENT % wide)
    assert len(text.encode()) == CONTENT
    memory_id = (await caller.write("u1", text)).results[0].memory.memory_id
    assert (await caller.get(memory_id)).memory.content == text
    error = await refused(caller.write("u1", text + "z"), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == ["items[0].content"]
    assert len(stored.live()) == 1


@pytest.mark.parametrize(
    ("fields", "at_limit"),
    [
        ({"slot": "é" * 128}, True),
        ({"slot": "é" * 129}, False),
        ({"tags": [f"{number:02d}" + "🍣" * 62 for number in range(32)]}, True),
        ({"tags": ["🍣" * 65]}, False),
        ({"properties": {f"k{number}": "é" * 256 for number in range(32)}}, True),
        ({"properties": {f"k{number}": "x" for number in range(33)}}, False),
        ({"properties": {"k" * 64: "x"}}, True),
        ({"properties": {"k" * 65: "x"}}, False),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_labels_at_and_over_their_limits(
    caller: Caller, stored: Stored, fields: dict[str, Any], at_limit: bool
) -> None:
    if "properties" in fields:
        fields = {
            "properties": {
                key: memory_pb2.PropertyValue(string_value=value)
                for key, value in fields["properties"].items()
            }
        }
    if at_limit:
        memory_id = (await caller.write("u1", item("Likes tea", **fields))).results[0].memory.memory_id
        assert (await caller.get(memory_id)).memory.content == "Likes tea"
    else:
        await refused(caller.write("u1", item("Likes tea", **fields)), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert stored.count("memory") == at_limit


async def test_attributes_at_and_over_their_limit(caller: Caller, stored: Stored) -> None:
    for size, fits in ((8_192, True), (8_193, False)):
        attributes = json_format.ParseDict({"a": "x" * (size - len('{"a":""}'))}, Struct())
        written = caller.write("u1", item(f"Likes tea {size}", attributes=attributes))
        if fits:
            memory_id = (await written).results[0].memory.memory_id
            assert (await caller.get(memory_id)).memory.attributes == attributes
        else:
            error = await refused(written, "INVALID_ARGUMENT", "INVALID_REQUEST")
            assert violations(error) == ["items[0].attributes"]
    assert stored.count("memory") == 1


async def test_attributes_as_deep_as_every_client_can_read(caller: Caller, stored: Stored) -> None:
    for depth in (16, 17):
        inner: object = 1
        for _ in range(depth - 1):
            inner = {"a": inner}
        attributes = json_format.ParseDict(inner, Struct())
        written = caller.write("u1", item(f"Likes tea {depth}", attributes=attributes))
        if depth == 16:
            memory_id = (await written).results[0].memory.memory_id
            assert (await caller.get(memory_id)).memory.attributes == attributes
        else:
            error = await refused(written, "INVALID_ARGUMENT", "INVALID_REQUEST")
            assert violations(error) == ["items[0].attributes"]
    assert stored.live() == {memory_id}


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"{number:05x}" for number in range(220_000)),
        "tea " * 340_000,
    ],
    ids=["many words", "one word"],
)
async def test_a_text_of_more_than_a_megabyte_is_refused_with_the_limit(
    caller: Caller, stored: Stored, text: str
) -> None:
    error = await refused(caller.write("u1", text), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == ["items[0].content"]
    recall = await refused(caller.recall("u1", text), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(recall) == ["query"]
    assert stored.count("memory") == 0


@pytest.mark.parametrize(
    "text",
    [
        "a" * 3_000,
        "a" * CONTENT,
        "ab" * 1_500,
        "茶" * 3_000,
        " ".join(f"{number:x}" for number in range(6_500)),
        "a " * (CONTENT // 2),
        "https://example.test/" + "p/" * 1_400,
        "\u0301" * 3_000,
        "." * CONTENT,
        "🤷" * 3_000,
    ],
    ids=lambda text: ascii(text[:8]),
)
async def test_odd_texts_within_the_limit_are_stored_and_found_again(
    caller: Caller, stored: Stored, text: str
) -> None:
    memory_id = (await caller.write("u1", text)).results[0].memory.memory_id
    assert (await caller.get(memory_id)).memory.content == text
    await caller.recall("u1", text[:1_500])
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), view="MEMORY_VIEW_FULL")
    assert (await caller.call("ListMemories", listing)).memories[0].content == text
    assert (await caller.erase_memories(memory_id)).counts.memories == 1
    assert stored.count("posting") == 0


def _full_request(size: int) -> memory_service_pb2.WriteRequest:
    """A Write of exactly this many bytes."""
    request = memory_service_pb2.WriteRequest(scope=scope("u1"))
    for number in range(100):
        request.items.add(content=f"{number} ".ljust(CONTENT, "x"), kind=memory_pb2.MEMORY_KIND_FACT)
    note = b"\xfa\x7c"  # A field that nobody knows: its bytes only count.
    left = size - request.ByteSize()
    length = left - len(note) - 3
    raw = (
        request.SerializeToString()
        + note
        + bytes([length & 127 | 128, (length >> 7) & 127 | 128, length >> 14])
    )
    raw += b"n" * length
    assert len(raw) == size
    return memory_service_pb2.WriteRequest.FromString(raw)


async def test_a_request_at_the_limit_is_served_and_one_byte_more_is_refused(
    caller: Caller, stored: Stored
) -> None:
    answer = await caller.call("Write", _full_request(REQUEST))
    assert len(answer.results) == 100
    assert stored.count("memory") == 100
    before = stored.snapshot()
    error = await refused(
        caller.call("Write", _full_request(REQUEST + 1)), "INVALID_ARGUMENT", "REQUEST_TOO_LARGE"
    )
    assert dict(error_info(error).metadata) == {
        "limit_bytes": str(REQUEST),
        "actual_bytes": str(REQUEST + 1),
    }
    assert stored.snapshot() == before


async def test_a_request_beyond_the_transport_ends_in_its_own_error(caller: Caller, stored: Stored) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await caller.recall("u1", "x" * (6 * KIB * KIB))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await caller.write("u1", "Likes tea")
    assert len(stored.live()) == 1


async def _listed(caller: Caller, **fields: Any) -> list[memory_pb2.Memory]:
    """All memories, page by page; every page is small enough for a default client."""
    found: list[memory_pb2.Memory] = []
    request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), **fields)
    while True:
        page = await caller.call("ListMemories", request)
        assert page.ByteSize() <= ANSWER
        assert page.memories
        found += page.memories
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def test_large_contents_come_back_in_answers_that_default_clients_can_receive(
    caller: Caller, stored: Stored
) -> None:
    written: list[str] = []
    for part in range(2):
        texts = [f"tea {part} {number} ".ljust(CONTENT, "x") for number in range(80)]
        written += memory_ids((await caller.write("u1", *texts)).results)
    for options in ({}, {"token_budget": 200_000}):
        answer = await caller.recall("u1", "tea", limit=200, min_score=0.0, **options)
        assert answer.ByteSize() <= ANSWER
        left = {one.reason: one.count for one in answer.left_out}
        assert len(answer.memories) + left[recall_pb2.LEFT_OUT_REASON_RESPONSE_SIZE] == 160
        assert len(answer.memories) >= 50
    assert sorted(
        one.memory_id for one in await _listed(caller, view="MEMORY_VIEW_FULL", page_size=1_000)
    ) == sorted(written)
    assert stored.count("memory") == 160


@pytest.mark.parametrize(
    ("options", "returned"),
    [
        # What is not sent takes no room: a block of few tokens, contents that were not asked for.
        ({}, 100),
        ({"token_budget": 2_000}, 100),
        ({"view": "MEMORY_VIEW_BASIC"}, 110),
        ({"view": "MEMORY_VIEW_BASIC", "token_budget": 200_000}, 110),
    ],
    ids=str,
)
async def test_as_many_are_returned_as_an_answer_has_room_for(
    caller: Caller, stored: Stored, options: dict[str, Any], returned: int
) -> None:
    for part in range(2):
        await caller.write("u1", *(f"tea {part} {number} ".ljust(CONTENT, "x") for number in range(55)))
    legs = [recall_pb2.RETRIEVAL_LEG_LEXICAL]
    answer = await caller.recall(
        "u1", "tea", limit=120, min_score=0.0, legs=legs, near_miss_limit=50, **options
    )
    assert answer.ByteSize() <= ANSWER
    assert len(answer.memories) >= returned
    left = {one.reason: one.count for one in answer.left_out}
    large = recall_pb2.LEFT_OUT_REASON_RESPONSE_SIZE
    assert len(answer.memories) + left.get(large, 0) == stored.count("memory") == 110
    missed = {one.memory_id for one in answer.near_misses}
    assert [one.reason for one in answer.near_misses] == [large] * left.get(large, 0)
    assert missed | set(memory_ids(answer.memories)) == stored.live()


def _heavy_labels(number: int, content: str = "tea") -> Any:
    """An item of the most that labels can weigh, with next to no content."""
    attributes = Struct()
    attributes["n"] = [1] * 4_000
    return item(
        f"{content} {number}",
        slot=f"{number:04d}" + "🍣" * 124,
        tags=[f"{tag:02d}" + "🍣" * 62 for tag in range(32)],
        properties={
            f"{'k' * 60}{key}": memory_pb2.PropertyValue(string_value="🍣" * 256) for key in range(32)
        },
        attributes=attributes,
        provenance=memory_pb2.Provenance(source_ref="🍣" * 512, session="🍣" * 256),
    )


async def _write_heavy(caller: Caller, count: int) -> list[str]:
    written: list[str] = []
    for start in range(0, count, 40):
        items = [_heavy_labels(start + number) for number in range(min(40, count - start))]
        written += memory_ids((await caller.write("u1", *items)).results)
    return written


async def test_large_labels_come_back_in_answers_that_default_clients_can_receive(
    caller: Caller, stored: Stored
) -> None:
    written = await _write_heavy(caller, 60)
    assert stored.count("memory") == 60
    for view in ("MEMORY_VIEW_FULL", "MEMORY_VIEW_BASIC"):
        answer = await caller.recall("u1", "tea", limit=200, min_score=0.0, view=view)
        assert answer.ByteSize() <= ANSWER
        assert answer.memories
        listed = await _listed(caller, view=view, page_size=1_000)
        assert sorted(one.memory_id for one in listed) == sorted(written)


async def test_revisions_come_back_in_answers_that_default_clients_can_receive(
    caller: Caller, stored: Stored
) -> None:
    text = "tea ".ljust(CONTENT, "x")
    for days in range(1, 131):
        longer = item(text)
        longer.ttl.FromSeconds(days * 86_400)
        memory_id = (await caller.write("u1", longer)).results[0].memory.memory_id
    assert stored.count("memory_revision") == 129
    seen: list[int] = []
    before: dict[str, int] = {}
    while True:
        answer = await caller.get(memory_id, include_revisions=True, **before)
        assert answer.ByteSize() <= ANSWER
        numbers = [one.memory.revision for one in answer.revisions]
        assert numbers
        assert len(numbers) <= 100
        seen += numbers
        assert answer.older_revision_count == numbers[-1] - 1
        if not answer.older_revision_count:
            break
        before = {"before_revision": numbers[-1]}
    assert seen == list(range(130, 0, -1))


async def test_an_ingest_that_restates_large_memories_is_answered(caller: Caller, stored: Stored) -> None:
    tags = [f"{n:02d}".ljust(64, "t") for n in range(32)]
    properties = {
        f"k{n:02d}".ljust(64, "q"): memory_pb2.PropertyValue(string_value="語" * 256) for n in range(32)
    }
    texts = [f"I like tea number {n}x." for n in range(160)]
    for start in range(0, len(texts), 40):
        await caller.write(
            "u1",
            *(
                item(text[:-1], PREFERENCE, tags=tags, properties=properties)
                for text in texts[start : start + 40]
            ),
        )
    pairs = [" ".join(texts[start : start + 2]) for start in range(0, len(texts), 2)]
    answer = await ingest(caller, "u1", pairs)
    assert {outcome for outcome, _ in made(answer)} == {"REINFORCED"}
    assert len(answer.extracted) == len(texts)
    assert answer.ByteSize() <= ANSWER
    assert (await progress(caller, answer.ingest_id)).ByteSize() <= ANSWER
    memories = [one.result.memory for one in answer.extracted]
    assert {one.memory_id for one in memories} <= stored.live()
    assert (len(memories[0].tags), len(memories[-1].tags)) == (32, 0)


async def test_a_write_whose_answer_would_be_too_large_stores_nothing(caller: Caller, stored: Stored) -> None:
    place = {"agent": "🍣" * 256, "session": "🍣" * 256}
    items = [_heavy_labels(number) for number in range(100)]
    for one in items:
        one.ClearField("attributes")
    while memory_service_pb2.WriteRequest(items=items).ByteSize() > REQUEST - 10_000:
        items.pop()
    error = await refused(caller.write("🍣" * 256, *items, **place), "INVALID_ARGUMENT", "REQUEST_TOO_LARGE")
    assert error_info(error).metadata["limit_bytes"] == str(ANSWER)
    assert stored.count("memory") == 0
    answer = await caller.write("🍣" * 256, *items[:60], **place)
    assert answer.ByteSize() <= ANSWER
    assert stored.count("memory") == 60


async def test_contents_full_of_escapes_come_back_with_their_block(caller: Caller, stored: Stored) -> None:
    for part in range(2):
        await caller.write("u1", *(f"tea {part} {number} ".ljust(CONTENT, "<") for number in range(60)))
    answer = await caller.recall("u1", "tea", limit=200, min_score=0.0, token_budget=200_000)
    assert answer.ByteSize() <= ANSWER
    assert answer.packed_context.tokens <= 200_000
    assert answer.packed_context.memory_ids
    assert stored.count("memory") == 120


async def test_whole_numbers_count_as_they_are_written(caller: Caller, stored: Stored) -> None:
    numbers = json_format.ParseDict({"n": [1] * 4_000}, Struct())
    zeros = json_format.ParseDict({"z": [0.0, -0.0, 1e300, 0.5, 2.0**53]}, Struct())
    for attributes in (numbers, zeros):
        memory_id = (
            (await caller.write("u1", item("Likes tea", attributes=attributes))).results[0].memory.memory_id
        )
        assert (await caller.get(memory_id)).memory.attributes == attributes
        await caller.erase_memories(memory_id)
    assert stored.count("memory") == 0


async def test_audit_pages_stay_small_enough_for_default_clients(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    for part in range(2):
        await caller.write("u1", *(f"tea {part} {number}" for number in range(100)))
    answer = await caller.recall("u1", "tea", limit=200, min_score=0.0)
    assert len(answer.memories) == 200
    (recall,) = stored.events(RECALL)
    made = await record_events(
        shared,
        caller,
        200,
        action=AuditAction.RECALL,
        memory_ids=recall["memory_ids"],
        details=recall["payload"]["details"],
    )
    request = memory_service_pb2.AuditRequest(filter={"actions": ["AUDIT_ACTION_RECALL"]}, page_size=1_000)
    seen: list[str] = []
    pages = 0
    while True:
        page = await caller.call("Audit", request)
        assert page.ByteSize() <= ANSWER
        pages += 1
        seen += [event.event_id for event in page.events]
        assert all(len(event.memories_recalled.memories) == 200 for event in page.events)
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seen == [*reversed(made), str(recall["event_id"])]
    assert pages > 1
