"""The statement of Recall against plain Python: filters, BM25, fusion, order, counts, on random scopes."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from statistics import mean
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
from muniment_server.domain.ranking import (
    AROUND,
    DEFAULTS,
    ENTITY,
    LENGTH,
    QUESTION,
    REPLY,
    SESSION,
    TURN_ROOM,
)
from muniment_server.retrieval import bm25
from muniment_server.storage.database import Database
from muniment_server.storage.embeddings import EmbeddingRow, insert_embeddings
from muniment_server.storage.feedback import count_outcome
from muniment_server.storage.memories import index_tokens, insert_memories, insert_scope
from muniment_server.storage.queries import compile_statement
from muniment_server.storage.recall import RECALL_SETTINGS, Aim, RecallRows, recall
from support.postgres import PostgresDatabase

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DIMENSION = 8
MARK, ASKS, APART = 1_000, 999, 998
LOW, HIGH, VECTOR_WEIGHT, LEXICAL_WEIGHT = 0.1, 0.9, 0.6, 0.4
APART_WEIGHT = 0.15
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
    sitting: str | None
    turn: int | None
    speaker: int | None
    asks: bool
    apart: bool
    """Written in another script than the query."""
    reports: tuple[tuple[int, int, int], ...] = ()
    """Helpful, neutral and harmful uses, per reporter."""
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
    speakers = {draft.speaker for draft in live}
    spoken = [term for term in query.terms if term in speakers]
    said = [str(term) for term in query.terms if term not in spoken] or [str(term) for term in query.terms]
    counts: Counter[str] = Counter(total=len(memories))
    eligible = []
    for number, draft in enumerate(memories):
        if draft.state not in query.restriction.states:
            counts["other_state"] += 1
        elif expired(draft):
            counts["expired"] += 1
        elif not holds(draft, query):
            counts["filtered"] += 1
        else:
            eligible.append((draft, number))
    seats = Seats(eligible, documents, statistics, said, query)
    found = []
    for draft, _ in eligible:
        turn = draft.kind is MemoryKind.TURN
        terms = said if turn else [str(term) for term in query.terms]
        cosine = cosine_of(draft, query)
        own = calibrated(cosine, bm25.share(terms, documents.get(draft.memory_id, []), statistics), query)
        live_draft = draft.state is MemoryState.ACTIVE
        if live_draft and draft.apart and cosine is not None and not set(query.terms) & set(draft.terms):
            own += apart_weight(query) * relevance(cosine)
        around, session, replied = seats.context(draft)
        entity = 1.0 if live_draft and draft.speaker in query.terms and query.terms else 0.0
        score = ENTITY * entity + SESSION * session
        if turn:
            room = 1 - TURN_ROOM
            score += (room - AROUND) * own + AROUND * around if around is not None else room * own
            score += LENGTH * min(1.0, len(draft.terms) / 40)
            score += REPLY * replied - QUESTION * (live_draft and draft.asks)
        else:
            score += own
        score *= DEFAULTS.kind[draft.kind - 1] * DEFAULTS.trust[draft.trust - 1]
        recorded = min(NOW, day(draft.valid[0]) or NOW)
        score *= DEFAULTS.recency_factor(draft.kind, recorded, NOW)
        reports = [counts_ for counts_ in draft.reports if any(counts_)]
        score = max(0.0, min(1.0, score * DEFAULTS.feedback_factor(reports)))
        evidence = max(own, around or 0.0)
        if min(score, evidence) >= query.min_score and (score > 0 or cosine is not None):
            found.append((draft.memory_id, score))
    found.sort(key=lambda one: (-one[1], one[0]))
    return found, counts


def cosine_of(draft: Draft, query: Wanted) -> float | None:
    if draft.seed is None or query.seed is None:
        return None
    mine, wanted_ = vector(draft.seed), vector(query.seed)
    return float(mine @ wanted_) / (float(np.linalg.norm(mine)) * float(np.linalg.norm(wanted_)))


def calibrated(cosine: float | None, share: float, query: Wanted) -> float:
    vector_weight, lexical_weight = weights(query)
    if cosine is None:
        return share if lexical_weight else 0.0
    return vector_weight * relevance(cosine) + lexical_weight * share


def relevance(cosine: float) -> float:
    return max(0.0, min(1.0, (cosine - LOW) / (HIGH - LOW)))


def apart_weight(query: Wanted) -> float:
    return APART_WEIGHT if min(weights(query)) > 0 else 0.0


class Seats:
    """The turns of the sessions in order, and what surrounds each of them."""

    def __init__(
        self,
        eligible: Sequence[tuple[Draft, int]],
        documents: dict[UUID, list[str]],
        statistics: bm25.ScopeStatistics,
        said: Sequence[str],
        query: Wanted,
    ) -> None:
        self.query, self.said, self.statistics, self.documents = query, said, statistics, documents
        self.sessions: dict[str, list[Draft]] = {}
        turns = [one for one in eligible if one[0].kind is MemoryKind.TURN and one[0].sitting is not None]
        for draft, _ in sorted(turns, key=lambda one: (one[0].turn is None, one[0].turn or 0, one[1])):
            self.sessions.setdefault(draft.sitting or "", []).append(draft)
        self.mean = mean([self._around(one)[1] for one in self._seats()] or [0.0])

    def _seats(self) -> list[Draft]:
        return [draft for session in self.sessions.values() for draft in session]

    def _around(self, draft: Draft) -> tuple[Counter[str], float, float | None]:
        session = self.sessions[draft.sitting or ""]
        place = session.index(draft)
        terms: Counter[str] = Counter()
        length = weighed = total = 0.0
        for step in range(-2, 3):
            if not 0 <= place + step < len(session):
                continue
            one, weight = session[place + step], 1 - abs(step) / 4
            length += weight * len(one.terms)
            for term in self.documents.get(one.memory_id, []):
                terms[term] += weight  # type: ignore[assignment]
            cosine = cosine_of(one, self.query)
            if cosine is not None:
                weighed += weight * cosine
                total += weight
        return terms, length, weighed / total if total else None

    def context(self, draft: Draft) -> tuple[float | None, float, float]:
        """Around, how the session fits, and how the turn before does, if it asks."""
        if draft.kind is not MemoryKind.TURN or draft.sitting is None:
            return None, 0.0, 0.0
        terms, length, cosine = self._around(draft)
        around = calibrated(cosine, self._share(terms, length, self.mean, self.statistics), self.query)
        session = self.sessions[draft.sitting]
        place = session.index(draft)
        before = session[place - 1] if place else None
        replied = 0.0
        if before is not None and before.asks and before.state is MemoryState.ACTIVE:
            words = self.documents.get(before.memory_id, [])
            share = bm25.share(self.said, words, self.statistics)
            replied = calibrated(cosine_of(before, self.query), share, self.query)
        return around, self._session(draft.sitting), replied

    def _session(self, sitting: str) -> float:
        cosines = [cosine_of(one, self.query) for one in self.sessions[sitting]]
        nearest = max((one for one in cosines if one is not None), default=None)
        return calibrated(nearest, self._session_share(sitting), self.query)

    def _session_share(self, sitting: str) -> float:
        counted = {
            name: Counter(term for one in turns for term in self.documents.get(one.memory_id, []))
            for name, turns in self.sessions.items()
        }
        lengths = {name: sum(len(one.terms) for one in turns) for name, turns in self.sessions.items()}
        frequencies = Counter(term for terms in counted.values() for term in terms)
        statistics = bm25.ScopeStatistics(len(counted), 0, frequencies)
        return self._share(counted[sitting], lengths[sitting], mean(list(lengths.values())), statistics)

    def _share(
        self, terms: Counter[str], length: float, average: float, statistics: bm25.ScopeStatistics
    ) -> float:
        frequencies = statistics.frequencies
        best = sum(bm25.idf(statistics.documents, frequencies.get(one, 0) or 1) for one in self.said)
        ratio = min(4.0, length / average) if average else 4.0
        total = 0.0
        for term in self.said:
            tf = terms.get(term, 0)
            if tf:
                weight = bm25.idf(statistics.documents, statistics.frequencies.get(term, 0))
                total += weight * tf / (tf + bm25.K1 * (1 - bm25.B + bm25.B * ratio))
        return total / best if best else 0.0


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
            [(revisions[draft.memory_id].doc_no, indexed(draft), len(draft.terms)) for draft in live],
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
        for draft in memories:
            for number, counts in enumerate(draft.reports):
                for outcome, count in zip(("helpful", "neutral", "harmful"), counts, strict=True):
                    for _ in range(count):
                        await count_outcome(
                            work, scope_id, {draft.memory_id: 1}, f"agent {number}", **{outcome: True}
                        )
    return scope_id, row.scope_no


def indexed(draft: Draft) -> Counter[int]:
    marks = [MARK + draft.speaker] if draft.speaker else []
    return Counter([*draft.terms, *marks, *([ASKS] if draft.asks else []), *([APART] if draft.apart else [])])


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
        origin_session=draft.sitting,
        turn_number=draft.turn,
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
        made = revision(turn, scope_id, len(known) + 1)
        async with pool.transaction(tenant_id) as work:
            await insert_memories(work, [made])
            await index_tokens(work, scope_no, [(made.doc_no, indexed(turn), len(turn.terms))])

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
