"""Migrations: forward only, once, by one at a time, and never changed afterwards."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from muniment_server.bootstrap.passwords import scram_verifier
from muniment_server.storage.migrate import (
    Migration,
    MigrationChangedError,
    MigrationError,
    SchemaNewerError,
    SchemaOutdatedError,
    check,
    load_migrations,
    migrate,
    pending,
)
from muniment_server.storage.roles import APP, MAINTENANCE, prepare_database
from support.postgres import PASSWORD, PostgresDatabase, PostgresServer

VERIFIERS = {role: scram_verifier(PASSWORD) for role in (APP, MAINTENANCE)}


@pytest.fixture
def empty(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A database with schema and roles, but without a single migration."""
    created = postgres_server.create_empty()
    with psycopg.connect(created.superuser_conninfo, autocommit=True) as connection:
        prepare_database(connection, VERIFIERS, exclusive=True)
    yield created
    created.close()
    postgres_server.drop(created)


def connect(database: PostgresDatabase) -> psycopg.Connection[Any]:
    return psycopg.connect(database.superuser_conninfo, autocommit=True)


def extra(text: str, version: int = 0, name: str = "more") -> Migration:
    version = version or len(load_migrations()) + 1
    return Migration.of(f"{version:04d}_{name}.sql", text.encode())


def test_the_files_are_numbered_without_a_gap() -> None:
    found = load_migrations()
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    with pytest.raises(MigrationError):
        Migration.of("1_short.sql", b"")


def test_an_empty_database_is_brought_up_to_date_and_remembers_it(empty: PostgresDatabase) -> None:
    with connect(empty) as connection:
        assert pending(connection) == list(load_migrations())
        with pytest.raises(SchemaOutdatedError, match="muniment migrate"):
            check(connection)
        before = datetime.now(UTC)
        assert migrate(connection) == list(load_migrations())
        check(connection)
    rows = empty.rows("SELECT * FROM schema_migration ORDER BY version")
    assert [(row["version"], row["name"], row["sha256"]) for row in rows] == [
        (migration.version, migration.name, migration.sha256) for migration in load_migrations()
    ]
    assert all(before <= row["apply_time"] <= datetime.now(UTC) for row in rows)


def test_a_second_run_changes_nothing(database: PostgresDatabase) -> None:
    before = database.rows("SELECT * FROM schema_migration")
    with connect(database) as connection:
        assert migrate(connection) == []
    assert database.rows("SELECT * FROM schema_migration") == before


def test_many_at_once_apply_each_file_once(empty: PostgresDatabase) -> None:
    known = [*load_migrations(), extra("CREATE TABLE one_more (tenant_id uuid NOT NULL)")]
    barrier = threading.Barrier(4)
    applied: list[Migration] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with connect(empty) as connection:
                barrier.wait()
                applied.extend(migrate(connection, known))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(migration.version for migration in applied) == [migration.version for migration in known]
    assert empty.row("SELECT count(*) AS n FROM schema_migration")["n"] == len(known)


def test_a_changed_file_is_refused(database: PostgresDatabase) -> None:
    first = load_migrations()[0]
    changed = Migration.of(f"0001_{first.name}.sql", first.text.encode() + b"\n-- changed")
    with connect(database) as connection:
        with pytest.raises(MigrationChangedError, match="0001_"):
            migrate(connection, [changed, *load_migrations()[1:]])
        with pytest.raises(MigrationChangedError):
            check(connection, [changed, *load_migrations()[1:]])


def test_a_newer_database_is_refused(database: PostgresDatabase) -> None:
    with connect(database) as connection:
        migrate(connection, [*load_migrations(), extra("SELECT 1")])
        with pytest.raises(SchemaNewerError, match="newer version"):
            migrate(connection)
        with pytest.raises(SchemaNewerError):
            check(connection)


def test_a_failing_file_leaves_nothing_behind(database: PostgresDatabase) -> None:
    bad = extra("CREATE TABLE half (tenant_id uuid NOT NULL); SELECT 1 / 0;")
    with connect(database) as connection:
        with pytest.raises(MigrationError, match="changed nothing"):
            migrate(connection, [*load_migrations(), bad])
        assert database.row("SELECT to_regclass('muniment.half') AS name")["name"] is None
        # The same connection goes on as the login that it was.
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
        check(connection)


def test_a_migration_gives_way_to_a_long_transaction_and_then_comes_through(
    database: PostgresDatabase,
) -> None:
    change = extra("ALTER TABLE memory ADD COLUMN later integer")
    reader = psycopg.connect(database.superuser_conninfo)
    reader.execute("SELECT count(*) FROM muniment.memory")
    timer = threading.Timer(4.0, reader.rollback)
    timer.start()
    try:
        with connect(database) as connection:
            assert migrate(connection, [*load_migrations(), change]) == [change]
    finally:
        timer.join()
        reader.close()


def test_the_service_reads_the_bookkeeping_and_cannot_write_it(database: PostgresDatabase) -> None:
    for conninfo in (database.app_conninfo, database.maintenance_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection:
            check(connection)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("DELETE FROM muniment.schema_migration")
            with pytest.raises(MigrationError):
                migrate(connection, [*load_migrations(), extra("SELECT 1")])


def test_objects_belong_to_the_owner_whoever_migrates(database: PostgresDatabase) -> None:
    table = extra("CREATE TABLE another (tenant_id uuid NOT NULL)")
    with connect(database) as connection:
        migrate(connection, [*load_migrations(), table])
    assert (
        database.row("SELECT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE relname = 'another'")[
            "owner"
        ]
        == "muniment_owner"
    )
