"""The chain of audit events: its end, its links, its signed states, and what waits to be chained."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from .database import Row, UnitOfWork

EVERYTHING = 2**62
"""A place behind the end of every chain."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of a chain: the number of its last event (0 before the first) and its digest."""

    sequence: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class ChainState:
    """The end of a chain (None before its first event), its last signed place, whether events wait."""

    head: ChainHead | None
    signed_sequence: int
    waiting: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that waits for its place."""

    event_id: UUID
    action: int
    scope_id: UUID | None
    payload: bytes
    mac: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """An event's place in the chain."""

    sequence: int
    event_id: UUID
    digest: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A signed state of the chain."""

    sequence: int
    digest: bytes
    create_time: datetime
    signing_key: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class ScopeHead:
    """How far a scope has come; the seal of its row covers everything in it."""

    scope_id: UUID
    generation: int
    seal: bytes


async def lock_head(work: UnitOfWork, start: bytes) -> ChainHead:
    """Lock the end of the tenant's chain, made with the digest `start` if there is none yet."""
    found = await work.fetch_one("chain_head_lock")
    if found is None:
        await work.send("chain_head_make", digest=start)
        found = await work.fetch_one("chain_head_lock")
    if found is None:
        raise RuntimeError("the head of the chain was neither found nor made")
    return ChainHead(found["sequence"], bytes(found["digest"]))


async def read_state(work: UnitOfWork) -> ChainState:
    """Where the tenant's chain stands."""
    (row,) = await work.fetch("chain_head_read")
    head = None if row["sequence"] is None else ChainHead(row["sequence"], bytes(row["digest"]))
    return ChainState(head, row["signed_sequence"] or 0, row["waiting"])


async def waiting_events(work: UnitOfWork, after: UUID | None, limit: int) -> list[Waiting]:
    """Events that wait for their place, in the order of their ids."""
    return [
        Waiting(
            event_id=row["event_id"],
            action=row["action"],
            scope_id=row["scope_id"],
            payload=bytes(row["payload"]),
            mac=bytes(row["mac"]),
        )
        for row in await work.fetch("chain_queue", after=after, limit=limit)
    ]


async def count_waiting(work: UnitOfWork) -> int:
    """How many events of the tenant wait for their place."""
    (row,) = await work.fetch("chain_queue_count")
    count: int = row["waiting"]
    return count


async def append(work: UnitOfWork, links: Sequence[Link]) -> None:
    """Queue the links of waiting events, whose head is locked, and move the head."""
    event_ids = [link.event_id for link in links]
    await work.send(
        "chain_insert",
        sequences=[link.sequence for link in links],
        event_ids=event_ids,
        digests=[link.digest for link in links],
    )
    await work.send("chain_memory_insert", event_ids=event_ids)
    await work.send("chain_queue_delete", event_ids=event_ids)
    await work.send("chain_head_advance", sequence=links[-1].sequence, digest=links[-1].digest)


async def digests_at(work: UnitOfWork, sequences: Sequence[int]) -> dict[int, bytes]:
    """The digests at places of the chain; a place that it does not have is missing."""
    rows = await work.fetch("chain_digests", sequences=list(sequences))
    return {row["sequence"]: bytes(row["digest"]) for row in rows}


async def chain_range(work: UnitOfWork, after: int, last: int, limit: int) -> list[Row]:
    """Links after one place up to another with all columns of their events; `present` tells whether
    there is an event."""
    return await work.fetch("chain_range", after=after, last=last, limit=limit)


async def insert_checkpoint(work: UnitOfWork, checkpoint: Checkpoint) -> None:
    """Queue a signed state."""
    await work.send(
        "checkpoint_insert",
        sequence=checkpoint.sequence,
        digest=checkpoint.digest,
        create_time=checkpoint.create_time,
        signing_key=checkpoint.signing_key,
        signature=checkpoint.signature,
    )


async def newest_checkpoint(work: UnitOfWork, through: int) -> tuple[int, datetime | None] | None:
    """Place and time of the last signed state up to a place; None for a time that nobody of ours stored."""
    row = await work.fetch_one("checkpoint_newest", through=through)
    if row is None:
        return None
    return row["sequence"], row["create_time"] if isinstance(row["create_time"], datetime) else None


async def checkpoints(work: UnitOfWork, after: int, last: int, limit: int) -> list[Checkpoint]:
    """Signed states after one place up to another, in order."""
    return [
        Checkpoint(
            sequence=row["sequence"],
            digest=bytes(row["digest"]),
            create_time=row["create_time"],
            signing_key=row["signing_key"],
            signature=bytes(row["signature"]),
        )
        for row in await work.fetch("checkpoint_range", after=after, last=last, limit=limit)
    ]


async def scope_heads(
    work: UnitOfWork,
    scope_ids: Sequence[UUID] | None = None,
    *,
    after: UUID | None = None,
    limit: int = EVERYTHING,
) -> list[ScopeHead]:
    """How far scopes have come; without ids those of the whole tenant, in order."""
    rows = await work.fetch(
        "scope_heads", scope_ids=None if scope_ids is None else list(scope_ids), after=after, limit=limit
    )
    return [ScopeHead(row["scope_id"], row["generation"], bytes(row["seal"])) for row in rows]


async def scopes_behind(
    work: UnitOfWork, seen: Sequence[tuple[UUID, int, bytes]]
) -> list[tuple[UUID, int, int | None]]:
    """Which scopes (id, generation, seal) do not stand where they were seen: id, generation seen, and
    generation found, None for a scope that is gone."""
    rows = await work.fetch(
        "scope_heads_behind",
        scope_ids=[scope_id for scope_id, _, _ in seen],
        generations=[generation for _, generation, _ in seen],
        digests=[digest for _, _, digest in seen],
    )
    return [(row["scope_id"], row["anchored"], row["generation"]) for row in rows]


async def scopes_of_erased(work: UnitOfWork, event_ids: Sequence[UUID]) -> list[UUID]:
    """The scopes that the memories stood in which events of erasures name."""
    rows = await work.fetch("tombstone_scopes", event_ids=list(event_ids))
    return [row["scope_id"] for row in rows]


async def recall_events(
    work: UnitOfWork,
    recall_id: UUID,
    actions: Sequence[int],
    outcome: int,
    *,
    after: UUID | None = None,
    limit: int,
) -> list[Row]:
    """Events of a recall, oldest first, with all columns and their place in the chain."""
    return await work.fetch(
        "audit_of_recall",
        recall_id=recall_id,
        actions=list(actions),
        outcome=outcome,
        after=after,
        limit=limit,
    )


def place(row: Row) -> dict[str, Any]:
    """The place in the chain of a row that was read with it."""
    return {
        "sequence": row["sequence"] or 0,
        "digest": bytes(row["digest"] or b""),
        "prev_digest": bytes(row["prev_digest"] or b""),
    }
