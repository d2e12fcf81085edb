"""Where the database is and with which logins it is reached."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from muniment_server.crypto.master import MasterKeyProvider
from muniment_server.storage.activity import server_name
from muniment_server.storage.roles import APP, MAINTENANCE

from .embedded import SUPERUSER
from .errors import BootstrapError, DatabaseUnreachableError
from .passwords import database_password

DATABASE = "muniment"
"""Name of the embedded database."""

_PERSONAL = ("user", "password", "passfile", "service", "sslcert", "sslkey", "sslpassword", "sslcertmode")


@dataclass(frozen=True, slots=True)
class Where:
    """Where an installation lives.

    home: folder of the embedded database.
    database_url: a server of the operator's own. A login that may prepare or migrate is used for that
        only; an ordinary login serves.
    app_url, maintenance_url: the logins to serve with; derived where `database_url` can make them.
    Without any URL the database is embedded.
    """

    home: Path
    database_url: str | None = field(default=None, repr=False)
    app_url: str | None = field(default=None, repr=False)
    maintenance_url: str | None = field(default=None, repr=False)

    @property
    def embedded(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url is None and self.app_url is None


@dataclass(frozen=True, slots=True)
class RoleSecrets:
    """Passwords by role, derived from the master key; `earlier` ones by role, newest first.

    key_id: of that master key. Connections of servers bear it, so that commands can tell which key a running
    server began with.
    """

    passwords: Mapping[str, str] = field(repr=False)
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    key_id: str = ""

    def candidates(self, role: str) -> tuple[str, ...]:
        """All passwords that a role may have, the current one first."""
        return (self.passwords[role], *self.earlier.get(role, ()))


async def derive_role_secrets(keys: MasterKeyProvider) -> RoleSecrets:
    """Derive the passwords of the database roles.

    A provider that also holds earlier master keys gives their passwords too, so that the roles follow a
    rotation of the master key at the next start.
    """
    all_roles = (SUPERUSER, APP, MAINTENANCE)
    passwords = {role: database_password(await keys.derive(_purpose(role))) for role in all_roles}
    ids = [each for each in getattr(keys, "key_ids", ()) if each != keys.current_key_id]
    earlier = {
        role: tuple([database_password(await keys.derive(_purpose(role), key_id=each)) for each in ids])
        for role in all_roles
    }
    return RoleSecrets(passwords, earlier, keys.current_key_id)


def _purpose(role: str) -> str:
    return f"database-role:{role}"


def with_login(conninfo: str, connection: psycopg.Connection[Any], user: str, password: str) -> str:
    """The same server and database with another login; what belongs to the first login is left out."""
    parameters: dict[str, Any] = {
        key: value for key, value in conninfo_to_dict(conninfo).items() if key not in _PERSONAL
    }
    parameters["dbname"] = connection.info.dbname
    return make_conninfo(**parameters, user=user, password=password)


def of_server(conninfo: str, secrets: RoleSecrets) -> str:
    """The same for a server: its connections bear the id of the master key that it began with."""
    return (
        make_conninfo(conninfo, application_name=server_name(secrets.key_id)) if secrets.key_id else conninfo
    )


@contextmanager
def connected(conninfo: str, what: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """A connection in autocommit mode. `what` names it in errors, e.g. the setting it comes from.

    Raises BootstrapError for a malformed string (which is not repeated: it may hold a password) and
    DatabaseUnreachableError when the server does not answer or refuses the login.
    """
    try:
        parameters: dict[str, Any] = {**conninfo_to_dict(conninfo)}
    except psycopg.Error:
        raise BootstrapError(
            f"{what} is not a connection string. It looks like postgresql://login:password@host:5432/database."
        ) from None
    parameters.setdefault("connect_timeout", "10")
    try:
        connection = psycopg.connect(make_conninfo(**parameters), autocommit=True)
    except psycopg.OperationalError as error:
        raise DatabaseUnreachableError(
            f"The database of {what} cannot be used: {_first_line(error)}"
        ) from None
    with connection:
        yield connection


def _first_line(error: psycopg.OperationalError) -> str:
    lines = str(error).removeprefix("connection failed: ").strip().splitlines()
    return lines[0] if lines else "no answer"
