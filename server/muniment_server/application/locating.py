"""From a memory's id to the locked memory, for commands that change one."""

import hmac
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import (
    IntegrityViolation,
    MemoryErased,
    MemoryNotActive,
    MemoryNotFound,
    MemorySuperseded,
    RevisionConflict,
    TransactionConflict,
)
from muniment_server.domain.model import MemoryState, Revision
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict, UnitOfWork
from muniment_server.storage.memories import lock_memory, scopes_of, tombstones

from .scoping import EpochChanged, agent_in_reach, in_reach
from .sealing import is_genuine
from .services import Attempts
from .views import etag

_Result = TypeVar("_Result")


async def repeated(attempt: Callable[[int | None], Awaitable[_Result]]) -> _Result:
    """Run a transaction again while it loses against others, with the key epoch that the scope's row has.

    Raises TransactionConflict after the last attempt.
    """
    epoch: int | None = None
    attempts = Attempts()
    while True:
        try:
            return await attempt(epoch)
        except EpochChanged as change:
            epoch = change.epoch
        except TransactionConflict as conflict:
            await attempts.lost(conflict)
        except UniqueConflict as conflict:
            # The same request id, committed by a call that held another lock: its answer is ours.
            if conflict.constraint != "idempotency_pkey":
                raise


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
