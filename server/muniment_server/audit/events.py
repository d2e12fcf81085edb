"""Audit events: what happened, told in ids, counts and keyed digests, never in content.

An event's canonical bytes are what is authenticated, chained and exported; the columns beside them
only make it findable, and `muniment verify` compares the two. Scores stand as whole millionths, since
canonical bytes know no floating point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from hashlib import sha256
from typing import Any
from uuid import UUID

from .canonical import canonical_bytes

MOST_NAMED = 10_000
"""Memories that the canonical bytes name one by one; of more than these a digest of all ids stands there.
The column beside them has every one."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class AuditAction(IntEnum):
    """What was done; the contract's numbers."""

    WRITE = 1
    SUPERSEDE = 2
    ERASE = 3
    RECALL = 4
    REPORT_USE = 5
    GET_MEMORY = 6
    LIST_MEMORIES = 7
    GET_ERASURE = 8
    READ_AUDIT = 9
    INGEST = 10
    RESTORE_MEMORY = 11
    RETRACT = 12
    UNDO_WRITE = 13
    DECIDE_REVIEW = 14
    LIST_REVIEWS = 15
    SET_CONSENT = 16
    DESCRIBE_SUBJECT = 17
    EXPORT_MEMORIES = 18
    IMPORT_MEMORIES = 19
    MAINTENANCE = 20
    INTEGRITY_CHECK = 21
    RESTORE = 22
    ADMINISTER = 23


class AuditOutcome(IntEnum):
    """How it ended."""

    OK = 1
    DENIED = 2
    FAILED = 3


class ActorKind(IntEnum):
    """What kind of principal acted."""

    API_KEY = 1
    JWT = 2
    SERVICE = 3
    OPERATOR = 4


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acted. `principal` is an id, never a secret; `client` is unverified."""

    kind: ActorKind
    principal: str
    agent: str | None = None
    client: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event. `details` holds only str, int, bool, None, lists and dicts."""

    event_id: UUID
    tenant_id: UUID
    time: datetime
    action: AuditAction
    outcome: AuditOutcome
    actor: Actor
    reason: str | None = None
    scope_id: UUID | None = None
    agent: str | None = None
    session: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    request_id: str | None = None
    recall_id: UUID | None = None
    memory_ids: Sequence[UUID] = ()
    source_types: frozenset[int] = frozenset()
    details: Mapping[str, Any] = field(default_factory=dict)

    def payload(self) -> bytes:
        """The canonical bytes."""
        fields = self._fields()
        if len(self.memory_ids) > MOST_NAMED:
            fields["memory_ids"] = fields["memory_ids"][:MOST_NAMED]
            fields["memory_count"] = len(self.memory_ids)
            fields["memory_digest"] = ids_digest(self.memory_ids)
        return canonical_bytes(fields)

    def _fields(self) -> dict[str, Any]:
        return {
            "v": 1,
            "event_id": str(self.event_id),
            "tenant_id": str(self.tenant_id),
            "time": to_micros(self.time),
            "action": int(self.action),
            "outcome": int(self.outcome),
            "reason": self.reason,
            "actor": {
                "kind": int(self.actor.kind),
                "principal": self.actor.principal,
                "agent": self.actor.agent,
                "client": self.actor.client,
            },
            "scope_id": str(self.scope_id) if self.scope_id else None,
            "agent": self.agent,
            "session": self.session,
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "request_id": self.request_id,
            "recall_id": str(self.recall_id) if self.recall_id else None,
            "memory_ids": [str(memory_id) for memory_id in self.memory_ids],
            "source_types": sorted(self.source_types),
            "details": dict(self.details),
        }


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01 UTC."""
    return (instant - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant of `to_micros`."""
    return EPOCH + timedelta(microseconds=micros)


def to_millionths(value: float) -> int:
    """A score as a whole number of millionths."""
    return round(value * 1_000_000)


def ids_digest(memory_ids: Sequence[UUID]) -> str:
    """SHA-256 in hex over the bytes of the ids in their order."""
    return sha256(b"".join(memory_id.bytes for memory_id in memory_ids)).hexdigest()


def first_id_at(instant: datetime) -> UUID:
    """The lowest UUIDv7 of the instant's millisecond."""
    millis = max(0, (instant - EPOCH) // timedelta(milliseconds=1))
    return UUID(int=min(millis, (1 << 48) - 1) << 80)
