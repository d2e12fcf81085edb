"""Reads what a scope knew at an instant."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment_server.domain.model import MemoryFilter, Revision

from .database import Row, UnitOfWork
from .memories import filter_values, is_unrestricted
from .recall import Aim, Candidate, RecallRows
from .rows import to_revision, to_scope

_RANK_DEPTH = 200
_GIVEN = (
    "score",
    "evidence",
    "contradicted",
    "cosine",
    "relevance",
    "vector_rank",
    "bm25",
    "lexical_share",
    "lexical_rank",
    "kind_factor",
    "trust_factor",
    "source_factor",
    "confidence_factor",
    "recency_factor",
    "embedding_state",
)
# What the legs that do not look at the past would have given.
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("around", "around_rank", "session_fit", "session_rank", "entity", "entity_rank")),
    **dict.fromkeys(("named_time", "time_rank", "slot_named", "slot_rank")),
    **dict.fromkeys(("around_weight", "session_part", "entity_part", "time_part", "slot_part"), 0.0),
    **dict.fromkeys(("length", "answers"), 0.0),
    "asks": False,
    "apart": False,
    "replied": 0.0,
    "own_weight": 1.0,
    # Counts do not say when they were counted.
    "feedback_factor": 1.0,
    "found": True,
}


async def recall_as_of(
    work: UnitOfWork,
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
) -> tuple[RecallRows, frozenset[UUID]]:
    """Find the best `fetch` memories as they stood at `as_of`; see sql/recall_as_of.sql.

    With the ids of those of which an earlier revision was found.
    """
    values = filter_values(restriction)
    ranking = aim.ranking
    values |= {
        "unrestricted": is_unrestricted(values),
        "viewed": restriction.view is not None,
        "as_of": as_of,
        "scope_id": scope_id,
        "scope_no": scope_no,
        "agent": agent,
        "session": session,
        "bound_agent": bound_agent,
        "model_no": model_no,
        "min_score": min_score,
        "fetch": fetch,
        "rank_depth": max(_RANK_DEPTH, fetch),
        "excluded": list(excluded),
        "embedding": aim.embedding,
        "tokens": list(aim.tokens),
        "cosine_low": aim.cosine_low,
        "cosine_high": aim.cosine_high,
        "vector_weight": aim.vector_weight,
        "lexical_weight": aim.lexical_weight,
        "reciprocal": aim.reciprocal,
        "leg_count": aim.leg_count,
        "kind_factors": list(ranking.kind),
        "trust_factors": list(ranking.trust),
        "source_factors": list(ranking.source),
        "half_lives": list(ranking.half_lives),
        "recency_weight": ranking.recency,
        "confidence_weight": ranking.confidence,
    }
    scopes, rows = await work.fetch_together(
        ("scope_read", {"scope_ids": [scope_id]}), ("recall_as_of", values)
    )
    first = rows[0]
    found = [row for row in rows if row["memory_id"] is not None]
    return (
        RecallRows(
            candidates=[_candidate(row) for row in found],
            total=first["total"],
            other_state=first["other_state"],
            expired=first["expired"],
            filtered=first["filtered"],
            relevant=first["relevant"],
            key_epoch=first["scope_epoch"],
            scope=to_scope(scopes[0]) if scopes else None,
            model_in_use=first["model_in_use"],
            waiting=first["waiting"],
        ),
        frozenset(row["memory_id"] for row in found if row["historic"]),
    )


async def next_revisions(work: UnitOfWork, revisions: Sequence[Revision]) -> dict[UUID, Revision]:
    """What followed each of these revisions, by memory; without those that nothing stored follows."""
    rows = await work.fetch(
        "revision_next",
        memory_ids=[one.memory_id for one in revisions],
        revisions=[one.revision for one in revisions],
    )
    return {row["memory_id"]: to_revision(row) for row in rows}


def _candidate(row: Row) -> Candidate:
    return Candidate(revision=to_revision(row), **{name: row[name] for name in _GIVEN}, **_NOTHING)
