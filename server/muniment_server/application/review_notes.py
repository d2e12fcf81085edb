"""Why a memory waits for a person: the rule that sent it there, sealed beside the memory."""

from uuid import UUID

from muniment_server.crypto.framing import frame
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.model import MemoryState, Revision
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.reviews import insert_note, read_note

_WAITING = (MemoryState.PENDING, MemoryState.QUARANTINED)


def is_waiting(state: MemoryState) -> bool:
    """Whether a memory in this state waits for a review."""
    return state in _WAITING


def note_seal(key: ScopeKey, memory_id: UUID, rule: str) -> bytes:
    """What keeps a note from being another one's, or somebody else's."""
    return key.seal(frame(b"muniment.review.v1", memory_id.bytes, rule.encode()))


async def note_review(work: UnitOfWork, key: ScopeKey, revision: Revision, rule: str) -> None:
    """Queue the note for a memory that begins to wait."""
    if is_waiting(revision.state):
        await insert_note(work, revision.memory_id, rule, note_seal(key, revision.memory_id, rule))


async def noted_rule(work: UnitOfWork, key: ScopeKey, memory_id: UUID) -> str | None:
    """The rule for which a memory waits; None where the service left no note."""
    note = await read_note(work, memory_id)
    return note[0] if note is not None and note[1] == note_seal(key, memory_id, note[0]) else None
