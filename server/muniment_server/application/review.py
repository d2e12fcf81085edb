"""DecideReview: approved, edited or rejected by a person."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.content import Content
from muniment_server.domain.errors import (
    ContentRefused,
    InvalidRequest,
    PermissionDenied,
    ReviewNotPending,
    RevisionConflict,
    SourceNotAllowed,
)
from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import (
    EmbeddingState,
    Memory,
    MemoryState,
    NewMemory,
    Provenance,
    Revision,
    TrustLevel,
)
from muniment_server.domain.statement import statement_form
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.indexing import IndexTerms
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_memory
from muniment_server.storage.reviews import forget_notes
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .batch import item_vectors
from .consistency import issue_token
from .correct import check_consent
from .gating import screen
from .idempotency import RequestMark, remember
from .judging import MERGE
from .locating import Held, check_etag, held_memory
from .place import Place, frequencies_of, place_of
from .preparing import analyse, check_items, turn_of, weakest
from .repeating import Epochs, repeated
from .review_notes import is_waiting, note_review, noted_rule
from .sealing import ScopeChange, encrypt_content, open_content
from .services import Services
from .vectors import ItemVector
from .views import to_memory

METHOD = "DecideReview"


class ReviewDecision(IntEnum):
    """What a reviewer decides; the contract's numbers."""

    APPROVE = 1
    EDIT = 2
    REJECT = 3


@dataclass(frozen=True, slots=True)
class DecideCommand:
    """A decision. `content` for EDIT only. `trust` None: the memory keeps
    its trust, an edited one as far as the reviewer may give it."""

    memory_id: UUID
    etag: str
    decision: ReviewDecision
    content: str
    trust: TrustLevel | None
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The memory as it is now, and the one that gave way to it."""

    memory: Memory
    superseded: UUID | None
    consistency_token: str


Encode: TypeAlias = Callable[[Reviewed], bytes]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A new text after the gates, for a memory at one revision."""

    revision: int
    screened: Screened
    terms: IndexTerms
    vector: ItemVector


async def decide(services: Services, context: CallContext, command: DecideCommand, encode: Encode) -> bytes:
    """Decide a review, or answer what was answered before for the same request id.

    Raises ReviewNotPending, RevisionConflict, MemoryNotFound, MemoryErased, SlotConflict, ContentRefused
    (by the gates for a new text, or by the subject's consent), InvalidRequest, and PermissionDenied when
    what the memory would replace is trusted more than the reviewer may say, or hidden by the agent's view;
    then nothing is changed.
    """
    _check(command)
    services = await services.with_policy(context.tenant_id)
    mark = RequestMark.of(
        await services.keys.tenant(context.tenant_id),
        context.principal,
        command.request_id,
        METHOD,
        command.payload,
    )
    edit: _Edit | None = None
    if command.decision is ReviewDecision.EDIT:
        found = await _edited(services, context, mark, command)
        if isinstance(found, bytes):
            return found
        edit = found

    async def attempt(epochs: Epochs) -> bytes:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            held = await held_memory(services, context, work, mark, command.memory_id, epochs)
            if isinstance(held, bytes):
                return held
            return await _decide(services, context, work, mark, command, held, edit, encode)

    with memory_span(
        names.OP_UPDATE_MEMORY, store_id=str(context.tenant_id), record_id=str(command.memory_id)
    ):
        response = await repeated(attempt)
    services.on_recorded(context.tenant_id)
    return response


def _check(command: DecideCommand) -> None:
    if (command.decision is ReviewDecision.EDIT) != bool(command.content):
        said = "must be set" if command.decision is ReviewDecision.EDIT else "belongs to an edit only"
        raise InvalidRequest.of("content", "review.content", said)


def _check_waiting(held: Held, command: DecideCommand) -> None:
    if not is_waiting(held.revision.state):
        raise ReviewNotPending(str(held.revision.memory_id), held.revision.state.name)
    check_etag(held.tenant_key, command.etag, held.revision)


# --- a new text ---------------------------------------------------------------------------------


async def _edited(
    services: Services, context: CallContext, mark: RequestMark | None, command: DecideCommand
) -> _Edit | bytes:
    """The new text with all that is made of it without a lock; or the answer to the same request before."""

    async def look(epochs: Epochs) -> tuple[Held, Content] | bytes:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            held = await held_memory(services, context, work, mark, command.memory_id, epochs)
            if isinstance(held, bytes):
                return held
            _check_waiting(held, command)
            return held, open_content(held.key, held.revision)

    looked = await repeated(look)
    if isinstance(looked, bytes):
        return looked
    held, before = looked
    current = held.revision
    item = NewMemory(
        content=command.content,
        kind=current.kind,
        slot=current.slot,
        speaker=before.speaker,
        turn_number=current.turn_number,
        tags=current.tags,
        properties=current.properties,
        attributes=before.attributes,
        force=True,
    )
    check_items([item], "")
    try:
        (screened,) = await screen(
            services,
            context.tenant_id,
            [item],
            [_provenance(context, current, _trust(context, command, current))],
            corrects=True,
        )
    except ContentRefused as refusal:
        told = refusal.metadata
        raise ContentRefused("content", told["gate"], told["rule"], 0) from None
    if screened.verdict is Verdict.DROP:
        raise ContentRefused("content", screened.gate, screened.rule, 0)
    (terms,) = await analyse([screened.item])
    (vector,) = await item_vectors(services, context, [screened.item])
    return _Edit(current.revision, screened, terms.with_slot(current.slot), vector)


def _provenance(context: CallContext, current: Revision, trust: TrustLevel) -> Provenance:
    """Of a text that the reviewer wrote: no source is claimed for it that the credential may not claim.

    Raises SourceNotAllowed for a credential that may claim none.
    """
    allowed = context.principal.source_types
    source = current.source_type if current.source_type in allowed else weakest(allowed)
    if source is None:
        raise SourceNotAllowed(current.source_type.name)
    return Provenance(
        source_type=source,
        trust=trust,
        confidence=current.confidence,
        session=current.origin_session,
        source_ref=current.source_ref,
        author=str(context.principal.credential_id),
        author_agent=context.principal.agent,
    )


def _rewritten(key: ScopeKey, current: Revision, edit: _Edit) -> tuple[Revision, dict[int, int]]:
    """The memory with its new text, and the frequencies of its tokens."""
    item, number = edit.screened.item, current.revision + 1
    hashes = key.token_hashes(list(edit.terms.frequencies))
    frequencies = dict(zip(hashes, edit.terms.frequencies.values(), strict=True))
    form = statement_form(item.content, item.speaker, turn_of(current.origin_session, item.turn_number))
    provenance = edit.screened.provenance
    return (
        replace(
            current,
            content_revision=number,
            trust=provenance.trust,
            source_type=provenance.source_type,
            author=provenance.author,
            author_agent=provenance.author_agent,
            statement_hash=key.statement_hash(form),
            tokens=tuple(frequencies),
            term_count=edit.terms.length,
            analyzer=ANALYZER_VERSION,
            content_ct=encrypt_content(
                key,
                current.memory_id,
                item.content,
                item.attributes,
                item.speaker,
                number,
                masked=item.masked,
            ),
        ),
        frequencies,
    )


# --- deciding -----------------------------------------------------------------------------------


def _trust(context: CallContext, command: DecideCommand, current: Revision) -> TrustLevel:
    """What the reviewer vouches for: another's text as it is, an own one no higher than an own memory."""
    if command.trust is None and command.decision is not ReviewDecision.EDIT:
        return current.trust
    return min(command.trust or current.trust, context.principal.max_trust)


async def _decide(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    mark: RequestMark | None,
    command: DecideCommand,
    held: Held,
    edit: _Edit | None,
    encode: Encode,
) -> bytes:
    current, key = held.revision, held.key
    _check_waiting(held, command)
    if edit is not None and edit.revision != current.revision:
        raise RevisionConflict(str(current.memory_id), current.revision)
    now = services.clock()
    change = ScopeChange(key, work.tenant_id, held.row)
    if command.decision is ReviewDecision.REJECT:
        after, superseded = rejected(current, now), None
        await change.change(work, [(current, after)])
    else:
        after, superseded = await _accept(context, work, command, held, edit, change, now)
        if edit is not None:
            await change.embed(work, [(after, edit.vector.made)])
            if edit.vector.state is EmbeddingState.PENDING:
                services.on_waiting(work.tenant_id, after.scope_id, 1)
    if is_waiting(after.state) and edit is not None:
        await note_review(work, key, after, edit.screened.rule)
    else:
        await forget_notes(work, [after.memory_id])
    await change.close(work, now)
    return await _finish(services, context, work, mark, command, held, after, superseded, encode, now)


async def _accept(
    context: CallContext,
    work: UnitOfWork,
    command: DecideCommand,
    held: Held,
    edit: _Edit | None,
    change: ScopeChange,
    now: datetime,
) -> tuple[Revision, UUID | None]:
    """Make the memory live, in the place of what it replaces; or, when the gates find the new text
    suspicious, keep it waiting with that text."""
    current, key = held.revision, held.key
    check_consent(held)
    if edit is None:
        text = replace(current, trust=_trust(context, command, current))
        frequencies = dict(await frequencies_of(key, current))
    else:
        text, frequencies = _rewritten(key, current, edit)
    if await _is_without_its_pair(work, key, current):
        text = replace(text, supersedes=None)
    suspicious = edit is not None and edit.screened.verdict is Verdict.QUARANTINE
    place = Place(None, max(now, current.update_time))
    if not suspicious:
        place = await place_of(work, key, text, now, tells=lambda other: held.lets_change(context, other))
    live = place.live
    if live is not None and (live.trust > context.principal.max_trust or not held.lets_change(context, live)):
        raise PermissionDenied(Permission.REVIEW.value)
    after = replace(
        text,
        revision=current.revision + 1,
        state=MemoryState.QUARANTINED if suspicious else MemoryState.ACTIVE,
        supersedes=live.memory_id if live is not None else text.supersedes,
        superseded_by=None,
        update_time=place.taken,
    )
    pairs = [*place.retired(after), (current, after)]
    await change.change(work, pairs, {after.memory_id: frequencies})
    return after, live.memory_id if live is not None else None


async def _is_without_its_pair(work: UnitOfWork, key: ScopeKey, current: Revision) -> bool:
    """Whether a judge proposed a merge with a memory that is not live any more.

    It said nothing about whatever came in that one's place, so nothing gives way. A correction that somebody
    asked for is another matter: it is about what stands at the end of the line.
    """
    if current.supersedes is None or await noted_rule(work, key, current.memory_id) != MERGE:
        return False
    found = await lock_memory(work, current.supersedes)
    return found is None or found[0].state is not MemoryState.ACTIVE


def rejected(current: Revision, now: datetime) -> Revision:
    """A waiting memory, rejected."""
    return replace(
        current,
        revision=current.revision + 1,
        state=MemoryState.ARCHIVED,
        update_time=max(now, current.update_time),
    )


def decided_details(after: Revision, decision: ReviewDecision, superseded: UUID | None) -> dict[str, Any]:
    """A decision as the audit tells it."""
    return {
        "review_decided": {
            "memory_id": str(after.memory_id),
            "revision": after.revision,
            "decision": int(decision),
            "superseded_memory_id": str(superseded) if superseded else None,
            "trust": int(after.trust),
        }
    }


async def _finish(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    mark: RequestMark | None,
    command: DecideCommand,
    held: Held,
    after: Revision,
    superseded: UUID | None,
    encode: Encode,
    now: datetime,
) -> bytes:
    memory = to_memory(held.tenant_key, after, held.row.kind, held.label)
    response = encode(Reviewed(memory, superseded, issue_token(held.tenant_key, services.instance, now)))
    named = [after.memory_id, *([superseded] if superseded else [])]
    await services.trail.record(
        work,
        held.tenant_key,
        context,
        AuditAction.DECIDE_REVIEW,
        now=now,
        scope_id=after.scope_id,
        agent=after.agent,
        session=after.session,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=named,
        details=decided_details(after, command.decision, superseded),
    )
    await remember(work, mark, response, scope_id=after.scope_id, key=held.key, memory_ids=named, now=now)
    return response
