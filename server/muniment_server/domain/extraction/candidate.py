"""Turns and candidates as plain values. The numbers of the enumerations are those of the contract."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from muniment_server.domain.model import DEFAULT_TRUST, MemoryKind, SourceType

MOST_CHARACTERS = 400
"""Of a candidate: a statement, not a passage."""
HEDGED = 0.4
"""The confidence of what a speaker said as a guess."""


class TurnRole(IntEnum):
    """Who speaks in a turn."""

    USER = 1
    AGENT = 2
    TOOL = 3
    OTHER = 4


class ExtractionMode(IntEnum):
    """When candidates are made."""

    SYNC = 1
    QUEUED = 2
    NONE = 3


class ExtractorKind(IntEnum):
    """Who makes candidates."""

    RULES = 1
    LLM = 2
    HYBRID = 3


class IngestState(IntEnum):
    """How far an ingest has come."""

    QUEUED = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4
    STORED = 5
    REFUSED = 6

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self not in (IngestState.QUEUED, IngestState.RUNNING)


class Fallback(IntEnum):
    """Why another extractor than the one asked for did the work."""

    LLM_UNAVAILABLE = 1
    LLM_TIMEOUT = 2
    LLM_INVALID_ANSWER = 3


ROLE_SOURCE: Mapping[TurnRole, SourceType] = {
    TurnRole.USER: SourceType.USER_STATED,
    TurnRole.AGENT: SourceType.AGENT_INFERRED,
    TurnRole.TOOL: SourceType.TOOL,
    TurnRole.OTHER: SourceType.THIRD_PARTY,
}
"""How we know what somebody in this role says."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation. `content` is what is stored of it."""

    number: int
    role: TurnRole
    content: str
    speaker: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that might be remembered, with the turns it was made of.

    source: how we know it; never more than the roles of its turns allow. confidence: None where the
    speaker left no doubt. extracted_by: rule or version of the prompt, for example "rules/preference".
    """

    content: str
    kind: MemoryKind
    source: SourceType
    turn_numbers: tuple[int, ...]
    extracted_by: str
    slot: str | None = None
    confidence: float | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The candidates of some turns in the order of the conversation, and how they came about."""

    candidates: Sequence[Candidate]
    by: ExtractorKind
    fallback: Fallback | None = None


def weakest(sources: Iterable[SourceType]) -> SourceType:
    """The least trusted of several sources; of two alike the one that says most about it."""
    return min(sources, key=lambda source: (DEFAULT_TRUST[source], -source))
