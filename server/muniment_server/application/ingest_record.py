"""What an ingest leaves behind beside its turns: its record, its place in the queue, and the event."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.extraction.candidate import (
    ExtractionMode,
    ExtractorKind,
    Fallback,
    IngestState,
    Turn,
)
from muniment_server.domain.model import Scope, WriteOutcome
from muniment_server.domain.settings import TenantSettings
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import (
    Conversation,
    IngestRow,
    TurnRow,
    hasten,
    insert_ingest,
    note_turns,
    put_conversation,
    read_ingests,
    update_ingest,
    waiting_ingests,
)

from .admission import GATE as CONSENT
from .applying import Applied
from .idempotency import RequestMark
from .ingest_body import IngestBody, PendingTurn, Writer, open_body, turn_digest
from .services import Services

_MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class IngestCommand:
    """scope: with the session. extractor, ttl: None for the tenant's setting. method, payload: by which a
    repeated request id is compared."""

    scope: Scope
    turns: Sequence[Turn]
    mode: ExtractionMode
    extractor: ExtractorKind | None
    end_session: bool
    ttl: timedelta | None
    request_id: UUID | None
    payload: bytes
    method: str = "Ingest"


@dataclass(frozen=True, slots=True)
class TakenTurn:
    """What became of one turn. outcome: None for one that was there already."""

    number: int
    memory_id: UUID | None
    already_known: bool
    outcome: WriteOutcome | None


@dataclass(frozen=True, slots=True)
class Taken:
    """What the answer says of the turns; how far the ingest has come is asked apart.

    own: whether this very call recorded the ingest; otherwise an earlier one did.
    """

    ingest_id: UUID
    own: bool
    turns: list[TakenTurn]
    consistency_token: str


Encode: TypeAlias = Callable[[Taken], bytes]
"""Makes the bytes that are stored for the request id and answered again on a repetition."""


@dataclass(frozen=True, slots=True)
class Call:
    """What stays the same in every attempt. target: where turns and candidates are written: the session is
    told by their provenance, it does not narrow them. ingest_id: given for the later parts of a stream."""

    services: Services
    context: CallContext
    command: IngestCommand
    target: Scope
    scope_id: UUID
    session: str
    conversation: UUID
    tenant_key: TenantKey
    settings: TenantSettings
    extractor: ExtractorKind
    mark: RequestMark | None
    ingest_id: UUID
    further: bool
    encode: Encode


async def elsewhere(
    work: UnitOfWork,
    call: Call,
    seen: Mapping[int, TurnRow],
    fresh: Sequence[int],
    pending: Sequence[PendingTurn],
    now: datetime,
) -> UUID | None:
    """The ingest that tells of a request that brought nothing new; None when there is something to record."""
    if fresh or pending:
        return None
    if call.command.end_session:
        await hasten(work, call.conversation, now)
    if call.further:
        return call.ingest_id
    last = max(seen.values(), key=lambda row: row.ingest_id, default=None)
    if last is not None:
        return last.ingest_id if last.state is not None else None
    waiting = await waiting_ingests(work, call.conversation, _MOST_WAITING)
    return waiting[-1].ingest_id if waiting else None


async def record_ingest(
    work: UnitOfWork,
    call: Call,
    key: ScopeKey,
    seen: Mapping[int, TurnRow],
    done: Applied | None,
    turns: Sequence[TakenTurn],
    pending: Sequence[PendingTurn],
    now: datetime,
) -> None:
    """Queue the ingest, its turns, when the conversation is due, and the event."""
    command = call.command
    stored = [turn for turn in turns if turn.memory_id is not None]
    state = IngestState.STORED if command.mode is ExtractionMode.NONE else IngestState.DONE
    if pending:
        state = IngestState.QUEUED
    elif not stored and _without_consent(done):
        state = IngestState.REFUSED
    conversation = Conversation(call.conversation, call.scope_id, call.target.agent, call.session)
    if call.further:
        # A worker locks the conversation before its ingests, and so does this.
        await put_conversation(work, conversation, None, now)
    state = await _put_ingest(work, call, key, state, pending, now)
    if state is not IngestState.REFUSED:
        # Whoever erases the session finds the conversation, whether anything waits in it or not.
        await put_conversation(work, conversation, _due(call, now) if pending else None, now)
        if command.end_session:
            await hasten(work, call.conversation, now)
    by_number = {turn.number: turn for turn in command.turns}
    again = {one.number for one in pending} & seen.keys()
    await note_turns(
        work,
        call.conversation,
        call.scope_id,
        call.ingest_id,
        [
            (
                turn.number,
                turn.memory_id,
                turn_digest(key, call.conversation, by_number[turn.number], turn.memory_id),
            )
            for turn in stored
            if not turn.already_known or turn.number in again
        ],
    )
    await call.services.trail.record(
        work,
        call.tenant_key,
        call.context,
        AuditAction.INGEST,
        now=now,
        scope_id=call.scope_id,
        agent=call.target.agent,
        session=call.session,
        request_id=str(call.mark.request_id) if call.mark else None,
        memory_ids=done.touched if done else [],
        source_types=done.source_types if done else frozenset(),
        details=ingested_details(call.ingest_id, state, done.details if done else []),
    )


def ingested_details(
    ingest_id: UUID,
    state: IngestState,
    items: Sequence[Mapping[str, Any]],
    extractor: ExtractorKind | None = None,
    fallback: Fallback | None = None,
) -> dict[str, Any]:
    """An ingest, or the extraction that followed, as the audit tells it."""
    return {
        "conversation_ingested": {
            "ingest_id": str(ingest_id),
            "state": int(state),
            "items": list(items),
            "extractor": int(extractor or 0),
            "fallback": int(fallback or 0),
        }
    }


async def _put_ingest(
    work: UnitOfWork,
    call: Call,
    key: ScopeKey,
    state: IngestState,
    pending: Sequence[PendingTurn],
    now: datetime,
) -> IngestState:
    """Queue the ingest's record, or the longer one of a stream under way; returns how far it is."""
    rows = await read_ingests(work, [call.ingest_id], now) if call.further else []
    if rows:
        body = open_body(key, call.ingest_id, rows[0].body_ct)
        if body.pending:
            state = IngestState.QUEUED
        elif not pending and body.state is not IngestState.REFUSED:
            state = body.state
        body = replace(body, state=state, pending=(*body.pending, *pending))
        ended = None if state is IngestState.QUEUED else now
        await update_ingest(work, call.ingest_id, int(state), body.seal(key, call.ingest_id), ended)
        return state
    body = IngestBody(
        Writer.of(call.context), call.extractor, state, call.target.agent, pending=tuple(pending)
    )
    await insert_ingest(
        work,
        IngestRow(
            ingest_id=call.ingest_id,
            scope_id=call.scope_id,
            conversation_id=call.conversation,
            key_epoch=key.epoch,
            state=int(state),
            attempts=0,
            body_ct=body.seal(key, call.ingest_id),
            create_time=now,
            end_time=None if state is IngestState.QUEUED else now,
        ),
    )
    return state


def _without_consent(done: Applied | None) -> bool:
    return done is not None and all(one.dropped and one.gate == CONSENT for one in done.judged)


def _due(call: Call, now: datetime) -> datetime:
    if call.command.end_session or call.command.mode is ExtractionMode.SYNC:
        return now
    quiet = call.services.ingest.quiet_seconds or call.settings.ingest.quiet_seconds
    return now + timedelta(seconds=quiet)
