"""GetMemory and ListMemories: reads by id and page by page, each memory held against its seal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import IntegrityViolation, MemoryNotFound
from muniment_server.domain.model import Memory, MemoryFilter, Revision, Scope, ScopeKind, ScopeRow
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.embeddings import embedding_states
from muniment_server.storage.memories import (
    count_revisions,
    list_memories,
    read_memories,
    read_revisions,
    read_scopes,
    tombstones,
)
from muniment_server.telemetry.instruments import metrics

from .consistency import check_token, issue_token
from .opening import opened_memory
from .paging import opened_token
from .scoping import agent_in_reach, bind_scope, in_reach, read_label, reading_key, scope_number
from .services import Services
from .viewing import may_name, shows, view_of, within_view
from .views import tombstone, weight

MAX_REVISIONS = 100
DEFAULT_PAGE = 100
MAX_PAGE = 1_000
MAX_PAGE_BYTES = 3_500_000


@dataclass(frozen=True, slots=True)
class Found:
    """A memory with the revisions asked for, newest first; `broken`: those whose seal does not hold."""

    memory: Memory
    revisions: list[Memory]
    older_revision_count: int
    broken: list[int]
    consistency_token: str
    replace_time: datetime | None = None
    """When the first of `revisions` was replaced; None while it is the current one."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of memories; `next_token` empty at the end."""

    memories: list[Memory]
    next_token: str
    broken: list[UUID]
    consistency_token: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """What every step of a read by id needs. view: what the caller may see. full: with what is encrypted."""

    services: Services
    context: CallContext
    work: UnitOfWork
    tenant_key: TenantKey
    view: AgentView | None
    full: bool


@dataclass(frozen=True, slots=True)
class _Revisions:
    """Revisions of a memory, newest first; `older`: how many there are behind them."""

    told: list[Memory]
    broken: list[int]
    older: int


async def get_memory(
    services: Services,
    context: CallContext,
    memory_id: UUID,
    *,
    full: bool,
    include_revisions: bool,
    before_revision: int | None,
    consistency_token: str | None,
) -> Found:
    """One memory in whatever state; a tombstone when it was erased.

    Raises MemoryNotFound, IntegrityViolation when the memory's own seal does not hold, and the errors
    of a consistency token.
    """
    tenant_key = await services.keys.tenant(context.tenant_id)
    if consistency_token is not None:
        check_token(tenant_key, services.instance, consistency_token, "consistency.at_least_as_fresh.token")
    view = await view_of(services, context)
    token = issue_token(tenant_key, services.instance, services.clock())
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        reading = _Reading(services, context, work, tenant_key, view, full)
        rows = await read_memories(work, [memory_id])
        if rows:
            revision, contradicted = rows[0]
            scope_id = revision.scope_id
            key, kind, label = await _reached(reading, revision)
            memory = None
            if not contradicted:
                memory = opened_memory(key, tenant_key, revision, kind, label, full=full)
            if memory is None:
                metrics().integrity_violation(1)
                raise IntegrityViolation(str(memory_id))
            states = await embedding_states(work, scope_number(scope_id), [revision])
            memory = replace(memory, embedding_state=states.get(memory_id))
            revisions = _Revisions([], [], 0)
            if include_revisions:
                revisions = await _revisions(reading, key, kind, label, revision, memory, before_revision)
            replace_time = await _replace_time(work, revision, revisions.told)
            found = Found(memory, revisions.told, revisions.older, revisions.broken, token, replace_time)
        else:
            scope_id, left = await _erased(reading, memory_id)
            found = Found(left, [], 0, [], token)
        await services.trail.memories_read(
            work,
            tenant_key,
            context,
            AuditAction.GET_MEMORY,
            now=services.clock(),
            scope_id=scope_id,
            memory_ids=[memory_id],
        )
    services.on_recorded(context.tenant_id)
    return found


async def _erased(reading: _Reading, memory_id: UUID) -> tuple[UUID, Memory]:
    """The scope and what is left of an erased memory. Raises MemoryNotFound, IntegrityViolation."""
    row = (await tombstones(reading.work, [memory_id])).get(memory_id)
    if row is None or not in_reach(reading.context, reading.tenant_key, row["scope_id"]):
        raise MemoryNotFound(str(memory_id))
    if not isinstance(row["erase_time"], datetime):
        raise IntegrityViolation(str(memory_id))
    return row["scope_id"], tombstone(memory_id, row["erase_time"])


async def _reached(reading: _Reading, revision: Revision) -> tuple[ScopeKey, ScopeKind, str]:
    """The scope of a memory that the caller may see. Raises MemoryNotFound, IntegrityViolation."""
    context, view = reading.context, reading.view
    within = in_reach(context, reading.tenant_key, revision.scope_id) and agent_in_reach(
        context, revision.agent
    )
    if not within or not shows(view, revision):
        raise MemoryNotFound(str(revision.memory_id))
    row = (await read_scopes(reading.work, [revision.scope_id])).get(revision.scope_id)
    if row is None:
        raise IntegrityViolation()
    key, label = await _opened(reading.services, context, reading.tenant_key, row)
    if view is not None and not may_name(view, row.kind, label):
        raise MemoryNotFound(str(revision.memory_id))
    return key, row.kind, label


async def _revisions(
    reading: _Reading,
    key: ScopeKey,
    kind: ScopeKind,
    label: str,
    current: Revision,
    memory: Memory,
    before: int | None,
) -> _Revisions:
    """A page of a memory's revisions before a number, or from the current one on."""
    told = [memory] if before is None or before > current.revision else []
    broken: list[int] = []
    used = weight(memory)
    last = before or current.revision
    for earlier in await read_revisions(reading.work, current.memory_id, before, MAX_REVISIONS):
        if not shows(reading.view, earlier) or not agent_in_reach(reading.context, earlier.agent):
            # Its number is no secret: that of the current revision tells how many there were.
            last = earlier.revision
            continue
        seen = opened_memory(key, reading.tenant_key, earlier, kind, label, full=reading.full)
        used += _weight(seen)
        if len(told) == MAX_REVISIONS or used > MAX_PAGE_BYTES:
            break
        last = earlier.revision
        if seen is None:
            broken.append(earlier.revision)
        else:
            told.append(seen)
    older = await count_revisions(reading.work, current.memory_id, last)
    if broken:
        await _report_broken(reading, current.scope_id, [current.memory_id])
    return _Revisions(told, broken, older)


async def _replace_time(work: UnitOfWork, current: Revision, revisions: list[Memory]) -> datetime | None:
    if not revisions or revisions[0].revision == current.revision:
        return None
    if revisions[0].revision + 1 == current.revision:
        return current.update_time
    later = await read_revisions(work, current.memory_id, revisions[0].revision + 2, 1)
    return later[0].update_time if later else None


def _weight(memory: Memory | None) -> int:
    return 0 if memory is None else weight(memory)


async def _opened(
    services: Services, context: CallContext, tenant_key: TenantKey, row: ScopeRow
) -> tuple[ScopeKey, str]:
    """The key and the label of a scope that a memory was found in. Raises IntegrityViolation."""
    key = await reading_key(services.keys, context.tenant_id, row.scope_id, row.key_epoch)
    if key is None:
        raise IntegrityViolation()
    try:
        label = read_label(key, row)
    except (CiphertextInvalid, ValueError):
        label = None
    # The id comes from kind and label, and the memory's seal holds the id.
    if label is None or tenant_key.scope_id(int(row.kind), label) != row.scope_id:
        raise IntegrityViolation()
    return key, label


async def list_page(
    services: Services,
    context: CallContext,
    scope: Scope,
    restriction: MemoryFilter,
    *,
    include_narrowed: bool,
    page_size: int,
    page_token: str,
    arguments: bytes,
    full: bool,
    consistency_token: str | None,
) -> Page:
    """One page of a scope's memories, newest first.

    `arguments` are the request's deterministic bytes without page size and token: a token belongs to
    them. Raises PageTokenInvalid and the errors of a consistency token.
    """
    bind_scope(context, scope)
    restriction = await within_view(services, context, scope, restriction)
    tenant_key = await services.keys.tenant(context.tenant_id)
    if consistency_token is not None:
        check_token(tenant_key, services.instance, consistency_token, "consistency.at_least_as_fresh.token")
    size = min(page_size or DEFAULT_PAGE, MAX_PAGE)
    binding = b"list" + arguments
    after = opened_token(tenant_key, page_token, binding, lambda raw: UUID(bytes=raw))
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    now = services.clock()
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        reading = _Reading(services, context, work, tenant_key, restriction.view, full)
        rows = await list_memories(
            work,
            restriction,
            scope_id=scope_id,
            agent=scope.agent,
            session=scope.session,
            include_narrowed=include_narrowed,
            bound_agent=context.principal.agent,
            now=now,
            after_id=after,
            limit=size + 1,
        )
        row = (await read_scopes(work, [scope_id])).get(scope_id) if rows else None
        key = await reading_key(services.keys, context.tenant_id, scope_id, row.key_epoch if row else None)
        memories, broken, last = _page(reading, key, scope, rows, size)
        if memories:
            states = await embedding_states(work, scope_number(scope_id), [revision for revision, _ in rows])
            memories = [replace(one, embedding_state=states.get(one.memory_id)) for one in memories]
        if broken:
            await _report_broken(reading, scope_id, broken)
        await services.trail.memories_read(
            work,
            tenant_key,
            context,
            AuditAction.LIST_MEMORIES,
            now=services.clock(),
            scope_id=scope_id,
            memory_ids=[memory.memory_id for memory in memories],
            agent=scope.agent,
            session=scope.session,
        )
    services.on_recorded(context.tenant_id)
    next_token = tenant_key.seal_token(last.bytes, binding) if last is not None else ""
    return Page(memories, next_token, broken, issue_token(tenant_key, services.instance, now))


def _page(
    reading: _Reading,
    key: ScopeKey | None,
    scope: Scope,
    rows: Sequence[tuple[Revision, bool]],
    size: int,
) -> tuple[list[Memory], list[UUID], UUID | None]:
    """The memories of a page, ids of those whose seal does not hold, and the last one if there are more."""
    memories: list[Memory] = []
    broken: list[UUID] = []
    last: UUID | None = None
    used = 0
    for index, (revision, contradicted) in enumerate(rows):
        memory = None
        if key is not None and not contradicted:
            memory = opened_memory(
                key, reading.tenant_key, revision, scope.kind, scope.label, full=reading.full
            )
        used += _weight(memory)
        if index == size or (memories and used > MAX_PAGE_BYTES):
            return memories, broken, last
        last = revision.memory_id
        if memory is None:
            broken.append(revision.memory_id)
        else:
            memories.append(memory)
    return memories, broken, None


async def _report_broken(reading: _Reading, scope_id: UUID, broken: list[UUID]) -> None:
    await reading.services.trail.integrity_violation(
        reading.work,
        reading.tenant_key,
        reading.context,
        now=reading.services.clock(),
        scope_id=scope_id,
        memory_ids=broken,
        check="seal",
    )
