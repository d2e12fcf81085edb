"""`make bench-scaling`: Recall against the size of the subject and of its tenant.

A server process (`muniment serve`, embedded database, everything durable) holds one tenant, which grows,
and a thousand tenants beside it. In it are subjects of several sizes, written through the Write RPC with
given vectors; the rest are copies of one of them in the database. At every point take turns: Recall with a
given vector, Recall from text, the bare SQL of Recall, an empty RPC, the embedding alone, and the
alternative of plain.py on the same database.

| figure | goal |
| --- | --- |
| Recall with a given vector to bare SQL and an empty RPC | at most 1.5 |
| Recall from text | at most that, and the embedding |
| the alternative of 300 lines | at most 1.3 times faster |
| recall@10 against a search through everything | 1.0; 0.98 where a scope is drawn from |
| p95 in the largest tenant to p95 in the smallest | at most 3 |

    make bench-scaling
    make bench-scaling ARGS="--tenant 10000,100000,1000000 --subject 100,1000,10000,100000"
    make bench-scaling ARGS="--tenant 2000,4000 --subject 100,1000 --rounds 20 --dry"
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from rich.console import Console

from bench.bare import Owner, owner_connection
from bench.measure import Timing
from bench.scaling import report
from bench.scaling.corpus import RARE, Questions, Subject, Topics
from bench.scaling.figures import Point, missed
from bench.scaling.fill import Original, add_tenants, memories, multiply, scope_of
from bench.scaling.installation import Agent, serving, temporary_home
from bench.scaling.load import Loader
from bench.scaling.plain import Plain
from bench.scaling.statement import Asked as Statement
from bench.scaling.statement import RecallStatement
from bench.server import free_port
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, recall_pb2
from muniment_server.config import Settings
from muniment_server.embedding.base import Embedder
from muniment_server.embedding.factory import create_embedder

SEED = "seed"
_SEED_SIZE = 1000
_BATCH = 100
_WRITTEN = 1000
"""Memories of a subject that are written through the RPC; the others come by load.py."""


def sizes(text: str) -> list[int]:
    """Numbers with commas between them, in order."""
    return sorted({int(one) for one in text.split(",")})


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenant", type=sizes, default=[10_000, 100_000], help="memories in the tenant")
    parser.add_argument("--subject", type=sizes, default=[100, 1_000, 10_000], help="memories of the subject")
    parser.add_argument("--neighbours", type=int, default=1_000, help="tenants beside it")
    parser.add_argument("--neighbour-size", type=int, default=50, help="memories of each of them")
    parser.add_argument("--rounds", type=int, default=200, help="measured calls at each point, at most")
    parser.add_argument("--checked", type=int, default=20, help="queries compared with a search through all")
    parser.add_argument("--seconds", type=float, default=30.0, help="for the turns of one point, at most")
    parser.add_argument("--callers", type=int, default=8, help="callers at once, for the throughput")
    parser.add_argument("--embedder", default="auto", help="as MUNIMENT_EMBEDDER")
    parser.add_argument("--dry", action="store_true", help="leave docs/ as it is")
    return parser.parse_args()


@dataclass(frozen=True)
class Asked:
    """A query of one round, and the same for the bare statement."""

    text: str
    vector: np.ndarray
    arguments: Statement


class Run:
    """One installation, filled step by step."""

    def __init__(
        self,
        console: Console,
        options: argparse.Namespace,
        embedder: Embedder,
        topics: Topics,
        agent: Agent,
        loader: Loader,
    ) -> None:
        self.console = console
        self.options = options
        self.embedder = embedder
        self.agent = agent
        self.loader = loader
        self.random = np.random.default_rng(11)
        self.topics = topics
        self.questions = Questions(self.topics, self.random)
        self.originals: dict[str, Original] = {}

    async def write(self, owner: Owner, name: str, size: int) -> Subject:
        """Write a subject through the service."""
        subject = Subject.make(name, size, self.topics, self.questions, self.random)
        begun = time.perf_counter()
        kept = []
        written = min(size, _WRITTEN)
        for begin in range(0, written, _BATCH):
            part = slice(begin, min(begin + _BATCH, written))
            response = await self.agent.write(
                name, subject.texts[part], subject.vectors[part], subject.tags[part]
            )
            for offset, result in enumerate(response.results):
                if result.memory.state == memory_pb2.MEMORY_STATE_ACTIVE:
                    kept.append(begin + offset)
                    subject.ids.append(result.memory.memory_id)
        if size > written:
            rest = slice(written, size)
            added = await self.loader.add(
                UUID(subject.ids[0]), subject.texts[rest], subject.vectors[rest], subject.tags[rest]
            )
            subject.ids += [str(one) for one in added]
            kept += range(written, size)
        subject.refused = size - len(kept)
        if subject.refused:
            subject.texts = [subject.texts[row] for row in kept]
            subject.tags = [subject.tags[row] for row in kept]
            subject.vectors = subject.vectors[kept]
        took = time.perf_counter() - begun
        self.console.print(
            f"wrote {name}: {size:,} memories, {size / took:.0f} a second"
            + (f", {subject.refused} not active" if subject.refused else ""),
            style="dim",
        )
        self.originals[name] = await scope_of(owner.superuser, subject.ids[0])
        return subject

    async def grow(self, owner: Owner, tenant_size: int) -> int:
        """Copy the seed until the tenant has its size; returns the size."""
        missing = tenant_size - await memories(owner.superuser, owner.tenant_id)
        copies = round(missing / self.originals[SEED].count)
        if copies > 0:
            begun = time.perf_counter()
            await multiply(owner.superuser, self.originals[SEED], [owner.tenant_id] * copies)
            self.console.print(
                f"copied {copies * self.originals[SEED].count:,} memories of others in"
                f" {time.perf_counter() - begun:.0f} s",
                style="dim",
            )
        return await memories(owner.superuser, owner.tenant_id)

    async def point(self, bare: RecallStatement, plain: Plain, subject: Subject, tenant: int) -> Point:
        """Measure one subject in the tenant as it is."""
        recalls = await self.recalls(plain, subject)

        async def draw() -> Asked:
            query = self.questions.given()
            scope = self.originals[subject.name]
            return Asked(query.text, query.vector, await bare.arguments(scope, query.text, query.vector))

        timings = await turns(
            {
                "given": lambda ask: self.agent.recall(subject.name, ask.text, ask.vector),
                "text": lambda _: self.agent.recall(subject.name, self.questions.from_text()),
                "sql": lambda ask: bare.run(ask.arguments),
                "empty": lambda _: self.agent.empty(),
                "embedding": lambda _: self.embed(self.questions.from_text()),
                "plain": lambda ask: plain.recall(subject.name, ask.vector),
            },
            draw,
            self.options.rounds,
            self.options.seconds,
        )
        rates = {}
        for name, call in (
            ("given", lambda query: self.agent.recall(subject.name, query.text, query.vector)),
            ("plain", lambda query: plain.recall(subject.name, query.vector)),
        ):
            rates[name] = await self.throughput(call)
        return Point(len(subject.ids), tenant, timings, rates, recalls, os.getloadavg()[0])

    async def embed(self, text: str) -> object:
        """The embedding alone, in a thread of this process as the service does it."""
        return await asyncio.to_thread(self.embedder.embed_query, text)

    async def throughput(self, call: Callable[[Any], Awaitable[object]]) -> float:
        """Calls a second of several callers who each wait for their answer."""
        end = time.perf_counter() + 3.0
        done = 0

        async def caller() -> None:
            nonlocal done
            while time.perf_counter() < end:
                await call(self.questions.given())
                done += 1

        begun = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(self.options.callers)))
        return done / (time.perf_counter() - begun)

    async def recalls(self, plain: Plain, subject: Subject) -> dict[str, float]:
        """recall@10 of each way to ask, over some queries: the mean, and 1.0 only if all are complete."""
        vector, lexical = (recall_pb2.RETRIEVAL_LEG_VECTOR,), (recall_pb2.RETRIEVAL_LEG_LEXICAL,)
        found: dict[str, list[float]] = {}

        def note(name: str, value: float) -> None:
            found.setdefault(name, []).append(value)

        ask = self.agent.recall
        for _ in range(self.options.checked):
            query = self.questions.given()
            answer = await ask(subject.name, query.text, query.vector, legs=vector)
            note("vector", subject.recall_by_vector(ids(answer), query.vector))
            answer = await ask(subject.name, query.text, query.vector, legs=vector, tag=RARE)
            note("filtered", subject.recall_of_rare(ids(answer), query.vector))
            answer = await ask(subject.name, query.text, legs=lexical)
            note("words", subject.recall_by_words(ids(answer), query.text))
            text = self.questions.from_text()
            answer = await ask(subject.name, text, legs=vector)
            embedded = np.asarray(await asyncio.to_thread(self.embedder.embed_query, text))
            note("text", subject.recall_by_vector(ids(answer), embedded, embedded=True))
            answer = await plain.recall(subject.name, query.vector)
            note("alternative", subject.recall_by_vector(ids(answer), query.vector))
        return {name: float(np.mean(values)) for name, values in found.items()}


def ids(answer: memory_service_pb2.RecallResponse) -> list[str]:
    """Of the memories in an answer."""
    return [one.memory.memory_id for one in answer.memories]


async def turns(
    actions: dict[str, Callable[[Any], Awaitable[object]]],
    draw: Callable[[], Awaitable[Any]],
    rounds: int,
    seconds: float,
    warm_up: int = 10,
) -> dict[str, Timing]:
    """Run every action once a round and time each; the same query for all of a round.

    Ends after `rounds`, or after `seconds` if there are 20 of them by then.
    """
    samples: dict[str, list[float]] = {name: [] for name in actions}
    begun = time.perf_counter()
    for number in range(warm_up + rounds):
        if number - warm_up >= 20 and time.perf_counter() - begun > seconds:
            break
        query = await draw()
        for name, action in actions.items():
            started = time.perf_counter()
            await action(query)
            if number >= warm_up:
                samples[name].append((time.perf_counter() - started) * 1000)
    return {name: Timing(values) for name, values in samples.items()}


async def measure(
    console: Console,
    options: argparse.Namespace,
    home: Path,
    embedder: Embedder,
    keep: Callable[[list[Point]], None],
) -> list[Point]:
    """Fill and measure, point after point. keep: told what there is after each size of the tenant."""
    points: list[Point] = []
    async with AsyncExitStack() as stack:
        agent = await stack.enter_async_context(serving(home, embedder.model, options.embedder))
        owner = await stack.enter_async_context(owner_connection(Settings(home=home)))
        app = await stack.enter_async_context(owner.app())
        bare = await RecallStatement.of(
            stack, Settings(home=home), app, owner.tenant_id, embedder.model.calibration
        )
        loader = await Loader.of(stack, Settings(home=home), owner, embedder.model)
        topics = await asyncio.to_thread(Topics.of, embedder)
        run = Run(console, options, embedder, topics, agent, loader)
        await run.write(owner, SEED, min(_SEED_SIZE, max(100, options.tenant[0] // 4)))
        console.print(f"{options.neighbours:,} tenants beside it", style="dim")
        await run.write(owner, "small", options.neighbour_size)
        neighbours = await add_tenants(owner.superuser, options.neighbours)
        await multiply(owner.superuser, run.originals["small"], neighbours)
        plain = await Plain.prepare(
            owner.superuser, _conninfo(owner), owner.tenant_id, embedder.model.dimension
        )
        await stack.enter_async_context(plain.serving(free_port()))
        subjects: dict[int, Subject] = {}
        for tenant_size in options.tenant:
            for size in options.subject:
                if size <= tenant_size and size not in subjects:
                    subjects[size] = await run.write(owner, f"subject-{size}", size)
                    await plain.add_subject(subjects[size])
            tenant = await run.grow(owner, tenant_size)
            measured = [run.originals[one.name].scope_no for one in subjects.values()]
            await plain.add_others(measured)
            await owner.superuser.execute("VACUUM ANALYZE")
            for size, subject in subjects.items():
                console.print(f"measuring: subject of {size:,} in a tenant of {tenant:,}", style="dim")
                points.append(await run.point(bare, plain, subject, tenant))
            keep(points)
    return points


def _conninfo(owner: Owner) -> str:
    # With which the superuser came, less its name and password: plain.py puts its own in their place.
    found = owner.superuser.info.get_parameters()
    return " ".join(f"{key}={value}" for key, value in found.items() if key in ("host", "port", "dbname"))


def main() -> int:
    """Run the benchmark; exit code 1 when a goal is missed."""
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else 160)
    before = os.getloadavg()[0]
    embedder = create_embedder(options.embedder)
    about = report.machine() | {
        "model": embedder.model.name,
        "neighbours": options.neighbours,
        "neighbour_size": options.neighbour_size,
        "callers": options.callers,
        "load_before": round(before, 2),
    }
    given = " ".join(sys.argv[1:])
    command = f'make bench-scaling ARGS="{given}"' if given else "make bench-scaling"

    def keep(points: list[Point]) -> None:
        # The next size may take long: what was measured is not lost with it.
        path = report.save("scaling", {"about": about, "points": [one.record() for one in points]})
        console.print(f"written: {path}")
        if not options.dry:
            report.put("scaling", report.markdown(points, about, command))
            report.draw(points)

    with temporary_home() as home:
        points = asyncio.run(measure(console, options, home, embedder, keep))
    report.show(console, points)
    failures = missed(points)
    for failure in failures:
        console.print(f"missed: {failure}", style="red")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
