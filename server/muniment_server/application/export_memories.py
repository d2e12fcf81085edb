"""ExportMemories: everything that is remembered about a subject, to be read or taken along."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.model import EVERY_STATE, Memory, MemoryState, Revision, Scope
from muniment_server.identity.principal import CallContext
from muniment_server.storage.memories import read_scopes
from muniment_server.storage.transfer import export_page

from .opening import opened_memory
from .scoping import bind_scope, reading_key
from .services import Services
from .viewing import shows, view_within
from .views import weight

_ROWS = 200
_MESSAGE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Exported:
    """Some memories, whole, and the ids of those that were left out because their seal does not hold."""

    memories: list[Memory]
    broken: list[UUID]


async def export_memories(
    services: Services, context: CallContext, scope: Scope, states: Sequence[MemoryState]
) -> AsyncIterator[Exported]:
    """The memories of a subject in any of these states (none: every one), oldest first.

    Read in short transactions, each with the event of what it read, so that a slow reader holds none open.
    What is written meanwhile may be in it or not. Raises PermissionDenied.
    """
    bind_scope(context, scope)
    key = await services.keys.tenant(context.tenant_id)
    view = await view_within(services, context, scope)
    scope_id = key.scope_id(int(scope.kind), scope.label)
    after: UUID | None = None
    while True:
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            row = (await read_scopes(work, [scope_id])).get(scope_id)
            found = await export_page(
                work,
                scope_id=scope_id,
                states=states or EVERY_STATE,
                bound_agent=context.principal.agent,
                after_id=after,
                limit=_ROWS,
            )
            scope_key = await reading_key(
                services.keys, context.tenant_id, scope_id, row.key_epoch if row else None
            )
            memories, broken = _opened(found, view, scope_key, key, scope)
            now = services.clock()
            if broken:
                await services.trail.integrity_violation(
                    work, key, context, now=now, scope_id=scope_id, memory_ids=broken, check="seal"
                )
            if memories or after is None:
                await services.trail.memories_read(
                    work,
                    key,
                    context,
                    AuditAction.EXPORT_MEMORIES,
                    now=now,
                    scope_id=scope_id,
                    memory_ids=[memory.memory_id for memory in memories],
                )
        services.on_recorded(context.tenant_id)
        for part in _messages(memories, broken):
            yield part
        if len(found) < _ROWS:
            return
        after = found[-1][0].memory_id


def _opened(
    found: Sequence[tuple[Revision, bool]],
    view: AgentView | None,
    key: ScopeKey | None,
    tenant_key: TenantKey,
    scope: Scope,
) -> tuple[list[Memory], list[UUID]]:
    """What the view shows of a page, whole, and the ids of those whose seal does not hold."""
    memories: list[Memory] = []
    broken: list[UUID] = []
    for revision, contradicted in found:
        if not shows(view, revision):
            continue
        memory = None
        if key is not None and not contradicted:
            memory = opened_memory(key, tenant_key, revision, scope.kind, scope.label)
        if memory is None:
            broken.append(revision.memory_id)
        else:
            memories.append(memory)
    return memories, broken


def _messages(memories: Sequence[Memory], broken: list[UUID]) -> list[Exported]:
    """Parts that a client with default settings can receive."""
    parts: list[Exported] = [Exported([], broken)] if broken else []
    message: list[Memory] = []
    size = 0
    for memory in memories:
        size += weight(memory)
        if message and size > _MESSAGE_BYTES:
            parts.append(Exported(message, []))
            message, size = [], weight(memory)
        message.append(memory)
    if message:
        parts.append(Exported(message, []))
    return parts
