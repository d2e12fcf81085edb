"""Audit events: stored once, never changed."""

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from .database import Row, UnitOfWork
from .queries import load_statements

if TYPE_CHECKING:
    from muniment_server.audit.events import AuditEvent


async def insert_event(work: UnitOfWork, event: "AuditEvent", payload: bytes, mac: bytes) -> None:
    """Queue an event and its place in the sealer's queue."""
    await work.send("audit_insert", **_columns(event, payload, mac))


def insert_event_as_owner(
    cursor: psycopg.Cursor[Any], event: "AuditEvent", payload: bytes, mac: bytes
) -> None:
    """Store an event and its place in the sealer's queue, in a transaction of the schema's owner."""
    # Row-level security holds for the owner too.
    cursor.execute("SELECT set_config('app.tenant_id', %s, true)", (str(event.tenant_id),))
    cursor.execute(
        load_statements()["audit_insert"].source.encode(),
        {"tenant_id": event.tenant_id, **_columns(event, payload, mac)},
    )


def _columns(event: "AuditEvent", payload: bytes, mac: bytes) -> dict[str, Any]:
    return {
        "event_id": event.event_id,
        "event_time": event.time,
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
        "payload": payload,
        "mac": mac,
    }


async def page_of_events(
    work: UnitOfWork,
    *,
    memory_id: UUID | None,
    scope_id: UUID | None,
    agent: str | None,
    session: str | None,
    recall_id: UUID | None,
    trace_id: str | None,
    actor: str | None,
    actions: list[int] | None,
    outcomes: list[int] | None,
    source_types: list[int] | None,
    start: datetime | None,
    end: datetime | None,
    before: UUID | None,
    not_before: UUID | None = None,
    bound_agent: str | None = None,
    limit: int,
) -> list[Row]:
    """Events, newest first, with ids below `before` and not below `not_before`; with all columns and their
    place in the chain if any."""
    return await work.fetch(
        "audit_page",
        memory_id=memory_id,
        scope_id=scope_id,
        agent=agent,
        session=session,
        recall_id=recall_id,
        trace_id=trace_id,
        actor=actor,
        actions=actions,
        outcomes=outcomes,
        source_types=source_types,
        start=start,
        end=end,
        before=before,
        not_before=not_before,
        bound_agent=bound_agent,
        limit=limit,
    )
