"""`muniment serve`: the service."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from muniment_server.bootstrap import Installation
    from muniment_server.config import Settings
    from muniment_server.grpc_server import GrpcServer


_EXAMPLE = (
    "python -c 'import muniment; m = muniment.connect_sync(); "
    'm.write("Ada drinks green tea, never coffee.", subject="ada", kind="preference"); '
    'print(m.recall("What does Ada drink?", subject="ada", token_budget=200).context)\''
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
    from muniment_server import config, grpc_server, service
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load(listen=listen)
    configure_logging(settings.log_level, as_json=settings.log_format == "json")

    def announce(installation: "Installation", server: "GrpcServer") -> None:
        for line in greeting(settings, installation, server.port):
            print(line, flush=True)

    grpc_server.run(service.serve(settings, announce), use_uvloop=settings.uvloop)


def greeting(settings: "Settings", installation: "Installation", port: int) -> list[str]:
    """What the operator reads when the service listens; the development key only when it is new."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{port}"
    lines = [f"Muniment serves on {address} ({'TLS' if settings.tls else 'plaintext'})."]
    if installation.embedded is not None:
        lines.append(f"Everything is kept in {installation.embedded.home}.")
    key = installation.dev_key
    if key is not None:
        lines += [
            "",
            f"First start: made the tenant {key.tenant!r}, and an API key for it that may do everything:",
            "",
            f"    {key.text}",
            "",
            f"It is shown this once, and kept in {key.path} for you alone.",
            "Try it from another terminal:",
            "",
            f"    export MUNIMENT_TARGET={address} MUNIMENT_TENANT={key.tenant}",
            f'    export MUNIMENT_API_KEY="$(cat {shlex.quote(str(key.path))})"',
            f"    {_EXAMPLE}",
            "",
            f"Not wanted any more: muniment keys revoke {key.public_id}",
        ]
    return lines
