"""What is really stored: read through a second connection, past the service."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import grpc
import pytest

from muniment_server._gen.muniment.v1 import memory_pb2
from support.postgres import PostgresDatabase
from support.service import reason

ACTIVE = memory_pb2.MEMORY_STATE_ACTIVE
PENDING = memory_pb2.MEMORY_STATE_PENDING
SUPERSEDED = memory_pb2.MEMORY_STATE_SUPERSEDED

WRITE, SUPERSEDE, ERASE, RECALL, REPORT_USE, GET_MEMORY = range(1, 7)
"""Actions of audit events."""
OK, DENIED, FAILED = 1, 2, 3
"""Outcomes of audit events."""


class Stored:
    """The rows of one tenant."""

    def __init__(self, database: PostgresDatabase, tenant: str) -> None:
        self.database = database
        self.tenant_id: UUID = database.row("SELECT tenant_id FROM tenant WHERE name = %s", (tenant,))[
            "tenant_id"
        ]

    def rows(self, table: str, where: str = "true", *values: Any) -> list[dict[str, Any]]:
        """Rows of a table."""
        return self.database.rows(
            f"SELECT * FROM {table} WHERE tenant_id = %s AND {where}", (self.tenant_id, *values)
        )

    def count(self, table: str, where: str = "true", *values: Any) -> int:
        """How many rows a table has."""
        return int(
            self.database.row(
                f"SELECT count(*) AS n FROM {table} WHERE tenant_id = %s AND {where}",
                (self.tenant_id, *values),
            )["n"]
        )

    def memory(self, memory_id: str | UUID) -> dict[str, Any]:
        """The current row of a memory."""
        (row,) = self.rows("memory", "memory_id = %s", str(memory_id))
        return row

    def live(self) -> set[str]:
        """Ids of the ACTIVE memories."""
        return {str(row["memory_id"]) for row in self.rows("memory", "state = 2")}

    def events(self, action: int | None = None, outcome: int | None = None) -> list[dict[str, Any]]:
        """Audit events, oldest first, with their payload read."""
        found = self.rows(
            "audit_event",
            "(%s::int IS NULL OR action = %s) AND (%s::int IS NULL OR outcome = %s)",
            action,
            action,
            outcome,
            outcome,
        )
        for row in found:
            row["payload"] = json.loads(bytes(row["payload"]))
        return sorted(found, key=lambda row: row["event_id"])

    def snapshot(self) -> dict[str, Any]:
        """Everything of the tenant but its audit trail, to compare."""
        tables = (
            "scope",
            "memory",
            "memory_revision",
            "memory_embedding",
            "posting",
            "tombstone",
            "idempotency",
            "erasure",
        )
        return {table: sorted(map(repr, self.rows(table))) for table in tables}

    def check(self) -> None:
        """What must hold between the rows of a tenant, whatever was done."""
        tenant = (self.tenant_id,)
        statistics = self.database.rows(
            "SELECT s.scope_id FROM scope s LEFT JOIN memory m ON m.tenant_id = s.tenant_id"
            " AND m.scope_id = s.scope_id AND m.state = 2 WHERE s.tenant_id = %s"
            " GROUP BY s.scope_id, s.live_count, s.live_terms"
            " HAVING s.live_count <> count(m.memory_id) OR s.live_terms <> coalesce(sum(m.term_count), 0)",
            tenant,
        )
        assert not statistics, "statistics of a scope differ from its memories"
        strays = self.database.rows(
            "SELECT p.doc_no FROM posting p JOIN scope s USING (tenant_id, scope_no)"
            " LEFT JOIN memory m ON m.tenant_id = p.tenant_id AND m.scope_id = s.scope_id"
            " AND m.doc_no = p.doc_no AND m.state = 2 WHERE p.tenant_id = %s AND m.memory_id IS NULL",
            tenant,
        )
        assert not strays, "the lexical index has entries of memories that are not live"
        orphans = self.database.rows(
            "SELECT e.doc_no FROM memory_embedding e JOIN scope s USING (tenant_id, scope_no)"
            " LEFT JOIN memory m ON m.tenant_id = e.tenant_id AND m.scope_id = s.scope_id"
            " AND m.doc_no = e.doc_no WHERE e.tenant_id = %s AND m.memory_id IS NULL",
            tenant,
        )
        assert not orphans, "a vector has no memory"
        heirs = self.database.rows(
            "SELECT supersedes FROM memory WHERE tenant_id = %s AND state IN (2, 3)"
            " AND supersedes IS NOT NULL GROUP BY supersedes HAVING count(*) > 1",
            tenant,
        )
        assert not heirs, "a memory has two successors"
        ghosts = self.rows("memory", "memory_id IN (SELECT memory_id FROM tombstone)")
        assert not ghosts, "an erased memory is still stored"
        unwritten = self.database.rows(
            "SELECT memory_id FROM memory m WHERE tenant_id = %s AND NOT EXISTS (SELECT FROM audit_event a"
            " WHERE a.tenant_id = m.tenant_id AND a.outcome = 1 AND a.action IN (1, 2, 10, 19)"
            " AND m.memory_id = ANY(a.memory_ids))",
            tenant,
        )
        assert not unwritten, "a memory was stored without an audit event"
        unstored = self.database.rows(
            "SELECT a.event_id FROM audit_event a, unnest(a.memory_ids) AS named (memory_id)"
            " WHERE a.tenant_id = %s AND a.outcome = 1 AND a.action IN (1, 2, 10, 19)"
            " AND NOT EXISTS (SELECT FROM memory m WHERE m.tenant_id = a.tenant_id"
            " AND m.memory_id = named.memory_id)"
            " AND NOT EXISTS (SELECT FROM tombstone t WHERE t.tenant_id = a.tenant_id"
            " AND t.memory_id = named.memory_id)",
            tenant,
        )
        assert not unstored, "the audit trail tells of a memory that is not stored"


async def refused(call: Awaitable[Any], code: str, why: str | None = None) -> grpc.aio.AioRpcError:
    """The error of a call that must fail with this code and reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = caught.value
    assert error.code().name == code, f"{error.code()}: {error.details()}"
    if why is not None:
        assert reason(error) == why
    return error


async def outcome(call: Awaitable[Any]) -> str:
    """ "OK", or the name of the status of a call that may fail."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait for something that no event tells of; returns what the condition returned."""
    async with asyncio.timeout(seconds):
        while not (found := condition()):  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)
    return found


def spellings(marker: str) -> list[bytes]:
    """A text as it would look in a dump: plain, UTF-16, in hex and in base64 at every alignment."""
    plain = marker.encode()
    found = [plain, marker.encode("utf-16-le"), plain.hex().encode(), plain.hex().upper().encode()]
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + plain).rstrip(b"=")
        # Characters at both ends hold bits of the neighbours as well.
        found.append(encoded[(0, 2, 3)[shift] : len(encoded) - bool((shift + len(plain)) % 3)])
    return found


def dump(database: PostgresDatabase) -> Iterator[tuple[str, bytes]]:
    """Every row of every table, as text and with its binary columns as they are."""
    tables = database.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'muniment'"
        " AND table_type = 'BASE TABLE'"
    )
    for table in tables:
        name = table["table_name"]
        for row in database.rows(f'SELECT t::text AS "as text", t.* FROM "{name}" t'):
            yield name, row.pop("as text").encode()
            for value in row.values():
                if isinstance(value, (bytes, memoryview)):
                    yield name, bytes(value)


def tables_with(database: PostgresDatabase, *markers: str) -> set[str]:
    """Tables in which one of the markers can be found, in whatever spelling."""
    needles = [spelling for marker in markers for spelling in spellings(marker)]
    return {name for name, row in dump(database) if any(needle in row for needle in needles)}


def memory_ids(found: Sequence[Any]) -> list[str]:
    """The ids of ranked or listed memories, in their order."""
    return [one.memory.memory_id if hasattr(one, "memory") else one.memory_id for one in found]
