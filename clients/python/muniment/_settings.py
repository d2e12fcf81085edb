"""How to reach the service and as whom: what `connect` takes, checked and completed."""

import ipaddress
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import grpc

from muniment._rpcs import DeadlineName
from muniment._version import __version__

TARGET_VARIABLE: Final = "MUNIMENT_TARGET"
TENANT_VARIABLE: Final = "MUNIMENT_TENANT"
API_KEY_VARIABLE: Final = "MUNIMENT_API_KEY"

DEFAULT_PORT: Final = 7443
DEFAULT_TARGET: Final = f"127.0.0.1:{DEFAULT_PORT}"
CLIENT_NAME: Final = f"muniment-python/{__version__}"

TokenSource: TypeAlias = Callable[[], str]
"""Returns the credential (a JWT or an API key) for the next call. Called for every call: cache what is
costly."""
AsyncTokenSource: TypeAlias = TokenSource | Callable[[], Awaitable[str]]
"""The same for the asynchronous client. One that is not asynchronous itself must not block."""

_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_CLIENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+ ()-]{0,63}", re.ASCII)
_CREDENTIAL: Final = re.compile(r"[\x21-\x7e]+")


class Secret(str):
    """Text that does not show in a representation, nor in the local variables of a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Metadata(tuple[tuple[str, str], ...]):
    """Metadata of a call; its representation shows keys only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<metadata {', '.join(key for key, _ in self)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TLS:
    """How to encrypt. Each part is the PEM text as bytes, or the path of a file that holds it."""

    root_certificates: bytes | str | Path | None = None
    """Authorities that may have signed the server's certificate; None: those of the system."""
    certificate: bytes | str | Path | None = None
    """The client's own certificate chain, for mutual TLS."""
    private_key: bytes | str | Path | None = field(default=None, repr=False)
    """The key of `certificate`."""
    server_name: str | None = None
    """The name that the server's certificate must bear, if it is not the host of the target."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.private_key is None):
            raise ValueError("certificate and private_key belong together")

    def loaded(self) -> Self:
        """The same with all files read. OSError when one cannot be read."""
        return replace(
            self,
            root_certificates=_pem(self.root_certificates),
            certificate=_pem(self.certificate),
            private_key=_pem(self.private_key),
        )

    def credentials(self) -> grpc.ChannelCredentials:
        """For a channel."""
        return grpc.ssl_channel_credentials(
            _pem(self.root_certificates), _pem(self.private_key), _pem(self.certificate)
        )


def _pem(source: bytes | str | Path | None) -> bytes | None:
    return source if source is None or isinstance(source, bytes) else Path(source).read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds that a call may take, retries included, when it is given no `timeout` of its own."""

    recall: float = 2.0
    write: float = 5.0
    supersede: float = 5.0
    erase: float = 30.0
    ingest: float = 30.0
    """For an ingest and an import."""
    export: float = 600.0
    """For a whole export, and for a streamed ingest."""
    other: float = 5.0

    def seconds(self, name: DeadlineName, timeout: float | None) -> float:
        """The time for one call. ValueError for a timeout that is not above 0."""
        seconds: float = getattr(self, name) if timeout is None else timeout
        if not seconds > 0:
            raise ValueError(f"a timeout must be above 0 seconds, not {seconds!r}")
        return seconds


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything about a connection. Made by `settings`."""

    target: str
    host: str
    port: int | None
    """None for a Unix socket."""
    tenant: str
    credential: AsyncTokenSource = field(repr=False)
    tls: TLS | None
    """None: plaintext."""
    deadlines: Deadlines
    client_name: str
    read_your_writes: bool

    def server(self) -> Mapping[str, str | int]:
        """The server, as spans name it."""
        port = {} if self.port is None else {"server.port": self.port}
        return {"server.address": self.host, **port}

    def channel_options(self) -> list[tuple[str, Any]]:
        """Options of the channel, retries of the contract's service config among them."""
        options: list[tuple[str, Any]] = [
            ("grpc.primary_user_agent", CLIENT_NAME),
            ("grpc.service_config", service_config()),
            ("grpc.enable_retries", 1),
            # A server that restarts is back within the first retries, not after a second.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 10_000),
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
        ]
        if is_loopback(self.host):
            # A proxy for the outside world is no way to this machine, least of all in plaintext.
            options.append(("grpc.enable_http_proxy", 0))
        if self.tls is not None and self.tls.server_name is not None:
            options.append(("grpc.ssl_target_name_override", self.tls.server_name))
        return options

    def metadata(self, credential: str, trace_headers: list[tuple[str, str]]) -> Metadata:
        """Metadata of one call."""
        if not isinstance(credential, str):
            raise TypeError(f"the token source returned {type(credential).__name__}, not str")
        if not _CREDENTIAL.fullmatch(credential):
            raise ValueError("the credential must be printable ASCII text without spaces")
        return Metadata(
            (
                ("authorization", Secret(f"Bearer {credential}")),
                ("muniment-tenant", self.tenant),
                ("muniment-client", self.client_name),
                *trace_headers,
            )
        )


def settings(
    target: str | None,
    *,
    tenant: str | None,
    api_key: str | None,
    token_source: AsyncTokenSource | None,
    tls: TLS | None,
    insecure: bool,
    deadlines: Deadlines | None,
    client_name: str | None,
    read_your_writes: bool,
) -> Settings:
    """Complete from the environment and check. ValueError names what is wrong, never a credential."""
    full_target, host, port = parse_target(target or os.environ.get(TARGET_VARIABLE) or DEFAULT_TARGET)
    tenant = tenant or os.environ.get(TENANT_VARIABLE)
    if not tenant:
        raise ValueError(f"no tenant: give tenant=..., or set {TENANT_VARIABLE}")
    if not _TENANT.fullmatch(tenant):
        raise ValueError(f"tenant {tenant!r} is not of the form [a-z0-9][a-z0-9_.-]{{0,62}}")
    if tls is not None and insecure:
        raise ValueError("tls and insecure=True exclude each other")
    if tls is None and not insecure and not is_loopback(host):
        tls = TLS()
    return Settings(
        target=full_target,
        host=host,
        port=port,
        tenant=tenant,
        credential=_credential(api_key, token_source),
        tls=None if tls is None else tls.loaded(),
        deadlines=deadlines if deadlines is not None else Deadlines(),
        client_name=_client_name(client_name),
        read_your_writes=read_your_writes,
    )


def _credential(api_key: str | None, token_source: AsyncTokenSource | None) -> AsyncTokenSource:
    if token_source is not None:
        if api_key is not None:
            raise ValueError("api_key and token_source exclude each other")
        if not callable(token_source):
            raise TypeError("token_source must be callable; give a key itself as api_key")
        return token_source
    secret = Secret(api_key or os.environ.get(API_KEY_VARIABLE) or "")
    if not secret:
        raise ValueError(f"no credential: give api_key=... or token_source=..., or set {API_KEY_VARIABLE}")
    if not _CREDENTIAL.fullmatch(secret):
        raise ValueError("the api_key must be printable ASCII text without spaces")
    return lambda: secret


def _client_name(name: str | None) -> str:
    full = CLIENT_NAME if name is None else f"{name} ({CLIENT_NAME})"
    if not _CLIENT.fullmatch(full):
        raise ValueError(
            f"client_name must be a name and a version like 'my-agent/1.2', at most "
            f"{64 - len(CLIENT_NAME) - 3} letters, digits, spaces and ._/+()-"
        )
    return full


def parse_target(target: str) -> tuple[str, str, int | None]:
    """A gRPC target with a port, its host, and the port (None for a Unix socket)."""
    scheme, _, rest = target.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return target, target, None
    prefix = ""
    if scheme in ("dns", "ipv4", "ipv6"):
        authority, slash, address = rest.rpartition("/")
        prefix, target = f"{scheme}:{authority}{slash}", address
    elif "//" in target:
        raise ValueError(f"target {target!r} must be host:port, without a scheme such as https://")
    host, port = _split(target)
    shown = f"[{host}]" if ":" in host else host
    return f"{prefix}{shown}:{port}", host, port


def _split(address: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[(?P<v6>[^\[\]]+)\]|(?P<host>[^:\[\]/]+))(?::(?P<port>\d{1,5}))?", address)
    if found is None or not (port := int(found["port"] or DEFAULT_PORT)) <= 65_535:
        raise ValueError(f"target {address!r} must be host:port, for example {DEFAULT_TARGET} or [::1]:7443")
    return found["v6"] or found["host"], port


def is_loopback(host: str) -> bool:
    """Whether the host is this machine for certain."""
    if host.startswith(("unix:", "unix-abstract:")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def service_config() -> str:
    """The contract's service config, as JSON."""
    return resources.files("muniment").joinpath("_service_config.json").read_text("utf-8")
