"""What all gates together cost per item of 200 characters, in one process, from text to verdict.

Run alone: `python tests/bench/gates.py`. Goal: at most 1 ms per item. Measured in processor time, so that
a busy machine does not change it much.
"""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from muniment_server.domain.gates.policy import DEFAULT_POLICY, GatePolicy, Handling, Sensitive
from muniment_server.domain.gates.screening import Screening
from muniment_server.domain.model import MemoryKind, NewMemory, Provenance, SourceType, TrustLevel

GOAL = 1.0
_LONGEST = 32_768
_DATA = Path(__file__).resolve().parents[1] / "unit" / "gates" / "data"
_PROVENANCE = Provenance(SourceType.AGENT_INFERRED, TrustLevel.MEDIUM, None, None, None, "key", None)


def items(*files: str) -> list[NewMemory]:
    """Items of 200 characters out of the sentences of corpora."""
    text = " ".join(_DATA.joinpath(name).read_text(encoding="utf-8").replace("\n", " ") for name in files)
    return [NewMemory(text[place : place + 200], MemoryKind.FACT) for place in range(0, len(text) - 200, 200)]


def per_item(policy: GatePolicy, chosen: list[NewMemory], rounds: int) -> float:
    """Milliseconds of processor time per item; the best of a few passes."""
    screening = Screening(policy)
    now = datetime.now(UTC)
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for item in chosen:
            screening.screen(item, _PROVENANCE, now)
        best = min(best, (time.process_time() - started) / len(chosen))
    return best * 1000


def figures(rounds: int = 5) -> list[tuple[str, float]]:
    """Name and milliseconds of every case."""
    every = GatePolicy(sensitive=dict.fromkeys(Sensitive, Handling.REDACT), min_importance=0.01)
    return [
        ("English", per_item(DEFAULT_POLICY, items("ordinary-en.txt"), rounds)),
        ("Chinese", per_item(DEFAULT_POLICY, items("ordinary-zh.txt"), rounds)),
        ("suspicious English", per_item(DEFAULT_POLICY, items("instructions-en.txt"), rounds)),
        ("suspicious Chinese", per_item(DEFAULT_POLICY, items("instructions-zh.txt"), rounds)),
        ("English, every detector on", per_item(every, items("ordinary-en.txt"), rounds)),
        ("Chinese, every detector on", per_item(every, items("ordinary-zh.txt"), rounds)),
    ]


def longest(name: str, rounds: int = 2) -> float:
    """Seconds of processor time for a hundred items of 32 KiB each, the most that a request can hold."""
    text = _DATA.joinpath(name).read_text(encoding="utf-8").replace("\n", " ")
    item = (text * (_LONGEST // len(text.encode()) + 1)).encode()[:_LONGEST].decode(errors="ignore")
    chosen = [NewMemory(item[place:] + item[:place], MemoryKind.FACT) for place in range(10)]
    per_item(DEFAULT_POLICY, chosen[:1], 1)
    return per_item(DEFAULT_POLICY, chosen, rounds) / 1000 * 100


def main() -> int:
    """Print the figures; exit code 1 when the goal is missed."""
    found = figures()
    for name, milliseconds in found:
        print(f"gates, 200 characters, {name}: {milliseconds:.3f} ms (goal: at most {GOAL})")
    for name, corpus in (("English", "ordinary-en.txt"), ("Chinese", "ordinary-zh.txt")):
        print(f"gates, 100 items of 32 KiB, {name}: {longest(corpus):.2f} s")
    return 0 if all(milliseconds <= GOAL for _, milliseconds in found) else 1


if __name__ == "__main__":
    sys.exit(main())
