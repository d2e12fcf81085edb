"""Makes the data folder of the embedded PostgreSQL, in a place that may be a mount point.

`initdb` works in a folder of its own inside the data folder. When it is done, its files are moved up one
by one, `PG_VERSION` last: where that file stands, everything stands. A start that was killed half-way is
taken up by the next one, and nothing that we did not make is ever removed. Every move stays inside the
data folder, so that it does not matter what is mounted where.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .account import Account
from .errors import BootstrapError
from .passwords import scram_verifier

SUPERUSER = "postgres"
MAJOR = "18"
_MARKER = "PG_VERSION"
_UNFINISHED = "muniment.new-"
"""Prefix of folders in which `initdb` works or worked; each start has its own, since the child of a killed
start may still be writing into an earlier one."""
_FINISHED = "muniment.ready"
_OF_THE_FILE_SYSTEM = "lost+found"


def is_made(data: Path) -> bool:
    """Whether there is a complete data folder. Raises BootstrapError for one of another major version."""
    marker = data / _MARKER
    if not marker.exists():
        return False
    major = marker.read_text().strip()
    if major != MAJOR:
        raise BootstrapError(
            f"The data folder {data} was made by PostgreSQL {major}, this version of Muniment "
            f"brings PostgreSQL {MAJOR}. Dump it with the old version and restore it into a new home."
        )
    return True


def make(data: Path, programs: Path, account: Account, password: str, scratch: Path) -> None:
    """Make the data folder unless it is there; one process at a time.

    data: need not exist; an empty one may be a mount point. password: of the superuser. scratch: a private
    folder for a moment's file. Raises BootstrapError.
    """
    finished = data / _FINISHED
    if not is_made(data) and not finished.exists():
        _refuse_others(data)
        try:
            data.mkdir(mode=0o700, exist_ok=True)
            data.chmod(0o700)
        except OSError as error:
            raise BootstrapError(f"The folder {data} cannot be used: {error.strerror}.") from None
        account.own(data)
        _clean(data)
        _initdb(data, programs, account, password, scratch).rename(finished)
    if finished.exists():
        _move_up(finished, data)
        finished.rmdir()
    _clean(data)


def _refuse_others(data: Path) -> None:
    if data.exists() and any(
        entry.name != _OF_THE_FILE_SYSTEM and not entry.name.startswith(_UNFINISHED)
        for entry in data.iterdir()
    ):
        raise BootstrapError(
            f"The folder {data} is neither empty nor a PostgreSQL data folder. "
            "Move it away, or choose another MUNIMENT_HOME."
        )


def _initdb(data: Path, programs: Path, account: Account, password: str, scratch: Path) -> Path:
    target = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=data))
    account.own(target)
    with tempfile.NamedTemporaryFile(dir=scratch, prefix="verifier-") as file:
        file.write(scram_verifier(password).encode())
        file.flush()
        account.own(Path(file.name))
        command = [
            str(programs / "initdb"), f"--pgdata={target}", f"--username={SUPERUSER}",
            "--auth=scram-sha-256", f"--pwfile={file.name}", "--encoding=UTF8", "--no-locale",
            "--data-checksums", "--no-instructions",
        ]  # fmt: skip
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, env=environment(), cwd="/", check=False,
            **account.subprocess_arguments(),
        )  # fmt: skip
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise BootstrapError(f"The data folder could not be made: {lines[-1] if lines else 'initdb failed'}")
    return target


def _move_up(finished: Path, data: Path) -> None:
    for entry in sorted(finished.iterdir()):
        if entry.name != _MARKER:
            entry.rename(data / entry.name)
    # On disk before the marker is: a loss of power must not leave a marker without its folder.
    _sync(finished, data)
    marker = finished / _MARKER
    if marker.exists():
        marker.rename(data / _MARKER)
    _sync(data)


def _clean(data: Path) -> None:
    for left in data.glob(f"{_UNFINISHED}*"):
        # The child of a killed start may be writing there until it notices; the next start tries again.
        shutil.rmtree(left, ignore_errors=True)


def _sync(*folders: Path) -> None:
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def environment() -> dict[str, str]:
    """The whole environment of PostgreSQL's programs.

    Settings of the caller's shell (PGPORT, PGOPTIONS, locales, time zone) are not the server's.
    """
    return {"PATH": os.defpath, "LC_ALL": "C", "LANG": "C", "TZ": "UTC"}
