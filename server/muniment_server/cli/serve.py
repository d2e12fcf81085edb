"""`muniment serve`: the service."""

import json
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import invocation, reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment_server.bootstrap import Installation
    from muniment_server.config import Settings
    from muniment_server.grpc_server import GrpcServer

_log = logging.getLogger("muniment.service")

_EXAMPLE = (
    "import muniment; m = muniment.connect_sync({connection}); "
    'm.write("Ada drinks green tea, never coffee.", subject="ada", kind="preference"); '
    'print(m.recall("What does Ada drink?", subject="ada", token_budget=200).context)'
)


def serve(
    listen: Annotated[
        str | None, typer.Option(help="Address and port.", show_default="MUNIMENT_LISTEN or 127.0.0.1:7443")
    ] = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; a second one hurries.

    Settings are environment variables MUNIMENT_*. Without MUNIMENT_DATABASE_URL an embedded PostgreSQL in
    MUNIMENT_HOME (default ./muniment-data) is started.
    """
    # Before gRPC is imported: it need not live on in children, which are other programs from the first moment
    # (PostgreSQL), and else it says in two lines of its own that it could not.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    from muniment_server import config, grpc_server, process
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load(listen=listen)
    configure_logging(settings.log_level, as_json=settings.log_format == "json")

    def announce(installation: "Installation", server: "GrpcServer") -> None:
        try:
            for line in greeting(settings, installation, server.port, secret=sys.stdout.isatty()):
                print(line, flush=True)
        except OSError as error:
            # Nobody reads along, or the disk is full: no reason not to serve.
            _log.warning("the greeting cannot be printed: %s", error.strerror)
            # What is left in the buffer would fail again at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    grpc_server.run(process.serve(settings, announce), use_uvloop=settings.uvloop)


def greeting(
    settings: "Settings", installation: "Installation", port: int, *, secret: bool = False
) -> list[str]:
    """What the operator reads when the service listens; of the development key only when it is new.

    secret: whether to show the key itself, which belongs on a terminal and in no log.
    """
    address = reach.address(settings.host, port)
    target = reach.address(reach.dialled(settings.host), port)
    lines = [f"Muniment serves on {address} ({'TLS' if settings.tls else 'plaintext'})."]
    if installation.embedded is not None:
        lines.append(f"Everything is kept in {installation.embedded.home}.")
    elif installation.dev_key is None:
        lines.append(f"Tenants and keys are made by hand: {invocation.command()} tenants create NAME")
    key = installation.dev_key
    if key is not None:
        lines += [
            "",
            f"First start: made the tenant {key.tenant!r}, and an API key for it that may do everything.",
            *(["", f"    {key.text}", ""] if secret else []),
            f"{'It is shown this once, and' if secret else 'It is'} kept in {key.path} for you alone.",
            "Try it from another terminal:",
            "",
            f"    export MUNIMENT_TARGET={target} MUNIMENT_TENANT={key.tenant}",
            f'    export MUNIMENT_API_KEY="$(cat {shlex.quote(str(key.path))})"',
            f"    {invocation.python()} -c {shlex.quote(_EXAMPLE.format(connection=_connection(settings)))}",
            "",
            *_certificates(settings),
            f"Not wanted any more: {invocation.command()} keys revoke {key.public_id}",
        ]
    return lines


def _connection(settings: "Settings") -> str:
    """What the Python client has to be told to reach this server from its own machine."""
    host = reach.dialled(settings.host)
    if settings.tls_cert_file is None:
        return "" if reach.is_loopback(host) else "insecure=True"
    given = [("root_certificates", str(settings.tls_cert_file.absolute()))]
    if settings.tls_client_ca_file is not None:
        given += [("certificate", "client.crt"), ("private_key", "client.key")]
    names = _names(settings.tls_cert_file)
    if names and host not in names:
        given.append(("server_name", names[0]))
    return f"tls=muniment.TLS({', '.join(f'{name}={json.dumps(value)}' for name, value in given)})"


def _names(certificate: Path) -> "Sequence[str]":
    try:
        return reach.names_of(certificate.read_bytes())
    except (OSError, ValueError):
        # Read and served with already: nothing that the greeting may fail for.
        return []


def _certificates(settings: "Settings") -> list[str]:
    """What else has to be said about certificates."""
    lines = []
    if settings.tls_client_ca_file is not None:
        lines.append(
            "client.crt and client.key stand for a certificate of your own, signed by the authority in "
            f"{settings.tls_client_ca_file}."
        )
    if settings.tls:
        lines += [
            "Clients elsewhere trust the authority that signed the certificate, and connect by a name in it.",
            "",
        ]
    return lines
