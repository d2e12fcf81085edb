"""The greeting of a first start, followed word by word: on all addresses, and with TLS."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import muniment
from muniment_server.bootstrap import DevKey, Installation
from muniment_server.cli.serve import greeting
from muniment_server.config import Settings
from support.postgres import reachable_folder

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "clients" / "python")])
    return {**os.environ, "PYTHONPATH": path, "MUNIMENT_DRAIN_DELAY": "0", "PYTHONUNBUFFERED": "1", **more}


@contextmanager
def first_start(home: Path, **settings: str) -> Iterator[list[str]]:
    """A server on a fresh home; yields the lines of its greeting."""
    process = subprocess.Popen(
        [sys.executable, "-m", "muniment_server", "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(MUNIMENT_HOME=str(home), **settings),
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Not wanted any more"):
                break
        yield lines
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def follow(lines: list[str]) -> subprocess.CompletedProcess[str]:
    """Run what is indented, as a shell."""
    script = "\n".join(line.strip() for line in lines if line.startswith("    "))
    return subprocess.run(
        ["/bin/sh", "-ec", script], capture_output=True, text=True, env=environment(), timeout=60, check=False
    )


def certificates(folder: Path, name: str) -> None:
    """`server.crt`, good for one name and signed by an authority that is kept nowhere, and its key."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    now = datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(authority, hashes.SHA256())
    )
    (folder / "server.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def speaks_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as opened:
            opened.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("listen", "loopback"),
    [
        ("0.0.0.0:0", "127.0.0.1"),
        pytest.param(
            "[::]:0", "[::1]", marks=pytest.mark.skipif(not speaks_ipv6(), reason="no IPv6 on this machine")
        ),
    ],
)
def test_all_addresses_and_plaintext(home: Path, listen: str, loopback: str) -> None:
    with first_start(home, MUNIMENT_LISTEN=listen, MUNIMENT_INSECURE_LISTEN="true") as lines:
        assert lines[0].startswith(f"Muniment serves on {listen.removesuffix('0')}")
        assert f"MUNIMENT_TARGET={loopback}:" in "\n".join(lines)
        done = follow(lines)
    assert done.returncode == 0, done.stderr
    assert "Ada drinks green tea, never coffee." in done.stdout


def test_all_addresses_and_tls_for_a_name_that_is_not_this_machines() -> None:
    with reachable_folder() as folder:
        # A quote in the path has to come through two languages.
        files = folder / "it's here"
        files.mkdir()
        certificates(files, "memory.example")
        tls = {
            "MUNIMENT_TLS_CERT_FILE": str(files / "server.crt"),
            "MUNIMENT_TLS_KEY_FILE": str(files / "server.key"),
        }
        with first_start(folder / "home", MUNIMENT_LISTEN="0.0.0.0:0", **tls) as lines:
            assert lines[0].endswith("(TLS).")
            done = follow(lines)
    assert done.returncode == 0, done.stderr
    assert "Ada drinks green tea, never coffee." in done.stdout


def greeted(**settings: Any) -> str:
    key = DevKey("dev", "a" * 20, "mnm_x", Path("/home/dev-key"))
    installation = Installation("", None, SimpleNamespace(), dev_key=key)  # type: ignore[arg-type]
    return "\n".join(greeting(Settings(**settings), installation, 7443))


def test_plaintext_beyond_loopback_has_to_be_asked_for_by_the_client_too() -> None:
    text = greeted(listen="10.1.2.3:7443", insecure_listen=True)
    assert "MUNIMENT_TARGET=10.1.2.3:7443" in text
    assert "connect_sync(insecure=True)" in text


def test_a_client_certificate_is_the_clients_own(tmp_path: Path) -> None:
    certificates(tmp_path, "localhost")
    (tmp_path / "authority.crt").touch()
    text = greeted(
        listen="localhost:7443",
        tls_cert_file=tmp_path / "server.crt",
        tls_key_file=tmp_path / "server.key",
        tls_client_ca_file=tmp_path / "authority.crt",
    )
    assert 'certificate="client.crt", private_key="client.key"' in text
    assert f"signed by the authority in {tmp_path / 'authority.crt'}." in text
    assert "server_name" not in text
    assert "server.key" not in text
    (tmp_path / "server.crt").write_text("no certificate")
    assert re.search(
        r"tls=muniment\.TLS\(root_certificates=\S+\)",
        greeted(tls_cert_file=tmp_path / "server.crt", tls_key_file=tmp_path / "server.key"),
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is full")
def test_a_greeting_that_cannot_be_printed_stops_no_service(home: Path) -> None:
    port = free_port()
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(
            [sys.executable, "-m", "muniment_server", "serve", "--listen", f"127.0.0.1:{port}"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(MUNIMENT_HOME=str(home)),
        )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "the greeting cannot be printed" in line:
                break
        key = (home / "dev-key").read_text("utf-8").strip()
        with muniment.connect_sync(f"127.0.0.1:{port}", tenant="dev", api_key=key) as memory:
            memory.write("The locker is in the east hall.", subject="ada")
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def test_the_key_is_shown_to_a_person_and_to_no_log() -> None:
    key = DevKey("dev", "a" * 20, "mnm_x", Path("/home/dev-key"))
    installation = Installation("", None, SimpleNamespace(), dev_key=key)  # type: ignore[arg-type]
    shown, logged = (
        "\n".join(greeting(Settings(), installation, 7443, secret=each)) for each in (True, False)
    )
    assert ("    mnm_x\n" in shown, "mnm_x" in logged) == (True, False)
    assert "kept in /home/dev-key" in shown
    assert "kept in /home/dev-key" in logged


def test_with_a_database_of_ones_own_it_says_how_tenants_are_made() -> None:
    installation = Installation("", None, SimpleNamespace())  # type: ignore[arg-type]
    assert greeting(Settings(), installation, 7443)[1].endswith("tenants create NAME")
