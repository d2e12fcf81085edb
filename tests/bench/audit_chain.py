"""What the chain of audit events costs its writers: chained by the sealer, or under a lock in every call.

    python tests/bench/audit_chain.py [seconds [rounds]]

Every call is one transaction that writes one recall receipt of ten memories, on a PostgreSQL of its own
with all its durability. `none` writes events only, `sealer` is what the service does, `lock` takes the
lock of the chain's head in the call itself, as a chain without a sealer would have to.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests")]

from muniment_server.audit.canonical import CHAIN_START, chain_digest  # noqa: E402
from muniment_server.audit.events import (  # noqa: E402
    Actor,
    ActorKind,
    AuditAction,
    AuditEvent,
    AuditOutcome,
)
from muniment_server.audit.sealer import Sealer  # noqa: E402
from muniment_server.audit.trail import write_event  # noqa: E402
from muniment_server.bootstrap.embedded import EmbeddedPostgres  # noqa: E402
from muniment_server.crypto.key_ring import KeyRing  # noqa: E402
from muniment_server.crypto.tenant_key import TenantKey  # noqa: E402
from muniment_server.domain.ids import new_id  # noqa: E402
from muniment_server.storage.audit_chain import Link, append, lock_head  # noqa: E402
from muniment_server.storage.database import Database, UnitOfWork  # noqa: E402
from support.history import open_keys  # noqa: E402
from support.postgres import PASSWORD, PostgresServer, reachable_folder  # noqa: E402

WRITERS = (1, 4, 16)
CHAINS = ("none", "sealer", "lock")


def receipt(tenant_id: UUID) -> AuditEvent:
    memory_ids = [new_id() for _ in range(10)]
    leg = {"leg": 1, "rank": 1, "raw_score": 500_000, "contribution": 250_000}
    memories = [
        {"memory_id": str(one), "revision": 1, "rank": rank, "score": 1, "packed": True, "legs": [leg, leg]}
        for rank, one in enumerate(memory_ids, 1)
    ]
    return AuditEvent(
        event_id=new_id(),
        tenant_id=tenant_id,
        time=datetime.now(UTC),
        action=AuditAction.RECALL,
        outcome=AuditOutcome.OK,
        actor=Actor(ActorKind.API_KEY, str(new_id())),
        scope_id=new_id(),
        recall_id=new_id(),
        memory_ids=memory_ids,
        details={"memories_recalled": {"memories": memories}},
    )


async def queue_only(work: UnitOfWork, key: TenantKey) -> None:
    await write_event(work, key, receipt(work.tenant_id))


async def under_a_lock(work: UnitOfWork, key: TenantKey) -> None:
    event = receipt(work.tenant_id)
    payload = event.payload()
    await write_event(work, key, event)
    head = await lock_head(work, CHAIN_START)
    digest = chain_digest(head.digest, head.sequence + 1, payload)
    await append(work, [Link(head.sequence + 1, event.event_id, digest)])


async def load(
    app: Database,
    key: TenantKey,
    writers: int,
    seconds: float,
    act: Callable[[UnitOfWork, TenantKey], Awaitable[None]],
    told: Callable[[UUID], None],
) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def writer() -> None:
        while (begun := time.perf_counter()) < end:
            async with app.transaction(key.tenant_id, timeout=30.0) as work:
                await act(work, key)
            told(key.tenant_id)
            times.append(time.perf_counter() - begun)

    await asyncio.gather(*(writer() for _ in range(writers)))
    return times


async def measure(seconds: float, rounds: int) -> None:
    with reachable_folder() as folder, tempfile.TemporaryDirectory() as own:
        embedded = EmbeddedPostgres(folder / "home", PASSWORD, settings={"max_connections": "60"})
        embedded.start()
        try:
            database = PostgresServer(embedded).create()
            # Without a sealer the service's own role would have to chain.
            database.execute("GRANT INSERT ON audit_head, audit_chain, audit_memory TO muniment_app")
            database.execute("GRANT UPDATE ON audit_head TO muniment_app")
            database.execute("GRANT DELETE ON audit_queue TO muniment_app")
            app, maintenance = database.app(max_size=16, min_size=16), database.maintenance(max_size=3)
            await app.open()
            await maintenance.open()
            keys = Path(own) / "keys"
            keys.mkdir(mode=0o700)
            async with open_keys(keys) as store:
                ring = KeyRing(store)
                tenants = {name: database.add_tenant(name) for name in CHAINS}
                print("| writers | chain | calls/s | p50 ms | p95 ms | p99 ms |")
                print("| --- | --- | --- | --- | --- | --- |")
                for writers in WRITERS:
                    await compare(app, maintenance, ring, tenants, writers, seconds, rounds)
            await app.close()
            await maintenance.close()
            database.close()
        finally:
            embedded.stop()


async def compare(
    app: Database,
    maintenance: Database,
    ring: KeyRing,
    tenants: dict[str, UUID],
    writers: int,
    seconds: float,
    rounds: int,
) -> None:
    """The ways take turns, so that what else the machine does falls on all of them; medians are told."""
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in CHAINS}
    for _ in range(rounds):
        for name in CHAINS:
            key = await ring.tenant(tenants[name])
            times = await one(app, maintenance, ring, key, writers, seconds, name)
            cuts = statistics.quantiles(times, n=100)
            found[name].append((len(times) / seconds, cuts[49] * 1e3, cuts[94] * 1e3, cuts[98] * 1e3))
    for name, results in found.items():
        rate, *latencies = (statistics.median(column) for column in zip(*results, strict=True))
        told = " | ".join(f"{each:.1f}" for each in latencies)
        print(f"| {writers} | {name} | {rate:.0f} | {told} |", flush=True)


async def one(
    app: Database,
    maintenance: Database,
    ring: KeyRing,
    key: TenantKey,
    writers: int,
    seconds: float,
    name: str,
) -> list[float]:
    sealer = Sealer(maintenance, ring, sweep_interval=3600.0) if name == "sealer" else None
    if sealer is not None:
        await sealer.start()

    def ignore(_tenant: UUID) -> None:
        return

    act: Any = under_a_lock if name == "lock" else queue_only
    times = await load(app, key, writers, seconds, act, sealer.notify if sealer is not None else ignore)
    if sealer is not None:
        await sealer.stop()
    return times


if __name__ == "__main__":
    asyncio.run(
        measure(
            float(sys.argv[1]) if len(sys.argv) > 1 else 3.0, int(sys.argv[2]) if len(sys.argv) > 2 else 7
        )
    )
