"""From nothing to a database that may be served from: embedded, and on a server of the operator's own."""

import asyncio
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from muniment_server.bootstrap import (
    BootstrapError,
    DatabaseUnreachableError,
    Installation,
    RoleSecrets,
    Where,
    administration,
    derive_role_secrets,
    migrate_blocking,
    prepare,
    prepare_blocking,
    settle_logins,
)
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.crypto.master import LocalMasterKeys
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.principal import Permission
from muniment_server.storage import admin
from muniment_server.storage.credentials import DatabaseCredentials
from muniment_server.storage.database import Database
from muniment_server.storage.migrate import load_migrations
from support.postgres import PASSWORD, PostgresDatabase, PostgresServer, reachable_folder
from support.seals import new_key_store

MODEL: Any = SimpleNamespace(name="small", digest="ab" * 32, dimension=384, setting="auto")
OTHER_MODEL: Any = SimpleNamespace(name="big", digest="cd" * 32, dimension=768, setting="auto")
KEYS = LocalMasterKeys([b"k" * 32])
SECRETS = RoleSecrets(dict.fromkeys(("postgres", "muniment_app", "muniment_maintenance"), PASSWORD))
"""Those of the shared test server, whose roles must keep their passwords."""


# --- embedded -------------------------------------------------------------------------------------


async def test_a_first_start_makes_everything_and_a_second_finds_it(home: Path) -> None:
    first = await prepare(Where(home), KEYS, MODEL)
    assert [migration.version for migration in first.applied] == [m.version for m in load_migrations()]
    with psycopg.connect(first.app_conninfo) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == (
            "muniment_app",
            "muniment",
        )
    assert first.maintenance_conninfo is not None
    with psycopg.connect(first.maintenance_conninfo) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("muniment_maintenance",)
    await first.close()
    second = await prepare(Where(home), KEYS, MODEL)
    assert second.instance == first.instance
    assert (second.applied, second.dev_key) == ((), None)
    await second.close()


async def test_the_development_key_works_and_is_kept_for_its_owner_alone(home: Path, tmp_path: Path) -> None:
    store = new_key_store(tmp_path / "keys")
    installation = await prepare(Where(home), KEYS, MODEL, store)
    key = installation.dev_key
    assert key is not None
    assert key.path.read_text() == key.text + "\n"
    assert stat.S_IMODE(key.path.stat().st_mode) == 0o600
    assert key.text not in repr(installation)
    pool = Database(installation.app_conninfo, max_size=1)
    await pool.open()
    principal = await ApiKeyAuthenticator(DatabaseCredentials(pool, store)).authenticate(key.text)
    await pool.close()
    await store.close()
    await installation.close()
    assert principal.tenants.keys() == {"dev"}
    assert principal.permissions == frozenset(Permission)
    assert principal.source_types == frozenset(SourceType)
    assert principal.max_trust is TrustLevel.CONFIRMED


async def test_no_development_key_where_an_operator_was_first(home: Path) -> None:
    secrets = RoleSecrets(dict(SECRETS.passwords))

    def operate() -> None:
        with administration(Where(home), secrets) as connection:
            admin.create_tenant(connection, "acme")
        installation = prepare_blocking(Where(home), secrets, MODEL)
        assert installation.dev_key is None
        assert not (home / "dev-key").exists()
        assert installation.embedded is not None
        installation.embedded.stop()

    await asyncio.to_thread(operate)


async def test_starts_at_the_same_moment_share_one_installation(home: Path) -> None:
    found = await asyncio.gather(*(prepare(Where(home), KEYS, MODEL) for _ in range(3)))
    assert len({installation.instance.instance_id for installation in found}) == 1
    keys = [installation.dev_key for installation in found if installation.dev_key is not None]
    assert len(keys) == 1
    assert (home / "dev-key").read_text() == keys[0].text + "\n"
    for installation in found:
        await installation.close()


async def test_another_model_is_refused_and_the_database_is_given_back(home: Path) -> None:
    await (await prepare(Where(home), KEYS, MODEL)).close()
    with pytest.raises(BootstrapError, match=r"'small' \(384 dimensions.*'big' \(768 dimensions"):
        await prepare(Where(home), KEYS, OTHER_MODEL)
    assert not (home / "postgres" / "postmaster.pid").exists()


async def test_a_rotated_master_key_takes_the_roles_along(home: Path) -> None:
    await (await prepare(Where(home), KEYS, MODEL)).close()
    with pytest.raises(BootstrapError, match="another master key"):
        await prepare(Where(home), LocalMasterKeys([b"n" * 32]), MODEL)
    await (await prepare(Where(home), LocalMasterKeys([b"n" * 32, b"k" * 32]), MODEL)).close()
    installation = await prepare(Where(home), LocalMasterKeys([b"n" * 32]), MODEL)
    with psycopg.connect(installation.app_conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    await installation.close()


async def test_operators_work_beside_a_running_service(home: Path) -> None:
    installation = await prepare(Where(home), KEYS, MODEL)

    def operate() -> None:
        secrets = asyncio.run(_secrets())
        with administration(Where(home), secrets) as connection:
            admin.create_tenant(connection, "acme")

    await asyncio.to_thread(operate)
    with psycopg.connect(installation.app_conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    await installation.close()


async def _secrets() -> RoleSecrets:
    return await derive_role_secrets(KEYS)


# --- a server of the operator's own ---------------------------------------------------------------


@pytest.fixture
def empty(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A database that Muniment has not seen yet."""
    created = postgres_server.create_empty()
    yield created
    created.close()
    postgres_server.drop(created)


@contextmanager
def login(database: PostgresDatabase, name: str, attributes: str = "", *grants: str) -> Iterator[str]:
    """A login for a while; yields its connection string."""
    database.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}' {attributes}")
    try:
        for grant in (f"GRANT CONNECT ON DATABASE {database.name} TO {{}}", *grants):
            database.execute(grant.format(name))
        yield database.server.conninfo(name, database.name)
    finally:
        database.execute(f"DROP OWNED BY {name}")
        database.execute(f"DROP ROLE {name}")


def user_of(conninfo: str) -> str:
    with psycopg.connect(conninfo) as connection:
        return connection.info.user


def test_a_superuser_prepares_and_the_roles_serve(empty: PostgresDatabase, tmp_path: Path) -> None:
    where = Where(tmp_path, database_url=empty.superuser_conninfo)
    installation = prepare_blocking(where, SECRETS, MODEL)
    assert user_of(installation.app_conninfo) == "muniment_app"
    assert user_of(installation.maintenance_conninfo or "") == "muniment_maintenance"
    assert installation.dev_key is None
    assert installation.embedded is None
    assert empty.row("SELECT instance_id FROM instance")["instance_id"] == installation.instance.instance_id
    again = prepare_blocking(where, SECRETS, MODEL)
    assert (again.instance, again.applied) == (installation.instance, ())
    assert empty.row("SELECT count(*) AS n FROM tenant")["n"] == 0
    with pytest.raises(BootstrapError, match="'big'"):
        prepare_blocking(where, SECRETS, OTHER_MODEL)


def test_a_role_that_made_its_database_prepares_it_without_being_superuser() -> None:
    """On a server of its own, since the roles must not exist yet."""
    with reachable_folder() as folder:
        server = EmbeddedPostgres(folder / "home", PASSWORD, settings={"fsync": "off"})
        server.start()
        try:
            with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
                connection.execute(f"CREATE ROLE dba LOGIN CREATEROLE PASSWORD '{PASSWORD}'".encode())
                connection.execute("CREATE DATABASE app OWNER dba")
            with psycopg.connect(server.superuser_conninfo("app"), autocommit=True) as connection:
                # The wheel's pgvector is not marked as trusted.
                connection.execute("CREATE EXTENSION vector")
            url = server.conninfo("dba", PASSWORD, "app")
            first = prepare_blocking(Where(folder, database_url=url), SECRETS, MODEL)
            assert (
                prepare_blocking(Where(folder, database_url=url), SECRETS, MODEL).instance == first.instance
            )
            assert user_of(first.app_conninfo) == "muniment_app"
            # Another master key: the roles' passwords follow.
            other = RoleSecrets({**SECRETS.passwords, "muniment_app": "77" * 32})
            changed = prepare_blocking(Where(folder, database_url=url), other, MODEL)
            assert user_of(changed.app_conninfo) == "muniment_app"
            with administration(Where(folder, database_url=url), other) as connection:
                assert admin.create_tenant(connection, "acme").name == "acme"
        finally:
            server.stop()


@contextmanager
def own_server() -> Iterator[EmbeddedPostgres]:
    """A server that no installation has seen yet, with the databases `first` and `second`."""
    with reachable_folder() as folder:
        server = EmbeddedPostgres(folder / "home", PASSWORD, settings={"fsync": "off"})
        server.start()
        try:
            with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
                connection.execute(f"CREATE ROLE dba LOGIN CREATEROLE PASSWORD '{PASSWORD}'".encode())
                for name in ("first", "second"):
                    connection.execute(f"CREATE DATABASE {name} OWNER dba".encode())
            for name in ("first", "second"):
                with psycopg.connect(server.superuser_conninfo(name), autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION vector")
            yield server
        finally:
            server.stop()


def with_master_key(number: int, *earlier: int) -> RoleSecrets:
    """What an installation with this master key, and earlier ones, would derive."""
    keys = LocalMasterKeys([bytes([each]) * 32 for each in (number, *earlier)])
    return asyncio.run(derive_role_secrets(keys))


@pytest.mark.parametrize("login_name", ["postgres", "dba"])
def test_a_second_installation_does_not_take_the_first_ones_roles(login_name: str, tmp_path: Path) -> None:
    with own_server() as server:
        first, second = (
            Where(tmp_path, server.conninfo(login_name, PASSWORD, name)) for name in ("first", "second")
        )
        installation = prepare_blocking(first, with_master_key(1), MODEL)
        with pytest.raises(BootstrapError, match=r"database 'first'.*muniment_app.*Nothing was changed"):
            prepare_blocking(second, with_master_key(2), MODEL)
        assert user_of(installation.app_conninfo) == "muniment_app"
        with psycopg.connect(server.superuser_conninfo("second")) as connection:
            found = connection.execute("SELECT FROM pg_namespace WHERE nspname = 'muniment'").fetchone()
            assert found is None
        # The first one may go on, and rotate its key, with a neighbour or without.
        prepare_blocking(second, with_master_key(1), MODEL)
        rotated = prepare_blocking(first, with_master_key(3, 1), MODEL)
        assert user_of(rotated.app_conninfo) == "muniment_app"
        assert user_of(prepare_blocking(second, with_master_key(3), MODEL).app_conninfo) == "muniment_app"


def test_logins_follow_the_master_key_without_a_start(tmp_path: Path) -> None:
    with own_server() as server:
        where = Where(tmp_path, server.superuser_conninfo("first"))
        before = prepare_blocking(where, with_master_key(1), MODEL)
        with administration(where, with_master_key(2, 1)) as connection:
            settle_logins(connection, where, with_master_key(2, 1))
        with pytest.raises(psycopg.OperationalError):
            user_of(before.app_conninfo)
        after = prepare_blocking(where, with_master_key(2), MODEL)
        assert user_of(after.maintenance_conninfo or "") == "muniment_maintenance"


def test_a_second_installation_serves_with_logins_of_its_own(tmp_path: Path) -> None:
    with own_server() as server:
        url = server.superuser_conninfo("second")
        first = prepare_blocking(
            Where(tmp_path, server.superuser_conninfo("first")), with_master_key(1), MODEL
        )
        with psycopg.connect(url, autocommit=True) as connection:
            for part in ("app", "maintenance"):
                connection.execute(
                    f"CREATE ROLE second_{part} LOGIN PASSWORD '{PASSWORD}' IN ROLE muniment_{part}".encode()
                )
                connection.execute(
                    f"ALTER ROLE second_{part} SET search_path = muniment, public, pg_temp".encode()
                )
        where = Where(
            tmp_path,
            url,
            server.conninfo("second_app", PASSWORD, "second"),
            server.conninfo("second_maintenance", PASSWORD, "second"),
        )
        assert user_of(prepare_blocking(where, with_master_key(2), MODEL).app_conninfo) == "second_app"
        assert user_of(first.app_conninfo) == "muniment_app"


def test_roles_that_nobody_uses_any_more_are_taken_over(tmp_path: Path) -> None:
    with own_server() as server:
        prepare_blocking(Where(tmp_path, server.superuser_conninfo("first")), with_master_key(1), MODEL)
        with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
            connection.execute("DROP DATABASE first")
        where = Where(tmp_path, server.superuser_conninfo("second"))
        assert user_of(prepare_blocking(where, with_master_key(2), MODEL).app_conninfo) == "muniment_app"


def test_connections_of_servers_bear_the_id_of_their_master_key(tmp_path: Path) -> None:
    with own_server() as server:
        secrets = with_master_key(1)
        installation = prepare_blocking(Where(tmp_path, server.superuser_conninfo("first")), secrets, MODEL)
        assert secrets.key_id
        for conninfo in (installation.app_conninfo, installation.maintenance_conninfo or ""):
            with psycopg.connect(conninfo) as connection:
                assert connection.execute("SHOW application_name").fetchone() == (
                    f"muniment-server {secrets.key_id}",
                )


def test_a_login_without_the_extension_is_told_what_to_do(
    empty: PostgresDatabase, database: PostgresDatabase, tmp_path: Path
) -> None:
    assert database.rows("SELECT FROM pg_roles WHERE rolname = 'muniment_owner'")
    grants = (
        f"GRANT CREATE ON DATABASE {empty.name} TO {{}}",
        "GRANT muniment_owner TO {} WITH ADMIN OPTION",
    )
    with login(empty, "creator", "CREATEROLE", *grants) as url, pytest.raises(BootstrapError) as raised:
        prepare_blocking(Where(tmp_path, database_url=url), SECRETS, MODEL)
    assert "CREATE EXTENSION vector" in str(raised.value)


def test_an_ordinary_login_serves_itself(database: PostgresDatabase, tmp_path: Path) -> None:
    database.add_instance("small", "ab" * 32, 384)
    where = Where(tmp_path, database.app_conninfo, maintenance_url=database.maintenance_conninfo)
    installation = prepare_blocking(where, SECRETS, MODEL)
    assert installation.app_conninfo == database.app_conninfo
    assert installation.maintenance_conninfo == database.maintenance_conninfo
    with pytest.raises(BootstrapError, match="'big'"):
        prepare_blocking(where, SECRETS, OTHER_MODEL)


def test_without_a_maintenance_login_it_is_said_what_does_not_run(
    database: PostgresDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database.add_instance("small", "ab" * 32, 384)
    installation = prepare_blocking(Where(tmp_path, app_url=database.app_conninfo), SECRETS, MODEL)
    assert installation.maintenance_conninfo is None
    assert "MUNIMENT_MAINTENANCE_DATABASE_URL is not set" in caplog.text
    assert PASSWORD not in caplog.text


def test_an_ordinary_login_needs_a_prepared_database(
    empty: PostgresDatabase, database: PostgresDatabase, tmp_path: Path
) -> None:
    with login(empty, "plain") as url, pytest.raises(BootstrapError, match="muniment migrate"):
        prepare_blocking(Where(tmp_path, database_url=url), SECRETS, MODEL)
    with pytest.raises(BootstrapError, match=r"not set up.*muniment migrate"):
        prepare_blocking(Where(tmp_path, database_url=database.app_conninfo), SECRETS, MODEL)
    with login(database, "stranger") as url, pytest.raises(BootstrapError, match="may not read the schema"):
        prepare_blocking(Where(tmp_path, database_url=url), SECRETS, MODEL)


@pytest.mark.parametrize(
    ("attributes", "grants", "said"),
    [
        ("BYPASSRLS", ("GRANT muniment_app TO {}",), "BYPASSRLS"),
        ("", ("GRANT muniment_app TO {}", "GRANT DELETE ON audit_event TO {}"), "audit_event"),
    ],
)
def test_a_login_that_could_bypass_does_not_serve(
    database: PostgresDatabase, tmp_path: Path, attributes: str, grants: tuple[str, ...], said: str
) -> None:
    database.add_instance("small", "ab" * 32, 384)
    with login(database, "bypass", attributes, *grants) as url:
        for where in (Where(tmp_path, database_url=url), Where(tmp_path, app_url=url)):
            with pytest.raises(BootstrapError, match=said):
                prepare_blocking(where, SECRETS, MODEL)
        where = Where(tmp_path, app_url=database.app_conninfo, maintenance_url=url)
        with pytest.raises(BootstrapError, match=said):
            prepare_blocking(where, SECRETS, MODEL)


def test_a_superuser_never_serves(database: PostgresDatabase, tmp_path: Path) -> None:
    database.add_instance("small", "ab" * 32, 384)
    with pytest.raises(BootstrapError, match="SUPERUSER"):
        prepare_blocking(Where(tmp_path, app_url=database.superuser_conninfo), SECRETS, MODEL)


def test_a_migrating_login_migrates_and_needs_another_to_serve(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    grants = ("GRANT muniment_owner TO {} WITH INHERIT FALSE, SET TRUE",)
    with login(database, "migrator", "", *grants) as url:
        where = Where(tmp_path, database_url=url)
        applied, instance = migrate_blocking(where, SECRETS, MODEL)
        assert applied == ()
        assert database.row("SELECT instance_id FROM instance")["instance_id"] == instance.instance_id
        with pytest.raises(BootstrapError, match="may migrate but must not serve"):
            prepare_blocking(where, SECRETS, MODEL)
        both = Where(tmp_path, url, database.app_conninfo, database.maintenance_conninfo)
        assert prepare_blocking(both, SECRETS, MODEL).instance == instance
        with administration(where, SECRETS) as connection:
            admin.create_tenant(connection, "acme")
    assert database.row("SELECT name FROM tenant")["name"] == "acme"


def test_operators_commands_need_more_than_a_serving_login(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    for where in (
        Where(tmp_path, database_url=database.app_conninfo),
        Where(tmp_path, app_url=database.app_conninfo),
    ):
        with pytest.raises(BootstrapError, match="act as muniment_owner"), administration(where, SECRETS):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2@127.0.0.1:1/db",
        "postgresql://u:hunter2%zz@127.0.0.1:1/db",
        "host=127.0.0.1 port=1 password=hunter2 nonsense",
        "postgresql://u:hunter2@127.0.0.1:port/db",
    ],
)
def test_a_password_is_never_repeated(tmp_path: Path, url: str) -> None:
    where = Where(tmp_path, database_url=url)
    assert "hunter2" not in repr(where)
    with pytest.raises(BootstrapError) as raised:
        prepare_blocking(where, SECRETS, MODEL)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert "\n" not in str(raised.value)


def test_an_unreachable_server_may_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnreachableError):
        prepare_blocking(Where(tmp_path, database_url="postgresql://u@127.0.0.1:1/db"), SECRETS, MODEL)


def test_the_time_zones_of_database_and_login_do_not_matter(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    database.execute(f"ALTER DATABASE {database.name} SET timezone = 'Asia/Kolkata'")
    where = Where(tmp_path, database_url=database.superuser_conninfo)
    installation = prepare_blocking(where, SECRETS, MODEL)
    with administration(where, SECRETS) as connection:
        made = admin.create_tenant(connection, "acme")
        assert connection.execute("SHOW timezone").fetchone() == ("Asia/Kolkata",)
        (listed,) = admin.list_tenants(connection)
    assert listed.create_time == made.create_time
    assert isinstance(installation, Installation)
    seconds = database.row("SELECT extract(epoch FROM create_time)::float8 AS s FROM tenant")["s"]
    assert seconds == pytest.approx(made.create_time.timestamp(), abs=1e-5)


def test_keys_made_by_an_operator_follow_the_format() -> None:
    key = api_key.generate()
    assert api_key.parse(key.text()) == key
