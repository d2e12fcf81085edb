"""Writes audit events in the transaction of what they tell."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.ids import new_id
from muniment_server.identity.principal import CallContext
from muniment_server.storage.audit import insert_event
from muniment_server.storage.database import UnitOfWork
from muniment_server.telemetry.instruments import metrics

from .events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome

NAMED_IDS = 100


def actor_of(context: CallContext, agent: str | None = None) -> Actor:
    """The caller as the audit names it."""
    principal = context.principal
    kind = ActorKind.API_KEY if principal.kind == "api_key" else ActorKind.JWT
    return Actor(kind, str(principal.credential_id), principal.agent or agent, context.client)


class AuditTrail:
    """Queues audit events in a unit of work; they are stored or lost with it."""

    async def record(
        self,
        work: UnitOfWork,
        key: TenantKey,
        context: CallContext,
        action: AuditAction,
        *,
        now: datetime,
        outcome: AuditOutcome = AuditOutcome.OK,
        reason: str | None = None,
        scope_id: UUID | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str | None = None,
        recall_id: UUID | None = None,
        memory_ids: Sequence[UUID] = (),
        source_types: frozenset[int] = frozenset(),
        details: Mapping[str, Any] | None = None,
    ) -> AuditEvent:
        """Queue one event of the call; returns it as written."""
        event = AuditEvent(
            event_id=new_id(),
            tenant_id=work.tenant_id,
            time=now,
            action=action,
            outcome=outcome,
            actor=actor_of(context, agent),
            reason=reason,
            scope_id=scope_id,
            agent=agent,
            session=session,
            trace_id=context.trace_id,
            span_id=context.span_id,
            request_id=request_id,
            recall_id=recall_id,
            memory_ids=memory_ids,
            source_types=source_types,
            details=details or {},
        )
        await write_event(work, key, event)
        return event

    async def memories_read(
        self,
        work: UnitOfWork,
        key: TenantKey,
        context: CallContext,
        action: AuditAction,
        *,
        now: datetime,
        scope_id: UUID | None,
        memory_ids: Sequence[UUID],
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        """Queue the event of a read, which names the memories that were shown."""
        await self.record(
            work,
            key,
            context,
            action,
            now=now,
            scope_id=scope_id,
            agent=agent,
            session=session,
            memory_ids=memory_ids,
            details={
                "memories_read": {
                    "memory_ids": [str(memory_id) for memory_id in memory_ids],
                    "count": len(memory_ids),
                }
            },
        )

    async def integrity_violation(
        self,
        work: UnitOfWork,
        key: TenantKey,
        context: CallContext,
        *,
        now: datetime,
        scope_id: UUID,
        memory_ids: Sequence[UUID],
        check: str,
        recall_id: UUID | None = None,
    ) -> None:
        """Count stored rows that were refused, and queue the event of it, which names the first hundred."""
        metrics().integrity_violation(len(memory_ids))
        named = memory_ids[:NAMED_IDS]
        await self.record(
            work,
            key,
            context,
            AuditAction.INTEGRITY_CHECK,
            now=now,
            outcome=AuditOutcome.FAILED,
            reason="INTEGRITY_VIOLATION",
            scope_id=scope_id,
            recall_id=recall_id,
            memory_ids=named,
            details={
                "integrity_violation": {
                    "memory_ids": [str(memory_id) for memory_id in named],
                    "check": check,
                    "count": len(memory_ids),
                }
            },
        )


async def write_event(work: UnitOfWork, key: TenantKey, event: AuditEvent) -> None:
    """Queue an event, authenticated with the tenant's key."""
    payload = event.payload()
    await insert_event(work, event, payload, key.audit_mac(payload))
