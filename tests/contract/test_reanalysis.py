"""Another version of the text analysis: memories are found before, while and after the change."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored, until
from contract.verified import findings
from muniment_server.application import preparing
from muniment_server.audit.verify import verify
from muniment_server.domain.model import EmbeddingState, MemoryKind
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.earlier import index_terms_1
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.retrieval.versions import VERSIONS, Version, query_terms
from muniment_server.storage.queries import load_statements
from support.postgres import PostgresDatabase
from support.service import item, running_service

OLD = ANALYZER_VERSION - 1
READY = int(EmbeddingState.READY)
LEXICAL: Any = ["RETRIEVAL_LEG_LEXICAL"]
ENTITY: Any = ["RETRIEVAL_LEG_ENTITY"]


def _words(text: str) -> list[str]:
    """An analysis that nobody would want: no stemming, upper case."""
    return [word.strip(".?").upper() for word in text.split()]


def _index(content: str, speaker: str | None) -> IndexTerms:
    terms = _words(content)
    return IndexTerms(Counter(terms), len(terms))


@pytest.fixture
def old_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERSIONS, OLD, Version(_index, _words))


@pytest.mark.usefixtures("old_version")
async def test_memories_of_an_older_version_are_found_and_brought_to_this_one(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    async with running_service(database, keys_folder=tmp_path / "keys") as running:
        caller = running.caller("acme")
        with monkeypatch.context() as older:
            older.setattr(preparing, "ANALYZER_VERSION", OLD)
            older.setattr(preparing, "index_terms", _index)
            for start in (0, 60):
                await caller.write("u1", *(f"Ada paints boats number {start + n}" for n in range(60)))
            first = await caller.write("u1", item("Ada baked bread", kind=MemoryKind.EVENT))
            await caller.supersede(first.results[0].memory.memory_id, item("Ada baked rolls"))
        await caller.write("u1", "Ada paints a boat number 120")
        assert await caller.contents("u1", "baking", legs=LEXICAL) == []
        running.service.models.oldest_analyzer = OLD
        # By the words of both versions: "boats" as it stands there, and what stems to "boat".
        found = await caller.contents("u1", "boats", legs=LEXICAL, limit=200, min_score=0.0)
        assert len(found) == 121
        database.execute("UPDATE instance SET analyzer = %s", (OLD,))
        running.service.reembedder.wake()
        await until(
            lambda: database.rows("SELECT 1 FROM instance WHERE analyzer = %s", (ANALYZER_VERSION,)), 20.0
        )
        await until(lambda: running.service.models.oldest_analyzer == ANALYZER_VERSION)
        assert {row["analyzer"] for row in Stored(database, "acme").rows("memory")} == {ANALYZER_VERSION}
        assert await caller.contents("u1", "baking", legs=LEXICAL) == ["Ada baked rolls"]
        assert len(await caller.contents("u1", "boats", legs=LEXICAL, limit=200, min_score=0.0)) == 121
        Stored(database, "acme").check()
        await running.sealed()
        assert running.service.maintenance is not None
        async for report in verify(running.service.maintenance, running.key_store, deep=True):
            assert report.clean, report.findings


async def test_what_a_process_of_the_version_before_writes_late_is_brought_over_too(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    async with running_service(database, keys_folder=tmp_path / "keys") as running:
        caller = running.caller("acme")
        stored = Stored(database, "acme")
        assert database.row("SELECT analyzer FROM instance")["analyzer"] == ANALYZER_VERSION
        with monkeypatch.context() as first:
            first.setattr(preparing, "ANALYZER_VERSION", 1)
            first.setattr(preparing, "index_terms", index_terms_1)
            await caller.write("u1", "The 臺灣 shop sells 圖書.")
        assert [row["analyzer"] for row in stored.rows("memory")] == [1]
        assert await caller.contents("u1", "圖書", legs=LEXICAL, min_score=0.0) == []
        running.service.reembedder.wake()
        await until(lambda: [row["analyzer"] for row in stored.rows("memory")] == [ANALYZER_VERSION], 20.0)
        assert await caller.contents("u1", "圖書", legs=LEXICAL) == ["The 臺灣 shop sells 圖書."]
        await until(
            lambda: database.row("SELECT analyzer FROM instance")["analyzer"] == ANALYZER_VERSION, 20.0
        )
        assert await findings(running, "acme") == []


async def test_a_sweep_asks_a_tenant_once_for_all_that_is_left_to_do(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    async with running_service(database, keys_folder=tmp_path / "keys") as running:
        callers = [running.caller(name) for name in ("acme", "other", "third")]
        await running.without_upkeep()
        reembedder, pool = running.service.reembedder, running.service.database.pool
        reembedder.wake()
        before = pool.get_stats()["requests_num"]
        assert await reembedder.step() is False
        assert pool.get_stats()["requests_num"] - before == len(callers)
        with monkeypatch.context() as first:
            first.setattr(preparing, "ANALYZER_VERSION", 1)
            first.setattr(preparing, "index_terms", index_terms_1)
            await callers[1].write("u1", "The 臺灣 shop sells 圖書.")
        database.execute("UPDATE memory_embedding SET state = 2, embedding = NULL")
        reembedder.wake()
        while await reembedder.step():
            pass
        assert database.row("SELECT state FROM memory_embedding")["state"] == READY
        assert database.row("SELECT analyzer FROM memory")["analyzer"] == ANALYZER_VERSION


def test_the_index_of_older_analyses_is_about_those_before_the_present_one(
    module_database: PostgresDatabase,
) -> None:
    assert f"m.analyzer < {ANALYZER_VERSION}\n" in load_statements()["reindex_late"].text + "\n"
    index = module_database.row("SELECT indexdef FROM pg_indexes WHERE indexname = 'memory_analysed_before'")
    assert index["indexdef"].endswith(f"(analyzer < {ANALYZER_VERSION})")


@pytest.mark.usefixtures("old_version")
def test_a_query_has_the_terms_of_all_versions_that_may_be_there() -> None:
    assert query_terms("Painted boats") == query_terms("Painted boats", ANALYZER_VERSION)
    assert query_terms("Painted boats", OLD)[-2:] == ["PAINTED", "BOATS"]
    assert query_terms("Painted boats", OLD)[:-2] == query_terms("Painted boats")
    # Versions that nobody knows any more are passed over.
    assert query_terms("Painted boats", OLD - 5) == query_terms("Painted boats", OLD)


async def test_rows_of_the_first_version_are_found_beside_those_of_this_one_and_brought_over(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """With the analysis that there really was, and what it read otherwise: ß, umlauts, names, characters."""
    async with running_service(database, keys_folder=tmp_path / "keys") as running:
        caller = running.caller("acme")
        with monkeypatch.context() as first:
            first.setattr(preparing, "ANALYZER_VERSION", 1)
            first.setattr(preparing, "index_terms", index_terms_1)
            old = await caller.write(
                "u1", "Wohnt in der Hauptstraße", "Later we met Zoë and Clara", "他在臺灣"
            )
            await caller.write("u1", item("Has a cat", kind=MemoryKind.EVENT, speaker="Will"))
        await caller.write("u1", "Arbeitet in der Hauptstraße", "Clara was in Turku", "她在臺灣")
        await caller.write("u1", item("Has a dog", kind=MemoryKind.EVENT, speaker="Will"))
        running.service.models.oldest_analyzer = 1
        stored = Stored(database, "acme")
        assert sorted(row["analyzer"] for row in stored.rows("memory")) == [1] * 4 + [2] * 4

        async def named(query: str) -> set[str]:
            answer = await caller.recall("u1", query, legs=ENTITY, min_score=0.0)
            return {one.memory.content for one in answer.memories if one.score > 0}

        async def check(*, beside: bool) -> None:
            found = await caller.contents("u1", "Hauptstraße", legs=LEXICAL, min_score=0.0)
            assert sorted(found) == ["Arbeitet in der Hauptstraße", "Wohnt in der Hauptstraße"]
            assert sorted(await caller.contents("u1", "臺灣", legs=LEXICAL, min_score=0.0)) == [
                "他在臺灣",
                "她在臺灣",
            ]
            assert await named("What about Clara?") == {"Later we met Zoë and Clara", "Clara was in Turku"}
            assert await named("What does Will have?") == {"Has a cat", "Has a dog"}
            # What only this version reads is there for the rows that it has read.
            assert len(await caller.contents("u1", "台湾", legs=LEXICAL, min_score=0.0)) == 2 - beside
            assert await named("Where is Zoë?") == (set() if beside else {"Later we met Zoë and Clara"})

        await check(beside=True)
        before = datetime.now(UTC)
        await caller.supersede(old.results[0].memory.memory_id, "Wohnt am Hafen")
        await caller.supersede(
            (await caller.write("u1", "Umzug")).results[0].memory.memory_id, "Wohnt in der Hauptstraße"
        )
        database.execute("UPDATE instance SET analyzer = 1")
        running.service.reembedder.wake()
        await until(lambda: running.service.models.oldest_analyzer == ANALYZER_VERSION, 20.0)
        assert {row["analyzer"] for row in stored.rows("memory")} == {ANALYZER_VERSION}
        await check(beside=False)
        past = Timestamp()
        past.FromDatetime(before)
        then = await caller.contents("u1", "Hauptstraße", legs=LEXICAL, as_of_time=past, min_score=0.0)
        assert sorted(then) == ["Arbeitet in der Hauptstraße", "Wohnt in der Hauptstraße"]
        stored.check()
        assert await findings(running, "acme") == []
