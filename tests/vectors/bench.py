"""What the clients' layers cost: `make bench-clients`.

In one run and on one service, for every language: the latency of a Recall through the layer and through the
bare generated stub, call by call in turn, and the calls per second of 64 Recalls at a time. Everything is
measured inside the driver's own process.
"""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from support.service import RunningService

from .drivers import Driver

CALLS = 400
CONCURRENT_CALLS = 1280
CONCURRENCY = 64
GOAL_SHARE = 0.10
GOAL_MICROSECONDS = 50.0


async def measure(running: RunningService, driver: Driver, figures: dict[str, dict[str, Any]]) -> None:
    """Measure one language."""
    tenant = f"bench-{driver.recipe.language}"
    caller = running.caller(tenant)
    for number in range(100):
        await caller.write("subject", f"Statement number {number} about tea and trains.")
    connect = {
        "op": "connect",
        "target": f"127.0.0.1:{running.port}",
        "api_key": caller.key,
        "tenant": tenant,
        "insecure": True,
    }
    assert (await driver.ask(connect))["ok"]
    line = {
        "op": "bench",
        "method": "MemoryService/Recall",
        "request": {"scope": {"subject": "subject"}, "query": "tea and trains", "limit": 5},
    }
    alone = await driver.ask({**line, "count": CALLS, "warmup": 50, "compare": True}, timeout=300)
    many = await driver.ask({**line, "count": CONCURRENT_CALLS, "concurrency": CONCURRENCY}, timeout=300)
    assert alone["ok"], alone
    assert many["ok"], many
    figures[driver.recipe.language] = {**alone["response"], "many": many["response"]["layer"]}


def show(figures: dict[str, dict[str, Any]]) -> list[str]:
    """Print the table; returns the languages that miss the goal."""
    table = Table(title="Recall, microseconds")
    for heading in ("language", "stub p50", "layer p50", "added", "share", "64 at a time, calls/s", "errors"):
        table.add_column(heading, justify="left" if heading == "language" else "right")
    missed = []
    for language, each in figures.items():
        raw, layer, many = each["raw"], each["layer"], each["many"]
        added = layer["p50_us"] - raw["p50_us"]
        share = added / raw["p50_us"]
        if share > GOAL_SHARE and added > GOAL_MICROSECONDS:
            missed.append(language)
        table.add_row(
            language,
            f"{raw['p50_us']:.0f}",
            f"{layer['p50_us']:.0f}",
            f"{added:+.0f}",
            f"{share:+.1%}",
            f"{many['per_second']:.0f}",
            str(layer["errors"] + many["errors"]),
        )
    Console(width=110).print(table)
    goal = f"at most {GOAL_SHARE:.0%} or {GOAL_MICROSECONDS:.0f} µs added"
    print(f"goal: {goal}; " + (f"missed by {', '.join(missed)}" if missed else "held by all"))
    return missed


async def bench(running: RunningService, drivers: Sequence[Driver]) -> list[str]:
    """Measure all, one after the other."""
    figures: dict[str, dict[str, Any]] = {}
    for driver in drivers:
        await measure(running, driver, figures)
    return show(figures)
