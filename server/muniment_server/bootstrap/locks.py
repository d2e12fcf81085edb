"""File locks that end with their process, however it ends."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from .errors import BootstrapError


class FileLock:
    """An advisory lock on a file, shared or exclusive. Not inherited by child processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, *, shared: bool = False, timeout: float = 0.0) -> bool:
        """Take the lock, waiting up to `timeout` seconds; tells whether it was taken."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.05)

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Turn:
    """`with Turn(path):` one process at a time; raises BootstrapError after `timeout` seconds."""

    def __init__(self, path: Path, timeout: float = 180.0) -> None:
        self._lock = FileLock(path)
        self._path = path
        self._timeout = timeout

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._timeout):
            self._lock.release()
            raise BootstrapError(
                f"Another process has been starting or stopping the database for {self._timeout:.0f} seconds "
                f"(lock {self._path}). Wait for it, or end it, and start again."
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
