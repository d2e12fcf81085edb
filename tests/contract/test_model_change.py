"""Another embedding model is noticed before anything is served; vectors of two models never meet."""

from pathlib import Path
from typing import Any

import pytest

from contract.stored import Stored
from muniment_server.bootstrap import BootstrapError, Where
from muniment_server.bootstrap.installation import prepare
from muniment_server.crypto.master import FileMasterKeys
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import running_service


def _where(database: PostgresDatabase, home: Path) -> Where:
    return Where(
        home=home,
        database_url=None,
        app_url=database.app_conninfo,
        maintenance_url=database.maintenance_conninfo,
    )


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (DeterministicEmbedder(dimension=768), r"\(384 .*\(768 "),
        (DeterministicEmbedder(name="another"), "'deterministic' .* 'another'"),
        (DeterministicEmbedder(name="deterministic", dimension=385), r"\(384 .*\(385 "),
    ],
    ids=["size", "name", "digest"],
)
async def test_a_start_with_another_model_is_refused_and_names_both(
    database: PostgresDatabase, home: Path, other: DeterministicEmbedder, named: str
) -> None:
    first = DeterministicEmbedder()
    keys = home.parent / "keys"
    async with running_service(database, embedder=first, keys_folder=keys) as running:
        caller = running.caller("acme")
        await caller.write("u1", *(f"Fact {number}" for number in range(10)))
    provider = FileMasterKeys(keys / "master.key")
    with pytest.raises(BootstrapError, match=named):
        await prepare(_where(database, home), provider, other.model)
    installation = await prepare(_where(database, home), provider, first.model)
    assert installation.instance.dimension == 384
    await installation.close()
    async with running_service(database, embedder=DeterministicEmbedder(), keys_folder=keys) as running:
        caller = running.caller("acme")
        answer = await caller.recall("u1", "Fact", limit=50, legs=["RETRIEVAL_LEG_VECTOR"], min_score=0.0)
        assert len(answer.memories) == 10
    stored = Stored(database, "acme")
    assert stored.count("memory_embedding") == 10
    assert {row["model_no"] for row in stored.rows("memory_embedding")} == {1}


async def test_vectors_of_another_model_number_are_not_compared(database: PostgresDatabase) -> None:
    async with running_service(database) as running:
        caller = running.caller("acme")
        await caller.write("u1", "Fact one", "Fact two")
        stored = Stored(database, "acme")
        rows: list[dict[str, Any]] = stored.rows("memory_embedding")
        database.execute("UPDATE memory_embedding SET model_no = 2 WHERE doc_no = %s", (rows[0]["doc_no"],))
        answer = await caller.recall("u1", "Fact", legs=["RETRIEVAL_LEG_VECTOR"], min_score=0.0)
        assert len(answer.memories) == 1
        lexical = await caller.recall("u1", "Fact", legs=["RETRIEVAL_LEG_LEXICAL"])
        assert len(lexical.memories) == 2
