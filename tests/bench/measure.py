"""Timing in pairs: both sides of a ratio take turns, so that a machine's moods hit both alike."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one action over all rounds."""

    samples: list[float]

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.samples, n=20)[-1]


async def in_turns(
    actions: Mapping[str, Callable[[], Awaitable[object]]], rounds: int, warm_up: int = 10
) -> dict[str, Timing]:
    """Run every action once per round and time each."""
    samples: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(warm_up + rounds):
        for name, action in actions.items():
            started = time.perf_counter()
            await action()
            if number >= warm_up:
                samples[name].append((time.perf_counter() - started) * 1000)
    return {name: Timing(values) for name, values in samples.items()}
