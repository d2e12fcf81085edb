"""A server process for a benchmark: `muniment serve` with its embedded database, everything durable."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc


@asynccontextmanager
async def serving(home: Path, **settings: str) -> AsyncIterator[tuple[str, str]]:
    """Start one on a new home; yields where it listens, and the development key. settings: of MUNIMENT_*."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    environment |= {"MUNIMENT_HOME": str(home), "MUNIMENT_LISTEN": f"127.0.0.1:{port}", **settings}
    server = subprocess.Popen(  # noqa: ASYNC220
        [str(Path(sys.executable).with_name("muniment")), "serve"],
        env=environment,
        stdout=subprocess.DEVNULL,
        # What a benchmark puts into the database is nobody's: the service says so when it stops.
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"127.0.0.1:{port}", await started(home, port, server)
    finally:
        server.terminate()
        server.wait(30)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def started(home: Path, port: int, server: subprocess.Popen[bytes] | None = None) -> str:
    """Wait until the server is ready; the development key. server: whose end ends the waiting."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        deadline = asyncio.get_running_loop().time() + 120
        while True:
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=2)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return (home / "dev-key").read_text(encoding="ascii").strip()
            except grpc.aio.AioRpcError:
                pass
            if server is not None and server.poll() is not None:
                raise RuntimeError("the server ended while it started")
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError("the server did not become ready")
            await asyncio.sleep(0.2)
