"""How many threads a model may use."""

import os
from pathlib import Path

_MOST = 4


def processor_limit(quota_file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the whole processors this process may use, at least 1.

    Engines count the machine's processors; in a container with a quota they would start one spinning
    thread for each processor of the host.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        if quota != "max":
            count = min(count, int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):
        pass
    return max(count, 1)


def inference_threads() -> int:
    """Threads for one inference: half of the processors, at most four.

    The models are small, so more than four cost more than they bring. And an engine's threads wait for
    each other spinning: where all processors are taken and the database needs one too, an inference
    takes ten times as long (measured on two processors: 12 ms with one thread, 70 to 180 ms with two).
    """
    return max(1, min(processor_limit() // 2, _MOST))
