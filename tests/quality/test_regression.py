"""Recall on our own sentences, in two languages, with the default embedder: a floor under its quality.

`data/*.yaml` holds one subject each: memories (`kind`, `text`, and where they have one a `slot`, a `date`, a
speaker `by`, a session `in` with a place `n`, and `replaces` for a correction through the slot) and questions
(`ask`, the memories that answer, and what makes the question hard). The floors lie a little below what is
measured, so that a model or a weight that makes recall worse is noticed and rounding is not.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import pytest
import yaml

from muniment_server._gen.muniment.v1 import memory_pb2, write_pb2
from muniment_server.embedding.factory import create_embedder
from support.postgres import PostgresServer
from support.service import Caller, running_service

DATA = Path(__file__).with_name("data")
FLOORS = {"R@1": 0.83, "R@5": 0.94, "answered": 0.95, "nothing": 0.75}
"""R@k: share of the answering memories among the first k. answered: questions to which anything is returned
with the server's own threshold. nothing: questions without an answer of which it says so."""


@dataclass
class Tally:
    """Sums by name of a figure."""

    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, name: str, value: float) -> None:
        self.sums[name] += value
        self.counts[name] += 1

    def mean(self, name: str) -> float:
        return self.sums[name] / self.counts[name]

    def __str__(self) -> str:
        return ", ".join(f"{name} {self.mean(name):.3f} ({self.counts[name]})" for name in sorted(self.sums))


def to_item(memory: dict[str, Any]) -> write_pb2.WriteItem:
    item = write_pb2.WriteItem(
        kind=f"MEMORY_KIND_{memory['kind'].upper()}",
        content=memory["text"],
        slot=memory.get("slot", ""),
        speaker=memory.get("by", ""),
        turn_number=memory.get("n"),
        provenance=memory_pb2.Provenance(
            source_type=memory_pb2.SOURCE_TYPE_USER_STATED, session=memory.get("in")
        ),
    )
    if "date" in memory:
        item.validity.start_time.FromDatetime(datetime.combine(memory["date"], time(), UTC))
    return item


async def write(caller: Caller, subject: str, memories: list[dict[str, Any]]) -> dict[str, str]:
    """Names by memory id. A correction is written after what it replaces."""
    names: dict[str, str] = {}
    for later in (False, True):
        batch = [memory for memory in memories if ("replaces" in memory) is later]
        for start in range(0, len(batch), 25):
            part = batch[start : start + 25]
            response = await caller.write(subject, *(to_item(memory) for memory in part))
            for memory, result in zip(part, response.results, strict=True):
                names[result.memory.memory_id] = memory["id"]
                if later:
                    assert names[result.superseded_memory_id] == memory["replaces"]
    assert len(names) == len(memories), "no statement was taken for another"
    return names


async def ask(
    caller: Caller, subject: str, names: dict[str, str], one: dict[str, Any], tallies: dict[str, Tally]
) -> None:
    """Ask one question and count what came back."""
    kept = await caller.recall(subject, one["ask"], limit=5)
    sort = tallies[one["sort"]]
    if not one["gold"]:
        for tally in (tallies["all"], sort):
            tally.add("nothing", float(kept.no_relevant_memory))
        return
    answer = await caller.recall(subject, one["ask"], limit=5, min_score=0.0)
    found = [names[ranked.memory.memory_id] for ranked in answer.memories]
    gold = set(one["gold"])
    for tally in (tallies["all"], sort):
        tally.add("R@1", len(gold & set(found[:1])) / min(1, len(gold)))
        tally.add("R@5", len(gold & set(found)) / len(gold))
        tally.add("answered", float(len(kept.memories) > 0))
    if not gold & set(found[:1]):
        tallies["missed first"].add(f"{subject}: {one['ask']} -> {found}, not {one['gold']}", 0.0)


@pytest.mark.timeout(300)
async def test_recall_is_as_good_as_it_was(postgres_server: PostgresServer) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    database = postgres_server.create()
    try:
        embedder = await asyncio.to_thread(create_embedder)
        async with running_service(database, embedder=embedder) as service:
            caller = service.caller()
            for path in sorted(DATA.glob("*.yaml")):
                data = yaml.safe_load(path.read_text(encoding="utf-8"))
                names = await write(caller, data["subject"], data["memories"])
                for one in data["questions"]:
                    await ask(caller, data["subject"], names, one, tallies)
    finally:
        database.close()
        postgres_server.drop(database)
    for sort, tally in sorted(tallies.items()):
        if sort == "missed first":
            print(*tally.sums, sep="\n")
        else:
            print(f"{sort:12} {tally}")
    means = {name: tallies["all"].mean(name) for name in FLOORS}
    assert {name: mean for name, mean in means.items() if mean < FLOORS[name]} == {}
