"""The one statement of Recall."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.model import MemoryFilter, Revision, ScopeRow, TimeRange
from muniment_server.domain.ranking import DEFAULTS, RankingSettings

from .database import Row, UnitOfWork
from .memories import filter_values, is_unrestricted, to_revision, to_scope

RECALL_SETTINGS = {"enable_nestloop": "off", "plan_cache_mode": "force_generic_plan"}
"""Settings of the transaction that runs the statement; see sql/recall.sql."""
_RANK_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Aim:
    """What a query looks for and what each sign of it counts; see domain/ranking.py.

    tokens: hashed words; speakers, names, slots: the marks of each of them, as long as `tokens` or empty.
    roles, wanted: marks of speakers that are meant, and of what an answer says. asks: the mark of a question.
    A weight of 0 takes a signal away, and what only it needs is not looked for.
    """

    embedding: HalfVector | None = None
    tokens: Sequence[int] = ()
    speakers: Sequence[int] = ()
    names: Sequence[int] = ()
    slots: Sequence[int] = ()
    roles: Sequence[int] = ()
    wanted: Sequence[int] = ()
    asks: int = 0
    spans: Sequence[TimeRange] = ()
    cosine_low: float = 0.0
    cosine_high: float = 1.0
    vector_weight: float = 0.0
    lexical_weight: float = 0.0
    around_vector: float = 0.0
    around_lexical: float = 0.0
    around_weight: float = 0.0
    turn_room: float = 0.0
    session_weight: float = 0.0
    entity_weight: float = 0.0
    time_weight: float = 0.0
    slot_weight: float = 0.0
    pinned_weight: float = 0.0
    pinned_most: int = 0
    length_weight: float = 0.0
    answer_weight: float = 0.0
    question_weight: float = 0.0
    reply_weight: float = 0.0
    time_evidence: float = 0.0
    entity_evidence: float = 0.0
    reciprocal: bool = False
    leg_count: int = 1
    ranking: RankingSettings = DEFAULTS

    @property
    def contextual(self) -> bool:
        """Whether the turns around a turn and its session count at all."""
        return (self.around_weight, self.session_weight, self.reply_weight) != (0, 0, 0)


_PLAIN = tuple(
    field.name
    for field in fields(Aim)
    if field.type is float or field.name in ("embedding", "asks", "pinned_most", "reciprocal", "leg_count")
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory found by Recall with what each leg gave; a leg that found nothing gave None.

    found: relevant to the query; otherwise it is there because it is pinned. own, around: the measures of
    domain/ranking.py with their weights. `..._part`: what a leg adds. Factors multiply the sum.
    """

    revision: Revision
    contradicted: bool
    found: bool
    score: float
    cosine: float | None
    relevance: float | None
    vector_rank: int | None
    bm25: float | None
    lexical_share: float | None
    lexical_rank: int | None
    own_weight: float
    around: float | None
    around_weight: float
    around_rank: int | None
    session_fit: float | None
    session_part: float
    session_rank: int | None
    entity: float | None
    entity_part: float
    entity_rank: int | None
    named_time: float | None
    time_part: float
    time_rank: int | None
    slot_named: float | None
    slot_part: float
    slot_rank: int | None
    length: float
    answers: float
    asks: bool
    replied: float
    kind_factor: float
    trust_factor: float
    source_factor: float
    confidence_factor: float
    recency_factor: float
    feedback_factor: float


_COLUMNS = tuple(field.name for field in fields(Candidate) if field.name != "revision")


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
    aim: Aim,
    min_score: float,
    fetch: int,
    excluded: Sequence[UUID],
    now: datetime,
    bound_agent: str | None = None,
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
        "min_score": min_score,
        "fetch": fetch,
        "rank_depth": max(_RANK_DEPTH, fetch),
        "excluded": list(excluded),
        "bound_agent": bound_agent,
        "viewed": restriction.view is not None,
        "now": now,
        **_aim_values(aim),
    }
    scopes, rows = await work.fetch_together(("scope_read", {"scope_ids": [scope_id]}), ("recall", values))
    first: dict[str, Any] = rows[0]
    return RecallRows(
        candidates=[_candidate(row) for row in rows if row["memory_id"] is not None],
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


def _candidate(row: Row) -> Candidate:
    return Candidate(revision=to_revision(row), **{name: row[name] for name in _COLUMNS})


def _aim_values(aim: Aim) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(aim, name) for name in _PLAIN}
    marks = {*aim.speakers, *aim.names, *aim.slots, *aim.roles, *aim.wanted}
    if aim.question_weight or aim.reply_weight:
        marks.add(aim.asks)
    ranking = aim.ranking
    spans = ",".join(f"[{_bound(one.start)},{_bound(one.end)})" for one in aim.spans)
    return values | {
        "tokens": list(aim.tokens),
        "speakers": list(aim.speakers),
        "names": list(aim.names),
        "slot_words": list(aim.slots),
        "roles": list(aim.roles),
        "wanted": list(aim.wanted),
        "marks": sorted(marks),
        "spans": "{" + spans + "}",
        "contextual": aim.contextual,
        "vector_ranks": aim.vector_weight > 0,
        "lexical_ranks": aim.lexical_weight > 0,
        "kind_factors": list(ranking.kind),
        "trust_factors": list(ranking.trust),
        "source_factors": list(ranking.source),
        "half_lives": list(ranking.half_lives),
        "recency_weight": ranking.recency,
        "confidence_weight": ranking.confidence,
        "feedback_weight": ranking.feedback,
    }


def _bound(instant: datetime | None) -> str:
    return "" if instant is None else instant.isoformat()
