"""What many statements in one Write spare, and what embedding-bound Writes leave of the embedder's rate.

Run alone: `python tests/bench/writing.py`. Both are ratios of one run, whose sides take turns.

| figure | against | goal, as a rate |
| --- | --- | --- |
| A Write of a hundred, with given vectors | a hundred Writes of one, in a row | at least 5 times |
| Writes without vectors, four callers | the embedder alone, in this process | at least 95 % |
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from uuid import uuid4

import grpc
import numpy as np
from rich.console import Console

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.scaling.corpus import distinct_words
from bench.server import serving
from muniment_server._gen.muniment.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    write_pb2,
)
from muniment_server.embedding.base import Embedder
from muniment_server.embedding.factory import create_embedder

BATCH, CALLERS, SHARE = 100, 4, 20
BULK_GOAL, EMBEDDING_GOAL = 5.0, 0.95


class Writers:
    """Callers of one tenant, each with a subject of its own."""

    def __init__(self, channel: grpc.aio.Channel, key: str, embedder: Embedder) -> None:
        self.stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", "dev"))
        self.embedder = embedder
        self.random = np.random.default_rng(5)

    def texts(self, count: int) -> list[str]:
        """Sentences of fourteen words that no cache knows."""
        return [f"{' '.join(distinct_words(self.random, 14))} {uuid4().hex[:8]}" for _ in range(count)]

    def items(self, count: int) -> list[write_pb2.WriteItem]:
        """Statements with vectors."""
        return [self._item(text, self._vector()) for text in self.texts(count)]

    def _item(self, text: str, vector: memory_pb2.Embedding | None = None) -> write_pb2.WriteItem:
        return write_pb2.WriteItem(content=text, kind=memory_pb2.MEMORY_KIND_FACT, embedding=vector)

    def _vector(self) -> memory_pb2.Embedding:
        made = self.random.normal(size=self.embedder.model.dimension).astype("<f4")
        return memory_pb2.Embedding(
            model=self.embedder.model.name, vector=(made / np.linalg.norm(made)).tobytes()
        )

    async def write(self, subject: str, items: Sequence[write_pb2.WriteItem]) -> None:
        """One Write; every item must be stored with a vector."""
        answer = await self.stub.Write(
            memory_service_pb2.WriteRequest(
                scope=memory_pb2.Scope(subject=subject), items=items, request_id=str(uuid4())
            ),
            metadata=self.metadata,
            timeout=120,
        )
        states = {result.embedding_state for result in answer.results}
        if states != {memory_pb2.EMBEDDING_STATE_READY} or len(answer.results) != len(items):
            raise AssertionError(f"not every item has its vector: {states}")

    async def singly(self, items: Sequence[write_pb2.WriteItem]) -> None:
        """One Write for each item, one after the other."""
        for item in items:
            await self.write("bench-single", [item])

    async def at_once(self, texts: Sequence[str]) -> None:
        """All texts by several callers, in Writes of twenty, without vectors."""

        async def caller(number: int) -> None:
            mine = [self._item(text) for text in texts[number::CALLERS]]
            for place in range(0, len(mine), SHARE):
                await self.write(f"bench-caller-{number}", mine[place : place + SHARE])

        await asyncio.gather(*(caller(number) for number in range(CALLERS)))

    async def embed(self, texts: Sequence[str]) -> None:
        """The embedder alone: all texts at once, as it likes them best."""
        await asyncio.to_thread(self.embedder.embed_passages, texts)


async def _seconds(action: Awaitable[object]) -> float:
    started = time.perf_counter()
    await action
    return time.perf_counter() - started


async def bulk(console: Console, writers: Writers, rounds: int) -> bool:
    """A Write of a hundred against a hundred Writes; whether the goal is met."""
    await writers.singly(writers.items(20))
    await writers.write("bench-bulk", writers.items(BATCH))
    pairs = []
    for _ in range(rounds):
        ones, hundred = writers.items(BATCH), writers.items(BATCH)
        single = await _seconds(writers.singly(ones))
        pairs.append((single, await _seconds(writers.write("bench-bulk", hundred))))
    faster = statistics.median(single / batch for single, batch in pairs)
    single, batch = (statistics.median(side) for side in zip(*pairs, strict=True))
    console.print(
        f"given vectors: {BATCH / single:.0f} memories/s singly, {BATCH / batch:.0f} in Writes of {BATCH}: "
        f"{faster:.1f} times (goal: at least {BULK_GOAL:.0f})"
    )
    return faster >= BULK_GOAL


async def bound(console: Console, writers: Writers, rounds: int, texts: int) -> bool:
    """Embedding-bound Writes against the embedder alone; whether the goal is met."""
    await writers.at_once(writers.texts(BATCH // 2))
    await writers.embed(writers.texts(BATCH // 2))
    pairs = []
    for _ in range(rounds):
        mine, theirs = writers.texts(texts), writers.texts(texts)
        alone = await _seconds(writers.embed(mine))
        pairs.append((alone, await _seconds(writers.at_once(theirs))))
    share = statistics.median(alone / written for alone, written in pairs)
    alone, written = (statistics.median(side) for side in zip(*pairs, strict=True))
    console.print(
        f"embedding-bound: {texts / written:.1f} memories/s, the embedder alone {texts / alone:.1f} texts/s: "
        f"{share:.0%} (goal: at least {EMBEDDING_GOAL:.0%})"
    )
    return share >= EMBEDDING_GOAL


async def figures(console: Console, home: Path, rounds: int, texts: int, only: str | None) -> bool:
    """Measure and print; whether the goals are met."""
    embedder = await asyncio.to_thread(create_embedder)
    met = True
    async with (
        serving(home, MUNIMENT_EMBEDDING_ON_WRITE="require", MUNIMENT_EMBEDDING_PATIENCE="60") as (
            target,
            key,
        ),
        grpc.aio.insecure_channel(target) as channel,
    ):
        writers = Writers(channel, key, embedder)
        if only != "bound":
            met = await bulk(console, writers, rounds)
        if only != "bulk":
            met = await bound(console, writers, rounds, texts) and met
    return met


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=400, help="texts of a round of embedding-bound Writes")
    parser.add_argument("--only", choices=["bulk", "bound"], help="the first or the second figure alone")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        if os.geteuid() == 0:
            Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        met = asyncio.run(figures(Console(), home, options.rounds, options.texts, options.only))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
