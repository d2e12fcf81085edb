"""The review queue: what waits for a person, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.model import MemoryState, Revision

from .database import UnitOfWork
from .rows import to_revision


@dataclass(frozen=True, slots=True)
class WaitingMemory:
    """A memory that waits. `rule` and `note_seal` are None where no note was left."""

    revision: Revision
    contradicted: bool
    rule: str | None
    note_seal: bytes | None


async def waiting_memories(
    work: UnitOfWork,
    *,
    states: Sequence[MemoryState],
    scope_id: UUID | None,
    agent: str | None,
    session: str | None,
    bound_agent: str | None,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[WaitingMemory]:
    """One page of the queue, oldest first. bound_agent: leaves out what is narrowed to any other agent."""
    rows = await work.fetch(
        "review_list",
        states=[int(state) for state in states],
        scope_id=scope_id,
        agent=agent,
        session=session,
        bound_agent=bound_agent,
        after_time=after[0] if after else None,
        after_id=after[1] if after else None,
        limit=limit,
    )
    return [
        WaitingMemory(
            to_revision(row),
            row["contradicted"],
            row["rule"],
            bytes(row["note_seal"]) if row["note_seal"] is not None else None,
        )
        for row in rows
    ]


async def overdue_reviews(work: UnitOfWork, before: datetime, limit: int) -> list[tuple[UUID, UUID]]:
    """Memories that have waited since before a moment, each with its scope."""
    rows = await work.fetch("review_expired", before=before, limit=limit)
    return [(row["memory_id"], row["scope_id"]) for row in rows]


async def vectors_of(
    work: UnitOfWork, model_no: int, documents: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int, int], HalfVector]:
    """Vectors by number of the scope, number of the document, and revision of the text."""
    rows = await work.fetch(
        "review_vectors",
        model_no=model_no,
        scope_nos=[scope_no for scope_no, _, _ in documents],
        doc_nos=[doc_no for _, doc_no, _ in documents],
        content_revisions=[revision for _, _, revision in documents],
    )
    return {(row["scope_no"], row["doc_no"], row["content_revision"]): row["embedding"] for row in rows}


async def insert_note(work: UnitOfWork, memory_id: UUID, rule: str, seal: bytes) -> None:
    """Queue the note which rule sent a memory here."""
    await work.send("review_note", memory_id=memory_id, rule=rule, seal=seal)


async def read_note(work: UnitOfWork, memory_id: UUID) -> tuple[str, bytes] | None:
    """The rule that sent a memory here, and the note's seal."""
    row = await work.fetch_one("review_read", memory_id=memory_id)
    return (row["rule"], bytes(row["seal"])) if row is not None else None


async def forget_notes(work: UnitOfWork, memory_ids: Sequence[UUID]) -> None:
    """Queue that memories wait no more."""
    if memory_ids:
        await work.send("review_done", memory_ids=list(memory_ids))
