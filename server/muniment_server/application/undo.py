"""UndoWrite: a whole write taken back by its request id.

What the write did is read from its audit event, which says it under the tenant's key. Only what still
stands as the write left it is changed; the rest is left and told.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction, AuditEvent, AuditOutcome
from muniment_server.audit.stored import EventForged, open_event
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.consent import Consent
from muniment_server.domain.errors import IntegrityViolation, PermissionDenied, SlotConflict, WriteNotFound
from muniment_server.domain.model import MemoryState, Revision, WriteOutcome
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.storage.corrections import write_of_request
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.storage.memories import lock_memories
from muniment_server.storage.reviews import forget_notes
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .consenting import consent_of
from .consistency import issue_token
from .correct import consent_refusal, corrected_details, may_end, revision_to_restore
from .idempotency import RequestMark, remember, stored_response
from .place import frequencies_of, place_of
from .repeating import Epochs, repeated
from .scoping import agent_in_reach, in_reach, locked_existing, read_label, reading_key, writing_key
from .sealing import ScopeChange, is_genuine
from .services import Services
from .viewing import lets_change, view_of

METHOD = "UndoWrite"
WINDOW = timedelta(hours=72)
_WRITES = {
    "Write": AuditAction.WRITE,
    "Supersede": AuditAction.SUPERSEDE,
    "ImportMemories": AuditAction.IMPORT_MEMORIES,
}
_CREATED = (
    WriteOutcome.CREATED,
    WriteOutcome.SUPERSEDED_PREVIOUS,
    WriteOutcome.PENDING_REVIEW,
    WriteOutcome.QUARANTINED,
    WriteOutcome.REDACTED,
)


class UndoOutcome(IntEnum):
    """What became of one memory; the contract's numbers."""

    ARCHIVED = 1
    RESTORED = 2
    LEFT = 3


@dataclass(frozen=True, slots=True)
class UndoCommand:
    """A validated UndoWrite."""

    write_request_id: UUID
    validate_only: bool
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Undone:
    """What was done to each memory, or for a dry run would be."""

    memories: list[tuple[UUID, UndoOutcome]]
    consistency_token: str


Encode: TypeAlias = Callable[[Undone], bytes]


@dataclass(frozen=True, slots=True)
class _Written:
    """What a write did, by its audit event. created: the revision that each new memory had afterwards."""

    event: AuditEvent
    scope_id: UUID
    created: dict[UUID, int]
    restated: dict[UUID, int]
    """How many times the write itself restated a memory."""
    replaced: dict[UUID, UUID]
    """A memory that was there before, and the one of the write that replaced it."""


async def undo_write(services: Services, context: CallContext, command: UndoCommand, encode: Encode) -> bytes:
    """Take back a write, or answer what was answered before for the same request id.

    Raises WriteNotFound, and PermissionDenied when something that it stored is trusted more than the
    credential may say, unless the credential wrote it or reviews; on any error nothing is changed.
    """
    services = await services.with_policy(context.tenant_id)
    tenant_key = await services.keys.tenant(context.tenant_id)
    mark = RequestMark.of(tenant_key, context.principal, command.request_id, METHOD, command.payload)

    async def attempt(epochs: Epochs) -> bytes:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            earlier = await _earlier(services, context, work, mark)
            if earlier is not None:
                return earlier
            return await _undo(services, context, work, tenant_key, mark, command, encode, epochs)

    with memory_span(names.OP_UPDATE_MEMORY, store_id=str(context.tenant_id)):
        response = await repeated(attempt)
    if not command.validate_only:
        services.on_recorded(context.tenant_id)
    return response


async def _earlier(
    services: Services, context: CallContext, work: UnitOfWork, mark: RequestMark | None
) -> bytes | None:
    """The stored answer; its scope is not known before, since the write may be forgotten by now."""
    if mark is None:
        return None
    row = await work.fetch_one("idempotency_read", request_id=mark.request_id)
    if row is None:
        return None
    key = None
    if row["scope_id"] is not None:
        key = await reading_key(services.keys, context.tenant_id, row["scope_id"])
    return stored_response(row, mark, key)


async def _undo(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    tenant_key: TenantKey,
    mark: RequestMark | None,
    command: UndoCommand,
    encode: Encode,
    epochs: Epochs,
) -> bytes:
    now = services.clock()
    written = _written(
        tenant_key,
        context,
        command.write_request_id,
        await write_of_request(work, command.write_request_id),
        now,
    )
    scope_id = written.scope_id
    key = await writing_key(services.keys, work.tenant_id, scope_id, epochs.get(scope_id))
    row = await locked_existing(work, key, scope_id)
    label = read_label(key, row)
    view = await view_of(services, context)
    present = await _present(work, context, key, command.write_request_id, written)
    # An erased scope has no label any more, and no memory to be looked at.
    if not all(lets_change(view, context, row.kind, label or "", one) for one in present.values()):
        raise WriteNotFound(str(command.write_request_id))
    archived = _archived(context, written, present, now)
    consent = consent_of(row, await services.settings.of(work.tenant_id))
    restored = await _restored(work, key, written, present, archived, consent, now)
    outcomes = _outcomes(written, archived, {before.memory_id for before, _ in restored})
    response = encode(Undone(outcomes, issue_token(tenant_key, services.instance, now)))
    if command.validate_only:
        return response
    changed = [pair for pair in [*archived.values(), *restored] if pair[0] is not pair[1]]
    if changed:
        change = ScopeChange(key, work.tenant_id, row)
        frequencies = {after.memory_id: await frequencies_of(key, after) for _, after in restored}
        await change.change(work, changed, frequencies)
        await forget_notes(work, list(archived))
        await change.close(work, now)
    await _record(
        services,
        context,
        work,
        tenant_key,
        key,
        mark,
        command,
        written,
        [after for _, after in changed],
        response,
        now,
    )
    return response


async def _record(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    tenant_key: TenantKey,
    key: ScopeKey,
    mark: RequestMark | None,
    command: UndoCommand,
    written: _Written,
    changed: Sequence[Revision],
    response: bytes,
    now: datetime,
) -> None:
    named = [one.memory_id for one in changed]
    await services.trail.record(
        work,
        tenant_key,
        context,
        AuditAction.UNDO_WRITE,
        now=now,
        scope_id=written.scope_id,
        agent=written.event.agent,
        session=written.event.session,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=named,
        details=corrected_details(changed, str(command.write_request_id)),
    )
    await remember(work, mark, response, scope_id=written.scope_id, key=key, memory_ids=named, now=now)


def _written(
    key: TenantKey, context: CallContext, request_id: UUID, row: Row | None, now: datetime
) -> _Written:
    """What the write did. Raises WriteNotFound, and IntegrityViolation when its event was changed."""
    action = _WRITES.get(row["method"]) if row is not None else None
    if (
        row is None
        or action is None
        or row["write_scope"] is None
        or not in_reach(context, key, row["write_scope"])
        or not agent_in_reach(context, row["agent"])
        or row["create_time"] < now - WINDOW
    ):
        raise WriteNotFound(str(request_id))
    try:
        event = open_event(key, row)
    except EventForged:
        raise IntegrityViolation() from None
    said = (event.request_id, event.scope_id, event.action, event.outcome)
    if said != (str(request_id), row["write_scope"], action, AuditOutcome.OK):
        raise IntegrityViolation()
    created: dict[UUID, int] = {}
    restated: dict[UUID, int] = {}
    replaced: dict[UUID, UUID] = {}
    for item in _items(event):
        if not item["memory_id"]:
            continue
        memory_id = UUID(item["memory_id"])
        # What waits and is said again is told with its state: the first time as new, then as restated.
        if item["outcome"] in _CREATED and memory_id not in created:
            created[memory_id] = item["revision"]
        elif item["outcome"] in _CREATED or item["outcome"] == WriteOutcome.REINFORCED:
            restated[memory_id] = restated.get(memory_id, 0) + 1
        if item["superseded_memory_id"]:
            replaced[UUID(item["superseded_memory_id"])] = memory_id
    replaced = {old: new for old, new in replaced.items() if old not in created}
    return _Written(event, row["write_scope"], created, restated, replaced)


def _items(event: AuditEvent) -> Sequence[Mapping[str, Any]]:
    if event.action is AuditAction.SUPERSEDE:
        return [event.details["memory_superseded"]["successor"]]
    items: Sequence[Mapping[str, Any]] = event.details["memory_written"]["items"]
    return items


async def _present(
    work: UnitOfWork, context: CallContext, key: ScopeKey, request_id: UUID, written: _Written
) -> dict[UUID, Revision]:
    """The memories of the write as they are now, locked."""
    found: dict[UUID, Revision] = {}
    for revision, contradicted in await lock_memories(
        work, [*{*written.created, *written.replaced, *written.restated}]
    ):
        if not agent_in_reach(context, revision.agent):
            raise WriteNotFound(str(request_id))
        if revision.memory_id not in written.created and revision.memory_id not in written.replaced:
            continue
        if contradicted or not is_genuine(key, work.tenant_id, revision):
            raise IntegrityViolation(str(revision.memory_id))
        found[revision.memory_id] = revision
    return found


def _outcomes(
    written: _Written, archived: Collection[UUID], restored: Collection[UUID]
) -> list[tuple[UUID, UndoOutcome]]:
    """What becomes of each memory that the write created, restated or replaced."""
    return [
        (
            memory_id,
            UndoOutcome.ARCHIVED
            if memory_id in archived
            else UndoOutcome.RESTORED
            if memory_id in restored
            else UndoOutcome.LEFT,
        )
        for memory_id in dict.fromkeys([*written.created, *written.restated, *written.replaced])
    ]


def _archived(
    context: CallContext, written: _Written, present: Mapping[UUID, Revision], now: datetime
) -> dict[UUID, tuple[Revision, Revision]]:
    """What the write created and still stands as it left it: before and after being ARCHIVED.

    Raises PermissionDenied.
    """
    pairs: dict[UUID, tuple[Revision, Revision]] = {}
    for memory_id, revision in written.created.items():
        current = present.get(memory_id)
        if (
            current is None
            or current.revision != revision
            or current.reinforce_count != written.restated.get(memory_id, 0)
        ):
            continue
        if not may_end(context, current):
            raise PermissionDenied(Permission.REVIEW.value)
        if current.state is MemoryState.ARCHIVED:
            pairs[memory_id] = (current, current)
            continue
        pairs[memory_id] = (
            current,
            replace(
                current,
                revision=current.revision + 1,
                state=MemoryState.ARCHIVED,
                update_time=max(now, current.update_time),
            ),
        )
    return pairs


async def _restored(
    work: UnitOfWork,
    key: ScopeKey,
    written: _Written,
    present: Mapping[UUID, Revision],
    archived: Mapping[UUID, tuple[Revision, Revision]],
    consent: Consent,
    now: datetime,
) -> list[tuple[Revision, Revision]]:
    """What the write replaced and can be live again, before and after."""
    pairs: list[tuple[Revision, Revision]] = []
    for memory_id, by in written.replaced.items():
        current = present.get(memory_id)
        if current is None or by not in archived or current.superseded_by != by:
            continue
        pair = await _put_back(work, key, current, consent, archived, now)
        if pair is not None:
            pairs.append(pair)
    return pairs


async def _put_back(
    work: UnitOfWork,
    key: ScopeKey,
    current: Revision,
    consent: Consent,
    archived: Mapping[UUID, tuple[Revision, Revision]],
    now: datetime,
) -> tuple[Revision, Revision] | None:
    """A replaced memory before and after it is live again; None when its place was taken meanwhile, or the
    subject's consent does not cover it."""
    wanted = await revision_to_restore(work, key, current, None)
    if wanted is None or consent_refusal(consent, current) or consent_refusal(consent, wanted):
        return None
    try:
        place = await place_of(work, key, current, now, without=archived.keys())
    except SlotConflict:
        return None
    if place.live is not None:
        return None
    return (
        current,
        replace(
            wanted,
            revision=current.revision + 1,
            supersedes=current.supersedes,
            superseded_by=None,
            reinforce_count=current.reinforce_count,
            reinforce_time=current.reinforce_time,
            update_time=place.taken,
        ),
    )
