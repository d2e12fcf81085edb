"""ImportMemories: a subject's memories from elsewhere, all or none, through the same gates as a Write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction, to_micros
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import ContentRefused, SourceNotAllowed
from muniment_server.domain.model import (
    MemoryKind,
    MemoryState,
    NewMemory,
    Revision,
    Scope,
    ScopeRow,
    WriteOutcome,
)
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_scopes, write_candidates
from muniment_server.storage.transfer import Known, known_statements
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .applying import apply
from .batch import Batch, candidate_keys, gathered, narrowed
from .consenting import check_unheard_of
from .consistency import issue_token
from .idempotency import RequestMark, earlier_response, remember
from .preparing import Prepared, check_expiry, check_items
from .repeating import Epochs, repeated
from .scoping import bind_scope, create_scope, usable_scope, writing_key
from .sealing import ScopeChange
from .services import Services
from .viewing import check_space

METHOD = "ImportMemories"
NOT_IMPORTED = "STATE_NOT_IMPORTED"
"""Rule: only what was live or archived is taken in."""
_PATH = "records[{}].item"
_IMPORTED = (MemoryState.ACTIVE, MemoryState.ARCHIVED)
_EVENTS = (MemoryKind.EVENT, MemoryKind.TURN)


@dataclass(frozen=True, slots=True)
class Record:
    """One memory from elsewhere. `state` None counts as ACTIVE."""

    item: NewMemory
    state: MemoryState | None = None
    origin_id: UUID | None = None
    create_time: datetime | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class ImportCommand:
    """A validated import into a scope that is not narrowed."""

    scope: Scope
    records: Sequence[Record]
    validate_only: bool
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Imported:
    """The results in the order of the records."""

    results: list[WriteResult]
    consistency_token: str


Encode: TypeAlias = Callable[[Imported], bytes]


@dataclass(frozen=True, slots=True)
class _Group:
    """Records that are narrowed alike, with their places in the request."""

    places: list[int]
    batch: Batch


@dataclass(slots=True)
class _Taken:
    """What became of each record, and what of it the audit tells."""

    results: list[WriteResult]
    details: list[dict[str, Any]]
    touched: dict[UUID, None] = field(default_factory=dict)
    source_types: frozenset[int] = frozenset()


class _DryRun(Exception):
    """Leaves the transaction without committing what was tried in it."""

    def __init__(self, response: bytes) -> None:
        super().__init__()
        self.response = response


async def import_memories(
    services: Services, context: CallContext, command: ImportCommand, encode: Encode
) -> bytes:
    """Take in the records, or answer what was answered before for the same request id.

    Raises what a Write raises, with the record's place; then nothing is stored.
    """
    bind_scope(context, command.scope)
    await check_space(services, context, command.scope)
    records = [_dated(record) for record in command.records]
    check_items([record.item for record in records], _PATH)
    check_expiry([record.item for record in records], services.clock(), _PATH)
    key = await services.keys.tenant(context.tenant_id)
    mark = RequestMark.of(key, context.principal, command.request_id, METHOD, command.payload)
    if command.validate_only:
        mark = None
    groups = await _gathered(services, context, command.scope, records)
    scope_id = key.scope_id(int(command.scope.kind), command.scope.label)

    async def attempt(epochs: Epochs) -> bytes:
        scope_key = await writing_key(services.keys, context.tenant_id, scope_id, epochs.get(scope_id))
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            return await _store(
                services, context, work, key, scope_key, scope_id, command, records, groups, mark, encode
            )

    with memory_span(
        names.OP_UPSERT_MEMORY, store_id=str(context.tenant_id), record_count=len(command.records)
    ):
        try:
            response = await repeated(attempt)
        except _DryRun as tried:
            return tried.response
    services.on_recorded(context.tenant_id)
    return response


def _dated(record: Record) -> Record:
    """An event or a turn without a start began when it was recorded."""
    item, validity = record.item, record.item.validity
    if record.create_time is None or item.kind not in _EVENTS or validity.start is not None:
        return record
    if validity.end is not None and validity.end <= record.create_time:
        return record
    return replace(record, item=replace(item, validity=replace(validity, start=record.create_time)))


async def _gathered(
    services: Services, context: CallContext, scope: Scope, records: Sequence[Record]
) -> list[_Group]:
    """The records to be taken in, gone through together, and then apart by agent and session."""
    places = [place for place, record in enumerate(records) if record.state in (None, *_IMPORTED)]
    alike: dict[tuple[str | None, str | None], list[int]] = {}
    for number, place in enumerate(places):
        record = records[place]
        bind_scope(context, replace(scope, agent=record.agent, session=record.session))
        alike.setdefault((record.agent, record.session), []).append(number)
    try:
        whole = await gathered(
            services, context, scope, [records[place].item for place in places], path="{}", near=False
        )
    except ContentRefused as refusal:
        told = refusal.metadata
        place = places[int(told["item"])]
        field = refusal.violations[0].path.partition(".")[2]
        path = f"{_PATH.format(place)}.{field}"
        raise ContentRefused(path, told["gate"], told["rule"], place) from None
    except SourceNotAllowed as refusal:
        told = refusal.metadata
        raise SourceNotAllowed(told["source_type"], places[int(told["item"])]) from None
    return [
        _Group(
            [places[number] for number in numbers],
            await narrowed(whole, replace(scope, agent=agent, session=session), numbers),
        )
        for (agent, session), numbers in alike.items()
    ]


async def _opened(
    work: UnitOfWork,
    key: TenantKey,
    scope_key: ScopeKey,
    scope_id: UUID,
    scope: Scope,
    now: datetime,
) -> ScopeRow:
    row = (await lock_scopes(work, [scope_id])).get(scope_id)
    if row is None:
        await check_unheard_of(work, key, scope_id)
        await create_scope(work, scope_key, scope, scope_id, now)
        row = (await lock_scopes(work, [scope_id])).get(scope_id)
    return usable_scope(work.tenant_id, scope_key, scope, row)


async def _store(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    key: TenantKey,
    scope_key: ScopeKey,
    scope_id: UUID,
    command: ImportCommand,
    records: Sequence[Record],
    groups: Sequence[_Group],
    mark: RequestMark | None,
    encode: Encode,
) -> bytes:
    now = services.clock()
    row = await _opened(work, key, scope_key, scope_id, command.scope, now)
    earlier = await earlier_response(work, mark, scope_key)
    if earlier is not None:
        return earlier
    change = ScopeChange(scope_key, work.tenant_id, row)
    taken = await _taken(work, change, records, groups, now, quiet=command.validate_only)
    token = issue_token(key, services.instance, now)
    if command.validate_only:
        raise _DryRun(encode(Imported([replace(one, memory=_known(one)) for one in taken.results], token)))
    response = encode(Imported(taken.results, token))
    event = await services.trail.record(
        work,
        key,
        context,
        AuditAction.IMPORT_MEMORIES,
        now=now,
        scope_id=scope_id,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=list(taken.touched),
        source_types=taken.source_types,
        details={"memory_written": {"items": taken.details}},
    )
    await remember(
        work,
        mark,
        response,
        scope_id=scope_id,
        key=scope_key,
        memory_ids=list(taken.touched),
        now=now,
        event_id=event.event_id,
    )
    return response


async def _taken(
    work: UnitOfWork,
    change: ScopeChange,
    records: Sequence[Record],
    groups: Sequence[_Group],
    now: datetime,
    *,
    quiet: bool,
) -> _Taken:
    """Decide and queue the groups one after the other, as one change of the scope."""
    taken = _Taken(
        [WriteResult(WriteOutcome.DROPPED, None, rule=NOT_IMPORTED) for _ in records],
        [_left_out(record, NOT_IMPORTED) for record in records],
    )
    prepared = [group.batch.prepared(change.key) for group in groups]
    scope_id = change.scope.scope_id
    candidates, known = await _there(work, scope_id, [one for each in prepared for one in each], records)
    next_doc = change.scope.next_doc
    for group, items in zip(groups, prepared, strict=True):
        scope = group.batch.scope
        done = await apply(
            work,
            group.batch,
            change,
            items,
            [one for one in candidates if (one[0].agent, one[0].session) == (scope.agent, scope.session)],
            (),
            now,
            quiet=quiet,
            archived=_archived(group, items, records, known),
            next_doc=next_doc,
        )
        next_doc = done.next_doc
        for place, result, told in zip(group.places, done.results, done.details, strict=True):
            taken.results[place] = result
            taken.details[place] = told | _origin(records[place])
        taken.touched |= dict.fromkeys(done.touched)
        taken.source_types |= done.source_types
    if groups:
        await change.close(work, now, next_doc)
    return taken


async def _there(
    work: UnitOfWork, scope_id: UUID, prepared: Sequence[Prepared], records: Sequence[Record]
) -> tuple[Sequence[tuple[Revision, bool]], set[Known]]:
    """What the scope holds of what is taken in: see `write_candidates` and `known_statements`."""
    hashes, slots = candidate_keys(prepared)
    candidates = await write_candidates(work, scope_id, hashes, slots)
    if not any(record.state is MemoryState.ARCHIVED for record in records):
        return candidates, set()
    return candidates, await known_statements(work, scope_id, hashes)


def _archived(
    group: _Group, prepared: Sequence[Prepared], records: Sequence[Record], known: set[Known]
) -> Mapping[UUID, bool]:
    """The archived memories of a group, each with whether the scope does not hold its statement yet."""
    scope = group.batch.scope
    found: dict[UUID, bool] = {}
    ready = iter(prepared)
    for place, screened in zip(group.places, group.batch.screened, strict=True):
        if screened.dropped:
            continue
        item = next(ready).item
        labels = (item.statement_hash, int(item.kind), item.slot, scope.agent, scope.session)
        held = item.state is not MemoryState.ACTIVE
        if records[place].state is MemoryState.ARCHIVED:
            # What waits for a reviewer is told by the plan to be there already.
            found[item.memory_id] = held or labels not in known
        if not held:
            known.add(labels)
    return found


def _known(result: WriteResult) -> Any:
    """What a dry run may name: a memory that is there, never one that will not be."""
    return result.memory if result.outcome is WriteOutcome.REINFORCED else None


def _left_out(record: Record, rule: str) -> dict[str, Any]:
    source = record.item.provenance.source_type
    return {
        "memory_id": None,
        "revision": 0,
        "outcome": int(WriteOutcome.DROPPED),
        "kind": int(record.item.kind),
        "source_type": int(source) if source is not None else 0,
        "trust": 0,
        "superseded_memory_id": None,
        "rule": rule,
        "findings": [],
    } | _origin(record)


def _origin(record: Record) -> dict[str, Any]:
    """Where a record comes from, for the trail alone."""
    return {
        "origin_id": str(record.origin_id) if record.origin_id else None,
        "origin_time": to_micros(record.create_time) if record.create_time else None,
    }
