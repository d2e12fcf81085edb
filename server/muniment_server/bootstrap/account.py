"""The system account that PostgreSQL runs under when the service was started as root.

PostgreSQL refuses to run as root. Started by anybody else, it simply runs as that user.
"""

import logging
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BootstrapError

_LOG = logging.getLogger(__name__)
_ACCOUNTS = ("muniment", "postgres")


@dataclass(frozen=True, slots=True)
class Account:
    """Who owns the data folder and runs the server; `demoted` when that is not the caller."""

    uid: int
    gid: int
    name: str
    demoted: bool

    def subprocess_arguments(self) -> dict[str, Any]:
        """Arguments for subprocess that make the child run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.demoted else {}

    def own(self, path: Path) -> None:
        """Give a file or folder to this account."""
        if self.demoted:
            os.chown(path, self.uid, self.gid)


def find_account(data: Path) -> Account:
    """The account for a data folder: its owner where it exists, otherwise chosen.

    As root: the folder's owner, or `muniment`, or `postgres`, or a new system account `muniment`.
    Raises BootstrapError when the folder belongs to somebody else or no account can be made.
    """
    owner = data.stat().st_uid if data.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner != os.geteuid():
            raise BootstrapError(
                f"The data folder {data} belongs to the user with id {owner}. Start Muniment as that user, "
                "or give the folder to the user it is started as."
            )
        return Account(os.geteuid(), os.getegid(), str(os.geteuid()), demoted=False)
    if owner:
        entry = pwd.getpwuid(owner)
        return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, demoted=True)
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, demoted=True)
    return _create_account(_ACCOUNTS[0])


def _create_account(name: str) -> Account:
    tool = shutil.which("useradd")
    if tool is not None:
        command = [tool, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
        if done.returncode == 0:
            _LOG.warning("PostgreSQL cannot run as root: created the system account %r for it", name)
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, demoted=True)
    raise BootstrapError(
        f"PostgreSQL cannot run as root and no account {name!r} could be created for it. Start Muniment as "
        "an ordinary user, or create that system account."
    )


def make_reachable(account: Account, paths: Iterable[Path]) -> None:
    """Let a demoted account pass through the folders above `paths`: search permission and nothing else.

    A folder that had to be opened is named in the log.
    """
    if not account.demoted:
        return
    for path in paths:
        for folder in path.resolve().parents:
            mode = folder.stat().st_mode
            if not mode & stat.S_IXOTH and not _may_search(account, folder.stat()):
                folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
                _LOG.warning(
                    "PostgreSQL runs as %r here, not as root: let others pass through (not list) %s",
                    account.name,
                    folder,
                )


def _may_search(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return False
