"""Attacks with a credential: beyond its subject, agent, permissions, sources, time and tenant."""

import asyncio
import copy
import io
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import grpc
import pytest
import pytest_asyncio
from google.rpc import status_pb2
from grpc_status import rpc_status

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    write_pb2,
)
from muniment_server.domain.model import DEFAULT_TRUST, SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.storage.admin import revoke_credential
from muniment_server.telemetry.logs import configure_logging
from security.looking import outcome, refused, snapshot, stored
from support.service import Caller, RunningService, item, reason, request_id, running_service, scope
from support.telemetry import recording

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKER = "KORRIGAN9"


def _call(caller: Caller, method: str, request: Any) -> Awaitable[Any]:
    if method != "ExportAudit":
        return caller.call(method, request)

    async def export() -> list[Any]:
        stream = caller.audit.ExportAudit(request, metadata=caller.metadata, timeout=30)
        return [part async for part in stream]

    return export()


# --- bound to a subject ---------------------------------------------------------------------------


class Owned:
    """Things of a subject that another subject's credential goes after."""

    def __init__(self) -> None:
        self.memories: list[str] = []
        self.erased = ""
        self.recall_id = ""
        self.erasures: list[str] = []
        self.page_token = ""
        self.audit_token = ""


async def _own(caller: Caller) -> Owned:
    owned = Owned()
    results = (
        await caller.write(
            "victim",
            item(f"{MARKER} lives in Lyon", tags=["home"]),
            item(f"{MARKER} likes tea", slot="drink"),
            item(f"{MARKER} is to be forgotten"),
            item(f"{MARKER} said this", provenance=memory_pb2.Provenance(session="s1")),
        )
    ).results
    owned.memories = [one.memory.memory_id for one in results]
    owned.erased = owned.memories.pop(2)
    receipt = await caller.erase_memories(owned.erased)
    owned.erasures = [receipt.erasure_id]
    # An erasure over two subjects, of which the attacker is one, belongs to neither alone.
    own = (await caller.write("attacker", "Mine", "Also mine")).results
    spare = (await caller.write("victim", f"{MARKER} spare")).results
    both = await caller.erase_memories(own[0].memory.memory_id, spare[0].memory.memory_id)
    owned.erasures.append(both.erasure_id)
    owned.recall_id = (await caller.recall("victim", MARKER, min_score=0.0)).recall_id
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("victim"), page_size=1)
    owned.page_token = (await caller.call("ListMemories", listing)).next_page_token
    audit = memory_service_pb2.AuditRequest(page_size=1)
    owned.audit_token = (await caller.call("Audit", audit)).next_page_token
    assert owned.page_token
    assert owned.audit_token
    return owned


def _reaches(owned: Owned) -> dict[str, tuple[str, Any]]:
    """Every way to name something of the victim: method and request."""
    foreign = owned.memories[0]
    places = {
        "the subject": memory_pb2.Scope(subject="victim"),
        "the subject, narrowed": memory_pb2.Scope(subject="victim", agent="a1", session="s1"),
        "a space of its name": memory_pb2.Scope(space="victim"),
        "a space of the own name": memory_pb2.Scope(space="attacker"),
        "the own subject in capitals": memory_pb2.Scope(subject="ATTACKER"),
        "the own subject with a blank": memory_pb2.Scope(subject="attacker "),
        "the own subject with a wildcard": memory_pb2.Scope(subject="attack%"),
        "the own subject, composed otherwise": memory_pb2.Scope(subject="atta\u0441ker"),
        "everybody": memory_pb2.Scope(subject="%"),
    }
    named: dict[str, tuple[str, Any]] = {}
    for name, place in places.items():
        one = memory_service_pb2
        target = erasure_pb2.ErasureTarget
        named |= {
            f"write to {name}": ("Write", one.WriteRequest(scope=place, items=[item("planted")])),
            f"recall from {name}": ("Recall", one.RecallRequest(scope=place, query=MARKER)),
            f"list {name}": ("ListMemories", one.ListMemoriesRequest(scope=place, include_narrowed=True)),
            f"audit {name}": ("Audit", one.AuditRequest(filter=audit_pb2.AuditFilter(scope=place))),
            f"erase by filter in {name}": (
                "Erase",
                one.EraseRequest(
                    target=target(
                        filter=erasure_pb2.FilterTarget(
                            scope=place, filter=filter_pb2.MemoryFilter(tags_any=["home"])
                        )
                    )
                ),
            ),
        }
        if not place.HasField("agent"):
            named[f"erase {name}"] = (
                "Erase",
                one.EraseRequest(target=target(scope=erasure_pb2.ScopeTarget(scope=place))),
            )
            named[f"try to erase {name}"] = (
                "Erase",
                one.EraseRequest(
                    target=target(scope=erasure_pb2.ScopeTarget(scope=place)), validate_only=True
                ),
            )
    by_id = memory_service_pb2
    for label, memory_id in (("a memory", foreign), ("a tombstone", owned.erased)):
        target = erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[memory_id]))
        named |= {
            f"get {label}": (
                "GetMemory",
                by_id.GetMemoryRequest(memory_id=memory_id, include_revisions=True),
            ),
            f"supersede {label}": (
                "Supersede",
                by_id.SupersedeRequest(memory_id=memory_id, item=item("planted")),
            ),
            f"erase {label}": ("Erase", by_id.EraseRequest(target=target)),
            f"try to erase {label}": ("Erase", by_id.EraseRequest(target=target, validate_only=True)),
        }
    for number, erasure_id in enumerate(owned.erasures):
        named[f"erasure {number}"] = ("GetErasure", by_id.GetErasureRequest(erasure_id=erasure_id))
    named |= {
        "recall receipt": ("GetRecall", audit_pb2.GetRecallRequest(recall_id=owned.recall_id)),
        "use report": (
            "ReportUse",
            by_id.ReportUseRequest(recall_id=owned.recall_id, memory_ids=[foreign]),
        ),
        "empty use report": ("ReportUse", by_id.ReportUseRequest(recall_id=owned.recall_id)),
        "page token": (
            "ListMemories",
            by_id.ListMemoriesRequest(scope=scope("attacker"), page_size=1, page_token=owned.page_token),
        ),
        "page token with its scope": (
            "ListMemories",
            by_id.ListMemoriesRequest(scope=scope("victim"), page_size=1, page_token=owned.page_token),
        ),
        "audit token": ("Audit", by_id.AuditRequest(page_size=1, page_token=owned.audit_token)),
        "list token as audit token": (
            "Audit",
            by_id.AuditRequest(page_size=1, page_token=owned.page_token),
        ),
        "export": ("ExportAudit", audit_pb2.ExportAuditRequest()),
    }
    return named


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bound(shared: RunningService) -> AsyncIterator[tuple[Caller, Caller, Owned]]:
    """A tenant's own caller, the attacker's, which is bound to a subject, and what he is after."""
    caller = shared.caller("bound")
    owned = await _own(caller)
    yield caller, shared.caller("bound", subject="attacker"), owned


async def test_a_credential_of_one_subject_reaches_nothing_of_another(
    shared: RunningService, bound: tuple[Caller, Caller, Owned]
) -> None:
    _, attacker, owned = bound
    before = snapshot(shared, "bound")
    told = {}
    for name, (method, request) in _reaches(owned).items():
        try:
            answer = str(await _call(attacker, method, request))
            told[name] = "OK"
        except grpc.aio.AioRpcError as error:
            answer = f"{error} {error.trailing_metadata()}"
            told[name] = error.code().name
        assert MARKER not in answer, name
        assert "victim" not in answer, name
    allowed = {"PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT"}
    assert {name: code for name, code in told.items() if code not in allowed} == {}
    assert snapshot(shared, "bound") == before


async def test_ids_of_another_subject_answer_like_ids_of_nobody(
    shared: RunningService, bound: tuple[Caller, Caller, Owned]
) -> None:
    _, attacker, owned = bound
    nobody = str(uuid4())
    for name, (method, request) in _reaches(owned).items():
        raw = request.SerializeToString()
        for foreign in (owned.memories[0], owned.erased, owned.recall_id, *owned.erasures):
            if foreign.encode() not in raw:
                continue
            unknown = type(request).FromString(raw.replace(foreign.encode(), nobody.encode()))
            errors = []
            for asked, own_id in ((request, foreign), (unknown, nobody)):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await _call(attacker, method, asked)
                status = rpc_status.from_call(caught.value)
                assert status is not None
                errors.append(status.SerializeToString().replace(own_id.encode(), b"?"))
            assert errors[0] == errors[1], name


async def test_a_bound_credentials_audit_shows_its_own_subject_only(
    shared: RunningService, bound: tuple[Caller, Caller, Owned]
) -> None:
    _, attacker, owned = bound
    await attacker.write("attacker", "Likes jam")
    filters = [
        audit_pb2.AuditFilter(),
        audit_pb2.AuditFilter(scope=scope("attacker")),
        audit_pb2.AuditFilter(memory_id=owned.memories[0]),
        audit_pb2.AuditFilter(memory_id=owned.erased),
        audit_pb2.AuditFilter(recall_id=owned.recall_id),
        *(audit_pb2.AuditFilter(actions=[action]) for action in range(1, 10)),
    ]
    for one in filters:
        answer = await attacker.call("Audit", memory_service_pb2.AuditRequest(filter=one, page_size=1000))
        for event in answer.events:
            assert event.scope.subject in ("attacker", ""), event
            text = str(event)
            assert not [memory_id for memory_id in owned.memories if memory_id in text]
            assert owned.recall_id not in text or event.outcome != audit_pb2.AUDIT_OUTCOME_OK


async def test_a_stored_answer_of_another_subject_is_not_given_for_its_request_id(
    shared: RunningService, caller: Caller
) -> None:
    attacker = shared.caller(caller.tenant, subject="attacker")
    mark = request_id()
    written = await caller.write("victim", f"{MARKER} lives in Lyon", request_id=mark)
    memory_id = written.results[0].memory.memory_id
    before = snapshot(shared, caller.tenant)
    for call in (
        lambda: attacker.write("victim", f"{MARKER} lives in Lyon", request_id=mark),
        lambda: attacker.write("attacker", f"{MARKER} lives in Lyon", request_id=mark),
        lambda: attacker.supersede(memory_id, "planted", request_id=mark),
        lambda: attacker.erase_memories(memory_id, request_id=mark),
    ):
        assert await outcome(call()) in ("PERMISSION_DENIED", "ALREADY_EXISTS", "NOT_FOUND")
    assert snapshot(shared, caller.tenant) == before


# --- bound to an agent ----------------------------------------------------------------------------


async def test_a_credential_of_one_agent_reaches_no_memory_of_another(
    shared: RunningService, caller: Caller
) -> None:
    own = shared.caller(caller.tenant, agent="a1")
    foreign = (await caller.write("u1", f"{MARKER} of agent two", agent="a2")).results[0].memory.memory_id
    shared_one = (await caller.write("u1", "Of everybody")).results[0].memory.memory_id
    mine = (await own.write("u1", "Of agent one", agent="a1")).results[0].memory.memory_id
    recall = memory_service_pb2.RecallRequest(scope=scope("u1", agent="a2"), query=MARKER)
    recall_id = (await caller.call("Recall", recall)).recall_id
    listing = memory_service_pb2.ListMemoriesRequest(
        scope=scope("u1"), include_narrowed=True, view=memory_pb2.MEMORY_VIEW_FULL
    )
    assert {one.memory_id for one in (await own.call("ListMemories", listing)).memories} == {
        shared_one,
        mine,
    }
    assert len((await caller.call("ListMemories", listing)).memories) == 3
    before = snapshot(shared, caller.tenant)
    await refused(own.get(foreign), "NOT_FOUND", "MEMORY_NOT_FOUND")
    await refused(own.supersede(foreign, "planted"), "NOT_FOUND", "MEMORY_NOT_FOUND")
    await refused(own.erase_memories(foreign), "NOT_FOUND", "MEMORY_NOT_FOUND")
    await refused(own.erase_memories(mine, foreign), "NOT_FOUND", "MEMORY_NOT_FOUND")
    await refused(
        own.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recall_id)),
        "NOT_FOUND",
        "RECALL_NOT_FOUND",
    )
    report = memory_service_pb2.ReportUseRequest(recall_id=recall_id, memory_ids=[foreign])
    await refused(own.call("ReportUse", report), "NOT_FOUND", "RECALL_NOT_FOUND")
    for place in (scope("u1", agent="a2"), scope("u1", agent="A1"), scope("u1", agent="a1 ")):
        await refused(
            own.call("Recall", memory_service_pb2.RecallRequest(scope=place, query=MARKER)),
            "PERMISSION_DENIED",
        )
    assert not await own.contents("u1", MARKER)
    everything = filter_pb2.MemoryFilter(kinds=[memory_pb2.MEMORY_KIND_FACT])
    dry = await own.erase_filter("u1", everything, validate_only=True)
    assert set(dry.sample_memory_ids) == {shared_one, mine}
    assert snapshot(shared, caller.tenant) == before
    # What nobody is narrowed to, and its own, it may read and correct.
    assert (await own.get(shared_one)).memory.content == "Of everybody"
    corrected = await own.supersede(mine, "Of agent one, corrected")
    assert corrected.memory.scope.agent == "a1"
    receipt = await own.erase_filter("u1", everything)
    # Two memories and the one that was corrected.
    assert receipt.counts.memories == 3
    assert [str(row["memory_id"]) for row in stored(shared, "memory", caller.tenant)] == [foreign]


# --- permissions ----------------------------------------------------------------------------------

_ALLOWS = {
    Permission.WRITE: {"Write"},
    Permission.RECALL: {"Recall", "GetMemory", "ListMemories", "ReportUse"},
    Permission.SUPERSEDE: {"Supersede"},
    Permission.ERASE: {"Erase", "GetErasure"},
    Permission.AUDIT: {"Audit", "GetRecall", "ExportAudit", "GetErasure"},
    Permission.REVIEW: set(),
    Permission.ADMIN: set(),
}


async def test_each_permission_alone_allows_exactly_its_methods(
    shared: RunningService, caller: Caller
) -> None:
    memory_id, gone = [
        one.memory.memory_id for one in (await caller.write("u1", "Likes tea", "Likes jam")).results
    ]
    recall_id = (await caller.recall("u1", "tea")).recall_id
    erasure_id = (await caller.erase_memories(gone)).erasure_id
    requests: dict[str, Callable[[], Any]] = {
        "Write": lambda: memory_service_pb2.WriteRequest(scope=scope("u2"), items=[item("Likes tea")]),
        "Recall": lambda: memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea"),
        "Supersede": lambda: memory_service_pb2.SupersedeRequest(memory_id=memory_id, item=item("Likes tea")),
        "Erase": lambda: memory_service_pb2.EraseRequest(
            target=erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[gone]))
        ),
        "GetErasure": lambda: memory_service_pb2.GetErasureRequest(erasure_id=erasure_id),
        "GetMemory": lambda: memory_service_pb2.GetMemoryRequest(memory_id=memory_id),
        "ListMemories": lambda: memory_service_pb2.ListMemoriesRequest(scope=scope("u1")),
        "ReportUse": lambda: memory_service_pb2.ReportUseRequest(recall_id=recall_id),
        "Audit": lambda: memory_service_pb2.AuditRequest(),
        "GetRecall": lambda: audit_pb2.GetRecallRequest(recall_id=recall_id),
        "ExportAudit": lambda: audit_pb2.ExportAuditRequest(),
    }
    assert set().union(*_ALLOWS.values()) == requests.keys()
    for permission in (*Permission, None):
        one = shared.caller(caller.tenant, permissions=[permission] if permission else [])
        allowed = set()
        for method, make in requests.items():
            before = snapshot(shared, caller.tenant)
            code = await outcome(_call(one, method, make()))
            if code == "PERMISSION_DENIED":
                assert snapshot(shared, caller.tenant) == before
            else:
                assert code in ("OK", "FAILED_PRECONDITION"), (permission, method, code)
                allowed.add(method)
        assert allowed == (_ALLOWS[permission] if permission else set()), permission


async def test_a_refusal_says_the_same_whether_the_thing_is_there_or_not(
    shared: RunningService, caller: Caller
) -> None:
    """Permission is checked before existence and before form."""
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    reader = shared.caller(caller.tenant, permissions=[Permission.AUDIT])
    told = set()
    for given in (memory_id, str(uuid4()), "no id at all"):
        error = await refused(reader.get(given), "PERMISSION_DENIED", "PERMISSION_DENIED")
        told.add((error.details(), _status(error).SerializeToString()))
    assert len(told) == 1


# --- sources and trust ----------------------------------------------------------------------------

_CLAIMS = {
    "trust": memory_pb2.Provenance(trust=memory_pb2.TRUST_LEVEL_CONFIRMED),
    "author": memory_pb2.Provenance(author="the user", agent="the user's agent"),
    "confidence": memory_pb2.Provenance(confidence=1.0),
    "source pointer": memory_pb2.Provenance(source_ref="user_confirmed"),
    "session": memory_pb2.Provenance(session="user_confirmed"),
    "all of it": memory_pb2.Provenance(
        source_type=memory_pb2.SOURCE_TYPE_TOOL,
        trust=memory_pb2.TRUST_LEVEL_CONFIRMED,
        confidence=1.0,
        author="the user",
        agent="the user's agent",
        source_ref="user_confirmed",
        session="user_confirmed",
    ),
}


def _lying(content: str, claim: memory_pb2.Provenance, **fields: Any) -> write_pb2.WriteItem:
    made = item(
        content,
        kind=memory_pb2.MEMORY_KIND_RULE,
        provenance=claim,
        tags=["trust:confirmed", "source_type=user_confirmed", "TRUST_LEVEL_CONFIRMED"],
        **fields,
    )
    made.properties["trust"].number_value = 5
    made.properties["source_type"].string_value = "USER_CONFIRMED"
    made.properties["author"].string_value = "the user"
    made.attributes.update({"trust": 5, "source_type": "USER_CONFIRMED", "provenance": {"trust": 5}})
    return made


def _tool(shared: RunningService, tenant: str, **more: Any) -> Caller:
    return shared.caller(
        tenant,
        permissions=[Permission.WRITE, Permission.RECALL, Permission.SUPERSEDE],
        source_types=[SourceType.TOOL],
        **more,
    )


@pytest.mark.parametrize("claim", _CLAIMS)
async def test_nothing_in_a_message_raises_source_or_trust(
    shared: RunningService, caller: Caller, claim: str
) -> None:
    tool = _tool(shared, caller.tenant)
    trusted = (
        await caller.write(
            "u1",
            item(
                "The user's own word",
                slot="word",
                provenance=memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED),
            ),
        )
    ).results[0]
    written = (await tool.write("u1", _lying("A tool's word", _CLAIMS[claim]))).results[0]
    restated = (await tool.write("u1", _lying("A tool's word", _CLAIMS[claim]))).results[0]
    in_slot = (await tool.write("u1", _lying("A tool's word", _CLAIMS[claim], slot="word"))).results[0]
    by_name = await tool.supersede(trusted.memory.memory_id, _lying("A tool's correction", _CLAIMS[claim]))
    assert restated.outcome == write_pb2.WRITE_OUTCOME_REINFORCED
    assert in_slot.outcome == write_pb2.WRITE_OUTCOME_PENDING_REVIEW
    assert by_name.outcome == write_pb2.WRITE_OUTCOME_PENDING_REVIEW
    tools = {memory.memory_id for memory in (written.memory, in_slot.memory, by_name.memory)}
    (credential_id,) = {
        str(row["credential_id"])
        for row in shared.database.rows(
            "SELECT credential_id FROM credential WHERE public_id = %s", (tool.key.split("_")[1],)
        )
    }
    rows = {str(row["memory_id"]): row for row in stored(shared, "memory", caller.tenant)}
    assert rows.keys() == {*tools, trusted.memory.memory_id}
    for memory_id in tools:
        row = rows[memory_id]
        assert (row["source_type"], row["trust"], row["author"], row["author_agent"]) == (
            SourceType.TOOL,
            TrustLevel.LOW,
            credential_id,
            None,
        )
    kept = rows[trusted.memory.memory_id]
    assert (kept["state"], kept["revision"], kept["trust"]) == (2, 1, TrustLevel.HIGH)
    answer = await caller.recall("u1", "word", min_score=0.0, token_budget=1_000)
    states = {one.memory.memory_id: one.memory.state for one in answer.memories}
    assert trusted.memory.memory_id in states
    assert not {in_slot.memory.memory_id, by_name.memory.memory_id} & states.keys()
    shown = answer.packed_context.text
    warning = shown.index("Not confirmed.")
    assert shown.index("The user's own word") < warning < shown.index("A tool's word")


@pytest.mark.parametrize("source", [one for one in SourceType if one is not SourceType.TOOL])
async def test_a_source_beyond_the_credential_is_refused_in_every_way_to_write(
    shared: RunningService, caller: Caller, source: SourceType
) -> None:
    tool = _tool(shared, caller.tenant)
    claim = memory_pb2.Provenance(source_type=int(source))
    memory_id = (await tool.write("u1", "A tool's word")).results[0].memory.memory_id
    before = snapshot(shared, caller.tenant)
    for call in (
        tool.write("u1", item("New", provenance=claim)),
        tool.write("u1", item("A tool's word", provenance=claim)),
        tool.write("u1", item("In a slot", provenance=claim, slot="word")),
        tool.write("u1", "Allowed", item("Not allowed", provenance=claim)),
        tool.supersede(memory_id, item("Corrected", provenance=claim)),
    ):
        await refused(call, "PERMISSION_DENIED", "SOURCE_NOT_ALLOWED")
    assert snapshot(shared, caller.tenant) == before


async def test_a_restatement_by_a_weaker_source_changes_no_provenance(
    shared: RunningService, caller: Caller
) -> None:
    stated = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_CONFIRMED)
    memory = (await caller.write("u1", item("Likes tea", provenance=stated))).results[0].memory
    tool = _tool(shared, caller.tenant)
    await tool.write("u1", item("Likes tea", provenance=_CLAIMS["all of it"]))
    again = (await caller.get(memory.memory_id, include_revisions=True)).memory
    assert (again.provenance, again.revision) == (memory.provenance, 1)
    assert again.reinforcement_count == 1
    # Nor does it when it is expressed as many times as one likes.
    for _ in range(3):
        await tool.write("u1", *(["Likes tea"] * 5))
    assert (await caller.get(memory.memory_id)).memory.provenance == memory.provenance


@pytest.mark.parametrize("cap", [TrustLevel.UNTRUSTED, TrustLevel.MEDIUM])
async def test_the_highest_trust_of_a_credential_bounds_every_source(
    shared: RunningService, caller: Caller, cap: TrustLevel
) -> None:
    capped = shared.caller(caller.tenant, max_trust=cap)
    for source in SourceType:
        claim = memory_pb2.Provenance(
            source_type=int(source), trust=memory_pb2.TRUST_LEVEL_CONFIRMED, confidence=1.0
        )
        made = (await capped.write("u1", item(f"From {source.name}", provenance=claim))).results[0].memory
        assert made.provenance.trust == min(DEFAULT_TRUST[source], cap)


# --- keys in time ---------------------------------------------------------------------------------


async def test_a_revoked_key_ends_at_once(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "Likes tea")
    revoke_credential(shared.database.eye, caller.key.split("_")[1], seals=shared.seals)
    # The hint travels over a connection of its own.
    for _ in range(40):
        if await outcome(caller.recall("u1", "tea")) == "UNAUTHENTICATED":
            break
        await asyncio.sleep(0.05)
    await refused(caller.recall("u1", "tea"), "UNAUTHENTICATED", "CREDENTIALS_INVALID")


async def test_a_revoked_key_ends_within_five_seconds_when_the_hint_is_lost(
    shared: RunningService, caller: Caller
) -> None:
    clock = _Clock()
    cache = shared.service.api_keys._cache
    cache._clock, real = clock, cache._clock
    try:
        await caller.write("u1", "Likes tea")
        shared.database.execute(
            "UPDATE credential SET revoke_time = now() WHERE public_id = %s", (caller.key.split("_")[1],)
        )
        clock.now += 4.9
        assert await outcome(caller.recall("u1", "tea")) in ("OK", "UNAUTHENTICATED")
        clock.now += 0.2
        await refused(caller.recall("u1", "tea"), "UNAUTHENTICATED", "CREDENTIALS_INVALID")
    finally:
        cache._clock = real


class _Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_an_expired_key_is_refused_although_it_is_cached(
    shared: RunningService, caller: Caller
) -> None:
    caller = shared.caller(caller.tenant, expire_time=datetime.now(UTC) + timedelta(seconds=1.2))
    await caller.write("u1", "Likes tea")
    await asyncio.sleep(1.3)
    await refused(caller.recall("u1", "tea"), "UNAUTHENTICATED", "CREDENTIALS_INVALID")


def _status(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    status = rpc_status.from_call(error)
    assert status is not None
    return status


async def test_every_bad_key_is_refused_in_the_same_words(shared: RunningService, caller: Caller) -> None:
    good = caller.key
    _, public_id, secret = good.split("_")
    past = datetime.now(UTC) - timedelta(seconds=1)
    expired, revoked = shared.caller(caller.tenant, expire_time=past), shared.caller(caller.tenant)
    revoke_credential(shared.database.eye, revoked.key.split("_")[1], seals=shared.seals)
    other = api_key.generate()
    keys = {
        "unknown id": other.text(),
        "wrong secret": f"mnm_{public_id}_{other.secret}",
        "unknown id with a good secret": f"mnm_{other.public_id}_{secret}",
        "one character changed": good[:-1] + ("A" if good[-1] != "A" else "B"),
        "secret in capitals": f"mnm_{public_id}_{secret.upper()}",
        "id in capitals": f"mnm_{public_id.upper()}_{secret}",
        "cut short": good[:-1],
        "one character more": good + "A",
        "expired": expired.key,
        "revoked": revoked.key,
        "empty": "",
        "its digest": api_key.ApiKey(public_id, secret).digest().hex(),
        "quoted": f"'{good}'",
        "with SQL": f"mnm_{public_id}' OR '1'='1_{secret}",
        "a token": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
    }
    told = {}
    for name, key in keys.items():
        one = Caller(shared.channel, caller.tenant, key)
        error = await refused(one.recall("u1", "tea"), "UNAUTHENTICATED", "CREDENTIALS_INVALID")
        told[name] = (error.details(), _status(error).SerializeToString())
    assert len(set(told.values())) == 1, told
    # Both are compared with a digest of the same length, whether there is a row or not.
    assert len(api_key._NOBODY) == len(other.digest())


async def test_an_unknown_key_and_a_wrong_secret_are_compared_alike(
    shared: RunningService, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []
    real = api_key.hmac.compare_digest

    def watched(one: bytes, two: bytes) -> bool:
        compared.append((len(one), len(two)))
        return real(one, two)

    monkeypatch.setattr(api_key.hmac, "compare_digest", watched)
    other = api_key.generate()
    for key in (other.text(), f"mnm_{caller.key.split('_')[1]}_{other.secret}"):
        await refused(Caller(shared.channel, caller.tenant, key).recall("u1", "tea"), "UNAUTHENTICATED")
    assert compared == [(32, 32), (32, 32)]


# --- secrets and where they may not show ----------------------------------------------------------


async def test_keys_show_nowhere(shared: RunningService, caller: Caller) -> None:
    """Logs at their most talkative, errors, spans, metrics, and every row of the database."""
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    configure_logging("DEBUG", stream=stream)
    try:
        with recording() as recorded:
            async with running_service(shared.database) as fresh:
                bad = api_key.generate().text()
                errors = []
                for tenant, key in itertools.product(
                    (caller.tenant, "nobody", "NOT A TENANT"),
                    (caller.key, bad, caller.key[:-2], f" {caller.key}"),
                ):
                    one = Caller(fresh.channel, tenant, key)
                    for call in (one.write("u1", "Likes tea"), one.recall("u1", "tea"), one.get("no id")):
                        try:
                            await call
                        except grpc.aio.AioRpcError as error:
                            errors.append(str(error.details()) + repr(error.trailing_metadata()))
            seen = recorded.everything()
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)
    assert errors
    everything = "\n".join((stream.getvalue(), seen, *errors))
    secrets = [key.split("_")[2][:20] for key in (caller.key, bad)]
    assert not [secret for secret in secrets if secret in everything]
    for table in ("credential", "audit_event", "idempotency"):
        rows = shared.database.rows(f"SELECT t::text AS line FROM {table} t")
        assert not [secret for secret in secrets if any(secret in row["line"] for row in rows)]


# --- the tenant's name ----------------------------------------------------------------------------

_LOOKALIKES = [
    "ACME",
    "Acme",
    " acme",
    "acme ",
    "ac me",
    "acme,acme",
    "acme,other",
    "acme%",
    "acm_",
    "*",
    "%",
    "",
    "acme/../other",
    "acme;other",
    "'acme'",
    '"acme"',
    "acme--",
    "acme' OR '1'='1",
    "acme\\",
    "acme#",
    "-acme",
    ".acme",
    "a" * 64,
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def acme(shared: RunningService) -> AsyncIterator[Caller]:
    """A caller of the tenant acme, where something is remembered; and another tenant."""
    caller = shared.caller("acme")
    await caller.write("u1", f"{MARKER} lives in Lyon")
    shared.caller("acm")
    shared.caller("acme-corp")
    yield caller


@pytest.mark.parametrize("name", _LOOKALIKES)
async def test_a_name_like_a_tenants_is_no_tenants(acme: Caller, name: str) -> None:
    one = _sending(acme, acme.metadata[0], ("muniment-tenant", name))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await one.recall("u1", MARKER)
    assert (caught.value.code().name, reason(caught.value)) in {
        ("INVALID_ARGUMENT", "TENANT_METADATA_INVALID"),
        ("PERMISSION_DENIED", "PERMISSION_DENIED"),
    }
    assert len(name) < 2 or name not in str(caught.value.details())


def _sending(caller: Caller, *metadata: tuple[str, Any]) -> Caller:
    """The caller with other metadata."""
    other = copy.copy(caller)
    other.metadata = metadata  # type: ignore[assignment]
    return other


@pytest.mark.parametrize("name", ["acme-corp", "acm", "acme0", "xn--acme", "nobody"])
async def test_a_tenant_beyond_the_credential_is_refused_alike_whether_it_exists(
    acme: Caller, name: str
) -> None:
    told = set()
    for tenant in (name, "never-heard-of"):
        one = _sending(acme, acme.metadata[0], ("muniment-tenant", tenant))
        error = await refused(one.recall("u1", MARKER), "PERMISSION_DENIED", "PERMISSION_DENIED")
        told.add(_status(error).SerializeToString())
    assert len(told) == 1


@pytest.mark.parametrize(
    "extra",
    [
        (("muniment-tenant", "acme"),),
        (("muniment-tenant", "acme-corp"),),
        (("authorization", "Bearer mnm_x_y"),),
    ],
)
async def test_doubled_metadata_is_refused(acme: Caller, extra: tuple[tuple[str, str], ...]) -> None:
    for metadata in ((*acme.metadata, *extra), (*extra, *acme.metadata)):
        one = _sending(acme, *metadata)
        code = "UNAUTHENTICATED" if extra[0][0] == "authorization" else "INVALID_ARGUMENT"
        await refused(one.recall("u1", MARKER), code)


@pytest.mark.parametrize("name", ["muniment-tenant-bin", "muniment_tenant", "x-muniment-tenant", "tenant"])
async def test_a_tenant_under_another_name_counts_for_nothing(acme: Caller, name: str) -> None:
    value: Any = b"acme-corp" if name.endswith("-bin") else "acme-corp"
    one = _sending(acme, *acme.metadata, (name, value))
    assert len((await one.recall("u1", MARKER)).memories) == 1
    one = _sending(acme, acme.metadata[0], (name, b"acme" if name.endswith("-bin") else "acme"))
    await refused(one.recall("u1", MARKER), "INVALID_ARGUMENT", "TENANT_METADATA_INVALID")
