"""Has a reranker read the best candidates, where one is configured, within a share of a Recall's time.

It moves what was found relevant, and makes nothing relevant or irrelevant: of what a score has above the
threshold, the reranker's word takes the place of a share. So a score stays an absolute measure, and a
reranker that knows nothing of a language cannot empty an answer.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from muniment_server.domain.content import Content
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import Fusion, MemoryKind, Revision
from muniment_server.domain.ranking import PINNED_TAG
from muniment_server.embedding.base import passage_text
from muniment_server.identity.principal import CallContext
from muniment_server.reranking.base import LONGEST_DOCUMENT, RerankFailed, RerankLate
from muniment_server.storage.recall import Candidate
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import rerank_span

from .recall_types import Degradation, DegradationReason, Query, RecallCommand, Stage
from .services import Services

FACTOR = "rerank"
_SHARE = 0.5
"""Of the time that a call has left, what the reranker may take."""

_ROUNDING = 1e-9

_log = logging.getLogger("muniment.recall")


@dataclass(frozen=True, slots=True)
class Reranking:
    """What the reranker said of the memories that it read, from 0 to 1; of none by default.

    weight: the share of what lies above `least` that its word makes up. least: the threshold that the
    tenant's settings or the model give, not that of a request, so that scores do not depend on it; 0 for
    rank fusion. absolute: whether trust and source are in the score already; those of rank fusion have none.
    """

    said: Mapping[UUID, float] = field(default_factory=dict)
    weight: float = 0.0
    least: float = 0.0
    absolute: bool = True
    ranks: Mapping[UUID, int] = field(default_factory=dict)
    """Place of each in the reranker's own order, from 1; equal scores share one."""

    def score(self, candidate: Candidate) -> float:
        """The score with the reranker's word in it."""
        return candidate.score + self._moved(candidate)

    def factors(self, candidate: Candidate) -> tuple[Factor, ...]:
        """What it did to the score: the last factor, or none."""
        said = self.said.get(candidate.revision.memory_id)
        if said is None:
            return ()
        rank = self.ranks[candidate.revision.memory_id]
        moved = Factor(FACTOR, said, self.weight, self._moved(candidate), rank)
        if self.absolute:
            return (moved,)
        # They bound what it says, and nothing else tells of them here.
        bounds = (("trust", candidate.trust_factor), ("source", candidate.source_factor))
        return (*(Factor(name, value, 0.0, 0.0) for name, value in bounds if value != 1), moved)

    def reaches(self, candidate: Candidate, min_score: float) -> bool:
        """Whether the score reaches a threshold with the reranker's word in it."""
        return self.score(candidate) >= min_score - (_ROUNDING if self.said else 0.0)

    def above(
        self, genuine: Sequence[tuple[Candidate, Content]], min_score: float, pinned_most: int
    ) -> Sequence[tuple[Candidate, Content]]:
        """What reaches a threshold that a request set above the usual one, and what applies without it."""
        room = pinned_most - sum(1 for one, _ in genuine if not one.found)
        kept: list[tuple[Candidate, Content]] = []
        for candidate, content in genuine:
            if not candidate.found or self.reaches(candidate, min_score):
                kept.append((candidate, content))
            elif room > 0 and _is_pinned(candidate.revision):
                kept.append((replace(candidate, found=False), content))
                room -= 1
        return kept

    def _moved(self, candidate: Candidate) -> float:
        said = self.said.get(candidate.revision.memory_id)
        if said is None:
            return 0.0
        # A doubtful text is no better for having been written for the reranker.
        trusted = min(1.0, candidate.trust_factor * candidate.source_factor)
        above = self.least + said * trusted * (1 - self.least)
        return self.weight * (above - candidate.score)


async def rerank(
    services: Services,
    context: CallContext,
    command: RecallCommand,
    query: Query,
    genuine: Sequence[tuple[Candidate, Content]],
    least: float,
) -> Reranking:
    """What the reranker says of the best relevant candidates.

    Late or failing it is left out and named in `query.degraded`; so it is not asked where there is nothing
    to read. It gets the texts that the index is made of: without what may be stored, but not be indexed.
    """
    reranker, policy = services.reranker, services.rerank_policy
    best = [one for one in genuine if one[0].found][: policy.candidates]
    # The scores of rank fusion have no threshold to lie above.
    absolute = command.fusion is not Fusion.RRF
    if reranker is None or not best or not command.query:
        return Reranking(absolute=absolute)
    documents = [passage_text(one.indexed[:LONGEST_DOCUMENT], one.speaker) for _, one in best]
    patience = min(policy.patience, context.remaining() * _SHARE)
    provider = names.PROVIDER_HTTP if reranker.remote else names.PROVIDER_MUNIMENT
    with rerank_span(provider, reranker.name, inputs=len(best), remote=reranker.remote) as span:
        try:
            scores = await reranker.rerank(command.query, documents, patience)
        except RerankFailed as error:
            late = isinstance(error, RerankLate)
            span.fail("timeout" if late else "failed")
            _log.warning("the reranker did not help: %s", error)
            reason = DegradationReason.DEADLINE if late else DegradationReason.FAILED
            query.degraded.append(Degradation(Stage.RERANK, None, reason, len(best)))
            return Reranking(absolute=absolute)
        span.set(names.RERANK_OUTPUTS, len(scores))
    said = {candidate.revision.memory_id: score for (candidate, _), score in zip(best, scores, strict=True)}
    order = sorted(scores, reverse=True)
    ranks = {memory_id: order.index(score) + 1 for memory_id, score in said.items()}
    return Reranking(said, policy.weight, least, absolute, ranks)


def _is_pinned(revision: Revision) -> bool:
    return revision.kind in (MemoryKind.PREFERENCE, MemoryKind.RULE) and PINNED_TAG in revision.tags
