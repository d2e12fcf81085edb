"""`make bench`: what the service adds to its own SQL, as ratios in one run.

A server process (`muniment serve`, embedded database, everything durable) holds a tenant of 100,000
memories and in it a subject of 1,000. Beside the RPCs, this process runs the bare statements of the
same RPCs with a connection of its own: same database, same role, same transaction lines.

| figure | against | goal |
| --- | --- | --- |
| Recall with a given vector | its SQL statement, and an empty RPC | at most 1.5 |
| Write of one, with a given vector | the INSERTs, and an empty RPC | at most 2 |
| Write of a hundred, with given vectors | the INSERTs, and an empty RPC | at most 2 |
| Write of a hundred, with given vectors | a hundred Writes of one | at least 5 times the rate |
| Writes without vectors, four callers | the embedder alone | at least 95 % of the rate |
| All gates together, 200 characters, in this process | | at most 1 ms |
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import grpc
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import gates, writing
from bench.bare import BareInserts, owner_connection
from bench.measure import Timing, in_turns
from bench.scaling.corpus import distinct_words
from bench.scaling.fill import multiply, scope_of
from bench.scaling.statement import RecallStatement
from bench.server import serving
from muniment_server._gen.muniment.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    write_pb2,
)
from muniment_server.config import Settings
from muniment_server.embedding.base import EmbeddingModel
from muniment_server.embedding.factory import create_embedder

SUBJECT = "bench-subject"
_WARM_UP = 20


def sentence(random: np.random.Generator) -> str:
    """Fourteen words, some of them common: drawn by Zipf's law."""
    return " ".join(distinct_words(random, 14))


def vector(random: np.random.Generator, dimension: int) -> np.ndarray:
    """A random direction."""
    made = random.normal(size=dimension).astype("<f4")
    return made / np.linalg.norm(made)


class Bench:
    """One server process, one caller, one connection for the bare statements."""

    def __init__(self, target: str, key: str, model: EmbeddingModel) -> None:
        self.model = model
        self.random = np.random.default_rng(11)
        self.channel = grpc.aio.insecure_channel(target)
        self.stub = memory_service_pb2_grpc.MemoryServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)
        self.metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", "dev"))

    def embedding(self) -> memory_pb2.Embedding:
        """A caller's vector."""
        return memory_pb2.Embedding(
            model=self.model.name, vector=vector(self.random, self.model.dimension).tobytes()
        )

    def items(self, count: int) -> list[write_pb2.WriteItem]:
        """New statements with vectors."""
        return [
            write_pb2.WriteItem(
                content=f"{sentence(self.random)} {uuid4().hex[:8]}",
                kind=memory_pb2.MEMORY_KIND_FACT,
                embedding=self.embedding(),
            )
            for _ in range(count)
        ]

    def words(self) -> str:
        """Six words of the corpus."""
        return " ".join(sentence(self.random).split()[:6])

    async def write(self, count: int, subject: str = SUBJECT) -> memory_service_pb2.WriteResponse:
        """One Write."""
        return await self.stub.Write(
            memory_service_pb2.WriteRequest(
                scope=memory_pb2.Scope(subject=subject), items=self.items(count), request_id=str(uuid4())
            ),
            metadata=self.metadata,
            timeout=60,
        )

    async def recall(self) -> memory_service_pb2.RecallResponse:
        """One Recall with a given vector and six words."""
        return await self.stub.Recall(
            memory_service_pb2.RecallRequest(
                scope=memory_pb2.Scope(subject=SUBJECT),
                query=self.words(),
                query_embedding=self.embedding(),
                min_score=0.0,
                limit=10,
            ),
            metadata=self.metadata,
            timeout=60,
        )

    async def empty(self) -> object:
        """An RPC that does nothing."""
        return await self.health.Check(health_pb2.HealthCheckRequest(service="liveness"))


async def measure(console: Console, home: Path, rounds: int, tenant_size: int) -> bool:
    """Fill, measure, print; whether all goals are met."""
    model = (await asyncio.to_thread(create_embedder)).model
    async with serving(home) as (target, key):
        async with AsyncExitStack() as stack:
            bench = Bench(target, key, model)
            stack.push_async_callback(bench.channel.close)
            console.print(f"filling: a subject of 1,000 memories in a tenant of {tenant_size:,}")
            first = await bench.write(100)
            for _ in range(9):
                await bench.write(100)
            owner = await stack.enter_async_context(owner_connection(Settings(home=home)))
            app = await stack.enter_async_context(owner.app())
            tenant_id = owner.tenant_id
            bare = await RecallStatement.of(stack, Settings(home=home), app, tenant_id, model.calibration)
            scope = await scope_of(owner.superuser, first.results[0].memory.memory_id)
            await multiply(owner.superuser, scope, [tenant_id] * (tenant_size // 1000 - 1))
            await owner.superuser.execute("VACUUM ANALYZE")
            prepared = [
                await bare.arguments(scope, bench.words(), vector(bench.random, model.dimension))
                for _ in range(rounds + _WARM_UP)
            ]
            arguments = iter(prepared)

            async def statement() -> object:
                return await bare.run(next(arguments))

            inserts = BareInserts(app, tenant_id, model.dimension, bench.random)
            await inserts.prepare(owner.superuser)
            recalls = await in_turns(
                {"rpc": bench.recall, "sql": statement, "empty": bench.empty}, rounds, warm_up=_WARM_UP
            )
            ones = await in_turns(
                {
                    "rpc": lambda: bench.write(1, "bench-writes"),
                    "sql": lambda: inserts.write(1),
                    "empty": bench.empty,
                },
                rounds,
            )
            hundreds = await in_turns(
                {
                    "rpc": lambda: bench.write(100, "bench-bulk"),
                    "sql": lambda: inserts.write(100),
                    "empty": bench.empty,
                },
                max(10, rounds // 10),
                warm_up=2,
            )
        return report(
            console,
            [
                ("Recall, given vector", recalls, 1.5),
                ("Write of 1, given vector", ones, 2.0),
                ("Write of 100, given vectors", hundreds, 2.0),
            ],
        )


def report(console: Console, figures: Sequence[tuple[str, dict[str, Timing], float]]) -> bool:
    """Print the ratios."""
    table = Table(title="milliseconds (p50), and the ratio of the RPC to the sum of the other two")
    for name in ("figure", "RPC", "p95", "bare SQL", "empty RPC", "ratio", "goal"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    met = True
    for name, timings, goal in figures:
        rpc, sql, empty = timings["rpc"], timings["sql"], timings["empty"]
        ratio = rpc.p50 / (sql.p50 + empty.p50)
        met = met and ratio <= goal
        style = "green" if ratio <= goal else "red"
        table.add_row(
            name,
            f"{rpc.p50:.2f}",
            f"{rpc.p95:.2f}",
            f"{sql.p50:.2f}",
            f"{empty.p50:.2f}",
            f"[{style}]{ratio:.2f}[/]",
            f"≤ {goal}",
        )
    console.print(table)
    return met


def main() -> int:
    """Run the benchmark; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--tenant", type=int, default=100_000, help="memories in the tenant")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        if os.geteuid() == 0:
            Path(folder).chmod(0o711)
        met = asyncio.run(measure(Console(), Path(folder) / "home", options.rounds, options.tenant))
    others = [writing.main([]), gates.main()]
    return 0 if met and not any(others) else 1


if __name__ == "__main__":
    sys.exit(main())
