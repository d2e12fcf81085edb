"""Near memories of what is written: found in the write's own round trip, and only told."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.conflicts import (
    MOST_NAMED,
    NEAR_WITH_WORDS,
    Judgement,
    PossibleConflict,
    is_near,
    shared_terms,
)
from muniment_server.domain.differences import Reader
from muniment_server.domain.model import MemoryState, Scope
from muniment_server.embedding.base import EmbeddingModel
from muniment_server.embedding.live import LiveModel
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.storage.database import Row
from muniment_server.storage.rows import to_revision

from .preparing import Prepared
from .scoping import scope_number
from .sealing import is_genuine, open_content
from .services import Services
from .viewing import may_name, shows, view_of

MOST_SEARCHED = 20
"""Items of one write whose neighbours are searched in the database; of larger ones only among each other."""
MOST_COMPARED = 10_000
"""Vectors that one write compares: live memories of the scope times items searched. Above it, none."""

Judged: TypeAlias = Mapping[tuple[str, UUID], Judgement]
Requests: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Names of statements with their values."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory near to an item."""

    memory_id: UUID
    cosine: float
    text: str
    alike: bool = False
    """Of the same kind, slot and narrowing as the item: one of them can take the other's place."""

    def order(self) -> tuple[float, UUID]:
        """Nearest first."""
        return -self.cosine, self.memory_id


@dataclass(frozen=True, slots=True)
class Near:
    """Which near memories a call looks for. most: how many it names per item, 0 for none.

    judged: what a judge said of an item's text and a memory, before. told: whether the caller may be told of
    memories. view: what the caller is shown; the judge looks at everything.
    """

    live: LiveModel
    scope: Scope
    scope_id: UUID
    now: datetime
    most: int = MOST_NAMED
    judged: Judged = field(default_factory=dict)
    told: bool = True
    view: AgentView | None = None

    @classmethod
    async def of(
        cls, services: Services, context: CallContext, scope: Scope, scope_id: UUID, most: int
    ) -> "Near":
        """For a call: near memories are something that it reads, so its rights and its view bound them."""
        view = await view_of(services, context, scope)
        principal = context.principal
        reads = principal.allows(Permission.RECALL) or principal.allows(Permission.REVIEW)
        told = reads and (view is None or may_name(view, scope.kind, scope.label))
        return cls(services.models.current, scope, scope_id, services.clock(), most, told=told, view=view)

    def requests(self, prepared: Sequence[Prepared]) -> Requests:
        """Statements to send along with a write's first ones; one per item, or none at all."""
        if not self.most or len(prepared) > MOST_SEARCHED:
            return []
        return [
            near_request(
                self.live,
                self.scope_id,
                vector,
                agent=self.scope.agent,
                session=self.scope.session,
                share=len(prepared),
                now=self.now,
            )
            for vector in (self._vector(one) for one in prepared)
            if vector is not None
        ]

    def left_out(self, prepared: Sequence[Prepared], searched: bool, live_count: int) -> list[bool]:
        """Per item whether live memories of the scope were not compared with it, where the caller may know.

        searched: whether the `requests` were sent. live_count: of the scope before the write.
        """
        bounded = not searched or live_count > MOST_COMPARED // max(1, len(prepared))
        known = self.most > 0 and self.told and live_count > 0
        return [known and (bounded or self._vector(one) is None) for one in prepared]

    def _vector(self, one: Prepared) -> HalfVector | None:
        return next((each.vector for each in one.vector.made if each.model_no == self.live.model_no), None)

    def candidates(
        self,
        key: ScopeKey,
        tenant_id: UUID,
        prepared: Sequence[Prepared],
        texts: Sequence[str],
        rows: Sequence[Sequence[Row]],
        stored: Sequence[UUID],
        gone: Collection[UUID],
        view: AgentView | None = None,
    ) -> list[list[Candidate]]:
        """Per item the memories near to it, nearest first.

        rows: the answers to `requests`. stored: the memory that carries each item now. gone: memories that
        this very write superseded. view: only memories within it.
        """
        answers = iter(rows)
        near: list[dict[UUID, Candidate]] = []
        for one, own in zip(prepared, stored, strict=True):
            found: dict[UUID, Candidate] = {}
            for row in next(answers, []) if rows and self._vector(one) is not None else []:
                candidate = self._stored(key, tenant_id, one, row, view)
                if candidate is not None and candidate.memory_id not in gone and candidate.memory_id != own:
                    found[candidate.memory_id] = candidate
            near.append(found)
        if self.most and len(prepared) > 1:
            self._among(prepared, texts, stored, gone, near)
        return [sorted(found.values(), key=Candidate.order)[: self.most] for found in near]

    def found(
        self,
        key: ScopeKey,
        tenant_id: UUID,
        prepared: Sequence[Prepared],
        texts: Sequence[str],
        rows: Sequence[Sequence[Row]],
        stored: Sequence[UUID],
        gone: Collection[UUID],
    ) -> list[list[PossibleConflict]]:
        """`candidates` with in what they differ, and how a judge relates them."""
        if not self.told:
            return [[] for _ in prepared]
        read = Reader()
        near = self.candidates(key, tenant_id, prepared, texts, rows, stored, gone, self.view)
        return [
            [self._told(read, text, other) for other in others]
            for text, others in zip(texts, near, strict=True)
        ]

    def _told(self, read: Reader, text: str, other: Candidate) -> PossibleConflict:
        said = self.judged.get((text, other.memory_id))
        return PossibleConflict(
            other.memory_id,
            max(-1.0, min(1.0, other.cosine)),
            read.differences(text, other.text),
            said.relation if said else None,
            said.confidence if said else 0.0,
        )

    def _stored(
        self, key: ScopeKey, tenant_id: UUID, one: Prepared, row: Row, view: AgentView | None
    ) -> Candidate | None:
        revision = to_revision(row)
        if not shows(view, revision):
            return None
        cosine = float(row["cosine"])
        relevance = self.live.model.calibration.relevance(cosine)
        if not is_near(relevance, shared_terms(one.item.frequencies, revision.tokens)):
            return None
        # What is not genuine is named nowhere; Recall and verify tell of it.
        if revision.state is not MemoryState.ACTIVE or not is_genuine(key, tenant_id, revision):
            return None
        try:
            return Candidate(
                revision.memory_id,
                cosine,
                open_content(key, revision).text,
                alike=(revision.kind, revision.slot, revision.agent, revision.session)
                == (one.item.kind, one.item.slot, self.scope.agent, self.scope.session),
            )
        except (CiphertextInvalid, ValueError):
            return None

    def _among(
        self,
        prepared: Sequence[Prepared],
        texts: Sequence[str],
        stored: Sequence[UUID],
        gone: Collection[UUID],
        near: Sequence[dict[UUID, Candidate]],
    ) -> None:
        """Items of one write are near to each other as well; the later one tells of the earlier."""
        vectors = [self._vector(one) for one in prepared]
        places = [place for place, vector in enumerate(vectors) if vector is not None]
        if len(places) < 2:
            return
        matrix = np.stack(
            [np.asarray(vector.to_numpy(), dtype=np.float32) for vector in vectors if vector is not None]
        )
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        cosines = np.tril(matrix @ matrix.T, -1)
        least = _cosine(self.live.model, NEAR_WITH_WORDS)
        for row in np.flatnonzero((cosines >= least).any(axis=1)):
            later = places[int(row)]
            # The nearest alone: a hundred texts that are all alike make five thousand pairs.
            for column in np.argsort(-cosines[row, :row], kind="stable")[: 2 * MOST_NAMED]:
                cosine, earlier = float(cosines[row, column]), places[int(column)]
                other = stored[earlier]
                if cosine < least:
                    break
                if other == stored[later] or other in gone or other in near[later]:
                    continue
                shared = shared_terms(prepared[later].item.frequencies, prepared[earlier].item.frequencies)
                if is_near(self.live.model.calibration.relevance(cosine), shared):
                    near[later][other] = Candidate(other, cosine, texts[earlier])


def near_request(
    live: LiveModel,
    scope_id: UUID,
    vector: HalfVector,
    *,
    agent: str | None,
    session: str | None,
    share: int,
    now: datetime,
) -> tuple[str, Mapping[str, Any]]:
    """The statement that finds what is near to a vector. share: among how many a call divides its work."""
    return (
        "near_memories",
        {
            "scope_id": scope_id,
            "scope_no": scope_number(scope_id),
            "model_no": live.model_no,
            "embedding": vector,
            "farthest": 1.0 - _cosine(live.model, NEAR_WITH_WORDS),
            "most": MOST_COMPARED // share,
            "agent": agent,
            "session": session,
            "now": now,
            "limit": 2 * MOST_NAMED,
        },
    )


def _cosine(model: EmbeddingModel, relevance: float) -> float:
    """The cosine that has a relevance."""
    calibration = model.calibration
    return calibration.cosine_low + relevance * (calibration.cosine_high - calibration.cosine_low)
