"""What operators' commands share: settings, and a connection that may act as the owner."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from .output import CommandError, note


@contextmanager
def administration() -> Iterator[psycopg.Connection[Any]]:
    """A connection that acts as the schema's owner, on the database of the settings.

    With the embedded database this works beside a running server and without one.
    """
    from muniment_server import bootstrap, config
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load()
    configure_logging("WARNING", as_json=settings.log_format == "json")
    where = bootstrap.where(settings)
    if where.embedded and not settings.home.exists():
        note(f"Making a new installation in {settings.home.resolve()}.")
    secrets = asyncio.run(bootstrap.derive_role_secrets(bootstrap.master_keys(settings)))
    with bootstrap.administration(where, secrets) as connection:
        yield connection


def check_tenant_name(name: str) -> str:
    """The name, or a CommandError that says how tenants are named."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,62}", name) is None:
        raise CommandError(
            "A tenant's name is a lower-case letter or digit, then at most 62 of a-z, 0-9, '_', '.', '-'."
        )
    return name
