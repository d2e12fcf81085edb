"""GetRecall: the durable record of one Recall with everything reported about its use."""

from dataclasses import dataclass
from uuid import UUID

from muniment_server.audit.events import AuditAction, AuditEvent, AuditOutcome
from muniment_server.audit.stored import EventForged, StoredEvent, open_event
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, RecallNotFound
from muniment_server.domain.model import Scope
from muniment_server.identity.principal import CallContext
from muniment_server.storage.audit_chain import recall_events
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import read_scopes

from .audit import MAX_PAGE_BYTES, readable_scopes, record_reading, report_forged, stored_event
from .scoping import in_reach
from .services import Services

_CHUNK = 200
_OVERHEAD = 1_024


@dataclass(frozen=True, slots=True)
class RecallRecord:
    """A receipt. `scope` is None once it was erased; `uses` are the use reports, oldest first.

    `uses` ends where an answer would exceed its size; the audit filtered by the recall has all of them.
    """

    recall: StoredEvent
    event: AuditEvent
    scope: Scope | None
    uses: list[tuple[StoredEvent, AuditEvent]]


async def get_recall(services: Services, context: CallContext, recall_id: UUID) -> RecallRecord:
    """The record of a recall.

    Raises RecallNotFound, also for a recall out of the credential's reach, and IntegrityViolation when
    the receipt or one of its use reports is not what the service wrote.
    """
    key = await services.keys.tenant(context.tenant_id)
    forged: UUID | None = None
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        try:
            recall, event = await find_recall(work, key, context, recall_id)
            uses = await _uses(work, key, recall_id)
            scopes = await read_scopes(work, [event.scope_id] if event.scope_id else [])
            await record_reading(
                services, work, key, context, "GetRecall", scope_id=event.scope_id, recall_id=recall_id
            )
        except ForgedEvent as error:
            forged = error.event_id
            await report_forged(services, work, key, context, [forged])
    services.on_recorded(context.tenant_id)
    if forged is not None:
        raise IntegrityViolation(recall_id=str(recall_id))
    labels = await readable_scopes(services, context, scopes)
    plain = labels.get(event.scope_id) if event.scope_id else None
    scope = Scope(plain.kind, plain.label, event.agent, event.session) if plain else None
    return RecallRecord(recall, event, scope, uses)


class ForgedEvent(Exception):
    """A stored event that a call needs is not what the service wrote."""

    def __init__(self, event_id: UUID) -> None:
        super().__init__(event_id)
        self.event_id = event_id


async def find_recall(
    work: UnitOfWork, key: TenantKey, context: CallContext, recall_id: UUID
) -> tuple[StoredEvent, AuditEvent]:
    """The event of a recall. Raises RecallNotFound, and ForgedEvent when its mac does not hold."""
    rows = await recall_events(work, recall_id, [int(AuditAction.RECALL)], int(AuditOutcome.OK), limit=1)
    if not rows:
        raise RecallNotFound(str(recall_id))
    try:
        event = open_event(key, rows[0])
    except EventForged:
        raise ForgedEvent(rows[0]["event_id"]) from None
    agent = context.principal.agent
    if event.scope_id is None or not in_reach(context, key, event.scope_id):
        raise RecallNotFound(str(recall_id))
    if agent is not None and event.agent is not None and event.agent != agent:
        raise RecallNotFound(str(recall_id))
    return stored_event(rows[0], event), event


async def _uses(work: UnitOfWork, key: TenantKey, recall_id: UUID) -> list[tuple[StoredEvent, AuditEvent]]:
    found: list[tuple[StoredEvent, AuditEvent]] = []
    after: UUID | None = None
    used = 0
    while True:
        rows = await recall_events(
            work,
            recall_id,
            [int(AuditAction.REPORT_USE)],
            int(AuditOutcome.OK),
            after=after,
            limit=_CHUNK,
        )
        for row in rows:
            # The bytes of the event are longer than its message; half of the answer is the receipt's.
            used += len(row["payload"]) + _OVERHEAD
            if used > MAX_PAGE_BYTES // 2:
                return found
            try:
                event = open_event(key, row)
            except EventForged:
                raise ForgedEvent(row["event_id"]) from None
            found.append((stored_event(row, event), event))
        if len(rows) < _CHUNK:
            return found
        after = rows[-1]["event_id"]
