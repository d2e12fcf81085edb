"""Runs all tests: `make test`. Arguments go to pytest.

The tests run in two processes. The server and the Python client both register the contract with the
protobuf runtime, with and without the validation rules, and one process can hold only one of the two.
So tests/client and tests/e2e, which use the client, run apart from the tests that import the server.
The closing line adds both up.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
RUNS = (("unit", "storage", "contract", "security", "cli"), ("client", "e2e"))

NO_TESTS_COLLECTED = 5


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


def main() -> int:
    total: Counter[str] = Counter()
    code = 0
    for tiers in RUNS:
        folders = [f"tests/{tier}" for tier in tiers if (ROOT / "tests" / tier).is_dir()]
        if not folders:
            continue
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", *folders, *sys.argv[1:]]
            result = subprocess.run(command, cwd=ROOT, check=False).returncode
            total += count(report)
        if result not in (0, NO_TESTS_COLLECTED):
            code = code or result
    if not code and not total["passed"]:
        print("no test ran")
        code = NO_TESTS_COLLECTED
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
