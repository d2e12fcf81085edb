"""Pages: whoever follows the tokens sees everything once, while others write; a token cannot be bent."""

import asyncio
import base64
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from contract.stored import Stored, memory_ids, refused
from contract.trail import record_events
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from support.service import Caller, RunningService, error_info, item, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = 1_137
OTHERS = itertools.count(1)


async def _pages(caller: Caller, method: str, request: Any, between: Callable[[], Any]) -> list[list[Any]]:
    pages = []
    while True:
        page = await caller.call(method, request)
        pages.append(list(page.events if method == "Audit" else page.memories))
        if not page.next_page_token:
            return pages
        request.page_token = page.next_page_token
        await between()


async def test_every_audit_event_is_seen_once_while_others_write(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    made = await record_events(shared, caller, COUNT)

    async def write() -> None:
        await asyncio.gather(*(caller.write("u1", f"Other {next(OTHERS)}") for _ in range(5)))

    pages = await _pages(caller, "Audit", memory_service_pb2.AuditRequest(page_size=100), write)
    assert [len(page) for page in pages] == [100] * 11 + [37]
    assert [event.event_id for page in pages for event in page] == made[::-1]
    assert stored.count("memory") == 55
    # The sealer chained in between; what is shown of the chain agrees with it.
    await shared.sealed()
    whole = await _pages(caller, "Audit", memory_service_pb2.AuditRequest(page_size=1_000), write)
    sequences = [event.sequence for page in whole for event in page if event.sequence]
    assert sequences == sorted(sequences, reverse=True)
    assert len(set(sequences)) == len(sequences) >= COUNT


async def test_every_memory_is_listed_once_while_others_write(caller: Caller, stored: Stored) -> None:
    made: list[str] = []
    while len(made) < COUNT:
        count = min(100, COUNT - len(made))
        texts = [f"Fact {len(made) + number}" for number in range(count)]
        made += memory_ids((await caller.write("u1", *texts)).results)

    async def write() -> None:
        await caller.write("u1", *(f"Later {next(OTHERS)}" for _ in range(5)))

    request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=100)
    pages = await _pages(caller, "ListMemories", request, write)
    assert [len(page) for page in pages] == [100] * 11 + [37]
    assert memory_ids([one for page in pages for one in page]) == made[::-1]
    assert len(stored.live()) == COUNT + 55


async def test_a_page_size_beyond_the_largest_is_cut_and_continued(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    made = await record_events(shared, caller, COUNT)

    async def nothing() -> None:
        return None

    pages = await _pages(caller, "Audit", memory_service_pb2.AuditRequest(page_size=5_000), nothing)
    assert [len(page) for page in pages] == [1_000, 137]
    assert [event.event_id for page in pages for event in page] == made[::-1]
    assert stored.count("audit_event") == COUNT + 1, "only the first page is a reading of its own"


@pytest.mark.parametrize("count", [1, 99, 100, 101, 200])
async def test_the_end_is_marked_by_an_empty_token_only(
    shared: RunningService, caller: Caller, stored: Stored, count: int
) -> None:
    await record_events(shared, caller, count)

    async def nothing() -> None:
        return None

    pages = await _pages(caller, "Audit", memory_service_pb2.AuditRequest(), nothing)
    assert sum(map(len, pages)) == count
    assert all(pages)
    assert stored.count("audit_event") == count + 1


async def test_memories_that_are_erased_or_corrected_between_pages_shift_nothing(
    caller: Caller, stored: Stored
) -> None:
    made = memory_ids((await caller.write("u1", *(f"Fact {number}" for number in range(30)))).results)
    request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=10)
    first = await caller.call("ListMemories", request)
    assert memory_ids(first.memories) == made[:-11:-1]
    await caller.erase_memories(made[-1], made[-10], made[5])
    await caller.supersede(made[10], "Corrected")
    request.page_token = first.next_page_token
    second = await caller.call("ListMemories", request)
    request.page_token = second.next_page_token
    third = await caller.call("ListMemories", request)
    rest = [one for one in made[:-10][::-1] if one not in (made[5], made[10])]
    assert memory_ids([*second.memories, *third.memories]) == rest
    assert not third.next_page_token
    assert len(stored.live()) == 27


def _bent(token: str) -> list[str]:
    """The token with something wrong in it."""
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    flipped = [raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :] for at in range(0, len(raw), 5)]
    encoded = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in flipped]
    return [*encoded, token[:-1], token[1:], token + "A", token * 2, "x", "=", "%%%", "é", "0" * 64]


async def test_a_bent_token_is_refused(shared: RunningService, caller: Caller, stored: Stored) -> None:
    await record_events(shared, caller, 5)
    await caller.write("u1", *(f"Fact {number}" for number in range(5)))
    requests: dict[str, Any] = {
        "Audit": memory_service_pb2.AuditRequest(page_size=2),
        "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=2),
    }
    for method, request in requests.items():
        token = (await caller.call(method, request)).next_page_token
        for bent in _bent(token):
            request.page_token = bent
            error = await refused(caller.call(method, request), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
            assert error_info(error).metadata["field"] == "page_token"
        request.page_token = "x" * 1_025
        await refused(caller.call(method, request), "INVALID_ARGUMENT", "INVALID_REQUEST")
        request.page_token = token
        assert await caller.call(method, request)
    assert len(stored.live()) == 5


async def test_a_token_belongs_to_its_arguments_and_its_method(caller: Caller) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(6)))
    await caller.write("u2", *(f"Fact {number}" for number in range(6)))
    request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=2)
    token = (await caller.call("ListMemories", request)).next_page_token
    others = [
        memory_service_pb2.ListMemoriesRequest(scope=scope("u2")),
        memory_service_pb2.ListMemoriesRequest(scope=memory_pb2.Scope(space="u1")),
        memory_service_pb2.ListMemoriesRequest(scope=scope("u1", agent="a")),
        memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), include_narrowed=True),
        memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), view="MEMORY_VIEW_FULL"),
        memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), filter={"tags_any": ["a"]}),
    ]
    for other in others:
        other.page_token = token
        await refused(caller.call("ListMemories", other), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    trail = memory_service_pb2.AuditRequest(page_token=token)
    await refused(caller.call("Audit", trail), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    audit = memory_service_pb2.AuditRequest(page_size=1)
    audit_token = (await caller.call("Audit", audit)).next_page_token
    for actions in ([1], [2]):
        bent = memory_service_pb2.AuditRequest(filter={"actions": actions}, page_token=audit_token)
        await refused(caller.call("Audit", bent), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    request.page_token, request.page_size = token, 3
    assert len((await caller.call("ListMemories", request)).memories) == 3


@pytest.mark.parametrize("size", [-1, -(2**31)])
async def test_a_negative_page_size_is_refused(caller: Caller, size: int) -> None:
    for method, request in (
        ("Audit", memory_service_pb2.AuditRequest(page_size=size)),
        ("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=size)),
    ):
        error = await refused(caller.call(method, request), "INVALID_ARGUMENT", "INVALID_REQUEST")
        assert violations(error) == ["page_size"]


async def test_tampered_memories_are_named_in_their_page(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    made = memory_ids((await caller.write("u1", *(item(f"Fact {n}") for n in range(6)))).results)
    shared.database.execute("UPDATE memory SET slot = 'x' WHERE memory_id = %s", (made[4],))
    request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=3)
    page = await caller.call("ListMemories", request)
    assert list(page.seal_broken_memory_ids) == [made[4]]
    assert memory_ids(page.memories) == [made[5], made[3]]
    request.page_token = page.next_page_token
    rest = await caller.call("ListMemories", request)
    assert memory_ids(rest.memories) == made[2::-1]
    await refused(caller.get(made[4]), "DATA_LOSS", "INTEGRITY_VIOLATION")
    assert stored.events(outcome=3)
