"""What the roles may do, and which logins the service refuses to serve with."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest

from muniment_server.storage.database import Database
from muniment_server.storage.roles import (
    BypassError,
    RolesError,
    assert_no_bypass,
    check_settings,
    read_login,
)
from support.postgres import PASSWORD, PostgresDatabase

TENANT_TABLES = (
    "scope", "memory", "memory_revision", "tombstone", "memory_embedding", "posting", "idempotency",
    "erasure", "audit_event", "audit_queue", "audit_chain", "audit_checkpoint", "audit_memory", "audit_head",
)  # fmt: skip


@contextmanager
def login(database: PostgresDatabase, *grants: str, attributes: str = "") -> Iterator[str]:
    """A login of its own; `{}` in a grant is its name. Yields its connection string."""
    name = f"login_{uuid4().hex[:12]}"
    database.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}' {attributes}")
    database.execute(f"GRANT CONNECT ON DATABASE {database.name} TO {name}")
    try:
        for grant in grants:
            database.execute(grant.format(name))
        yield database.server.conninfo(name, database.name)
    finally:
        database.execute(f"REASSIGN OWNED BY {name} TO postgres")
        database.execute(f"DROP OWNED BY {name}")
        database.execute(f"DROP ROLE {name}")


def add_scope(database: PostgresDatabase, tenant_id: UUID) -> UUID:
    scope_id = uuid4()
    database.execute(
        "INSERT INTO scope VALUES (%s, %s, 1, 1, NULL, 1, 1, 0, 0, 1, 0, '', '', NULL, now(), now())",
        (tenant_id, scope_id),
    )
    return scope_id


async def test_without_a_tenant_the_service_sees_nothing(database: PostgresDatabase, app: Database) -> None:
    tenant_id = database.add_tenant()
    add_scope(database, tenant_id)
    with psycopg.connect(database.app_conninfo, autocommit=True) as connection:
        for table in TENANT_TABLES:
            assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
        for table in ("tenant", "credential"):
            assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
        # After a transaction the setting is the empty string, not NULL.
        with connection.transaction():
            connection.execute(f"SET LOCAL app.tenant_id = '{tenant_id}'".encode())
            assert connection.execute("SELECT count(*) FROM scope").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM scope").fetchone() == (0,)
    assert database.row("SELECT count(*) AS n FROM scope")["n"] == 1


def test_a_row_of_another_tenant_is_neither_seen_nor_written(database: PostgresDatabase) -> None:
    mine, other = database.add_tenant("acme"), database.add_tenant("acme-corp")
    add_scope(database, other)
    for conninfo in (database.app_conninfo, database.maintenance_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection, connection.transaction():
            connection.execute(f"SET LOCAL app.tenant_id = '{mine}'".encode())
            found = connection.execute("SELECT count(*) FROM scope WHERE tenant_id = %s", (other,)).fetchone()
            assert found == (0,)
    with psycopg.connect(database.app_conninfo) as connection:
        connection.execute(f"SET LOCAL app.tenant_id = '{mine}'".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as raised:
            connection.execute(
                "INSERT INTO scope VALUES (%s, %s, 2, 1, NULL, 1, 1, 0, 0, 1, 0, '', '', NULL, now(), now())",
                (other, uuid4()),
            )
        assert raised.value.sqlstate == "42501"
        connection.rollback()
        with connection.transaction():
            connection.execute(f"SET LOCAL app.tenant_id = '{mine}'".encode())
            changed = connection.execute("UPDATE scope SET generation = 99 WHERE tenant_id = %s", (other,))
            assert changed.rowcount == 0
    assert database.row("SELECT count(*) AS n, max(generation) AS g FROM scope") == {"n": 1, "g": 1}


def test_the_service_reads_one_tenant_or_one_credential_at_a_time(database: PostgresDatabase) -> None:
    mine = database.add_tenant("acme")
    database.add_tenant("acme-corp")
    with psycopg.connect(database.app_conninfo, autocommit=True) as connection:
        for setting in (f"app.tenant_id = '{mine}'", "app.tenant_name = 'acme'"):
            with connection.transaction():
                connection.execute(f"SET LOCAL {setting}".encode())
                assert connection.execute("SELECT name FROM tenant").fetchall() == [("acme",)]


@pytest.mark.parametrize("role", ["muniment_app", "muniment_maintenance"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE muniment.t (a integer)",
        "CREATE TABLE public.t (a integer)",
        "CREATE TEMPORARY TABLE t (a integer)",
        "CREATE SCHEMA s",
        "ALTER TABLE muniment.memory ADD COLUMN a integer",
        "ALTER TABLE muniment.memory DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE muniment.memory NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY tenant_isolation ON muniment.memory",
        "CREATE POLICY p ON muniment.memory USING (true)",
        "CREATE INDEX ON muniment.memory (memory_id)",
        "DROP TABLE muniment.memory",
        "TRUNCATE muniment.memory",
        "TRUNCATE muniment.audit_event",
        "UPDATE muniment.audit_event SET actor = ''",
        "DELETE FROM muniment.audit_event",
        "UPDATE muniment.audit_chain SET digest = ''",
        "DELETE FROM muniment.audit_chain",
        "DELETE FROM muniment.audit_checkpoint",
        "DELETE FROM muniment.tombstone",
        "UPDATE muniment.tombstone SET erase_time = now()",
        "INSERT INTO muniment.tenant VALUES (gen_random_uuid(), 'x', now())",
        "UPDATE muniment.credential SET revoke_time = NULL",
        "UPDATE muniment.instance SET restore_epoch = 0",
        "SET ROLE muniment_owner",
        "SET SESSION AUTHORIZATION postgres",
        "CREATE ROLE r",
        "ALTER ROLE muniment_app BYPASSRLS",
        "ALTER SYSTEM SET log_statement = 'all'",
        "SET log_statement = 'all'",
        "COPY muniment.memory TO PROGRAM 'cat'",
        "SELECT pg_read_file('postgresql.conf')",
    ],
)
def test_the_serving_roles_cannot_change_what_guards_them(
    module_database: PostgresDatabase, role: str, statement: str
) -> None:
    conninfo = module_database.server.conninfo(role, module_database.name)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as raised:
            connection.execute(statement.encode())
        assert raised.value.sqlstate == "42501", raised.value


def test_the_owner_cannot_log_in(module_database: PostgresDatabase) -> None:
    row = module_database.row("SELECT * FROM pg_roles WHERE rolname = 'muniment_owner'")
    assert not row["rolcanlogin"]
    for role in ("muniment_owner", "muniment_app", "muniment_maintenance"):
        row = module_database.row("SELECT * FROM pg_roles WHERE rolname = %s", (role,))
        for attribute in ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication"):
            assert not row[attribute], (role, attribute)


def test_even_the_owner_is_under_row_level_security(database: PostgresDatabase) -> None:
    add_scope(database, database.add_tenant())
    with database.eye.transaction():
        database.eye.execute("SET LOCAL ROLE muniment_owner")
        assert database.row("SELECT count(*) AS n FROM scope")["n"] == 0


def test_the_settings_of_the_login_roles(module_database: PostgresDatabase) -> None:
    for conninfo in (module_database.app_conninfo, module_database.maintenance_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection:

            def shown(name: str, connection: psycopg.Connection[tuple[str, ...]] = connection) -> str:
                row = connection.execute(f"SHOW {name}".encode()).fetchone()
                assert row is not None
                return row[0]

            assert shown("search_path") == "muniment, public, pg_temp"
            assert shown("jit") == "off"
            assert shown("idle_in_transaction_session_timeout") == "30s"
            assert shown("lock_timeout") == "5s"


def test_the_proper_logins_may_serve(database: PostgresDatabase) -> None:
    for conninfo in (database.app_conninfo, database.maintenance_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection:
            assert_no_bypass(connection)
            check_settings(connection)
            found = read_login(connection)
            assert (found.privileged, found.acts_as_owner) == (False, False)
    with (
        login(database, "GRANT muniment_app TO {}") as conninfo,
        psycopg.connect(conninfo, autocommit=True) as connection,
    ):
        assert_no_bypass(connection)
        with pytest.raises(RolesError, match="SET search_path = muniment, public"):
            check_settings(connection)


@pytest.mark.parametrize(
    ("attributes", "grants", "said"),
    [
        ("SUPERUSER", (), "SUPERUSER"),
        ("BYPASSRLS", ("GRANT muniment_app TO {}",), "BYPASSRLS"),
        ("CREATEROLE", ("GRANT muniment_app TO {}",), "CREATEROLE"),
        ("REPLICATION", ("GRANT muniment_app TO {}",), "REPLICATION"),
        ("", ("GRANT muniment_app, muniment_owner TO {}",), "member of the owner"),
        ("", ("GRANT muniment_owner TO {} WITH INHERIT FALSE, SET TRUE",), "member of the owner"),
        ("NOINHERIT", ("GRANT postgres TO {}",), "SUPERUSER"),
        ("", ("ALTER TABLE memory OWNER TO {}",), "owns"),
        ("", ("GRANT CREATE ON SCHEMA muniment TO {}",), "may create objects"),
        ("", ("GRANT pg_write_server_files TO {}",), "pg_write_server_files"),
        ("", ("GRANT pg_write_all_data TO {}",), "may change or delete rows of audit_event"),
        ("", ("GRANT UPDATE (actor) ON audit_event TO {}",), "may change or delete rows of audit_event"),
        ("", ("GRANT DELETE ON audit_chain TO {}",), "may change or delete rows of audit_chain"),
    ],
)
def test_a_login_that_could_go_around_the_policies_is_refused(
    database: PostgresDatabase, attributes: str, grants: tuple[str, ...], said: str
) -> None:
    with (
        login(database, *grants, attributes=attributes) as conninfo,
        psycopg.connect(conninfo, autocommit=True) as connection,
    ):
        with pytest.raises(BypassError, match=said) as raised:
            assert_no_bypass(connection)
        assert "Serve with muniment_app" in str(raised.value)


@pytest.mark.parametrize("change", ["DISABLE", "NO FORCE"])
def test_a_table_whose_security_was_switched_off_is_noticed(database: PostgresDatabase, change: str) -> None:
    database.execute(f"ALTER TABLE posting {change} ROW LEVEL SECURITY")
    with (
        psycopg.connect(database.app_conninfo, autocommit=True) as connection,
        pytest.raises(BypassError, match="row-level security of table posting"),
    ):
        assert_no_bypass(connection)
