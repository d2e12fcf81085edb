"""What Recall answers, in plain Python: filters, BM25, turns and their sessions, fusion, order and counts.

Memories are drafts whose terms are small numbers and whose vectors are made of a seed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import mean
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from muniment_server.domain.filters import PropertyCondition, matches
from muniment_server.domain.model import MemoryFilter, MemoryKind, MemoryState, TrustLevel
from muniment_server.domain.ranking import (
    AROUND,
    DEFAULTS,
    ENTITY,
    LENGTH,
    QUESTION,
    REPLY,
    SESSION,
    TURN_ROOM,
)
from muniment_server.retrieval import bm25
from support.scopes import NOW

DIMENSION = 8
LOW, HIGH, VECTOR_WEIGHT, LEXICAL_WEIGHT = 0.1, 0.9, 0.6, 0.4
APART_WEIGHT = 0.15


@dataclass(frozen=True)
class Draft:
    """A memory of a random scope."""

    terms: tuple[int, ...]
    seed: int | None
    """Of its vector; None: the model does not cover it."""
    state: MemoryState
    kind: MemoryKind
    trust: TrustLevel
    tags: tuple[str, ...]
    properties: dict[str, Any]
    agent: str | None
    session: str | None
    expires: int | None
    valid: tuple[int | None, int | None]
    sitting: str | None
    turn: int | None
    speaker: int | None
    asks: bool
    apart: bool
    """Written in another script than the query."""
    reports: tuple[tuple[int, int, int], ...] = ()
    """Helpful, neutral and harmful uses, per reporter."""
    memory_id: UUID = field(default_factory=uuid4)


@dataclass(frozen=True)
class Wanted:
    """A random query."""

    terms: tuple[int, ...]
    seed: int | None
    agent: str | None
    session: str | None
    restriction: MemoryFilter
    conditions: tuple[PropertyCondition, ...]
    min_score: float
    limit: int


def day(offset: int | None) -> datetime | None:
    return None if offset is None else NOW + timedelta(days=offset)


def vector(seed: int) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=DIMENSION)
    return (made / np.linalg.norm(made)).astype(np.float16).astype(np.float64)


def holds(draft: Draft, query: Wanted) -> bool:
    """Whether the labels of a memory fulfil the filter; state and expiry apart."""
    restriction = query.restriction
    start, end = (day(one) for one in draft.valid)
    at, span = restriction.valid_at, restriction.valid_time
    return (
        draft.agent in (None, query.agent)
        and draft.session in (None, query.session)
        and (not restriction.kinds or draft.kind in restriction.kinds)
        and (restriction.min_trust is None or draft.trust >= restriction.min_trust)
        and (not restriction.tags_any or bool(set(draft.tags) & set(restriction.tags_any)))
        and set(restriction.tags_all) <= set(draft.tags)
        and not set(restriction.tags_none) & set(draft.tags)
        and matches(query.conditions, draft.properties)
        and (span.start is None or end is None or end > span.start)
        and (span.end is None or start is None or start < span.end)
        and (at is None or ((start is None or start <= at) and (end is None or end > at)))
    )


def expired(draft: Draft) -> bool:
    return draft.expires is not None and NOW + timedelta(days=draft.expires) <= NOW


def oracle(memories: Sequence[Draft], query: Wanted) -> tuple[list[tuple[UUID, float]], Counter[str]]:
    """The relevant memories with their scores, best first, and the counts of what is left out."""
    live = [draft for draft in memories if draft.state is MemoryState.ACTIVE]
    documents = {draft.memory_id: [str(term) for term in draft.terms] for draft in live}
    statistics = bm25.ScopeStatistics.of(documents.values())
    speakers = {draft.speaker for draft in live}
    spoken = [term for term in query.terms if term in speakers]
    said = [str(term) for term in query.terms if term not in spoken] or [str(term) for term in query.terms]
    counts: Counter[str] = Counter(total=len(memories))
    eligible = []
    for number, draft in enumerate(memories):
        if draft.state not in query.restriction.states:
            counts["other_state"] += 1
        elif expired(draft):
            counts["expired"] += 1
        elif not holds(draft, query):
            counts["filtered"] += 1
        else:
            eligible.append((draft, number))
    seats = Seats(eligible, documents, statistics, said, query)
    found = []
    for draft, _ in eligible:
        turn = draft.kind is MemoryKind.TURN
        terms = said if turn else [str(term) for term in query.terms]
        cosine = cosine_of(draft, query)
        own = calibrated(cosine, bm25.share(terms, documents.get(draft.memory_id, []), statistics), query)
        live_draft = draft.state is MemoryState.ACTIVE
        if live_draft and draft.apart and cosine is not None and not set(query.terms) & set(draft.terms):
            own += apart_weight(query) * relevance(cosine)
        around, session, replied = seats.context(draft)
        entity = 1.0 if live_draft and draft.speaker in query.terms and query.terms else 0.0
        score = ENTITY * entity + SESSION * session
        if turn:
            room = 1 - TURN_ROOM
            score += (room - AROUND) * own + AROUND * around if around is not None else room * own
            score += LENGTH * min(1.0, len(draft.terms) / 40)
            score += REPLY * replied - QUESTION * (live_draft and draft.asks)
        else:
            score += own
        score *= DEFAULTS.kind[draft.kind - 1] * DEFAULTS.trust[draft.trust - 1]
        recorded = min(NOW, day(draft.valid[0]) or NOW)
        score *= DEFAULTS.recency_factor(draft.kind, recorded, NOW)
        reports = [counts_ for counts_ in draft.reports if any(counts_)]
        score = max(0.0, min(1.0, score * DEFAULTS.feedback_factor(reports)))
        evidence = max(own, around or 0.0)
        if min(score, evidence) >= query.min_score and (score > 0 or cosine is not None):
            found.append((draft.memory_id, score))
    found.sort(key=lambda one: (-one[1], one[0]))
    return found, counts


def cosine_of(draft: Draft, query: Wanted) -> float | None:
    if draft.seed is None or query.seed is None:
        return None
    mine, wanted_ = vector(draft.seed), vector(query.seed)
    return float(mine @ wanted_) / (float(np.linalg.norm(mine)) * float(np.linalg.norm(wanted_)))


def calibrated(cosine: float | None, share: float, query: Wanted) -> float:
    vector_weight, lexical_weight = weights(query)
    if cosine is None:
        return share if lexical_weight else 0.0
    return vector_weight * relevance(cosine) + lexical_weight * share


def relevance(cosine: float) -> float:
    return max(0.0, min(1.0, (cosine - LOW) / (HIGH - LOW)))


def apart_weight(query: Wanted) -> float:
    return APART_WEIGHT if min(weights(query)) > 0 else 0.0


class Seats:
    """The turns of the sessions in order, and what surrounds each of them."""

    def __init__(
        self,
        eligible: Sequence[tuple[Draft, int]],
        documents: dict[UUID, list[str]],
        statistics: bm25.ScopeStatistics,
        said: Sequence[str],
        query: Wanted,
    ) -> None:
        self.query, self.said, self.statistics, self.documents = query, said, statistics, documents
        self.sessions: dict[str, list[Draft]] = {}
        turns = [one for one in eligible if one[0].kind is MemoryKind.TURN and one[0].sitting is not None]
        for draft, _ in sorted(turns, key=lambda one: (one[0].turn is None, one[0].turn or 0, one[1])):
            self.sessions.setdefault(draft.sitting or "", []).append(draft)
        self.mean = mean([self._around(one)[1] for one in self._seats()] or [0.0])

    def _seats(self) -> list[Draft]:
        return [draft for session in self.sessions.values() for draft in session]

    def _around(self, draft: Draft) -> tuple[Counter[str], float, float | None]:
        session = self.sessions[draft.sitting or ""]
        place = session.index(draft)
        terms: Counter[str] = Counter()
        length = weighed = total = 0.0
        for step in range(-2, 3):
            if not 0 <= place + step < len(session):
                continue
            one, weight = session[place + step], 1 - abs(step) / 4
            length += weight * len(one.terms)
            for term in self.documents.get(one.memory_id, []):
                terms[term] += weight  # type: ignore[assignment]
            cosine = cosine_of(one, self.query)
            if cosine is not None:
                weighed += weight * cosine
                total += weight
        return terms, length, weighed / total if total else None

    def context(self, draft: Draft) -> tuple[float | None, float, float]:
        """Around, how the session fits, and how the turn before does, if it asks."""
        if draft.kind is not MemoryKind.TURN or draft.sitting is None:
            return None, 0.0, 0.0
        terms, length, cosine = self._around(draft)
        around = calibrated(cosine, self._share(terms, length, self.mean, self.statistics), self.query)
        session = self.sessions[draft.sitting]
        place = session.index(draft)
        before = session[place - 1] if place else None
        replied = 0.0
        if before is not None and before.asks and before.state is MemoryState.ACTIVE:
            words = self.documents.get(before.memory_id, [])
            share = bm25.share(self.said, words, self.statistics)
            replied = calibrated(cosine_of(before, self.query), share, self.query)
        return around, self._session(draft.sitting), replied

    def _session(self, sitting: str) -> float:
        cosines = [cosine_of(one, self.query) for one in self.sessions[sitting]]
        nearest = max((one for one in cosines if one is not None), default=None)
        return calibrated(nearest, self._session_share(sitting), self.query)

    def _session_share(self, sitting: str) -> float:
        counted = {
            name: Counter(term for one in turns for term in self.documents.get(one.memory_id, []))
            for name, turns in self.sessions.items()
        }
        lengths = {name: sum(len(one.terms) for one in turns) for name, turns in self.sessions.items()}
        frequencies = Counter(term for terms in counted.values() for term in terms)
        statistics = bm25.ScopeStatistics(len(counted), 0, frequencies)
        return self._share(counted[sitting], lengths[sitting], mean(list(lengths.values())), statistics)

    def _share(
        self, terms: Counter[str], length: float, average: float, statistics: bm25.ScopeStatistics
    ) -> float:
        frequencies = statistics.frequencies
        best = sum(bm25.idf(statistics.documents, frequencies.get(one, 0) or 1) for one in self.said)
        ratio = min(4.0, length / average) if average else 4.0
        total = 0.0
        for term in self.said:
            tf = terms.get(term, 0)
            if tf:
                weight = bm25.idf(statistics.documents, statistics.frequencies.get(term, 0))
                total += weight * tf / (tf + bm25.K1 * (1 - bm25.B + bm25.B * ratio))
        return total / best if best else 0.0


def weights(query: Wanted) -> tuple[float, float]:
    if query.seed is not None and query.terms:
        return VECTOR_WEIGHT, LEXICAL_WEIGHT
    return (1.0, 0.0) if query.seed is not None else (0.0, 1.0)
