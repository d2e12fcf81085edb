"""Whether the records of ingests are those that the service wrote last."""

from collections.abc import Mapping
from uuid import UUID

from muniment_server.application.extract_claim import body_in, is_genuine_conversation
from muniment_server.application.ingest_told import Told, newest
from muniment_server.crypto.errors import ScopeKeyDestroyed, ScopeKeyMissing
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import Conversation, IngestRow
from muniment_server.storage.verification import ingests

from .findings import FindingKind, TenantReport

_ROWS = 500


async def check_ingests(
    work: UnitOfWork, store: KeyStore, key: TenantKey, told: Mapping[UUID, Told], report: TenantReport
) -> None:
    """Hold the records against their encryption, and against what the whole trail tells of them."""
    after: UUID | None = None
    while True:
        page = await ingests(work, after, _ROWS)
        for row, conversation in page:
            fault = await _fault(store, key, row, conversation, told.get(row.ingest_id))
            if fault:
                report.add(FindingKind.INGEST, f"ingest {row.ingest_id} {fault}", scope_id=row.scope_id)
        if len(page) < _ROWS:
            return
        after = page[-1][0].ingest_id


async def _fault(
    store: KeyStore, key: TenantKey, row: IngestRow, conversation: Conversation | None, told: Told | None
) -> str | None:
    if conversation is None:
        # Refused as a whole; nothing waits, and nothing was noted of a conversation.
        return None
    if not is_genuine_conversation(key, conversation):
        return "is of a conversation that has another agent, session or scope than the service gave it"
    try:
        scope_key = await store.scope_key(key.tenant_id, conversation.scope_id, row.key_epoch)
    except (ScopeKeyDestroyed, ScopeKeyMissing, ValueError):
        # What is left of an erased scope; nobody can read it, nor have anything made of it.
        return None
    try:
        body = newest(body_in(scope_key, conversation, row), told)
    except IntegrityViolation:
        return "is not what the service recorded last"
    return None if row.state == body.state else "says that it is in another state than it is"
