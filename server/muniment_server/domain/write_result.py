"""What a write answers about one item."""

from dataclasses import dataclass
from uuid import UUID

from .conflicts import PossibleConflict
from .gates.base import Finding
from .importance import Factor
from .model import EmbeddingState, Memory, WriteOutcome


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of one item. memory: None when it was dropped. rule: None when no reason is needed."""

    outcome: WriteOutcome
    memory: Memory | None
    superseded: UUID | None = None
    embedding_state: EmbeddingState = EmbeddingState.READY
    rule: str | None = None
    findings: tuple[Finding, ...] = ()
    factors: tuple[Factor, ...] = ()
    conflicts: tuple[PossibleConflict, ...] = ()
    conflicts_partial: bool = False
    """Whether live memories were left out of the search for near ones."""
