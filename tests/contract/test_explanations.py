"""An explanation gives the score again: of every memory, however it was asked for and whatever was set."""

import random
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    write_pb2,
)
from muniment_server.api.audit_details import recalled
from support.embedders import DeterministicEmbedder
from support.policies import set_policy
from support.postgres import PostgresDatabase
from support.rerank_endpoint import RerankEndpoint, rerank_endpoint, scored
from support.scores import RANKED, recomputed, relevance
from support.service import Caller, RunningService, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTOR, LEXICAL = recall_pb2.RETRIEVAL_LEG_VECTOR, recall_pb2.RETRIEVAL_LEG_LEXICAL
SLOT, NEIGHBOUR = recall_pb2.RETRIEVAL_LEG_SLOT, recall_pb2.RETRIEVAL_LEG_NEIGHBOUR
TURN = memory_pb2.MEMORY_KIND_TURN
PINNED_KINDS = (memory_pb2.MEMORY_KIND_PREFERENCE, memory_pb2.MEMORY_KIND_RULE)
WORDS = (
    "tea",
    "jam",
    "cello",
    "Lyon",
    "garden",
    "Ann",
    "Ben",
    "train",
    "lamp",
    "bread",
    "home",
    "city",
    "42",
)
QUERIES = (
    "Which tea does Ann like in the garden?",
    "home city",
    "What did Ben play on 5 May 2026?",
    "train to Lyon or the lamp",
    "42",
    "jam and bread",
)
EXACT, ROUNDED = 1e-6, 2e-5


def stamp(instant: datetime) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(instant)
    return made


def some(chance: random.Random) -> list[write_pb2.WriteItem]:
    """A scope of every kind of memory."""
    items = []
    for number in range(40):
        kind = chance.choice([TURN, TURN, TURN, *range(1, 7)])
        words = chance.sample(WORDS, chance.randint(1, 7)) + [f"n{number}"] * chance.randint(1, 6)
        made = write_pb2.WriteItem(
            content=chance.choice(["🤷 👍", " ".join(words), " ".join(words), " ".join(words) + "?"]),
            kind=kind,
        )
        if made.content.startswith("🤷"):
            made.content += "!" * number
        made.provenance.source_type = chance.randint(1, 5)  # type: ignore[assignment]
        if chance.random() < 0.4:
            made.provenance.confidence = chance.uniform(0.5, 1)
        if kind == TURN:
            made.speaker = chance.choice(["Ann", "Ben"])
            if chance.random() < 0.8:
                made.provenance.session = chance.choice("ab")
                made.turn_number = number
        elif chance.random() < 0.3:
            made.slot = chance.choice(["home_city", "tea", "train"]) + ("" if chance.random() < 0.5 else "_x")
        if kind in PINNED_KINDS and chance.random() < 0.5:
            made.tags.append("pinned")
        if chance.random() < 0.4:
            made.validity.start_time.CopyFrom(
                stamp(datetime(2026, 5, 5, tzinfo=UTC) - timedelta(days=chance.choice([0, 0, 1, 400])))
            )
        items.append(made)
    return items


def settings(chance: random.Random) -> dict[str, Any]:
    """What a tenant set, or nothing."""
    if chance.random() < 0.3:
        return {}
    names = ("vector", "lexical", "slot", "entity", "time", "neighbour", "session")
    chosen: dict[str, Any] = {f"ranking.legs.{name}": chance.choice([0.0, 0.5, 1.0, 3.0]) for name in names}
    for name in ("kind", "trust", "source", "recency", "confidence", "feedback"):
        chosen[f"ranking.{name}"] = chance.choice([0.0, 1.0, 3.0])
    if chance.random() < 0.5:
        chosen["ranking.min_score"] = chance.choice([0.0, 0.1, 0.3])
    chosen["review.sources"] = []
    chosen["review.min_confidence"] = 0.0
    return chosen


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RerankEndpoint]:
    with rerank_endpoint() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    module_database: PostgresDatabase, endpoint: RerankEndpoint
) -> AsyncIterator[RunningService]:
    options: dict[str, Any] = {
        "rerank": "http",
        "rerank_url": endpoint.url,
        "rerank_model": "small",
        "rerank_timeout": 5.0,
        "rerank_weight": 0.4,
        "rerank_candidates": 20,
    }
    # Of memories and queries with jam in them there is no vector.
    embedder = DeterministicEmbedder(
        reads=lambda text: 0.0 if "jam" in text or text.startswith("🤷") else 1.0
    )
    async with running_service(module_database, embedder=embedder, **options) as running:
        yield running


def check_legs(one: Any, answer: memory_service_pb2.RecallResponse, ranks: bool) -> None:
    """Each leg's measure is what it says it is."""
    basis = answer.score_basis
    for leg in one.leg_scores:
        assert leg.contribution == pytest.approx(leg.value * leg.weight, abs=EXACT)
        if ranks:
            assert leg.value == pytest.approx(61 / (60 + leg.rank) if leg.rank else 0, abs=EXACT)
            assert leg.weight == pytest.approx(1 / basis.leg_count, abs=EXACT)
        elif leg.leg == VECTOR:
            assert leg.value == pytest.approx(relevance(leg.raw_score, basis), abs=EXACT)
        elif leg.leg == SLOT:
            assert min(abs(leg.value - min(1.0, leg.raw_score) - more) for more in (0, 0.75)) < EXACT
        elif leg.leg != LEXICAL:
            assert leg.value == pytest.approx(leg.raw_score, abs=EXACT)
        assert 0 <= leg.value <= (1.75 if leg.leg == SLOT else 1) + EXACT
    weights = {leg.leg: leg.weight for leg in one.leg_scores}
    if ranks or not {VECTOR, LEXICAL} <= weights.keys():
        return
    # What the two share out of their own measure is what the basis says.
    assert weights[VECTOR] * basis.lexical_weight == pytest.approx(
        weights[LEXICAL] * basis.vector_weight, abs=EXACT
    )


@pytest.mark.parametrize("seed", range(12))
async def test_legs_factors_and_basis_give_the_score_again(
    shared: RunningService, caller: Caller, endpoint: RerankEndpoint, seed: int
) -> None:
    chance = random.Random(seed)
    endpoint.answers(
        lambda request: {"results": scored(request, lambda text: round(len(text) * 0.37 % 1, 3))}
    )
    if seed % 3 == 0:
        endpoint.behaves("error")
    reranker: Any = shared.service.services.reranker
    reranker._failures, reranker._rests_until = 0, 0.0
    chosen = settings(chance)
    await set_policy(shared, caller.tenant, chosen)
    written = await caller.write("u1", *some(chance))
    ids = [one.memory.memory_id for one in written.results if one.memory.memory_id]
    first = await caller.recall("u1", QUERIES[0], min_score=0.0)
    await caller.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=first.recall_id,
            memory_ids=[one.memory.memory_id for one in first.memories[:3]],
            outcome=audit_pb2.USE_OUTCOME_HARMFUL,
        ),
    )
    legs: list[list[int]] = [[], [], [VECTOR, LEXICAL], [LEXICAL, NEIGHBOUR], [VECTOR]]
    looked_at: set[str] = set()
    for query in QUERIES:
        for fusion in (0, RANKED):
            fields: dict[str, Any] = {"limit": 30, "near_miss_limit": 50, "fusion": fusion}
            fields["legs"] = chance.choice(legs)
            fields |= chance.choice([{}, {"min_score": 0.0}, {"min_score": 0.05}, {"min_score": 0.3}])
            if fields["legs"] in ([VECTOR], [VECTOR, LEXICAL]) and chance.random() < 0.5:
                fields["as_of_time"] = stamp(datetime.now(UTC))
            answer = await caller.recall("u1", query, explain=True, **fields)
            record = await caller.call("GetRecall", audit_pb2.GetRecallRequest(recall_id=answer.recall_id))
            kept = record.receipt.recalled
            for shown, stored_ in (
                *zip(answer.memories, kept.memories, strict=True),
                *zip(answer.near_misses, kept.near_misses, strict=True),
            ):
                assert recomputed(shown, answer.score_basis) == pytest.approx(shown.score, abs=EXACT), fields
                assert recomputed(stored_, kept.score_basis) == pytest.approx(shown.score, abs=ROUNDED)
                assert stored_.evidence == pytest.approx(shown.evidence, abs=1e-6)
                check_legs(shown, answer, fusion == RANKED)
            looked_at |= {one.memory.memory_id for one in answer.memories}
            check_reasons(answer, fusion == RANKED, fields.get("min_score"))
    assert len(looked_at) > len(ids) / 3


def left_out(answer: memory_service_pb2.RecallResponse) -> dict[int, int]:
    return {one.reason: one.count for one in answer.left_out}


def check_reasons(answer: memory_service_pb2.RecallResponse, ranks: bool, asked: float | None) -> None:
    """What was left out has the same reasons where it is counted and where it is named."""
    least = answer.applied_min_score
    assert least == (asked if asked is not None else 0 if ranks else answer.score_basis.threshold)
    below, none = recall_pb2.LEFT_OUT_REASON_BELOW_MIN_SCORE, recall_pb2.LEFT_OUT_REASON_NO_MATCH
    limit, share = recall_pb2.LEFT_OUT_REASON_LIMIT, recall_pb2.LEFT_OUT_REASON_SOURCE_SHARE
    counts = left_out(answer)
    named: dict[int, int] = {}
    for one in answer.near_misses:
        named[one.reason] = named.get(one.reason, 0) + 1
        # With a reranker it is held against the lower of the two thresholds.
        evidence = 1.0 if ranks else one.evidence
        fails = one.score < least or evidence < min(least, answer.score_basis.threshold)
        assert (one.reason == below) is fails or one.reason == none, one
    if least > 0:
        assert none not in counts
        assert none not in named
    else:
        assert below not in counts
        assert below not in named
    for reason in (limit, share):
        assert named.get(reason, 0) == counts.get(reason, 0)
    assert named.get(below, 0) <= counts.get(below, 0)
    assert all(one.score >= least - 1e-9 for one in answer.memories if not pinned(one))


def pinned(one: recall_pb2.RankedMemory) -> bool:
    return "pinned" in one.memory.tags


async def test_receipts_from_before_read_as_they_did(caller: Caller, stored: Stored) -> None:
    await caller.write("u1", "Likes green tea", "Likes tea with milk")
    answer = await caller.recall("u1", "green tea", near_miss_limit=5, limit=1)
    (event,) = [one for one in stored.events(4) if one["outcome"] == 1]
    details = event["payload"]["details"]["memories_recalled"]
    assert details["score_basis"]["leg_count"] == 7
    now = recalled(details)
    for one in (*details["memories"], *details["near_misses"]):
        del one["evidence"]
        for leg in one["legs"]:
            del leg["value"], leg["weight"]
    del details["score_basis"], details["left_out_incomplete"]
    before = recalled(details)
    assert not before.HasField("score_basis")
    assert len(before.memories) == len(answer.memories) == 1
    for old, new in zip(
        (*before.memories, *before.near_misses), (*now.memories, *now.near_misses), strict=True
    ):
        assert (old.memory_id, old.score, old.evidence) == (new.memory_id, new.score, 0)
        assert new.evidence > 0
        assert [(leg.leg, leg.rank, leg.raw_score, leg.contribution) for leg in old.leg_scores] == [
            (leg.leg, leg.rank, leg.raw_score, leg.contribution) for leg in new.leg_scores
        ]
        assert {leg.weight for leg in old.leg_scores} == {0}


async def test_nothing_is_explained_that_was_not_asked_for(caller: Caller) -> None:
    await caller.write("u1", "Likes green tea")
    answer = await caller.recall("u1", "green tea")
    assert not answer.HasField("score_basis")
    assert not answer.memories[0].leg_scores
    assert answer.memories[0].evidence == 0
