"""The commands put together, and what becomes of their errors.

A group is a module of its own with an `app` of its own, added below. Commands import what they need
inside: `muniment version` does not wait for gRPC and numpy.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from . import (
    audit,
    consent,
    export,
    health,
    import_,
    keys,
    master_key,
    migrate,
    reindex,
    restore,
    review,
    serve,
    settings,
    tenants,
    undo,
    verify,
    version,
    views,
    why,
)
from .output import CommandError

app = typer.Typer(
    name="muniment",
    help="The memory service that agent fleets share.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("migrate")(migrate.migrate)
app.add_typer(tenants.app)
app.add_typer(keys.app)
app.add_typer(settings.app)
app.add_typer(views.app)
app.add_typer(master_key.app)
app.add_typer(reindex.app)
app.add_typer(review.app)
app.add_typer(consent.app)
app.command("export")(export.export)
app.command("import")(import_.import_)
app.command("undo")(undo.undo)
app.command("why")(why.why)
app.add_typer(audit.app)
app.command("verify")(verify.verify)
app.command("restore")(restore.restore)
app.command("health")(health.health)
app.command("version")(version.version)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1 for a failure, 2 for wrong usage, 130 for Ctrl-C.

    An error is one line per fault on standard error.
    """
    try:
        code = app(None if arguments is None else list(arguments), standalone_mode=False)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); nothing can be told to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last place that can say something
        return _report(error)
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """Entry point of the command."""
    sys.exit(run())


def _report(error: Exception) -> int:
    if type(error).__name__ == "Abort":
        return 130
    if type(error).__name__ == "NoArgsIsHelpError":
        return 2
    message = getattr(error, "format_message", None)
    if message is not None:
        # What the parser of options says of a choice begins with its own word for it.
        _say(message().replace("Value error, ", ""))
        return int(getattr(error, "exit_code", 2))
    known = _known_errors()
    if isinstance(error, known):
        for line in str(error).splitlines():
            _say(line)
        return 1
    from muniment_server.telemetry.logs import describe_exception

    _say(f"unexpected error, please report it: {describe_exception(error)}")
    return 1


def _known_errors() -> tuple[type[Exception], ...]:
    """Errors whose text is made for operators and holds neither secrets nor content."""
    from muniment_server.audit.anchors import DatabaseBehindAnchors
    from muniment_server.bootstrap.errors import BootstrapError
    from muniment_server.config import ConfigError
    from muniment_server.crypto.errors import CryptoError
    from muniment_server.domain.errors import MunimentError
    from muniment_server.embedding.errors import EmbeddingError
    from muniment_server.grpc_server import ServerError
    from muniment_server.retrieval.model_tokenizer import TokenizerUnavailable
    from muniment_server.storage.admin import AdminError
    from muniment_server.storage.migrate import MigrationError
    from muniment_server.storage.roles import RolesError
    from muniment_server.telemetry.setup import TelemetryError

    return (
        CommandError,
        ConfigError,
        BootstrapError,
        DatabaseBehindAnchors,
        AdminError,
        MigrationError,
        RolesError,
        CryptoError,
        EmbeddingError,
        ServerError,
        TokenizerUnavailable,
        TelemetryError,
        MunimentError,
    )


def _say(line: str) -> None:
    print(f"muniment: {line}", file=sys.stderr)
