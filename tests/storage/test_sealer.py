"""The sealer: a gapless chain, whoever dies, fails or runs at the same time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from muniment_server.audit.canonical import CHAIN_START, chain_digest, checkpoint_bytes
from muniment_server.audit.chaining import CheckpointRule
from muniment_server.audit.events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome
from muniment_server.audit.findings import FindingKind
from muniment_server.audit.sealer import Sealer
from muniment_server.audit.trail import write_event
from muniment_server.audit.verify import verify
from muniment_server.crypto.errors import KeyStoreUnavailable
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.key_store import Head, HeadKind, KeyStore
from muniment_server.crypto.signing import verify_checkpoint
from muniment_server.domain.ids import new_id
from muniment_server.storage.admin import create_tenant
from muniment_server.storage.database import Database
from support.history import open_keys
from support.postgres import PostgresDatabase
from support.seals import seals_of


class FailingStore:
    """A key store that refuses heads while `down` is set, and notes what it was given."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self.down = False
        self.given: list[Head] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        if self.down:
            raise KeyStoreUnavailable("down")
        self.given += heads
        return await self._store.put_heads(heads)


@dataclass
class Bench:
    """Events straight into the store, without a service."""

    database: PostgresDatabase
    app: Database
    maintenance: Database
    store: FailingStore
    keys: KeyRing
    tenant_id: UUID

    def sealer(self, **options: Any) -> Sealer:
        return Sealer(self.maintenance, self.keys, **{"delay": 0.01, **options})

    async def record(self, count: int = 1, tenant_id: UUID | None = None, **details: Any) -> list[UUID]:
        tenant_id = tenant_id or self.tenant_id
        key = await self.keys.tenant(tenant_id)
        made = []
        async with self.app.transaction(tenant_id) as work:
            for _ in range(count):
                event = AuditEvent(
                    event_id=new_id(),
                    tenant_id=tenant_id,
                    time=datetime.now(UTC),
                    action=AuditAction.RECALL,
                    outcome=AuditOutcome.OK,
                    actor=Actor(ActorKind.SERVICE, "test"),
                    memory_ids=[new_id()],
                    details=details,
                )
                await write_event(work, key, event)
                made.append(event.event_id)
        return made

    def chain(self) -> list[tuple[int, UUID]]:
        rows = self.database.rows(
            "SELECT sequence, event_id FROM audit_chain WHERE tenant_id = %s ORDER BY sequence",
            (self.tenant_id,),
        )
        return [(row["sequence"], row["event_id"]) for row in rows]

    def count(self, table: str) -> int:
        return int(self.database.row(f"SELECT count(*) AS n FROM {table}")["n"])

    async def audit_head(self) -> Head | None:
        heads = await self.store.heads(self.tenant_id)
        return next((head for head in heads if head.kind is HeadKind.AUDIT), None)

    def assert_chained(self, expected: Sequence[UUID]) -> None:
        """Exactly these events, in this order, each with the digest that its place gives it."""
        rows = self.database.rows(
            "SELECT c.sequence, c.event_id, c.digest, e.payload, e.memory_ids FROM audit_chain c"
            " JOIN audit_event e ON e.event_id = c.event_id WHERE c.tenant_id = %s ORDER BY c.sequence",
            (self.tenant_id,),
        )
        assert [row["event_id"] for row in rows] == list(expected)
        digest = CHAIN_START
        for number, row in enumerate(rows, 1):
            assert row["sequence"] == number
            digest = chain_digest(digest, number, bytes(row["payload"]))
            assert bytes(row["digest"]) == digest
        head = self.database.row(
            "SELECT sequence, digest FROM audit_head WHERE tenant_id = %s", (self.tenant_id,)
        )
        assert (head["sequence"], bytes(head["digest"])) == (len(rows), digest)
        named = {(row["event_id"], memory_id) for row in rows for memory_id in row["memory_ids"]}
        indexed = self.database.rows("SELECT event_id, memory_id FROM audit_memory")
        assert named <= {(row["event_id"], row["memory_id"]) for row in indexed}


@pytest.fixture
async def bench(
    database: PostgresDatabase, app: Database, maintenance: Database, tmp_path: Path
) -> AsyncIterator[Bench]:
    (tmp_path / "keys").mkdir(mode=0o700)
    async with open_keys(tmp_path / "keys") as opened:
        store = FailingStore(opened)
        yield Bench(
            database,
            app,
            maintenance,
            store,
            KeyRing(store),  # type: ignore[arg-type]
            create_tenant(database.eye, "acme", seals=seals_of(opened)).tenant_id,
        )


async def until(condition: Any, seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            value = condition()
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return
            await asyncio.sleep(0.01)


async def test_events_are_chained_in_order_signed_and_anchored(bench: Bench) -> None:
    sealer = bench.sealer()
    await sealer.start()
    ids = await bench.record(3)
    sealer.notify(bench.tenant_id)
    await until(lambda: bench.count("audit_chain") == 3)
    ids += await bench.record(2)
    sealer.notify(bench.tenant_id)
    await until(lambda: bench.count("audit_chain") == 5)
    await sealer.stop()
    bench.assert_chained(ids)
    assert bench.count("audit_queue") == 0
    head = await bench.audit_head()
    assert head is not None
    assert head.position == 5
    last = bench.database.row("SELECT * FROM audit_checkpoint ORDER BY sequence DESC LIMIT 1")
    assert last["sequence"] == 5
    signed = checkpoint_bytes(bench.tenant_id, 5, bytes(last["digest"]), last["create_time"])
    public = (await bench.store.public_keys())[last["signing_key"]]
    assert verify_checkpoint(public, signed, bytes(last["signature"]))


async def test_what_a_killed_process_left_is_chained_at_the_next_start(bench: Bench) -> None:
    ids = await bench.record(7)
    other = bench.database.add_tenant("other")
    await bench.record(2, other)
    sealer = bench.sealer()
    await sealer.start()
    await until(lambda: bench.count("audit_queue") == 0)
    await sealer.stop()
    bench.assert_chained(ids)
    assert bench.count("audit_chain") == 9


async def test_a_chain_that_was_not_anchored_is_anchored_at_the_next_start(bench: Bench) -> None:
    bench.store.down = True
    first = bench.sealer()
    await first.start()
    await bench.record(3)
    first.notify(bench.tenant_id)
    await until(lambda: bench.count("audit_chain") == 3)
    await first.stop()
    assert await bench.audit_head() is None
    bench.store.down = False
    second = bench.sealer()
    await second.start()
    await until(bench.audit_head)
    await second.stop()


async def test_an_outage_of_the_key_store_holds_up_anchors_only(bench: Bench) -> None:
    sealer = bench.sealer()
    await sealer.start()
    await bench.record(2)
    sealer.notify(bench.tenant_id)
    await until(bench.audit_head)
    bench.store.down = True
    for _ in range(3):
        await bench.record(2)
        sealer.notify(bench.tenant_id)
        await asyncio.sleep(0.05)
    await until(lambda: bench.count("audit_chain") == 8)
    head = await bench.audit_head()
    assert head is not None
    assert head.position == 2
    bench.store.down = False

    async def anchored() -> bool:
        found = await bench.audit_head()
        return found is not None and found.position == 8

    await until(anchored)
    await sealer.stop()


async def test_a_head_is_never_ahead_of_the_database(bench: Bench) -> None:
    """At every moment at which a head is given to the key store, the database holds it already."""
    seen: list[tuple[int, int]] = []
    original = bench.store.put_heads

    async def spy(heads: Sequence[Head]) -> list[Head]:
        for head in heads:
            row = bench.database.row(
                "SELECT sequence FROM audit_head WHERE tenant_id = %s", (head.tenant_id,)
            )
            seen.append((head.position, row["sequence"]))
        return await original(heads)

    bench.store.put_heads = spy  # type: ignore[method-assign]
    sealer = bench.sealer(batch_size=3)
    await sealer.start()
    for _ in range(20):
        await bench.record(4)
        sealer.notify(bench.tenant_id)
        await asyncio.sleep(0.005)
    await sealer.stop()
    assert seen
    assert all(anchored <= stored for anchored, stored in seen)
    assert seen[-1][0] == 80


async def test_several_sealers_make_one_chain(bench: Bench) -> None:
    pools = [bench.database.maintenance() for _ in range(3)]
    for pool in pools:
        await pool.open()
    sealers = [Sealer(pool, bench.keys, delay=0.005, batch_size=5) for pool in pools]
    for sealer in sealers:
        await sealer.start()
    recorded: list[UUID] = []

    async def write() -> None:
        for _ in range(25):
            recorded.extend(await bench.record(2))
            for sealer in sealers:
                sealer.notify(bench.tenant_id)

    await asyncio.gather(*(write() for _ in range(4)))
    await asyncio.gather(*(sealer.stop() for sealer in sealers))
    for pool in pools:
        await pool.close()
    assert bench.count("audit_queue") == 0
    chained = [event_id for _, event_id in bench.chain()]
    assert sorted(chained) == sorted(recorded)
    bench.assert_chained(chained)
    head = await bench.audit_head()
    assert head is not None
    assert head.position == 200


async def test_an_event_changed_in_the_queue_gets_no_place(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    before = await bench.record(2)
    (changed,) = await bench.record(1)
    after = await bench.record(2)
    bench.database.execute(
        "UPDATE audit_event SET payload = payload || '\\x20'::bytea WHERE event_id = %s", (changed,)
    )
    with caplog.at_level(logging.ERROR, "muniment.audit"):
        sealer = bench.sealer(batch_size=2)
        await sealer.start()
        await until(lambda: bench.count("audit_queue") == 1)
        for _ in range(3):
            more = await bench.record(1)
            after += more
            sealer.notify(bench.tenant_id)
            await asyncio.sleep(0.05)
        await sealer.stop()
    bench.assert_chained(before + after)
    told = [record for record in caplog.records if "not what the service wrote" in record.getMessage()]
    assert len(told) == 1
    found = [report async for report in verify(bench.maintenance, bench.store)]  # type: ignore[arg-type]
    assert [finding.event_id for finding in found[0].findings] == [changed]
    assert found[0].findings[0].kind is FindingKind.EVENT_CHANGED


async def test_many_forged_events_do_not_hold_up_the_others(bench: Bench) -> None:
    forged = await bench.record(20)
    bench.database.execute("UPDATE audit_event SET mac = sha256('x')")
    genuine = await bench.record(3)
    sealer = bench.sealer(batch_size=5)
    assert await sealer.settle(bench.tenant_id)
    bench.assert_chained(genuine)
    assert bench.count("audit_queue") == len(forged)


async def test_a_chained_event_that_is_queued_again_stays_where_it_is(bench: Bench) -> None:
    first = await bench.record(2)
    sealer = bench.sealer()
    assert await sealer.settle(bench.tenant_id)
    bench.database.execute("INSERT INTO audit_queue SELECT tenant_id, event_id FROM audit_chain")
    second = await bench.record(1)
    assert await sealer.settle(bench.tenant_id)
    bench.assert_chained(first + second)


async def test_a_link_or_signature_planted_ahead_is_no_place_to_hide(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    sealer = bench.sealer()
    await bench.record(1)
    assert await sealer.settle(bench.tenant_id)
    bench.database.execute(
        "INSERT INTO audit_checkpoint SELECT tenant_id, 4000000000, digest, create_time, signing_key,"
        " signature FROM audit_checkpoint"
    )
    bench.database.execute("UPDATE audit_checkpoint SET create_time = 'infinity'")
    await bench.record(1)
    assert await sealer.settle(bench.tenant_id)
    assert bench.database.row("SELECT count(*) AS n FROM audit_checkpoint WHERE sequence = 2")["n"] == 1
    await bench.record(1)
    bench.database.execute(
        "INSERT INTO audit_chain SELECT tenant_id, 3, event_id, sha256('x') FROM audit_queue"
    )
    await bench.record(1)
    assert not await sealer.settle(bench.tenant_id)
    assert "nobody of ours made" in caplog.text
    assert bench.count("audit_queue") == 2


async def test_large_batches_are_hashed_beside_the_event_loop(bench: Bench) -> None:
    ids = await bench.record(40, note="x" * 20_000)
    sealer = bench.sealer()
    assert await sealer.settle(bench.tenant_id)
    bench.assert_chained(ids)


async def test_a_database_outage_is_waited_out(bench: Bench) -> None:
    sealer = bench.sealer()
    await sealer.start()
    ids = await bench.record(1)
    sealer.notify(bench.tenant_id)
    await until(lambda: bench.count("audit_chain") == 1)
    bench.database.execute("REVOKE SELECT ON audit_queue FROM muniment_maintenance")
    ids += await bench.record(2)
    sealer.notify(bench.tenant_id)
    await asyncio.sleep(0.2)
    assert bench.count("audit_chain") == 1
    assert not await sealer.settle(bench.tenant_id)
    bench.database.execute("GRANT SELECT ON audit_queue TO muniment_maintenance")
    bench.database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'muniment_maintenance'"
        " AND datname = current_database()"
    )
    await until(lambda: bench.count("audit_chain") == 3)
    await sealer.stop()
    bench.assert_chained(ids)


async def test_checkpoints_are_bounded_and_the_last_event_is_signed(bench: Bench) -> None:
    rule = CheckpointRule(interval=timedelta(seconds=0.4), every=50)
    sealer = bench.sealer(rule=rule)
    await sealer.start()
    for _ in range(30):
        await bench.record(1)
        sealer.notify(bench.tenant_id)
        await asyncio.sleep(0.01)
    await until(lambda: bench.count("audit_chain") == 30)
    assert 1 <= bench.count("audit_checkpoint") <= 6

    def signed() -> bool:
        row = bench.database.row("SELECT max(sequence) AS n FROM audit_checkpoint")
        return bool(row["n"] == 30)

    # Nobody calls any more: the tail is signed all the same.
    await until(signed)
    await sealer.stop()


@pytest.mark.parametrize(
    ("sequence", "last", "due"),
    [
        (0, None, False),
        (1, None, True),
        (5, (5, 100), False),
        (6, (5, 0), False),
        (6, (5, 2), True),
        (105, (5, 0), True),
        (104, (5, 0), False),
    ],
)
def test_when_a_signature_is_due(sequence: int, last: tuple[int, int] | None, due: bool) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    since = None if last is None else (last[0], now - timedelta(seconds=last[1]))
    assert CheckpointRule().is_due(now, sequence, since) is due


async def test_telling_the_sealer_of_unknown_tenants_is_harmless(bench: Bench) -> None:
    sealer = bench.sealer()
    sealer.notify(new_id())
    await sealer.start()
    ids = await bench.record(1)
    sealer.notify(bench.tenant_id)
    await until(lambda: bench.count("audit_chain") == 1)
    await sealer.stop()
    bench.assert_chained(ids)


async def test_erasing_many_memories_is_one_event_of_bounded_size(bench: Bench) -> None:
    key = await bench.keys.tenant(bench.tenant_id)
    memory_ids = [new_id() for _ in range(25_000)]
    event = AuditEvent(
        event_id=new_id(),
        tenant_id=bench.tenant_id,
        time=datetime.now(UTC),
        action=AuditAction.RECALL,
        outcome=AuditOutcome.OK,
        actor=Actor(ActorKind.SERVICE, "test"),
        memory_ids=memory_ids,
    )
    async with bench.app.transaction(bench.tenant_id) as work:
        await write_event(work, key, event)
    assert len(event.payload()) < 500_000
    assert await bench.sealer().settle(bench.tenant_id)
    assert bench.count("audit_memory") == 25_000
    reports = [report async for report in verify(bench.maintenance, bench.store)]  # type: ignore[arg-type]
    assert reports[0].findings == []
    # One id beyond those that the bytes name is covered by their digest.
    bench.database.execute("UPDATE audit_event SET memory_ids[20000] = gen_random_uuid()")
    reports = [report async for report in verify(bench.maintenance, bench.store)]  # type: ignore[arg-type]
    assert FindingKind.EVENT_CHANGED in reports[0].counts
