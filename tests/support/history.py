"""A short history of everything that can happen to a memory, made once and copied for each test.

@pytest.fixture(scope="module")
def history(postgres_server): ...            # in the test module, from `made_history`

async def test_something(history):
    copy = history.copy()
    copy.database.execute("UPDATE memory SET ...")
    assert FindingKind.MEMORY_SEAL in await copy.kinds()
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2
from muniment_server.audit.findings import FindingKind, TenantReport
from muniment_server.audit.verify import verify
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.master import FileMasterKeys
from muniment_server.crypto.wrapped_key_store import key_store_at
from muniment_server.domain.model import SourceType
from support.postgres import PostgresDatabase, PostgresServer
from support.service import RunningService, item, running_service


@asynccontextmanager
async def open_keys(folder: Path) -> AsyncIterator[KeyStore]:
    """The key store in a folder."""
    store = key_store_at(folder / "keystore.sqlite", FileMasterKeys(folder / "master.key", create=True))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def written_columns(database: PostgresDatabase, table: str) -> str:
    """The columns of a table, with commas, but for those that the database makes of others."""
    rows = database.rows(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'muniment'"
        " AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position",
        (table,),
    )
    return ", ".join(row["column_name"] for row in rows)


@dataclass
class Copy:
    """A database and a key store of a test's own."""

    database: PostgresDatabase
    keys: Path
    ids: dict[str, str] = field(default_factory=dict)

    def uuid(self, name: str) -> UUID:
        """A named id of the history."""
        return UUID(self.ids[name])

    def tamper(self, query: str, **values: object) -> None:
        """Change the database as somebody would who may do everything there; must touch a row."""
        self.database.execute("SET session_replication_role = replica")
        touched = self.database.execute(query, values)
        self.database.execute("SET session_replication_role = origin")
        assert touched, query

    def save(self) -> None:
        """Keep everything as it is now, for `put_back`."""
        self.database.execute("CREATE SCHEMA saved")
        for table in self._tables():
            self.database.execute(f"CREATE TABLE saved.{table} AS TABLE muniment.{table}")

    def put_back(self) -> None:
        """Make all rows what they were at `save`; faster than another copy."""
        self.database.execute("SET session_replication_role = replica")
        for table in self._tables():
            self.database.execute(f"DELETE FROM muniment.{table}")
            columns = written_columns(self.database, table)
            self.database.execute(
                f"INSERT INTO muniment.{table} ({columns}) SELECT {columns} FROM saved.{table}"
            )
        self.database.execute("SET session_replication_role = origin")

    def _tables(self) -> list[str]:
        rows = self.database.rows(
            "SELECT relname FROM pg_class WHERE relnamespace = 'muniment'::regnamespace AND relkind = 'r'"
            " AND relname <> 'schema_migration'"
        )
        return [row["relname"] for row in rows]

    async def reports(self, *, deep: bool = False, tenant: str | None = None) -> list[TenantReport]:
        """Verify everything."""
        pool = self.database.maintenance()
        await pool.open()
        try:
            async with open_keys(self.keys) as store:
                return [report async for report in verify(pool, store, deep=deep, tenant=tenant)]
        finally:
            await pool.close()

    async def kinds(self, *, deep: bool = False) -> set[FindingKind]:
        """The kinds of everything that is found."""
        return {kind for report in await self.reports(deep=deep) for kind in report.counts}


class History:
    """The made history; `copy` gives each test its own."""

    def __init__(self, server: PostgresServer, database: PostgresDatabase, folder: Path) -> None:
        self.server = server
        self.database = database
        self.folder = folder
        self.ids: dict[str, str] = {}
        self._copies: list[PostgresDatabase] = []

    def copy(self) -> Copy:
        """A copy of database and key store."""
        number = len(self._copies) + 1
        name = f"{self.database.name}_copy_{number}"
        with psycopg.connect(self.server.superuser_conninfo(), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(name), sql.Identifier(self.database.name)
                )
            )
        database = PostgresDatabase(self.server, name)
        self._copies.append(database)
        keys = self.folder / f"keys-{number}"
        shutil.copytree(self.folder / "keys", keys)
        return Copy(database, keys, dict(self.ids))

    def drop(self) -> None:
        """Remove all copies."""
        for database in self._copies:
            database.close()
            self.server.drop(database)


@contextmanager
def made_history(server: PostgresServer) -> Iterator[History]:
    """Make the history and remove it, with all copies, at the end."""
    database = server.create()
    with tempfile.TemporaryDirectory(prefix="muniment-history-") as folder:
        history = History(server, database, Path(folder))
        asyncio.run(_make(history))
        # A template must have no connections.
        database.close()
        try:
            yield history
        finally:
            history.drop()
            server.drop(database)


async def _make(history: History) -> None:
    async with running_service(history.database, keys_folder=history.folder / "keys") as service:
        ids = history.ids
        await _subject_with_everything(service, ids)
        other = service.caller("other")
        ids["foreign"] = await _write(other, "u1", "Belongs to another tenant")
        ids["foreign_tenant_id"] = str(service.tenant_id("other"))
        ids["tenant_id"] = str(service.tenant_id("acme"))
        await service.sealed()
    for name, query in (
        ("scope_id", "SELECT scope_id FROM memory WHERE memory_id = %(lyon)s"),
        ("second_scope_id", "SELECT scope_id FROM memory WHERE memory_id = %(second)s"),
    ):
        row = history.database.row(query, ids)
        ids[name] = str(row["scope_id"])


async def _write(caller: object, subject: str, text: str, **fields: object) -> str:
    response = await caller.write(subject, item(text, **fields))  # type: ignore[attr-defined]
    return str(response.results[0].memory.memory_id)


async def _subject_with_everything(service: RunningService, ids: dict[str, str]) -> None:
    caller = service.caller("acme")
    weak = service.caller("acme", source_types=[SourceType.TOOL])
    stated = memory_pb2.SOURCE_TYPE_USER_STATED
    provenance = memory_pb2.Provenance(source_type=stated)
    ids["lyon"] = await _write(caller, "u1", "Lives in Lyon near the old harbour")
    ids["tea"] = await _write(caller, "u1", "Likes green tea", slot="drink")
    ids["coffee"] = await _write(caller, "u1", "Likes black coffee", slot="drink", tags=["taste"])
    ids["cat"] = await _write(caller, "u1", "Has a cat")
    # The same words from the user: a second revision with the better provenance, then one more time.
    await caller.write("u1", item("Has a cat", provenance=provenance))
    await caller.write("u1", item("Has a cat"))
    ids["job"] = await _write(caller, "u1", "Works as a carpenter")
    replaced = await caller.supersede(ids["job"], "Works as a joiner")
    ids["new_job"] = replaced.memory.memory_id
    pending = await weak.supersede(ids["cat"], "Has a dog")
    ids["pending"] = pending.memory.memory_id
    ids["gone"] = await _write(caller, "u1", "Wants this to be forgotten")
    recalled = await caller.recall("u1", "where does she live and what does she drink", token_budget=300)
    ids["recall"] = recalled.recall_id
    await caller.call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=recalled.recall_id, memory_ids=[recalled.memories[0].memory.memory_id]
        ),
    )
    await caller.erase_memories(ids["gone"])
    ids["second"] = await _write(caller, "u2", "Plays the cello")
    ids["twin"] = await _write(caller, "u2", "Plays the oboe")
    ids["erased"] = await _write(caller, "u3", "Everything here goes")
    await caller.erase_subject("u3")
    ids["anew"] = await _write(caller, "u3", "And something new comes")
    await caller.get(ids["lyon"])
