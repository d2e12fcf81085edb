"""TLS in front of the service, with certificates made for one run.

It ends the encryption and passes the bytes on, so that one running service is reached in plaintext, with TLS,
and with TLS that asks for a client's certificate. What is tested is the client's side of the handshake.
"""

import asyncio
import contextlib
import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "memory.example.test"
"""The name in the server's certificate, beside the address 127.0.0.1."""


class Authority:
    """A throw-away certificate authority with a folder of PEM files."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._prefix = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._write("ca", self._sign(self._name, self._key.public_key(), authority=True))

    def issue(self, name: str) -> tuple[str, str]:
        """The paths of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signed = self._sign(subject, key.public_key(), authority=False)
        return self._write(name, signed), self._write(f"{name}-key", private)

    def _write(self, name: str, pem: bytes) -> str:
        path = self._folder / f"{self._prefix}-{name}.pem"
        path.write_bytes(pem)
        return str(path)

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool) -> bytes:
        now = datetime.now(UTC)
        names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class Encrypted:
    """Two ports that lead to a plaintext one: `tls`, and `mtls`, which asks for a client's certificate."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._folder = tempfile.TemporaryDirectory(prefix="muniment-tls-")
        folder = Path(self._folder.name)
        ours, others = Authority(folder, "ours"), Authority(folder, "others")
        self._server = ours.issue("server")
        certificate, key = ours.issue("client")
        stranger, stranger_key = others.issue("stranger")
        self.values = {
            "tls.ca": ours.certificate,
            "tls.certificate": certificate,
            "tls.key": key,
            "tls.name": NAME,
            "tls.other_ca": others.certificate,
            "tls.other_certificate": stranger,
            "tls.other_key": stranger_key,
        }
        self.ports: dict[str, int] = {}
        self._listening: list[asyncio.Server] = []
        self._piping: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on both."""
        for name in ("tls", "mtls"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._server)
            context.set_alpn_protocols(["h2"])
            if name == "mtls":
                context.load_verify_locations(self.values["tls.ca"])
                context.verify_mode = ssl.CERT_REQUIRED
            server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0, ssl=context)
            self._listening.append(server)
            self.ports[name] = server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """End what is under way."""
        for server in self._listening:
            server.close()
        for task in tuple(self._piping):
            task.cancel()
        await asyncio.gather(*self._piping, return_exceptions=True)
        self._folder.cleanup()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._piping.add(task)
        task.add_done_callback(self._piping.discard)
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ways = [
            asyncio.ensure_future(_pipe(reader, inner_writer)),
            asyncio.ensure_future(_pipe(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            writer.close()
            inner_writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
