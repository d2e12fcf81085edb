"""The embedded PostgreSQL: closed from its first moment, silent about content, and hard to break."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from muniment_server.bootstrap.account import find_account
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.bootstrap.errors import BootstrapError
from muniment_server.bootstrap.passwords import scram_verifier
from muniment_server.storage.roles import set_password
from support.postgres import reachable_folder

PASSWORD = "c0ffee" * 8
SERVER_FOLDER = Path(__file__).parents[2] / "server"


@pytest.fixture
def embedded(home: Path) -> Iterator[EmbeddedPostgres]:
    """A started server in a home of its own."""
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    yield server
    server.stop()


def postmaster(server: EmbeddedPostgres) -> psutil.Process:
    return psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))


def gone(process: psutil.Process) -> bool:
    """Ended; a zombie waits for the system's own reaper."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def answers(server: EmbeddedPostgres) -> bool:
    with psycopg.connect(server.superuser_conninfo()) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def in_another_process(home: Path, then: str) -> subprocess.Popen[str]:
    """Start the server from another process, run `then` there, and say so."""
    code = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from muniment_server.bootstrap.embedded import EmbeddedPostgres\n"
        f"server = EmbeddedPostgres(Path({str(home)!r}), {PASSWORD!r})\n"
        "server.start()\n"
        "print('started', flush=True)\n"
        f"{then}\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SERVER_FOLDER)},
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=60)
    return output


@pytest.mark.parametrize("role", ["postgres", "muniment_app"])
@pytest.mark.parametrize("password", ["", "wrong"])
def test_nobody_gets_in_without_the_password(embedded: EmbeddedPostgres, role: str, password: str) -> None:
    with psycopg.connect(embedded.superuser_conninfo(), autocommit=True) as connection:
        connection.execute("CREATE ROLE muniment_app LOGIN")
    with pytest.raises(psycopg.OperationalError) as raised:
        psycopg.connect(
            host=str(embedded.socket_folder),
            user=role,
            password=password,
            dbname="postgres",
            passfile=str(embedded.home / "none"),
        )
    assert "no password supplied" in str(raised.value) or "authentication failed" in str(raised.value)


def test_the_access_rules_are_ours_and_nothing_listens_on_a_network(embedded: EmbeddedPostgres) -> None:
    with psycopg.connect(embedded.superuser_conninfo()) as connection:
        rules = connection.execute("SELECT type, auth_method, error FROM pg_hba_file_rules").fetchall()
        assert rules == [("local", "scram-sha-256", None)]
        verifiers = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolcanlogin").fetchall()
        assert all(verifier.startswith("SCRAM-SHA-256$") for (verifier,) in verifiers)
    assert [c for c in postmaster(embedded).net_connections() if c.family.name != "AF_UNIX"] == []
    for folder in (embedded.data, embedded.run):
        assert folder.stat().st_mode & 0o077 == 0


def test_rules_that_somebody_opened_are_closed_at_the_next_start(home: Path) -> None:
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    server.stop()
    (server.data / "pg_hba.conf").write_text("local all all trust\n")
    with (server.data / "postgresql.auto.conf").open("a") as file:
        file.write("fsync = off\nlog_statement = 'all'\nlisten_addresses = '*'\n")
    server.start()
    try:
        with psycopg.connect(server.superuser_conninfo()) as connection:
            rules = connection.execute("SELECT auth_method FROM pg_hba_file_rules").fetchall()
            assert rules == [("scram-sha-256",)]
            for name, value in (("fsync", "on"), ("log_statement", "none"), ("listen_addresses", "")):
                assert connection.execute("SELECT current_setting(%s)", (name,)).fetchone() == (value,)
    finally:
        server.stop()


def test_rules_opened_on_a_running_server_are_closed_by_the_next_to_use_it(
    embedded: EmbeddedPostgres,
) -> None:
    (embedded.data / "pg_hba.conf").write_text("local all all trust\n")
    with psycopg.connect(embedded.superuser_conninfo(), autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.3)
    second = EmbeddedPostgres(embedded.home, PASSWORD)
    second.start()
    second.stop()
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(
            host=str(embedded.socket_folder),
            user="postgres",
            password="",
            passfile=str(embedded.home / "none"),
        )


def test_a_server_with_an_open_door_of_somebody_elses_making_is_refused(home: Path) -> None:
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    command = postmaster(server).cmdline()
    server.stop()
    rules = server.data / "open.conf"
    rules.write_text("local all all trust\n")
    open_door = subprocess.Popen(
        [*command, "-c", f"hba_file={rules}", "-c", "logging_collector=off"],
        cwd="/", stderr=subprocess.DEVNULL, **find_account(server.data).subprocess_arguments(),
    )  # fmt: skip
    try:
        while not (server.socket_folder / ".s.PGSQL.5432").exists():
            time.sleep(0.05)
        with pytest.raises(BootstrapError, match="without a password"):
            server.start()
    finally:
        open_door.send_signal(signal.SIGINT)
        open_door.wait(30)


def test_what_is_written_survives_a_loss_of_power(embedded: EmbeddedPostgres) -> None:
    with psycopg.connect(embedded.superuser_conninfo()) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit", "data_checksums"):
            assert connection.execute("SELECT current_setting(%s)", (name,)).fetchone() == ("on",)


def test_the_log_holds_nothing_of_a_statement(embedded: EmbeddedPostgres) -> None:
    secret = "QZX-7781-in-clear"
    with psycopg.connect(embedded.superuser_conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a text PRIMARY KEY)")
        connection.execute("INSERT INTO t VALUES (%s)", (secret,))
        for statement, values in (
            ("INSERT INTO t VALUES (%s)", (secret,)),
            (f"SELECT '{secret}'::integer", None),
            ("SELECT %s::uuid", (secret,)),
            (f"SELECT broken syntax '{secret}'", None),
            (f"DO $$ BEGIN RAISE EXCEPTION '{secret}'; END $$", None),
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement.encode(), values)
        connection.execute(f"DO $$ BEGIN RAISE WARNING '{secret}'; END $$".encode())
    files = [*(embedded.data / "log").iterdir(), embedded.run / "start.log"]
    assert len(files) >= 2
    written = b"".join(file.read_bytes() for file in files)
    assert b"ready to accept connections" in written
    assert secret.encode() not in written


def test_the_password_is_in_no_argument_environment_or_file(embedded: EmbeddedPostgres) -> None:
    process = postmaster(embedded)
    seen = " ".join(process.cmdline()) + str(process.environ())
    assert PASSWORD not in seen
    for file in embedded.home.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file


def test_the_callers_shell_does_not_reach_the_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "7777")
    monkeypatch.setenv("PGOPTIONS", "-c search_path=elsewhere")
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    try:
        environment = postmaster(server).environ()
        assert not {"PGPORT", "PGOPTIONS"} & environment.keys()
        assert environment["TZ"] == "UTC"
    finally:
        server.stop()


def test_the_last_user_stops_it(embedded: EmbeddedPostgres) -> None:
    process = postmaster(embedded)
    second = EmbeddedPostgres(embedded.home, PASSWORD)
    second.start()
    embedded.stop()
    assert not gone(process)
    assert answers(second)
    second.stop()
    assert gone(process)
    assert not (embedded.data / "postmaster.pid").exists()


def test_several_processes_may_start_it_at_once(home: Path) -> None:
    wait = "sys.stdin.readline(); server.stop(); print('stopped')"
    starters = [in_another_process(home, wait) for _ in range(3)]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    process = postmaster(server)
    outputs = [starter.communicate("go\n", timeout=60)[0] for starter in starters]
    assert outputs == ["stopped\n"] * 3
    assert answers(server)
    server.stop()
    assert gone(process)


def test_a_killed_starter_leaves_a_server_that_the_next_start_takes_over(home: Path) -> None:
    killed = in_another_process(home, "os.kill(os.getpid(), signal.SIGKILL)")
    assert finish(killed) == "started\n"
    assert killed.returncode == -signal.SIGKILL
    server = EmbeddedPostgres(home, PASSWORD)
    before = postmaster(server)
    server.start()
    assert postmaster(server) == before
    assert answers(server)
    server.stop()
    assert gone(before)


def test_a_killed_database_recovers_with_everything_committed(embedded: EmbeddedPostgres) -> None:
    with psycopg.connect(embedded.superuser_conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a integer)")
        connection.execute("INSERT INTO t SELECT generate_series(1, 1000)")
    process = postmaster(embedded)
    process.kill()
    process.wait(10)
    assert (embedded.data / "postmaster.pid").exists()
    again = EmbeddedPostgres(embedded.home, PASSWORD)
    again.start()
    try:
        with psycopg.connect(again.superuser_conninfo()) as connection:
            assert connection.execute("SELECT count(*) FROM t").fetchone() == (1000,)
    finally:
        again.stop()


def test_a_stale_process_number_that_belongs_to_somebody_else_is_no_obstacle(home: Path) -> None:
    """In a container the numbers return quickly: the old postmaster's may be anything's now."""
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    lines = (server.data / "postmaster.pid").read_text().splitlines()
    server.stop()
    account = find_account(server.data)
    bystander = subprocess.Popen(["sleep", "60"], **account.subprocess_arguments())
    try:
        (server.data / "postmaster.pid").write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")
        server.start()
        assert answers(server)
        server.stop()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def broken_off(home: Path, before: str) -> None:
    """Leave what a first start leaves that is killed before it renames this file."""

    class Killed(BaseException):
        pass

    rename = Path.rename

    def dying(path: Path, target: Path) -> Path:
        if before in (path.name, target.name):
            raise Killed
        return rename(path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", dying)
        with pytest.raises(Killed):
            EmbeddedPostgres(home, PASSWORD).start()


@pytest.mark.parametrize("before", ["muniment.ready", "base", "pg_wal", "PG_VERSION"])
def test_a_first_start_that_was_broken_off_is_taken_up_again(home: Path, before: str) -> None:
    broken_off(home, before)
    data = home / "postgres"
    assert not (data / "PG_VERSION").exists()
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    assert answers(server)
    server.stop()
    assert list(data.glob("muniment.*")) == []


def test_a_first_start_killed_while_its_initdb_works_is_begun_again(home: Path) -> None:
    killed = in_another_process(home, "")
    deadline = time.monotonic() + 60
    while not list((home / "postgres").glob("muniment.new-*/base")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    killed.kill()
    killed.communicate(timeout=60)
    # Its initdb may go on for a while, in a folder of its own.
    server = EmbeddedPostgres(home, PASSWORD)
    server.start()
    assert answers(server)
    server.stop()
    server.start()
    server.stop()
    assert list((home / "postgres").glob("muniment.*")) == []


@contextmanager
def mounted(source: Path, place: Path) -> Iterator[None]:
    """`source` bound to `place`, as a container engine binds a volume."""
    for folder in (source, place):
        folder.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "--bind", str(source), str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount command")
def test_the_data_folder_may_be_a_bind_mount(home: Path) -> None:
    with mounted(home.parent / "volume", home / "postgres"):
        # A volume of its own file system brings this along.
        (home / "postgres" / "lost+found").mkdir()
        broken_off(home, "base")
        server = EmbeddedPostgres(home, PASSWORD)
        server.start()
        try:
            with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
                connection.execute("CREATE TABLE t (a integer)")
        finally:
            server.stop()
        server.start()
        try:
            with psycopg.connect(server.superuser_conninfo()) as connection:
                assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
        finally:
            server.stop()
        assert (home / "postgres").stat().st_mode & 0o077 == 0
    assert (home.parent / "volume" / "PG_VERSION").exists()
    assert list((home / "postgres").iterdir()) == []


def test_the_data_folder_may_be_a_link(home: Path) -> None:
    (home.parent / "elsewhere").mkdir()
    home.mkdir(mode=0o711)
    (home / "postgres").symlink_to(home.parent / "elsewhere")
    first, second = EmbeddedPostgres(home, PASSWORD), EmbeddedPostgres(home, PASSWORD)
    first.start()
    process = postmaster(first)
    try:
        second.start()
        assert postmaster(second) == process
        first.stop()
        assert answers(second)
    finally:
        second.stop()
    assert gone(process)


def test_folders_that_are_not_ours_are_left_alone(home: Path) -> None:
    data = home / "postgres"
    data.mkdir(parents=True)
    (data / "precious").write_text("x")
    with pytest.raises(BootstrapError, match="neither empty nor"):
        EmbeddedPostgres(home, PASSWORD).start()
    assert (data / "precious").read_text() == "x"
    (data / "precious").unlink()
    (data / "PG_VERSION").write_text("16\n")
    with pytest.raises(BootstrapError, match="PostgreSQL 16"):
        EmbeddedPostgres(home, PASSWORD).start()


def test_a_long_path_gets_a_short_private_socket_folder() -> None:
    with reachable_folder() as folder:
        home = folder / ("deep" * 12) / ("er" * 24) / "home"
        server = EmbeddedPostgres(home, PASSWORD)
        server.start()
        try:
            assert answers(server)
            assert server.socket_folder != server.run
            assert server.socket_folder.stat().st_mode & 0o077 == 0
        finally:
            server.stop()
            server.socket_folder.rmdir()


def test_another_master_key_is_named_as_the_reason(embedded: EmbeddedPostgres) -> None:
    with pytest.raises(BootstrapError, match="another master key") as raised:
        EmbeddedPostgres(embedded.home, "00" * 32).start()
    assert "00" * 32 not in str(raised.value)
    assert answers(embedded)


def test_the_superuser_follows_a_rotation(embedded: EmbeddedPostgres) -> None:
    rotated = EmbeddedPostgres(embedded.home, "11" * 32, earlier=("22" * 32, PASSWORD))
    rotated.start()
    rotated.stop()
    later = EmbeddedPostgres(embedded.home, "11" * 32)
    later.start()
    assert answers(later)
    with psycopg.connect(later.superuser_conninfo(), autocommit=True) as connection:
        set_password(connection, "postgres", scram_verifier(PASSWORD))
    later.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives the server to another account")
def test_as_root_the_folders_above_are_opened_for_passing_through_only() -> None:
    with reachable_folder() as folder:
        closed = folder / "closed"
        closed.mkdir(mode=0o700)
        server = EmbeddedPostgres(closed / "home", PASSWORD)
        server.start()
        try:
            assert closed.stat().st_mode & 0o777 == 0o701
            assert postmaster(server).uids().real != 0
        finally:
            server.stop()
