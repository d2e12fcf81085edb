"""What belongs to another tenant, or to another subject than a credential's, is as if it did not exist."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import grpc
import pytest

from contract.stored import FAILED, Stored, refused, tables_with
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    consistency_pb2,
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    subject_pb2,
)
from support.service import Caller, RunningService, error_info, item, request_id, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKER = "QZX-7781"


@dataclass
class Targets:
    """Things of the owner that somebody else may have learned the ids of."""

    memory_id: str
    recall_id: str
    erasure_id: str
    etag: str


async def _owned(owner: Caller) -> Targets:
    memory = (await owner.write("u1", f"The code is {MARKER}", "Likes jam")).results[0].memory
    recalled = await owner.recall("u1", "code")
    gone = (await owner.write("u1", "Soon gone")).results[0].memory.memory_id
    erased = await owner.erase_memories(gone)
    return Targets(memory.memory_id, recalled.recall_id, erased.erasure_id, memory.etag)


def _nobody(etag: str) -> Targets:
    return Targets(str(uuid4()), str(uuid4()), str(uuid4()), etag)


Attempt = Callable[[Caller, Targets], Awaitable[Any]]

BY_ID: dict[str, Attempt] = {
    "get": lambda who, them: who.get(them.memory_id),
    "get with revisions": lambda who, them: who.get(them.memory_id, include_revisions=True),
    "supersede": lambda who, them: who.supersede(them.memory_id, "Mine now"),
    "supersede with etag": lambda who, them: who.supersede(them.memory_id, "Mine now", etag=them.etag),
    "erase": lambda who, them: who.erase_memories(them.memory_id),
    "dry run": lambda who, them: who.erase_memories(them.memory_id, validate_only=True),
    "get erasure": lambda who, them: who.call(
        "GetErasure", memory_service_pb2.GetErasureRequest(erasure_id=them.erasure_id)
    ),
    "report use": lambda who, them: who.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(recall_id=them.recall_id, memory_ids=[them.memory_id]),
    ),
    "get recall": lambda who, them: who.call(
        "GetRecall", audit_pb2.GetRecallRequest(recall_id=them.recall_id)
    ),
}


def _told(error: grpc.aio.AioRpcError, them: Targets) -> tuple[Any, ...]:
    """Everything that an error tells, with the ids that were asked for blotted out."""
    names = {them.memory_id: "M", them.recall_id: "R", them.erasure_id: "E"}

    def blot(text: str) -> str:
        for name, sign in names.items():
            text = text.replace(name, sign)
        return text

    info = error_info(error)
    details = {key: blot(value) for key, value in info.metadata.items()}
    trailers = {key for key, _ in error.trailing_metadata() or ()}
    return error.code(), blot(str(error.details())), info.reason, details, trailers


async def _same_as_nothing(who: Caller, attempt: Attempt, them: Targets) -> grpc.aio.AioRpcError:
    theirs = await refused(attempt(who, them), "NOT_FOUND")
    nobodys = _nobody(them.etag)
    nothing = await refused(attempt(who, nobodys), "NOT_FOUND")
    assert _told(theirs, them) == _told(nothing, nobodys)
    return theirs


@pytest.fixture
def stranger(shared: RunningService, caller: Caller) -> Caller:
    """Another tenant's caller."""
    return shared.caller(f"{caller.tenant}-b")


@pytest.mark.parametrize("name", BY_ID)
async def test_an_id_of_another_tenant_is_an_id_of_nobody(
    shared: RunningService, caller: Caller, stored: Stored, stranger: Caller, name: str
) -> None:
    them = await _owned(caller)
    before, events = stored.snapshot(), stored.count("audit_event")
    await _same_as_nothing(stranger, BY_ID[name], them)
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events, "the attempt shows in the owner's trail"
    own = Stored(shared.database, stranger.tenant)
    attempts = own.events(outcome=FAILED)
    assert len(attempts) == 2, "the attempt does not show in the caller's own trail"
    assert MARKER not in str(attempts)
    assert own.count("memory") == 0


@pytest.mark.parametrize("name", BY_ID)
async def test_an_id_of_another_subject_is_an_id_of_nobody_to_a_bound_credential(
    shared: RunningService, caller: Caller, stored: Stored, name: str
) -> None:
    them = await _owned(caller)
    before = stored.snapshot()
    bound = shared.caller(caller.tenant, subject="u2")
    await _same_as_nothing(bound, BY_ID[name], them)
    assert stored.snapshot() == before


async def test_a_tombstone_of_somebody_else_is_no_tombstone(
    shared: RunningService, caller: Caller, stranger: Caller
) -> None:
    memory_id = (await caller.write("u1", "Soon gone")).results[0].memory.memory_id
    await caller.erase_subject("u1")
    assert (await caller.get(memory_id)).memory.state == memory_pb2.MEMORY_STATE_ERASED
    for who in (stranger, shared.caller(caller.tenant, subject="u2")):
        for name in ("get", "supersede", "erase"):
            await _same_as_nothing(who, BY_ID[name], Targets(memory_id, "-", "-", ""))


async def test_the_same_names_in_another_tenant_hold_nothing(
    shared: RunningService, caller: Caller, stored: Stored, stranger: Caller
) -> None:
    await _owned(caller)
    for legs in ([], ["RETRIEVAL_LEG_LEXICAL"], ["RETRIEVAL_LEG_VECTOR"]):
        answer = await stranger.recall("u1", f"The code is {MARKER}", legs=legs, min_score=0.0, limit=200)
        assert not answer.memories
        assert not answer.left_out
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), include_narrowed=True)
    assert not (await stranger.call("ListMemories", listing)).memories
    assert (await stranger.erase_subject("u1")).counts.memories == 0
    assert (
        await stranger.erase_filter("u1", {"kinds": ["MEMORY_KIND_FACT"]})  # type: ignore[arg-type]
    ).counts.memories == 0
    trail = await stranger.call("Audit", memory_service_pb2.AuditRequest())
    assert trail.events
    owners = {str(event["event_id"]) for event in stored.events()}
    assert not owners & {event.event_id for event in trail.events}
    exported = stranger.audit.ExportAudit(audit_pb2.ExportAuditRequest(), metadata=stranger.metadata)
    async for part in exported:
        for event in part.events.events:
            assert event.event_id not in owners
        if part.HasField("header"):
            assert part.header.tenant_id == str(shared.tenant_id(stranger.tenant))
    assert len(stored.live()) == 2


@pytest.mark.parametrize(
    "restriction",
    ["memory_id", "recall_id", "trace_id", "principal", "scope"],
)
async def test_filters_of_the_trail_reach_no_other_tenant(
    shared: RunningService, caller: Caller, stored: Stored, stranger: Caller, restriction: str
) -> None:
    them = await _owned(caller)
    recall = next(event for event in stored.events() if event["recall_id"])
    fields: dict[str, Any] = {
        "memory_id": them.memory_id,
        "recall_id": them.recall_id,
        "trace_id": recall["trace_id"],
        "principal": recall["actor"],
        "scope": scope("u1"),
    }
    request = memory_service_pb2.AuditRequest(filter={restriction: fields[restriction]})
    assert (await caller.call("Audit", request)).events
    assert not (await stranger.call("Audit", request)).events
    bound = shared.caller(caller.tenant, subject="u2")
    if restriction == "scope":
        await refused(bound.call("Audit", request), "PERMISSION_DENIED", "PERMISSION_DENIED")
    else:
        assert not (await bound.call("Audit", request)).events


async def test_page_tokens_serve_only_who_got_them(
    shared: RunningService, caller: Caller, stored: Stored, stranger: Caller
) -> None:
    await caller.write("u1", *(f"Fact {number}" for number in range(5)))
    await stranger.write("u1", *(f"Other {number}" for number in range(5)))
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), page_size=2)
    listing.page_token = (await caller.call("ListMemories", listing)).next_page_token
    assert listing.page_token
    trail = memory_service_pb2.AuditRequest(page_size=1)
    await caller.recall("u1", "fact")
    trail.page_token = (await caller.call("Audit", trail)).next_page_token
    assert trail.page_token
    bound = shared.caller(caller.tenant, subject="u2")
    await refused(stranger.call("ListMemories", listing), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    await refused(stranger.call("Audit", trail), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    await refused(bound.call("ListMemories", listing), "PERMISSION_DENIED", "PERMISSION_DENIED")
    await refused(bound.call("Audit", trail), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    listing.scope.subject = "u2"
    await refused(bound.call("ListMemories", listing), "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    listing.scope.subject = "u1"
    assert len((await caller.call("ListMemories", listing)).memories) == 2
    assert len(stored.live()) == 5


async def test_a_consistency_token_of_another_tenant_is_foreign(caller: Caller, stranger: Caller) -> None:
    token = (await caller.write("u1", "Likes tea")).consistency_token
    fresh = consistency_pb2.Consistency(at_least_as_fresh=token)
    for method, request in (
        ("Recall", memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea", consistency=fresh)),
        ("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), consistency=fresh)),
        ("GetMemory", memory_service_pb2.GetMemoryRequest(memory_id=str(uuid4()), consistency=fresh)),
    ):
        await refused(stranger.call(method, request), "INVALID_ARGUMENT", "CONSISTENCY_TOKEN_FOREIGN")


async def test_a_credential_cannot_act_for_another_tenant(
    shared: RunningService, caller: Caller, stored: Stored, stranger: Caller
) -> None:
    await _owned(caller)
    before, events = stored.snapshot(), stored.count("audit_event")
    intruder = Caller(shared.channel, caller.tenant, stranger.key)
    missing = Caller(shared.channel, "no-such-tenant", stranger.key)
    for who in (intruder, missing):
        for call in (
            who.write("u1", "Likes jam"),
            who.recall("u1", "code"),
            who.erase_subject("u1"),
            who.call("Audit", memory_service_pb2.AuditRequest()),
        ):
            error = await refused(call, "PERMISSION_DENIED", "PERMISSION_DENIED")
            assert dict(error_info(error).metadata) == {"permission": "tenant"}
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events
    assert Stored(shared.database, stranger.tenant).count("audit_event", "outcome = 2") == 8


async def test_a_bound_credential_names_no_other_subject(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await _owned(caller)
    before = stored.snapshot()
    bound = shared.caller(caller.tenant, subject="u2")
    places = [scope("u1"), memory_pb2.Scope(space="u2"), memory_pb2.Scope(space="u1"), scope("U2")]
    for place in places:
        filtered = erasure_pb2.FilterTarget(scope=place, filter={"kinds": ["MEMORY_KIND_FACT"]})
        session = memory_pb2.Scope(session="s1")
        session.MergeFrom(place)
        calls: dict[str, Any] = {
            "Write": memory_service_pb2.WriteRequest(scope=place, items=[item("Likes jam")]),
            "Recall": memory_service_pb2.RecallRequest(scope=place, query="code"),
            "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=place),
            "Audit": memory_service_pb2.AuditRequest(filter={"scope": place}),
        }
        targets = [
            erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=place)),
            erasure_pb2.ErasureTarget(filter=filtered),
            erasure_pb2.ErasureTarget(session=erasure_pb2.SessionTarget(scope=session)),
        ]
        erasures = [memory_service_pb2.EraseRequest(target=target) for target in targets]
        for method, request in [*calls.items(), *(("Erase", erasure) for erasure in erasures)]:
            error = await refused(bound.call(method, request), "PERMISSION_DENIED", "PERMISSION_DENIED")
            assert dict(error_info(error).metadata) == {"permission": "subject"}, method
    assert stored.snapshot() == before
    exported = bound.audit.ExportAudit(audit_pb2.ExportAuditRequest(), metadata=bound.metadata)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        _ = [part async for part in exported]
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_a_bound_credential_sees_its_own_subject_whole(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await _owned(caller)
    bound = shared.caller(caller.tenant, subject="u2")
    memory_id = (await bound.write("u2", "Likes milk")).results[0].memory.memory_id
    recalled = await bound.recall("u2", "milk")
    assert [one.memory.memory_id for one in recalled.memories] == [memory_id]
    assert (await bound.get(memory_id)).memory.content == "Likes milk"
    trail = (await bound.call("Audit", memory_service_pb2.AuditRequest())).events
    assert trail
    assert all(event.scope.subject == "u2" for event in trail)
    assert (await bound.erase_subject("u2")).counts.memories == 1
    assert len(stored.live()) == 2


async def test_a_bound_credential_cannot_read_answers_of_other_subjects_by_request_id(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    mark = request_id()
    await caller.write("u1", "Likes tea", request_id=mark)
    bound = shared.caller(caller.tenant, subject="u2")
    await refused(bound.write("u1", "Likes tea", request_id=mark), "PERMISSION_DENIED")
    await refused(bound.write("u2", "Likes tea", request_id=mark), "ALREADY_EXISTS")
    assert len(stored.live()) == 1
    erasing = request_id()
    await caller.erase_subject("u1", request_id=erasing)
    await refused(bound.erase_subject("u1", request_id=erasing), "PERMISSION_DENIED")


async def test_nobody_finds_the_text_by_looking_into_the_database(
    shared: RunningService, caller: Caller
) -> None:
    await _owned(caller)
    assert not tables_with(shared.database, MARKER)


async def test_a_credential_bound_to_an_agent_names_no_other_agent(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await caller.write("u1", "Of agent two", agent="a2")
    bound = shared.caller(caller.tenant, agent="a1")
    place = scope("u1", agent="a2")
    session = memory_pb2.Scope(subject="u1", agent="a2", session="s1")
    calls: list[tuple[str, Any]] = [
        ("Write", memory_service_pb2.WriteRequest(scope=place, items=[item("Likes jam")])),
        ("Recall", memory_service_pb2.RecallRequest(scope=place, query="agent")),
        ("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=place)),
        ("Audit", memory_service_pb2.AuditRequest(filter={"scope": place})),
        ("Erase", memory_service_pb2.EraseRequest(target={"session": {"scope": session}})),
        # What is everybody's is not one agent's to take away, nor to decide about.
        ("Erase", memory_service_pb2.EraseRequest(target={"scope": {"scope": scope("u1")}})),
        (
            "SetConsent",
            subject_pb2.SetConsentRequest(
                scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_NONE, erase=True
            ),
        ),
        ("SetConsent", subject_pb2.SetConsentRequest(scope=scope("u1"), forget_session="s1")),
    ]
    before = stored.snapshot()
    for method, request in calls:
        error = await refused(bound.call(method, request), "PERMISSION_DENIED", "PERMISSION_DENIED")
        assert dict(error_info(error).metadata) == {"permission": "agent"}, method
    assert stored.snapshot() == before
    written = (await bound.write("u1", "Of agent one", agent="a1")).results[0].memory
    assert written.provenance.agent == "a1"
    assert not await bound.contents("u1", "Of agent")
    answer = await bound.recall("u1", "Of agent", narrowing={"agent": "a1"})
    assert [one.memory.content for one in answer.memories] == ["Of agent one"]
