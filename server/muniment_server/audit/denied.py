"""Refused and failed calls in the audit trail: who tried what, without a word of content."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.key_ring import KeyRing
from muniment_server.domain.ids import new_id
from muniment_server.interceptors.errors import DeniedCall
from muniment_server.storage.database import Database

from .events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome
from .trail import write_event

_ACTIONS = {
    "Write": AuditAction.WRITE,
    "Recall": AuditAction.RECALL,
    "Supersede": AuditAction.SUPERSEDE,
    "Erase": AuditAction.ERASE,
    "GetErasure": AuditAction.GET_ERASURE,
    "GetMemory": AuditAction.GET_MEMORY,
    "ListMemories": AuditAction.LIST_MEMORIES,
    "ReportUse": AuditAction.REPORT_USE,
    "Audit": AuditAction.READ_AUDIT,
    "GetRecall": AuditAction.READ_AUDIT,
    "ExportAudit": AuditAction.READ_AUDIT,
    "Ingest": AuditAction.INGEST,
    "StreamIngest": AuditAction.INGEST,
    "GetIngest": AuditAction.INGEST,
    "Restore": AuditAction.RESTORE_MEMORY,
    "Retract": AuditAction.RETRACT,
    "UndoWrite": AuditAction.UNDO_WRITE,
    "DecideReview": AuditAction.DECIDE_REVIEW,
    "ListReviews": AuditAction.LIST_REVIEWS,
    "SetConsent": AuditAction.SET_CONSENT,
    "GetConsent": AuditAction.DESCRIBE_SUBJECT,
    "DescribeSubject": AuditAction.DESCRIBE_SUBJECT,
    "ExportMemories": AuditAction.EXPORT_MEMORIES,
    "ImportMemories": AuditAction.IMPORT_MEMORIES,
}
_DENIED = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED"})
_TIMEOUT = 1.0


class DeniedCalls:
    """Records refused calls in the trail of the caller's own tenant.

    A call whose tenant was refused goes into the trail of the credential's first tenant: nobody can
    write into the trail of a tenant that he may not act for. A call without a verified credential
    belongs to no tenant and is left to logs and metrics.
    """

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        on_recorded: Callable[[UUID], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._keys = keys
        self._on_recorded = on_recorded
        self._clock = clock

    async def __call__(self, denied: DeniedCall) -> None:
        """Record one call."""
        tenant_id = _home(denied)
        principal = denied.principal
        if tenant_id is None or principal is None:
            return
        error = denied.error
        memory_ids = _memories(denied)
        event = AuditEvent(
            event_id=new_id(),
            tenant_id=tenant_id,
            time=self._clock(),
            action=_ACTIONS.get(denied.method.rpartition("/")[2], AuditAction.ADMINISTER),
            outcome=AuditOutcome.DENIED if error.code in _DENIED else AuditOutcome.FAILED,
            actor=Actor(
                ActorKind.API_KEY if principal.kind == "api_key" else ActorKind.JWT,
                str(principal.credential_id),
                principal.agent,
                denied.context.client if denied.context else None,
            ),
            reason=error.reason,
            trace_id=denied.trace_id,
            span_id=denied.span_id,
            memory_ids=memory_ids,
            details={
                "access_denied": {
                    "method": denied.method,
                    "permission": error.metadata.get("permission", ""),
                }
            },
        )
        key = await self._keys.tenant(tenant_id)
        async with self._database.transaction(tenant_id, timeout=_TIMEOUT) as work:
            await write_event(work, key, event)
        self._on_recorded(tenant_id)


def _home(denied: DeniedCall) -> UUID | None:
    if denied.context is not None:
        return denied.context.tenant_id
    if denied.principal is not None and denied.principal.tenants:
        return next(iter(denied.principal.tenants.values()))
    return None


def _memories(denied: DeniedCall) -> list[UUID]:
    resource = denied.error.resource
    if resource is not None and resource.type == "memory":
        return [UUID(resource.name)]
    named = denied.error.metadata.get("memory_id")
    return [UUID(named)] if named else []
