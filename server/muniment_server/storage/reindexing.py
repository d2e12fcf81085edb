"""A change of the embedding model: its row, how far it is, and the moment of the switch."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any
from uuid import UUID

from .database import Database, UnitOfWork
from .hints import Hint, HintKind

LEASE = timedelta(seconds=10)
"""A process that works on a change and was not heard of for this long has ended."""


class ReindexState(IntEnum):
    """How far a change is. After SWITCHED and ABORTED the needless vectors are still to be dropped."""

    RUNNING = 1
    FILLED = 2
    SWITCHED = 3
    ABORTED = 4


@dataclass(frozen=True, slots=True)
class Reindex:
    """A change from one model to another, by their numbers. automatic: switch as soon as it is filled."""

    reindex_id: UUID
    state: ReindexState
    from_no: int
    to_no: int
    automatic: bool


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model in use, or one that is being changed to (`reindex_id`)."""

    model_no: int
    name: str
    digest: str
    dimension: int
    setting: str
    in_use: bool
    analyzer: int
    """Of the installation: the oldest version of the text analysis that may stand in the index."""
    reindex_id: UUID | None


async def models_in_use(database: Database) -> list[ModelRow]:
    """The model in use, and the one of a running change."""
    async with database.transaction(None, timeout=10.0) as work:
        rows = await work.fetch("models_in_use")
    return [ModelRow(**row) for row in rows]


async def open_changes(database: Database) -> list[Reindex]:
    """Changes that are not over, the oldest first."""
    async with database.transaction(None, timeout=10.0) as work:
        rows = await work.fetch("reindex_open")
    return [
        Reindex(row["reindex_id"], ReindexState(row["state"]), row["from_no"], row["to_no"], row["automatic"])
        for row in rows
    ]


async def lease(database: Database, reindex_id: UUID, worker: UUID, now: datetime) -> Reindex | None:
    """Take or keep the work on a change; None when another process has it."""
    async with database.transaction(None, timeout=10.0) as work:
        row = await work.fetch_one(
            "reindex_lease", reindex_id=reindex_id, worker=worker, now=now, stale=now - LEASE
        )
    if row is None:
        return None
    return Reindex(
        row["reindex_id"], ReindexState(row["state"]), row["from_no"], row["to_no"], row["automatic"]
    )


async def filled(database: Database, change: Reindex, now: datetime) -> None:
    """Say that every memory has been seen by the new model."""
    async with database.transaction(None, timeout=10.0) as work:
        await _advance(work, change, ReindexState.RUNNING, ReindexState.FILLED, now)


async def switch(database: Database, change: Reindex, now: datetime) -> bool:
    """Make the new model the one in use, and tell all processes; False when the change was aborted first."""
    async with database.transaction(None, timeout=10.0) as work:
        if not await _advance(work, change, ReindexState.FILLED, ReindexState.SWITCHED, now):
            return False
        await work.send("model_switch", from_no=change.from_no, to_no=change.to_no)
        await work.send("hint_send", payload=Hint(HintKind.MODELS_CHANGED).payload())
    return True


async def _advance(
    work: UnitOfWork, change: Reindex, expected: ReindexState, state: ReindexState, now: datetime
) -> bool:
    rows = await work.fetch(
        "reindex_advance",
        reindex_id=change.reindex_id,
        expected=int(expected),
        state=int(state),
        now=now,
    )
    return bool(rows)


async def dropped(database: Database, reindex_id: UUID, now: datetime) -> None:
    """Say that a change is over."""
    async with database.transaction(None, timeout=10.0) as work:
        await work.send("reindex_dropped", reindex_id=reindex_id, now=now)


async def settle_analyzer(database: Database, analyzer: int) -> None:
    """Say that no older version of the analysis stands in the index, and tell all processes."""
    async with database.transaction(None, timeout=10.0) as work:
        await work.send("analyzer_settle", analyzer=analyzer)
        await work.send("hint_send", payload=Hint(HintKind.MODELS_CHANGED).payload())


@dataclass(frozen=True, slots=True)
class Undone:
    """What is left to do in a tenant. scopes: those in which memories wait for their vector.

    oldest: the oldest version of the analysis before the present one that memories have; None if none has.
    """

    scopes: list[UUID]
    oldest: int | None


async def undone(work: UnitOfWork, model_no: int, limit: int, *, late: bool) -> Undone:
    """What is left to do in the tenant, in at most `limit` scopes. late: whether `oldest` is asked for."""
    requests: list[tuple[str, dict[str, Any]]] = [
        ("embedding_waiting_scopes", {"model_no": model_no, "limit": limit})
    ]
    if late:
        requests.append(("reindex_late", {}))
    waiting, *versions = await work.fetch_together(*requests)
    oldest = next((row["oldest"] for rows in versions for row in rows), None)
    return Undone([row["scope_id"] for row in waiting], oldest)


async def reopen_analyzer(database: Database, analyzer: int) -> None:
    """Say that an older version of the analysis stands in the index again, and tell all processes."""
    async with database.transaction(None, timeout=10.0) as work:
        await work.send("analyzer_reopen", analyzer=analyzer)
        await work.send("hint_send", payload=Hint(HintKind.MODELS_CHANGED).payload())


async def transactions(database: Database) -> tuple[int, int]:
    """The oldest transaction that runs, and the first one that has not begun yet."""
    async with database.transaction(None, timeout=10.0) as work:
        row = await work.fetch_one("snapshot_bounds")
    return (row["oldest"], row["next"]) if row else (0, 0)


async def progress(database: Database, tenants: Sequence[UUID], model_no: int) -> tuple[int, int]:
    """How many memories there are, and how many of them a model has seen."""
    memories = done = 0
    for tenant_id in tenants:
        async with database.transaction(tenant_id, timeout=60.0) as work:
            row = await work.fetch_one("embedding_progress", model_no=model_no)
        if row is not None:
            memories += row["memories"]
            done += row["done"]
    return memories, done
