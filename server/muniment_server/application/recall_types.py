"""What a Recall is asked and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import IntEnum
from uuid import UUID

from muniment_server.domain.importance import Factor
from muniment_server.domain.model import Fusion, Memory, MemoryFilter, RetrievalLeg, Scope
from muniment_server.domain.packing import PackedContext
from muniment_server.embedding.live import LiveModel
from muniment_server.storage.recall import Aim

from .explaining import LegScore, ScoreBasis

DEFAULT_LIMIT = 10
ACTIVE = MemoryFilter()
LEGS = tuple(RetrievalLeg)


class Stage(IntEnum):
    """A step of a Recall that can be left out."""

    QUERY_EMBEDDING = 1
    LEG = 2
    CONSISTENCY = 3
    RERANK = 4
    PACKING = 5


class DegradationReason(IntEnum):
    """Why it was left out."""

    DEADLINE = 1
    EMBEDDER_UNAVAILABLE = 2
    QUERY_NOT_COVERED = 3
    EMBEDDINGS_PENDING = 4
    FAILED = 5
    QUERY_TRUNCATED = 6


class LeftOutReason(IntEnum):
    """Why a memory of the scope is not in the answer, or not in the packed context."""

    BELOW_MIN_SCORE = 1
    LIMIT = 2
    TOKEN_BUDGET = 3
    RESPONSE_SIZE = 4
    NEAR_DUPLICATE = 5
    SOURCE_SHARE = 6
    SEAL_BROKEN = 7
    CHANGED = 8
    STATE = 9
    EXPIRED = 10
    FILTERED = 11
    TAIL = 12
    CONSENT = 13
    NO_MATCH = 14


@dataclass(frozen=True, slots=True)
class Degradation:
    """What was left out of a Recall, and why. affected: how many memories that concerns, where it counts."""

    stage: Stage
    leg: RetrievalLeg | None
    reason: DegradationReason
    affected: int = 0


@dataclass(frozen=True, slots=True)
class RecallCommand:
    """A validated Recall. `min_score`, `token_budget` None: not asked for. bound_agent: the credential's."""

    scope: Scope
    query: str
    query_embedding: bytes | None = None
    restriction: MemoryFilter = ACTIVE
    bound_agent: str | None = None
    limit: int = DEFAULT_LIMIT
    min_score: float | None = None
    token_budget: int | None = None
    legs: Sequence[RetrievalLeg] = LEGS
    consistency_token: str | None = None
    strong: bool = False
    near_miss_limit: int = 0
    full: bool = True
    """Whether the answer carries contents."""
    fusion: Fusion = Fusion.SCORE
    reference_time: datetime | None = None
    """What relative times of the query refer to; None: now."""
    time_zone: tzinfo = UTC
    as_of: datetime | None = None
    """The instant to look at, with the legs of `as_of.AS_OF_LEGS` alone; None: now."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One returned memory."""

    memory: Memory
    rank: int
    score: float
    legs: tuple[LegScore, ...]
    packed: bool = False
    factors: tuple[Factor, ...] = ()
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A candidate that is not in the answer, and why."""

    memory_id: UUID
    score: float
    reason: LeftOutReason
    legs: tuple[LegScore, ...]
    factors: tuple[Factor, ...] = ()
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. `broken` names memories whose seal does not hold; they are in no other part.

    min_score: what is in force, 0 for nothing. drawn: `left_out` counts what was drawn from a large scope.
    """

    recall_id: UUID
    ranked: list[Ranked]
    packed: PackedContext | None
    left_out: dict[LeftOutReason, int]
    degraded: list[Degradation]
    broken: list[UUID]
    min_score: float
    limit: int
    consistency_token: str
    read_time: datetime
    no_relevant_memory: bool
    basis: ScoreBasis
    drawn: bool = False
    near_misses: Sequence[NearMiss] = ()


@dataclass(slots=True)
class Query:
    """What is looked for, for which model, and what had to be left out so far."""

    live: LiveModel
    aim: Aim
    degraded: list[Degradation] = field(default_factory=list)
    considered: int = 0
    """Memories that scope and filter let through."""
