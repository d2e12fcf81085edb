"""A text that the model reads only in part is stored whole, found by its words, and said to be partial."""

from contract.stored import until
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import running_service, scope


async def test_a_text_longer_than_the_model_reads_says_so(database: PostgresDatabase) -> None:
    async with running_service(database, embedder=DeterministicEmbedder(max_characters=200)) as service:
        caller = service.caller()
        text = "filler " * 100 + "the locker combination is 9083-KD"
        answer = await caller.write("u1", text, "the locker is grey")
        assert [one.embedding_state for one in answer.results] == [
            memory_pb2.EMBEDDING_STATE_PARTIAL,
            memory_pb2.EMBEDDING_STATE_READY,
        ]
        assert (await caller.contents("u1", "9083-KD", legs=[2]))[0] == text
        corrected = await caller.supersede(answer.results[1].memory.memory_id, text + " now")
        assert corrected.embedding_state == memory_pb2.EMBEDDING_STATE_PARTIAL
        assert database.row("SELECT count(*) AS n FROM memory_embedding")["n"] == 3


async def test_a_memory_says_whether_it_can_be_found_by_meaning(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder(max_characters=200)
    async with running_service(database, embedder=embedder, embedding_patience=0.05) as service:
        caller = service.caller()
        await caller.write("u1", "filler " * 100, "the locker is grey", "🤷 👍")
        embedder.failing = RuntimeError("away")
        await caller.write("u1", "the locker is red")
        request = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), view=memory_pb2.MEMORY_VIEW_FULL)
        listed = (await caller.call("ListMemories", request)).memories
        states = {one.content: one.embedding_state for one in listed}
        assert states == {
            "filler " * 100: memory_pb2.EMBEDDING_STATE_PARTIAL,
            "the locker is grey": memory_pb2.EMBEDDING_STATE_READY,
            "🤷 👍": memory_pb2.EMBEDDING_STATE_NOT_COVERED,
            "the locker is red": memory_pb2.EMBEDDING_STATE_PENDING,
        }
        for one in listed:
            assert (await caller.get(one.memory_id)).memory.embedding_state == one.embedding_state
        for past in ({}, {"as_of_time": listed[0].create_time}):
            recalled = await caller.recall("u1", "locker filler 🤷", min_score=0.0, legs=[2], **past)
            assert recalled.memories
            assert {
                one.memory.content: one.memory.embedding_state for one in recalled.memories
            }.items() <= states.items()
        rows = database.rows("SELECT state FROM memory_embedding ORDER BY state")
        assert [row["state"] for row in rows] == sorted(states.values())
        embedder.failing = None
        (red,) = (one for one in listed if one.content.endswith("red"))
        await until(lambda: not database.rows("SELECT 1 FROM memory_embedding WHERE state = 2"), 20.0)
        assert (await caller.get(red.memory_id)).memory.embedding_state == memory_pb2.EMBEDDING_STATE_READY


async def test_what_is_written_again_says_what_the_stored_one_has(database: PostgresDatabase) -> None:
    embedder = DeterministicEmbedder()
    async with running_service(database, embedder=embedder, embedding_patience=0.05) as service:
        await service.without_upkeep()
        caller = service.caller()
        embedder.failing = RuntimeError("away")
        await caller.write("u1", "the locker is red")
        embedder.failing = None
        # Its own vector could be made now; the stored memory still waits for one.
        (again,) = (await caller.write("u1", "the locker is red")).results
        assert again.outcome == write_pb2.WRITE_OUTCOME_REINFORCED
        assert [row["state"] for row in database.rows("SELECT state FROM memory_embedding")] == [
            memory_pb2.EMBEDDING_STATE_PENDING
        ]
        assert again.embedding_state == memory_pb2.EMBEDDING_STATE_PENDING
        assert again.memory.embedding_state == memory_pb2.EMBEDDING_STATE_PENDING
        for _ in range(2):
            (known,) = (await caller.write("u1", "the locker is grey")).results
            assert known.embedding_state == memory_pb2.EMBEDDING_STATE_READY
            assert known.memory.embedding_state == memory_pb2.EMBEDDING_STATE_READY
