"""What was reported of the use of memories, as counts per memory and reporter."""

from collections.abc import Mapping
from uuid import UUID

from .database import UnitOfWork

_MOST = 1_000
"""More reports of one outcome by one reporter are not counted."""


async def count_outcome(
    work: UnitOfWork,
    scope_id: UUID,
    used: Mapping[UUID, int],
    actor: str,
    *,
    helpful: bool = False,
    neutral: bool = False,
    harmful: bool = False,
) -> int:
    """Count one outcome for memories, given with the revisions that were used; of how many.

    What another text has since, or is no longer there, is passed over.
    """
    rows = await work.fetch(
        "feedback_lock", scope_id=scope_id, memory_ids=list(used), revisions=list(used.values())
    )
    if rows:
        await work.send(
            "feedback_count",
            scope_id=scope_id,
            actor=actor,
            doc_nos=[row["doc_no"] for row in rows],
            content_revisions=[row["content_revision"] for row in rows],
            helpful=int(helpful),
            neutral=int(neutral),
            harmful=int(harmful),
            most=_MOST,
        )
    return len(rows)
