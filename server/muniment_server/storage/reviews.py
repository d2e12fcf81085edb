"""The review queue: what waits for a person, and why."""

from collections.abc import Sequence
from uuid import UUID

from .database import UnitOfWork


async def insert_note(work: UnitOfWork, memory_id: UUID, rule: str, seal: bytes) -> None:
    """Queue the note which rule sent a memory here."""
    await work.send("review_note", memory_id=memory_id, rule=rule, seal=seal)


async def forget_notes(work: UnitOfWork, memory_ids: Sequence[UUID]) -> None:
    """Queue that memories wait no more."""
    await work.send("review_done", memory_ids=list(memory_ids))
