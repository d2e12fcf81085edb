"""`make bench-recall DATA=<folder>`: how many of the right memories Recall returns, and how high.

The real service with an embedded database and the default model; one TURN memory for each turn through
Write, one Recall for each question; no language model. Files and figures: corpora.py, scoring.py.

    make bench-recall DATA=data
    make bench-recall DATA=data ARGS="--ablation --export ranked.jsonl"
    make bench-recall DATA=data ARGS="--only default --vectors /tmp/vectors.npz"
    make bench-recall DATA=data ARGS="--add plain=vector,lexical --add rrf-all=/rrf"
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import grpc
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.quality.corpora import Conversation, read_folder
from bench.quality.run import Configuration, Corpus, ask, server_legs, standard_configurations, write
from bench.quality.scoring import STEPS, Figures, summarise
from bench.quality.vectors import KeptVectors
from muniment_server.embedding.base import Embedder
from muniment_server.embedding.factory import create_embedder
from support.postgres import running_server
from support.service import running_service

COLUMNS = [f"R@{k}" for k in STEPS] + [f"any@{k}" for k in STEPS] + ["session any@5"]


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with the files")
    parser.add_argument("--export", type=Path, help="write the ranked turn ids: one JSON line per question")
    parser.add_argument("--only", action="append", default=[], help="only this configuration; repeatable")
    parser.add_argument("--corpus", action="append", default=[], help="only this corpus; repeatable")
    parser.add_argument(
        "--add", action="append", default=[], metavar="NAME=LEG,LEG[/FUSION]", help="one more configuration"
    )
    parser.add_argument("--ablation", action="store_true", help="the default without each leg in turn")
    parser.add_argument("--embedder", default="auto", help="as MUNIMENT_EMBEDDER")
    parser.add_argument("--vectors", type=Path, help="keep computed vectors in this file between runs")
    parser.add_argument("--limit", type=int, default=20, help="memories to ask for")
    parser.add_argument("--parallel", type=int, default=4, help="questions at once")
    parser.add_argument("--no-captions", action="store_true", help="leave captions of images out")
    parser.add_argument("--json", type=Path, help="write the figures as JSON")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Configuration]:
    """The configurations to measure."""
    every = standard_configurations()
    if options.ablation:
        legs = server_legs()
        every += [
            Configuration(f"without {leg}", tuple(other for other in legs if other != leg)) for leg in legs
        ]
    for text in options.add:
        name, _, rest = text.partition("=")
        legs_text, _, fusion = rest.partition("/")
        every.append(Configuration(name, tuple(filter(None, legs_text.split(","))), fusion or None))
    wanted = options.only + [text.partition("=")[0] for text in options.add if options.only]
    return [one for one in every if not wanted or one.name in wanted]


async def measure(
    console: Console, options: argparse.Namespace, conversations: Sequence[Conversation]
) -> dict[str, dict[str, Figures]]:
    """Figures by configuration and group."""
    embedder: Embedder = await asyncio.to_thread(create_embedder, options.embedder)
    kept = KeptVectors(embedder, options.vectors) if options.vectors else None
    results: dict[str, dict[str, list[str]]] = {}
    figures: dict[str, dict[str, Figures]] = {}
    with running_server() as server:
        database = server.create()
        # No memory without its vector: what is still to be made would be missed by the first questions.
        settings = {"embedding_on_write": "require", "embedding_patience": 300.0, "deadline_write": 300.0}
        settings["deadline_ceiling_write"] = 300.0
        async with running_service(database, embedder=kept or embedder, **settings) as service:
            caller = service.caller("bench")
            corpora = await fill(console, options, conversations, caller)
            if kept is not None:
                kept.save()
            outcomes = sum((one.outcomes for one in corpora), Counter[str]())
            console.print("written: " + ", ".join(f"{n} {name}" for name, n in outcomes.most_common()))
            database.execute("ANALYZE")
            for how in chosen(options):
                try:
                    with bar(console, f"asking: {how.name}", questions(conversations)) as step:
                        ranked, times = await ask(
                            caller,
                            corpora,
                            how,
                            results,
                            limit=options.limit,
                            parallel=options.parallel,
                            progress=step,
                        )
                except (grpc.aio.AioRpcError, KeyError, ValueError) as told:
                    text = told.details() if isinstance(told, grpc.aio.AioRpcError) else told
                    console.print(f"{how.name}: not measured: {text}", style="yellow")
                    continue
                results[how.name] = ranked
                figures[how.name] = summarise(conversations, ranked)
                if times:
                    console.print(
                        f"{how.name}: {statistics.median(times) * 1000:.1f} ms a question"
                        f" (median, {options.parallel} at once)",
                        style="dim",
                    )
            if kept is not None:
                kept.save()
        database.close()
    if options.export:
        export(options.export, results)
    return figures


async def fill(
    console: Console, options: argparse.Namespace, conversations: Sequence[Conversation], caller: Any
) -> list[Corpus]:
    """Write everything."""
    total = sum(len(one.turns) for one in conversations)
    with bar(console, "writing", total) as step:
        return [
            await write(caller, one, captions=not options.no_captions, progress=step) for one in conversations
        ]


def questions(conversations: Sequence[Conversation]) -> int:
    """How many there are."""
    return sum(len(one.questions) for one in conversations)


class bar:  # noqa: N801 - reads as a word of the statement
    """A progress bar on a terminal, and a line now and then elsewhere."""

    def __init__(self, console: Console, title: str, total: int) -> None:
        self._console, self._title, self._total = console, title, total
        self._done, self._told = 0, time.monotonic()
        self._live = (
            Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            if console.is_terminal
            else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
            self._task = self._live.add_task(self._title, total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, count: int) -> None:
        """Count what was done."""
        self._done += count
        if self._live is not None:
            self._live.advance(self._task, count)
        elif time.monotonic() - self._told > 15:
            self._told = time.monotonic()
            self._console.print(f"{self._title}: {self._done} of {self._total}", style="dim")


def report(console: Console, figures: Mapping[str, Mapping[str, Figures]]) -> None:
    """One table per group."""
    groups = sorted({group for each in figures.values() for group in each})
    for group in groups:
        columns = [c for c in COLUMNS if any(f[group].of(c) is not None for f in figures.values())]
        count = next(iter(figures.values()))[group].questions
        table = Table(title=f"{group}: {count} questions", title_justify="left")
        table.add_column("configuration")
        for name in columns:
            table.add_column(name, justify="right")
        for name, each in figures.items():
            table.add_row(name, *(f"{each[group].of(column) or 0.0:.3f}" for column in columns))
        console.print(table)


def export(path: Path, results: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """The ranked ids: those of the default into `path`, those of each other into a file beside it."""
    for name, ranked in results.items():
        target = (
            path
            if name == "default"
            else path.with_name(f"{path.stem}.{name.replace(' ', '-')}{path.suffix}")
        )
        with target.open("w", encoding="utf-8") as file:
            for question_id, ids in sorted(ranked.items()):
                file.write(json.dumps({"qid": question_id, "ids": list(ids)}) + "\n")


def main() -> int:
    """Measure and print."""
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else 130)
    try:
        conversations = read_folder(options.data)
    except ValueError as error:
        console.print(str(error), style="red")
        return 2
    if options.corpus:
        conversations = [one for one in conversations if one.corpus in options.corpus]
    began = time.monotonic()
    figures = asyncio.run(measure(console, options, conversations))
    report(console, figures)
    if options.json:
        told = {
            name: {
                group: {c: f.of(c) for c in COLUMNS} | {"questions": f.questions} for group, f in each.items()
            }
            for name, each in figures.items()
        }
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    console.print(f"{time.monotonic() - began:.0f} s in all", style="dim")
    return 0


if __name__ == "__main__":
    sys.exit(main())
