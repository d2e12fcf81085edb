"""The judge proposes how near statements relate; the tenant's policy says what that does. Never more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from contract.stored import ACTIVE, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import correction_pb2, memory_pb2, review_pb2, write_pb2
from muniment_server.domain.model import TrustLevel
from support.chat_endpoint import ChatEndpoint, chat_endpoint
from support.conversations import NONE, ingest
from support.policies import set_policy
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

OLD, NEW = "The deploy is on Friday at noon", "The deploy is on Monday at noon"


@pytest.fixture(scope="module")
def endpoint() -> Any:
    with chat_endpoint() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase, endpoint: ChatEndpoint) -> AsyncIterator[RunningService]:
    settings = {"judge": "llm", "llm_url": endpoint.url, "llm_model": "judge", "judge_timeout": 1.0}
    async with running_service(module_database, **settings) as running:
        yield running


def says(endpoint: ChatEndpoint, relation: str, confidence: float = 0.9, number: int = 0) -> None:
    endpoint.answers({"judgements": [{"number": number, "relation": relation, "confidence": confidence}]})
    endpoint.requests.clear()


async def near(caller: Caller) -> write_pb2.WriteResult:
    await caller.write("u1", OLD)
    return (await caller.write("u1", NEW)).results[0]


@pytest.mark.parametrize("relation", ["reinforces", "contradicts", "refines", "unrelated"])
async def test_a_judgement_is_a_proposal(
    caller: Caller, stored: Stored, endpoint: ChatEndpoint, relation: str
) -> None:
    says(endpoint, relation)
    result = await near(caller)
    assert result.outcome == write_pb2.WRITE_OUTCOME_CREATED
    (conflict,) = result.possible_conflicts
    assert conflict.relation == write_pb2.Relation.Value(f"RELATION_{relation.upper()}")
    assert conflict.confidence == pytest.approx(0.9)
    assert list(conflict.differences) == [write_pb2.DIFFERENCE_DATE]
    assert len(stored.live()) == 2
    assert len(endpoint.requests) == 1


async def test_a_policy_can_send_contradictions_to_review(
    shared: RunningService, caller: Caller, stored: Stored, endpoint: ChatEndpoint
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    says(endpoint, "contradicts", 0.95)
    result = await near(caller)
    assert (result.outcome, result.rule) == (write_pb2.WRITE_OUTCOME_PENDING_REVIEW, "JUDGED_CONTRADICTION")
    assert [one.gate for one in result.findings] == ["judge"]
    assert len(stored.live()) == 1
    says(endpoint, "contradicts", 0.5)
    unsure = (await caller.write("u1", "The deploy is on Tuesday at noon")).results[0]
    assert unsure.outcome == write_pb2.WRITE_OUTCOME_CREATED


@pytest.mark.parametrize("relation", ["reinforces", "refines"])
async def test_a_policy_can_send_proposed_merges_to_review(
    shared: RunningService, caller: Caller, stored: Stored, endpoint: ChatEndpoint, relation: str
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    old = (await caller.write("u1", OLD)).results[0].memory.memory_id
    says(endpoint, relation, 0.95)
    result = (await caller.write("u1", NEW)).results[0]
    assert (result.outcome, result.rule) == (write_pb2.WRITE_OUTCOME_PENDING_REVIEW, "JUDGED_SAME")
    assert result.explanation
    new = result.memory.memory_id
    assert stored.live() == {old}
    waiting = await caller.call("ListReviews", review_pb2.ListReviewsRequest())
    assert [(one.memory.memory_id, one.would_supersede_memory_id) for one in waiting.reviews] == [(new, old)]

    approve = review_pb2.DecideReviewRequest(memory_id=new, decision=review_pb2.REVIEW_DECISION_APPROVE)
    decided = await caller.call("DecideReview", approve)
    assert decided.superseded_memory_id == old
    assert stored.live() == {new}
    assert await findings(shared, caller.tenant) == []


class Meanwhile:
    """A judge during whose work something happens."""

    def __init__(self, judge: Any, act: Callable[[], Awaitable[Any]]) -> None:
        self._judge = judge
        self._act = act

    async def judge(self, pairs: Any, timeout: float) -> Any:
        """What the judge says, after the other thing is done."""
        said = await self._judge.judge(pairs, timeout)
        await self._act()
        return said


@asynccontextmanager
async def meanwhile(shared: RunningService, act: Callable[[], Awaitable[Any]]) -> AsyncIterator[None]:
    services = shared.service.services
    before = services.judge
    object.__setattr__(services, "judge", Meanwhile(before, act))
    try:
        yield
    finally:
        object.__setattr__(services, "judge", before)


async def _supersede(caller: Caller, memory_id: str) -> None:
    await caller.supersede(memory_id, "Nobody deploys at all")


async def _retract(caller: Caller, memory_id: str) -> None:
    await caller.call("Retract", correction_pb2.RetractRequest(memory_id=memory_id))


async def _erase(caller: Caller, memory_id: str) -> None:
    await caller.erase_memories(memory_id)


gone = pytest.mark.parametrize("act", [_supersede, _retract, _erase])


@gone
async def test_a_merge_with_what_is_gone_when_the_write_takes_its_lock_is_none(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    endpoint: ChatEndpoint,
    act: Callable[[Caller, str], Awaitable[None]],
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    old = (await caller.write("u1", OLD)).results[0].memory.memory_id
    says(endpoint, "reinforces", 0.95)
    async with meanwhile(shared, lambda: act(caller, old)):
        result = (await caller.write("u1", NEW)).results[0]
    assert (result.outcome, result.rule) == (write_pb2.WRITE_OUTCOME_CREATED, "")
    assert not result.findings
    assert old not in stored.live()
    row = stored.memory(result.memory.memory_id)
    assert (row["state"], row["supersedes"]) == (ACTIVE, None)
    assert stored.count("review") == 0
    assert await findings(shared, caller.tenant) == []


@gone
async def test_approving_a_merge_replaces_nothing_but_what_was_judged(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    endpoint: ChatEndpoint,
    act: Callable[[Caller, str], Awaitable[None]],
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    old = (await caller.write("u1", OLD)).results[0].memory.memory_id
    says(endpoint, "refines", 0.95)
    new = (await caller.write("u1", NEW)).results[0].memory.memory_id
    assert str(stored.memory(new)["supersedes"]) == old
    await act(caller, old)
    others = stored.live()
    approve = review_pb2.DecideReviewRequest(memory_id=new, decision=review_pb2.REVIEW_DECISION_APPROVE)
    decided = await caller.call("DecideReview", approve)
    assert decided.superseded_memory_id == ""
    # What came in its place says something else, and stands.
    assert stored.live() == others | {new}
    assert stored.memory(new)["supersedes"] is None
    assert await findings(shared, caller.tenant) == []


async def test_a_merge_never_replaces_what_is_trusted_more_than_the_reviewer_may_say(
    shared: RunningService, caller: Caller, stored: Stored, endpoint: ChatEndpoint
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    stated = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED)
    old = (await caller.write("u1", item(OLD, provenance=stated))).results[0].memory.memory_id
    says(endpoint, "reinforces", 0.95)
    new = (await caller.write("u1", NEW)).results[0].memory.memory_id
    reviewer = shared.caller(caller.tenant, max_trust=TrustLevel.MEDIUM)
    approve = review_pb2.DecideReviewRequest(memory_id=new, decision=review_pb2.REVIEW_DECISION_APPROVE)
    before = stored.snapshot()
    await refused(reviewer.call("DecideReview", approve), "PERMISSION_DENIED", "PERMISSION_DENIED")
    edit = review_pb2.DecideReviewRequest(
        memory_id=new, decision=review_pb2.REVIEW_DECISION_EDIT, content="The deploy is on Monday"
    )
    await refused(reviewer.call("DecideReview", edit), "PERMISSION_DENIED", "PERMISSION_DENIED")
    assert stored.snapshot() == before
    assert (await caller.call("DecideReview", approve)).superseded_memory_id == old
    assert stored.live() == {new}


async def test_a_turn_is_said_again_and_not_the_same(
    shared: RunningService, caller: Caller, stored: Stored, endpoint: ChatEndpoint
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    says(endpoint, "reinforces", 0.95)
    answer = await ingest(caller, "u1", [OLD, NEW], mode=NONE)
    assert stored.live() == {one.memory_id for one in answer.turns}
    assert not endpoint.requests


async def test_what_says_the_same_elsewhere_is_not_proposed_to_be_replaced(
    shared: RunningService, caller: Caller, stored: Stored, endpoint: ChatEndpoint
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "review"})
    says(endpoint, "reinforces", 0.95)
    await caller.write("u1", OLD)
    result = (await caller.write("u1", NEW, session="s-1")).results[0]
    assert result.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert len(stored.live()) == 2


async def test_a_policy_can_do_without(
    shared: RunningService, caller: Caller, endpoint: ChatEndpoint
) -> None:
    await set_policy(shared, caller.tenant, {"review.judge": "off"})
    says(endpoint, "contradicts")
    result = await near(caller)
    assert not endpoint.requests
    assert [one.relation for one in result.possible_conflicts] == [write_pb2.RELATION_UNSPECIFIED]


async def test_nothing_near_nothing_asked(caller: Caller, endpoint: ChatEndpoint) -> None:
    says(endpoint, "contradicts")
    await caller.write("u1", "Likes tea")
    await caller.write("u1", "Office moved to Lyon")
    assert not endpoint.requests


@pytest.mark.parametrize(
    "behaviour", ["stalls", "broken_json", "other_schema", "error", "hangs_up", "refuses"]
)
async def test_a_judge_that_fails_keeps_nothing_from_being_written(
    caller: Caller, endpoint: ChatEndpoint, behaviour: str
) -> None:
    says(endpoint, "contradicts")
    endpoint.behaves(behaviour)
    try:
        result = await near(caller)
    finally:
        endpoint.behaves("answers")
    assert result.outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert [one.relation for one in result.possible_conflicts] == [write_pb2.RELATION_UNSPECIFIED]


async def test_what_it_is_given_is_data(caller: Caller, endpoint: ChatEndpoint) -> None:
    marker = uuid4().hex[:8]
    says(endpoint, "unrelated", number=7)
    await caller.write("u1", f"{OLD} {marker}")
    result = (await caller.write("u1", f"{NEW} {marker}")).results[0]
    assert [one.relation for one in result.possible_conflicts] == [write_pb2.RELATION_UNSPECIFIED]
    system, user = endpoint.requests[0]["messages"]
    assert marker not in system["content"]
    assert marker in user["content"]
