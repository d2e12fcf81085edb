"""What waits for vectors: whose turn it is, what counts against a text, and how one given up comes back."""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from contract.stored import until
from muniment_server.embedding.errors import EmbedderUnavailable
from muniment_server.storage.reindex_admin import newest_change, start_change
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import running_service

READY, WAITING, NOT_COVERED = 1, 2, 3


def _states(database: PostgresDatabase) -> list[int]:
    rows = database.rows("SELECT state FROM memory_embedding ORDER BY tenant_id, scope_no, doc_no")
    return [row["state"] for row in rows]


def _asked(embedder: DeterministicEmbedder, text: str) -> Callable[[], int]:
    """How often the model was asked for a text by itself."""
    return lambda: embedder.batches.count(("passage", (text,)))


def _long(number: int) -> str:
    words = "amber birch cedar delta ember fjord grove heath inlet jetty knoll larch maple north"
    return f"Fact {number}: " + " ".join(
        f"{word}{other}" for word in words.split() for other in words.split()
    )


async def test_a_text_that_is_too_slow_keeps_waiting_and_holds_up_nobody(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder, embedding_patience=0.2) as running:
        embedder.failing_texts = {"Fact about jam": TimeoutError()}
        await running.caller("acme").write("u1", "Fact about jam")
        embedder.gate.clear()
        await running.caller("acme").write("u2", "Fact about oil")
        await running.caller("other").write("u1", "Fact about rye")
        assert _states(database) == [WAITING] * 3
        embedder.gate.set()
        await until(lambda: sorted(_states(database)) == [READY, READY, WAITING], 20.0)
        # More often than an error would be forgiven, and the model works for others each time.
        asked = _asked(embedder, "Fact about jam")
        await until(lambda: asked() >= 8, 30.0)
        assert sorted(_states(database)) == [READY, READY, WAITING]
        embedder.failing_texts = {}
        await running.caller("acme").recall("u1", "jam", consistency={"strong": True})
        await until(lambda: _states(database) == [READY] * 3, 20.0)
        assert running.service.services.backlog.size == 0


async def test_an_outage_is_held_against_no_text(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder) as running:
        embedder.failing = RuntimeError("broken")
        caller = running.caller("acme")
        await caller.write("u1", "Fact about jam", "Fact about oil")
        asked = _asked(embedder, "Fact about jam")
        await until(lambda: asked() >= 5, 30.0)
        assert _states(database) == [WAITING] * 2
        embedder.failing = None
        await until(lambda: _states(database) == [READY] * 2, 20.0)


@pytest.mark.parametrize("failure", [EmbedderUnavailable("status 500"), ValueError("no")])
async def test_only_the_text_that_fails_by_itself_is_given_up_and_a_reindex_tries_it_again(
    database: PostgresDatabase, failure: Exception
) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder) as running:
        embedder.failing_texts = {"Fact about jam": failure}
        caller = running.caller("acme")
        await caller.write("u1", "Fact about tea", "Fact about jam", "Fact about oil")
        await until(lambda: WAITING not in _states(database), 30.0)
        assert _states(database) == [READY, NOT_COVERED, READY]
        embedder.failing_texts = {}
        await asyncio.to_thread(start_change, database.eye, embedder.model, automatic=True)
        await until(lambda: (change := newest_change(database.eye)) is not None and change.over, 20.0)
        assert _states(database) == [READY] * 3
        found = await caller.recall("u1", "jam", legs=["RETRIEVAL_LEG_VECTOR"], min_score=0.0)
        assert found.memories[0].memory.content == "Fact about jam"


async def test_a_backlog_of_long_texts_holds_up_nobody_elses(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder, embedding_patience=0.2) as running:
        embedder.gate.clear()
        long = [_long(number) for number in range(24)]
        await running.caller("acme").write("u1", *long)
        await running.caller("other").write("u1", "Fact about rye")
        assert _states(database) == [WAITING] * 25
        embedder.gate.set()
        await until(lambda: _states(database) == [READY] * 25, 30.0)
        place = count()
        order = {text: next(place) for _, texts in embedder.batches for text in texts}
        assert order["Fact about rye"] < order[long[12]]
        rows = database.rows("SELECT DISTINCT tenant_id FROM memory_embedding WHERE embedding IS NOT NULL")
        assert len(rows) == 2
