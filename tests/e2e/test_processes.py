"""Processes that fork, and processes that end: no call hangs, and the last spans arrive."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from muniment.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc
from muniment_server.bootstrap import derive_role_secrets
from muniment_server.bootstrap.embedded import SUPERUSER, EmbeddedPostgres
from muniment_server.bootstrap.targets import DATABASE
from muniment_server.crypto.master import FileMasterKeys
from support.postgres import reachable_folder

pytestmark = pytest.mark.timeout(240)

ROOT = Path(__file__).parents[2]
RECALL = "muniment.v1.MemoryService/Recall"


class Collector:
    """Where spans are sent by HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                for one in ExportTraceServiceRequest.FromString(body).resource_spans:
                    collector.spans += [span for part in one.scope_spans for span in part.spans]
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def of(self, trace: str) -> list[Any]:
        """The spans of a trace."""
        return [span for span in self.spans if span.trace_id.hex() == trace]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Server:
    """`muniment serve`, which sends spans only when it ends."""

    def __init__(self, home: Path, collector: Collector) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "server"),
                "PYTHONUNBUFFERED": "1",
                "MUNIMENT_HOME": str(home),
                "MUNIMENT_DRAIN_DELAY": "0",
                "MUNIMENT_SHUTDOWN_GRACE": "1",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
                "OTEL_METRICS_EXPORTER": "none",
                "OTEL_TRACES_EXPORTER": "otlp",
                "OTEL_BSP_SCHEDULE_DELAY": "600000",
                "OTEL_BSP_MAX_QUEUE_SIZE": "20000",
                "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20000",
            },
        )
        assert self.process.stdout is not None
        self.target = ""
        for line in self.process.stdout:
            if found := re.search(r"serves on (\S+)", line):
                self.target = found[1]
            if line.startswith("Not wanted any more"):
                break
        assert self.target
        self.key = (home / "dev-key").read_text().strip()

    def superuser(self) -> psycopg.Connection:
        """A connection past the service."""
        keys = FileMasterKeys(self.home / "keys" / "master.key")
        secrets = asyncio.run(derive_role_secrets(keys))
        embedded = EmbeddedPostgres(self.home, secrets.passwords[SUPERUSER])
        return psycopg.connect(embedded.superuser_conninfo(DATABASE))

    def end(self) -> str:
        """SIGTERM; what it said."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> str:
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        return errors


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with closing(Collector()) as made:
        yield made


@pytest.fixture(scope="module")
def server(collector: Collector) -> Iterator[Server]:
    with reachable_folder() as folder:
        made = Server(folder / "home", collector)
        yield made
        if made.process.poll() is None:
            made.end()


FORKS = """
import os, sys, time
import muniment

def connect():
    patient = muniment.Deadlines(recall=30, write=30)
    return muniment.connect_sync(sys.argv[1], tenant="dev", api_key=os.environ["KEY"], deadlines=patient)

client = connect()
client.write("The locker is in the east hall", subject="forks")
assert client.recall("locker", subject="forks").memories
pids = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        refused = 0
        begun = time.monotonic()
        for _ in range(10):
            try:
                client.recall("locker", subject="forks")
            except RuntimeError as error:
                refused += "fork" in str(error)
        fast = time.monotonic() - begun < 5
        with connect() as own:
            found = sum(len(own.recall("locker", subject="forks").memories) for _ in range(10))
        # In one piece: the four write to the same pipe.
        os.write(1, f"{refused} {fast} {found}\\n".encode())
        os._exit(0)
    pids.append(pid)
assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
print("parent", len(client.recall("locker", subject="forks").memories), flush=True)
client.close()
"""


def test_four_forked_workers_each_with_a_client_of_its_own(server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, server.target],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "clients" / "python"),
            "KEY": server.key,
            "GRPC_ENABLE_FORK_SUPPORT": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    # The parent's client says at once that it is the parent's; one of their own serves them.
    assert sorted(done.stdout.splitlines()) == ["10 True 10"] * 4 + ["parent 1"]


def test_the_last_spans_arrive_when_it_is_told_to_stop(server: Server, collector: Collector) -> None:
    answered, cut = os.urandom(16).hex(), os.urandom(16).hex()
    request = memory_service_pb2.RecallRequest(scope=memory_pb2.Scope(subject="spans"), query="locker")

    def recall(stub: Any, trace: str) -> Any:
        metadata = (
            ("authorization", f"Bearer {server.key}"),
            ("muniment-tenant", "dev"),
            ("traceparent", f"00-{trace}-{os.urandom(8).hex()}-01"),
        )
        return stub.Recall.future(request, metadata=metadata, timeout=60)

    with grpc.insecure_channel(server.target) as channel, closing(server.superuser()) as other:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        recall(stub, answered).result()
        assert not collector.spans
        other.execute("LOCK TABLE muniment.memory, muniment.scope IN ACCESS EXCLUSIVE MODE")
        hanging = recall(stub, cut)
        with server.superuser() as eye:
            eye.autocommit = True
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'muniment.scope'::regclass"
            waiting += " OR NOT granted AND relation = 'muniment.memory'::regclass"
            while not eye.execute(waiting).fetchall():
                assert not hanging.done(), hanging.exception()
                time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        error = hanging.exception()
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        info = error_details_pb2.ErrorInfo()
        told = rpc_status.from_call(error)
        assert told is not None
        assert any(detail.Unpack(info) for detail in told.details)
        assert info.reason == "SHUTTING_DOWN"
        errors = server.ended()
    assert "Traceback" not in errors
    for trace, status in ((answered, "OK"), (cut, "UNAVAILABLE")):
        (span,) = [each for each in collector.of(trace) if each.name == RECALL]
        assert span.end_time_unix_nano > span.start_time_unix_nano
        attributes = {each.key: each.value.string_value for each in span.attributes}
        assert attributes["rpc.response.status_code"] == status
