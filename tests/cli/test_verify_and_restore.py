"""`muniment verify` and `muniment restore` as an operator uses them: real processes and a real home."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import psycopg
import pytest

from muniment_server._gen.muniment.v1 import (
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from muniment_server.bootstrap import derive_role_secrets
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.crypto.master import FileMasterKeys
from support.service import item, scope

ROOT = Path(__file__).parents[2]


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "server"),
        "MUNIMENT_HOME": str(home),
        "MUNIMENT_DRAIN_DELAY": "0",
        "PYTHONUNBUFFERED": "1",
    }


def muniment(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "muniment_server", *arguments],
        capture_output=True,
        text=True,
        env=environment(home),
        timeout=110,
        check=False,
    )


class Client:
    """The memory service of a running process."""

    def __init__(self, target: str, key: str) -> None:
        self.metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", "dev"))
        self.channel = grpc.insecure_channel(target)
        self.stub = memory_service_pb2_grpc.MemoryServiceStub(self.channel)

    def write(self, subject: str, text: str) -> str:
        request = memory_service_pb2.WriteRequest(scope=scope(subject), items=[item(text)])
        answer = self.stub.Write(request, metadata=self.metadata, timeout=60)
        return str(answer.results[0].memory.memory_id)

    def contents(self, subject: str) -> list[str]:
        request = memory_service_pb2.ListMemoriesRequest(
            scope=scope(subject), view=memory_pb2.MEMORY_VIEW_FULL
        )
        answer = self.stub.ListMemories(request, metadata=self.metadata, timeout=60)
        return [one.content for one in answer.memories]

    def erase(self, subject: str) -> None:
        target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=scope(subject)))
        request = memory_service_pb2.EraseRequest(target=target)
        self.stub.Erase(request, metadata=self.metadata, timeout=60)


@contextmanager
def serving(home: Path) -> Iterator[Client]:
    process = subprocess.Popen(
        [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(home),
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        match = re.search(r"serves on (\S+)", first)
        assert match is not None, first
        client = Client(match[1], (home / "dev-key").read_text().strip())
        yield client
        client.channel.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@contextmanager
def superuser(home: Path) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    secrets = asyncio.run(derive_role_secrets(FileMasterKeys(home / "keys" / "master.key")))
    server = EmbeddedPostgres(home, secrets.passwords["postgres"])
    server.start()
    try:
        with psycopg.connect(server.superuser_conninfo("muniment"), autocommit=True) as connection:
            connection.execute("SET search_path = muniment")
            yield connection
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_operator_verifies_notices_an_old_copy_and_declares_it(home: Path) -> None:
    nothing = muniment(home, "verify")
    assert (nothing.returncode, "There is no installation" in nothing.stderr) == (1, True)
    with serving(home) as client:
        client.write("u1", "Likes green tea")
        client.write("u2", "KORRIGAN-9 lives here")
        # Beside the running server.
        beside = muniment(home, "verify", "--deep")
        assert (beside.returncode, beside.stderr) == (0, "")
        assert beside.stdout.startswith("dev: clean")
    backup = home.parent / "backup"
    subprocess.run(["cp", "-a", home / "postgres", backup], check=True)
    with serving(home) as client:
        client.write("u1", "Has a cat")
        client.erase("u2")
    clean = muniment(home, "verify", "--deep", "--json")
    assert clean.returncode == 0, clean.stdout
    assert json.loads(clean.stdout)["tenants"][0]["checked"]["events"] == 6
    trail = muniment(home, "audit", "verify", "--tenant", "dev")
    assert trail.returncode == 0, trail.stdout

    with superuser(home) as connection:
        connection.execute("UPDATE memory SET source_ref = 'KORRIGAN-9'")
    broken = muniment(home, "verify")
    assert broken.returncode == 1
    assert "memory_seal" in broken.stdout
    assert "KORRIGAN" not in broken.stdout + broken.stderr
    with superuser(home) as connection:
        connection.execute("UPDATE memory SET source_ref = NULL")
    assert muniment(home, "verify").returncode == 0

    shutil.rmtree(home / "postgres")
    subprocess.run(["cp", "-a", backup, home / "postgres"], check=True)
    refused = muniment(home, "serve", "--listen", "127.0.0.1:0")
    assert refused.returncode == 1
    assert "muniment restore" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    behind = json.loads(muniment(home, "verify", "--json").stdout)
    assert {"chain_rolled_back", "scope_rolled_back", "scope_key"} <= behind["tenants"][0]["counts"].keys()

    assert muniment(home, "restore").returncode == 1
    assert muniment(home, "restore", "--declare").returncode == 1
    declared = muniment(home, "restore", "--declare", "--reason", "TICKET-7", "--json")
    assert declared.returncode == 0, declared.stderr
    told = json.loads(declared.stdout)
    assert told["restore_epoch"] == 1
    assert told["tenants"][0]["anchored_sequence"] == 6
    assert told["tenants"][0]["restored_sequence"] == 4
    assert told["tenants"][0]["erased"] == 1
    assert muniment(home, "verify", "--deep").returncode == 0

    with serving(home) as client:
        assert client.contents("u1") == ["Likes green tea"]
        assert client.contents("u2") == []
        client.write("u2", "Begins anew")
        assert client.contents("u2") == ["Begins anew"]
        running = muniment(home, "restore", "--declare", "--reason", "again")
        assert (running.returncode, "Stop all of them" in running.stderr) == (1, True)
    assert muniment(home, "verify", "--deep").returncode == 0
