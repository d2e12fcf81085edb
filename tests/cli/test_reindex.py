"""`muniment reindex` as an operator uses it: real processes, real models, and one of them is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from muniment_server._gen.muniment.v1 import memory_service_pb2, memory_service_pb2_grpc
from support.service import item, scope

ROOT = Path(__file__).parents[2]
FIRST, SECOND = "wordllama-l2-supercat-256", "multilingual-e5-small-q4/neutral-1"


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "server"),
        "MUNIMENT_HOME": str(home),
        # Stays as it was at the first start, as in a file that nobody thinks of.
        "MUNIMENT_EMBEDDER": "wordllama",
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


class Server:
    """`muniment serve` with a caller."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(home),
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        match = re.search(r"serves on (\S+)", first)
        assert match is not None, first
        key = (home / "dev-key").read_text().strip()
        self.metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", "dev"))
        self.channel = grpc.insecure_channel(match[1])
        self.stub = memory_service_pb2_grpc.MemoryServiceStub(self.channel)

    def write(self, *texts: str) -> None:
        request = memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item(text) for text in texts])
        self.stub.Write(request, metadata=self.metadata, timeout=60)

    def recall(self, query: str) -> list[str]:
        request = memory_service_pb2.RecallRequest(
            scope=scope("u1"), query=query, limit=3, legs=["RETRIEVAL_LEG_VECTOR"], min_score=0.0
        )
        answer = self.stub.Recall(request, metadata=self.metadata, timeout=60)
        assert not answer.degraded
        return [one.memory.content for one in answer.memories]

    def end(self, number: signal.Signals) -> str:
        self.channel.close()
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return errors


def status(home: Path) -> dict[str, Any]:
    done = muniment(home, "reindex", "status", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_operator_changes_the_model_and_a_server_is_killed_meanwhile(home: Path) -> None:
    server = Server(home)
    assert "never changed" in muniment(home, "reindex", "status").stdout
    for start in range(0, 200, 100):
        server.write(*(f"Ada painted picture number {start + n} in Lyon" for n in range(100)))
    assert muniment(home, "reindex", "abort").returncode == 1
    unknown = muniment(home, "reindex", "start", "--embedder", "none")
    assert (unknown.returncode, "must be one of" in unknown.stderr) == (1, True), unknown.stderr
    begun = muniment(home, "reindex", "start", "--embedder", "multilingual", "--json")
    assert begun.returncode == 0, begun.stderr
    assert (json.loads(begun.stdout)["from"], json.loads(begun.stdout)["to"]) == (FIRST, SECOND)
    time.sleep(1.0)
    server.end(signal.SIGKILL)

    server = Server(home)
    server.write("Ada learned to sail in Marseille")
    assert server.recall("picture number 7")
    waited = muniment(home, "reindex", "status", "--wait")
    assert waited.returncode == 0, waited.stderr
    assert waited.stdout == f"{FIRST} -> {SECOND}: switched\n"
    # Only the new model reads this, and only it finds across languages.
    assert server.recall("Segeln in Marseille")[0] == "Ada learned to sail in Marseille"
    assert f"the embedding model in use is {SECOND} now" in server.end(signal.SIGTERM)

    server = Server(home)
    assert server.recall("Segeln in Marseille")[0] == "Ada learned to sail in Marseille"
    assert "MUNIMENT_EMBEDDER is wordllama, but" in server.end(signal.SIGTERM)
    found = status(home)
    assert (found["state"], found["over"], found["memories"], found["seen"]) == ("SWITCHED", True, 201, 201)
    clean = muniment(home, "verify", "--deep")
    assert clean.returncode == 0, clean.stdout
    assert "201 vectors" in clean.stdout
