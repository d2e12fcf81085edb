"""What operators' commands share: settings, a connection that may act as the owner, and the trail of it."""

import asyncio
import os
import pwd
import re
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import psycopg

from .output import CommandError, note

if TYPE_CHECKING:
    from muniment_server.audit.events import Actor
    from muniment_server.audit.operators import OperatorTrail
    from muniment_server.bootstrap import RoleSecrets, Where
    from muniment_server.config import Settings
    from muniment_server.crypto.credential_seal import StoreSeals
    from muniment_server.crypto.key_store import KeyStore
    from muniment_server.crypto.master import MasterKeyProvider
    from muniment_server.crypto.tenant_key import TenantKey


T = TypeVar("T")


@contextmanager
def administration() -> Iterator[psycopg.Connection[Any]]:
    """A connection that acts as the schema's owner, on the database of the settings.

    With the embedded database this works beside a running server and without one. Raises CommandError
    where there is no installation.
    """
    from muniment_server import bootstrap

    settings, provider = _settings(making=False)
    secrets = asyncio.run(bootstrap.derive_role_secrets(provider))
    with bootstrap.administration(bootstrap.where(settings), secrets) as connection:
        yield connection


@dataclass(frozen=True, slots=True)
class Operation:
    """What an act of an operator needs: the database as its owner, the key store, and the trail of the act.

    run: runs a call of the key store to its end.
    """

    settings: "Settings"
    provider: "MasterKeyProvider"
    where: "Where"
    secrets: "RoleSecrets"
    connection: psycopg.Connection[Any]
    store: "KeyStore"
    runner: asyncio.Runner
    trail: "OperatorTrail"
    seals: "StoreSeals"

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call of the key store to its end."""
        return self.runner.run(call)


@contextmanager
def operation(*, making: bool = False) -> Iterator[Operation]:
    """Everything for an act. making: an installation is made where there is none yet.

    Raises CommandError where there is none otherwise, and when the key store cannot be reached: what cannot
    be recorded is not done.
    """
    from muniment_server import bootstrap
    from muniment_server.audit.operators import OperatorTrail
    from muniment_server.crypto.credential_seal import StoreSeals
    from muniment_server.storage.admin import adopt_credentials

    settings, provider = _settings(making=making)
    where = bootstrap.where(settings)
    secrets = asyncio.run(bootstrap.derive_role_secrets(provider))
    store = bootstrap.key_store(settings, provider)
    with asyncio.Runner() as runner:

        def run(call: Coroutine[Any, Any, T]) -> T:
            with _told():
                return runner.run(call)

        def tenant_key(tenant_id: UUID) -> "TenantKey":
            return run(store.tenant_key(tenant_id))

        # Before the database: a master key that does not fit must not set passwords there.
        with _told():
            runner.run(store.open())
        try:
            with bootstrap.administration(where, secrets) as connection:
                trail = OperatorTrail(_actor(where, connection), tenant_key)
                seals = StoreSeals(store, run)
                adopt_credentials(connection, seals)
                yield Operation(settings, provider, where, secrets, connection, store, runner, trail, seals)
        finally:
            runner.run(store.close())


def _actor(where: "Where", connection: psycopg.Connection[Any]) -> "Actor":
    """Who sits at the command line: the login of a database of his own, otherwise the account here."""
    from muniment_server.audit.events import Actor, ActorKind

    client = f"muniment-cli/{version('muniment-server')}"
    if where.embedded:
        return Actor(ActorKind.OPERATOR, _account(), client=client)
    return Actor(ActorKind.OPERATOR, connection.info.user, client=f"{client} ({_account()})")


def _account() -> str:
    # Not from the environment, which anybody sets as he likes; and a container's user may have no name.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def require_installation(settings: "Settings") -> None:
    """Raises CommandError where the settings name a folder that nothing was made in yet.

    Commands that look or change must not make one: started in the wrong folder, they would find nothing
    there and say so.
    """
    from muniment_server import bootstrap

    home = settings.home.resolve()
    if bootstrap.where(settings).embedded:
        made = (home / "postgres" / "PG_VERSION").exists()
    else:
        elsewhere = settings.key_store_url is not None and (
            settings.master_key is not None or settings.master_key_file is not None
        )
        made = elsewhere or (home / "keys").exists()
    if not made:
        raise CommandError(
            f"There is no installation in {home}. Set MUNIMENT_HOME to the folder of one; "
            "`muniment serve` makes a new one."
        )


def _settings(*, making: bool) -> tuple["Settings", "MasterKeyProvider"]:
    from muniment_server import bootstrap, config
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load()
    configure_logging("WARNING", as_json=settings.log_format == "json")
    if not making:
        require_installation(settings)
    elif bootstrap.where(settings).embedded and not settings.home.exists():
        note(f"Making a new installation in {settings.home.resolve()}.")
    return settings, bootstrap.master_keys(settings)


@contextmanager
def _told() -> Iterator[None]:
    from muniment_server.crypto.errors import KeyStoreError

    try:
        yield
    except KeyStoreError as error:
        raise CommandError(f"Nothing was done, because it could not be recorded: {error}.") from None


def check_tenant_name(name: str) -> str:
    """The name, or a CommandError that says how tenants are named."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,62}", name) is None:
        raise CommandError(
            "A tenant's name is a lower-case letter or digit, then at most 62 of a-z, 0-9, '_', '.', '-'."
        )
    return name
