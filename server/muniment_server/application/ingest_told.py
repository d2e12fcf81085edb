"""What the audit trail says of ingests, against which their records are held.

The record of an ingest proves that the service wrote it, and not that it is the newest: whoever can write to
the database can put an earlier one back, whose turns are still to be looked at. What an old turn says would
then be said again, after everything that came since. So the record counts how often something was made of its
turns, the trail tells of each time in the same transaction, and of a record that is behind nothing is made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muniment_server.audit.events import AuditAction, AuditEvent
from muniment_server.audit.stored import EventForged, open_event
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.extraction.candidate import IngestState
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import Conversation, events_of

from .ingest_body import IngestBody

_CLOCKS_APART_MS = 3_600_000
"""How far the clock of a server may be behind that of the one that took the turns in."""
_MILLISECONDS_FROM = 80
"""The bit of a UUIDv7 at which its milliseconds begin."""


@dataclass(slots=True)
class Told:
    """looks: events that tell that something was made of the ingest's turns, or given up."""

    looks: int = 0
    ended: bool = False


def note(told: dict[UUID, Told], event: AuditEvent) -> None:
    """Add what one event says."""
    details = event.details.get("conversation_ingested") if event.action is AuditAction.INGEST else None
    if details and (details["extractor"] or details["state"] == IngestState.FAILED):
        one = told.setdefault(UUID(details["ingest_id"]), Told())
        one.looks += 1
        one.ended = details["state"] != IngestState.QUEUED


async def told_of(
    work: UnitOfWork, key: TenantKey, conversation: Conversation, ingest_ids: Sequence[UUID]
) -> dict[UUID, Told]:
    """What the trail says of ingests of a conversation. Raises IntegrityViolation where it was changed."""
    found: dict[UUID, Told] = {}
    if not ingest_ids:
        return found
    for row in await events_of(work, conversation, _before(ingest_ids)):
        try:
            note(found, open_event(key, row))
        except EventForged:
            raise IntegrityViolation() from None
    return found


def _before(ingest_ids: Iterable[UUID]) -> UUID:
    """An id that is smaller than that of every event after these ingests."""
    began = min(one.int >> _MILLISECONDS_FROM for one in ingest_ids)
    return UUID(int=max(began - _CLOCKS_APART_MS, 0) << _MILLISECONDS_FROM)


def newest(body: IngestBody, told: Told | None) -> IngestBody:
    """The record with its count. Raises IntegrityViolation when the trail tells of more or of less."""
    if told is None:
        told = Told()
    if told.ended if body.looks is None else told.looks != body.looks:
        raise IntegrityViolation()
    return replace(body, looks=told.looks)
