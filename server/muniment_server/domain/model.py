"""The vocabulary of Muniment as plain values: no protobuf, no SQL.

The numbers of the enumerations are those of the contract and of the database.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from .agent_views import AgentView

PropertyValue: TypeAlias = str | float | bool


class MemoryKind(IntEnum):
    """What sort of statement a memory is."""

    PREFERENCE = 1
    FACT = 2
    EVENT = 3
    DECISION = 4
    RULE = 5
    SUMMARY = 6
    TURN = 7


class MemoryState(IntEnum):
    """Where a memory stands in its life."""

    PENDING = 1
    ACTIVE = 2
    SUPERSEDED = 3
    ARCHIVED = 4
    QUARANTINED = 5
    ERASED = 6


EVERY_STATE = tuple(state for state in MemoryState if state is not MemoryState.ERASED)
"""Of memories that are there: nothing but a tombstone is ERASED."""


class SourceType(IntEnum):
    """How we know a statement."""

    USER_STATED = 1
    USER_CONFIRMED = 2
    AGENT_INFERRED = 3
    TOOL = 4
    THIRD_PARTY = 5


class TrustLevel(IntEnum):
    """How far a statement may be relied on; comparable."""

    UNTRUSTED = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4
    CONFIRMED = 5


class WriteOutcome(IntEnum):
    """What became of one written item."""

    CREATED = 1
    REINFORCED = 2
    SUPERSEDED_PREVIOUS = 3
    PENDING_REVIEW = 4
    QUARANTINED = 5
    REDACTED = 6
    DROPPED = 7


class RetrievalLeg(IntEnum):
    """A way of finding candidates."""

    VECTOR = 1
    LEXICAL = 2
    SLOT = 3
    ENTITY = 4
    TIME = 5
    NEIGHBOUR = 6
    SESSION = 7


class Fusion(IntEnum):
    """How the findings of the legs become one order."""

    SCORE = 1
    RRF = 2


class EmbeddingState(IntEnum):
    """What the vector leg can see of a written memory."""

    READY = 1
    PENDING = 2
    NOT_COVERED = 3
    PARTIAL = 4


class ScopeKind(IntEnum):
    """Whether a scope belongs to a subject or is a shared space."""

    SUBJECT = 1
    SPACE = 2


class ErasureState(IntEnum):
    """How far an erasure has come."""

    PENDING = 1
    COMPLETE = 2
    PARTIAL = 3


class ErasureTarget(IntEnum):
    """What an erasure was aimed at."""

    MEMORIES = 1
    SCOPE = 2
    SESSION = 3
    FILTER = 4


DEFAULT_TRUST: Mapping[SourceType, TrustLevel] = {
    SourceType.THIRD_PARTY: TrustLevel.LOW,
    SourceType.TOOL: TrustLevel.LOW,
    SourceType.AGENT_INFERRED: TrustLevel.MEDIUM,
    SourceType.USER_STATED: TrustLevel.HIGH,
    SourceType.USER_CONFIRMED: TrustLevel.CONFIRMED,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a memory lives: a subject or a space, optionally narrowed to an agent and a session."""

    kind: ScopeKind
    label: str
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedProvenance:
    """What a caller says about the source of a statement. It can lower trust, never raise it."""

    source_type: SourceType | None = None
    trust: TrustLevel | None = None
    confidence: float | None = None
    session: str | None = None
    source_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who said it and how we know, as stamped by the service."""

    source_type: SourceType
    trust: TrustLevel
    confidence: float | None
    session: str | None
    source_ref: str | None
    author: str
    author_agent: str | None


@dataclass(frozen=True, slots=True)
class Validity:
    """When a statement is true in the world: [start, end); None is open."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One item of a Write or the replacement of a Supersede, validated but not yet decided."""

    content: str
    kind: MemoryKind
    slot: str | None = None
    speaker: str | None = None
    """Who said it; encrypted, embedded and indexed with the content."""
    turn_number: int | None = None
    """Place of a turn in its session; not negative."""
    tags: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    attributes: str | None = None
    """Caller-owned JSON object as text, encrypted with the content."""
    provenance: ClaimedProvenance = ClaimedProvenance()
    validity: Validity = Validity()
    expire_time: datetime | None = None
    ttl: timedelta | None = None
    """Instead of `expire_time`: how long after it was recorded."""
    embedding: bytes | None = None
    """Caller-given vector, float32 little endian, of the model in use."""
    force: bool = False
    """Keep it whatever its importance."""
    masked: str | None = None
    """The content without what may be stored and not indexed, by the word of a gate; None: all of it."""

    @property
    def indexed(self) -> str:
        """The text that index and vectors are made of."""
        return self.content if self.masked is None else self.masked


@dataclass(frozen=True, slots=True)
class Revision:
    """One sealed state of a memory as the store holds it: labels in clear, text encrypted.

    Times are UTC with microseconds. `content_ct` is the ciphertext of text and attributes;
    `tokens` are the keyed hashes of the distinct analysed tokens.
    """

    memory_id: UUID
    scope_id: UUID
    doc_no: int
    revision: int
    content_revision: int
    key_epoch: int
    state: MemoryState
    kind: MemoryKind
    trust: TrustLevel
    source_type: SourceType
    analyzer: int
    term_count: int
    reinforce_count: int
    confidence: float | None
    create_time: datetime
    update_time: datetime
    expire_time: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    reinforce_time: datetime | None
    supersedes: UUID | None
    superseded_by: UUID | None
    slot: str | None
    agent: str | None
    session: str | None
    origin_session: str | None
    author: str
    author_agent: str | None
    source_ref: str | None
    tags: tuple[str, ...]
    properties: Mapping[str, PropertyValue]
    statement_hash: bytes
    tokens: tuple[int, ...]
    content_ct: bytes
    seal: bytes
    turn_number: int | None = None


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """The lock, the lexical statistics and the set digest of one scope."""

    scope_id: UUID
    scope_no: int
    kind: ScopeKind
    label_ct: bytes | None
    key_epoch: int
    generation: int
    live_count: int
    live_terms: int
    next_doc: int
    set_count: int
    set_digest: bytes
    seal: bytes
    consent: bytes | None = None
    """What the subject decided (domain/consent.py); None: nothing."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as callers see it. `content` is None in the basic view and for a tombstone."""

    memory_id: UUID
    state: MemoryState
    scope: Scope | None = None
    revision: int = 0
    etag: str = ""
    kind: MemoryKind | None = None
    slot: str | None = None
    content: str | None = None
    attributes: str | None = None
    speaker: str | None = None
    turn_number: int | None = None
    tags: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    provenance: Provenance | None = None
    validity: Validity = Validity()
    create_time: datetime | None = None
    update_time: datetime | None = None
    expire_time: datetime | None = None
    erase_time: datetime | None = None
    reinforce_time: datetime | None = None
    reinforce_count: int = 0
    supersedes: UUID | None = None
    superseded_by: UUID | None = None
    embedding_state: EmbeddingState | None = None
    """None: not looked for, or nothing says it."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Half-open [start, end); None is open."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """What a read is restricted to. None and empty mean no restriction, except for `states`."""

    kinds: Sequence[MemoryKind] = ()
    states: Sequence[MemoryState] = (MemoryState.ACTIVE,)
    source_types: Sequence[SourceType] = ()
    min_trust: TrustLevel | None = None
    slots: Sequence[str] = ()
    sessions: Sequence[str] = ()
    tags_any: Sequence[str] = ()
    tags_all: Sequence[str] = ()
    tags_none: Sequence[str] = ()
    properties: str | None = None
    """A jsonpath predicate made by domain/filters.py from validated conditions."""
    create_time: TimeRange = TimeRange()
    valid_time: TimeRange = TimeRange()
    valid_start: TimeRange = TimeRange()
    valid_at: datetime | None = None
    view: "AgentView | None" = None
    """Bounds of an agent's view; a memory must lie within both."""
