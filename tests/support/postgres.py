"""The real PostgreSQL of the tests: one embedded server per test session, one database per test.

A migrated template database is made once; every test database is a copy of it (some ten
milliseconds). The server is the product's embedded PostgreSQL; only its durability is off.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.bootstrap.passwords import scram_verifier
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.storage.database import Database
from muniment_server.storage.migrate import migrate
from muniment_server.storage.roles import APP, MAINTENANCE, create_database, prepare_database

PASSWORD = "5e" * 32
"""Of every role of the test server."""

_TEMPLATE = "muniment_template"


class PostgresServer:
    """The running server of the test session."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self.embedded = embedded
        self._numbers = itertools.count(1)
        self._template_made = False

    def conninfo(self, role: str, dbname: str) -> str:
        """Connection string of a role for a database."""
        return self.embedded.conninfo(role, PASSWORD, dbname)

    def superuser_conninfo(self, dbname: str = "postgres") -> str:
        """Connection string of the superuser."""
        return self.embedded.superuser_conninfo(dbname)

    def create_empty(self) -> "PostgresDatabase":
        """A database without roles' grants, schema or extension."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.superuser_conninfo(), autocommit=True) as connection:
            create_database(connection, name)
        return PostgresDatabase(self, name)

    def create(self) -> "PostgresDatabase":
        """A migrated database without tenants and without an instance row."""
        self._make_template()
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.superuser_conninfo(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}".encode())
            # A copy does not take the grants on the database itself along.
            connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC".encode())
            connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {APP}, {MAINTENANCE}".encode())
        return PostgresDatabase(self, name)

    def drop(self, database: "PostgresDatabase") -> None:
        """Drop a database; connections that are still open are ended."""
        with psycopg.connect(self.superuser_conninfo(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database.name)))

    def _make_template(self) -> None:
        if self._template_made:
            return
        with psycopg.connect(self.superuser_conninfo(), autocommit=True) as connection:
            create_database(connection, _TEMPLATE)
        verifiers = {role: scram_verifier(PASSWORD) for role in (APP, MAINTENANCE)}
        with psycopg.connect(self.superuser_conninfo(_TEMPLATE), autocommit=True) as connection:
            prepare_database(connection, verifiers, exclusive=True)
            migrate(connection)
        self._template_made = True


class PostgresDatabase:
    """One database: connection strings of the roles, ready `Database` objects, and a second eye.

    The second eye (`rows`, `row`, `execute`, `eye`) is a superuser's own connection in autocommit
    mode: it sees what is stored, whatever the service says.
    """

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        self._eye: psycopg.Connection[DictRow] | None = None

    @property
    def superuser_conninfo(self) -> str:
        """Connection string of the superuser."""
        return self.server.superuser_conninfo(self.name)

    @property
    def app_conninfo(self) -> str:
        """Connection string of muniment_app."""
        return self.server.conninfo(APP, self.name)

    @property
    def maintenance_conninfo(self) -> str:
        """Connection string of muniment_maintenance."""
        return self.server.conninfo(MAINTENANCE, self.name)

    def app(self, **options: Any) -> Database:
        """An unopened `Database` of muniment_app."""
        return Database(self.app_conninfo, **{"max_size": 4, "name": "app", **options})

    def maintenance(self, **options: Any) -> Database:
        """An unopened `Database` of muniment_maintenance."""
        return Database(self.maintenance_conninfo, **{"max_size": 2, "name": "maintenance", **options})

    @property
    def eye(self) -> psycopg.Connection[DictRow]:
        """The superuser's connection, in autocommit mode, with rows as dictionaries."""
        if self._eye is None or self._eye.closed:
            self._eye = psycopg.connect(self.superuser_conninfo, autocommit=True, row_factory=dict_row)
            self._eye.execute("SET search_path = muniment, public")
        return self._eye

    def rows(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[DictRow]:
        """Rows of a query as the superuser sees them; `%s` or `%(name)s` for values."""
        return self.eye.execute(query.encode(), values or None).fetchall()

    def row(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> DictRow:
        """The only row of a query."""
        (found,) = self.rows(query, values)
        return found

    def execute(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Run a statement as the superuser; returns the number of rows it touched."""
        return self.eye.execute(query.encode(), values or None).rowcount

    def add_tenant(self, name: str = "acme", tenant_id: UUID | None = None) -> UUID:
        """Insert a tenant."""
        tenant_id = tenant_id or uuid4()
        self.execute(
            "INSERT INTO tenant (tenant_id, name, create_time) VALUES (%s, %s, %s)",
            (tenant_id, name, datetime.now(UTC)),
        )
        return tenant_id

    def add_instance(self, name: str = "test-model", digest: str = "0" * 64, dimension: int = 384) -> UUID:
        """Insert the instance row and embedding model number 1; returns the instance's id."""
        instance_id, now = uuid4(), datetime.now(UTC)
        self.execute(
            "INSERT INTO embedding_model (model_no, name, digest, dimension, setting, create_time)"
            " VALUES (1, %s, %s, %s, 'auto', %s)",
            (name, digest, dimension, now),
        )
        self.execute(
            "INSERT INTO instance (instance_id, model_no, analyzer, create_time) VALUES (%s, 1, %s, %s)",
            (instance_id, ANALYZER_VERSION, now),
        )
        return instance_id

    def close(self) -> None:
        """Close the second eye."""
        if self._eye is not None:
            self._eye.close()


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A temporary folder that the database's own account can reach when the tests run as root.

    (pytest's tmp_path lies in a folder that is closed to all other accounts.)
    """
    folder = Path(tempfile.mkdtemp(prefix="muniment-test-"))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """The server of a test session; stopped and removed at the end."""
    fast = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
    with reachable_folder() as folder:
        embedded = EmbeddedPostgres(folder / "home", PASSWORD, settings=fast)
        embedded.start()
        try:
            yield PostgresServer(embedded)
        finally:
            embedded.stop()
