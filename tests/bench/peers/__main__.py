"""`make bench-peers`: search and write from text, beside two memory libraries.

All on one PostgreSQL, all with MiniLM. The libraries run in this process, the service in its own and is
asked over gRPC. One user has a thousand memories, some others have as many each.

| figure | goal |
| --- | --- |
| a search of each library to ours | at least 2 times as long |
| a single write of mem0 to ours | at least 2 times as long |
| a hundred writes of mem0 to ours | at least 5 times as long |
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from bench.bare import owner_connection
from bench.measure import Timing
from bench.peers.stores import LangGraph, Mem0, Vectors
from bench.peers.texts import Question, questions, statements
from bench.scaling import report
from bench.scaling.corpus import made_up
from bench.scaling.figures import percentile
from bench.scaling.installation import Agent, serving, temporary_home
from muniment_server.bootstrap import derive_role_secrets, master_keys
from muniment_server.bootstrap.embedded import SUPERUSER, EmbeddedPostgres
from muniment_server.config import Settings
from muniment_server.embedding.minilm import MiniLM

USER = "measured"
OURS = "Muniment"
GOALS = {"search": 2.0, "write": 2.0, "bulk": 5.0}
_BATCH = 100


class Service:
    """The service, as the libraries are called."""

    def __init__(self, agent: Agent) -> None:
        self.name = OURS
        self._agent = agent

    async def write(self, user: str, texts: list[str], vectors: np.ndarray | None = None) -> None:
        """Write texts in one call."""
        await self._agent.write(user, texts, vectors)

    async def search(self, user: str, query: str) -> list[str]:
        """The texts found, best first."""
        answer = await self._agent.recall(user, query, min_score=None)
        return [one.memory.content for one in answer.memories]


@dataclass
class Figures:
    """Of one store: milliseconds of each action, and the share of answers that were found."""

    name: str
    timings: dict[str, Timing]
    found: float
    returned: float


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--others", type=int, default=4, help="users beside the measured one")
    parser.add_argument("--rounds", type=int, default=100, help="searches and single writes")
    parser.add_argument("--bulks", type=int, default=5, help="writes of a hundred")
    parser.add_argument("--memories", type=int, default=1000, help="of each user, at most 1000")
    parser.add_argument("--dry", action="store_true", help="leave docs/ as it is")
    return parser.parse_args()


async def fill(
    console: Console, options: argparse.Namespace, service: Service, peers: list[Any], vectors: Vectors
) -> None:
    """The same statements for everybody; other users' with a word of their own."""
    texts = statements()[: options.memories]
    for number in range(options.others + 1):
        user = USER if number == 0 else f"other-{number}"
        own = texts if number == 0 else [f"{text} Case {number}." for text in texts]
        vectors.known = {text: vectors.of(text) for text in own}
        for begin in range(0, len(own), _BATCH):
            part = own[begin : begin + _BATCH]
            await service.write(user, part, np.array([vectors.known[text] for text in part]))
            for peer in peers:
                peer.write(user, part)
        console.print(f"filled {user}", style="dim")
    vectors.known = {}


def asked(options: argparse.Namespace, random: np.random.Generator) -> list[Question]:
    """Questions whose answers are there."""
    there = questions()[: options.memories]
    return [there[row] for row in random.permutation(len(there))[: options.rounds]]


async def measure(
    options: argparse.Namespace, service: Service, peers: list[Any], random: np.random.Generator
) -> list[Figures]:
    """Take turns."""
    stores: list[Any] = [service, *peers]
    samples: dict[str, dict[str, list[float]]] = {
        one.name: {name: [] for name in ("search", "write", "bulk")} for one in stores
    }
    hits: dict[str, list[bool]] = {one.name: [] for one in stores}
    counts: dict[str, list[int]] = {one.name: [] for one in stores}
    for place, question in enumerate([*asked(options, random)[:3], *asked(options, random)]):
        for store in stores:
            texts, took = await timed(lambda: store.search(USER, question.text))  # noqa: B023 - called at once
            if place >= 3:
                samples[store.name]["search"].append(took)
                hits[store.name].append(question.answer in texts)
                counts[store.name].append(len(texts))
    for name, rounds, size, warm_up in (("write", options.rounds, 1, 3), ("bulk", options.bulks, _BATCH, 1)):
        for number in range(rounds + warm_up):
            new = [fresh(random) for _ in range(size)]
            for store in stores:
                _, took = await timed(lambda: store.write(f"{name}-user", new))  # noqa: B023
                if number >= warm_up:
                    samples[store.name][name].append(took)
    return [
        Figures(
            one.name,
            {name: Timing(values) for name, values in samples[one.name].items()},
            float(np.mean(hits[one.name])),
            float(np.mean(counts[one.name])),
        )
        for one in stores
    ]


def fresh(random: np.random.Generator) -> str:
    """A statement that nobody has yet."""
    texts = statements()
    return f"{texts[int(random.integers(len(texts)))][:-1]}, says {made_up(int(random.integers(2**40)), 6)}."


async def timed(call: Callable[[], Awaitable[Any] | Any]) -> tuple[Any, float]:
    """What a call gives, and its milliseconds; the libraries answer at once, the service is awaited."""
    begun = time.perf_counter()
    answer = call()
    if isinstance(answer, Awaitable):
        answer = await answer
    return answer, (time.perf_counter() - begun) * 1000


async def superuser_conninfo(home: Path, dbname: str) -> str:
    """Of the embedded server of an installation."""
    settings = Settings(home=home)
    secrets = await derive_role_secrets(master_keys(settings))
    return EmbeddedPostgres(home, secrets.passwords[SUPERUSER]).superuser_conninfo(dbname)


async def run(console: Console, options: argparse.Namespace, home: Path) -> list[Figures]:
    """Fill and measure."""
    model = MiniLM()
    vectors = Vectors(model)
    async with AsyncExitStack() as stack:
        agent = await stack.enter_async_context(serving(home, model.model, "english-fast"))
        await stack.enter_async_context(owner_connection(Settings(home=home)))
        with psycopg.connect(await superuser_conninfo(home, "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE peers")
        conninfo = make_conninfo(await superuser_conninfo(home, "peers"))
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        own = stack.enter_context(ExitStack())
        peers = [Mem0(conninfo, home.parent, vectors), LangGraph(conninfo, own, vectors)]
        service = Service(agent)
        await fill(console, options, service, peers, vectors)
        for dbname in ("peers", "muniment"):
            with psycopg.connect(await superuser_conninfo(home, dbname), autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
        return await measure(options, service, peers, np.random.default_rng(7))


HEADS = (
    "", "search p50", "p95", "found in 10", "returned", "write p50", "p95", "100 writes p50",
    "search", "write", "100 writes",
)  # fmt: skip


def rows(figures: list[Figures]) -> list[list[str]]:
    """Milliseconds, and each store's time to ours."""
    ours = figures[0].timings
    return [
        [
            one.name,
            f"{one.timings['search'].p50:.1f}",
            f"{percentile(one.timings['search'], 0.95):.1f}",
            f"{one.found:.2f}",
            f"{one.returned:.1f}",
            f"{one.timings['write'].p50:.1f}",
            f"{percentile(one.timings['write'], 0.95):.1f}",
            f"{one.timings['bulk'].p50:.0f}",
            *(f"{one.timings[name].p50 / ours[name].p50:.2f}" for name in ("search", "write", "bulk")),
        ]
        for one in figures
    ]


def missed(figures: list[Figures]) -> list[str]:
    """The goals that were not met; of writing only mem0 has one."""
    ours = figures[0].timings
    found = []
    for one in figures[1:]:
        for name, goal in GOALS.items():
            ratio = one.timings[name].p50 / ours[name].p50
            if ratio < goal and (name == "search" or one.name.startswith("mem0")):
                found.append(f"{one.name}, {name}: {ratio:.2f} times as long as ours (goal {goal})")
    return found


def record(one: Figures) -> dict[str, Any]:
    """As JSON."""
    return {
        "name": one.name,
        "found_in_10": one.found,
        "returned": one.returned,
        "milliseconds": {
            name: {"p50": round(timing.p50, 2), "p95": round(percentile(timing, 0.95), 2)}
            for name, timing in one.timings.items()
        },
    }


def main() -> int:
    """Run the benchmark; exit code 1 when a goal is missed."""
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else 160)
    before = os.getloadavg()[0]
    with temporary_home() as home:
        figures = asyncio.run(run(console, options, home))
    about = report.machine() | {"load_before": round(before, 2), "others": options.others}
    table = Table(title="milliseconds, and the time of each to ours")
    for head in HEADS:
        table.add_column(head, justify="right" if head else "left")
    for row in rows(figures):
        table.add_row(*row)
    console.print(table)
    path = report.save("peers", {"about": about, "stores": [record(one) for one in figures]})
    console.print(f"written: {path}")
    if not options.dry:
        sentence = (
            f"Measured {about['date']} on {about['processors']} processors: one user of {options.memories:,}"
            f" memories, {options.others} others with as many. Load of the machine, to which the run itself"
            f" adds about 1: {before:.1f} before, {about['load']:.1f} after. Milliseconds; the last three"
            " columns are each store's median to ours."
        )
        report.put("peers", f"{sentence}\n\n{report.grid(HEADS, rows(figures))}")
    failures = missed(figures)
    for failure in failures:
        console.print(f"missed: {failure}", style="red")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
