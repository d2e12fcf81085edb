"""Runs all tests: `make test`. Arguments go to pytest.

The tests run as jobs, two at a time, each with a database of its own. They run apart for another reason,
too: the server and the Python client both register the contract with the protobuf runtime, with and without
the validation rules, and one process can hold only one of the two. What a job prints is shown when it ends;
the closing lines add all up.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
PYTEST = (
    ("security",),
    ("e2e",),
    ("contract",),
    ("unit", "quality"),
    ("storage", "cli"),
    ("client",),
)
"""Folders of tests that share a process. What takes longest comes first."""
TARGETS = ("test-rust", "test-java", "test-go", "test-typescript")
"""The tests of clients that have tools of their own."""
EXTRAS = "tests that need PyTorch"
LAST = (("conformance",),)
"""They need what the targets build."""
AT_A_TIME = 2
NO_TESTS_COLLECTED = 5


@dataclass
class Job:
    """One process of tests, and what became of it."""

    name: str
    command: list[str]
    report: Path | None = None
    code: int = 0
    seconds: float = 0.0
    counted: Counter[str] = field(default_factory=Counter)

    def run(self, printing: threading.Lock) -> None:
        """Run it to its end and print what it said."""
        began = time.monotonic()
        done = subprocess.run(
            self.command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.seconds = time.monotonic() - began
        self.code = done.returncode
        if self.report is not None:
            self.counted = count(self.report)
            if self.code == NO_TESTS_COLLECTED:
                self.code = 0
        with printing:
            print(f"\n===== {self.name}: {self.seconds:.0f} s =====", flush=True)
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.flush()


def count(report: Path) -> Counter[str]:
    numbers: Counter[str] = Counter()
    if not report.exists():
        return numbers
    for suite in ElementTree.parse(report).iter("testsuite"):  # noqa: S314, our own pytest wrote it
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        numbers["failed"] += failed
        numbers["skipped"] += skipped
        numbers["passed"] += int(suite.get("tests", 0)) - failed - skipped
    return numbers


def pytest_job(tiers: Sequence[str], reports: Path, arguments: Sequence[str]) -> Job | None:
    folders = [f"tests/{tier}" for tier in tiers if (ROOT / "tests" / tier).is_dir()]
    if not folders:
        return None
    report = reports / f"{tiers[0]}.xml"
    command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", *folders, *arguments]
    return Job(" ".join(tiers), command, report)


def run(jobs: Sequence[Job]) -> None:
    """Run them all, at most AT_A_TIME at the same time."""
    waiting: SimpleQueue[Job] = SimpleQueue()
    for job in jobs:
        waiting.put(job)
    printing = threading.Lock()

    def work() -> None:
        while True:
            try:
                job = waiting.get_nowait()
            except Empty:
                return
            job.run(printing)

    workers = [threading.Thread(target=work) for _ in range(min(AT_A_TIME, os.cpu_count() or 1))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main() -> int:
    arguments = sys.argv[1:]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder)
        first = [job for tiers in PYTEST if (job := pytest_job(tiers, reports, arguments))]
        # Arguments choose tests of Python; what they choose elsewhere nobody knows.
        targets = [
            Job(target, ["make", target])
            for target in TARGETS
            if not arguments and f"\n{target}:" in makefile
        ]
        # It waits for the network more than for a processor. Locally: make test-sentence-transformers.
        extras = []
        if os.environ.get("CI") and not arguments:
            report = reports / "extras.xml"
            command = [sys.executable, "tools/pytorch_tests.py", f"--junit-xml={report}"]
            extras = [Job(EXTRAS, command, report)]
        last = [job for tiers in LAST if (job := pytest_job(tiers, reports, arguments))]
        run([*first[:2], *extras, *targets, *first[2:]])
        run(last)
        jobs = [*first, *extras, *targets, *last]
    total: Counter[str] = Counter()
    print("\n===== all =====")
    for job in jobs:
        total += job.counted
        print(f"{'failed' if job.code else 'ok':<7} {job.seconds:5.0f} s  {job.name}")
    code = next((job.code for job in jobs if job.code), 0)
    if not code and not total["passed"]:
        print("no test ran")
        code = NO_TESTS_COLLECTED
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
