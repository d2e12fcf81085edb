"""The command line as an operator uses it: real processes, a real home, and the database asked afterwards."""

import asyncio
import json
import os
import pwd
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest

from muniment_server.bootstrap import derive_role_secrets
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.cli import app as cli
from muniment_server.cli.keys import parse_expiry
from muniment_server.cli.output import CommandError
from muniment_server.crypto.master import FileMasterKeys
from support.postgres import PostgresDatabase, reachable_folder

ROOT = Path(__file__).parents[2]
KEY = re.compile(r"mnm_([a-z0-9]{20})_[0-9A-Za-z]{43}")


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT / "clients" / "python")]),
        "MUNIMENT_HOME": str(home),
        "PYTHONUNBUFFERED": "1",
        **more,
    }


def muniment(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "muniment_server", *arguments],
        capture_output=True,
        text=True,
        env=environment(home, **more),
        timeout=100,
        check=False,
    )


class Serving:
    """`muniment serve` as its own process; `first`: it greets with a development key."""

    def __init__(self, home: Path, *, first: bool) -> None:
        self.output: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(home, MUNIMENT_DRAIN_DELAY="0"),
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output.append(line.rstrip("\n"))
            if line.startswith("Not wanted any more" if first else "Everything is kept in"):
                break

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to this process and wait for its end."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@dataclass
class Installation:
    """A running service and its home."""

    home: Path
    serving: Serving

    def target(self) -> str:
        """Where it listens."""
        match = re.search(r"serves on (\S+)", self.serving.output[0])
        assert match is not None, self.serving.output
        return match[1]

    def recall(self, key: str) -> str:
        """What the service says to a recall with this key: `fine`, or the reason of its refusal."""
        code = (
            "import muniment\n"
            "try:\n"
            "    muniment.connect_sync().recall('tea', subject='ada')\n"
            "    print('fine')\n"
            "except muniment.MunimentError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment(
                self.home, MUNIMENT_TARGET=self.target(), MUNIMENT_TENANT="dev", MUNIMENT_API_KEY=key
            ),
            timeout=60,
            check=False,
        )
        return done.stdout.strip() or done.stderr

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What is stored, as the superuser sees it."""
        secrets = asyncio.run(derive_role_secrets(FileMasterKeys(self.home / "keys" / "master.key")))
        server = EmbeddedPostgres(self.home, secrets.passwords["postgres"])
        with psycopg.connect(server.superuser_conninfo("muniment")) as connection:
            connection.execute("SET search_path = muniment")
            return connection.execute(query.encode()).fetchall()


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """One installation that serves while the tests of this module run."""
    with reachable_folder() as folder:
        serving = Serving(folder / "home", first=True)
        yield Installation(folder / "home", serving)
        if serving.process.poll() is None:
            assert serving.end() == 0


def test_the_greeting_of_a_first_start_can_be_followed_word_by_word(installation: Installation) -> None:
    output = "\n".join(installation.serving.output)
    # What is no terminal may be a log: the key stands in its file only.
    assert KEY.search(output) is None
    assert KEY.fullmatch((installation.home / "dev-key").read_text().strip())
    commands = [line.strip() for line in installation.serving.output if line.startswith("    ")]
    assert len(commands) == 3
    script = "\n".join(commands)
    done = subprocess.run(
        ["/bin/sh", "-ec", script],
        capture_output=True,
        text=True,
        env=environment(installation.home),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ada drinks green tea, never coffee." in done.stdout
    assert installation.rows("SELECT count(*) FROM memory") == [(1,)]


def test_tenants_and_keys_beside_the_running_service(installation: Installation) -> None:
    home = installation.home
    made = muniment(home, "tenants", "create", "acme")
    assert made.returncode == 0, made.stderr
    assert installation.rows("SELECT tenant_id::text FROM tenant WHERE name = 'acme'") == [
        (made.stdout.strip(),)
    ]
    again = muniment(home, "tenants", "create", "acme")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "muniment: The tenant 'acme' exists already.\n"
    listed = json.loads(muniment(home, "tenants", "list", "--json").stdout)
    assert [tenant["name"] for tenant in listed] == ["acme", "dev"]

    created = muniment(
        home, "keys", "create", "--tenant", "acme", "--tenant", "dev", "--permission", "recall",
        "--permission", "write", "--source-type", "tool", "--source-type", "user_stated", "--subject", "u1",
        "--agent", "a1", "--expires", "30d", "--label", "for the tests",
    )  # fmt: skip
    match = KEY.fullmatch(created.stdout.strip())
    assert match is not None, created
    secret = match[0].rpartition("_")[2]
    assert secret not in created.stderr
    everything = muniment(home, "keys", "list", "--json").stdout
    assert secret not in everything
    row = next(row for row in json.loads(everything) if row["public_id"] == match[1])
    assert (row["tenant_names"], row["permissions"]) == (["acme", "dev"], ["write", "recall"])
    assert (row["source_types"], row["max_trust"]) == (["user_stated", "tool"], "high")
    assert (row["subject"], row["agent"], row["label"]) == ("u1", "a1", "for the tests")
    assert timedelta(days=29) < datetime.fromisoformat(row["expire_time"]) - datetime.now(UTC)
    table = muniment(home, "keys", "list", "--tenant", "acme").stdout.splitlines()
    assert [line.split("\t")[:2] for line in table] == [
        ["ID", "PRINCIPAL"],
        [match[1], row["credential_id"]],
    ]
    assert row["credential_id"] in created.stderr
    assert installation.rows(f"SELECT credential::text ~ '{secret}' FROM credential") == [(False,)] * 2


def test_what_operators_do_stands_in_the_trail(installation: Installation) -> None:
    home = installation.home
    auditor = muniment(
        home, "keys", "create", "--tenant", "dev", "--permission", "audit", "--subject", "ada"
    ).stdout.strip()
    first, public_id = (home / "dev-key").read_text().strip(), auditor.split("_")[1]
    assert muniment(home, "keys", "revoke", public_id).returncode == 0
    asked = {"MUNIMENT_TARGET": installation.target(), "MUNIMENT_TENANT": "dev", "MUNIMENT_API_KEY": first}
    listed = muniment(home, "audit", "list", "--action", "administer", **asked)
    assert listed.returncode == 0, listed.stderr
    newest_first = [line.split("\t") for line in listed.stdout.splitlines()[1:]]
    client = f"client muniment-cli/{version('muniment-server')}"
    ours = (f"operator {pwd.getpwuid(os.getuid()).pw_name}, {client}", "ada")
    assert [row[4:] for row in newest_first[:2]] == [
        [*ours, f"api_key_revoked {public_id}: audit; for this subject only"],
        [*ours, f"api_key_created {public_id}: audit; for this subject only"],
    ]
    # The first start's own acts: the tenant and the key that may do everything.
    everything = ", ".join(("write", "recall", "supersede", "erase", "audit", "review", "admin"))
    assert [row[4:] for row in newest_first[-2:]] == [
        ["service muniment", "-", f"api_key_created {first.split('_')[1]}: {everything}"],
        ["service muniment", "-", "tenant_created"],
    ]
    plain = json.loads(muniment(home, "audit", "list", "--subject", "ada", "--json", **asked).stdout)
    told = next(one["administered"] for one in plain if "administered" in one)
    assert (told["act"], told["subject_bound"]) == ("ADMINISTRATIVE_ACT_API_KEY_REVOKED", True)


def test_what_cannot_be_recorded_is_not_done(installation: Installation) -> None:
    nowhere = {"MUNIMENT_KEY_STORE_URL": "postgresql://nobody:hunter2@127.0.0.1:1/keys"}
    refused = muniment(installation.home, "tenants", "create", "unheard", **nowhere)
    assert (refused.returncode, refused.stdout) == (1, "")
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("muniment: ")]
    assert line.startswith("muniment: Nothing was done, because it could not be recorded: ")
    assert "hunter2" not in refused.stderr
    assert installation.rows("SELECT name FROM tenant WHERE name = 'unheard'") == []


def test_a_revoked_key_is_refused_at_once(installation: Installation) -> None:
    created = muniment(installation.home, "keys", "create", "--tenant", "dev", "--permission", "recall")
    key = created.stdout.strip()
    assert installation.recall(key) == "fine"
    revoked = muniment(installation.home, "keys", "revoke", key.split("_")[1])
    assert revoked.returncode == 0
    assert "CREDENTIALS_INVALID" in installation.recall(key)


def test_a_killed_service_starts_again_with_everything(installation: Installation) -> None:
    before = installation.rows("SELECT count(*), (SELECT instance_id FROM instance) FROM memory")
    assert installation.serving.end(signal.SIGKILL) == -signal.SIGKILL
    assert (installation.home / "postgres" / "postmaster.pid").exists()
    installation.serving = Serving(installation.home, first=False)
    assert not KEY.search("\n".join(installation.serving.output))
    assert installation.rows("SELECT count(*), (SELECT instance_id FROM instance) FROM memory") == before
    assert installation.recall((installation.home / "dev-key").read_text().strip()) == "fine"


def test_ctrl_c_ends_service_and_database(installation: Installation) -> None:
    if installation.serving.process.poll() is not None:
        installation.serving = Serving(installation.home, first=False)
    assert installation.serving.end(signal.SIGINT) == 0
    assert not (installation.home / "postgres" / "postmaster.pid").exists()
    # Operators' commands work without a service, and leave no database behind.
    assert muniment(installation.home, "keys", "list").returncode == 0
    assert not (installation.home / "postgres" / "postmaster.pid").exists()
    (installation.home / "keys" / "master.key").rename(installation.home / "keys" / "away")
    lost = muniment(installation.home, "serve")
    assert lost.returncode == 1
    assert re.fullmatch(r"muniment: .*master key file.*\n", lost.stderr)
    (installation.home / "keys" / "away").rename(installation.home / "keys" / "master.key")


def test_migrate_on_a_server_of_ones_own(database: PostgresDatabase, home: Path) -> None:
    refused = muniment(home, "migrate", MUNIMENT_DATABASE_URL=url(database.app_conninfo))
    assert refused.returncode == 1
    assert "act as muniment_owner" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    done = muniment(home, "migrate", "--json", MUNIMENT_DATABASE_URL=url(database.superuser_conninfo))
    assert done.returncode == 0, done.stderr
    instance = json.loads(done.stdout)["instance"]
    stored = database.row("SELECT instance_id::text, dimension FROM instance NATURAL JOIN embedding_model")
    assert (instance["instance_id"], instance["dimension"]) == (stored["instance_id"], stored["dimension"])


def test_a_wrong_setting_is_one_line_and_a_code(home: Path) -> None:
    refused = muniment(home, "serve", "--listen", "nowhere")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch(r"muniment: MUNIMENT_LISTEN.*\n", refused.stderr)
    assert not home.exists()


def url(conninfo: str) -> str:
    """The same as a URL, which is what settings take."""
    parts = psycopg.conninfo.conninfo_to_dict(conninfo)
    return (
        f"postgresql://{parts['user']}:{parts['password']}@/{parts['dbname']}"
        f"?host={parts['host']}&port={parts['port']}"
    )


# --- in this process ------------------------------------------------------------------------------
# Nothing here may load the server's generated code: the client's may be in this process already.


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["keys", "create"], 2, "Missing option '--tenant'"),
        (
            ["keys", "create", "--tenant", "a", "--permission", "fly"],
            2,
            "Invalid value for '--permission': 'fly' is not one of",
        ),
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["tenants", "create", "Acme Corp"], 1, "lower-case letter or digit"),
        (["keys", "create", "--tenant", "A%", "--permission", "all"], 1, "lower-case letter or digit"),
        (
            ["keys", "create", "--tenant", "a", "--permission", "all", "--expires", "1h ago"],
            1,
            "--expires is",
        ),
        (["keys", "create", "--tenant", "a", "--permission", "all", "--subject", ""], 1, "must not be empty"),
        (["keys", "create", "--tenant", "a", "--permission", "all", "--agent", "a\x00"], 1, "printable"),
    ],
)
def test_errors_are_one_line_and_a_code(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.startswith("muniment: ")
    assert captured.err.count("\n") == 1


def test_an_unexpected_error_shows_its_place_and_not_its_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("hunter2")

    monkeypatch.setattr("muniment_server.storage.migrate.load_migrations", fail)
    assert cli.run(["version"]) == 1
    captured = capsys.readouterr()
    assert "ZeroDivisionError (" in captured.err
    assert "hunter2" not in captured.err
    assert captured.err.count("\n") == 1


def test_expiries() -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert parse_expiry("12h", now) == now + timedelta(hours=12)
    assert parse_expiry("90d", now) == now + timedelta(days=90)
    assert parse_expiry("4w", now) == now + timedelta(weeks=4)
    assert parse_expiry("2026-02-01", now) == datetime(2026, 2, 1, tzinfo=UTC)
    assert parse_expiry("2026-01-31T14:00:00+01:00", now) == now + timedelta(hours=1)
    for wrong in (
        "",
        "12",
        "12m",
        "-3d",
        "99999w999",
        "soon",
        "2026-01-31T12:00:00Z",
        "2025-01-01",
    ):
        with pytest.raises(CommandError):
            parse_expiry(wrong, now)
