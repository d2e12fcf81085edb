"""The statement of Recall, in the forms that scopes and queries need."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.making import maker
from muniment_server.domain.model import (
    MemoryFilter,
    MemoryKind,
    MemoryState,
    Revision,
    ScopeRow,
    TimeRange,
)
from muniment_server.domain.ranking import DEFAULTS, RankingSettings
from muniment_server.domain.sources import bounded_source

from .database import Row, UnitOfWork
from .memories import filter_values, is_unrestricted
from .rows import to_revision, to_scope
from .scales import SCALES, Scale

RECALL_SETTINGS = {
    "enable_nestloop": "off",
    "enable_sort": "off",
    "plan_cache_mode": "force_generic_plan",
    "work_mem": "64MB",
}
"""Settings of the transaction that runs the statement; see sql/recall.sql."""
_RANK_DEPTH = 200
_NO_SPANS = "{}"
EXACT_ROWS = 20_000
"""Up to so many ACTIVE memories of a scope are all scored; of more the likely ones are drawn first."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a query looks for and what each sign of it counts; see domain/ranking.py.

    tokens: hashed words; speakers, names, slots: the marks of each of them, as long as `tokens` or empty.
    roles, wanted: marks of speakers that are meant, and of what an answer says. asks: the mark of a question.
    apart: marks of the scripts that no word can stand in; apart_weight: what nearness counts more there.
    A weight of 0 takes a signal away, and what only it needs is not looked for.
    """

    embedding: HalfVector | None = None
    tokens: Sequence[int] = ()
    speakers: Sequence[int] = ()
    names: Sequence[int] = ()
    slots: Sequence[int] = ()
    roles: Sequence[int] = ()
    wanted: Sequence[int] = ()
    apart: Sequence[int] = ()
    asks: int = 0
    spans: Sequence[TimeRange] = ()
    cosine_low: float = 0.0
    cosine_high: float = 1.0
    vector_weight: float = 0.0
    lexical_weight: float = 0.0
    apart_weight: float = 0.0
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
class Draw:
    """How much of a large scope is scored (docs/recall.md).

    near: nearest by the signs of their vectors, at least; near_each: and so many for each memory to be found.
    words: with the best words. sessions: whole ones.
    """

    near: int = 2_000
    near_each: int = 40
    words: int = 500
    sessions: int = 80

    def values(self, fetch: int) -> dict[str, int]:
        """What the statement takes: half of what is near has to pass the filters to be trusted."""
        near = max(self.near, self.near_each * fetch)
        return {
            "draw_near": near,
            "least_near": near // 2,
            "draw_words": max(self.words, fetch),
            "draw_sessions": self.sessions,
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory found by Recall with what each leg gave; a leg that found nothing gave None.

    found: relevant to the query; otherwise it is there because it is pinned. evidence: what speaks for the
    memory itself. apart: no word of the query can stand in its script. own, around: the measures of
    domain/ranking.py with their weights. `..._part`: what a leg adds. Factors multiply the sum.
    """

    revision: Revision
    contradicted: bool
    found: bool
    score: float
    evidence: float
    cosine: float | None
    relevance: float | None
    apart: bool
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
    embedding_state: int | None
    """Of the model that was asked for; None where nothing says it."""


_MEASURES = itemgetter(*(field.name for field in fields(Candidate) if field.name != "revision"))
_made = maker(Candidate)


@dataclass(frozen=True, slots=True)
class RecallRows:
    """The candidates, best first, and how many memories of the scope were left out by what.

    scope: its row, unchecked. drawn: a part of a large scope was looked at, and the counts are those of that
    part. withheld: memories of which the subject's consent lets none be recalled.
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
    drawn: bool = False

    def without_any(self) -> "RecallRows":
        """What is left when nothing may be recalled."""
        return RecallRows([], 0, 0, 0, 0, 0, self.key_epoch, self.scope, self.total)


_Statement = tuple[str, Mapping[str, Any]]
_DRAW = Draw()


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
    limit: int = 0,
    source_most: int = 0,
    exact_rows: int = EXACT_ROWS,
    draw: Draw = _DRAW,
) -> RecallRows:
    """Find the best `fetch` memories of a scope; see sql/recall.sql for what is counted and scored.

    limit, source_most: how many are offered, and of one bounded source at most; where the best are of such
    sources and leave too few, as many behind them are found, too.
    exact_rows: in a scope with more ACTIVE memories recall_large is asked first, and recall only where the
    filters leave too little of what that drew.
    """
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
        "limit": limit,
        "source_most": source_most,
        "rank_depth": max(_RANK_DEPTH, fetch),
        "excluded": list(excluded),
        "bound_agent": bound_agent,
        "viewed": restriction.view is not None,
        "now": now,
        **_aim_values(aim),
    }
    scopes, rows = await _run(work, values, exact_rows, draw)
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
        # Only the statement that draws says whether that was enough.
        drawn="enough" in first,
    )


async def _run(
    work: UnitOfWork, values: Mapping[str, Any], exact_rows: int, draw: Draw
) -> tuple[list[Row], list[Row]]:
    """The row of the scope, and what the statement for a scope of its size found."""
    scope_id: UUID = values["scope_id"]
    read = ("scope_read", {"scope_ids": [scope_id]})
    scale = SCALES.get(work.tenant_id, scope_id)
    # Only what is ACTIVE has words in the index. Without words or a vector there is nothing to draw by, nor
    # where a time is reason enough.
    by_time = values["spans"] != _NO_SPANS and values["time_evidence"] >= 1
    words = values["tokens"] or values["embedding"] is not None
    if values["states"] != [MemoryState.ACTIVE] or by_time or not words:
        return await _score_all(work, values, read)
    size = _size(await work.fetch(read[0], **read[1])) if scale is None else scale.size
    drawing = size > exact_rows
    scopes, rows = await (_draw(work, values, read, draw) if drawing else _score_all(work, values, read))
    if (_size(scopes) > exact_rows) is drawing:
        return scopes, rows
    # It has another size than was remembered. What answers depends on the scope, and not on who asked before.
    return await (_score_all(work, values, read) if drawing else _draw(work, values, read, draw))


async def _draw(
    work: UnitOfWork, values: Mapping[str, Any], read: _Statement, draw: Draw
) -> tuple[list[Row], list[Row]]:
    """Score what may come first; all, where the filters leave too little of it."""
    drawing = ("recall_large", {**values, **draw.values(values["fetch"])})
    scopes, rows = await work.fetch_together(read, drawing)
    SCALES.note(work.tenant_id, values["scope_id"], _size(scopes))
    return (scopes, rows) if rows[0]["enough"] else await _score_all(work, values, read)


async def _score_all(
    work: UnitOfWork, values: Mapping[str, Any], read: _Statement
) -> tuple[list[Row], list[Row]]:
    """Score all, with what turns need where there are turns."""
    tenant_id, scope_id = work.tenant_id, values["scope_id"]
    scale = SCALES.get(tenant_id, scope_id) or Scale(0)
    # What is filtered out is no turn either.
    without = values["kinds"] is not None and MemoryKind.TURN not in values["kinds"]
    form = "recall_facts" if without or scale.turns is False else "recall_turns"
    name = "recall" if values["reciprocal"] or (scale.crowded and values["limit"]) else form
    scopes, rows = await work.fetch_together(read, (name, values))
    turns: bool = rows[0]["turns"]
    if name == "recall_facts" and turns and not without:
        name = "recall_turns"
        scopes, rows = await work.fetch_together(read, (name, values))
    crowded = _are_crowded(rows, values)
    if crowded and name != "recall":
        scopes, rows = await work.fetch_together(read, ("recall", values))
    SCALES.note(tenant_id, scope_id, _size(scopes), turns, crowded if values["limit"] else None)
    return scopes, rows


def _are_crowded(rows: Sequence[Row], values: Mapping[str, Any]) -> bool:
    """Whether so many of the first are of sources with too many there that too few are left.

    The rule is that of application/choosing.py. What stands behind them is then to be found as well, which
    `recall` does at once; the other forms tell by what they found.
    """
    found = [row for row in rows if row["found"]][: values["fetch"]]
    if not values["limit"] or len(found) < values["fetch"]:
        return False
    counts: Counter[str | None] = Counter()
    left = 0
    for row in found:
        source = bounded_source(row["trust"], row["kind"], row["source_ref"], row["author"])
        counts[source] += 1
        left += source is None or counts[source] <= values["source_most"]
    return left < int(values["limit"])


def _size(scopes: Sequence[Row]) -> int:
    return int(scopes[0]["live_count"]) if scopes else 0


def _candidate(row: Row) -> Candidate:
    return _made(to_revision(row), *_MEASURES(row))


def _aim_values(aim: Aim) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(aim, name) for name in _PLAIN}
    marks = {*aim.speakers, *aim.names, *aim.slots, *aim.roles, *aim.wanted, *aim.apart}
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
        "apart": list(aim.apart),
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
