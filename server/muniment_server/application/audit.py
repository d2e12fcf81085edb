"""Audit: the events of a tenant, newest first and page by page, each held against its mac."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

from muniment_server.audit.canonical import CHAIN_START
from muniment_server.audit.events import AuditAction, AuditOutcome, first_id_at
from muniment_server.audit.stored import EventForged, StoredEvent, open_event
from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import Scope, ScopeKind, ScopeRow, SourceType, TimeRange
from muniment_server.identity.principal import CallContext
from muniment_server.storage.audit import page_of_events
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import read_scopes
from muniment_server.telemetry.instruments import metrics

from .paging import opened_token
from .scoping import bind_scope, read_label, reading_key
from .services import Services, utc_now

DEFAULT_PAGE = 100
MAX_PAGE = 1_000
MAX_PAGE_BYTES = 3_500_000
_CHUNK = 200
_FRAME = 8
_MOST_NAMED = 100
# How far an event's time may lie before the time in its id, which is made when the event is written: as
# long as a call may take, and some more.
_ID_AFTER_TIME = timedelta(hours=2)
_CLOCK_STEP = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which events. Empty and None: no restriction. `scope` with an agent or a session restricts to
    events whose call named the same."""

    memory_id: UUID | None = None
    scope: Scope | None = None
    recall_id: UUID | None = None
    trace_id: str | None = None
    principal: str | None = None
    actions: Sequence[AuditAction] = ()
    outcomes: Sequence[AuditOutcome] = ()
    source_types: Sequence[SourceType] = ()
    event_time: TimeRange = field(default_factory=TimeRange)


class Weighed(Protocol):
    """A rendered event that knows its size in an answer."""

    def ByteSize(self) -> int:  # noqa: N802 - as messages call it
        """Bytes."""
        ...


Rendered = TypeVar("Rendered", bound=Weighed)

Render = Callable[[StoredEvent, Scope | None], Rendered]
"""Makes an answer's event of a stored one and, where its labels can still be read, its scope."""


async def audit_page(
    services: Services,
    context: CallContext,
    query: AuditQuery,
    *,
    page_size: int,
    page_token: str,
    arguments: bytes,
    render: Render[Rendered],
) -> tuple[list[Rendered], str]:
    """One page of events and the token of the next page, which is empty at the end.

    `arguments` are the request's deterministic bytes without page size and token: a token belongs to
    them, to the tenant and to the credential. A page ends early rather than exceed MAX_PAGE_BYTES. The
    first page is recorded as READ_AUDIT, later ones belong to it. Events recorded while somebody pages
    are newer than the first page and never move it. Raises PageTokenInvalid, PermissionDenied.
    """
    key = await services.keys.tenant(context.tenant_id)
    scope_id = _scope_restriction(context, key, query)
    size = min(page_size or DEFAULT_PAGE, MAX_PAGE)
    binding = b"audit" + context.principal.credential_id.bytes + arguments
    before = opened_token(key, page_token, binding, lambda raw: UUID(bytes=raw))
    rendered: list[Rendered] = []
    used = 0
    first = True
    while True:
        wanted = min(size + 1 - len(rendered), _CHUNK)
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            bound = context.principal.agent
            rows = await _read(work, services, query, scope_id, before, wanted, bound)
            events = [_opened(key, row) for row in rows]
            scopes = await read_scopes(work, {row["scope_id"] for row in rows if row["scope_id"]})
            forged = [event.event_id for event in events if event.event is None]
            if first and not page_token:
                await record_reading(
                    services, work, key, context, "Audit", scope_id=scope_id if query.scope else None
                )
            await report_forged(services, work, key, context, forged)
        first = False
        labels = await readable_scopes(services, context, scopes)
        for event in events:
            shown = render(event, _scope_of(event, labels))
            weight = shown.ByteSize() + _FRAME
            if len(rendered) == size or (rendered and used + weight > MAX_PAGE_BYTES):
                services.on_recorded(context.tenant_id)
                return rendered, key.seal_token(before.bytes if before else b"", binding)
            used += weight
            rendered.append(shown)
            before = event.event_id
        if len(rows) < wanted:
            services.on_recorded(context.tenant_id)
            return rendered, ""


def _scope_restriction(context: CallContext, key: TenantKey, query: AuditQuery) -> UUID | None:
    """The scope that the page is restricted to, by the caller or by the credential."""
    if query.scope is not None:
        scope = bind_scope(context, query.scope)
        return key.scope_id(int(scope.kind), scope.label)
    if context.principal.subject is not None:
        return key.scope_id(int(ScopeKind.SUBJECT), context.principal.subject)
    return None


async def _read(
    work: UnitOfWork,
    services: Services,
    query: AuditQuery,
    scope_id: UUID | None,
    before: UUID | None,
    limit: int,
    bound_agent: str | None,
) -> list[dict[str, Any]]:
    start, end = query.event_time.start, query.event_time.end
    not_before = None
    # With the machine's own clock an id tells when its event was made: the index then ends the search.
    if services.clock is utc_now:
        not_before = first_id_at(_earlier(start, _CLOCK_STEP)) if start else None
        if end is not None:
            ceiling = first_id_at(_later(end, _ID_AFTER_TIME))
            before = ceiling if before is None else min(before, ceiling)
    return await page_of_events(
        work,
        memory_id=query.memory_id,
        scope_id=scope_id,
        agent=query.scope.agent if query.scope else None,
        session=query.scope.session if query.scope else None,
        recall_id=query.recall_id,
        trace_id=query.trace_id,
        actor=query.principal,
        actions=[int(action) for action in query.actions] or None,
        outcomes=[int(outcome) for outcome in query.outcomes] or None,
        source_types=[int(source) for source in query.source_types] or None,
        start=start,
        end=end,
        before=before,
        not_before=not_before,
        bound_agent=bound_agent,
        limit=limit,
    )


def _earlier(instant: datetime, by: timedelta) -> datetime:
    floor = datetime.min.replace(tzinfo=instant.tzinfo)
    return instant - by if instant - floor > by else floor


def _later(instant: datetime, by: timedelta) -> datetime:
    ceiling = datetime.max.replace(tzinfo=instant.tzinfo)
    return instant + by if ceiling - instant > by else ceiling


def _opened(key: TenantKey, row: Mapping[str, Any]) -> StoredEvent:
    try:
        event = open_event(key, row)
    except EventForged:
        event = None
    return stored_event(row, event)


def stored_event(row: Mapping[str, Any], event: Any) -> StoredEvent:
    """An event with the place in the chain that was read with it."""
    sequence = row["sequence"] or 0
    prev = CHAIN_START if sequence == 1 else bytes(row["prev_digest"] or b"")
    return StoredEvent(row["event_id"], event, sequence, bytes(row["digest"] or b""), prev)


def _scope_of(stored: StoredEvent, labels: Mapping[UUID, Scope]) -> Scope | None:
    event = stored.event
    if event is None or event.scope_id is None or event.scope_id not in labels:
        return None
    plain = labels[event.scope_id]
    return Scope(plain.kind, plain.label, event.agent, event.session)


async def readable_scopes(
    services: Services, context: CallContext, rows: Mapping[UUID, ScopeRow]
) -> dict[UUID, Scope]:
    """The scopes whose labels can still be read; without narrowing."""
    tenant_key = await services.keys.tenant(context.tenant_id)
    found: dict[UUID, Scope] = {}
    for scope_id, row in rows.items():
        if row.label_ct is None:
            continue
        key = await reading_key(services.keys, context.tenant_id, scope_id, row.key_epoch)
        if key is None:
            continue
        try:
            label = read_label(key, row)
        except (CiphertextInvalid, ValueError):
            continue
        if label is not None and tenant_key.scope_id(int(row.kind), label) == scope_id:
            found[scope_id] = Scope(row.kind, label)
    return found


async def record_reading(
    services: Services,
    work: UnitOfWork,
    key: TenantKey,
    context: CallContext,
    method: str,
    *,
    scope_id: UUID | None = None,
    recall_id: UUID | None = None,
) -> None:
    """Queue the event that the trail was read. The recall that was looked at stands in the details only:
    the readers of a receipt do not belong to it."""
    details = {"method": method, "recall_id": str(recall_id) if recall_id else None}
    await services.trail.record(
        work,
        key,
        context,
        AuditAction.READ_AUDIT,
        now=services.clock(),
        scope_id=scope_id,
        details={"audit_read": details},
    )


async def report_forged(
    services: Services, work: UnitOfWork, key: TenantKey, context: CallContext, forged: Iterable[UUID]
) -> None:
    """Queue the event that stored events were found not to be what the service wrote; counts them too."""
    event_ids = list(forged)
    if not event_ids:
        return
    metrics().integrity_violation(len(event_ids))
    await services.trail.record(
        work,
        key,
        context,
        AuditAction.INTEGRITY_CHECK,
        now=services.clock(),
        outcome=AuditOutcome.FAILED,
        reason="INTEGRITY_VIOLATION",
        details={
            "integrity_violation": {
                "memory_ids": [],
                "check": "chain",
                "count": len(event_ids),
                "event_ids": [str(event_id) for event_id in event_ids[:_MOST_NAMED]],
            }
        },
    )
