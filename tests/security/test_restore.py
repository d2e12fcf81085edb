"""An older copy of the whole database is put in place: noticed at the start, until it is declared."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import psycopg
import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, consistency_pb2, memory_service_pb2
from muniment_server.audit.findings import FindingKind as K
from muniment_server.audit.restore import declare_restore
from muniment_server.audit.verify import DatabaseBehindAnchors, startup_check
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.storage.restoring import count_serving, raise_restore_epoch
from support.history import Copy, open_keys, written_columns
from support.postgres import PASSWORD, PostgresDatabase, PostgresServer, reachable_folder
from support.service import reason, running_service

FAST = {"fsync": "off", "full_page_writes": "off"}


@dataclass
class Installation:
    """A server of its own that can be stopped, copied and put back."""

    embedded: EmbeddedPostgres
    database: PostgresDatabase
    keys: Path
    backup: Path

    def back_up(self) -> None:
        """Copy the data folder while nothing runs."""
        self.database.close()
        self.embedded.stop()
        subprocess.run(["cp", "-a", self.embedded.data, self.backup], check=True)
        self.embedded.start()

    def put_back(self) -> None:
        """Exchange the data folder for the copy."""
        self.database.close()
        self.embedded.stop()
        shutil.rmtree(self.embedded.data)
        subprocess.run(["cp", "-a", self.backup, self.embedded.data], check=True)
        self.embedded.start()

    def copy(self) -> Copy:
        """For `verify`; it is the installation itself."""
        return Copy(self.database, self.keys)


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with reachable_folder() as folder:
        embedded = EmbeddedPostgres(folder / "home", PASSWORD, settings=FAST)
        embedded.start()
        try:
            database = PostgresServer(embedded).create()
            yield Installation(embedded, database, tmp_path / "keys", folder / "backup")
            database.close()
        finally:
            embedded.stop()


async def _declare(installation: Installation) -> list[object]:
    database = installation.database
    app, maintenance = database.app(), database.maintenance()
    await app.open()
    await maintenance.open()
    try:
        with psycopg.connect(database.superuser_conninfo, autocommit=True) as connection:
            raise_restore_epoch(connection)
        async with open_keys(installation.keys) as store:
            return list(await declare_restore(app, maintenance, store, reference="TICKET-7", operator="ada"))
    finally:
        await app.close()
        await maintenance.close()


async def _startup_check(installation: Installation) -> None:
    pool = installation.database.app()
    await pool.open()
    try:
        async with open_keys(installation.keys) as store:
            await startup_check(pool, store)
    finally:
        await pool.close()


async def test_an_older_copy_is_noticed_and_can_be_declared(installation: Installation) -> None:
    async with running_service(installation.database, keys_folder=installation.keys) as service:
        caller = service.caller("acme")
        old = (await caller.write("u1", "Likes green tea")).results[0].memory.memory_id
        secret = (await caller.write("u2", "KORRIGAN-9 lives here")).results[0].memory.memory_id
        await service.sealed()
    await _startup_check(installation)
    installation.back_up()

    async with running_service(installation.database, keys_folder=installation.keys) as service:
        caller = service.caller("acme")
        for number in range(4):
            lost = (await caller.write("u1", f"Number {number}")).results[0].memory.memory_id
        response = await caller.write("u4", "A scope that the copy has never seen")
        token = response.consistency_token
        service.caller("later")
        await service.caller("later").write("u1", "A tenant that the copy has never seen")
        await caller.erase_subject("u2")
        await caller.write("u2", "Begins anew")
        await service.sealed()
    await _startup_check(installation)
    assert await installation.copy().kinds(deep=True) == set()
    installation.put_back()

    with pytest.raises(DatabaseBehindAnchors, match="muniment restore"):
        await _startup_check(installation)
    with pytest.raises(DatabaseBehindAnchors):
        async with running_service(installation.database, keys_folder=installation.keys):
            pytest.fail("a service started on a database that has gone back")
    found = await installation.copy().kinds(deep=True)
    assert {K.CHAIN_ROLLED_BACK, K.SCOPE_ROLLED_BACK, K.SCOPE_MISSING, K.SCOPE_KEY} <= found

    (restored,) = await _declare(installation)
    assert restored.name == "acme"
    assert (restored.anchored_sequence, restored.restored_sequence) == (9, 2)
    assert (restored.scopes, restored.erased) == (1, 1)
    await _startup_check(installation)
    assert await installation.copy().kinds(deep=True) == set()
    dump = [
        str(row)
        for table in ("memory", "memory_embedding", "posting", "memory_revision", "scope")
        for row in installation.database.rows(f"SELECT * FROM {table}")
    ]
    assert not [row for row in dump if secret in row]

    async with running_service(installation.database, keys_folder=installation.keys) as service:
        caller = service.caller("acme")
        assert await caller.contents("u1", "green tea") == ["Likes green tea"]
        assert await caller.contents("u2", "who lives here") == []
        gone = await caller.get(secret)
        assert gone.memory.state == 6
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await caller.get(lost)
        assert reason(caught.value) == "MEMORY_NOT_FOUND"
        await caller.write("u2", "Writable anew")
        await caller.write("u4", "Here too")
        assert await caller.contents("u2", "writable anew") == ["Writable anew"]
        assert await caller.contents("u4", "here too") == ["Here too"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await caller.recall("u1", "tea", consistency=consistency_pb2.Consistency(at_least_as_fresh=token))
        assert reason(caught.value) == "CONSISTENCY_TOKEN_EXPIRED"
        events = (await caller.call("Audit", _about(audit_pb2.AUDIT_ACTION_RESTORE))).events
        assert len(events) == 1
        assert events[0].restore_declared.reference == "TICKET-7"
        assert events[0].restore_declared.anchored_sequence == 9
        assert events[0].restore_declared.restored_sequence == 2
        assert events[0].actor.kind == audit_pb2.ACTOR_KIND_OPERATOR
        assert events[0].actor.principal == "ada"
        about = memory_service_pb2.AuditRequest(filter=audit_pb2.AuditFilter(memory_id=secret))
        actions = [event.action for event in (await caller.call("Audit", about)).events]
        assert actions[-2:] == [audit_pb2.AUDIT_ACTION_RESTORE, audit_pb2.AUDIT_ACTION_WRITE]
        assert (await caller.get(old)).memory.content == "Likes green tea"
        await service.sealed()
    assert await installation.copy().kinds(deep=True) == set()
    await _startup_check(installation)


def _about(action: audit_pb2.AuditAction.ValueType) -> memory_service_pb2.AuditRequest:
    return memory_service_pb2.AuditRequest(filter=audit_pb2.AuditFilter(actions=[action]))


async def test_declaring_twice_is_harmless(installation: Installation) -> None:
    async with running_service(installation.database, keys_folder=installation.keys) as service:
        await service.caller("acme").write("u1", "Likes green tea")
        await service.sealed()
    await _declare(installation)
    await _declare(installation)
    await _startup_check(installation)
    assert await installation.copy().kinds(deep=True) == set()
    assert installation.database.row("SELECT restore_epoch FROM instance")["restore_epoch"] == 2


async def test_running_servers_are_counted(installation: Installation) -> None:
    async with running_service(installation.database, keys_folder=installation.keys):
        with psycopg.connect(installation.database.superuser_conninfo, autocommit=True) as connection:
            assert count_serving(connection) > 0
    with psycopg.connect(installation.database.superuser_conninfo, autocommit=True) as connection:
        assert count_serving(connection) == 0


async def test_a_running_server_notices_and_does_not_cover_it_up(installation: Installation) -> None:
    """The tail is cut off under a running server, which goes on writing: nothing is chained on top, and
    what the key store has seen stays as it was."""
    async with running_service(installation.database, keys_folder=installation.keys) as service:
        caller = service.caller("acme")
        for number in range(4):
            await caller.write("u1", f"Number {number}")
        await service.sealed()
        before = await service.key_store.heads(service.tenant_id())
        copy = installation.copy()
        copy.tamper("DELETE FROM audit_chain WHERE sequence > 2")
        copy.tamper("DELETE FROM audit_checkpoint WHERE sequence > 2 RETURNING 1")
        copy.tamper(
            "DELETE FROM audit_event e WHERE NOT EXISTS"
            " (SELECT FROM audit_chain c WHERE c.event_id = e.event_id)"
        )
        copy.tamper(
            "UPDATE audit_head SET (sequence, digest) ="
            " (SELECT sequence, digest FROM audit_chain WHERE sequence = 2)"
        )
        for number in range(5):
            await caller.write("u1", f"Later {number}")
        await service.sealed()
        assert service.service.sealer is not None
        assert service.service.sealer.behind == {service.tenant_id()}
        assert await service.key_store.heads(service.tenant_id()) == before
        assert copy.database.row("SELECT count(*) AS n FROM audit_queue")["n"] == 5
        # Serving goes on, and nothing of it is lost.
        assert len(await caller.contents("u1", "later", limit=20, min_score=0)) == 9
    assert K.CHAIN_ROLLED_BACK in await copy.kinds()
    with pytest.raises(DatabaseBehindAnchors):
        await _startup_check(installation)
    await _declare(installation)
    found = await copy.kinds()
    # The events that were cut off are gone for good, and what they told of is still there.
    assert K.CHAIN_ROLLED_BACK not in found
    await _startup_check(installation)


async def test_a_server_that_runs_while_a_scope_goes_back_notices(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_service(installation.database, keys_folder=installation.keys) as service:
        caller = service.caller("acme")
        await caller.write("u1", "First")
        await service.sealed()
        database = installation.database
        for table in ("scope", "memory", "memory_embedding", "posting"):
            database.execute(f"CREATE TEMPORARY TABLE old_{table} AS TABLE {table}")
        for number in range(4):
            await caller.write("u1", f"Number {number}")
        await service.sealed()
        copy = installation.copy()
        for table in ("memory", "memory_embedding", "posting", "scope"):
            copy.tamper(f"DELETE FROM {table}")
        for table in ("scope", "memory", "memory_embedding", "posting"):
            columns = written_columns(database, table)
            copy.tamper(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM old_{table}")
        await caller.write("u1", "On top of the old state")
        await service.sealed()
        assert "does not hold what the key store has seen" in caplog.text
        for number in range(6):
            await caller.write("u1", f"Covers it up {number}")
        await service.sealed()
    # The scope has outgrown its anchor, but the trail still tells of what was lost.
    found = await copy.kinds()
    assert K.MEMORY_LOST in found
