"""Schema migrations: plain SQL files, forward only, each in a transaction of its own.

Files are `migrations/<version>_<name>.sql`, versions 0001, 0002, … without a gap. An applied file never
changes again: its SHA-256 stands in `schema_migration` and is compared at every start. One migration
runs at a time (advisory lock), so that servers may start at the same moment.
"""

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from .roles import APP, LOCK, MAINTENANCE, OWNER, SCHEMA, extension_schema

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_ATTEMPTS = 6


class MigrationError(Exception):
    """The schema cannot be brought to, or is not in, the state that this version needs."""


class SchemaOutdatedError(MigrationError):
    """Migrations are missing."""


class SchemaNewerError(MigrationError):
    """The database was migrated by a newer version of Muniment."""


class MigrationChangedError(MigrationError):
    """A file that was applied has another content now."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file. `sha256` is the hexadecimal digest of its bytes."""

    version: int
    name: str
    text: str = field(repr=False)
    sha256: str

    @classmethod
    def of(cls, file_name: str, raw: bytes) -> "Migration":
        """Read a file; raises MigrationError when its name is not `<4 digits>_<name>.sql`."""
        match = _FILE.fullmatch(file_name)
        if match is None:
            raise MigrationError(f"A migration is named <4 digits>_<name>.sql, not {file_name!r}.")
        digest = hashlib.sha256(raw).hexdigest()
        return cls(int(match.group(1)), match.group(2), raw.decode("utf-8"), digest)


@cache
def load_migrations() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    folder = resources.files(__package__).joinpath("migrations")
    found = [
        Migration.of(file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".sql")
    ]
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError("Versions of migrations must be 0001, 0002, … without a gap.")
    return tuple(found)


def pending(
    connection: psycopg.Connection[Any], migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """What is still to be applied; any login that may read the bookkeeping can ask.

    Raises MigrationChangedError, SchemaNewerError.
    """
    known = load_migrations() if migrations is None else migrations
    applied = _applied(connection)
    if len(applied) > len(known):
        raise SchemaNewerError(
            f"The database is at schema version {max(applied):04d}, this version of Muniment knows "
            f"{len(known):04d}. Run the newer version of Muniment that migrated it."
        )
    for migration in known:
        sha256 = applied.get(migration.version, migration.sha256)
        if sha256 != migration.sha256:
            raise MigrationChangedError(
                f"Migration {migration.version:04d}_{migration.name} was applied with another content. "
                "Applied migrations never change: run the version of Muniment that made this database."
            )
    return [migration for migration in known if migration.version not in applied]


def check(connection: psycopg.Connection[Any], migrations: Sequence[Migration] | None = None) -> None:
    """Raise MigrationError unless the schema is exactly the one that this version needs."""
    missing = pending(connection, migrations)
    if missing:
        raise SchemaOutdatedError(
            f"The database schema lacks {len(missing)} migration(s), the first is {missing[0].version:04d}_"
            f"{missing[0].name}. Run `muniment migrate` with a login that may act as {OWNER}."
        )


def migrate(
    connection: psycopg.Connection[Any], migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """Apply what is missing and return it; safe beside running servers and other migrators.

    connection: in autocommit mode, with a login that may `SET ROLE muniment_owner`; the schema and the
    roles exist already. A migration that cannot get its locks within seconds gives way and is tried
    again, so that it never stands in front of running calls for long.
    Raises MigrationError.
    """
    known = load_migrations() if migrations is None else migrations
    try:
        with as_owner(connection):
            if not pending(connection, known):
                return []
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationError(f"The login may not act as {OWNER}, so it cannot migrate.") from error
    return [migration for migration in known if _apply_patiently(connection, known, migration)]


def _apply_patiently(
    connection: psycopg.Connection[Any], known: Sequence[Migration], migration: Migration
) -> bool:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _apply(connection, known, migration)
        except psycopg.errors.LockNotAvailable:
            if attempt == _ATTEMPTS:
                break
            time.sleep(0.5 * attempt)
        except psycopg.Error as error:
            raise MigrationError(
                f"Migration {migration.version:04d}_{migration.name} failed and changed nothing: "
                f"{error.diag.message_primary or type(error).__name__}."
            ) from error
    raise MigrationError(
        f"Migration {migration.version:04d}_{migration.name} did not get its locks beside long transactions. "
        "Nothing was changed; run it again when they have ended."
    )


def _apply(connection: psycopg.Connection[Any], known: Sequence[Migration], migration: Migration) -> bool:
    with as_owner(connection, locked=True):
        if migration not in pending(connection, known):
            return False
        connection.execute(b"SET LOCAL lock_timeout = '3s'")
        if migration.version == 1:
            _create_bookkeeping(connection)
        connection.execute(migration.text.encode())
        connection.execute(
            "INSERT INTO schema_migration (version, name, sha256, apply_time)"
            " VALUES (%s, %s, %s, statement_timestamp())",
            (migration.version, migration.name, migration.sha256),
        )
    return True


@contextmanager
def as_owner(connection: psycopg.Connection[Any], *, locked: bool = False) -> Iterator[None]:
    """A transaction that acts as the owner of the schema; `locked`: under the preparation lock."""
    path = sql.SQL("SET LOCAL search_path = {}, {}, pg_temp").format(
        sql.Identifier(SCHEMA), sql.Identifier(extension_schema(connection))
    )
    with connection.transaction():
        # On a sharded PostgreSQL these two let one transaction touch reference and sharded tables;
        # a plain one takes them as placeholders.
        connection.execute(b"SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        connection.execute(b"SET LOCAL citus.enable_local_reference_table_foreign_keys = off")
        if locked:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute(f"SET LOCAL ROLE {OWNER}".encode())
        connection.execute(path)
        yield


def _applied(connection: psycopg.Connection[Any]) -> dict[int, str]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.schema_migration",))
        row = cursor.fetchone()
        if row is None or not row[0]:
            return {}
        cursor.execute(
            sql.SQL("SELECT version, sha256 FROM {}.schema_migration").format(sql.Identifier(SCHEMA))
        )
        return dict(cursor.fetchall())


def _create_bookkeeping(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        f"""
        CREATE TABLE schema_migration (
            version    integer     NOT NULL,
            name       text        NOT NULL,
            sha256     text        NOT NULL,
            apply_time timestamptz NOT NULL,
            CONSTRAINT schema_migration_pkey PRIMARY KEY (version)
        );
        ALTER TABLE schema_migration ENABLE ROW LEVEL SECURITY;
        ALTER TABLE schema_migration FORCE ROW LEVEL SECURITY;
        CREATE POLICY owner_all ON schema_migration TO {OWNER} USING (true) WITH CHECK (true);
        CREATE POLICY read_all ON schema_migration FOR SELECT TO {APP}, {MAINTENANCE} USING (true);
        GRANT SELECT ON schema_migration TO {APP}, {MAINTENANCE};
        """.encode()
    )
