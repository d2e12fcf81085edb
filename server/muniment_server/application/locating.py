"""From a memory's id to the locked memory, for commands that change one."""

import hmac
from dataclasses import dataclass
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import (
    IntegrityViolation,
    MemoryErased,
    MemoryNotActive,
    MemoryNotFound,
    MemorySuperseded,
    RevisionConflict,
)
from muniment_server.domain.model import MemoryState, Revision, ScopeRow
from muniment_server.domain.settings import TenantSettings
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import lock_memory, scopes_of, tombstones

from .idempotency import RequestMark, earlier_response
from .repeating import Epochs
from .scoping import agent_in_reach, in_reach, locked_existing, read_label, writing_key
from .sealing import is_genuine
from .services import Services
from .viewing import lets_change, view_of
from .views import etag


@dataclass(frozen=True, slots=True)
class Held:
    """A locked memory with all that its change needs."""

    tenant_key: TenantKey
    key: ScopeKey
    row: ScopeRow
    label: str
    revision: Revision
    settings: TenantSettings
    view: AgentView | None

    def lets_change(self, context: CallContext, other: Revision) -> bool:
        """Whether the caller may change another memory of the scope as well."""
        return lets_change(self.view, context, self.row.kind, self.label, other)


async def held_memory(
    services: Services,
    context: CallContext,
    work: UnitOfWork,
    mark: RequestMark | None,
    memory_id: UUID,
    epochs: Epochs,
) -> Held | bytes:
    """Lock a memory and its scope; or the answer that was given to the same request before."""
    tenant_id = context.tenant_id
    tenant_key = await services.keys.tenant(tenant_id)
    scope_id = await scope_of_memory(work, context, tenant_key, memory_id)
    key = await writing_key(services.keys, tenant_id, scope_id, epochs.get(scope_id))
    row = await locked_existing(work, key, scope_id)
    earlier = await earlier_response(work, mark, key)
    if earlier is not None:
        return earlier
    revision = await locked_memory(work, context, key, memory_id)
    label = read_label(key, row)
    if label is None:
        raise IntegrityViolation(str(memory_id))
    held = Held(
        tenant_key,
        key,
        row,
        label,
        revision,
        await services.settings.of(tenant_id),
        await view_of(services, context),
    )
    if not held.lets_change(context, revision):
        raise MemoryNotFound(str(memory_id))
    return held


async def scope_of_memory(work: UnitOfWork, context: CallContext, key: TenantKey, memory_id: UUID) -> UUID:
    """The scope of a memory in reach. Raises MemoryNotFound or MemoryErased."""
    scope_id = (await scopes_of(work, [memory_id])).get(memory_id)
    if scope_id is None:
        erased = (await tombstones(work, [memory_id])).get(memory_id)
        if erased is not None and in_reach(context, key, erased["scope_id"]):
            raise MemoryErased(str(memory_id))
        raise MemoryNotFound(str(memory_id))
    if not in_reach(context, key, scope_id):
        raise MemoryNotFound(str(memory_id))
    return scope_id


async def locked_memory(work: UnitOfWork, context: CallContext, key: ScopeKey, memory_id: UUID) -> Revision:
    """A memory of a locked scope, locked itself.

    Raises MemoryErased, MemoryNotFound when it is narrowed to an agent out of reach, IntegrityViolation.
    """
    found = await lock_memory(work, memory_id)
    if found is None:
        raise MemoryErased(str(memory_id))
    revision, contradicted = found
    if not agent_in_reach(context, revision.agent):
        raise MemoryNotFound(str(memory_id))
    if contradicted or not is_genuine(key, work.tenant_id, revision):
        raise IntegrityViolation(str(memory_id))
    return revision


def check_etag(key: TenantKey, given: str, revision: Revision) -> None:
    """Raise RevisionConflict unless the etag is that of this revision, or empty."""
    present = etag(key, revision.memory_id, revision.revision)
    if given and not hmac.compare_digest(given.encode(), present.encode()):
        raise RevisionConflict(str(revision.memory_id), revision.revision)


def check_active(revision: Revision) -> None:
    """Raise MemorySuperseded or MemoryNotActive unless the memory is ACTIVE."""
    if revision.state is MemoryState.SUPERSEDED:
        successor = revision.superseded_by
        raise MemorySuperseded(str(revision.memory_id), str(successor) if successor else None)
    if revision.state is not MemoryState.ACTIVE:
        raise MemoryNotActive(str(revision.memory_id), revision.state.name)
