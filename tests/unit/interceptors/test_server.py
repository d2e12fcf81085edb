"""The server's life: health, binding, TLS, limits of the transport, and an orderly end."""

import asyncio
import datetime
import inspect
import ipaddress
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from muniment_server.grpc_server import MIN_PING_SECONDS, GrpcServer, ServerError, TlsFiles, run
from muniment_server.health import Health, ReadinessCheck
from muniment_server.interceptors.gate import LateHandlers

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
SERVICE = "muniment.v1.MemoryService"


class Part:
    """Something the server depends on."""

    def __init__(self) -> None:
        self.works = True
        self.delay = 0.0

    async def check(self) -> None:
        await asyncio.sleep(self.delay)
        if not self.works:
            raise ConnectionError("PII-8841")


class Echo:
    """A handler whose calls last as long as the test wants."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.running = asyncio.Event()

    async def wait(self, request: bytes, _context: Any) -> bytes:
        self.running.set()
        await self.release.wait()
        return request

    async def quick(self, request: bytes, _context: Any) -> bytes:
        return request

    def register(self, server: LateHandlers) -> None:
        handlers = {
            "Wait": grpc.unary_unary_rpc_method_handler(self.wait),
            "Quick": grpc.unary_unary_rpc_method_handler(self.quick),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo.Echo", handlers),))


class Whole(GrpcServer):
    """A server whose start is a matter of a moment."""

    def __init__(self, echo: Echo, checks: dict[str, ReadinessCheck], **options: Any) -> None:
        super().__init__(
            services=[SERVICE],
            health=Health([SERVICE], interval=0.05, timeout=0.2),
            **{"listen": "127.0.0.1:0", "drain_delay": 0.0} | options,
        )
        self.echo, self.checks = echo, checks

    async def start(self) -> None:
        await super().start()
        await self.open(self.echo.register, None, self.checks)


def make(
    echo: Echo | None = None, checks: dict[str, ReadinessCheck] | None = None, **options: Any
) -> GrpcServer:
    return Whole(echo or Echo(), checks or {}, **options)


@asynccontextmanager
async def channel(server: GrpcServer) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as opened:
        yield opened


async def status(opened: grpc.aio.Channel, service: str = "") -> Any:
    answer = await health_pb2_grpc.HealthStub(opened).Check(
        health_pb2.HealthCheckRequest(service=service), timeout=5
    )
    return answer.status


async def becomes(opened: grpc.aio.Channel, service: str, expected: Any) -> None:
    for _ in range(200):
        if await status(opened, service) == expected:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{service!r} did not become {expected}")


# --- health -------------------------------------------------------------------------------------


async def test_readiness_follows_the_checks_and_liveness_does_not() -> None:
    part = Part()
    part.works = False
    server = make(checks={"database": part.check})
    await server.start()
    async with channel(server) as opened:
        for service in ("", "readiness", SERVICE):
            assert await status(opened, service) == NOT_SERVING
        assert await status(opened, "liveness") == SERVING
        assert list(server.health.failing) == ["database"]
        assert "PII-8841" not in str(server.health.failing)
        part.works = True
        for service in ("", "readiness", SERVICE):
            await becomes(opened, service, SERVING)
        part.works = False
        await becomes(opened, "", NOT_SERVING)
        assert await status(opened, "liveness") == SERVING
        part.works, part.delay = True, 5.0
        await asyncio.sleep(0.3)
        assert await status(opened, "") == NOT_SERVING
    await server.stop()


async def test_unknown_service_is_not_found() -> None:
    server = make()
    await server.start()
    async with channel(server) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await status(opened, "muniment.v1.Nope")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        watch = health_pb2_grpc.HealthStub(opened).Watch(
            health_pb2.HealthCheckRequest(service="nope"), timeout=5
        )
        assert (await watch.read()).status == UNKNOWN
        watch.cancel()
    await server.stop()


async def test_watch_tells_changes_and_does_not_hold_up_the_end() -> None:
    part = Part()
    server = make(checks={"database": part.check}, drain_delay=0.1, grace=30)
    await server.start()
    async with channel(server) as opened:
        watch = health_pb2_grpc.HealthStub(opened).Watch(health_pb2.HealthCheckRequest(), timeout=20)
        seen = [(await watch.read()).status]
        part.works = False
        seen.append((await watch.read()).status)
        part.works = True
        seen.append((await watch.read()).status)
        started = time.monotonic()
        stopping = asyncio.create_task(server.stop())
        seen.append((await watch.read()).status)
        assert seen == [SERVING, NOT_SERVING, SERVING, NOT_SERVING]
        assert await watch.read() is grpc.aio.EOF
        await stopping
        assert time.monotonic() - started < 5


# --- start --------------------------------------------------------------------------------------


async def test_before_it_is_open_it_answers_health_and_refuses_the_rest() -> None:
    echo, part = Echo(), Part()
    part.works = False
    server = GrpcServer(
        listen="127.0.0.1:0",
        services=[SERVICE],
        health=Health([SERVICE], interval=0.05),
        drain_delay=30,
        reflect=True,
    )
    await server.start()
    async with channel(server) as opened:
        watch = health_pb2_grpc.HealthStub(opened).Watch(health_pb2.HealthCheckRequest(), timeout=20)
        assert (await watch.read()).status == NOT_SERVING
        for service in ("", "readiness", SERVICE):
            assert await status(opened, service) == NOT_SERVING
        assert await status(opened, "liveness") == SERVING
        for method in ("/echo.Echo/Quick", f"/{SERVICE}/Write", "/muniment.v1.Nope/Nope"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await opened.unary_unary(method)(b"1", timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            told = rpc_status.from_call(caught.value)
            assert told is not None
            details = {each.TypeName().rpartition(".")[2]: each for each in told.details}
            assert details.keys() == {"ErrorInfo", "RetryInfo"}
            info = error_details_pb2.ErrorInfo()
            details["ErrorInfo"].Unpack(info)
            assert (info.domain, info.reason) == ("muniment.dev", "DATABASE_UNAVAILABLE")
        names = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        listing = reflection_pb2_grpc.ServerReflectionStub(opened).ServerReflectionInfo(names, timeout=5)
        assert [each async for each in listing]

        await server.open(echo.register, None, {"database": part.check})
        # Open, but not ready before its parts are: calls find out themselves.
        assert await status(opened) == NOT_SERVING
        assert await opened.unary_unary("/echo.Echo/Quick")(b"1", timeout=5) == b"1"
        part.works = True
        assert (await watch.read()).status == SERVING
        watch.cancel()
    server.request_stop()
    server.request_stop()
    await server.stop()


async def test_a_stop_before_it_is_open_waits_for_nobody() -> None:
    server = GrpcServer(listen="127.0.0.1:0", services=[], health=Health([]), drain_delay=30)
    await server.start()
    async with channel(server) as opened:
        assert await status(opened, "liveness") == SERVING
        async with asyncio.timeout(10):
            await server.stop()


async def test_port_in_use_is_a_clear_error() -> None:
    first = make()
    await first.start()
    second = make(listen=f"127.0.0.1:{first.port}")
    with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{first.port}: the address is in use"):
        await second.start()
    await second.stop()
    await first.stop()


async def test_reflection_only_where_asked_for() -> None:
    for reflect in (True, False):
        server = make(reflect=reflect)
        await server.start()
        async with channel(server) as opened:
            requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
            call = reflection_pb2_grpc.ServerReflectionStub(opened).ServerReflectionInfo(requests, timeout=5)
            if reflect:
                (answer,) = [each async for each in call]
                listed = {each.name for each in answer.list_services_response.service}
                assert listed == {
                    SERVICE,
                    "grpc.health.v1.Health",
                    "grpc.reflection.v1alpha.ServerReflection",
                }
            else:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call.read()
                assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        await server.stop()


def certificate(
    folder: Path, name: str, signer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None = None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer[0].subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
    )
    made = builder.sign(signer[1] if signer else key, hashes.SHA256())
    (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made, key


async def test_tls_with_and_without_client_certificates(tmp_path: Path) -> None:
    authority = certificate(tmp_path, "ca")
    for name in ("server", "client"):
        certificate(tmp_path, name, authority)

    def read(name: str) -> bytes:
        return (tmp_path / name).read_bytes()

    for client_ca in (None, tmp_path / "ca.crt"):
        files = TlsFiles(tmp_path / "server.crt", tmp_path / "server.key", client_ca)
        server = make(tls=files)
        await server.start()
        target = f"127.0.0.1:{server.port}"
        with_certificate = grpc.ssl_channel_credentials(
            read("ca.crt"), read("client.key"), read("client.crt")
        )
        async with grpc.aio.secure_channel(target, with_certificate) as opened:
            assert await status(opened) == SERVING
        async with grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(read("ca.crt"))) as opened:
            if client_ca is None:
                assert await status(opened) == SERVING
            else:
                with pytest.raises(grpc.aio.AioRpcError):
                    await status(opened)
        async with grpc.aio.insecure_channel(target) as opened:
            with pytest.raises(grpc.aio.AioRpcError):
                await status(opened)
        await server.stop()


async def test_missing_certificate_is_a_clear_error(tmp_path: Path) -> None:
    server = make(tls=TlsFiles(tmp_path / "no.crt", tmp_path / "no.key"))
    with pytest.raises(ServerError, match="cannot read the TLS file"):
        await server.start()
    await server.stop()


async def test_messages_up_to_four_mebibytes_pass_both_ways() -> None:
    server = make()
    await server.start()
    async with channel(server) as opened:
        quick = opened.unary_unary("/echo.Echo/Quick")
        # A client with default settings receives at most 4 MiB, and so much it gets.
        body = b"x" * (4 * 1024 * 1024)
        assert await quick(body, timeout=10) == body
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await quick(b"x" * (6 * 1024 * 1024), timeout=10)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await server.stop()


# --- keepalive ----------------------------------------------------------------------------------


async def is_kept(least: float, pings: int) -> bool:
    """Whether a server that allows a ping every `least` seconds keeps a client that sends so many of them.

    The client is gRPC's own and pings every second, the most that it ever does, while no call runs.
    """
    options = (
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.use_local_subchannel_pool", 1),
    )
    server = make(min_ping_seconds=least)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options) as opened:
            await asyncio.wait_for(opened.channel_ready(), 10)
            try:
                async with asyncio.timeout(pings + 0.5):
                    await opened.wait_for_state_change(grpc.ChannelConnectivity.READY)
            except TimeoutError:
                assert await opened.unary_unary("/echo.Echo/Quick")(b"1", timeout=5) == b"1"
                return True
            return False
    finally:
        await server.stop()


async def test_a_client_that_pings_every_twenty_seconds_is_kept_and_one_that_does_every_five_is_not() -> None:
    # The rule with its seconds shortened to what makes the client's second 20 of them, and 5.
    kept, nervous = await asyncio.gather(
        is_kept(MIN_PING_SECONDS / 20.0, pings=6), is_kept(MIN_PING_SECONDS / 5.0, pings=6)
    )
    assert kept
    assert not nervous


def test_the_documented_interval_of_pings_is_the_enforced_one() -> None:
    enforced = inspect.signature(GrpcServer).parameters["min_ping_seconds"].default
    told = re.findall(
        r"not ping more often than every (\d+) seconds",
        (Path(__file__).parents[3] / "docs" / "platform-team.md").read_text(encoding="utf-8"),
    )
    assert [float(each) for each in told] == [enforced]
    assert enforced < 20.0


# --- end ----------------------------------------------------------------------------------------


async def test_end_first_says_so_then_lets_running_calls_finish_then_closes() -> None:
    echo = Echo()
    server = make(echo, drain_delay=0.3, grace=10)
    order: list[str] = []

    async def background() -> None:
        order.append("background")

    async def broken() -> None:
        order.append("broken")
        raise RuntimeError("PII-8841")

    async def pools() -> None:
        order.append("pools")

    server.on_stop("background", background)
    server.on_stop("broken", broken)
    server.on_stop("pools", pools)
    await server.start()
    async with channel(server) as opened:
        running = opened.unary_unary("/echo.Echo/Wait")(b"1", timeout=10)
        await echo.running.wait()
        stopping = asyncio.create_task(server.stop())
        await becomes(opened, "", NOT_SERVING)
        assert await status(opened, "liveness") == SERVING
        # Until load balancers have noticed, calls are still served.
        assert await opened.unary_unary("/echo.Echo/Quick")(b"2", timeout=5) == b"2"
        await asyncio.sleep(0.4)
        assert order == []
        echo.release.set()
        assert await running == b"1"
        await stopping
        assert order == ["background", "broken", "pools"]
        await server.stop()
        assert order == ["background", "broken", "pools"]


async def test_calls_that_outlast_the_grace_are_cut() -> None:
    echo = Echo()
    server = make(echo, grace=0.2)
    await server.start()
    async with channel(server) as opened:
        running = opened.unary_unary("/echo.Echo/Wait")(b"1", timeout=20)
        await echo.running.wait()
        started = time.monotonic()
        await server.stop()
        assert time.monotonic() - started < 3
        with pytest.raises(grpc.aio.AioRpcError):
            await running


async def test_second_request_to_stop_hurries() -> None:
    echo = Echo()
    server = make(echo, drain_delay=30, grace=30)
    await server.start()
    async with channel(server) as opened:
        running = opened.unary_unary("/echo.Echo/Wait")(b"1", timeout=60)
        await echo.running.wait()
        started = time.monotonic()
        serving = asyncio.create_task(server.serve())
        await asyncio.sleep(0.05)
        server.request_stop()
        await asyncio.sleep(0.05)
        assert not serving.done()
        server.request_stop()
        await serving
        assert time.monotonic() - started < 5
        with pytest.raises(grpc.aio.AioRpcError):
            await running


PROGRAM = """
import asyncio, sys
from muniment_server.grpc_server import MIN_PING_SECONDS, GrpcServer, run
from muniment_server.health import Health

async def main():
    server = GrpcServer(listen="127.0.0.1:0", services=[], health=Health([]), drain_delay=0.05, grace=1)
    async def closed():
        print("closed", flush=True)
    server.on_stop("pools", closed)
    server.handle_signals()
    await server.start()
    await server.open(lambda handlers: None)
    print(type(asyncio.get_running_loop()).__module__, flush=True)
    await server.serve()

run(main(), use_uvloop=sys.argv[1] == "uvloop")
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_signals_end_the_process_in_order(number: signal.Signals, loop: str) -> None:
    server = Path(__file__).parents[3] / "server"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), loop],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(server)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(loop)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        assert out.splitlines() == ["closed", "ended"]
        assert "Traceback" not in err
    finally:
        process.kill()


def test_run_returns_the_result() -> None:
    async def main() -> int:
        return 7

    assert run(main()) == 7
    assert run(main(), use_uvloop=True) == 7
