"""Opening, sharing, closing; processes and event loops; encryption."""

import asyncio
import ipaddress
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import muniment
from client.peer import Peer, running
from muniment.v1 import memory_service_pb2

RECALLED = memory_service_pb2.RecallResponse(recall_id="r")


def slow(seconds: float) -> Callable[[Any], Any]:
    def answer(_request: Any) -> Any:
        time.sleep(seconds)
        return RECALLED

    return answer


async def test_close_waits_for_what_is_under_way(client: Any, peer: Peer) -> None:
    peer.answer("Recall", slow(0.3))
    calls = [asyncio.ensure_future(client.recall("q", subject="u")) for _ in range(3)]
    await asyncio.sleep(0.1)
    started = time.monotonic()
    await client.close()
    assert time.monotonic() - started < 2
    assert [(await call).recall_id for call in calls] == ["r"] * 3
    with pytest.raises(RuntimeError, match="closed"):
        await client.recall("q", subject="u")
    await client.close()


async def test_close_does_not_wait_for_ever(connect: Callable[..., Any], peer: Peer) -> None:
    peer.answer("Recall", slow(1.5))
    client = connect(peer.target)
    call = asyncio.ensure_future(client.recall("q", subject="u", timeout=10))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    await client.close(timeout=0.2)
    assert time.monotonic() - started < 1
    with pytest.raises((muniment.MunimentError, asyncio.CancelledError)):
        await call


async def test_one_channel_for_all(client: Any, peer: Peer) -> None:
    peer.answer("Recall", RECALLED)
    answers = await asyncio.gather(*(client.recall("q", subject="u") for _ in range(100)))
    assert len(answers) == len(peer.received) == 100


def test_threads_share_a_client(peer: Peer) -> None:
    peer.answer("Recall", RECALLED)
    with (
        muniment.connect_sync(peer.target, tenant="dev", api_key="k") as client,
        ThreadPoolExecutor(16) as pool,
    ):
        futures = [pool.submit(client.recall, "q", subject="u") for _ in range(200)]
        assert {future.result().recall_id for future in futures} == {"r"}


async def test_cancelling_a_call_leaves_the_client_usable(peer: Peer) -> None:
    peer.answer("Recall", slow(0.5), RECALLED)
    async with muniment.connect(peer.target, tenant="dev", api_key="k") as client:
        call = asyncio.ensure_future(client.recall("q", subject="u"))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.recall("q", subject="u")).recall_id == "r"


async def test_a_reader_that_stops_early_ends_the_export(client: Any, peer: Peer) -> None:
    from muniment.v1 import audit_pb2

    header = audit_pb2.ExportAuditResponse(header={"tenant": "dev"})
    peer.answer("ExportAudit", [header] * 10_000)
    async for part in client.export_audit():
        assert part.tenant == "dev"
        break
    await client.close()


def test_a_client_belongs_to_one_event_loop(peer: Peer) -> None:
    peer.answer("Recall", RECALLED)
    client = muniment.connect(peer.target, tenant="dev", api_key="k")

    async def recall() -> None:
        await client.recall("q", subject="u")

    async def close() -> None:
        await client.recall("q", subject="u")
        await client.close()

    with asyncio.Runner() as runner:
        runner.run(recall())

        def elsewhere() -> None:
            with pytest.raises(RuntimeError, match="event loop"):
                asyncio.run(recall())

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        runner.run(close())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_client_belongs_to_one_process(peer: Peer) -> None:
    peer.answer("Recall", RECALLED)
    with muniment.connect_sync(peer.target, tenant="dev", api_key="k") as client:
        client.recall("q", subject="u")
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                client.recall("q", subject="u")
            except RuntimeError as error:
                code = 0 if "fork" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert client.recall("q", subject="u").recall_id == "r"


def test_after_a_fork_without_support_nothing_hangs(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    from muniment import _fork

    monkeypatch.setattr(_fork, "_opened_in", os.getpid() + 1)
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
    client = muniment.connect_sync(peer.target, tenant="dev", api_key="k")
    with pytest.raises(RuntimeError, match="GRPC_ENABLE_FORK_SUPPORT"):
        client.recall("q", subject="u")


# --- encryption -------------------------------------------------------------------------------------


class Authority:
    """A throw-away certificate authority."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.pem = self._sign(self._name, self._key.public_key(), authority=True)

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool = False) -> bytes:
        now = datetime.now(UTC)
        names = [x509.DNSName("memory.example.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._sign(subject, key.public_key()), private


async def test_mutual_tls(connect: Callable[..., Any]) -> None:
    authority = Authority()
    chain, key = authority.issue("server")
    own_chain, own_key = authority.issue("client")
    credentials = grpc.ssl_server_credentials([(key, chain)], authority.pem, require_client_auth=True)
    with running(credentials=credentials) as peer:
        peer.answer("Recall", RECALLED)
        tls = muniment.TLS(root_certificates=authority.pem, certificate=own_chain, private_key=own_key)
        async with connect(peer.target, tls=tls) as client:
            assert (await client.recall("q", subject="u")).recall_id == "r"
        for refused in (
            muniment.TLS(root_certificates=authority.pem),
            muniment.TLS(root_certificates=Authority().pem, certificate=own_chain, private_key=own_key),
            None,
        ):
            async with connect(peer.target, tls=refused) as client:
                with pytest.raises((muniment.Unavailable, muniment.DeadlineExceeded)):
                    await client.recall("q", subject="u")
    assert len(peer.received) == 1


async def test_the_name_in_the_certificate_is_checked(connect: Callable[..., Any]) -> None:
    authority = Authority()
    chain, key = authority.issue("server")
    with running(credentials=grpc.ssl_server_credentials([(key, chain)])) as peer:
        peer.answer("Recall", RECALLED)
        for name, accepted in (("memory.example.test", True), ("other.example.test", False)):
            tls = muniment.TLS(root_certificates=authority.pem, server_name=name)
            async with connect(peer.target, tls=tls) as client:
                if accepted:
                    await client.recall("q", subject="u")
                else:
                    with pytest.raises((muniment.Unavailable, muniment.DeadlineExceeded)):
                        await client.recall("q", subject="u")


async def test_a_server_that_restarts(connect: Callable[..., Any]) -> None:
    with running() as first:
        first.answer("Recall", RECALLED)
        port = int(first.target.rpartition(":")[2])
        client = connect(first.target)
        await client.recall("q", subject="u")
    with pytest.raises(muniment.Unavailable):
        await client.recall("q", subject="u")
    with running(port) as second:
        second.answer("Recall", RECALLED)
        deadline = time.monotonic() + 5
        while True:
            try:
                answer = await client.recall("q", subject="u")
            except muniment.Unavailable:
                # The retries of the channel are throttled after an outage, so this fails fast.
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
            else:
                break
        assert answer.recall_id == "r"
    await client.close()
