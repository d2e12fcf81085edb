"""The statement for large scopes against the exact one: as good, as complete, and nobody else's."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from pgvector import HalfVector

from muniment_server.application.choosing import choose, most_of_source
from muniment_server.domain.model import (
    MemoryFilter,
    MemoryKind,
    MemoryState,
    Revision,
    TimeRange,
    TrustLevel,
)
from muniment_server.storage.database import Database
from muniment_server.storage.queries import compile_statement, load_statements, split_statements
from muniment_server.storage.recall import RECALL_SETTINGS, Aim, Draw, RecallRows, recall
from muniment_server.storage.scales import SCALES
from support.postgres import PostgresDatabase
from support.scopes import NOW, Indexed, made_revision, put_scope, put_vectors

ALL = 10**9
SIZE = 1_500
DRAW = Draw(near=300, near_each=1, words=60, sessions=40)
REFUSING = compile_statement("recall", "SELECT 1 / 0 AS total WHERE %(tenant_id)s::uuid IS NOT NULL")
"""In the place of the exact statements: whoever runs one fails."""


@dataclass
class Corpus:
    """Memories around topics: cosines to the topic's vector as a model gives them, words by Zipf's law."""

    dimension: int
    size: int = SIZE
    topics: int = 12
    seed: int = 5
    vectors: np.ndarray = field(init=False)
    words: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.centres = unit(self.random.normal(size=(self.topics, self.dimension)))
        places = np.arange(self.size) % self.topics
        cosines = self.random.uniform(0.15, 0.6, size=self.size)
        self.vectors = np.array(
            [self.near(int(place), float(one)) for place, one in zip(places, cosines, strict=True)]
        )
        self.words = [
            sorted({min(int(one), 400) for one in self.random.zipf(1.3, size=10)}) for _ in range(self.size)
        ]

    def near(self, topic: int, cosine: float) -> np.ndarray:
        centre = self.centres[topic]
        noise = self.random.normal(size=self.dimension)
        noise = unit(noise - (noise @ centre) * centre)
        made: np.ndarray = cosine * centre + np.sqrt(1 - cosine**2) * noise
        return made

    def question(self) -> tuple[np.ndarray, list[int]]:
        words = {min(int(one), 400) for one in self.random.zipf(1.3, size=5)}
        return self.near(int(self.random.integers(self.topics)), 0.95), sorted(words)


def unit(vector: np.ndarray) -> np.ndarray:
    made: np.ndarray = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
    return made


@dataclass(frozen=True)
class Place:
    scope_id: UUID
    scope_no: int
    ids: list[UUID]


async def store(
    pool: Database,
    tenant_id: UUID,
    corpus: Corpus,
    *,
    change: Callable[[int, Revision], Revision] = lambda _number, one: one,
    scope_id: UUID | None = None,
) -> Place:
    """Put a corpus into a new scope."""
    scope_id = scope_id or uuid4()
    rows = [
        Indexed(
            change(number, made_revision(scope_id, number, len(words))), dict.fromkeys(words, 1), embedding
        )
        for number, (words, embedding) in enumerate(zip(corpus.words, corpus.vectors, strict=True), 1)
    ]
    scope_no = await put_scope(pool, tenant_id, scope_id, rows)
    return Place(scope_id, scope_no, [one.revision.memory_id for one in rows])


async def ask(
    pool: Database,
    tenant_id: UUID,
    place: Place,
    question: tuple[np.ndarray | None, Sequence[int]],
    *,
    exact: bool = False,
    restriction: MemoryFilter | None = None,
    model_no: int = 1,
    min_score: float = 0.0,
    fetch: int = 15,
    draw: Draw = DRAW,
    limit: int = 0,
    source_most: int = 0,
    spans: Sequence[TimeRange] = (),
    time_evidence: float = 0.0,
) -> RecallRows:
    vector, words = question
    weights = (
        (0.35, 0.65) if vector is not None and len(words) else (float(vector is not None), float(bool(words)))
    )
    async with pool.transaction(tenant_id, settings=RECALL_SETTINGS) as work:
        return await recall(
            work,
            scope_id=place.scope_id,
            scope_no=place.scope_no,
            agent=None,
            session=None,
            restriction=restriction or MemoryFilter(),
            model_no=model_no,
            aim=Aim(
                embedding=HalfVector(vector) if vector is not None else None,
                tokens=list(words),
                speakers=[-word for word in words],
                cosine_low=0.1,
                cosine_high=0.6,
                vector_weight=weights[0],
                lexical_weight=weights[1],
                pinned_weight=0.15,
                pinned_most=3,
                spans=spans,
                time_weight=0.15,
                time_evidence=time_evidence,
            ),
            min_score=min_score,
            fetch=fetch,
            excluded=[],
            now=NOW,
            limit=limit,
            source_most=source_most,
            exact_rows=ALL if exact else 100,
            draw=draw,
        )


def scores(rows: RecallRows) -> list[tuple[UUID, float]]:
    return [(one.revision.memory_id, one.score) for one in rows.candidates if one.found]


def share_of_best(drawn: RecallRows, exact: RecallRows, count: int = 10) -> float:
    """Share of the best that was found; what is as good as the last of them may stand for it."""
    best = scores(exact)[:count]
    return sum(score >= best[-1][1] - 1e-9 for _, score in scores(drawn)[:count]) / len(best)


def offered(rows: RecallRows, limit: int, share: float) -> list[UUID]:
    ranked = [(one, None) for one in rows.candidates if one.found]
    return [one.revision.memory_id for one, _ in choose(ranked, limit, share).chosen]


class Store:
    """A pool of the service's role, used from ordinary tests."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        self.runner = asyncio.Runner()
        self.pool = database.app(max_size=2)
        self.run(self.pool.open())
        self.exact = {name: self.pool.statements[name] for name in ("recall", "recall_turns", "recall_facts")}

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(coroutine)

    def refuse_exact(self, refuse: bool) -> None:
        for name, statement in self.exact.items():
            self.pool.statements[name] = REFUSING if refuse else statement


@pytest.fixture
def stored(module_database: PostgresDatabase) -> Iterator[Store]:
    store_ = Store(module_database)
    yield store_
    store_.run(store_.pool.close())
    store_.runner.close()


@pytest.mark.parametrize("dimension", [384, 256])
def test_what_is_drawn_has_the_best_with_the_scores_that_the_exact_statement_gives(
    stored: Store, dimension: int
) -> None:
    tenant_id = stored.database.add_tenant(f"best-{dimension}")
    corpus = Corpus(dimension)
    place = stored.run(store(stored.pool, tenant_id, corpus))
    found = []
    for number in range(25):
        vector, words = corpus.question()
        question = [(vector, words), (vector, []), (vector, words[:1])][number % 3]
        exact = stored.run(ask(stored.pool, tenant_id, place, question, exact=True))
        stored.refuse_exact(True)
        drawn = stored.run(ask(stored.pool, tenant_id, place, question))
        again = stored.run(ask(stored.pool, tenant_id, place, question))
        stored.refuse_exact(False)
        assert scores(drawn) == scores(again)
        assert len(scores(drawn)) == len(scores(exact)) == 15
        assert drawn.total < corpus.size
        known = dict(scores(exact))
        for memory_id, score in scores(drawn):
            assert memory_id not in known or known[memory_id] == pytest.approx(score, abs=1e-12)
        found.append(share_of_best(drawn, exact))
    assert np.mean(found) >= 0.98


@pytest.mark.parametrize("remembered", [1, 10**6, None])
@pytest.mark.parametrize("exact", [True, False])
def test_the_scope_says_which_statement_answers_and_not_what_was_remembered_of_it(
    stored: Store, remembered: int | None, exact: bool
) -> None:
    tenant_id = stored.database.add_tenant(f"remembered-{remembered}-{exact}")
    corpus = Corpus(384)
    place = stored.run(store(stored.pool, tenant_id, corpus))
    question = corpus.question()
    known = stored.run(ask(stored.pool, tenant_id, place, question, exact=exact))
    assert (known.total == corpus.size) is exact
    if remembered is None:
        SCALES._scales.clear()
    else:
        SCALES.note(tenant_id, place.scope_id, remembered)
    answer = stored.run(ask(stored.pool, tenant_id, place, question, exact=exact))
    assert (answer.total, scores(answer)) == (known.total, scores(known))


def test_where_nothing_but_a_time_is_asked_for_all_are_looked_at(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("times")
    corpus = Corpus(384)
    then = NOW - timedelta(days=400)
    place = stored.run(
        store(
            stored.pool,
            tenant_id,
            corpus,
            change=lambda number, one: replace(one, valid_from=then) if number == 17 else one,
        )
    )
    spans = [TimeRange(then, then + timedelta(days=1))]
    for time_evidence in (0.5, 1.0):
        answer = stored.run(
            ask(
                stored.pool,
                tenant_id,
                place,
                corpus.question(),
                spans=spans,
                time_evidence=time_evidence,
                fetch=5,
            )
        )
        assert answer.drawn == (time_evidence < 1)
        assert (answer.total == corpus.size) == (time_evidence == 1)
    answer = stored.run(
        ask(stored.pool, tenant_id, place, corpus.question(), spans=spans, time_evidence=1, fetch=corpus.size)
    )
    in_time = [one.revision.memory_id for one in answer.candidates if one.named_time]
    assert in_time == [place.ids[16]]


def test_a_filter_that_leaves_little_of_what_was_drawn_is_answered_exactly(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("filters")
    corpus = Corpus(384)

    def change(number: int, one: Revision) -> Revision:
        expire = NOW - timedelta(days=1) if number % 5 == 0 else None
        state = MemoryState.SUPERSEDED if number % 7 == 0 else MemoryState.ACTIVE
        tags = tuple(tag for tag, every in (("few", 60), ("some", 6), ("none", ALL)) if number % every == 0)
        return replace(one, tags=tags, expire_time=expire, state=state)

    place = stored.run(store(stored.pool, tenant_id, corpus, change=change))
    for restriction in (
        MemoryFilter(tags_any=("few",)),
        MemoryFilter(tags_any=("some",)),
        MemoryFilter(tags_any=("none",)),
        MemoryFilter(tags_none=("some",)),
        MemoryFilter(min_trust=TrustLevel.CONFIRMED),
        MemoryFilter(states=(MemoryState.SUPERSEDED,)),
        MemoryFilter(states=(MemoryState.ACTIVE, MemoryState.SUPERSEDED)),
        MemoryFilter(kinds=(MemoryKind.RULE,)),
    ):
        for min_score in (0.0, 0.3, 0.6):
            question = corpus.question()
            options: dict[str, Any] = {"restriction": restriction, "min_score": min_score}
            exact = stored.run(ask(stored.pool, tenant_id, place, question, exact=True, **options))
            drawn = stored.run(ask(stored.pool, tenant_id, place, question, **options))
            assert len(scores(drawn)) == len(scores(exact))
            if restriction.tags_none:
                # Most passes: what was drawn is trusted.
                assert share_of_best(drawn, exact) >= 0.9 if scores(exact) else True
            else:
                assert scores(drawn) == scores(exact)
                assert (drawn.total, drawn.filtered) == (exact.total, exact.filtered)


def test_a_small_tenant_behind_many_foreign_vectors_gets_what_is_its_own(stored: Store) -> None:
    corpus = Corpus(384)
    crowd = stored.database.add_tenant("crowd")
    small = stored.database.add_tenant("small")
    scope_id = uuid4()
    stored.run(store(stored.pool, crowd, corpus, scope_id=scope_id))
    # The same scope number in another tenant, with the vectors farthest from what is asked for.
    vector, _ = corpus.question()
    few = Corpus(384, size=120, seed=9)
    few.vectors = -np.array([vector + 0.3 * unit(few.random.normal(size=384)) for _ in range(few.size)])
    place = stored.run(store(stored.pool, small, few, scope_id=scope_id))
    rows = stored.run(ask(stored.pool, small, place, (vector, []), draw=Draw(near=60, near_each=1)))
    exact = stored.run(ask(stored.pool, small, place, (vector, []), exact=True))
    assert {memory_id for memory_id, _ in scores(rows)} <= set(place.ids)
    assert len(scores(rows)) == len(scores(exact)) == 15


def test_what_is_drawn_is_read_by_its_key_whatever_is_known_of_scopes(stored: Store) -> None:
    """Among many small scopes each index looks as good as that of documents, and reads a large one whole."""
    text = stored.pool.statements["recall_large"].text

    def plan() -> str:
        with stored.database.eye.transaction():
            for name, value in RECALL_SETTINGS.items():
                stored.database.execute(f"SET LOCAL {name} = '{value}'")
            rows = stored.database.rows(f"EXPLAIN (GENERIC_PLAN) {text}")
        return "\n".join(str(row["QUERY PLAN"]) for row in rows)

    def check() -> None:
        found = plan()
        assert found.count("using memory_doc_no_key on memory") >= 2

    check()
    for number in range(30):
        small = stored.database.add_tenant(f"small-{number}")
        stored.run(store(stored.pool, small, Corpus(8, size=3)))
    stored.database.execute("ANALYZE")
    check()


def test_without_its_tenant_predicates_the_statement_draws_nothing_foreign(stored: Store) -> None:
    corpus = Corpus(384, size=600)
    scope_id = uuid4()
    tenants = [stored.database.add_tenant(name) for name in ("mine", "theirs")]
    mine, theirs = (stored.run(store(stored.pool, one, corpus, scope_id=scope_id)) for one in tenants)
    question = corpus.question()
    statement = load_statements()["recall_large"]
    forgotten = re.sub(r"(\w+\.)?tenant_id = %\(tenant_id\)s", "true", statement.source)
    assert forgotten.count("tenant_id") == 0
    before = scores(stored.run(ask(stored.pool, tenants[0], mine, question)))
    stored.refuse_exact(True)
    stored.pool.statements["recall_large"] = compile_statement("recall_large", forgotten)
    after = scores(stored.run(ask(stored.pool, tenants[0], mine, question)))
    # Another plan may add up in another order.
    assert dict(after) == pytest.approx(dict(before), abs=1e-9)
    assert not {memory_id for memory_id, _ in after} & set(theirs.ids)


def test_a_line_with_marks_belongs_to_the_statements_that_have_all_of_them() -> None:
    text = (
        "--@ one: first\n--@ two: second third\n"
        "SELECT 1\nFROM a  --@first\nFROM b  --@second third\nFROM c  --@first second\n-- why\nWHERE true"
    )
    assert split_statements("one", text) == {
        "one": "SELECT 1\nFROM a\n-- why\nWHERE true",
        "two": "SELECT 1\nFROM b\n-- why\nWHERE true",
    }
    assert split_statements("one", "SELECT 1") == {"one": "SELECT 1"}


@pytest.mark.parametrize("exact", [True, False])
def test_what_stands_behind_a_source_with_too_many_is_found_at_once(stored: Store, exact: bool) -> None:
    tenant_id = stored.database.add_tenant(f"crowd-{exact}")
    corpus = Corpus(384)
    trusts = (TrustLevel.UNTRUSTED, TrustLevel.LOW, TrustLevel.MEDIUM, TrustLevel.HIGH)
    vector, words = corpus.question()

    def change(number: int, one: Revision) -> Revision:
        if number % 12 == 0:
            return replace(one, trust=TrustLevel.LOW, source_ref="shop.example")
        trust = trusts[number % 4]
        ref = f"page {number % 5}" if number % 3 == 0 else None
        kind = MemoryKind.TURN if number % 11 == 0 else MemoryKind.FACT
        return replace(one, trust=trust, source_ref=ref, kind=kind, author=f"a{number % 2}")

    # The shop has the nearest vectors of all.
    for number in range(12, SIZE + 1, 12):
        corpus.vectors[number - 1] = vector + 0.2 * unit(corpus.random.normal(size=384))
    place = stored.run(store(stored.pool, tenant_id, corpus, change=change))
    for limit, share in ((10, 0.5), (6, 0.34), (20, 0.1), (10, 1.0)):
        most = most_of_source(limit, share)
        room: dict[str, Any] = {"limit": limit, "source_most": most, "fetch": limit + 5, "exact": exact}
        found = stored.run(ask(stored.pool, tenant_id, place, (vector, words), **room))
        everything = stored.run(ask(stored.pool, tenant_id, place, (vector, words), fetch=1_000, exact=True))

        assert len(offered(found, limit, share)) == limit
        if exact:
            assert offered(found, limit, share) == offered(everything, limit, share)
        else:
            assert (
                len(set(offered(found, limit, share)) & set(offered(everything, limit, share))) >= limit - 1
            )


def test_equal_scores_are_ordered_by_id(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("ties")
    corpus = Corpus(384)
    corpus.vectors[:] = corpus.vectors[0]
    corpus.words = [[7] for _ in corpus.words]
    place = stored.run(store(stored.pool, tenant_id, corpus))
    stored.refuse_exact(True)
    found = scores(stored.run(ask(stored.pool, tenant_id, place, (corpus.vectors[0], [7]))))
    stored.refuse_exact(False)
    assert len(found) == 15
    assert len({score for _, score in found}) == 1
    assert found == sorted(found, key=lambda one: one[0])


def test_what_is_erased_is_not_drawn(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("erased")
    corpus = Corpus(384)
    place = stored.run(store(stored.pool, tenant_id, corpus))
    question = corpus.question()
    before = [memory_id for memory_id, _ in scores(stored.run(ask(stored.pool, tenant_id, place, question)))]
    stored.database.execute(
        "DELETE FROM memory WHERE tenant_id = %s AND memory_id = ANY(%s)", (tenant_id, before)
    )
    after = scores(stored.run(ask(stored.pool, tenant_id, place, question)))
    # Their vectors and words are still there, as a writer behind the service's back would leave them.
    assert len(after) == 15
    assert not {memory_id for memory_id, _ in after} & set(before)


def test_two_models_are_recalled_by_their_own_vectors_while_one_takes_the_others_place(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("models")
    earlier, later = Corpus(384), Corpus(256, seed=6)
    place = stored.run(store(stored.pool, tenant_id, earlier))

    async def fill(begin: int, end: int) -> None:
        async with stored.pool.transaction(tenant_id) as work:
            vectors = {number: later.vectors[number - 1] for number in range(begin + 1, end + 1)}
            await put_vectors(work, place.scope_no, vectors, model_no=2)

    whole = scores(stored.run(ask(stored.pool, tenant_id, place, earlier.question(), exact=True)))
    assert len(whole) == 15
    for begin in range(0, SIZE, SIZE // 3):
        stored.run(fill(begin, begin + SIZE // 3))
        for corpus, model_no in ((earlier, 1), (later, 2)):
            question: tuple[np.ndarray, list[int]] = (corpus.question()[0], [])
            options: dict[str, Any] = {"model_no": model_no}
            exact = stored.run(ask(stored.pool, tenant_id, place, question, exact=True, **options))
            drawn = stored.run(ask(stored.pool, tenant_id, place, question, **options))
            assert len(scores(drawn)) == len(scores(exact)) == 15
            assert share_of_best(drawn, exact) >= 0.9


def test_vectors_of_another_length_or_none_do_no_harm(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("planted")
    corpus = Corpus(384)
    place = stored.run(store(stored.pool, tenant_id, corpus))
    of_scope = "tenant_id = %s AND scope_no = %s"
    stored.database.execute(
        f"UPDATE memory_embedding SET embedding = '[1,-1]' WHERE {of_scope} AND doc_no < 20",
        (tenant_id, place.scope_no),
    )
    stored.database.execute(
        f"UPDATE memory_embedding SET embedding = NULL, state = 3 WHERE {of_scope} AND doc_no > {SIZE - 20}",
        (tenant_id, place.scope_no),
    )
    question = corpus.question()
    stored.refuse_exact(True)
    drawn = stored.run(ask(stored.pool, tenant_id, place, question))
    stored.refuse_exact(False)
    exact = stored.run(ask(stored.pool, tenant_id, place, question, exact=True))
    assert len(scores(drawn)) == 15
    assert share_of_best(drawn, exact) >= 0.9


def test_what_is_pinned_comes_whatever_is_asked(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("pinned")
    corpus = Corpus(384)
    corpus.vectors[0] = -corpus.centres[3]

    def change(number: int, one: Revision) -> Revision:
        return replace(one, kind=MemoryKind.RULE, tags=("pinned",)) if number == 1 else one

    place = stored.run(store(stored.pool, tenant_id, corpus, change=change))
    stored.refuse_exact(True)
    rows = stored.run(ask(stored.pool, tenant_id, place, (corpus.centres[3], []), min_score=0.2))
    stored.refuse_exact(False)
    assert [one.revision.memory_id for one in rows.candidates if not one.found] == [place.ids[0]]


def test_words_alone_draw_what_has_the_rarest_of_them(stored: Store) -> None:
    tenant_id = stored.database.add_tenant("words")
    corpus = Corpus(384)
    place = stored.run(store(stored.pool, tenant_id, corpus))
    for _ in range(10):
        words = corpus.question()[1]
        exact = stored.run(ask(stored.pool, tenant_id, place, (None, words), exact=True))
        drawn = stored.run(ask(stored.pool, tenant_id, place, (None, words)))
        assert len(scores(drawn)) == len(scores(exact))
        assert share_of_best(drawn, exact) == 1.0
