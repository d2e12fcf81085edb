"""Another version of the text analysis: memories are found before, while and after the change."""

from collections import Counter
from typing import Any

import pytest

from contract.stored import Stored, until
from muniment_server.application import preparing
from muniment_server.audit.verify import verify
from muniment_server.domain.model import MemoryKind
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.retrieval.versions import VERSIONS, Version, query_terms
from support.postgres import PostgresDatabase
from support.service import item, running_service

OLD = ANALYZER_VERSION - 1
LEXICAL: Any = ["RETRIEVAL_LEG_LEXICAL"]


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
        await until(lambda: database.rows("SELECT 1 FROM instance WHERE analyzer = 1"), 20.0)
        await until(lambda: running.service.models.oldest_analyzer == ANALYZER_VERSION)
        assert {row["analyzer"] for row in Stored(database, "acme").rows("memory")} == {ANALYZER_VERSION}
        assert await caller.contents("u1", "baking", legs=LEXICAL) == ["Ada baked rolls"]
        assert len(await caller.contents("u1", "boats", legs=LEXICAL, limit=200, min_score=0.0)) == 121
        Stored(database, "acme").check()
        await running.sealed()
        assert running.service.maintenance is not None
        async for report in verify(running.service.maintenance, running.key_store, deep=True):
            assert report.clean, report.findings


@pytest.mark.usefixtures("old_version")
def test_a_query_has_the_terms_of_all_versions_that_may_be_there() -> None:
    assert query_terms("Painted boats") == query_terms("Painted boats", ANALYZER_VERSION)
    assert query_terms("Painted boats", OLD)[-2:] == ["PAINTED", "BOATS"]
    assert query_terms("Painted boats", OLD)[:-2] == query_terms("Painted boats")
    # Versions that nobody knows any more are passed over.
    assert query_terms("Painted boats", OLD - 5) == query_terms("Painted boats", OLD)
