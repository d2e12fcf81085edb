"""A server process with its own folder, and somebody who calls it."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4

import grpc
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.server import free_port, started
from muniment_server._gen.muniment.v1 import (
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    recall_pb2,
    write_pb2,
)
from muniment_server.embedding.base import EmbeddingModel


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A folder for an installation, which the database's own account can reach."""
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        if os.geteuid() == 0:
            Path(folder).chmod(0o711)
        yield Path(folder) / "home"


class Agent:
    """A caller of the server with the development key."""

    def __init__(self, channel: grpc.aio.Channel, key: str, model: EmbeddingModel) -> None:
        self.model = model
        self._stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)
        self._metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", "dev"))

    def embedding(self, vector: np.ndarray) -> memory_pb2.Embedding:
        """A vector as a caller gives it."""
        return memory_pb2.Embedding(model=self.model.name, vector=vector.astype("<f4").tobytes())

    async def write(
        self,
        subject: str,
        texts: list[str],
        vectors: np.ndarray | None = None,
        tags: list[list[str]] | None = None,
    ) -> memory_service_pb2.WriteResponse:
        """One Write of facts; without vectors the server makes them."""
        items = [
            write_pb2.WriteItem(
                content=text,
                kind=memory_pb2.MEMORY_KIND_FACT,
                tags=tags[index] if tags else [],
                embedding=None if vectors is None else self.embedding(vectors[index]),
            )
            for index, text in enumerate(texts)
        ]
        return await self._stub.Write(
            memory_service_pb2.WriteRequest(
                scope=memory_pb2.Scope(subject=subject), items=items, request_id=str(uuid4())
            ),
            metadata=self._metadata,
            timeout=60,
        )

    async def recall(
        self,
        subject: str,
        query: str,
        vector: np.ndarray | None = None,
        *,
        legs: tuple[recall_pb2.RetrievalLeg, ...] = (),
        tag: str | None = None,
        min_score: float | None = 0.0,
    ) -> memory_service_pb2.RecallResponse:
        """One Recall of ten."""
        return await self._stub.Recall(
            memory_service_pb2.RecallRequest(
                scope=memory_pb2.Scope(subject=subject),
                query=query,
                query_embedding=None if vector is None else self.embedding(vector),
                legs=legs,
                filter=filter_pb2.MemoryFilter(tags_any=[tag]) if tag else None,
                min_score=min_score,
                limit=10,
            ),
            metadata=self._metadata,
            timeout=30,
        )

    async def empty(self) -> object:
        """An RPC that does nothing."""
        return await self._health.Check(health_pb2.HealthCheckRequest(service="liveness"))


@asynccontextmanager
async def serving(home: Path, model: EmbeddingModel, embedder: str) -> AsyncIterator[Agent]:
    """Run `muniment serve` with an embedded database, everything durable."""
    port = free_port()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "MUNIMENT_"))}
    environment = kept | {
        "MUNIMENT_HOME": str(home),
        "MUNIMENT_LISTEN": f"127.0.0.1:{port}",
        "MUNIMENT_EMBEDDER": embedder,
    }
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(  # noqa: ASYNC220 - it is only begun here
            [str(Path(sys.executable).with_name("muniment")), "serve"],
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            try:
                key = await started(home, port)
            except TimeoutError:
                log.seek(0)
                print(log.read()[-4000:].decode(errors="replace"), file=sys.stderr)
                raise
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield Agent(channel, key, model)
        finally:
            server.terminate()
            await asyncio.to_thread(server.wait, 60)
