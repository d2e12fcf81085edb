"""The statement of Recall against plain Python: filters, BM25, fusion, order, counts, on random scopes."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import HalfVector

from muniment_server.domain.filters import Operator, PropertyCondition, matches, to_jsonpath
from muniment_server.domain.model import (
    EmbeddingState,
    MemoryFilter,
    MemoryKind,
    MemoryState,
    Revision,
    ScopeKind,
    ScopeRow,
    SourceType,
    TimeRange,
    TrustLevel,
)
from muniment_server.retrieval import bm25
from muniment_server.storage.database import Database
from muniment_server.storage.embeddings import EmbeddingRow, insert_embeddings
from muniment_server.storage.memories import index_tokens, insert_memories, insert_scope
from muniment_server.storage.recall import RECALL_SETTINGS, RecallRows, recall
from support.postgres import PostgresDatabase

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DIMENSION = 8
LOW, HIGH, VECTOR_WEIGHT, LEXICAL_WEIGHT = 0.1, 0.9, 0.6, 0.4
STATES = [MemoryState.ACTIVE, MemoryState.ACTIVE, MemoryState.SUPERSEDED, MemoryState.ARCHIVED]


@dataclass(frozen=True)
class Draft:
    """A memory of a random scope."""

    terms: tuple[int, ...]
    seed: int | None
    """Of its vector; None: the model does not cover it."""
    state: MemoryState
    kind: MemoryKind
    trust: TrustLevel
    tags: tuple[str, ...]
    properties: dict[str, Any]
    agent: str | None
    session: str | None
    expires: int | None
    valid: tuple[int | None, int | None]
    memory_id: UUID = field(default_factory=uuid4)


def day(offset: int | None) -> datetime | None:
    return None if offset is None else NOW + timedelta(days=offset)


def vector(seed: int) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=DIMENSION)
    return (made / np.linalg.norm(made)).astype(np.float16).astype(np.float64)


optional_days = st.none() | st.integers(-5, 5)
drafts = st.builds(
    Draft,
    terms=st.lists(st.integers(1, 12), max_size=8).map(tuple) | st.just((1, 2) + (12,) * 60),
    seed=st.none() | st.integers(0, 30),
    state=st.sampled_from(STATES),
    kind=st.sampled_from(list(MemoryKind)[:3]),
    trust=st.sampled_from(list(TrustLevel)),
    tags=st.lists(st.sampled_from(["a", "b", "c'%_"]), unique=True, max_size=2).map(tuple),
    properties=st.dictionaries(
        st.sampled_from(["priority", "topic"]),
        st.sampled_from([2.0, 9.0, 10.0, "x", "9", True, False, 0.1]),
        max_size=2,
    ),
    agent=st.sampled_from([None, None, "bot", "other"]),
    session=st.sampled_from([None, None, "s1", "s2"]),
    expires=optional_days,
    valid=st.tuples(optional_days, optional_days),
)
conditions = st.one_of(
    st.builds(
        lambda key, values, operator: PropertyCondition(key, operator, tuple(values)),
        st.sampled_from(["priority", "topic", "absent"]),
        st.lists(st.sampled_from([2.0, 9.0, 10.0, "x", "9", True, False, 0.1]), min_size=1, max_size=2),
        st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS, Operator.IN]),
    ),
    st.builds(
        lambda key, operator: PropertyCondition(key, operator),
        st.sampled_from(["priority", "topic", "absent"]),
        st.sampled_from([Operator.EXISTS, Operator.NOT_EXISTS]),
    ),
    st.builds(
        lambda low, high: PropertyCondition("priority", Operator.RANGE, gte=low, lt=high),
        st.sampled_from([2.0, 9.0, 9.5]),
        st.sampled_from([9.0, 10.0, 100.0]),
    ),
)


@dataclass(frozen=True)
class Wanted:
    """A random query."""

    terms: tuple[int, ...]
    seed: int | None
    agent: str | None
    session: str | None
    restriction: MemoryFilter
    conditions: tuple[PropertyCondition, ...]
    min_score: float
    limit: int


@st.composite
def wanted(draw: st.DrawFn) -> Wanted:
    chosen = tuple(draw(st.lists(conditions, max_size=2)))
    start, end = draw(optional_days), draw(optional_days)
    return Wanted(
        terms=tuple(draw(st.lists(st.integers(1, 14), max_size=4, unique=True))),
        seed=draw(st.none() | st.integers(0, 30)),
        agent=draw(st.sampled_from([None, "bot"])),
        session=draw(st.sampled_from([None, "s1"])),
        restriction=MemoryFilter(
            kinds=draw(st.sampled_from([(), (MemoryKind.PREFERENCE,), (MemoryKind.FACT, MemoryKind.EVENT)])),
            states=draw(
                st.sampled_from(
                    [(MemoryState.ACTIVE,), (MemoryState.SUPERSEDED, MemoryState.ARCHIVED), tuple(STATES)]
                )
            ),
            min_trust=draw(st.none() | st.sampled_from(list(TrustLevel))),
            tags_any=draw(st.sampled_from([(), ("a",), ("b", "c'%_")])),
            tags_all=draw(st.sampled_from([(), ("a", "b")])),
            tags_none=draw(st.sampled_from([(), ("c'%_",)])),
            properties=to_jsonpath(chosen),
            valid_time=TimeRange(day(start), day(end)),
            valid_at=day(draw(optional_days)),
        ),
        conditions=chosen,
        min_score=draw(st.sampled_from([0.0, 0.2, 0.5])),
        limit=draw(st.integers(1, 8)),
    )


def holds(draft: Draft, query: Wanted) -> bool:
    """Whether the labels of a memory fulfil the filter; state and expiry apart."""
    restriction = query.restriction
    start, end = (day(one) for one in draft.valid)
    at, span = restriction.valid_at, restriction.valid_time
    return (
        draft.agent in (None, query.agent)
        and draft.session in (None, query.session)
        and (not restriction.kinds or draft.kind in restriction.kinds)
        and (restriction.min_trust is None or draft.trust >= restriction.min_trust)
        and (not restriction.tags_any or bool(set(draft.tags) & set(restriction.tags_any)))
        and set(restriction.tags_all) <= set(draft.tags)
        and not set(restriction.tags_none) & set(draft.tags)
        and matches(query.conditions, draft.properties)
        and (span.start is None or end is None or end > span.start)
        and (span.end is None or start is None or start < span.end)
        and (at is None or ((start is None or start <= at) and (end is None or end > at)))
    )


def expired(draft: Draft) -> bool:
    return draft.expires is not None and NOW + timedelta(days=draft.expires) <= NOW


def oracle(memories: Sequence[Draft], query: Wanted) -> tuple[list[tuple[UUID, float]], Counter[str]]:
    """The relevant memories with their scores, best first, and the counts of what is left out."""
    live = [draft for draft in memories if draft.state is MemoryState.ACTIVE]
    documents = {draft.memory_id: [str(term) for term in draft.terms] for draft in live}
    statistics = bm25.ScopeStatistics.of(documents.values())
    terms = [str(term) for term in query.terms]
    counts: Counter[str] = Counter(total=len(memories))
    found = []
    vector_weight, lexical_weight = weights(query)
    for draft in memories:
        if draft.state not in query.restriction.states:
            counts["other_state"] += 1
            continue
        if expired(draft):
            counts["expired"] += 1
            continue
        if not holds(draft, query):
            counts["filtered"] += 1
            continue
        document = documents.get(draft.memory_id, [])
        share = bm25.share(terms, document, statistics)
        by_meaning = draft.seed is not None and query.seed is not None
        if draft.seed is None or query.seed is None:
            score = share
        else:
            cosine = float(vector(draft.seed) @ vector(query.seed)) / (
                float(np.linalg.norm(vector(draft.seed))) * float(np.linalg.norm(vector(query.seed)))
            )
            relevance = max(0.0, min(1.0, (cosine - LOW) / (HIGH - LOW)))
            score = vector_weight * relevance + lexical_weight * share
        if score >= query.min_score and (score > 0 or by_meaning):
            found.append((draft.memory_id, score))
    found.sort(key=lambda one: (-one[1], one[0]))
    return found, counts


def weights(query: Wanted) -> tuple[float, float]:
    if query.seed is not None and query.terms:
        return VECTOR_WEIGHT, LEXICAL_WEIGHT
    return (1.0, 0.0) if query.seed is not None else (0.0, 1.0)


async def store(pool: Database, tenant_id: UUID, memories: Sequence[Draft]) -> tuple[UUID, int]:
    """Put the memories into a new scope, with index and vectors; seals do not matter here."""
    scope_id = uuid4()
    live = [draft for draft in memories if draft.state is MemoryState.ACTIVE]
    row = ScopeRow(
        scope_id=scope_id,
        scope_no=int.from_bytes(scope_id.bytes[:8], signed=True),
        kind=ScopeKind.SUBJECT,
        label_ct=None,
        key_epoch=1,
        generation=1,
        live_count=len(live),
        live_terms=sum(len(draft.terms) for draft in live),
        next_doc=len(memories) + 1,
        set_count=0,
        set_digest=b"",
        seal=b"",
    )
    revisions = {
        draft.memory_id: revision(draft, scope_id, number) for number, draft in enumerate(memories, 1)
    }
    async with pool.transaction(tenant_id) as work:
        await insert_scope(work, row, NOW)
        await insert_memories(work, list(revisions.values()))
        await index_tokens(
            work,
            row.scope_no,
            [(revisions[draft.memory_id].doc_no, Counter(draft.terms), len(draft.terms)) for draft in live],
        )
        await insert_embeddings(
            work,
            row.scope_no,
            [
                EmbeddingRow(
                    1,
                    revisions[draft.memory_id].doc_no,
                    1,
                    EmbeddingState.READY,
                    HalfVector(vector(draft.seed)),
                    b"",
                )
                for draft in memories
                if draft.seed is not None
            ],
        )
    return scope_id, row.scope_no


def revision(draft: Draft, scope_id: UUID, doc_no: int) -> Revision:
    return Revision(
        memory_id=draft.memory_id,
        scope_id=scope_id,
        doc_no=doc_no,
        revision=1,
        content_revision=1,
        key_epoch=1,
        state=draft.state,
        kind=draft.kind,
        trust=draft.trust,
        source_type=SourceType.AGENT_INFERRED,
        analyzer=1,
        term_count=len(draft.terms),
        reinforce_count=0,
        confidence=None,
        create_time=NOW,
        update_time=NOW,
        expire_time=day(draft.expires),
        valid_from=day(draft.valid[0]),
        valid_to=day(draft.valid[1]),
        reinforce_time=None,
        supersedes=None,
        superseded_by=None,
        slot=None,
        agent=draft.agent,
        session=draft.session,
        origin_session=None,
        author="test",
        author_agent=None,
        source_ref=None,
        tags=draft.tags,
        properties=draft.properties,
        statement_hash=b"",
        tokens=(),
        content_ct=b"",
        seal=b"",
    )


async def ask(pool: Database, tenant_id: UUID, scope: tuple[UUID, int], query: Wanted) -> RecallRows:
    vector_weight, lexical_weight = weights(query)
    async with pool.transaction(tenant_id, settings=RECALL_SETTINGS) as work:
        return await recall(
            work,
            scope_id=scope[0],
            scope_no=scope[1],
            agent=query.agent,
            session=query.session,
            restriction=query.restriction,
            model_no=1,
            embedding=HalfVector(vector(query.seed)) if query.seed is not None else None,
            tokens=query.terms,
            cosine_low=LOW,
            cosine_high=HIGH,
            vector_weight=vector_weight,
            lexical_weight=lexical_weight,
            min_score=query.min_score,
            fetch=query.limit,
            excluded=[],
            now=NOW,
        )


def test_recall_agrees_with_plain_python(module_database: PostgresDatabase) -> None:
    tenant_id = module_database.add_tenant("oracle")

    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(memories=st.lists(drafts, max_size=14), query=wanted())
    def agrees(memories: list[Draft], query: Wanted) -> None:
        rows = runner.run(answer(memories, query))
        expected, counts = oracle(memories, query)
        assert rows.total == counts["total"]
        assert (rows.other_state, rows.expired, rows.filtered) == (
            counts["other_state"],
            counts["expired"],
            counts["filtered"],
        )
        got = [(one.revision.memory_id, one.score) for one in rows.candidates]
        assert len(got) == min(len(expected), query.limit)
        assert all(math.isfinite(score) for _, score in got)
        scores = dict(expected)
        for (memory_id, score), (_, best) in zip(got, expected, strict=False):
            # Half precision and another order of addition: equal up to rounding, and so is the order.
            assert scores[memory_id] == pytest.approx(score, abs=1e-3)
            assert score == pytest.approx(best, abs=1e-3)
        if not any(math.isclose(score, query.min_score, abs_tol=1e-3) for _, score in expected):
            assert rows.relevant == (len(expected) if got else 0)

    async def answer(memories: list[Draft], query: Wanted) -> RecallRows:
        return await ask(pool, tenant_id, await store(pool, tenant_id, memories), query)

    with asyncio.Runner() as runner:
        pool = module_database.app(max_size=2)
        runner.run(pool.open())
        try:
            agrees()
        finally:
            runner.run(pool.close())
