"""The steps from nothing, or from an earlier start, to a database that can be served from."""

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from muniment_server.crypto.master import MasterKeyProvider
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.storage import admin, migrate, roles
from muniment_server.storage.roles import APP, MAINTENANCE, OWNER

from .embedded import SUPERUSER, EmbeddedPostgres
from .errors import BootstrapError, DatabaseUnreachableError
from .passwords import scram_verifier
from .targets import DATABASE, RoleSecrets, Where, connected, derive_role_secrets, with_login

_LOG = logging.getLogger(__name__)

DEV_TENANT = "dev"
_SETTING = "MUNIMENT_DATABASE_URL"
_MAINTENANCE_SETTING = "MUNIMENT_MAINTENANCE_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class DevKey:
    """The API key made at the first start of an embedded installation."""

    tenant: str
    public_id: str
    text: str = field(repr=False)
    path: Path


@dataclass(frozen=True, slots=True)
class Installation:
    """A database that is ready, and how to reach it. Connection strings hold passwords.

    maintenance_conninfo: None where no login for it was given: nothing chains the audit trail then.
    dev_key: set only by the start that made it.
    """

    app_conninfo: str = field(repr=False)
    maintenance_conninfo: str | None = field(repr=False)
    instance: admin.InstanceRow
    applied: tuple[migrate.Migration, ...] = ()
    dev_key: DevKey | None = None
    embedded: EmbeddedPostgres | None = None

    async def close(self) -> None:
        """Give the embedded server back; call it when all connections are closed."""
        if self.embedded is not None:
            await asyncio.to_thread(self.embedded.stop)


async def prepare(where: Where, keys: MasterKeyProvider, model: admin.Model) -> Installation:
    """Start or find the database, bring it up to date, and make sure that it may be served from.

    Raises BootstrapError (DatabaseUnreachableError where waiting may help).
    """
    secrets = await derive_role_secrets(keys)
    return await asyncio.to_thread(prepare_blocking, where, secrets, model)


def prepare_blocking(where: Where, secrets: RoleSecrets, model: admin.Model) -> Installation:
    """See `prepare`."""
    with _one_line_errors():
        if where.database_url is None:
            return _prepare_embedded(where.home, secrets, model)
        with connected(where.database_url, _SETTING) as connection:
            login = roles.read_login(connection)
            if login.privileged:
                return _prepare_given(where.database_url, connection, secrets, model)
            return _use_given(where, connection, model)


def migrate_blocking(where: Where, secrets: RoleSecrets, model: admin.Model) -> Installation | None:
    """Do everything that needs a privileged or a migrating login, and nothing else.

    Returns None where the login may migrate but cannot serve. Raises BootstrapError.
    """
    with _one_line_errors():
        if where.database_url is None:
            return _prepare_embedded(where.home, secrets, model)
        with connected(where.database_url, _SETTING) as connection:
            login = roles.read_login(connection)
            if login.privileged:
                return _prepare_given(where.database_url, connection, secrets, model)
            _require_owner(login)
            roles.check_extension(connection)
            migrate.migrate(connection)
            admin.ensure_instance(connection, model)
            return None


@contextmanager
def administration(where: Where, secrets: RoleSecrets) -> Iterator[psycopg.Connection[Any]]:
    """A connection that may act as the owner of an up-to-date schema, for operators' commands.

    The embedded server is started when it does not run, and stopped again when nobody else uses it.
    Raises BootstrapError.
    """
    with _one_line_errors():
        if where.database_url is None:
            embedded = _start_embedded(where.home, secrets)
            try:
                with connected(embedded.superuser_conninfo(DATABASE), "the embedded server") as connection:
                    _make_ready(connection, secrets, exclusive=True)
                    yield connection
            finally:
                embedded.stop()
            return
        with connected(where.database_url, _SETTING) as connection:
            login = roles.read_login(connection)
            if login.privileged:
                _make_ready(connection, secrets, exclusive=False)
            else:
                _require_owner(login)
                migrate.check(connection)
            yield connection


def _prepare_embedded(home: Path, secrets: RoleSecrets, model: admin.Model) -> Installation:
    embedded = _start_embedded(home, secrets)
    try:
        superuser = embedded.superuser_conninfo(DATABASE)
        with connected(superuser, "the embedded server") as connection:
            applied = _make_ready(connection, secrets, exclusive=True)
            instance = admin.ensure_instance(connection, model)
            app = embedded.conninfo(APP, secrets.passwords[APP], DATABASE)
            maintenance = embedded.conninfo(MAINTENANCE, secrets.passwords[MAINTENANCE], DATABASE)
            _settle_password(connection, APP, app, secrets)
            _settle_password(connection, MAINTENANCE, maintenance, secrets)
            _check_serving(app, maintenance)
            dev_key = _make_dev_key(connection, home)
    except BaseException:
        embedded.stop()
        raise
    return Installation(app, maintenance, instance, applied, dev_key, embedded)


def _start_embedded(home: Path, secrets: RoleSecrets) -> EmbeddedPostgres:
    embedded = EmbeddedPostgres(home, secrets.passwords[SUPERUSER], earlier=secrets.earlier)
    embedded.start()
    with connected(embedded.superuser_conninfo(), "the embedded server") as connection:
        if not roles.database_exists(connection, DATABASE):
            roles.create_database(connection, DATABASE)
    return embedded


def _prepare_given(
    url: str, connection: psycopg.Connection[Any], secrets: RoleSecrets, model: admin.Model
) -> Installation:
    applied = _make_ready(connection, secrets, exclusive=False)
    instance = admin.ensure_instance(connection, model)
    app = with_login(url, connection, APP, secrets.passwords[APP])
    maintenance = with_login(url, connection, MAINTENANCE, secrets.passwords[MAINTENANCE])
    _settle_password(connection, APP, app, secrets)
    _settle_password(connection, MAINTENANCE, maintenance, secrets)
    _check_serving(app, maintenance)
    return Installation(app, maintenance, instance, applied)


def _use_given(where: Where, connection: psycopg.Connection[Any], model: admin.Model) -> Installation:
    url = where.database_url or ""
    _check_current(connection)
    roles.assert_no_bypass(connection)
    roles.check_settings(connection)
    instance = admin.read_instance(connection)
    if instance is None:
        raise BootstrapError(
            "The database is migrated but not set up. Run `muniment migrate` with a login that may act as "
            f"{OWNER}."
        )
    admin.check_model(instance, model)
    if where.maintenance_url is None:
        _LOG.warning(
            "%s is not set: this process neither chains the audit trail nor clears expired request ids. "
            "One process of the fleet must run with it.",
            _MAINTENANCE_SETTING,
        )
        return Installation(url, None, instance)
    with connected(where.maintenance_url, _MAINTENANCE_SETTING) as maintenance:
        _check_current(maintenance)
        roles.assert_no_bypass(maintenance)
        roles.check_settings(maintenance)
    return Installation(url, where.maintenance_url, instance)


def _check_current(connection: psycopg.Connection[Any]) -> None:
    try:
        roles.check_extension(connection)
        migrate.check(connection)
    except psycopg.errors.InsufficientPrivilege:
        raise BootstrapError(
            f"The login {connection.info.user!r} may not read the schema {roles.SCHEMA}. Make it a member of "
            f"{APP} (or {MAINTENANCE}), or use a privileged login."
        ) from None


def _make_ready(
    connection: psycopg.Connection[Any], secrets: RoleSecrets, *, exclusive: bool
) -> tuple[migrate.Migration, ...]:
    verifiers = {role: scram_verifier(secrets.passwords[role]) for role in (APP, MAINTENANCE)}
    roles.prepare_database(connection, verifiers, exclusive=exclusive)
    return tuple(migrate.migrate(connection))


def _settle_password(
    connection: psycopg.Connection[Any], role: str, conninfo: str, secrets: RoleSecrets
) -> None:
    """Make the derived password open; only a role that was made under another one is changed."""
    try:
        with connected(conninfo, f"the role {role}"):
            return
    except DatabaseUnreachableError:
        _LOG.warning("the role %s had another password: setting the one of this master key", role)
    try:
        roles.set_password(connection, role, scram_verifier(secrets.passwords[role]))
    except psycopg.errors.InsufficientPrivilege:
        raise BootstrapError(
            f"The login may not set the password of {role}. Use the login that made it, or a superuser."
        ) from None
    with connected(conninfo, f"the role {role}"):
        pass


def _check_serving(app: str, maintenance: str) -> None:
    for conninfo, role in ((app, APP), (maintenance, MAINTENANCE)):
        with connected(conninfo, f"the role {role}") as connection:
            roles.assert_no_bypass(connection)
            roles.check_settings(connection)


def _require_owner(login: roles.Login) -> None:
    if not login.acts_as_owner:
        raise BootstrapError(
            f"The login {login.name!r} of {_SETTING} can only serve. Use one that may act as {OWNER} "
            "for this command."
        )


def _make_dev_key(connection: psycopg.Connection[Any], home: Path) -> DevKey | None:
    """A tenant and a key to begin with, where there is no tenant yet."""
    if admin.list_tenants(connection):
        return None
    key = api_key.generate()
    path = home / "dev-key"
    # The file comes first: a start that ends between the two steps makes both again.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(key.text() + "\n")
    made = admin.create_first_tenant(
        connection,
        DEV_TENANT,
        admin.NewCredential(
            public_id=key.public_id,
            secret_digest=key.digest(),
            label="development",
            tenants=(DEV_TENANT,),
            permissions=tuple(Permission),
            source_types=tuple(SourceType),
            max_trust=TrustLevel.CONFIRMED,
        ),
    )
    return DevKey(DEV_TENANT, key.public_id, key.text(), path) if made else None


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (roles.RolesError, migrate.MigrationError, admin.AdminError) as error:
        raise BootstrapError(str(error)) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnreachableError("The connection to the database broke off. Start again.") from error
