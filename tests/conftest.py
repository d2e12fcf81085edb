"""Fixtures for everybody: the real database, a fresh one per test.

    async def test_something(database, app):
        tenant_id = database.add_tenant("acme")
        async with app.transaction(tenant_id) as work:
            await work.fetch(...)
        assert database.row("SELECT count(*) AS n FROM memory")["n"] == 1

- `postgres_server` (session): the running server; `create()`, `create_empty()`, `drop(database)`.
- `database` (test): a fresh migrated `PostgresDatabase` (see tests/support/postgres.py): connection
  strings of all roles, `rows`/`row`/`execute` with a superuser's eye, `add_tenant`, `add_instance`.
- `module_database` (module): the same, shared by the tests of a module.
- `app`, `maintenance` (test, async): opened `Database` objects of the two roles on `database`.
- `service` (test, async): the whole service in this process, with callers; see support/service.py.
- `home` (test): a folder for MUNIMENT_HOME that works when the tests run as root.

For a pool on `module_database`, or one with other sizes: `module_database.app(max_size=1)`, then
`await pool.open()` and `await pool.close()` inside the test.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from muniment_server.storage.database import Database
from support.postgres import PostgresDatabase, PostgresServer, reachable_folder, running_server

if TYPE_CHECKING:
    from support.service import RunningService

for _name in list(os.environ):
    if _name.startswith(("PG", "MUNIMENT_", "OTEL_")):
        del os.environ[_name]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The running server."""
    with running_server() as server:
        yield server


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A fresh migrated database."""
    created = postgres_server.create()
    yield created
    created.close()
    postgres_server.drop(created)


@pytest.fixture(scope="module")
def module_database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A migrated database that the tests of a module share."""
    created = postgres_server.create()
    yield created
    created.close()
    postgres_server.drop(created)


@pytest.fixture
async def app(database: PostgresDatabase) -> AsyncIterator[Database]:
    """An open pool of muniment_app."""
    pool = database.app()
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
async def maintenance(database: PostgresDatabase) -> AsyncIterator[Database]:
    """An open pool of muniment_maintenance."""
    pool = database.maintenance()
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
async def service(database: PostgresDatabase) -> AsyncIterator["RunningService"]:
    """The whole service on `database`, with the deterministic embedder (see tests/support/service.py)."""
    from support.service import running_service

    async with running_service(database) as running:
        yield running


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty folder for MUNIMENT_HOME."""
    with reachable_folder() as folder:
        yield folder / "home"
