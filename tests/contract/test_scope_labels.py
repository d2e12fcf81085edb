"""Names of scopes and tenants are compared exactly: no wildcard, no prefix, no folding."""

from typing import Any
from uuid import uuid4

import pytest

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import audit_pb2, erasure_pb2, memory_pb2, memory_service_pb2
from support.service import Caller, RunningService, item, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

LABELS = [
    "john_doe", "john-doe", "johnXdoe", "john", "johnny", "a.b", "a", "%", "_", "*", "a%", "\\%", "'", "--",
    "John", "JOHN", " john", "john ", "caf\u00e9", "cafe\u0301", "ｊｏｈｎ", "null", "0", "\\x00", "ß", "ss",
    "john\tdoe", "🤷", "j" * 256, "j" * 255,
]  # fmt: skip


async def _contents(caller: Caller, place: memory_pb2.Scope, **options: Any) -> list[str]:
    answer = await caller.call(
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(scope=place, view="MEMORY_VIEW_FULL", **options),
    )
    return [one.content for one in answer.memories]


@pytest.mark.parametrize("owner", ["subject", "space"])
async def test_every_scope_sees_its_own_memory_and_no_other(
    caller: Caller, stored: Stored, owner: str
) -> None:
    for label in LABELS:
        place = memory_pb2.Scope(**{owner: label})
        request = memory_service_pb2.WriteRequest(scope=place, items=[item(f"Memory of ({label})")])
        await caller.call("Write", request)
    assert stored.count("memory") == stored.count("scope") == len(LABELS)
    for label in LABELS:
        place = memory_pb2.Scope(**{owner: label})
        own = [f"Memory of ({label})"]
        recall = memory_service_pb2.RecallRequest(scope=place, query="Memory", limit=200)
        answer = await caller.call("Recall", recall)
        assert [one.memory.content for one in answer.memories] == own
        assert await _contents(caller, place) == own
        assert await _contents(caller, place, include_narrowed=True) == own
        trail = await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"scope": place}))
        written = [event for event in trail.events if event.action == audit_pb2.AUDIT_ACTION_WRITE]
        assert len(written) == 1
        assert written[0].memory_written.items[0].memory_id == answer.memories[0].memory.memory_id
        assert all(event.scope == place for event in trail.events)


async def test_erasing_a_scope_erases_no_other(caller: Caller, stored: Stored) -> None:
    for label in LABELS:
        await caller.write(label, f"Memory of ({label})")
    left = list(LABELS)
    for label in ("%", "_", "john", "a", "*", " john", "John"):
        assert (await caller.erase_subject(label)).counts.memories == 1
        left.remove(label)
        assert stored.count("memory") == len(left)
    for label in left:
        assert await _contents(caller, scope(label)) == [f"Memory of ({label})"]


async def test_a_subject_and_a_space_of_one_name_are_two(caller: Caller, stored: Stored) -> None:
    await caller.write("same", "Of the subject")
    request = memory_service_pb2.WriteRequest(
        scope=memory_pb2.Scope(space="same"), items=[item("Of the space")]
    )
    await caller.call("Write", request)
    assert await _contents(caller, scope("same")) == ["Of the subject"]
    assert await _contents(caller, memory_pb2.Scope(space="same")) == ["Of the space"]
    await caller.erase_subject("same")
    assert await _contents(caller, memory_pb2.Scope(space="same")) == ["Of the space"]
    assert stored.count("memory") == 1


@pytest.mark.parametrize("name", ["agent", "session"])
async def test_agents_and_sessions_are_compared_exactly(caller: Caller, stored: Stored, name: str) -> None:
    labels = LABELS[:20]
    for label in labels:
        await caller.write("u1", f"Memory of ({label})", **{name: label})
    for label in labels:
        place = memory_pb2.Scope(subject="u1", **{name: label})
        assert await _contents(caller, place) == [f"Memory of ({label})"]
        answer = await caller.recall("u1", "Memory", narrowing={name: label}, limit=200)
        assert [one.memory.content for one in answer.memories] == [f"Memory of ({label})"]
    assert await _contents(caller, scope("u1")) == []
    assert len(await _contents(caller, scope("u1"), include_narrowed=True)) == len(labels)
    assert stored.count("memory") == len(labels)


PLACES: list[dict[str, str]] = [
    {},
    {"agent": "a1"},
    {"agent": "a2"},
    {"session": "s1"},
    {"session": "s2"},
    {"agent": "a1", "session": "s1"},
    {"agent": "a2", "session": "s2"},
]


@pytest.mark.parametrize("view", PLACES, ids=str)
async def test_a_narrowed_memory_is_recalled_only_by_who_names_the_same(
    caller: Caller, stored: Stored, view: dict[str, str]
) -> None:
    for place in PLACES:
        await caller.write("u1", f"Memory of {place}", **place)
    expected = {
        f"Memory of {place}"
        for place in PLACES
        if all(view.get(name) == label for name, label in place.items())
    }
    answer = await caller.recall("u1", "Memory", narrowing=view, limit=200, min_score=0.0)
    assert {one.memory.content for one in answer.memories} == expected
    assert set(await _contents(caller, scope("u1", **view))) == expected
    # What is narrowed to others is not even counted among what was looked through as matching.
    assert len(stored.live()) == len(PLACES)


@pytest.mark.parametrize(
    ("place", "field"),
    [
        (memory_pb2.Scope(), "scope.owner"),
        (memory_pb2.Scope(agent="a1"), "scope.owner"),
        (memory_pb2.Scope(subject=""), "scope.subject"),
        (memory_pb2.Scope(space=""), "scope.space"),
        (memory_pb2.Scope(subject="u1", agent=""), "scope.agent"),
        (memory_pb2.Scope(subject="u1", session=""), "scope.session"),
        (memory_pb2.Scope(subject="u" * 257), "scope.subject"),
        (memory_pb2.Scope(subject="u" * 3_000), "scope.subject"),
        (memory_pb2.Scope(subject="u1", agent="a" * 257), "scope.agent"),
        (memory_pb2.Scope(subject="a\x07b"), "scope.subject"),
        (None, "scope"),
    ],
    ids=str,
)
async def test_a_scope_that_names_nobody_reads_and_writes_nothing(
    caller: Caller, stored: Stored, place: memory_pb2.Scope | None, field: str
) -> None:
    await caller.write("u1", "Likes tea")
    requests: dict[str, Any] = {
        "Write": memory_service_pb2.WriteRequest(scope=place, items=[item("Likes jam")]),
        "Recall": memory_service_pb2.RecallRequest(scope=place, query="tea"),
        "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=place),
    }
    for method, request in requests.items():
        error = await refused(caller.call(method, request), "INVALID_ARGUMENT", "INVALID_REQUEST")
        assert violations(error) == [field], method
    target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=place))
    error = await refused(
        caller.call("Erase", memory_service_pb2.EraseRequest(target=target)), "INVALID_ARGUMENT"
    )
    assert f"target.scope.{field}" in violations(error)
    assert len(stored.live()) == 1


async def test_tenants_of_like_names_see_nothing_of_each_other(shared: RunningService) -> None:
    suffix = uuid4().hex[:8]
    names = [f"{name}{suffix}" for name in ("t_1", "tx1", "t1", "t-1", "t.1", "t_", "t")]
    callers = {name: shared.caller(name) for name in names}
    for name, caller in callers.items():
        await caller.write("u1", f"Memory of {name}")
    for name, caller in callers.items():
        assert await caller.contents("u1", "Memory") == [f"Memory of {name}"]
        trail = await caller.call("Audit", memory_service_pb2.AuditRequest())
        writes = [event for event in trail.events if event.action == audit_pb2.AUDIT_ACTION_WRITE]
        assert len(writes) == 1
    await callers[names[0]].erase_subject("u1")
    for name in names[1:]:
        assert Stored(shared.database, name).count("memory") == 1
