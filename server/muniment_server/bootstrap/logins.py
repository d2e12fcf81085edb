"""The logins that serve: their passwords follow the master key, where they are this installation's own.

Roles belong to all databases of a PostgreSQL server. A second installation on one server finds the roles of
the first, with passwords of another master key; setting them anew would lock the first one out.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg

from muniment_server.storage import roles

from .errors import BootstrapError, DatabaseUnreachableError
from .passwords import scram_verifier, verifies
from .targets import RoleSecrets, connected, with_login

_LOG = logging.getLogger(__name__)


def refuse_shared_roles(
    connection: psycopg.Connection[Any], conninfo: str, wanted: Iterable[str], secrets: RoleSecrets
) -> None:
    """Raise BootstrapError when a login that has to be made is another installation's; changes nothing.

    connection: privileged, made with `conninfo`. wanted: roles whose passwords are to be derived.
    """
    others = roles.other_databases(connection)
    if not others:
        return
    for role in wanted:
        if roles.role_exists(connection, role) and _known(connection, conninfo, role, secrets) is None:
            named = ", ".join(repr(name) for name in others[:3]) + (" ..." if len(others) > 3 else "")
            raise BootstrapError(
                f"Another installation of Muniment uses this PostgreSQL server (database {named}): the role "
                f"{role} is there, with a password of another master key. Nothing was changed. Give this "
                "installation a server of its own, or logins of its own in MUNIMENT_APP_DATABASE_URL and "
                "MUNIMENT_MAINTENANCE_DATABASE_URL, which are members of these roles. If it is the same "
                "installation, start it with the same master key."
            )


def settle_password(
    connection: psycopg.Connection[Any], conninfo: str, role: str, secrets: RoleSecrets
) -> str:
    """Make the derived password open, changing the role only when it does not; returns how to connect.

    connection: privileged, made with `conninfo`. Raises BootstrapError.
    """
    own = with_login(conninfo, connection, role, secrets.passwords[role])
    if _connects(own, role):
        return own
    known = _known(connection, conninfo, role, secrets)
    if known is None:
        _LOG.warning("the role %s had another password: setting the one of this master key", role)
    elif known != secrets.passwords[role]:
        _LOG.info("the password of the role %s follows the rotation of the master key", role)
    try:
        roles.set_password(connection, role, scram_verifier(secrets.passwords[role]))
    except psycopg.errors.InsufficientPrivilege:
        raise BootstrapError(
            f"The login may not set the password of {role}. Use the login that made it, or a superuser."
        ) from None
    with connected(own, f"the role {role}"):
        return own


def present_login(connection: psycopg.Connection[Any], conninfo: str, role: str, secrets: RoleSecrets) -> str:
    """How to connect as a role now, for a command beside running servers: also with an earlier password.

    connection: privileged, made with `conninfo`.
    """
    password = _known(connection, conninfo, role, secrets) or secrets.passwords[role]
    return with_login(conninfo, connection, role, password)


def _known(connection: psycopg.Connection[Any], conninfo: str, role: str, secrets: RoleSecrets) -> str | None:
    """Which of the derived passwords, the current one first, the role has; None when none of them."""
    candidates = secrets.candidates(role)
    try:
        verifier = roles.read_verifier(connection, role)
    except psycopg.errors.InsufficientPrivilege:
        return _first(candidates, lambda each: _connects(with_login(conninfo, connection, role, each), role))
    return None if verifier is None else _first(candidates, lambda each: verifies(verifier, each))


def _first(candidates: Sequence[str], holds: Callable[[str], bool]) -> str | None:
    return next((each for each in candidates if holds(each)), None)


def _connects(conninfo: str, role: str) -> bool:
    try:
        with connected(conninfo, f"the role {role}"):
            return True
    except DatabaseUnreachableError:
        return False
