"""The one statement of Recall."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.model import MemoryFilter, Revision, ScopeRow

from .database import UnitOfWork
from .memories import filter_values, is_unrestricted, to_revision, to_scope

RECALL_SETTINGS = {"enable_nestloop": "off", "plan_cache_mode": "force_generic_plan"}
"""Settings of the transaction that runs the statement; see sql/recall.sql."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory found by Recall with what each leg gave; a leg that found nothing gave None."""

    revision: Revision
    contradicted: bool
    score: float
    cosine: float | None
    relevance: float | None
    vector_rank: int | None
    bm25: float | None
    lexical_share: float | None
    lexical_rank: int | None


@dataclass(frozen=True, slots=True)
class RecallRows:
    """The candidates, best first, and how many memories of the scope were left out by what.

    scope: its row, unchecked. withheld: memories of which the subject's consent lets none be recalled.
    """

    candidates: list[Candidate]
    total: int
    other_state: int
    expired: int
    filtered: int
    relevant: int
    key_epoch: int | None
    scope: ScopeRow | None = None
    withheld: int = 0
    model_in_use: int = 0
    """Number of the embedding model in use; vectors of another one were not worth comparing."""
    waiting: int = 0
    """Memories of the scope whose vector is still to be made."""

    def without_any(self) -> "RecallRows":
        """What is left when nothing may be recalled."""
        return RecallRows([], 0, 0, 0, 0, 0, self.key_epoch, self.scope, self.total)


async def recall(
    work: UnitOfWork,
    *,
    scope_id: UUID,
    scope_no: int,
    agent: str | None,
    session: str | None,
    restriction: MemoryFilter,
    model_no: int,
    embedding: HalfVector | None,
    tokens: Sequence[int],
    cosine_low: float,
    cosine_high: float,
    vector_weight: float,
    lexical_weight: float,
    min_score: float,
    fetch: int,
    excluded: Sequence[UUID],
    now: datetime,
) -> RecallRows:
    """Find the best `fetch` memories of a scope; see sql/recall.sql for what is counted and scored."""
    values = filter_values(restriction)
    values |= {
        "unrestricted": is_unrestricted(values),
        "scope_id": scope_id,
        "scope_no": scope_no,
        "agent": agent,
        "session": session,
        "model_no": model_no,
        "embedding": embedding,
        "tokens": list(tokens),
        "cosine_low": cosine_low,
        "cosine_high": cosine_high,
        "vector_weight": vector_weight,
        "lexical_weight": lexical_weight,
        "min_score": min_score,
        "fetch": fetch,
        "rank_depth": max(200, fetch),
        "excluded": list(excluded),
        "now": now,
    }
    scopes, rows = await work.fetch_together(("scope_read", {"scope_ids": [scope_id]}), ("recall", values))
    first: dict[str, Any] = rows[0]
    return RecallRows(
        candidates=[
            Candidate(
                revision=to_revision(row),
                contradicted=row["contradicted"],
                score=row["score"],
                cosine=row["cosine"],
                relevance=row["relevance"],
                vector_rank=row["vector_rank"],
                bm25=row["bm25"],
                lexical_share=row["lexical_share"],
                lexical_rank=row["lexical_rank"],
            )
            for row in rows
            if row["memory_id"] is not None
        ],
        total=first["total"],
        other_state=first["other_state"],
        expired=first["expired"],
        filtered=first["filtered"],
        relevant=first["relevant"],
        key_epoch=first["scope_epoch"],
        scope=to_scope(scopes[0]) if scopes else None,
        model_in_use=first["model_in_use"],
        waiting=first["waiting"],
    )
