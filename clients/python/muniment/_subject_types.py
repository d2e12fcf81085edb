"""Conversations, corrections, reviews, consent and moving, as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from muniment._enums import (
    ConsentLevel,
    ExtractionFallback,
    IngestState,
    MemoryKind,
    SourceType,
    TurnRole,
    UndoOutcome,
    WriteOutcome,
)
from muniment._types import ConsistencyToken, ErasureReceipt, Memory, PossibleConflict, WriteResult


@dataclass(frozen=True, slots=True)
class IngestTurn:
    """One turn of a conversation. `number` is its place in the session and, with it, its name."""

    number: int
    role: TurnRole | str
    """One of user, agent, tool and other."""
    content: str
    speaker: str = ""
    """The speaker's name as the conversation uses it."""
    time: datetime | None = None
    """When it was said."""


@dataclass(frozen=True, slots=True)
class IngestedTurn:
    """What became of one turn."""

    number: int
    memory_id: str
    already_known: bool
    """Whether it had been taken in before."""
    outcome: WriteOutcome


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """What became of one candidate memory."""

    result: WriteResult
    turn_numbers: tuple[int, ...]
    """The turns that it was made of."""
    extracted_by: str
    """The rule or prompt version that made it."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """The answer to an ingest."""

    ingest_id: str
    state: IngestState
    turns: tuple[IngestedTurn, ...]
    extracted: tuple[ExtractedMemory, ...]
    """Candidate memories, when they were made at once."""
    fallback: ExtractionFallback
    """Why the extractor asked for was not used."""
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """How far an ingest has come."""

    ingest_id: str
    state: IngestState
    extracted: tuple[ExtractedMemory, ...]
    fallback: ExtractionFallback
    attempts: int
    create_time: datetime | None
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class Restored:
    """The answer to a restore."""

    memory: Memory
    superseded_memory_id: str
    """What was live in its place; empty if nothing was."""
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """The answer to a retraction."""

    memory: Memory
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class UndoneMemory:
    """One memory of an undone write."""

    memory_id: str
    outcome: UndoOutcome


@dataclass(frozen=True, slots=True)
class Undone:
    """The answer to undoing a write; iterate it."""

    memories: tuple[UndoneMemory, ...]
    consistency_token: ConsistencyToken | None
    request_id: str

    def __iter__(self) -> Iterator[UndoneMemory]:
        return iter(self.memories)


@dataclass(frozen=True, slots=True)
class Review:
    """One memory that waits for a decision."""

    memory: Memory
    rule: str
    """Stable name of the rule that sent it here."""
    explanation: str
    would_supersede_memory_id: str
    possible_conflicts: tuple[PossibleConflict, ...]
    create_time: datetime | None
    expire_time: datetime | None
    """When it will be rejected if nobody decides."""


@dataclass(frozen=True, slots=True)
class ReviewDecisionMade:
    """The answer to a decision."""

    memory: Memory
    superseded_memory_id: str
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class Consent:
    """What a subject decided; UNSPECIFIED: nobody did, and the tenant's setting holds."""

    level: ConsentLevel
    necessary_kinds: tuple[MemoryKind, ...]
    forgotten_sessions: tuple[str, ...]
    update_time: datetime | None


@dataclass(frozen=True, slots=True)
class ConsentSet:
    """The answer to a change of consent."""

    consent: Consent
    erasure: ErasureReceipt | None
    """What was erased; None when nothing was to be."""
    consistency_token: ConsistencyToken | None
    request_id: str


@dataclass(frozen=True, slots=True)
class SubjectHolding:
    """How many memories of one kind and source are stored, and how long."""

    kind: MemoryKind
    source_type: SourceType
    count: int
    oldest_time: datetime | None
    newest_time: datetime | None
    expiring_count: int
    last_expire_time: datetime | None
    sentence: str
    """The same in plain words."""


@dataclass(frozen=True, slots=True)
class SubjectDescription:
    """What is stored about a subject, in plain words."""

    holdings: tuple[SubjectHolding, ...]
    consent: Consent
    summary: str
    language: str
