"""The embedding model changes while writes and recalls go on, and back; what waits for vectors gets them."""

import asyncio
import json
from typing import Any

import pytest

from contract.stored import Stored, until
from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    consistency_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
)
from muniment_server.storage.reindex_admin import (
    abort_change,
    newest_change,
    progress_of,
    release_switch,
    start_change,
)
from muniment_server.storage.reindexing import ReindexState
from support.embedders import DeterministicEmbedder
from support.policies import operator_trail
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, running_service

ADMINISTER = 23
VECTOR: Any = ["RETRIEVAL_LEG_VECTOR"]


def _embedders() -> dict[str, DeterministicEmbedder]:
    return {
        "first": DeterministicEmbedder(name="first", setting="first"),
        "second": DeterministicEmbedder(name="second", dimension=256, setting="second"),
    }


async def _vectors(caller: Caller, subject: str = "u1") -> int:
    answer = await caller.recall(subject, "Fact", limit=100, legs=VECTOR, min_score=0.0)
    return len(answer.memories)


async def _over(database: PostgresDatabase) -> None:
    await until(lambda: (change := newest_change(database.eye)) is not None and change.over, 20.0)


def _models(stored: Stored) -> set[int]:
    return {row["model_no"] for row in stored.rows("memory_embedding")}


async def test_the_model_changes_while_writes_and_recalls_go_on_and_back(database: PostgresDatabase) -> None:
    embedders = _embedders()
    async with running_service(database, embedder=embedders["first"], load=embedders.__getitem__) as running:
        caller = running.caller("acme")
        await caller.write("u1", *(f"Fact {number}" for number in range(80)))
        await caller.write("u2", "Fact of somebody else")
        for subject in ("gone", "u3"):
            await caller.write(subject, *(f"Fact {number} of {subject}" for number in range(5)))
        stop = asyncio.Event()
        written: list[str] = []

        async def write() -> None:
            while not stop.is_set():
                answer = await caller.write("u3", f"Fact {len(written)} meanwhile")
                written.append(answer.results[0].memory.memory_id)

        async def recall() -> None:
            while not stop.is_set():
                answer = await caller.recall("u1", "Fact 7", limit=3, legs=VECTOR, min_score=0.0)
                assert [one.memory.content for one in answer.memories][:1] == ["Fact 7"]
                assert not answer.degraded

        busy = [asyncio.create_task(write()), asyncio.create_task(recall())]
        await asyncio.to_thread(start_change, database.eye, embedders["second"].model, automatic=True)
        await caller.erase_subject("gone")
        await _over(database)
        assert running.service.models.current.model.name == "second"
        await asyncio.to_thread(start_change, database.eye, embedders["first"].model, automatic=True)
        await _over(database)
        stop.set()
        await asyncio.gather(*busy)
        assert running.service.models.current.model.name == "first"
        await until(lambda: not database.rows("SELECT 1 FROM memory_embedding WHERE state = 2"))
        stored = Stored(database, "acme")
        assert _models(stored) == {1}
        assert stored.count("memory_embedding") == stored.count("memory") == 86 + len(written)
        assert await _vectors(caller, "u2") == 1
        # Each model embedded each text, and no text for a model twice but in the three seconds of a race.
        assert {text for _, texts in embedders["second"].batches for text in texts} >= {"Fact 7", "Fact 79"}
        await _clean(running)


async def _clean(running: RunningService) -> None:
    from muniment_server.audit.verify import verify

    assert running.service.maintenance is not None
    await running.sealed()
    async for report in verify(running.service.maintenance, running.key_store, deep=True):
        assert report.clean, report.findings


async def test_a_change_waits_for_its_switch_and_can_be_aborted(database: PostgresDatabase) -> None:
    embedders = _embedders()
    async with running_service(database, embedder=embedders["first"], load=embedders.__getitem__) as running:
        caller = running.caller("acme")
        await caller.write("u1", *(f"Fact {number}" for number in range(10)))
        await asyncio.to_thread(start_change, database.eye, embedders["second"].model, automatic=False)
        await until(lambda: _state(database) is ReindexState.FILLED)
        change = newest_change(database.eye)
        assert change is not None
        assert progress_of(database.eye, change) == (10, 10)
        await caller.write("u1", "Fact after the filling")
        assert await _vectors(caller) == 11
        stored = Stored(database, "acme")
        assert _models(stored) == {1, 2}
        await asyncio.to_thread(abort_change, database.eye)
        await _over(database)
        assert _models(stored) == {1}
        await asyncio.to_thread(start_change, database.eye, embedders["second"].model, automatic=False)
        await until(lambda: _state(database) is ReindexState.FILLED)
        await asyncio.to_thread(release_switch, database.eye)
        await _over(database)
        assert _models(stored) == {2}
        assert await _vectors(caller) == 11
        await _clean(running)


async def test_every_tenant_can_read_when_the_model_was_changed_and_by_whom(
    database: PostgresDatabase,
) -> None:
    embedders = _embedders()
    async with running_service(database, embedder=embedders["first"], load=embedders.__getitem__) as running:
        callers = [running.caller("acme"), running.caller("other")]
        await callers[0].write("u1", "Fact 1")
        trail = operator_trail(running)

        def start() -> None:
            start_change(database.eye, embedders["second"].model, automatic=False, record=trail)

        await asyncio.to_thread(start)
        await until(lambda: _state(database) is ReindexState.FILLED)
        await asyncio.to_thread(abort_change, database.eye, trail)
        await _over(database)
        await asyncio.to_thread(start)
        await until(lambda: _state(database) is ReindexState.FILLED)
        await asyncio.to_thread(release_switch, database.eye, trail)
        await _over(database)
        acts = audit_pb2.AdministrativeAct
        names = json.dumps({"from": "first", "to": "second"})
        for caller in callers:
            stored = Stored(database, caller.tenant)
            told = [
                (event["payload"]["details"]["administered"], event["payload"]["actor"])
                for event in stored.events(ADMINISTER)
            ]
            assert [(done["act"], done["value"]) for done, _ in told] == [
                (acts.ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_STARTED, names),
                (acts.ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_ABORTED, names),
                (acts.ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_STARTED, names),
                (acts.ADMINISTRATIVE_ACT_EMBEDDING_CHANGE_RELEASED, names),
                (acts.ADMINISTRATIVE_ACT_EMBEDDING_SWITCHED, names),
            ]
            assert [actor["principal"] for _, actor in told] == ["anna"] * 4 + ["muniment"]
            answer = await caller.call("Audit", memory_service_pb2.AuditRequest(page_size=50))
            switched = [
                one.administered
                for one in answer.events
                if one.administered.act == acts.ADMINISTRATIVE_ACT_EMBEDDING_SWITCHED
            ]
            assert [one.value for one in switched] == [names]
        await _clean(running)


async def test_a_change_that_cannot_be_recorded_is_not_begun(database: PostgresDatabase) -> None:
    embedders = _embedders()
    async with running_service(database, embedder=embedders["first"], load=embedders.__getitem__) as running:
        await running.caller("acme").write("u1", "Fact 1")

        def no_key_store(*_: object) -> None:
            raise OSError("the key store is gone")

        with pytest.raises(OSError, match="gone"):
            await asyncio.to_thread(
                start_change, database.eye, embedders["second"].model, automatic=True, record=no_key_store
            )
        assert newest_change(database.eye) is None
        assert not Stored(database, "acme").events(ADMINISTER)


def _state(database: PostgresDatabase) -> ReindexState | None:
    change = newest_change(database.eye)
    return change.state if change is not None else None


async def test_a_change_goes_on_after_a_process_died_in_the_middle_of_it(
    database: PostgresDatabase, tmp_path: Any
) -> None:
    embedders = _embedders()
    async with running_service(
        database, embedder=embedders["first"], load=embedders.__getitem__, keys_folder=tmp_path / "keys"
    ) as running:
        caller = running.caller("acme")
        await caller.write("u1", *(f"Fact {number}" for number in range(100)))
        embedders["second"].failing_texts = {"Fact 70": RuntimeError("no")}
        await asyncio.to_thread(start_change, database.eye, embedders["second"].model, automatic=True)
        await until(lambda: len(Stored(database, "acme").rows("memory_embedding")) > 130)
        # As a killed process leaves it: nothing is given back, the lease is still held.
        worker = running.service.reembedder.worker
    change = newest_change(database.eye)
    assert change is not None
    assert change.state is ReindexState.RUNNING
    assert change.working
    fresh = _embedders()
    async with running_service(
        database, embedder=fresh["first"], load=fresh.__getitem__, keys_folder=tmp_path / "keys"
    ) as running:
        assert running.service.reembedder.worker != worker
        # The lease ends by itself; here the clock is put forward.
        database.execute("UPDATE reindex SET lease_time = lease_time - interval '1 minute'")
        running.service.reembedder.wake()
        await _over(database)
        again = [text for _, texts in fresh["second"].batches for text in texts if text.startswith("Fact")]
        assert 0 < len(again) < 70
        assert await _vectors(running.caller("acme")) == 100
        await _clean(running)


async def test_what_was_deleted_is_found_and_made_again(database: PostgresDatabase) -> None:
    async with running_service(database) as running:
        caller = running.caller("acme")
        await caller.write("u1", "Fact 1", "Fact 2")
        database.execute("DELETE FROM memory_embedding WHERE doc_no = 1")
        assert await _vectors(caller) == 1
        assert running.service.maintenance is not None
        from muniment_server.audit.findings import FindingKind
        from muniment_server.audit.verify import verify

        reports = [one async for one in verify(running.service.maintenance, running.key_store)]
        assert set(reports[0].counts) == {FindingKind.VECTOR_MISSING}
        await asyncio.to_thread(
            start_change, database.eye, running.service.parts.embedder.model, automatic=True
        )
        await _over(database)
        assert await _vectors(caller) == 2
        await _clean(running)


# --- writes that do not wait ---------------------------------------------------------------------------


async def test_a_write_that_gets_no_vector_gets_it_later_and_a_fresh_read_waits_for_it(
    database: PostgresDatabase,
) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder, embedding_patience=0.2) as running:
        caller = running.caller("acme")
        await caller.recall("u1", "Fact")
        embedder.gate.clear()
        written = await caller.write("u1", "Fact about tea", "Fact about jam")
        assert {one.embedding_state for one in written.results} == {memory_pb2.EMBEDDING_STATE_PENDING}
        found = await caller.recall("u1", "tea", legs=["RETRIEVAL_LEG_LEXICAL"])
        assert [one.memory.content for one in found.memories] == ["Fact about tea"]
        fresh = consistency_pb2.Consistency(at_least_as_fresh=written.consistency_token)
        strong = consistency_pb2.Consistency(strong=True)
        waiting = [
            asyncio.create_task(
                caller.recall("u1", "Fact", consistency=each, legs=VECTOR, min_score=0.0, limit=10)
            )
            for each in (fresh, strong)
        ]
        await asyncio.sleep(0.3)
        assert not any(one.done() for one in waiting)
        embedder.gate.set()
        for answer in await asyncio.gather(*waiting):
            assert len(answer.memories) == 2
            assert not answer.degraded
        assert running.service.services.backlog.size == 0
        await _clean(running)


async def test_an_answer_says_how_much_it_does_not_see(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder) as running:
        caller = running.caller("acme")
        await caller.write("u1", "Fact about tea")
        embedder.failing_texts = {"Fact about jam": RuntimeError("no"), "Fact about oil": RuntimeError("no")}
        written = await caller.write("u1", "Fact about jam", "Fact about oil", "Fact about rye")
        assert [one.embedding_state for one in written.results] == [
            memory_pb2.EMBEDDING_STATE_PENDING,
            memory_pb2.EMBEDDING_STATE_PENDING,
            memory_pb2.EMBEDDING_STATE_READY,
        ]
        answer = await caller.recall("u1", "Fact")
        assert [(one.stage, one.reason, one.affected_count) for one in answer.degraded] == [
            (recall_pb2.RECALL_STAGE_LEG, recall_pb2.DEGRADATION_REASON_EMBEDDINGS_PENDING, 2)
        ]
        fresh = consistency_pb2.Consistency(at_least_as_fresh=written.consistency_token)
        answer = await caller.recall("u1", "Fact about", consistency=fresh)
        assert [(one.stage, one.affected_count) for one in answer.degraded] in (
            [(recall_pb2.RECALL_STAGE_CONSISTENCY, 2)],
            [],
        )
        # Texts that fail each time with an embedder that works are not asked for for ever.
        await until(lambda: not database.rows("SELECT 1 FROM memory_embedding WHERE state = 2"), 20.0)
        rows = database.rows("SELECT state FROM memory_embedding ORDER BY doc_no")
        assert [row["state"] for row in rows] == [1, 3, 3, 1]


async def test_what_waits_survives_the_process_and_an_erased_scope_does_not_come_back(
    database: PostgresDatabase, tmp_path: Any
) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(
        database, embedder=embedder, embedding_patience=0.05, keys_folder=tmp_path / "keys"
    ) as running:
        caller = running.caller("acme")
        embedder.failing = RuntimeError("away")
        await caller.write("u1", "Fact 1", "Fact 2")
        await caller.write("gone", "Fact 3")
        receipt = await caller.erase_subject("gone")
        assert (receipt.counts.memories, receipt.counts.embeddings) == (1, 0)
        refused = await caller.recall("u1", "Fact 1")
        assert len(refused.degraded) == 1
    async with running_service(database, keys_folder=tmp_path / "keys") as running:
        caller = running.caller("acme")
        await until(lambda: not database.rows("SELECT 1 FROM memory_embedding WHERE state = 2"))
        assert await _vectors(caller) == 2
        assert database.row("SELECT count(*) AS n FROM memory_embedding")["n"] == 2
        await _clean(running)


async def test_a_backlog_has_an_end(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(
        database, embedder=embedder, embedding_patience=0.05, embedding_backlog=3
    ) as running:
        caller = running.caller("acme")
        embedder.failing = RuntimeError("away")
        await caller.write("u1", "Fact 1", "Fact 2", "Fact 3")
        from contract.stored import refused

        await refused(caller.write("u1", "Fact 4"), "UNAVAILABLE", "EMBEDDER_UNAVAILABLE")
        # It is that of one tenant; there is an end for all of them, too.
        other, third = running.caller("other"), running.caller("third")
        await other.write("u1", "Fact 1", "Fact 2")
        await third.write("u1", "Fact 1")
        await refused(third.write("u1", "Fact 2"), "UNAVAILABLE", "EMBEDDER_UNAVAILABLE")
        waiting = database.rows(
            "SELECT t.name, count(*) AS n FROM memory_embedding e JOIN tenant t USING (tenant_id)"
            " WHERE e.state = 2 GROUP BY t.name ORDER BY n DESC"
        )
        assert [(row["name"], row["n"]) for row in waiting] == [("acme", 3), ("other", 2), ("third", 1)]
        embedder.failing = None
        await until(lambda: running.service.services.backlog.size == 0, 20.0)
        await caller.write("u1", "Fact 5")
        assert await _vectors(caller) == 4
        # A row that waits for the text of an earlier revision waits for nothing.
        database.execute(
            "INSERT INTO memory_embedding SELECT tenant_id, scope_no, model_no, doc_no, 9, 2, NULL, seal"
            " FROM memory_embedding WHERE doc_no = 1"
        )
        running.service.reembedder.wake()
        await until(lambda: not database.rows("SELECT 1 FROM memory_embedding WHERE state = 2"))
