"""What waits is counted: vectors, conversations, reviews, events. The figures are those of the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import memory_pb2
from muniment_server.application import backlogs
from muniment_server.telemetry import names
from support.conversations import QUEUED, ingest
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.service import item, running_service
from support.telemetry import Recorded, recording

HEARSAY = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)
GAUGES = (
    names.METRIC_EMBEDDING_PENDING,
    names.METRIC_INGEST_PENDING,
    names.METRIC_REVIEW_PENDING,
    names.METRIC_AUDIT_PENDING,
)


class Clock:
    ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def gauges(recorded: Recorded) -> dict[str, Any]:
    data = recorded.metrics()
    for points in (data[name] for name in GAUGES):
        assert [dict(point.attributes) for point in points] == [{}], "no tenant, no id"
    return {
        name: data[name][0].value for name in (*GAUGES, names.METRIC_EMBEDDING_LAG, names.METRIC_INGEST_LAG)
    }


def stored_counts(database: PostgresDatabase) -> list[int]:
    return [
        database.row(f"SELECT count(*) AS n FROM {table} WHERE {where}")["n"]
        for table, where in (
            ("memory_embedding", "state = 2"),
            ("ingest", "state = 1"),
            ("memory", "state IN (1, 5)"),
            ("audit_queue", "true"),
        )
    ]


async def test_what_waits_is_told_over_all_tenants(database: PostgresDatabase, monkeypatch: Any) -> None:
    embedder, clock = DeterministicEmbedder(), Clock()
    with recording() as recorded:
        async with running_service(
            database, embedder=embedder, clock=clock, embedding_patience=0.1, ingest_quiet_seconds=3600
        ) as running:
            service: Any = running.service
            callers = [running.caller("acme"), running.caller("other")]
            await callers[0].recall("u1", "wakes the embedder")
            await service.upkeep.measure_backlogs()
            assert [gauges(recorded)[name] for name in GAUGES[:3]] == [0, 0, 0]

            await service.sealer.stop()
            embedder.gate.clear()
            try:
                for caller in callers:
                    await caller.write("u1", "Fact 1", item("Fact 2", provenance=HEARSAY))
                await ingest(callers[1], "u2", ["I live in Bergen."], mode=QUEUED)
                clock.ahead = timedelta(hours=2)
                await service.upkeep.measure_backlogs()
                counts, found = stored_counts(database), gauges(recorded)
                # Of one tenant no more is counted than says something.
                monkeypatch.setattr(backlogs, "MOST", 1)
                await service.upkeep.measure_backlogs()
                bounded = gauges(recorded)
            finally:
                embedder.gate.set()
            assert counts == [5, 1, 2, 3]
            assert [found[name] for name in GAUGES] == counts
            # Written two hours ago; due for an hour after an hour of silence.
            assert 7190 < found[names.METRIC_EMBEDDING_LAG] < 7260
            assert 3590 < found[names.METRIC_INGEST_LAG] < 3660
            assert [bounded[name] for name in GAUGES] == [2, 1, 2, 2]
            assert Stored(database, "acme").count("memory", "state = 1") == 1
