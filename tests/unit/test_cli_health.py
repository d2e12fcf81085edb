"""`muniment health` against real servers: plain, TLS, mutual TLS, not ready, not there."""

import ipaddress
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from muniment_server.cli.app import run
from muniment_server.cli.health import own_address
from muniment_server.cli.output import CommandError
from muniment_server.config import Settings

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Authority:
    """A certificate authority that signs for one name."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])
        self.certificate = self._sign(self._name, self._key.public_key(), None)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, names: list[x509.GeneralName] | None
    ) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(self, names: list[x509.GeneralName]) -> tuple[bytes, bytes]:
        """Certificate and key, PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(x509.Name([]), key.public_key(), names)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return certificate, pem


@contextmanager
def serving(
    status: int = SERVING, credentials: grpc.ServerCredentials | None = None
) -> Iterator[tuple[str, health.HealthServicer]]:
    servicer = health.HealthServicer()
    servicer.set("", status)
    server = grpc.server(futures.ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = (
        server.add_insecure_port("127.0.0.1:0")
        if credentials is None
        else server.add_secure_port("127.0.0.1:0", credentials)
    )
    server.start()
    try:
        yield f"127.0.0.1:{port}", servicer
    finally:
        server.stop(0).wait()


def test_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as (address, _):
        assert run(["health", "--target", address]) == 0
    assert capsys.readouterr().out == "SERVING\n"


def test_the_address_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as (address, _):
        monkeypatch.setenv("MUNIMENT_LISTEN", address.replace("127.0.0.1", "0.0.0.0"))
        monkeypatch.setenv("MUNIMENT_INSECURE_LISTEN", "true")
        assert run(["health"]) == 0


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("127.0.0.1:7443", "127.0.0.1:7443"),
        ("0.0.0.0:1", "127.0.0.1:1"),
        ("[::]:7443", "[::1]:7443"),
        ("localhost:7443", "localhost:7443"),
        ("10.1.2.3:7443", "10.1.2.3:7443"),
    ],
)
def test_own_address(listen: str, address: str) -> None:
    assert own_address(Settings(listen=listen, insecure_listen=True)) == address


def test_a_port_that_nobody_knows_has_to_be_named() -> None:
    with pytest.raises(CommandError, match="--target"):
        own_address(Settings(listen="127.0.0.1:0"))


def test_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(NOT_SERVING) as (address, _):
        assert run(["health", "--target", address]) == 1
    assert "NOT_SERVING" in capsys.readouterr().err


def test_services_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as (address, servicer):
        servicer.set("liveness", SERVING)
        assert run(["health", "--target", address, "--service", "liveness"]) == 0
        assert run(["health", "--target", address, "--service", "other"]) == 1
    assert "'other'" in capsys.readouterr().err


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as (address, _):
        pass
    assert run(["health", "--target", address, "--timeout", "1"]) == 1
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        x509.DNSName("memory.example"),
        x509.DNSName("*.memory.example"),
        x509.IPAddress(ipaddress.ip_address("10.1.2.3")),
    ],
    ids=["name", "wildcard", "address"],
)
@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mutual"])
def test_tls(name: x509.GeneralName, mutual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority()
    certificate, key = authority.issue([name])
    for file, content in (("cert", certificate), ("key", key), ("ca", authority.certificate)):
        (tmp_path / file).write_bytes(content)
    monkeypatch.setenv("MUNIMENT_TLS_CERT_FILE", str(tmp_path / "cert"))
    monkeypatch.setenv("MUNIMENT_TLS_KEY_FILE", str(tmp_path / "key"))
    if mutual:
        monkeypatch.setenv("MUNIMENT_TLS_CLIENT_CA_FILE", str(tmp_path / "ca"))
    credentials = grpc.ssl_server_credentials(
        [(key, certificate)],
        root_certificates=authority.certificate if mutual else None,
        require_client_auth=mutual,
    )
    with serving(credentials=credentials) as (address, _):
        assert run(["health", "--target", address]) == 0
    assert run(["health", "--target", address, "--timeout", "1"]) == 1


def test_tls_as_any_client_speaks_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = Authority()
    certificate, key = authority.issue([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    for name, signer in (("ca", authority), ("other", Authority())):
        (tmp_path / name).write_bytes(signer.certificate)
    with serving(credentials=grpc.ssl_server_credentials([(key, certificate)])) as (address, _):
        asked = ["health", "--target", address]
        assert run([*asked, "--ca-file", str(tmp_path / "ca")]) == 0
        assert run([*asked, "--ca-file", str(tmp_path / "other"), "--timeout", "1"]) == 1
        assert "--tls" not in capsys.readouterr().err
        assert run([*asked, "--timeout", "1"]) == 1
    assert "--tls or --ca-file" in capsys.readouterr().err
