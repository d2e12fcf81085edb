"""What was measured at one point, and how it compares."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.measure import Timing
from muniment_server.storage.recall import EXACT_ROWS

RATIO = 1.5
FASTER = 1.3
GROWTH = 3.0
DRAWN = 0.98


def percentile(timing: Timing, share: float) -> float:
    """Milliseconds that a share (0 to 1) of the calls took at most."""
    return statistics.quantiles(timing.samples, n=1000, method="inclusive")[round(share * 1000) - 1]


@dataclass
class Point:
    """One size of subject in one size of tenant. Times in milliseconds, rates in calls a second."""

    subject: int
    tenant: int
    timings: dict[str, Timing]
    rates: dict[str, float]
    recalls: dict[str, float]
    load: float

    @property
    def given_ratio(self) -> float:
        """Recall with a given vector to its bare SQL and an empty RPC; goal at most 1.5."""
        timings = self.timings
        return timings["given"].p50 / (timings["sql"].p50 + timings["empty"].p50)

    @property
    def text_ratio(self) -> float:
        """The same from text, with the embedding added to what it is compared with."""
        timings = self.timings
        bare = timings["sql"].p50 + timings["empty"].p50 + timings["embedding"].p50
        return timings["text"].p50 / bare

    @property
    def text_met(self) -> bool:
        """Whether Recall from text takes at most 1.5 times SQL and RPC, plus the embedding."""
        timings = self.timings
        allowed = RATIO * (timings["sql"].p50 + timings["empty"].p50) + timings["embedding"].p50
        return timings["text"].p50 <= allowed

    @property
    def plain_ratio(self) -> float:
        """How many times faster the alternative is; goal at most 1.3."""
        return self.timings["given"].p50 / self.timings["plain"].p50

    @property
    def complete(self) -> bool:
        """Whether nothing was missed, or next to nothing where the subject is drawn from."""
        least = 1.0 if self.subject <= EXACT_ROWS else DRAWN
        return all(value >= least for value in self.recalls.values())

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "subject": self.subject,
            "tenant": self.tenant,
            "load": round(self.load, 2),
            "milliseconds": {
                name: {
                    "p50": round(timing.p50, 3),
                    "p95": round(percentile(timing, 0.95), 3),
                    "p99": round(percentile(timing, 0.99), 3),
                    "calls": len(timing.samples),
                }
                for name, timing in self.timings.items()
            },
            "calls_per_second": {name: round(rate, 1) for name, rate in self.rates.items()},
            "recall_at_10": {name: round(value, 4) for name, value in self.recalls.items()},
            "ratios": {
                "given": round(self.given_ratio, 3),
                "text": round(self.text_ratio, 3),
                "alternative": round(self.plain_ratio, 3),
            },
        }


def growths(points: list[Point]) -> dict[int, float]:
    """By subject: p95 in the largest tenant to p95 in the smallest; goal at most 3."""
    found = {}
    for size in {one.subject for one in points}:
        some = sorted((one for one in points if one.subject == size), key=lambda one: one.tenant)
        if len(some) > 1:
            first, last = (percentile(one.timings["given"], 0.95) for one in (some[0], some[-1]))
            found[size] = last / first
    return dict(sorted(found.items()))


def missed(points: list[Point]) -> list[str]:
    """The goals that were not met."""
    found = []
    for one in points:
        where = f"subject {one.subject:,} in tenant {one.tenant:,}"
        if one.given_ratio > RATIO:
            found.append(f"{where}: {one.given_ratio:.2f} times bare SQL and an empty RPC (goal {RATIO})")
        if not one.text_met:
            found.append(f"{where}: from text more than {RATIO} times SQL and RPC, plus the embedding")
        if one.plain_ratio > FASTER:
            found.append(f"{where}: the alternative is {one.plain_ratio:.2f} times faster (goal {FASTER})")
        if not one.complete:
            found.append(f"{where}: recall@10 {one.recalls} (goal 1.0, drawn {DRAWN})")
    for size, growth in growths(points).items():
        if growth > GROWTH:
            found.append(f"subject {size:,}: p95 grows {growth:.1f} times with the tenant (goal {GROWTH})")
    return found
