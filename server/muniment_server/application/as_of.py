"""Recall of what was known at an instant."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import Unimplemented
from muniment_server.domain.model import MemoryFilter, RetrievalLeg, Revision
from muniment_server.storage.as_of import next_revisions, recall_as_of
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.recall import Aim, RecallRows

from .sealing import is_genuine

AS_OF_LEGS = (RetrievalLeg.VECTOR, RetrievalLeg.LEXICAL)
"""The legs that look at the past. What the others read is kept for what is ACTIVE now only."""


def legs_as_of(asked: Sequence[RetrievalLeg]) -> Sequence[RetrievalLeg]:
    """The legs of a recall of the past; none asked for: all there are. Raises Unimplemented for others."""
    others = [leg.name for leg in asked if leg not in AS_OF_LEGS]
    if others:
        raise Unimplemented(f"as_of_time with the legs {', '.join(others)}")
    return asked or AS_OF_LEGS


async def find_as_of(
    work: UnitOfWork,
    key: ScopeKey,
    *,
    as_of: datetime,
    scope_id: UUID,
    scope_no: int,
    agent: str | None,
    session: str | None,
    restriction: MemoryFilter,
    model_no: int,
    aim: Aim,
    min_score: float,
    fetch: int,
    excluded: Sequence[UUID],
    bound_agent: str | None,
) -> RecallRows:
    """The best memories as they stood at `as_of`.

    An earlier revision is believed when the one behind it says, under its seal, that it came later than
    `as_of`; otherwise somebody took away or moved what was current then, and it counts as contradicted.
    """
    rows, earlier = await recall_as_of(
        work,
        as_of=as_of,
        scope_id=scope_id,
        scope_no=scope_no,
        agent=agent,
        session=session,
        restriction=restriction,
        model_no=model_no,
        aim=aim,
        min_score=min_score,
        fetch=fetch,
        excluded=excluded,
        bound_agent=bound_agent,
    )
    if not earlier:
        return rows
    followed = await next_revisions(
        work, [one.revision for one in rows.candidates if one.revision.memory_id in earlier]
    )

    def believed(revision: Revision) -> bool:
        behind = followed.get(revision.memory_id)
        return (
            behind is not None
            and behind.scope_id == revision.scope_id
            and behind.update_time > as_of
            and is_genuine(key, work.tenant_id, behind)
        )

    return replace(
        rows,
        candidates=[
            one
            if one.revision.memory_id not in earlier or believed(one.revision)
            else replace(one, contradicted=True)
            for one in rows.candidates
        ],
    )
