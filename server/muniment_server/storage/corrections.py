"""What restoring, retracting, undoing and reviewing read and change beside the memories themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment_server.domain.model import MemoryState

from .database import Row, UnitOfWork


@dataclass(frozen=True, slots=True)
class LineMember:
    """A memory in a line of corrections."""

    memory_id: UUID
    active: bool
    update_time: datetime


async def correction_line(work: UnitOfWork, memory_ids: Sequence[UUID]) -> list[LineMember]:
    """The given memories and what came in their place, in no order."""
    rows = await work.fetch("correction_line", memory_ids=list(memory_ids))
    return [
        LineMember(row["memory_id"], row["state"] == MemoryState.ACTIVE, row["update_time"])
        for row in rows
        if isinstance(row["update_time"], datetime)
    ]


async def write_of_request(work: UnitOfWork, request_id: UUID) -> Row | None:
    """The method, scope (`write_scope`) and time of a request id, with all columns of its audit event."""
    return await work.fetch_one("write_of_request", request_id=request_id)
