"""The steps from nothing, or from an earlier start, to a database that can be served from."""

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from muniment_server.audit.events import Actor, ActorKind
from muniment_server.audit.operators import OperatorTrail
from muniment_server.crypto.credential_seal import Seals, StoreSeals
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.master import MasterKeyProvider
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.storage import admin, migrate, roles
from muniment_server.storage.roles import APP, MAINTENANCE, OWNER

from .embedded import SUPERUSER, EmbeddedPostgres
from .errors import BootstrapError, DatabaseUnreachableError
from .logins import refuse_shared_roles, settle_password
from .passwords import scram_verifier
from .targets import DATABASE, RoleSecrets, Where, connected, derive_role_secrets, of_server

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)

DEV_TENANT = "dev"
_SETTING = "MUNIMENT_DATABASE_URL"
_APP_SETTING = "MUNIMENT_APP_DATABASE_URL"
_MAINTENANCE_SETTING = "MUNIMENT_MAINTENANCE_DATABASE_URL"
_EMBEDDED = "the embedded server"


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


async def prepare(
    where: Where, keys: MasterKeyProvider, model: admin.ModelChoice, store: KeyStore | None = None
) -> Installation:
    """Start or find the database, bring it up to date, and make sure that it may be served from.

    store: open. With it the making of the first tenant and key stands in the audit trail.
    Raises BootstrapError (DatabaseUnreachableError where waiting may help).
    """
    secrets = await derive_role_secrets(keys)
    if store is None:
        return await asyncio.to_thread(prepare_blocking, where, secrets, model)
    loop = asyncio.get_running_loop()

    def run(call: Coroutine[Any, Any, _T]) -> _T:
        # For the thread in which the database is prepared; the key store belongs to the event loop.
        return asyncio.run_coroutine_threadsafe(call, loop).result()

    def tenant_key(tenant_id: UUID) -> TenantKey:
        return run(store.tenant_key(tenant_id))

    record = OperatorTrail(Actor(ActorKind.SERVICE, "muniment"), tenant_key)
    return await asyncio.to_thread(prepare_blocking, where, secrets, model, record, StoreSeals(store, run))


def prepare_blocking(
    where: Where,
    secrets: RoleSecrets,
    model: admin.ModelChoice,
    record: admin.Record | None = None,
    seals: Seals | None = None,
) -> Installation:
    """See `prepare`."""
    with _one_line_errors():
        if where.embedded:
            return _prepare_embedded(where.home, secrets, model, record, seals)
        return _prepare_given(where, secrets, model, seals)


def _adopt(connection: psycopg.Connection[Any], seals: Seals | None) -> None:
    if seals is not None:
        adopted = admin.adopt_credentials(connection, seals)
        if adopted:
            _LOG.warning(
                "sealed %d API keys and tenants of an earlier version as they stand: look through them with"
                " `muniment keys list`",
                adopted,
            )


def migrate_blocking(
    where: Where, secrets: RoleSecrets, model: admin.ModelChoice, seals: Seals | None = None
) -> tuple[tuple[migrate.Migration, ...], admin.InstanceRow]:
    """Make or migrate everything in the database, and serve nothing; returns what was applied.

    Needs a login that may prepare or migrate. Raises BootstrapError.
    """
    with _owner_connection(where, secrets) as (connection, login, applied):
        if not login.privileged:
            roles.check_extension(connection)
            applied = tuple(migrate.migrate(connection))
        # Nothing else of this needs a key store, so it may have been given none, and have made an empty one.
        if seals is not None and seals.serves():
            _adopt(connection, seals)
        return applied, admin.ensure_instance(connection, model, ANALYZER_VERSION)


@contextmanager
def administration(where: Where, secrets: RoleSecrets) -> Iterator[psycopg.Connection[Any]]:
    """A connection that may act as the owner of an up-to-date schema, for operators' commands.

    The embedded server is started when it does not run, and stopped again when nobody else uses it.
    Raises BootstrapError.
    """
    with _owner_connection(where, secrets) as (connection, _, _):
        with migrate.as_owner(connection):
            migrate.check(connection)
        yield connection


def settle_logins(connection: psycopg.Connection[Any], where: Where, secrets: RoleSecrets) -> None:
    """Make the derived passwords open, as a start would. No server may run with earlier ones.

    connection: that of `administration`; one that is not privileged leaves the logins to others.
    """
    with _one_line_errors():
        if not roles.read_login(connection).privileged:
            return
        urls = ((APP, where.app_url), (MAINTENANCE, where.maintenance_url))
        wanted = [role for role, url in urls if url is None]
        if not where.embedded:
            refuse_shared_roles(connection, connection.info.dsn, wanted, secrets)
        for role in wanted:
            settle_password(connection, connection.info.dsn, role, secrets)


@contextmanager
def _owner_connection(
    where: Where, secrets: RoleSecrets
) -> Iterator[tuple[psycopg.Connection[Any], roles.Login, tuple[migrate.Migration, ...]]]:
    with _one_line_errors():
        if where.embedded:
            embedded = _start_embedded(where.home, secrets)
            try:
                with connected(embedded.superuser_conninfo(DATABASE), _EMBEDDED) as connection:
                    applied = _make_ready(connection, secrets, exclusive=True)
                    yield connection, roles.read_login(connection), applied
            finally:
                embedded.stop()
            return
        if where.database_url is None:
            raise BootstrapError(f"This command needs a login that may act as {OWNER} in {_SETTING}.")
        with connected(where.database_url, _SETTING) as connection:
            login = roles.read_login(connection)
            if not (login.privileged or login.acts_as_owner):
                raise BootstrapError(
                    f"The login {login.name!r} of {_SETTING} can only serve. This command needs one that may "
                    f"act as {OWNER}."
                )
            applied = _make_ready(connection, secrets, exclusive=False) if login.privileged else ()
            yield connection, login, applied


def _prepare_embedded(
    home: Path,
    secrets: RoleSecrets,
    model: admin.ModelChoice,
    record: admin.Record | None,
    seals: Seals | None,
) -> Installation:
    embedded = _start_embedded(home, secrets)
    try:
        with connected(embedded.superuser_conninfo(DATABASE), _EMBEDDED) as connection:
            applied = _make_ready(connection, secrets, exclusive=True)
            admin.ensure_instance(connection, model, ANALYZER_VERSION)
            _adopt(connection, seals)
            url = embedded.superuser_conninfo(DATABASE)
            app = settle_password(connection, url, APP, secrets)
            maintenance = settle_password(connection, url, MAINTENANCE, secrets)
            instance = _check_serving(app, f"the role {APP}", model)
            _check_serving(maintenance, f"the role {MAINTENANCE}", model)
            dev_key = _make_dev_key(connection, home, record, seals)
    except BaseException:
        embedded.stop()
        raise
    return Installation(
        of_server(app, secrets), of_server(maintenance, secrets), instance, applied, dev_key, embedded
    )


def _start_embedded(home: Path, secrets: RoleSecrets) -> EmbeddedPostgres:
    embedded = EmbeddedPostgres(
        home, secrets.passwords[SUPERUSER], earlier=secrets.earlier.get(SUPERUSER, ())
    )
    embedded.start()
    with connected(embedded.superuser_conninfo(), _EMBEDDED) as connection:
        if not roles.database_exists(connection, DATABASE):
            roles.create_database(connection, DATABASE)
    return embedded


def _prepare_given(
    where: Where, secrets: RoleSecrets, model: admin.ModelChoice, seals: Seals | None
) -> Installation:
    app, app_source = where.app_url, _APP_SETTING
    maintenance, maintenance_source = where.maintenance_url, _MAINTENANCE_SETTING
    applied: tuple[migrate.Migration, ...] = ()
    if where.database_url is not None:
        with connected(where.database_url, _SETTING) as connection:
            login = roles.read_login(connection)
            if login.privileged:
                wanted = [role for role, url in ((APP, app), (MAINTENANCE, maintenance)) if url is None]
                refuse_shared_roles(connection, where.database_url, wanted, secrets)
                applied = _make_ready(connection, secrets, exclusive=False)
            elif login.acts_as_owner:
                roles.check_extension(connection)
                applied = tuple(migrate.migrate(connection))
            if login.privileged or login.acts_as_owner:
                admin.ensure_instance(connection, model, ANALYZER_VERSION)
                _adopt(connection, seals)
            if login.privileged and app is None:
                app = settle_password(connection, where.database_url, APP, secrets)
                app_source = f"the role {APP}"
            if login.privileged and maintenance is None:
                maintenance = settle_password(connection, where.database_url, MAINTENANCE, secrets)
                maintenance_source = f"the role {MAINTENANCE}"
            if app is None and not login.acts_as_owner:
                app, app_source = where.database_url, _SETTING
    if app is None:
        raise BootstrapError(
            f"The login of {_SETTING} may migrate but must not serve. Set {_APP_SETTING} to a login that is "
            f"only a member of {APP}."
        )
    instance = _check_serving(app, app_source, model)
    if maintenance is None:
        _LOG.warning(
            "%s is not set: this process neither chains the audit trail nor clears expired request ids. "
            "One process of the fleet must run with it.",
            _MAINTENANCE_SETTING,
        )
    else:
        _check_serving(maintenance, maintenance_source, model)
        maintenance = of_server(maintenance, secrets)
    return Installation(of_server(app, secrets), maintenance, instance, applied)


def _check_serving(conninfo: str, source: str, model: admin.ModelChoice) -> admin.InstanceRow:
    """Everything that a login to serve with must fulfil; returns the instance that it sees."""
    with connected(conninfo, source) as connection:
        try:
            roles.check_extension(connection)
            migrate.check(connection)
            roles.assert_no_bypass(connection)
            roles.check_settings(connection)
            instance = admin.read_instance(connection)
        except psycopg.errors.InsufficientPrivilege:
            raise BootstrapError(
                f"The login {connection.info.user!r} of {source} may not read the schema {roles.SCHEMA}. "
                f"Make it a member of {APP} or {MAINTENANCE}, or give {_SETTING} a privileged login."
            ) from None
    if instance is None:
        raise BootstrapError(
            "The database is migrated but not set up. Run `muniment migrate` with a login that may act as "
            f"{OWNER}."
        )
    admin.chosen(model, instance)
    return instance


def _make_ready(
    connection: psycopg.Connection[Any], secrets: RoleSecrets, *, exclusive: bool
) -> tuple[migrate.Migration, ...]:
    verifiers = {role: scram_verifier(secrets.passwords[role]) for role in (APP, MAINTENANCE)}
    roles.prepare_database(connection, verifiers, exclusive=exclusive)
    return tuple(migrate.migrate(connection))


def _make_dev_key(
    connection: psycopg.Connection[Any], home: Path, record: admin.Record | None, seals: Seals | None
) -> DevKey | None:
    """A tenant and a key to begin with, where there is no tenant yet."""
    key = api_key.generate()
    path = home / "dev-key"

    def make() -> admin.NewCredential:
        # The file comes before the commit: a start that ends in between makes both again.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(key.text() + "\n")
        return admin.NewCredential(
            public_id=key.public_id,
            secret_digest=key.digest(),
            label="development",
            tenants=(DEV_TENANT,),
            permissions=tuple(Permission),
            source_types=tuple(SourceType),
            max_trust=TrustLevel.CONFIRMED,
        )

    made = admin.create_first_tenant(connection, DEV_TENANT, make, record, seals)
    return DevKey(DEV_TENANT, key.public_id, key.text(), path) if made else None


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (roles.RolesError, migrate.MigrationError, admin.AdminError) as error:
        raise BootstrapError(str(error)) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnreachableError("The connection to the database broke off. Start again.") from error
