"""The rotation of the master key, step by step as the operator guide says, beside real servers."""

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import muniment
from muniment_server.bootstrap import derive_role_secrets
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.crypto.master import FileMasterKeys
from support.postgres import reachable_folder

ROOT = Path(__file__).parents[2]


def environment(home: Path, **more: str) -> dict[str, str]:
    path = str(ROOT / "server")
    return {**os.environ, "PYTHONPATH": path, "MUNIMENT_HOME": str(home), "MUNIMENT_DRAIN_DELAY": "0", **more}


class Operator:
    """Runs commands and servers on one home, and keeps all that they print."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / "keys" / "master.key"
        self.printed = ""
        self.target = ""
        self.server: subprocess.Popen[str] | None = None

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "muniment_server", *arguments],
            capture_output=True,
            text=True,
            env=environment(self.home, **more),
            timeout=100,
            check=False,
        )
        self.printed += done.stdout + done.stderr
        return done

    def serve(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(self.home, PYTHONUNBUFFERED="1"),
        )
        assert self.server.stdout is not None
        for line in self.server.stdout:
            found = re.match(r"Muniment serves on (\S+)", line)
            if found:
                self.target = found[1]
            if line.startswith("Everything is kept in"):
                return
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=60)
            assert self.server.returncode == 0
            self.server = None

    def restart(self) -> None:
        self.stop()
        self.serve()

    def ids(self) -> tuple[str, ...]:
        return FileMasterKeys(self.file).key_ids

    def status(self, **more: str) -> dict[str, tuple[str, int, int]]:
        """By id: the use, the keys that it wraps, the connections of servers that began with it."""
        told = json.loads(self.run("master-key", "status", "--json", **more).stdout)
        return {
            each["id"]: (each["use"], each["keys"], each["server_connections"])
            for each in told["master_keys"]
        }

    def client(self) -> muniment.Client:
        key = (self.home / "dev-key").read_text().strip()
        return muniment.connect_sync(self.target, tenant="dev", api_key=key)

    def remembers(self, subject: str) -> list[str]:
        with self.client() as client:
            return sorted(memory.content for memory in client.list_memories(subject=subject, view="full"))

    def write(self, subject: str, text: str) -> None:
        with self.client() as client:
            client.write(text, subject=subject)


@pytest.fixture
def operator() -> Iterator[Operator]:
    with reachable_folder() as folder:
        made = Operator(folder / "home")
        try:
            yield made
        finally:
            if made.server is not None and made.server.poll() is None:
                made.server.send_signal(signal.SIGTERM)
                made.server.communicate(timeout=60)


def steps_of_the_guide() -> list[str]:
    section = (ROOT / "docs/operator.md").read_text("utf-8").partition("### Rotate the master key\n")[2]
    return section.partition("```sh no-run\n")[2].partition("```")[0].splitlines()


def opens(home: Path, role: str, keys: FileMasterKeys, key_id: str) -> bool:
    """Whether the role's password is the one that this master key gives."""

    async def derived() -> dict[str, dict[str, str]]:
        secrets = await derive_role_secrets(keys)
        return {
            each: {name: secrets.candidates(name)[number] for name in secrets.passwords}
            for number, each in enumerate(keys.key_ids)
        }

    passwords = asyncio.run(derived())[key_id]
    try:
        psycopg.connect(EmbeddedPostgres(home, "").conninfo(role, passwords[role], "muniment")).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.timeout(600)
def test_the_guides_steps(operator: Operator) -> None:
    add, restart, rewrap, retire, verify = (line.split() for line in steps_of_the_guide())
    assert (restart[0], verify) == ("systemctl", ["muniment", "verify", "--deep"])
    operator.serve()
    operator.write("before", "Was there before")
    (old,) = operator.ids()
    old_text = operator.file.read_text().splitlines()[-1]
    operator.stop()
    backup = operator.home.parent / "backup"
    subprocess.run(["cp", "-a", str(operator.home / "postgres"), str(backup)], check=True)
    operator.serve()
    assert operator.status()[old][0] == "wraps"

    # 1. The new key is there; the running server goes on, for subjects old and new.
    added = operator.run(*add[1:])
    assert added.returncode == 0, added.stderr
    new = added.stdout.strip()
    both = FileMasterKeys(operator.file)
    assert both.key_ids == (new, old)
    operator.write("meanwhile", "Written with the old key")
    status = operator.status()
    assert status[new] == ("wraps", 0, 0)
    assert (status[old][0], status[old][2] > 0) == ("opens", True)
    early = operator.run(*rewrap[1:])
    assert (early.returncode, early.stdout) == (1, "")
    assert f"Restart the servers that began with another master key ({old}:" in early.stderr
    assert operator.run(*retire[1:]).returncode == 1
    assert operator.run(*add[1:]).returncode == 1
    assert operator.remembers("meanwhile") == ["Written with the old key"]
    assert operator.ids() == (new, old)

    # 2. With the restart the passwords of the roles follow, and new keys are wrapped by the new one.
    roles = ("muniment_app", "muniment_maintenance")
    assert all(opens(operator.home, role, both, old) for role in roles)
    operator.restart()
    assert all(opens(operator.home, role, both, new) for role in roles)
    assert not any(opens(operator.home, role, both, old) for role in (*roles, "postgres"))
    operator.write("after", "Written with the new key")
    status = operator.status()
    assert status[new][1] == 1
    assert (status[new][2] > 0, status[old][2]) == (True, 0)
    waits = operator.run(*retire[1:])
    assert (waits.returncode, f"{old} still wraps {status[old][1]} keys" in waits.stderr) == (1, True)

    # 3. and 4., beside the running server.
    done = operator.run(*rewrap[1:])
    assert done.stdout == f"Wrapped {status[old][1]} keys by {new}.\n", done.stderr
    assert operator.run(*rewrap[1:]).stdout == f"Wrapped 0 keys by {new}.\n"
    retired = operator.run(*retire[1:])
    assert (retired.returncode, retired.stdout) == (0, f"{old}\n"), retired.stderr
    assert operator.ids() == (new,)
    assert operator.run(*retire[1:]).stdout == ""

    # 5. Everything old can be read, now and after another start.
    operator.restart()
    assert operator.remembers("before") == ["Was there before"]
    assert operator.remembers("meanwhile") == ["Written with the old key"]
    assert operator.remembers("after") == ["Written with the new key"]
    verified = operator.run(*verify[1:])
    assert (verified.returncode, "dev: clean" in verified.stdout) == (0, True), verified.stdout
    with operator.client() as client:
        acts = [
            (event.details.act.name, event.details.master_key_id)
            for event in client.audit(actions=["administer"])
            if isinstance(event.details, muniment.Administered) and event.details.master_key_id
        ]
    assert acts == [("MASTER_KEY_RETIRED", old), ("MASTER_KEY_REWRAPPED", new)]

    # The old key opens nothing any more, and no key was ever printed.
    operator.stop()
    now = operator.file.read_text()
    texts = re.findall(r"^[A-Za-z0-9+/=]{44}$", now, re.MULTILINE)
    assert len(texts) == 1

    # A copy of the data from before needs it once more, behind the present one.
    shutil.rmtree(operator.home / "postgres")
    backup.rename(operator.home / "postgres")
    refused = operator.run("serve")
    assert (refused.returncode, "another master key" in refused.stderr) == (1, True)
    operator.file.write_text(f"{now}{old_text}\n")
    declared = operator.run("restore", "--declare", "--reason", "an older copy")
    assert declared.returncode == 0, declared.stderr
    operator.serve()
    assert operator.remembers("before") == ["Was there before"]
    assert operator.remembers("after") == []
    assert operator.run(*retire[1:]).stdout == f"{old}\n"
    operator.restart()
    assert operator.ids() == (new,)
    assert operator.remembers("before") == ["Was there before"]
    for text in (texts[0], old_text):
        assert text not in operator.printed
        assert base64.b64decode(text).hex() not in operator.printed


@pytest.mark.timeout(300)
def test_keys_in_the_environment_are_rotated_there(operator: Operator) -> None:
    old, new = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    assert operator.run("tenants", "create", "acme", MUNIMENT_MASTER_KEY=old).returncode == 0
    refused = operator.run("master-key", "add", MUNIMENT_MASTER_KEY=old)
    assert (refused.returncode, "MUNIMENT_MASTER_KEY" in refused.stderr) == (1, True)
    both = {"MUNIMENT_MASTER_KEY": f"{new},{old}"}
    first, second = operator.status(**both)
    assert operator.run("master-key", "rewrap", **both).stdout == f"Wrapped 2 keys by {first}.\n"
    retired = operator.run("master-key", "retire", second, **both)
    assert (retired.stdout, "Take it out of MUNIMENT_MASTER_KEY" in retired.stderr) == (f"{second}\n", True)
    listed = operator.run("tenants", "list", MUNIMENT_MASTER_KEY=new)
    assert "acme" in listed.stdout
    # Put in front again it is refused, before it sets any password.
    for command in (("tenants", "create", "shop"), ("serve",)):
        back = operator.run(*command, MUNIMENT_MASTER_KEY=f"{old},{new}")
        assert (back.returncode, f"{second} is retired" in back.stderr) == (1, True), back.stderr
    assert "acme" in operator.run("tenants", "list", MUNIMENT_MASTER_KEY=new).stdout
    for secret in (old, new):
        assert secret not in operator.printed
    assert not operator.file.exists()


def test_without_an_installation_there_is_nothing_to_rotate(operator: Operator) -> None:
    for command in ("status", "add", "rewrap", "retire"):
        refused = operator.run("master-key", command)
        assert (refused.returncode, "There is no installation in" in refused.stderr) == (1, True)
    assert not operator.home.exists()
