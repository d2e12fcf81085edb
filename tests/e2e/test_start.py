"""A start that takes a while: the port says so from the beginning, and the address is printed at the end."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlencode

import grpc
import psycopg
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from psycopg.conninfo import conninfo_to_dict

import muniment
from muniment_server.storage.roles import LOCK
from support.postgres import running_server

ROOT = Path(__file__).parents[2]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = (
    "",
    "readiness",
    "muniment.v1.MemoryService",
    "muniment.v1.AuditService",
    "muniment.v1.ReviewService",
    "muniment.v1.SubjectService",
)


class Starting:
    """`muniment serve` on its way."""

    def __init__(self, home: Path, **more: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.output = home.parent / "out"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "muniment_server", "serve", "--listen", f"127.0.0.1:{self.port}"],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT / "server"),
                    "MUNIMENT_HOME": str(home),
                    "MUNIMENT_DRAIN_DELAY": "0",
                    **more,
                },
            )
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{self.port}",
            options=(
                ("grpc.initial_reconnect_backoff_ms", 50),
                ("grpc.max_reconnect_backoff_ms", 50),
                ("grpc.use_local_subchannel_pool", 1),
            ),
        )

        self.connected = threading.Event()
        grpc.channel_ready_future(self.channel).add_done_callback(lambda _: self.connected.set())

    def health(self, service: str = "") -> int:
        """The status; waits until the port answers at all."""
        while not self.connected.wait(0.2):
            assert self.process.poll() is None, self.output.read_text("utf-8")
        answer = health_pb2_grpc.HealthStub(self.channel).Check(
            health_pb2.HealthCheckRequest(service=service), timeout=30
        )
        return int(answer.status)

    def announced(self) -> bool:
        return "Muniment serves on" in self.output.read_text("utf-8")

    def becomes_ready(self) -> None:
        watch = health_pb2_grpc.HealthStub(self.channel).Watch(health_pb2.HealthCheckRequest(), timeout=150)
        assert [next(watch).status, next(watch).status] == [NOT_SERVING, SERVING]
        watch.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def end(self) -> str:
        """Stop it in order; returns all that it printed."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.output.read_text("utf-8")
        return self.output.read_text("utf-8")


def refuses(starting: Starting, path: str) -> None:
    """Without as much as a look at who calls."""
    with pytest.raises(grpc.RpcError) as caught:
        starting.channel.unary_unary(path)(b"", timeout=30)
    told = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
    assert told is not None
    assert told.code == grpc.StatusCode.UNAVAILABLE.value[0]
    details = {each.TypeName(): each for each in told.details}
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert details["google.rpc.ErrorInfo"].Unpack(info)
    assert details["google.rpc.RetryInfo"].Unpack(retry)
    assert (info.domain, info.reason) == ("muniment.dev", "DATABASE_UNAVAILABLE")
    assert retry.retry_delay.ToTimedelta() == timedelta(seconds=1)


def tells_that_it_starts(starting: Starting) -> None:
    assert {service: starting.health(service) for service in SERVICES} == dict.fromkeys(SERVICES, NOT_SERVING)
    assert starting.health("liveness") == SERVING
    with pytest.raises(grpc.RpcError) as caught:
        starting.health("muniment.v1.Other")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND  # type: ignore[attr-defined]
    for path in ("/muniment.v1.MemoryService/Write", "/muniment.v1.MemoryService/Nope", "/other.Service/Do"):
        refuses(starting, path)
    assert starting.process.poll() is None
    assert not starting.announced()


@contextmanager
def embedded_held_up(home: Path) -> Iterator[None]:
    """As by another process that starts or stops the embedded database of this home just now."""
    (home / "run").mkdir(parents=True, exist_ok=True)
    home.chmod(0o711)
    with (home / "run" / "server.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def as_url(conninfo: str) -> str:
    """The same as an operator writes it."""
    parts = conninfo_to_dict(conninfo)
    user, password, name = (quote(str(parts.pop(key))) for key in ("user", "password", "dbname"))
    return f"postgresql://{user}:{password}@/{name}?{urlencode(parts)}"


@contextmanager
def preparation_held_up(url: str) -> Iterator[Callable[[], None]]:
    """As by somebody else who prepares or migrates this database; yields what ends it."""
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        yield other.close


def is_served_after_it_is_announced(starting: Starting) -> None:
    starting.becomes_ready()
    assert {starting.health(service) for service in (*SERVICES, "liveness")} == {SERVING}
    while not starting.announced():
        assert starting.process.poll() is None
        time.sleep(0.05)


@pytest.mark.timeout(240)
def test_with_the_embedded_database_the_port_answers_before_it_is_there(home: Path) -> None:
    with ExitStack() as closing:
        with embedded_held_up(home):
            starting = closing.enter_context(Starting(home))
            tells_that_it_starts(starting)
            assert not (home / "postgres").exists()
        is_served_after_it_is_announced(starting)
        key = (home / "dev-key").read_text().strip()
        with muniment.connect_sync(f"127.0.0.1:{starting.port}", tenant="dev", api_key=key) as client:
            client.write("The locker is in the east hall", subject="ada")
            assert "east hall" in client.recall("locker", subject="ada", token_budget=200).context
        assert "Traceback" not in starting.end()


@pytest.mark.timeout(240)
def test_with_an_external_database_the_port_answers_before_the_migrations(home: Path) -> None:
    tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'memory'"
    # A server of its own: this start sets the passwords of its roles.
    with running_server() as server:
        url = as_url(server.create_empty().superuser_conninfo)
        with (
            psycopg.connect(url, autocommit=True) as eye,
            preparation_held_up(url) as give_back,
            Starting(home, MUNIMENT_DATABASE_URL=url) as starting,
        ):
            tells_that_it_starts(starting)
            assert eye.execute(tables).fetchone() == (0,)
            give_back()
            is_served_after_it_is_announced(starting)
            assert eye.execute(tables).fetchone() == (1,)
            assert "Traceback" not in starting.end()


@pytest.mark.timeout(120)
def test_a_signal_during_the_start_ends_it_in_order(home: Path) -> None:
    with ExitStack() as closing:
        with embedded_held_up(home):
            starting = closing.enter_context(Starting(home))
            assert starting.health() == NOT_SERVING
            starting.process.send_signal(signal.SIGTERM)
            # Told by the end of the watch that the signal has arrived.
            watch = health_pb2_grpc.HealthStub(starting.channel).Watch(
                health_pb2.HealthCheckRequest(), timeout=30
            )
            with suppress(grpc.RpcError):
                assert {answer.status for answer in watch} <= {NOT_SERVING}
        printed = starting.end()
    assert not starting.announced()
    assert "Traceback" not in printed
