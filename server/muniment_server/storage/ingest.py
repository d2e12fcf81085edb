"""Conversations being taken in: the queue, its ingests and their turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from .database import Row, UnitOfWork

QUEUED = 1


@dataclass(frozen=True, slots=True)
class IngestRow:
    """An ingest as stored. state: as the column says; the encrypted body has the word that counts."""

    ingest_id: UUID
    scope_id: UUID
    conversation_id: UUID
    key_epoch: int
    state: int
    attempts: int
    body_ct: bytes
    create_time: datetime
    end_time: datetime | None
    leased: bool = False


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn that was taken in. state: of its ingest, None where that is gone."""

    turn_number: int
    ingest_id: UUID
    memory_id: UUID | None
    digest: bytes
    state: int | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that a worker holds."""

    conversation_id: UUID
    scope_id: UUID
    agent: str | None
    session: str


def to_ingest(row: Row) -> IngestRow:
    """A row of `ingest` as a value."""
    values = {name: row[name] for name in IngestRow.__slots__ if name in row}
    values["body_ct"] = bytes(values["body_ct"])
    return IngestRow(**values)


async def known_turns(work: UnitOfWork, conversation_id: UUID, numbers: Sequence[int]) -> dict[int, TurnRow]:
    """The turns of a conversation that were taken in before, by number."""
    rows = await work.fetch(
        "ingest_turns_read", conversation_id=conversation_id, turn_numbers=sorted(set(numbers))
    )
    return {
        row["turn_number"]: TurnRow(
            row["turn_number"], row["ingest_id"], row["memory_id"], bytes(row["digest"]), row["state"]
        )
        for row in rows
    }


async def note_turns(
    work: UnitOfWork,
    conversation_id: UUID,
    scope_id: UUID,
    ingest_id: UUID,
    turns: Sequence[tuple[int, UUID | None, bytes]],
) -> None:
    """Queue turns of an ingest: number, memory, digest."""
    await work.send_many(
        "ingest_turn_put",
        [
            {
                "conversation_id": conversation_id,
                "turn_number": number,
                "scope_id": scope_id,
                "ingest_id": ingest_id,
                "memory_id": memory_id,
                "digest": digest,
            }
            for number, memory_id, digest in turns
        ],
    )


async def insert_ingest(work: UnitOfWork, row: IngestRow) -> None:
    """Queue the record of an ingest."""
    await work.send(
        "ingest_insert",
        ingest_id=row.ingest_id,
        scope_id=row.scope_id,
        conversation_id=row.conversation_id,
        key_epoch=row.key_epoch,
        state=row.state,
        body_ct=row.body_ct,
        now=row.create_time,
        end_time=row.end_time,
    )


async def update_ingest(
    work: UnitOfWork, ingest_id: UUID, state: int, body_ct: bytes, end_time: datetime | None
) -> None:
    """Queue how far an ingest has come."""
    await work.send("ingest_update", ingest_id=ingest_id, state=state, body_ct=body_ct, end_time=end_time)


async def read_ingests(work: UnitOfWork, ingest_ids: Sequence[UUID], now: datetime) -> list[IngestRow]:
    """The given ingests, as far as there are such."""
    return [to_ingest(row) for row in await work.fetch("ingest_read", ingest_ids=list(ingest_ids), now=now)]


async def waiting_ingests(work: UnitOfWork, conversation_id: UUID, limit: int) -> list[IngestRow]:
    """What waits in a conversation, in its order, locked."""
    rows = await work.fetch("ingest_waiting", conversation_id=conversation_id, limit=limit)
    return [to_ingest(row) for row in rows]


async def events_of(work: UnitOfWork, conversation: Conversation, since: UUID) -> list[Row]:
    """Events of a conversation's ingests, with all columns, from this id on."""
    return await work.fetch(
        "ingest_events",
        scope_id=conversation.scope_id,
        agent=conversation.agent,
        session=conversation.session,
        since=since,
    )


async def count_attempt(work: UnitOfWork, ingest_ids: Sequence[UUID]) -> None:
    """Queue that an attempt begins."""
    await work.send("ingest_try", ingest_ids=list(ingest_ids))


async def put_conversation(
    work: UnitOfWork, conversation: Conversation, due_time: datetime | None, now: datetime
) -> None:
    """Queue when what waits in a conversation is due; made at its first use."""
    await work.send(
        "ingest_session_put",
        conversation_id=conversation.conversation_id,
        scope_id=conversation.scope_id,
        agent=conversation.agent,
        session=conversation.session,
        due_time=due_time,
        now=now,
    )


async def hasten(work: UnitOfWork, conversation_id: UUID, now: datetime) -> bool:
    """Make what waits in a conversation due at once; tells whether something waited that was not due."""
    return bool(await work.fetch("ingest_session_hasten", conversation_id=conversation_id, now=now))


async def claim(
    work: UnitOfWork, worker: UUID, now: datetime, lease_time: datetime, conversation_id: UUID | None
) -> Conversation | None:
    """The conversation that has been due for longest, or the given one if it is due, held until `lease_time`.

    Passes over what others hold.
    """
    row = await work.fetch_one(
        "ingest_session_claim",
        worker=worker,
        now=now,
        lease_time=lease_time,
        conversation_id=conversation_id,
    )
    return Conversation(**row) if row else None


async def holds(work: UnitOfWork, conversation_id: UUID, worker: UUID) -> bool:
    """Lock a conversation; whether it is still there and this worker's."""
    row = await work.fetch_one("ingest_session_lock", conversation_id=conversation_id)
    return row is not None and row["worker"] == worker


async def release(work: UnitOfWork, conversation_id: UUID, worker: UUID, due_time: datetime | None) -> None:
    """Queue that a worker gives a conversation back."""
    await work.send(
        "ingest_session_release", conversation_id=conversation_id, worker=worker, due_time=due_time
    )


async def next_due(work: UnitOfWork) -> datetime | None:
    """When the next conversation of the tenant is to be looked at."""
    row = await work.fetch_one("ingest_session_next")
    return row["due_time"] if row else None


async def turns_before(
    work: UnitOfWork, conversation: Conversation, turn_number: int, limit: int
) -> list[UUID]:
    """Memories of the turns before a number, the nearest first."""
    rows = await work.fetch(
        "ingest_before",
        scope_id=conversation.scope_id,
        session=conversation.session,
        agent=conversation.agent,
        turn_number=turn_number,
        limit=limit,
    )
    return [row["memory_id"] for row in rows]


async def conversations_of(
    work: UnitOfWork, scope_id: UUID, session: str, agent: str | None, bound_agent: str | None
) -> list[UUID]:
    """The conversations of a session, locked. agent: of one only. bound_agent: without those of others."""
    rows = await work.fetch(
        "ingest_session_find", scope_id=scope_id, session=session, agent=agent, bound_agent=bound_agent
    )
    return [row["conversation_id"] for row in rows]


async def remove_ingests(
    work: UnitOfWork, scope_id: UUID, conversation_ids: Sequence[UUID] | None = None
) -> tuple[int, int]:
    """Remove all ingests of a scope, or of the given conversations: how many waited, and how many other rows
    went."""
    chosen = list(conversation_ids) if conversation_ids is not None else None
    values = {"scope_id": scope_id, "conversation_ids": chosen}
    sessions, ingests, turns = await work.fetch_together(
        ("erase_ingest_sessions", values), ("erase_ingests", values), ("erase_ingest_turns", values)
    )
    waiting = sum(row["state"] == QUEUED for row in ingests)
    return waiting, len(sessions) + len(ingests) - waiting + len(turns)


async def forget_turns(work: UnitOfWork, scope_id: UUID, memory_ids: Sequence[UUID]) -> int:
    """Empty what was noted of erased turns; how many there were."""
    return len(await work.fetch("ingest_turn_forget", scope_id=scope_id, memory_ids=list(memory_ids)))
