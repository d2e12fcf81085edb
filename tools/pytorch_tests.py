"""Runs tests/extras, which need PyTorch, in an environment of their own: part of `make test` where CI is set.

PyTorch is 6 GB on Linux. Where there is no room for it, or it cannot be installed in time, the tests are
left out and the reason is printed; what they find when they run counts like any other test.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOM = 14 * 2**30
"""Bytes: of what is installed, and of the packages that are kept beside it."""
SECONDS = 480.0


def refusal() -> str | None:
    """Install; why that could not be done, if it could not."""
    if (ROOT / ".tools/st/.installed").exists():
        return None
    free = shutil.disk_usage(ROOT).free
    if free < ROOM:
        return f"{free / 2**30:.0f} GiB are free, and PyTorch takes {ROOM / 2**30:.0f}"
    make = shutil.which("make") or "make"
    with subprocess.Popen([make, ".tools/st/.installed"], cwd=ROOT, start_new_session=True) as installing:
        try:
            code = installing.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(installing.pid, signal.SIGKILL)
            return f"PyTorch was not installed within {SECONDS:.0f} s"
    return "PyTorch could not be installed" if code else None


def main() -> int:
    """The exit code of the tests; 0 where they are left out."""
    reason = refusal()
    if reason is not None:
        print(f"SKIPPED tests/extras: {reason}", flush=True)
        return 0
    return subprocess.run(
        [".tools/st/bin/python", "-m", "pytest", "tests/extras", *sys.argv[1:]], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
