"""Ingest: turns of a conversation kept as TURN memories, and queued to be made memories of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import (
    ContentRefused,
    InvalidRequest,
    SourceNotAllowed,
    TransactionConflict,
    TurnConflict,
    Unimplemented,
)
from muniment_server.domain.extraction.candidate import ExtractionMode, ExtractorKind, IngestState, Turn
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import ClaimedProvenance, MemoryKind, MemoryState, NewMemory, Validity
from muniment_server.domain.settings import TenantSettings
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.ingest import TurnRow, known_turns
from muniment_server.storage.memories import OpenedWrite, open_write
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .applying import Applied, apply
from .batch import Batch, candidate_keys, gathered
from .consenting import check_unheard_of
from .consistency import issue_token
from .idempotency import RequestMark, remember, stored_response
from .ingest_body import PendingTurn, conversation_id, role_source, turn_digest
from .ingest_record import Call, Encode, IngestCommand, Taken, TakenTurn, elsewhere, record_ingest
from .preparing import Prepared, check_items
from .repeating import Epochs, repeated
from .scoping import bind_scope, create_scope, usable_scope, writing_key
from .sealing import ScopeChange
from .services import Services
from .viewing import check_space

_REDO = (IngestState.FAILED, IngestState.STORED)
"""Ingests whose turns are looked at when they are taken in again."""


class _Overtaken(Exception):
    """Another call took turns of the conversation in meanwhile."""


def chosen_extractor(
    services: Services, settings: TenantSettings, asked: ExtractorKind | None
) -> ExtractorKind:
    """The extractor asked for, or the tenant's. Raises Unimplemented for one that this server does not have.

    A tenant's setting that needs a language model falls back to the rules where none is configured.
    """
    if asked is not None:
        if asked not in services.extractors:
            raise Unimplemented("extractor")
        return asked
    name = settings.ingest.extractor
    preferred = ExtractorKind[name.upper()] if name else ExtractorKind.RULES
    return preferred if preferred in services.extractors else ExtractorKind.RULES


async def ingest(
    services: Services, context: CallContext, command: IngestCommand, encode: Encode
) -> tuple[bytes, UUID]:
    """Take turns in, or answer what was answered before for the same request id.

    Returns the encoded answer, and the conversation. Raises TurnConflict, InvalidRequest, ContentRefused,
    SourceNotAllowed, PermissionDenied, Unimplemented, RequestIdPayloadMismatch, EmbedderUnavailable,
    Overloaded; on any error nothing is stored.
    """
    return await _take_in(services, context, command, None, encode)


async def ingest_part(
    services: Services, context: CallContext, command: IngestCommand, ingest_id: UUID | None
) -> tuple[Taken, UUID]:
    """Take one part of a stream in, without a request id. ingest_id: what an earlier part recorded.

    Returns what became of it, and the conversation. Raises what `ingest` raises.
    """
    taken: list[Taken] = []

    def keep(one: Taken) -> bytes:
        taken.append(one)
        return b""

    _, conversation = await _take_in(services, context, command, ingest_id, keep)
    return taken[-1], conversation


async def _take_in(
    services: Services,
    context: CallContext,
    command: IngestCommand,
    ingest_id: UUID | None,
    encode: Encode,
) -> tuple[bytes, UUID]:
    scope = bind_scope(context, command.scope)
    await check_space(services, context, scope)
    if scope.session is None:
        raise InvalidRequest.of("scope.session", "required", "must name a session")
    if not command.turns and not command.end_session:
        raise InvalidRequest.of("turns", "repeated.min_items", "must hold a turn unless end_session is set")
    settings = await services.settings.of(context.tenant_id)
    tenant_key = await services.keys.tenant(context.tenant_id)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    call = Call(
        services=services,
        context=context,
        command=command,
        target=replace(scope, session=None),
        scope_id=scope_id,
        session=scope.session,
        conversation=conversation_id(tenant_key, scope_id, scope.agent, scope.session),
        tenant_key=tenant_key,
        settings=settings,
        extractor=chosen_extractor(services, settings, command.extractor),
        mark=RequestMark.of(
            tenant_key, context.principal, command.request_id, command.method, command.payload
        ),
        ingest_id=ingest_id or new_id(),
        further=ingest_id is not None,
        encode=encode,
    )
    items = [_item(call, turn) for turn in command.turns]
    check_items(items, "turns[{}]")
    with memory_span(
        names.OP_UPSERT_MEMORY,
        store_id=str(context.tenant_id),
        record_count=len(items),
        agent=scope.agent,
        session=scope.session,
    ) as span:
        span.set(names.INGEST_ID, str(call.ingest_id))
        taken = await _attempts(call, items)
    services.on_recorded(context.tenant_id)
    if command.mode is not ExtractionMode.SYNC:
        services.on_ingested(context.tenant_id)
    return taken, call.conversation


async def _attempts(call: Call, items: Sequence[NewMemory]) -> bytes:
    services, tenant_id, scope_id = call.services, call.context.tenant_id, call.scope_id

    async def attempt(epochs: Epochs) -> bytes:
        key = await writing_key(services.keys, tenant_id, scope_id, epochs.get(scope_id))
        seen = await _seen(call, key)
        fresh = [index for index, turn in enumerate(call.command.turns) if turn.number not in seen]
        batch = await _gathered(call, items, fresh)
        try:
            return await _store(call, key, seen, fresh, batch)
        except _Overtaken:
            raise TransactionConflict from None

    return await repeated(attempt)


def _item(call: Call, turn: Turn) -> NewMemory:
    ttl = call.command.ttl or timedelta(days=call.settings.ingest.turn_days)
    return NewMemory(
        content=turn.content,
        kind=MemoryKind.TURN,
        speaker=turn.speaker,
        turn_number=turn.number,
        provenance=ClaimedProvenance(
            source_type=role_source(call.context.principal, turn.role), session=call.session
        ),
        validity=Validity(start=turn.time),
        ttl=ttl,
    )


async def _seen(call: Call, key: ScopeKey) -> dict[int, TurnRow]:
    """The turns of the request that were taken in before. Raises TurnConflict, also for one that the request
    itself has twice."""
    turns = call.command.turns
    numbers = [turn.number for turn in turns]
    if len(set(numbers)) < len(numbers):
        raise TurnConflict(next(number for number in numbers if numbers.count(number) > 1))
    async with call.services.database.transaction(
        call.context.tenant_id, timeout=call.context.remaining()
    ) as work:
        rows = await known_turns(work, call.conversation, numbers)
        if call.mark is not None and await work.fetch("idempotency_read", request_id=call.mark.request_id):
            # Answered before, or refused for another payload, whatever the turns are.
            return rows
    for turn in turns:
        row = rows.get(turn.number)
        # An empty digest: the turn was erased. It is known, and does not come back.
        if row is not None and row.digest not in (
            b"",
            turn_digest(key, call.conversation, turn, row.memory_id),
        ):
            raise TurnConflict(turn.number)
    return rows


async def _gathered(call: Call, items: Sequence[NewMemory], fresh: Sequence[int]) -> Batch | None:
    if not fresh:
        return None
    try:
        # Nothing is near to a turn: that somebody says it again is another turn.
        return await gathered(
            call.services,
            call.context,
            call.target,
            [items[index] for index in fresh],
            path="turns[{}]",
            near=False,
        )
    except ContentRefused as error:
        place = fresh[int(error.metadata["item"])]
        field = error.violations[0].path.partition("].")[2]
        raise ContentRefused(
            f"turns[{place}].{field}", error.metadata["gate"], error.metadata["rule"], place
        ) from None
    except SourceNotAllowed as error:
        place = fresh[int(error.metadata["item"])]
        raise SourceNotAllowed(error.metadata["source_type"], place) from None


async def _store(
    call: Call, key: ScopeKey, before: Mapping[int, TurnRow], fresh: Sequence[int], batch: Batch | None
) -> bytes:
    services, context = call.services, call.context
    now = services.clock()
    prepared = batch.prepared(key) if batch is not None else []
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        opened = await _open(work, call, prepared)
        if opened.scope is None:
            await check_unheard_of(work, call.tenant_key, call.scope_id)
            await create_scope(work, key, call.target, call.scope_id, now)
            opened = await _open(work, call, prepared)
        row = usable_scope(context.tenant_id, key, call.target, opened.scope)
        earlier = stored_response(opened.answer, call.mark, key)
        if earlier is not None:
            return earlier
        seen = await known_turns(work, call.conversation, [turn.number for turn in call.command.turns])
        if {number: one.digest for number, one in seen.items()} != {
            number: one.digest for number, one in before.items()
        }:
            raise _Overtaken
        done: Applied | None = None
        if batch is not None:
            change = ScopeChange(key, context.tenant_id, row)
            done = await apply(work, batch, change, prepared, opened.candidates, opened.also, now)
        turns, pending = _placed(call, seen, fresh, done)
        ingest_id = await elsewhere(work, call, seen, fresh, pending, now)
        own = ingest_id is None
        if ingest_id is None:
            ingest_id = call.ingest_id
            await record_ingest(work, call, key, seen, done, turns, pending, now)
        token = issue_token(call.tenant_key, services.instance, now)
        response = call.encode(Taken(ingest_id, own, turns, token))
        await remember(
            work,
            call.mark,
            response,
            scope_id=call.scope_id,
            key=key,
            memory_ids=[turn.memory_id for turn in turns if turn.memory_id],
            now=now,
        )
    return response


async def _open(work: UnitOfWork, call: Call, prepared: Sequence[Prepared]) -> OpenedWrite:
    hashes, slots = candidate_keys(prepared)
    return await open_write(work, call.scope_id, call.mark.request_id if call.mark else None, hashes, slots)


def _placed(
    call: Call, seen: Mapping[int, TurnRow], fresh: Sequence[int], done: Applied | None
) -> tuple[list[TakenTurn], list[PendingTurn]]:
    """What became of each turn of the request, and which of them are to be looked at."""
    results = dict(zip(fresh, done.results, strict=True)) if done else {}
    turns: list[TakenTurn] = []
    pending: list[PendingTurn] = []
    wanted = call.command.mode is not ExtractionMode.NONE
    for index, turn in enumerate(call.command.turns):
        result = results.get(index)
        if result is None:
            row = seen[turn.number]
            turns.append(TakenTurn(turn.number, row.memory_id, True, None))
            if wanted and row.memory_id is not None and row.state in _REDO:
                pending.append(PendingTurn(turn.number, turn.role, row.memory_id))
            continue
        memory = result.memory
        turns.append(TakenTurn(turn.number, memory.memory_id if memory else None, False, result.outcome))
        # What waits for a person or in quarantine is no source of memories.
        if wanted and memory is not None and memory.state is MemoryState.ACTIVE:
            pending.append(PendingTurn(turn.number, turn.role, memory.memory_id))
    return turns, pending
