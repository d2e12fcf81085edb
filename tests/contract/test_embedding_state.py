"""A text that the model reads only in part is stored whole, found by its words, and said to be partial."""

from muniment_server._gen.muniment.v1 import memory_pb2
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import running_service


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
