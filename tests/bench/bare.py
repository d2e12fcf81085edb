"""The bare statements: what somebody who wrote the SQL by hand would send, and nothing around it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import AsyncRawCursor
from psycopg.types.json import Jsonb

from muniment_server.bootstrap import derive_role_secrets, master_keys
from muniment_server.bootstrap.embedded import SUPERUSER, EmbeddedPostgres
from muniment_server.bootstrap.targets import DATABASE
from muniment_server.config import Settings
from muniment_server.domain.ids import new_id
from muniment_server.storage.queries import load_statements
from muniment_server.storage.roles import APP


class Owner:
    """The database of a running embedded installation, reached beside the service."""

    def __init__(self, superuser: psycopg.AsyncConnection[Any], app_conninfo: str, tenant_id: UUID) -> None:
        self.superuser = superuser
        self.tenant_id = tenant_id
        self.app_conninfo = app_conninfo

    @asynccontextmanager
    async def app(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection of the service's role."""
        async with await psycopg.AsyncConnection.connect(
            self.app_conninfo, autocommit=True, cursor_factory=AsyncRawCursor
        ) as connection:
            await register_vector_async(connection)
            yield connection


@asynccontextmanager
async def owner_connection(settings: Settings) -> AsyncIterator[Owner]:
    """Reach the database of the embedded server in `settings.home`."""
    secrets = await derive_role_secrets(master_keys(settings))
    embedded = EmbeddedPostgres(settings.home, secrets.passwords[SUPERUSER])
    embedded.start()
    try:
        conninfo = embedded.superuser_conninfo(DATABASE)
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute("SET search_path = muniment, public")
            row = await (await connection.execute("SELECT tenant_id FROM tenant")).fetchone()
            assert row is not None
            yield Owner(connection, embedded.conninfo(APP, secrets.passwords[APP], DATABASE), row[0])
    finally:
        embedded.stop()


async def _begin(connection: psycopg.AsyncConnection[Any], tenant_id: UUID) -> None:
    await connection.execute(b"BEGIN", prepare=False)
    await connection.execute(f"SET LOCAL app.tenant_id = '{tenant_id}'".encode(), prepare=False)


class BareInserts:
    """The INSERTs of a Write (memory, vector, postings, audit event, stored answer), one commit."""

    def __init__(
        self,
        connection: psycopg.AsyncConnection[Any],
        tenant_id: UUID,
        dimension: int,
        random: np.random.Generator,
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._dimension = dimension
        self._random = random
        self._scope_id = uuid4()
        self._scope_no = int.from_bytes(self._scope_id.bytes[:8], signed=True)
        self._next_doc = 1

    async def prepare(self, superuser: psycopg.AsyncConnection[Any]) -> None:
        """Make the scope that is written to."""
        await superuser.execute(
            "INSERT INTO scope (tenant_id, scope_id, scope_no, kind, key_epoch, generation, live_count,"
            " live_terms, next_doc, set_count, set_digest, seal, create_time, update_time)"
            " VALUES (%s, %s, %s, 1, 1, 1, 0, 0, 1, 0, '', '', now(), now())",
            (self._tenant_id, self._scope_id, self._scope_no),
        )

    async def write(self, count: int) -> None:
        """Insert `count` memories in one transaction."""
        connection, now, event_id = self._connection, datetime.now(UTC), new_id()
        memories = [self._memory(now) for _ in range(count)]
        async with connection.pipeline():
            await _begin(connection, self._tenant_id)
            for memory in memories:
                await self._send("memory_insert", memory)
            await self._send(
                "posting_insert",
                {
                    "scope_no": self._scope_no,
                    "tokens": [token for memory in memories for token in memory["tokens"]],
                    "doc_nos": [memory["doc_no"] for memory in memories for _ in memory["tokens"]],
                    "tfs": [1 for memory in memories for _ in memory["tokens"]],
                    "doc_terms": [14 for memory in memories for _ in memory["tokens"]],
                },
            )
            for memory in memories:
                await self._send(
                    "embedding_insert",
                    {
                        "scope_no": self._scope_no,
                        "model_no": 1,
                        "doc_no": memory["doc_no"],
                        "content_revision": 1,
                        "state": 1,
                        "embedding": HalfVector(self._random.normal(size=self._dimension)),
                        "seal": os.urandom(32),
                    },
                )
            await self._send(
                "audit_insert",
                {
                    "event_id": event_id,
                    "event_time": now,
                    "action": 1,
                    "outcome": 1,
                    "actor": "bench",
                    "scope_id": self._scope_id,
                    "agent": None,
                    "session": None,
                    "trace_id": None,
                    "recall_id": None,
                    "memory_ids": [memory["memory_id"] for memory in memories],
                    "source_types": [3],
                    "payload": os.urandom(400 + 200 * count),
                    "mac": os.urandom(32),
                },
            )
            await self._send(
                "idempotency_insert",
                {
                    "request_id": uuid4(),
                    "method": "Write",
                    "scope_id": self._scope_id,
                    "key_epoch": 1,
                    "memory_ids": [memory["memory_id"] for memory in memories],
                    "payload_digest": os.urandom(32),
                    "response": os.urandom(300 * count),
                    "event_id": event_id,
                    "now": now,
                },
            )
            await connection.execute(b"COMMIT", prepare=False)

    async def _send(self, name: str, values: dict[str, Any]) -> None:
        statement = load_statements()[name]
        await self._connection.execute(
            statement.text.encode(),
            statement.arguments({"tenant_id": self._tenant_id, **values}),
            binary=True,
            prepare=True,
        )

    def _memory(self, now: datetime) -> dict[str, Any]:
        doc_no, self._next_doc = self._next_doc, self._next_doc + 1
        nothing = dict.fromkeys(
            (
                "confidence",
                "expire_time",
                "valid_from",
                "valid_to",
                "reinforce_time",
                "supersedes",
                "superseded_by",
                "slot",
                "agent",
                "session",
                "origin_session",
                "turn_number",
                "author_agent",
                "source_ref",
            )
        )
        return {
            **nothing,
            "memory_id": new_id(),
            "scope_id": self._scope_id,
            "doc_no": doc_no,
            "revision": 1,
            "content_revision": 1,
            "key_epoch": 1,
            "state": 2,
            "kind": 2,
            "trust": 3,
            "source_type": 3,
            "analyzer": 1,
            "term_count": 14,
            "reinforce_count": 0,
            "create_time": now,
            "update_time": now,
            "author": "bench",
            "tags": [],
            "properties": Jsonb({}),
            "statement_hash": os.urandom(16),
            "tokens": list({int(one) for one in self._random.integers(-(2**62), 2**62, size=14)}),
            "content_ct": os.urandom(180),
            "seal": os.urandom(32),
        }
