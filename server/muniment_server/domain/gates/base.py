"""What a gate is: a small pure object that looks at one statement before it is stored.

A gate decides nothing by itself. It says what it found and which verdict the tenant's policy gives for
that; `screening.py` puts the verdicts of all gates together. Nothing that a gate returns holds content:
spans are offsets, and what stood there is named by a typed placeholder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Protocol

from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel

from .folding import Folded, fold


class Verdict(IntEnum):
    """What is to be done with a statement, mildest first. The severest verdict of all gates decides."""

    PASS = 1
    MARK = 2
    """Stored, with the finding in the answer and in the audit; its trust may be lowered."""
    REDACT = 3
    """Stored without what was found; typed placeholders stand in its place."""
    REVIEW = 4
    """Stored as PENDING: a reviewer decides."""
    QUARANTINE = 5
    """Stored as QUARANTINED: kept, and never recalled unless asked for."""
    DROP = 6
    """Not stored; the answer and the audit say why."""
    REJECT = 7
    """The whole call is refused with an error that names the field."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule of one gate found in a statement, without a word of it.

    spans: half-open ranges of code points of the text as it was sent; at most `MAX_SPANS` of them.
    count: how often it was found. placeholder: what stands in the text now, empty unless redacted.
    """

    gate: str
    rule: str
    verdict: Verdict
    count: int = 1
    spans: tuple[tuple[int, int], ...] = ()
    placeholder: str = ""


MAX_SPANS = 20


@dataclass(frozen=True, slots=True)
class Replacement:
    """A span of the text and what is to stand there. `keep_text`: only in what the index sees."""

    start: int
    end: int
    placeholder: str
    keep_text: bool = False


@dataclass(frozen=True, slots=True)
class GateResult:
    """The word of one gate. `rule` is the deciding rule, empty for PASS.

    trust_ceiling: the most that the statement may be trusted after this, None for no change.
    """

    gate: str
    verdict: Verdict = Verdict.PASS
    rule: str = ""
    findings: Sequence[Finding] = ()
    replacements: Sequence[Replacement] = ()
    trust_ceiling: TrustLevel | None = None


@dataclass(frozen=True)
class Statement:
    """What a gate looks at: a text with the labels that policies depend on."""

    content: str
    kind: MemoryKind
    trust: TrustLevel
    source_type: SourceType
    confidence: float | None = None

    @cached_property
    def folded(self) -> Folded:
        """The text as detectors read it; made once for all gates."""
        return fold(self.content)


class Gate(Protocol):
    """One gate. Pure: the same statement always gets the same result."""

    name: str

    def check(self, statement: Statement) -> GateResult:
        """Judge a statement."""
