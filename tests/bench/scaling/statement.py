"""The SQL of Recall by hand: exactly what the service would send for a query, and nothing around it."""

from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self, cast
from uuid import UUID

import numpy as np
import psycopg
from pgvector import HalfVector

from bench.scaling.fill import Original
from muniment_server.application.choosing import most_of_source
from muniment_server.application.recall_aim import take_aim
from muniment_server.application.recall_types import LEGS
from muniment_server.bootstrap import key_store, master_keys
from muniment_server.config import Settings
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.domain.model import Fusion, MemoryFilter
from muniment_server.domain.settings import DEFAULT_SETTINGS
from muniment_server.embedding.base import Calibration
from muniment_server.retrieval.queries import analyse_query
from muniment_server.retrieval.versions import query_terms
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.queries import load_statements
from muniment_server.storage.recall import RECALL_SETTINGS
from muniment_server.storage.recall import recall as find
from muniment_server.storage.scales import SCALES

_FETCH = 15
"""Of a Recall of ten: a few more, should seals be broken."""


class RecallStatement:
    """The statement, with a connection of the service's role."""

    def __init__(
        self,
        connection: psycopg.AsyncConnection[Any],
        tenant_id: UUID,
        keys: KeyRing,
        calibration: Calibration,
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._keys = keys
        self._calibration = calibration

    @classmethod
    async def of(
        cls,
        stack: AsyncExitStack,
        settings: Settings,
        connection: psycopg.AsyncConnection[Any],
        tenant_id: UUID,
        calibration: Calibration,
    ) -> Self:
        """With the keys of the installation, by which words are found."""
        store = key_store(settings, master_keys(settings))
        await store.open()
        stack.push_async_callback(store.close)
        return cls(connection, tenant_id, KeyRing(store), calibration)

    async def arguments(self, scope: Original, text: str, vector: np.ndarray) -> "Asked":
        """What the service would send for a query in this scope; not timed."""
        key = await self._keys.current(self._tenant_id, scope.scope_id)
        now = datetime.now(UTC)
        aim = take_aim(
            analyse_query(text, query_terms(text), now, UTC),
            key,
            HalfVector(vector),
            self._calibration,
            DEFAULT_SETTINGS,
            legs=LEGS,
            fusion=Fusion.SCORE,
            limit=10,
        )
        # As the service would know from its last look at the scope.
        SCALES.note(self._tenant_id, scope.scope_id, scope.count, turns=False)
        seen = _Seen(self._tenant_id, scope.count)
        with suppress(_SeenError):
            await find(
                cast(UnitOfWork, seen),
                scope_id=scope.scope_id,
                scope_no=scope.scope_no,
                agent=None,
                session=None,
                restriction=MemoryFilter(),
                model_no=1,
                aim=aim,
                min_score=0.0,
                fetch=_FETCH,
                excluded=[],
                now=now,
                limit=10,
                source_most=most_of_source(10, DEFAULT_SETTINGS.packing.source_share),
            )
        statement = load_statements()[seen.name]
        return Asked(seen.name, statement.arguments({"tenant_id": self._tenant_id, **seen.values}))

    async def run(self, asked: "Asked") -> list[Any]:
        """The statement in its transaction, with its rows fetched."""
        connection = self._connection
        async with connection.pipeline():
            await connection.execute(b"BEGIN", prepare=False)
            await connection.execute(f"SET LOCAL app.tenant_id = '{self._tenant_id}'".encode(), prepare=False)
            for name, value in RECALL_SETTINGS.items():
                await connection.execute(f"SET LOCAL {name} = '{value}'".encode(), prepare=False)
            cursor = await connection.execute(
                load_statements()[asked.name].text.encode(), asked.values, binary=True, prepare=True
            )
            rows = await cursor.fetchall()
            await connection.execute(b"COMMIT", prepare=False)
        return rows


@dataclass(frozen=True)
class Asked:
    """A statement's name and values."""

    name: str
    values: list[Any]


class _SeenError(Exception):
    """The values are known: nothing is sent."""


class _Seen:
    """Takes the place of a transaction, and keeps what the first statement would have been given."""

    def __init__(self, tenant_id: UUID, size: int) -> None:
        self.tenant_id = tenant_id
        self.name = ""
        self.values: Mapping[str, Any] = {}
        self._size = size

    async def fetch(self, _name: str, **_values: Any) -> list[dict[str, int]]:
        return [{"live_count": self._size}]

    async def fetch_together(self, *requests: tuple[str, Mapping[str, Any]]) -> None:
        self.name, self.values = requests[-1]
        raise _SeenError
