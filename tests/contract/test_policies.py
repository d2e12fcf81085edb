"""Settings of a tenant and views of its agents, as the running service obeys them."""

import asyncio
from typing import Any
from uuid import uuid4

import grpc
import pytest

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    correction_pb2,
    erasure_pb2,
    filter_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    review_pb2,
    subject_pb2,
    write_pb2,
)
from muniment_server.audit.verify import verify
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from support.conversations import ingest, made, progress, turn
from support.policies import set_policy
from support.service import (
    EVENT,
    FACT,
    PREFERENCE,
    Caller,
    RunningService,
    error_info,
    item,
    reason,
    request_id,
    scope,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATED = memory_pb2.SOURCE_TYPE_USER_STATED
TOOL = memory_pb2.SOURCE_TYPE_TOOL


def said(content: str, kind: int = FACT, source: Any = STATED, **fields: Any) -> Any:
    ref = fields.pop("ref", "")
    provenance = memory_pb2.Provenance(source_type=source, source_ref=ref)
    return item(content, kind, provenance=provenance, **fields)


def left_out(answer: memory_service_pb2.RecallResponse) -> dict[str, int]:
    return {
        recall_pb2.LeftOutReason.Name(one.reason).removeprefix("LEFT_OUT_REASON_"): one.count
        for one in answer.left_out
    }


# --- settings -----------------------------------------------------------------------------------------


async def test_a_setting_holds_on_a_running_server_without_being_told(
    shared: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "likes green tea", "plays the cello")
    assert await caller.contents("u1", "tea") == ["likes green tea"]
    services = shared.service.services
    before = services.settings.drop_all
    services.settings.drop_all = lambda: None  # type: ignore[method-assign]
    try:
        await set_policy(shared, caller.tenant, {"ranking.min_score": 0.95})
    finally:
        services.settings.drop_all = before  # type: ignore[method-assign]
    # Within less time than a policy is remembered.
    for _ in range(80):
        if not await caller.contents("u1", "tea"):
            break
        await asyncio.sleep(0.05)
    answer = await caller.recall("u1", "tea")
    assert answer.applied_min_score == pytest.approx(0.95)
    assert (await caller.recall("u1", "tea", min_score=0.05)).memories, "the request's own minimum goes first"
    await set_policy(shared, caller.tenant)
    assert await caller.contents("u1", "tea") == ["likes green tea"]


@pytest.mark.parametrize("fusion", [recall_pb2.FUSION_SCORE, recall_pb2.FUSION_RRF])
async def test_what_always_applies_goes_with_its_leg(
    shared: RunningService, caller: Caller, stored: Stored, fusion: int
) -> None:
    rule = item("answer in metric units", memory_pb2.MEMORY_KIND_RULE, tags=["pinned"])
    await caller.write("u1", "likes green tea", rule)
    legs = [recall_pb2.RETRIEVAL_LEG_LEXICAL, recall_pb2.RETRIEVAL_LEG_SLOT]
    asked: dict[str, Any] = {"legs": legs, "fusion": fusion, "min_score": 0.05, "token_budget": 500}
    assert set(await caller.contents("u1", "tea", **asked)) == {"likes green tea", rule.content}
    await set_policy(shared, caller.tenant, {"ranking.legs.slot": 0})
    answer = await caller.recall("u1", "tea", **asked)
    assert [one.memory.content for one in answer.memories] == ["likes green tea"]
    assert left_out(answer) == {"BELOW_MIN_SCORE": 1}
    assert rule.content not in answer.packed_context.text
    assert len(stored.live()) == 2


async def test_settings_of_one_tenant_are_not_those_of_another(
    shared: RunningService, caller: Caller
) -> None:
    other = shared.caller(f"t-{uuid4().hex[:12]}")
    for one in (caller, other):
        await one.write("u1", "likes green tea")
    await set_policy(shared, caller.tenant, {"ranking.min_score": 0.95})
    assert await caller.contents("u1", "tea") == []
    assert await other.contents("u1", "tea") == ["likes green tea"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tenant_setting SET value = '0.1' WHERE tenant_id = %(tenant)s",
        "UPDATE tenant_setting SET name = 'packing.tail_ratio' WHERE tenant_id = %(tenant)s",
        "DELETE FROM tenant_setting WHERE tenant_id = %(tenant)s",
        "DELETE FROM tenant_policy WHERE tenant_id = %(tenant)s",
        "DELETE FROM agent_view WHERE tenant_id = %(tenant)s",
        "UPDATE agent_view SET agent = 'other' WHERE tenant_id = %(tenant)s",
        "UPDATE tenant_policy SET revision = revision + 1 WHERE tenant_id = %(tenant)s",
        "UPDATE tenant_policy SET mac = decode(repeat('00', 32), 'hex') WHERE tenant_id = %(tenant)s",
        "INSERT INTO tenant_setting VALUES (%(tenant)s, 'consent.default', '\"all\"', now())",
    ],
)
async def test_what_somebody_changes_in_the_database_stops_the_tenant(
    shared: RunningService, caller: Caller, change: str
) -> None:
    await caller.write("u1", "likes green tea")
    view = AgentView(kinds=frozenset({MemoryKind.FACT}))
    await set_policy(shared, caller.tenant, {"ranking.min_score": 0.2}, {"planner": view})
    assert await caller.contents("u1", "tea") == ["likes green tea"]
    assert shared.database.execute(change, {"tenant": shared.tenant_id(caller.tenant)}) == 1
    shared.service.services.settings.drop_all()
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await caller.recall("u1", "tea")
    assert reason(failed.value) == "INTEGRITY_VIOLATION"
    await set_policy(shared, caller.tenant)
    assert await caller.contents("u1", "tea") == ["likes green tea"]


async def test_a_value_of_another_version_leaves_the_default(shared: RunningService, caller: Caller) -> None:
    await caller.write("u1", "likes green tea")
    await set_policy(shared, caller.tenant, {"ranking.min_score": 7, "ranking.of_tomorrow": True})
    assert (await caller.recall("u1", "tea")).applied_min_score == pytest.approx(0.05)


# --- the list: sources, tail, near misses -----------------------------------------------------------------


async def test_one_doubtful_source_cannot_fill_the_list(shared: RunningService, caller: Caller) -> None:
    stuffed = [said(f"tea tea offer {number}", source=TOOL, ref="shop.example") for number in range(12)]
    await caller.write("u1", *stuffed)
    await caller.write("u1", *(said(f"the tea and the kettle of aunt number {n}") for n in range(4)))
    answer = await caller.recall("u1", "tea offer", limit=6, near_miss_limit=20, min_score=0.0)
    sources = [one.memory.provenance.source_ref for one in answer.memories]
    assert len(sources) == 6
    assert sources.count("shop.example") == 3
    assert [one.rank for one in answer.memories] == [1, 2, 3, 4, 5, 6]
    scores = [one.score for one in answer.memories]
    assert scores == sorted(scores, reverse=True)
    assert left_out(answer)["SOURCE_SHARE"] == 9
    reasons = [recall_pb2.LeftOutReason.Name(one.reason) for one in answer.near_misses]
    assert reasons.count("LEFT_OUT_REASON_SOURCE_SHARE") == 9
    await set_policy(shared, caller.tenant, {"packing.source_share": 1.0})
    answer = await caller.recall("u1", "tea offer", limit=6, min_score=0.0)
    assert [one.memory.provenance.source_ref for one in answer.memories] == ["shop.example"] * 6


async def test_the_places_go_to_whoever_comes_far_behind(caller: Caller) -> None:
    stuffed = [said(f"tea tea offer {number}", source=TOOL, ref="shop.example") for number in range(40)]
    await caller.write("u1", *stuffed)
    await caller.write("u1", said("a word about tea from grandmother"))
    answer = await caller.recall("u1", "tea offer", limit=3, min_score=0.0)
    assert [one.memory.content for one in answer.memories][-1] == "a word about tea from grandmother"
    assert len(answer.memories) == 3


async def test_what_the_subject_says_is_no_bounded_source(caller: Caller) -> None:
    await caller.write("u1", *(said(f"tea number {number}", ref="diary") for number in range(8)))
    assert len((await caller.recall("u1", "tea", limit=8)).memories) == 8


async def test_near_misses_say_why_and_the_receipt_keeps_them_without_content(caller: Caller) -> None:
    await caller.write("u1", "green tea", "black tea", "white tea of the mountain", "plays the cello")
    answer = await caller.recall("u1", "green tea", limit=1, min_score=0.2, near_miss_limit=3)
    assert [one.memory.content for one in answer.memories] == ["green tea"]
    misses = list(answer.near_misses)
    assert len(misses) == 3
    assert [one.score for one in misses] == sorted((one.score for one in misses), reverse=True)
    for one in misses:
        below = one.reason == recall_pb2.LEFT_OUT_REASON_BELOW_MIN_SCORE
        assert below or one.reason == recall_pb2.LEFT_OUT_REASON_LIMIT
        assert below == (one.score < 0.2)
        assert sum(leg.contribution for leg in one.leg_scores) == pytest.approx(one.score, abs=1e-6)
    assert {one.reason for one in misses} == {1, 2}
    assert answer.memories[0].memory.memory_id not in {one.memory_id for one in misses}

    receipt = (await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))).receipt
    kept = list(receipt.recalled.near_misses)
    assert [one.memory_id for one in kept] == [one.memory_id for one in misses]
    for stored, shown in zip(kept, misses, strict=True):
        assert stored.reason == shown.reason
        assert stored.score == pytest.approx(shown.score, abs=1e-6)
        assert [leg.rank for leg in stored.leg_scores] == [leg.rank for leg in shown.leg_scores]
    assert b"tea" not in receipt.SerializeToString()
    assert not (await caller.recall("u1", "green tea", limit=1)).near_misses, "only on request"


async def test_the_tail_is_not_packed_unless_the_request_says_what_is_relevant(caller: Caller) -> None:
    await caller.write("u1", "green tea in the morning", "a long list of things that has tea in it once")
    answer = await caller.recall("u1", "green tea in the morning", token_budget=500)
    assert len(answer.memories) == 2
    assert [one.packed for one in answer.memories] == [True, False]
    assert left_out(answer)["TAIL"] == 1
    answer = await caller.recall("u1", "green tea in the morning", token_budget=500, min_score=0.0)
    assert [one.packed for one in answer.memories] == [True, True]


# --- views ----------------------------------------------------------------------------------------------


async def shown(caller: Caller, **fields: Any) -> set[str]:
    return {
        one.memory.content for one in (await caller.recall("u1", "tea", min_score=0.0, **fields)).memories
    }


async def fill(caller: Caller) -> None:
    await caller.write(
        "u1",
        said("tea fact", tags=["work"]),
        said("tea preference", PREFERENCE, tags=["home"]),
        said("tea event", EVENT),
        said("tea of a tool", source=TOOL, tags=["work"]),
    )


ALL = {"tea fact", "tea preference", "tea event", "tea of a tool"}


@pytest.mark.parametrize(
    ("view", "seen"),
    [
        (AgentView(kinds=frozenset({MemoryKind.FACT})), {"tea fact", "tea of a tool"}),
        (AgentView(tags=frozenset({"home", "other"})), {"tea preference"}),
        (AgentView(source_types=frozenset({SourceType.TOOL})), {"tea of a tool"}),
        (AgentView(min_trust=TrustLevel.HIGH), ALL - {"tea of a tool"}),
        (AgentView(kinds=frozenset({MemoryKind.FACT}), min_trust=TrustLevel.HIGH), {"tea fact"}),
        (AgentView(tags=frozenset()), set()),
        (AgentView(spaces=frozenset({"roadmap"})), ALL),
    ],
)
async def test_a_view_bounds_what_an_agent_sees(
    shared: RunningService, caller: Caller, view: AgentView, seen: set[str]
) -> None:
    await fill(caller)
    await set_policy(shared, caller.tenant, views={"planner": view})
    bound = shared.caller(caller.tenant, agent="planner")
    assert await shown(bound) == seen
    assert await shown(caller, narrowing={"agent": "planner"}) == seen, "named by a credential of no agent"
    assert await shown(caller) == await shown(caller, narrowing={"agent": "other"}) == ALL
    page = await bound.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
    assert {one.content for one in page.memories} <= seen | {""}
    assert len(page.memories) == len(seen)
    for one in (await caller.recall("u1", "tea", min_score=0.0)).memories:
        if one.memory.content in seen:
            assert (await bound.get(one.memory.memory_id)).memory.memory_id == one.memory.memory_id
        else:
            await refused(bound.get(one.memory.memory_id), "NOT_FOUND", "MEMORY_NOT_FOUND")


async def test_a_filter_cannot_look_beyond_the_view(shared: RunningService, caller: Caller) -> None:
    await fill(caller)
    view = AgentView(kinds=frozenset({MemoryKind.FACT}), min_trust=TrustLevel.HIGH, tags=frozenset({"work"}))
    await set_policy(shared, caller.tenant, views={"planner": view})
    bound = shared.caller(caller.tenant, agent="planner")
    for restriction in (
        filter_pb2.MemoryFilter(kinds=[PREFERENCE, EVENT]),
        filter_pb2.MemoryFilter(source_types=[TOOL]),
        filter_pb2.MemoryFilter(tags_any=["home"]),
    ):
        assert await shown(bound, filter=restriction) == set()
    for restriction in (
        filter_pb2.MemoryFilter(min_trust=memory_pb2.TRUST_LEVEL_LOW),
        filter_pb2.MemoryFilter(kinds=[FACT, EVENT]),
        filter_pb2.MemoryFilter(tags_any=["work", "home"]),
    ):
        assert await shown(bound, filter=restriction) == {"tea fact"}


async def test_a_view_names_the_spaces_that_may_be_read(shared: RunningService, caller: Caller) -> None:
    for space in ("roadmap", "salaries"):
        await caller.call(
            "Write",
            memory_service_pb2.WriteRequest(
                scope=memory_pb2.Scope(space=space), items=[item(f"tea of {space}")]
            ),
        )
    await set_policy(shared, caller.tenant, views={"planner": AgentView(spaces=frozenset({"roadmap"}))})
    bound = shared.caller(caller.tenant, agent="planner")

    def asking(space: str) -> memory_service_pb2.RecallRequest:
        return memory_service_pb2.RecallRequest(scope=memory_pb2.Scope(space=space), query="tea")

    answer = await bound.call("Recall", asking("roadmap"))
    assert [one.memory.content for one in answer.memories] == ["tea of roadmap"]
    await refused(bound.call("Recall", asking("salaries")), "PERMISSION_DENIED", "PERMISSION_DENIED")
    (hidden,) = (await caller.call("Recall", asking("salaries"))).memories
    await refused(bound.get(hidden.memory.memory_id), "NOT_FOUND", "MEMORY_NOT_FOUND")


async def test_what_became_of_a_conversation_is_told_within_the_view(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    answer = await ingest(caller, "u1", ["My name is Ines Okafor. I like oolong."], agent="planner")
    assert made(answer) == [("CREATED", "rules/identity"), ("CREATED", "rules/preference")]
    view = AgentView(kinds=frozenset({MemoryKind.PREFERENCE}), spaces=frozenset())
    await set_policy(shared, caller.tenant, views={"planner": view})
    bound = shared.caller(caller.tenant, agent="planner")
    found = await progress(bound, answer.ingest_id)
    assert made(found) == made(answer)
    name, tea = (one.result for one in found.extracted)
    assert (name.HasField("memory"), tea.memory.kind) == (False, PREFERENCE)
    hidden = answer.extracted[0].result.memory.memory_id
    assert stored.memory(hidden)["kind"] == FACT
    assert hidden not in str(found)
    assert made(await progress(caller, answer.ingest_id)) == made(answer)
    await refused(progress(shared.caller(caller.tenant, agent="other"), answer.ingest_id), "NOT_FOUND")


async def test_a_conversation_in_a_space_out_of_the_view_does_not_exist(
    shared: RunningService, caller: Caller
) -> None:
    request = ingest_pb2.IngestRequest(
        scope=memory_pb2.Scope(space="salaries", session="s1"),
        turns=[turn(0, "We decided to pay more.")],
        mode=ingest_pb2.EXTRACTION_MODE_SYNC,
    )
    ingest_id = (await caller.call("Ingest", request)).ingest_id
    view = AgentView(spaces=frozenset({"roadmap"}))
    await set_policy(shared, caller.tenant, views={"planner": view})
    bound = shared.caller(caller.tenant, agent="planner")
    await refused(progress(bound, ingest_id), "NOT_FOUND", "INGEST_NOT_FOUND")
    assert (await progress(caller, ingest_id)).ingest_id == ingest_id


async def test_no_earlier_revision_out_of_the_view_is_shown(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    written = await caller.write("u1", said("She says tea", source=memory_pb2.SOURCE_TYPE_THIRD_PARTY))
    memory_id = written.results[0].memory.memory_id
    edited = review_pb2.DecideReviewRequest(
        memory_id=memory_id,
        decision=review_pb2.REVIEW_DECISION_EDIT,
        content="Likes tea",
        trust=memory_pb2.TRUST_LEVEL_HIGH,
    )
    await caller.call("DecideReview", edited)
    assert stored.memory(memory_id)["revision"] == 2
    await set_policy(shared, caller.tenant, views={"planner": AgentView(min_trust=TrustLevel.HIGH)})
    bound = shared.caller(caller.tenant, agent="planner")
    request = memory_service_pb2.GetMemoryRequest(memory_id=memory_id, include_revisions=True)
    for who, contents in ((bound, ["Likes tea"]), (caller, ["Likes tea", "She says tea"])):
        found = await who.call("GetMemory", request)
        assert [one.memory.content for one in found.revisions] == contents


async def test_what_lies_out_of_a_view_is_not_replaced(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await set_policy(shared, caller.tenant, views={"planner": AgentView(tags=frozenset({"open"}))})
    bound = shared.caller(caller.tenant, agent="planner")
    hidden = (await caller.write("u1", item("Lives in Nice", slot="home"))).results[0].memory.memory_id
    result = (await bound.write("u1", item("Lives in Lyon", slot="home", tags=["open"]))).results[0]
    assert (result.outcome, result.rule) == (write_pb2.WRITE_OUTCOME_PENDING_REVIEW, "SLOT_OUT_OF_VIEW")
    assert result.explanation
    assert hidden not in str(result)
    assert stored.live() == {hidden}

    seen = (await bound.write("u1", item("Has a cat", tags=["open"]))).results[0].memory.memory_id
    correction = item("Has a dog", slot="home", tags=["open"])
    error = await refused(bound.supersede(seen, correction), "FAILED_PRECONDITION", "SLOT_CONFLICT")
    assert "memory_id" not in error_info(error).metadata
    error = await refused(caller.supersede(seen, correction), "FAILED_PRECONDITION", "SLOT_CONFLICT")
    assert error_info(error).metadata["memory_id"] == hidden
    assert stored.live() == {hidden, seen}
    assert await findings(shared, caller) == []


async def test_what_lies_out_of_a_view_is_not_erased(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await set_policy(shared, caller.tenant, views={"planner": AgentView(tags=frozenset({"open"}))})
    bound = shared.caller(caller.tenant, agent="planner")
    written = (await caller.write("u1", "Lives in Nice", item("Has a cat", tags=["open"]))).results
    hidden, seen = (one.memory.memory_id for one in written)

    def erasing(**target: Any) -> Any:
        return bound.call(
            "Erase", memory_service_pb2.EraseRequest(target=erasure_pb2.ErasureTarget(**target))
        )

    both = erasure_pb2.MemoriesTarget(memory_ids=[hidden, seen])
    await refused(erasing(memories=both), "NOT_FOUND", "MEMORY_NOT_FOUND")
    session = erasure_pb2.SessionTarget(scope=scope("u1", session="s1"))
    await refused(erasing(session=session), "PERMISSION_DENIED", "PERMISSION_DENIED")
    assert stored.live() == {hidden, seen}
    facts = erasure_pb2.FilterTarget(scope=scope("u1"), filter=filter_pb2.MemoryFilter(kinds=[FACT]))
    assert (await erasing(filter=facts)).receipt.counts.memories == 1
    assert stored.live() == {hidden}
    assert await findings(shared, caller) == []


async def test_a_space_out_of_the_view_is_not_written_to(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await set_policy(shared, caller.tenant, views={"planner": AgentView(spaces=frozenset({"roadmap"}))})
    bound = shared.caller(caller.tenant, agent="planner")
    space = memory_pb2.Scope(space="salaries")
    talk = memory_pb2.Scope(space="salaries", session="s1")
    records = [subject_pb2.MemoryRecord(item=item("Up"))]
    target = erasure_pb2.ErasureTarget(
        filter=erasure_pb2.FilterTarget(scope=space, filter=filter_pb2.MemoryFilter(kinds=[FACT]))
    )
    for method, request in (
        ("Write", memory_service_pb2.WriteRequest(scope=space, items=[item("Up")])),
        ("Ingest", ingest_pb2.IngestRequest(scope=talk, turns=[turn(0, "We pay more.")])),
        ("ImportMemories", subject_pb2.ImportMemoriesRequest(scope=space, records=records)),
        ("Erase", memory_service_pb2.EraseRequest(target=target, validate_only=True)),
    ):
        await refused(bound.call(method, request), "PERMISSION_DENIED", "PERMISSION_DENIED")
    assert stored.count("scope") == 0


@pytest.mark.parametrize("permissions", [[Permission.WRITE], [Permission.WRITE, Permission.RECALL]])
async def test_of_anothers_memory_that_is_restated_only_readers_are_told(
    shared: RunningService, caller: Caller, permissions: list[Permission]
) -> None:
    first = item("The pin is blue", tags=["intranet"])
    memory_id = (await caller.write("u1", first)).results[0].memory.memory_id
    writer = shared.caller(caller.tenant, permissions=permissions)
    again = (await writer.write("u1", "The pin is blue")).results[0]
    assert (again.outcome, again.memory.memory_id) == (write_pb2.WRITE_OUTCOME_REINFORCED, memory_id)
    assert list(again.memory.tags) == (["intranet"] if Permission.RECALL in permissions else [])
    assert bool(again.memory.provenance.author) is (Permission.RECALL in permissions)


async def test_nothing_is_told_of_what_lies_out_of_a_view(shared: RunningService, caller: Caller) -> None:
    view = AgentView(kinds=frozenset({MemoryKind.PREFERENCE}), spaces=frozenset())
    await set_policy(shared, caller.tenant, views={"planner": view})
    bound = shared.caller(caller.tenant, agent="planner")
    write, third = request_id(), memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)
    results = (await caller.write("u1", "tea fact", item("tea hearsay", provenance=third))).results
    live, waiting = (one.memory.memory_id for one in results)
    others = await caller.write("u1", "tea of another", item("hearsay", provenance=third), agent="a2")
    foreign = others.results[0].memory.memory_id
    await caller.write("u1", "coffee fact", request_id=write)
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), include_narrowed=True)
    await caller.call("ListMemories", listing)

    answer = await bound.recall("u1", "tea")
    counts = {(one.reason, one.count) for one in answer.left_out}
    assert counts == {(recall_pb2.LEFT_OUT_REASON_FILTERED, 3)}, "the other agent's are in no count"
    audit = await bound.call("Audit", memory_service_pb2.AuditRequest(page_size=100))
    assert "a2" not in {one.scope.agent for one in audit.events}
    assert foreign not in str(audit)
    assert live in str(audit)
    named = audit_pb2.AuditFilter(memory_id=foreign)
    assert not (await bound.call("Audit", memory_service_pb2.AuditRequest(filter=named))).events
    export = bound.call("ExportAudit", audit_pb2.ExportAuditRequest())
    await refused(export, "PERMISSION_DENIED", "PERMISSION_DENIED")
    whole = await caller.call("Audit", memory_service_pb2.AuditRequest(page_size=100))
    assert "a2" in {one.scope.agent for one in whole.events}
    assert any(foreign in str(event) for event in whole.events if not event.scope.agent)
    unseen = "NOT_FOUND", "MEMORY_NOT_FOUND"
    for method, request in (
        ("Restore", correction_pb2.RestoreRequest(memory_id=live)),
        ("Retract", correction_pb2.RetractRequest(memory_id=live)),
        ("Supersede", memory_service_pb2.SupersedeRequest(memory_id=live, item=item("tea"))),
        ("DecideReview", review_pb2.DecideReviewRequest(memory_id=waiting, decision=3)),
    ):
        await refused(bound.call(method, request), *unseen)
    undo = correction_pb2.UndoWriteRequest(write_request_id=write)
    await refused(bound.call("UndoWrite", undo), "NOT_FOUND", "WRITE_NOT_FOUND")
    asking = subject_pb2.GetConsentRequest(scope=memory_pb2.Scope(space="salaries"))
    await refused(bound.call("GetConsent", asking), "PERMISSION_DENIED", "PERMISSION_DENIED")

    own = (await bound.write("u1", "juice fact")).results[0].memory
    retract = correction_pb2.RetractRequest(memory_id=own.memory_id)
    assert (await bound.call("Retract", retract)).memory.memory_id == own.memory_id, "what it wrote itself"


# --- verification -----------------------------------------------------------------------------------------


async def findings(shared: RunningService, caller: Caller) -> list[str]:
    await shared.sealed()
    pool = shared.database.maintenance()
    await pool.open()
    try:
        reports = [one async for one in verify(pool, shared.key_store, tenant=caller.tenant)]
    finally:
        await pool.close()
    return [one.kind.value for report in reports for one in report.findings]


async def test_verification_finds_all_settings_put_back_or_taken_away_together(
    shared: RunningService, caller: Caller
) -> None:
    tenant = {"tenant": shared.tenant_id(caller.tenant)}
    tables = ("tenant_policy", "tenant_setting", "agent_view")
    assert await findings(shared, caller) == []
    await set_policy(shared, caller.tenant, {"consent.default": "none"})
    assert await findings(shared, caller) == []
    for table in tables:
        shared.database.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}")
    await set_policy(shared, caller.tenant, {"consent.default": "necessary"})
    assert await findings(shared, caller) == []
    for table in tables:
        shared.database.execute(f"DELETE FROM {table} WHERE tenant_id = %(tenant)s", tenant)
    shared.service.services.settings.drop_all()
    assert await findings(shared, caller) == ["policy"]
    for table in tables:
        shared.database.execute(
            f"INSERT INTO {table} SELECT * FROM kept_{table} WHERE tenant_id = %(tenant)s", tenant
        )
    assert await findings(shared, caller) == ["policy"]
    shared.database.execute(
        "UPDATE tenant_setting SET value = '\"all\"' WHERE tenant_id = %(tenant)s", tenant
    )
    assert await findings(shared, caller) == ["policy"]
