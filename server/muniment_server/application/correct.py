"""Restore and Retract: a memory live again, and one that is no longer true."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.consent import Consent
from muniment_server.domain.errors import (
    ContentRefused,
    IntegrityViolation,
    InvalidRequest,
    MemoryNotRestorable,
    PermissionDenied,
)
from muniment_server.domain.model import Memory, MemoryState, Revision
from muniment_server.domain.write_plan import LESS_TRUSTED
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import read_revisions
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .consenting import consent_of
from .consistency import issue_token
from .idempotency import RequestMark, remember
from .locating import Held, check_active, check_etag, held_memory
from .place import frequencies_of, place_of
from .repeating import Epochs, repeated
from .review_notes import note_review
from .sealing import ScopeChange, is_genuine
from .services import Services
from .views import to_memory

RESTORE = "Restore"
RETRACT = "Retract"
_PAGE = 50
_WAITING = (MemoryState.PENDING, MemoryState.QUARANTINED)


@dataclass(frozen=True, slots=True)
class RestoreCommand:
    """`etag` empty: whatever the current revision is. `revision` None: the last one that was ACTIVE."""

    memory_id: UUID
    etag: str
    revision: int | None
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class RetractCommand:
    """`etag` empty: whatever the current revision is. `end` None: now."""

    memory_id: UUID
    etag: str
    end: datetime | None
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Corrected:
    """The memory as it is now, and the one that gave way to it."""

    memory: Memory
    superseded: UUID | None
    consistency_token: str


Encode: TypeAlias = Callable[[Corrected], bytes]


def may_end(context: CallContext, revision: Revision) -> bool:
    """Whether a credential may take away a memory: it may give that much trust, wrote it, or reviews."""
    principal = context.principal
    return (
        revision.trust <= principal.max_trust
        or revision.author == str(principal.credential_id)
        or principal.allows(Permission.REVIEW)
    )


def consent_refusal(consent: Consent, revision: Revision) -> str | None:
    """The rule by which a subject's consent does not cover a memory with the provenance of this revision."""
    return consent.refusal(revision.kind, (revision.session, revision.origin_session))


def check_consent(held: Held, revision: Revision | None = None) -> None:
    """Raise ContentRefused when the subject's consent does not cover the memory, or an earlier revision of it
    that would come back."""
    rule = consent_refusal(consent_of(held.row, held.settings), revision or held.revision)
    if rule is not None:
        raise ContentRefused("memory_id", "consent", rule, 0)


def corrected_details(revisions: Sequence[Revision], write_request_id: str | None = None) -> dict[str, Any]:
    """Changed memories as the audit tells them."""
    return {
        "memories_corrected": {
            "memories": [
                {
                    "memory_id": str(one.memory_id),
                    "revision": one.revision,
                    "state": int(one.state),
                }
                for one in revisions
            ],
            "write_request_id": write_request_id,
        }
    }


@dataclass(frozen=True, slots=True)
class _Done:
    """What a correction queued: the memory afterwards, all that changed, and what gave way."""

    after: Revision
    changed: Sequence[Revision]
    superseded: UUID | None


async def restore(services: Services, context: CallContext, command: RestoreCommand, encode: Encode) -> bytes:
    """Make a memory live again, or answer what was answered before for the same request id.

    A memory with less trust than what is live in its place, or with more than the credential may give, or in
    the place of one that the agent's view hides, becomes PENDING instead: a reviewer decides. Raises
    MemoryNotRestorable, ContentRefused (consent), SlotConflict, MemoryNotFound, MemoryErased,
    RevisionConflict; on any error nothing is changed.
    """

    async def change(work: UnitOfWork, held: Held, now: datetime) -> _Done:
        return await _restored(context, work, command, held, now)

    return await _correct(services, context, command, RESTORE, AuditAction.RESTORE_MEMORY, change, encode)


async def retract(services: Services, context: CallContext, command: RetractCommand, encode: Encode) -> bytes:
    """End a memory, or answer what was answered before for the same request id.

    Raises MemoryNotFound, MemoryErased, MemorySuperseded, MemoryNotActive, RevisionConflict, InvalidRequest
    for an end that does not lie after the start, and PermissionDenied for a memory that is trusted more
    than the credential may say, unless it wrote the memory or reviews; on any error nothing is changed.
    """

    async def change(work: UnitOfWork, held: Held, now: datetime) -> _Done:
        return await _retracted(context, work, command, held, now)

    return await _correct(services, context, command, RETRACT, AuditAction.RETRACT, change, encode)


async def _correct(
    services: Services,
    context: CallContext,
    command: RestoreCommand | RetractCommand,
    method: str,
    action: AuditAction,
    change: Callable[[UnitOfWork, Held, datetime], Awaitable[_Done]],
    encode: Encode,
) -> bytes:
    """Lock the memory, change it, record it; once for a request id."""
    services = await services.with_policy(context.tenant_id)
    mark = RequestMark.of(
        await services.keys.tenant(context.tenant_id),
        context.principal,
        command.request_id,
        method,
        command.payload,
    )

    async def attempt(epochs: Epochs) -> bytes:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            held = await held_memory(services, context, work, mark, command.memory_id, epochs)
            if isinstance(held, bytes):
                return held
            now = services.clock()
            done = await change(work, held, now)
            return await _record(services, context, work, mark, held, action, done, encode, now)

    with memory_span(
        names.OP_UPDATE_MEMORY, store_id=str(context.tenant_id), record_id=str(command.memory_id)
    ):
        response = await repeated(attempt)
    services.on_recorded(context.tenant_id)
    return response


async def _restored(
    context: CallContext, work: UnitOfWork, command: RestoreCommand, held: Held, now: datetime
) -> _Done:
    current, key = held.revision, held.key
    wanted = await _wanted(work, command, held)
    text = replace(wanted, supersedes=current.supersedes)
    place = await place_of(
        work,
        key,
        replace(text, update_time=current.update_time),
        now,
        tells=lambda other: held.lets_change(context, other),
    )
    live = place.live
    waits = wanted.trust > context.principal.max_trust or (
        live is not None and (wanted.trust < live.trust or not held.lets_change(context, live))
    )
    after = replace(
        text,
        revision=current.revision + 1,
        state=MemoryState.PENDING if waits else MemoryState.ACTIVE,
        supersedes=live.memory_id if live is not None else current.supersedes,
        superseded_by=None,
        reinforce_count=current.reinforce_count,
        reinforce_time=current.reinforce_time,
        update_time=place.taken,
    )
    change = ScopeChange(key, work.tenant_id, held.row)
    retired = [] if waits else place.retired(after)
    changed = await change.change(
        work,
        [*retired, (current, after)],
        {} if waits else {after.memory_id: await frequencies_of(key, after)},
    )
    if waits:
        await note_review(work, key, after, LESS_TRUSTED)
    await change.close(work, now)
    superseded = live.memory_id if retired and live is not None else None
    return _Done(after, [new for _, new in reversed(changed)], superseded)


async def _wanted(work: UnitOfWork, command: RestoreCommand, held: Held) -> Revision:
    """The revision to put back. Raises MemoryNotRestorable, RevisionConflict, ContentRefused."""
    current = held.revision
    if current.state is MemoryState.ACTIVE or current.state in _WAITING:
        raise MemoryNotRestorable(str(current.memory_id), current.state.name)
    check_etag(held.tenant_key, command.etag, current)
    check_consent(held)
    wanted = await revision_to_restore(work, held.key, current, command.revision)
    if wanted is None:
        raise MemoryNotRestorable(str(current.memory_id), current.state.name)
    # Who said it again may have done so in another session.
    check_consent(held, wanted)
    return wanted


async def revision_to_restore(
    work: UnitOfWork, key: ScopeKey, current: Revision, number: int | None
) -> Revision | None:
    """The revision with this number, or the last one that was ACTIVE; None where there is no such one.

    What was ARCHIVED from the start was taken in as such, past the same gates. What a reviewer rejected never
    comes back, in none of its revisions. Raises IntegrityViolation when the history is not what the service
    stored.
    """
    if current.revision == 1 and current.state is MemoryState.ARCHIVED and number in (None, 1):
        return current
    found = await _live_revision(work, key, current, number)
    if found is None or found.content_revision != current.content_revision:
        return found
    # The same text, whose index terms another version of the analysis may have made meanwhile.
    return replace(found, tokens=current.tokens, term_count=current.term_count, analyzer=current.analyzer)


async def _live_revision(
    work: UnitOfWork, key: ScopeKey, current: Revision, number: int | None
) -> Revision | None:
    later = current
    while later.revision > 1:
        page = await read_revisions(work, current.memory_id, later.revision, _PAGE)
        if not page:
            raise IntegrityViolation(str(current.memory_id))
        for revision in page:
            # A row left out or changed could be the one that tells of a rejection.
            if revision.revision != later.revision - 1 or not is_genuine(key, work.tenant_id, revision):
                raise IntegrityViolation(str(current.memory_id))
            if revision.state in _WAITING and later.state is MemoryState.ARCHIVED:
                return None
            archived = revision.revision == 1 and revision.state is MemoryState.ARCHIVED
            restorable = revision.state is MemoryState.ACTIVE or archived
            if number in (None, revision.revision) and (restorable or number is not None):
                return revision if restorable else None
            later = revision
    return None


async def _retracted(
    context: CallContext, work: UnitOfWork, command: RetractCommand, held: Held, now: datetime
) -> _Done:
    current = held.revision
    check_active(current)
    check_etag(held.tenant_key, command.etag, current)
    if not may_end(context, current):
        raise PermissionDenied(Permission.REVIEW.value)
    after = replace(
        current,
        revision=current.revision + 1,
        state=MemoryState.ARCHIVED,
        valid_to=_end(current, command.end, now),
        update_time=max(now, current.update_time),
    )
    change = ScopeChange(held.key, work.tenant_id, held.row)
    await change.change(work, [(current, after)])
    await change.close(work, now)
    return _Done(after, [after], None)


def _end(current: Revision, given: datetime | None, now: datetime) -> datetime:
    start = current.valid_from
    if given is not None:
        if start is not None and given <= start:
            raise InvalidRequest.of("end_time", "validity.order", "must lie after the start of its validity")
        return given
    end = now if current.valid_to is None else min(now, current.valid_to)
    return end if start is None else max(end, start)


async def _record(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    mark: RequestMark | None,
    held: Held,
    action: AuditAction,
    done: _Done,
    encode: Encode,
    now: datetime,
) -> bytes:
    """Queue the event and the answer, which is returned."""
    after = done.after
    memory = to_memory(held.tenant_key, after, held.row.kind, held.label)
    token = issue_token(held.tenant_key, services.instance, now)
    response = encode(Corrected(memory, done.superseded, token))
    named = [one.memory_id for one in done.changed]
    event = await services.trail.record(
        work,
        held.tenant_key,
        context,
        action,
        now=now,
        scope_id=after.scope_id,
        agent=after.agent,
        session=after.session,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=named,
        details=corrected_details(done.changed),
    )
    await remember(
        work,
        mark,
        response,
        scope_id=after.scope_id,
        key=held.key,
        memory_ids=named,
        now=now,
        event_id=event.event_id,
    )
    return response
