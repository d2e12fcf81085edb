"""Each library behind the same four calls: write one, write many, search, and who it is."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from muniment_server.embedding.minilm import MiniLM

LIMIT = 10


class Vectors:
    """The model, and vectors that are known already: the neighbours are filled in without embedding."""

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self.known: dict[str, np.ndarray] = {}

    def of(self, text: str) -> np.ndarray:
        """One vector."""
        known = self.known.get(text)
        return self._model.embed_query(text) if known is None else known


class Mem0:
    """`mem0ai`, every message stored as it is (`infer=False`), pgvector with its default HNSW index."""

    def __init__(self, conninfo: str, folder: Path, vectors: Vectors) -> None:
        # Read when the package is imported. Neither telemetry nor notices may leave this machine.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "none"}
        from mem0 import Memory
        from mem0.memory import notices
        from mem0.utils.factory import EmbedderFactory

        notices._fetch_remote_config = lambda: None
        EmbedderFactory.provider_to_class["huggingface"] = f"{__name__}.{_Mem0Embedding.__name__}"
        _Mem0Embedding.vectors = vectors
        self.name = f"mem0ai {version('mem0ai')}"
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "pgvector",
                    "config": {
                        "connection_string": conninfo,
                        "collection_name": "mem0",
                        "embedding_model_dims": 384,
                    },
                },
                "embedder": {"provider": "huggingface", "config": {"model": "all-MiniLM-L6-v2"}},
                "history_db_path": str(folder / "mem0-history.db"),
            }
        )

    def write(self, user: str, texts: Sequence[str]) -> None:
        """Store texts in one call."""
        self._memory.add([{"role": "user", "content": text} for text in texts], user_id=user, infer=False)

    def search(self, user: str, query: str) -> list[str]:
        """The texts found, best first."""
        found = self._memory.search(query, top_k=LIMIT, filters={"user_id": user})
        return [one["memory"] for one in found["results"]]


class _Mem0Embedding:
    """What mem0 asks an embedder for."""

    vectors: Vectors

    def __init__(self, config: Any) -> None:
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        found: list[float] = self.vectors.of(text).tolist()
        return found

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Several."""
        return [self.embed(text) for text in texts]


class LangGraph:
    """The store of `langgraph-checkpoint-postgres`, with its default HNSW index."""

    def __init__(self, conninfo: str, stack: ExitStack, vectors: Vectors) -> None:
        from langchain_core.embeddings import Embeddings
        from langgraph.store.postgres import PostgresStore

        class Wrapped(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [vectors.of(text).tolist() for text in texts]

            def embed_query(self, text: str) -> list[float]:
                found: list[float] = vectors.of(text).tolist()
                return found

        self.name = f"langgraph-checkpoint-postgres {version('langgraph-checkpoint-postgres')}"
        self._store = stack.enter_context(
            PostgresStore.from_conn_string(
                conninfo, index={"dims": 384, "embed": Wrapped(), "fields": ["text"]}
            )
        )
        self._store.setup()

    def write(self, user: str, texts: Sequence[str]) -> None:
        """Store texts in one call."""
        from langgraph.store.base import PutOp

        self._store.batch([PutOp(("memories", user), str(uuid4()), {"text": text}) for text in texts])

    def search(self, user: str, query: str) -> list[str]:
        """The texts found, best first."""
        found = self._store.search(("memories", user), query=query, limit=LIMIT)
        return [one.value["text"] for one in found]
