"""Audit events as they come back from the store: authenticated before anything in them is believed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Any
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey

from .events import (
    MOST_NAMED,
    Actor,
    ActorKind,
    AuditAction,
    AuditEvent,
    AuditOutcome,
    from_micros,
    ids_digest,
    to_micros,
)


class EventForged(Exception):
    """A stored event is not what the service wrote. `flaw` is "mac", "form" or "columns"."""

    def __init__(self, flaw: str, *columns: str) -> None:
        super().__init__(flaw, *columns)
        self.flaw = flaw
        self.columns = columns


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its place in the chain.

    `event` is None when the stored row is not what the service wrote; then nothing of it is known but
    where it stands. `sequence` is 0 and the digests are empty until the event is chained.
    """

    event_id: UUID
    event: AuditEvent | None
    sequence: int = 0
    digest: bytes = b""
    prev_digest: bytes = b""


def open_event(key: TenantKey, row: Mapping[str, Any]) -> AuditEvent:
    """The event of a row of `audit_event`, with all columns.

    Raises EventForged when the mac does not hold, the bytes have not the form of an event, or a column
    says something else than the bytes.
    """
    payload = bytes(row["payload"])
    if not compare_digest(key.audit_mac(payload), bytes(row["mac"])):
        raise EventForged("mac")
    try:
        event = parse_event(payload, row["memory_ids"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise EventForged("form") from None
    if not isinstance(row["event_time"], datetime):
        raise EventForged("columns", "event_time")
    differing = _differing(event, key.tenant_id, row)
    if differing:
        raise EventForged("columns", *differing)
    return event


def parse_event(payload: bytes, memory_ids: Sequence[UUID] | None = None) -> AuditEvent:
    """The event of authentic canonical bytes.

    `memory_ids`: the column, which completes a list that the bytes only give the digest of.
    Raises KeyError, TypeError or ValueError for bytes of another form, EventForged for another list.
    """
    # Their one spelling is proved by the mac, so there is no need to prove it once more.
    fields = json.loads(payload)
    if fields["v"] != 1:
        raise ValueError("an event of an unknown version")
    actor = fields["actor"]
    named = [UUID(text) for text in fields["memory_ids"]]
    if "memory_digest" in fields:
        complete = list(memory_ids or ())
        if (
            len(complete) != fields["memory_count"]
            or ids_digest(complete) != fields["memory_digest"]
            or complete[:MOST_NAMED] != named
        ):
            raise EventForged("columns", "memory_ids")
        named = complete
    return AuditEvent(
        event_id=UUID(fields["event_id"]),
        tenant_id=UUID(fields["tenant_id"]),
        time=from_micros(fields["time"]),
        action=AuditAction(fields["action"]),
        outcome=AuditOutcome(fields["outcome"]),
        actor=Actor(ActorKind(actor["kind"]), actor["principal"], actor["agent"], actor["client"]),
        reason=fields["reason"],
        scope_id=_optional(fields["scope_id"]),
        agent=fields["agent"],
        session=fields["session"],
        trace_id=fields["trace_id"],
        span_id=fields["span_id"],
        request_id=fields["request_id"],
        recall_id=_optional(fields["recall_id"]),
        memory_ids=named,
        source_types=frozenset(fields["source_types"]),
        details=fields["details"],
    )


def _optional(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _differing(event: AuditEvent, tenant_id: UUID, row: Mapping[str, Any]) -> list[str]:
    """Columns by which an event is found that say something else than the event."""
    expected: dict[str, Any] = {
        "event_id": event.event_id,
        "event_time": to_micros(event.time),
        "action": int(event.action),
        "outcome": int(event.outcome),
        "actor": event.actor.principal,
        "scope_id": event.scope_id,
        "agent": event.agent,
        "session": event.session,
        "trace_id": event.trace_id,
        "recall_id": event.recall_id,
        "memory_ids": list(event.memory_ids),
        "source_types": sorted(event.source_types),
    }
    stored = {**row, "event_time": to_micros(row["event_time"])}
    differing = [name for name, value in expected.items() if stored[name] != value]
    if event.tenant_id != tenant_id:
        differing.append("tenant_id")
    return differing
