"""GetMemory and ListMemories: reads by id and page by page, each memory held against its seal."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.errors import CiphertextInvalid, TokenInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import (
    IntegrityViolation,
    MemoryNotFound,
    PageTokenInvalid,
)
from muniment_server.domain.model import Memory, MemoryFilter, Revision, Scope, ScopeKind, ScopeRow
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
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
from .scoping import agent_in_reach, bind_scope, in_reach, read_label, reading_key
from .sealing import is_genuine, open_content
from .services import Services
from .viewing import may_name, shows, view_of, within_view
from .views import to_memory, tombstone, weight

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


def _viewed(
    key: ScopeKey, tenant_key: TenantKey, revision: Revision, kind: ScopeKind, label: str, full: bool
) -> Memory | None:
    """The caller's view of a revision, or None when its seal does not hold."""
    try:
        if not is_genuine(key, tenant_key.tenant_id, revision):
            return None
        content, attributes, speaker = open_content(key, revision)[:3] if full else (None, None, None)
    except (CiphertextInvalid, ValueError):
        return None
    return to_memory(tenant_key, revision, kind, label, content, attributes, speaker)


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
    now = services.clock()
    token = issue_token(tenant_key, services.instance, now)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        found = await read_memories(work, [memory_id])
        if not found:
            erased = (await tombstones(work, [memory_id])).get(memory_id)
            if erased is None or not in_reach(context, tenant_key, erased["scope_id"]):
                raise MemoryNotFound(str(memory_id))
            if not isinstance(erased["erase_time"], datetime):
                raise IntegrityViolation(str(memory_id))
            await _record_read(
                services, context, work, tenant_key, AuditAction.GET_MEMORY, erased["scope_id"], [memory_id]
            )
            return Found(tombstone(memory_id, erased["erase_time"]), [], 0, [], token)
        revision, contradicted = found[0]
        within = in_reach(context, tenant_key, revision.scope_id) and agent_in_reach(context, revision.agent)
        if not within or not shows(view, revision):
            raise MemoryNotFound(str(memory_id))
        row = (await read_scopes(work, [revision.scope_id])).get(revision.scope_id)
        key, label = await _opened(services, context, tenant_key, row)
        if view is not None and not may_name(view, _kind(row), label):
            raise MemoryNotFound(str(memory_id))
        memory = None if contradicted else _viewed(key, tenant_key, revision, _kind(row), label, full)
        if memory is None:
            metrics().integrity_violation(1)
            raise IntegrityViolation(str(memory_id))
        revisions: list[Memory] = []
        broken: list[int] = []
        older = 0
        if include_revisions:
            if before_revision is None or before_revision > revision.revision:
                revisions.append(memory)
            history = await read_revisions(work, memory_id, before_revision, MAX_REVISIONS)
            used = _weight(memory)
            last = before_revision or revision.revision
            for earlier in history:
                if not shows(view, earlier) or not agent_in_reach(context, earlier.agent):
                    # Its number is no secret: that of the current revision tells how many there were.
                    last = earlier.revision
                    continue
                seen = _viewed(key, tenant_key, earlier, _kind(row), label, full)
                used += _weight(seen)
                if len(revisions) == MAX_REVISIONS or used > MAX_PAGE_BYTES:
                    break
                last = earlier.revision
                if seen is None:
                    broken.append(earlier.revision)
                else:
                    revisions.append(seen)
            older = await count_revisions(work, memory_id, last)
            if broken:
                await _report_broken(services, context, work, tenant_key, revision.scope_id, [memory_id])
        replace_time = await _replace_time(work, revision, revisions)
        await _record_read(
            services, context, work, tenant_key, AuditAction.GET_MEMORY, revision.scope_id, [memory_id]
        )
    return Found(memory, revisions, older, broken, token, replace_time)


async def _record_read(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    key: TenantKey,
    action: AuditAction,
    scope_id: UUID,
    memory_ids: list[UUID],
    scope: Scope | None = None,
) -> None:
    await services.trail.record(
        work,
        key,
        context,
        action,
        now=services.clock(),
        scope_id=scope_id,
        agent=scope.agent if scope else None,
        session=scope.session if scope else None,
        memory_ids=memory_ids,
        details={
            "memories_read": {
                "memory_ids": [str(memory_id) for memory_id in memory_ids],
                "count": len(memory_ids),
            }
        },
    )
    services.on_recorded(context.tenant_id)


async def _replace_time(work: UnitOfWork, current: Revision, revisions: list[Memory]) -> datetime | None:
    if not revisions or revisions[0].revision == current.revision:
        return None
    if revisions[0].revision + 1 == current.revision:
        return current.update_time
    later = await read_revisions(work, current.memory_id, revisions[0].revision + 2, 1)
    return later[0].update_time if later else None


def _weight(memory: Memory | None) -> int:
    return 0 if memory is None else weight(memory)


def _kind(row: ScopeRow | None) -> ScopeKind:
    if row is None:
        raise IntegrityViolation()
    return row.kind


async def _opened(
    services: Services, context: CallContext, tenant_key: TenantKey, row: ScopeRow | None
) -> tuple[ScopeKey, str]:
    """The key and the label of a scope that a memory was found in. Raises IntegrityViolation."""
    if row is None:
        raise IntegrityViolation()
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
    after = _after(tenant_key, page_token, binding)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    now = services.clock()
    memories: list[Memory] = []
    broken: list[UUID] = []
    last: UUID | None = None
    more = False
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
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
        used = 0
        for index, (revision, contradicted) in enumerate(rows):
            memory = (
                None
                if key is None or contradicted
                else _viewed(key, tenant_key, revision, scope.kind, scope.label, full)
            )
            weight = _weight(memory)
            if index == size or (memories and used + weight > MAX_PAGE_BYTES):
                more = True
                break
            used += weight
            last = revision.memory_id
            if memory is None:
                broken.append(revision.memory_id)
            else:
                memories.append(memory)
        if broken:
            await _report_broken(services, context, work, tenant_key, scope_id, broken)
        await _record_read(
            services,
            context,
            work,
            tenant_key,
            AuditAction.LIST_MEMORIES,
            scope_id,
            [memory.memory_id for memory in memories],
            scope,
        )
    next_token = ""
    if more and last is not None:
        next_token = tenant_key.seal_token(last.bytes, binding)
    return Page(memories, next_token, broken, issue_token(tenant_key, services.instance, now))


def _after(key: TenantKey, page_token: str, binding: bytes) -> UUID | None:
    if not page_token:
        return None
    try:
        return UUID(bytes=key.open_token(page_token, binding))
    except (TokenInvalid, ValueError):
        raise PageTokenInvalid() from None


async def _report_broken(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    key: TenantKey,
    scope_id: UUID,
    broken: list[UUID],
) -> None:
    await services.trail.integrity_violation(
        work, key, context, now=services.clock(), scope_id=scope_id, memory_ids=broken, check="seal"
    )
    services.on_recorded(context.tenant_id)
