"""What a verification found: kinds, places and ids, never content."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

MOST_KEPT = 1_000
"""Findings of one kind that a report holds for one tenant; all are counted."""
_MOST_IDS = 20


class FindingKind(StrEnum):
    """What does not hold. The values are stable; scripts may compare them."""

    # the trail
    EVENT_CHANGED = "event_changed"
    EVENT_MISSING = "event_missing"
    EVENT_UNCHAINED = "event_unchained"
    EVENT_QUEUED_AGAIN = "event_queued_again"
    EVENT_INDEX = "event_index"
    CHAIN_BROKEN = "chain_broken"
    CHAIN_GAP = "chain_gap"
    CHAIN_END = "chain_end"
    CHAIN_ROLLED_BACK = "chain_rolled_back"
    CHECKPOINT_FORGED = "checkpoint_forged"
    RECEIPT_FORGED = "receipt_forged"
    # what the trail says of memories
    MEMORY_LOST = "memory_lost"
    MEMORY_ROLLED_BACK = "memory_rolled_back"
    ERASED_MEMORY_BACK = "erased_memory_back"
    # scopes and what stands in them
    SCOPE_MISSING = "scope_missing"
    SCOPE_ROLLED_BACK = "scope_rolled_back"
    SCOPE_KEY = "scope_key"
    CONSENT = "consent"
    POLICY = "policy"
    CREDENTIAL = "credential"
    INGEST = "ingest"
    SCOPE_SEAL = "scope_seal"
    SCOPE_SET = "scope_set"
    SCOPE_STATISTICS = "scope_statistics"
    MEMORY_SEAL = "memory_seal"
    REVISION_SEAL = "revision_seal"
    REVISION_ORDER = "revision_order"
    VECTOR_SEAL = "vector_seal"
    VECTOR_STRAY = "vector_stray"
    VECTOR_MISSING = "vector_missing"
    POSTINGS = "postings"
    CONTENT = "content"
    SLOT_DOUBLED = "slot_doubled"
    SUCCESSION = "succession"
    STRAY_ROW = "stray_row"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not hold. `detail` is a fixed text with numbers and names of columns in it."""

    kind: FindingKind
    tenant_id: UUID
    detail: str
    scope_id: UUID | None = None
    memory_ids: tuple[UUID, ...] = ()
    event_id: UUID | None = None
    sequence: int | None = None

    def as_json(self, tenant: str) -> dict[str, Any]:
        """The finding as an object of plain values."""
        return {
            "kind": self.kind.value,
            "tenant": tenant,
            "tenant_id": str(self.tenant_id),
            "scope_id": str(self.scope_id) if self.scope_id else None,
            "memory_ids": [str(memory_id) for memory_id in self.memory_ids],
            "event_id": str(self.event_id) if self.event_id else None,
            "sequence": self.sequence,
            "detail": self.detail,
        }


@dataclass(slots=True)
class TenantReport:
    """What was looked at and found in one tenant."""

    tenant_id: UUID
    name: str
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[FindingKind] = field(default_factory=Counter)
    events: int = 0
    waiting: int = 0
    checkpoints: int = 0
    scopes: int = 0
    memories: int = 0
    revisions: int = 0
    vectors: int = 0
    vectors_waiting: int = 0
    """Memories whose vector is still to be made: found by their words meanwhile."""
    not_derived: int = 0
    """Memories whose tokens another version of the analysis made, so that --deep could not derive them."""

    def add(
        self,
        kind: FindingKind,
        detail: str,
        *,
        scope_id: UUID | None = None,
        memory_ids: Iterable[UUID] = (),
        event_id: UUID | None = None,
        sequence: int | None = None,
    ) -> None:
        """Note a finding."""
        self.counts[kind] += 1
        if self.counts[kind] <= MOST_KEPT:
            named: Sequence[UUID] = list(memory_ids)
            if len(named) > _MOST_IDS:
                detail += f"; {len(named)} memories, the first {_MOST_IDS} are named"
            self.findings.append(
                Finding(
                    kind,
                    self.tenant_id,
                    detail,
                    scope_id,
                    tuple(named[:_MOST_IDS]),
                    event_id,
                    sequence,
                )
            )

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.counts

    def as_json(self) -> dict[str, Any]:
        """The report as an object of plain values."""
        return {
            "tenant": self.name,
            "tenant_id": str(self.tenant_id),
            "clean": self.clean,
            "checked": {
                "events": self.events,
                "waiting_events": self.waiting,
                "checkpoints": self.checkpoints,
                "scopes": self.scopes,
                "memories": self.memories,
                "revisions": self.revisions,
                "vectors": self.vectors,
            },
            "vectors_waiting": self.vectors_waiting,
            "not_derived": self.not_derived,
            "counts": {kind.value: count for kind, count in sorted(self.counts.items())},
            "findings": [finding.as_json(self.name) for finding in self.findings],
        }
