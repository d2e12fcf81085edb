"""The statement of Recall against plain Python: filters, BM25, fusion, order, counts, on random scopes."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import HalfVector

from muniment_server.domain.filters import Operator, PropertyCondition, to_jsonpath
from muniment_server.domain.model import (
    MemoryFilter,
    MemoryKind,
    MemoryState,
    SourceType,
    TimeRange,
    TrustLevel,
)
from muniment_server.domain.ranking import AROUND, ENTITY, LENGTH, QUESTION, REPLY, SESSION, TURN_ROOM
from muniment_server.storage.database import Database
from muniment_server.storage.feedback import count_outcome
from muniment_server.storage.queries import compile_statement
from muniment_server.storage.recall import RECALL_SETTINGS, Aim, RecallRows, recall
from support.postgres import PostgresDatabase
from support.recall_oracle import HIGH, LOW, Draft, Wanted, apart_weight, day, oracle, vector, weights
from support.scopes import NOW, Indexed, made_revision, put_memories, put_scope

MARK, ASKS, APART = 1_000, 999, 998
STATES = [MemoryState.ACTIVE, MemoryState.ACTIVE, MemoryState.SUPERSEDED, MemoryState.ARCHIVED]

optional_days = st.none() | st.integers(-5, 5)
drafts = st.builds(
    Draft,
    terms=st.lists(st.integers(1, 12), max_size=8).map(tuple) | st.just((1, 2) + (12,) * 60),
    seed=st.none() | st.integers(0, 30),
    state=st.sampled_from(STATES),
    kind=st.sampled_from([*list(MemoryKind)[:3], *[MemoryKind.TURN] * 3]),
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
    sitting=st.sampled_from([None, "day 1", "day 1", "day 2"]),
    turn=st.none() | st.integers(0, 5),
    speaker=st.sampled_from([None, 3, 4]),
    asks=st.booleans(),
    apart=st.booleans(),
    reports=st.just(()) | st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=3).map(tuple),
)
facts = drafts.map(lambda draft: replace(draft, kind=MemoryKind(draft.kind % 3 + 1)))
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


async def store(pool: Database, tenant_id: UUID, memories: Sequence[Draft]) -> tuple[UUID, int]:
    """Put the memories into a new scope, with index, vectors and what was reported of them."""
    scope_id = uuid4()
    rows = [as_stored(draft, scope_id, number) for number, draft in enumerate(memories, 1)]
    scope_no = await put_scope(pool, tenant_id, scope_id, rows)
    async with pool.transaction(tenant_id) as work:
        for draft in memories:
            for number, counts in enumerate(draft.reports):
                for outcome, count in zip(("helpful", "neutral", "harmful"), counts, strict=True):
                    for _ in range(count):
                        await count_outcome(
                            work, scope_id, {draft.memory_id: 1}, f"agent {number}", **{outcome: True}
                        )
    return scope_id, scope_no


def indexed(draft: Draft) -> Counter[int]:
    marks = [MARK + draft.speaker] if draft.speaker else []
    return Counter([*draft.terms, *marks, *([ASKS] if draft.asks else []), *([APART] if draft.apart else [])])


def as_stored(draft: Draft, scope_id: UUID, doc_no: int) -> Indexed:
    made = made_revision(
        scope_id,
        doc_no,
        len(draft.terms),
        memory_id=draft.memory_id,
        state=draft.state,
        kind=draft.kind,
        trust=draft.trust,
        source_type=SourceType.AGENT_INFERRED,
        expire_time=day(draft.expires),
        valid_from=day(draft.valid[0]),
        valid_to=day(draft.valid[1]),
        agent=draft.agent,
        session=draft.session,
        origin_session=draft.sitting,
        turn_number=draft.turn,
        tags=draft.tags,
        properties=draft.properties,
    )
    return Indexed(made, indexed(draft), None if draft.seed is None else vector(draft.seed))


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
            aim=Aim(
                embedding=HalfVector(vector(query.seed)) if query.seed is not None else None,
                tokens=query.terms,
                speakers=[MARK + term for term in query.terms],
                asks=ASKS,
                apart=[APART],
                apart_weight=apart_weight(query),
                cosine_low=LOW,
                cosine_high=HIGH,
                vector_weight=vector_weight,
                lexical_weight=lexical_weight,
                around_vector=vector_weight,
                around_lexical=lexical_weight,
                around_weight=AROUND,
                turn_room=TURN_ROOM,
                session_weight=SESSION,
                entity_weight=ENTITY,
                length_weight=LENGTH,
                question_weight=QUESTION,
                reply_weight=REPLY,
            ),
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
    @given(memories=st.lists(drafts, max_size=14) | st.lists(facts, max_size=14), query=wanted())
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
        scope = await store(pool, tenant_id, memories)
        turns = any(draft.kind is MemoryKind.TURN for draft in memories)
        rows = await ask(pool, tenant_id, scope, query)
        for name in ("recall", "recall_turns") if turns else ("recall", "recall_turns", "recall_facts"):
            # Every form of the statement gives the same, each number with it.
            pool.statements |= dict.fromkeys(("recall_turns", "recall_facts"), statements[name])
            assert await ask(pool, tenant_id, scope, query) == rows
        pool.statements |= statements
        return rows

    with asyncio.Runner() as runner:
        pool = module_database.app(max_size=2)
        statements = dict(pool.statements)
        runner.run(pool.open())
        try:
            agrees()
        finally:
            runner.run(pool.close())


def test_a_turn_that_came_since_the_last_look_is_weighed_as_one(module_database: PostgresDatabase) -> None:
    tenant_id = module_database.add_tenant("first turn")
    plain = Draft(
        terms=(1, 2), seed=1, state=MemoryState.ACTIVE, kind=MemoryKind.FACT, trust=TrustLevel.HIGH, tags=(),
        properties={}, agent=None, session=None, expires=None, valid=(None, None), sitting=None, turn=None,
        speaker=None, asks=False, apart=False,
    )  # fmt: skip
    known = [plain, replace(plain, terms=(2, 3), seed=2, memory_id=uuid4())]
    turn = replace(plain, kind=MemoryKind.TURN, sitting="day 1", turn=0, speaker=3, memory_id=uuid4())
    query = Wanted((1, 2), 1, None, None, MemoryFilter(), (), 0.0, 5)

    async def write(scope_id: UUID, scope_no: int) -> None:
        made = replace(as_stored(turn, scope_id, len(known) + 1), vector=None)
        async with pool.transaction(tenant_id) as work:
            await put_memories(work, scope_no, [made])

    with asyncio.Runner() as runner:
        pool = module_database.app(max_size=2)
        runner.run(pool.open())
        try:
            scope = runner.run(store(pool, tenant_id, known))
            before = [runner.run(ask(pool, tenant_id, scope, query)) for _ in range(2)]
            # Since the first answer it is known that there is no turn, and no part of a turn is looked for.
            refused = compile_statement(
                "refused", "SELECT 1 / 0 AS total WHERE %(tenant_id)s::uuid IS NOT NULL"
            )
            whole = pool.statements["recall_turns"]
            pool.statements["recall_turns"] = refused
            before.append(runner.run(ask(pool, tenant_id, scope, query)))
            pool.statements["recall_turns"] = whole
            assert before[0] == before[1] == before[2]
            runner.run(write(*scope))
            after = runner.run(ask(pool, tenant_id, scope, query))
            pool.statements["recall_facts"] = refused
            assert runner.run(ask(pool, tenant_id, scope, query)) == after
        finally:
            runner.run(pool.close())
    weights = {one.revision.memory_id: one.own_weight for one in after.candidates}
    assert weights == {known[0].memory_id: 1, known[1].memory_id: 1, turn.memory_id: 1 - TURN_ROOM - AROUND}
