"""What an erasure takes away: rows, and the keys of a whole scope, under the locks of the scopes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import IntegrityViolation, MemoryNotFound
from muniment_server.domain.model import (
    EVERY_STATE,
    ErasureTarget,
    MemoryFilter,
    Revision,
    Scope,
    ScopeRow,
)
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.erasures import (
    Removed,
    announce_destroyed_keys,
    leave_tombstones,
    remaining_rows,
    remove_memories,
    remove_scope,
    remove_strays,
    targets,
)
from muniment_server.storage.ingest import conversations_of, remove_ingests
from muniment_server.storage.memories import lock_scopes, scopes_of, tombstones, update_scope

from .emptying import emptied, lock_for_erasure
from .repeating import Epochs
from .scoping import in_reach, locked_existing, read_label, reading_key, scope_number
from .sealing import ScopeChange, is_genuine
from .services import Services
from .viewing import lets_change

ANYTHING = MemoryFilter(states=EVERY_STATE)


@dataclass(frozen=True, slots=True)
class EraseCommand:
    """What to erase. Exactly the fields of its target are set. view: what the caller may change at all."""

    target: ErasureTarget
    memory_ids: Sequence[UUID] = ()
    scope: Scope | None = None
    restriction: MemoryFilter = ANYTHING
    validate_only: bool = False
    reason: int = 0
    reason_code: str = ""
    request_id: UUID | None = None
    payload: bytes = b""
    view: AgentView | None = None


@dataclass(slots=True)
class Tally:
    """What a transaction has removed so far, and the keys to destroy once it is committed."""

    memory_ids: list[UUID] = field(default_factory=list)
    revisions: int = 0
    embeddings: int = 0
    postings: int = 0
    idempotency_records: int = 0
    queued_jobs: int = 0
    derived_rows: int = 0
    scope_id: UUID | None = None
    destroy_through: int | None = None

    def add(self, removed: Removed) -> None:
        self.memory_ids += removed.memory_ids
        self.revisions += removed.revisions
        self.embeddings += removed.embeddings
        self.postings += removed.postings
        self.idempotency_records += removed.idempotency_records
        self.queued_jobs += removed.queued_jobs
        self.derived_rows += removed.derived_rows


@dataclass(slots=True)
class Removal:
    """One transaction that erases, for one command or several. now: of all attempts of the erasure."""

    services: Services
    context: CallContext
    key: TenantKey
    work: UnitOfWork
    erasure_id: UUID
    now: datetime
    epochs: Epochs
    tally: Tally = field(default_factory=Tally)

    async def remove(self, command: EraseCommand) -> None:
        """Queue the removal of a target. Raises MemoryNotFound, EpochChanged, IntegrityViolation."""
        if command.target is ErasureTarget.MEMORIES:
            await self._remove_memories(command)
            return
        if command.scope is None:
            raise ValueError("a target other than MEMORIES names a scope")
        scope_id = self.key.scope_id(int(command.scope.kind), command.scope.label)
        self.tally.scope_id = scope_id
        if command.target is ErasureTarget.SCOPE:
            await self._remove_scope(command, command.scope, scope_id)
        else:
            await self._remove_part(command, scope_id, None)

    async def _remove_memories(self, command: EraseCommand) -> None:
        found = await scopes_of(self.work, command.memory_ids)
        gone = await tombstones(self.work, command.memory_ids)
        by_scope: dict[UUID, list[UUID]] = defaultdict(list)
        for memory_id in command.memory_ids:
            place = found.get(memory_id) or (gone[memory_id]["scope_id"] if memory_id in gone else None)
            if place is None or not in_reach(self.context, self.key, place):
                raise MemoryNotFound(str(memory_id))
            if memory_id in found:
                by_scope[place].append(memory_id)
        if len(by_scope) == 1:
            self.tally.scope_id = next(iter(by_scope))
        for scope_id in sorted(by_scope):
            await self._remove_part(command, scope_id, by_scope[scope_id])

    async def _remove_part(
        self, command: EraseCommand, scope_id: UUID, memory_ids: Sequence[UUID] | None
    ) -> None:
        """Queue the removal of some memories of a scope: the named ones, or those that the command covers."""
        work = self.work
        key = await reading_key(self.services.keys, work.tenant_id, scope_id, self.epochs.get(scope_id))
        if key is None:
            if await lock_scopes(work, [scope_id]):
                raise IntegrityViolation()
            return
        row = await locked_existing(work, key, scope_id)
        found = await self._targets(command, row, read_label(key, row) or "", memory_ids)
        await self._forget_conversations(command, scope_id)
        if not found:
            return
        removed = await remove_memories(work, scope_id, row.scope_no, found)
        change = ScopeChange(key, work.tenant_id, row)
        if all(is_genuine(key, work.tenant_id, revision) for revision in found):
            change.forget(found, removed.history_seals)
        else:
            embeddings, postings = await remove_strays(work, scope_id, row.scope_no)
            self.tally.embeddings += embeddings
            self.tally.postings += postings
            change.recount(found, removed.history_seals, await remaining_rows(work, scope_id))
        await change.close(work, self.now)
        await leave_tombstones(work, scope_id, removed.memory_ids, self.erasure_id, self.now)
        self.tally.add(removed)

    async def _targets(
        self, command: EraseCommand, row: ScopeRow, label: str, memory_ids: Sequence[UUID] | None
    ) -> list[Revision]:
        """What of a locked scope the command covers and the caller may change. Raises MemoryNotFound."""
        scope, bound = command.scope, self.context.principal.agent
        found = await targets(
            self.work,
            row.scope_id,
            memory_ids=memory_ids,
            target_session=scope.session if scope and command.target is ErasureTarget.SESSION else None,
            agent=scope.agent if scope else None,
            session=scope.session if scope and command.target is ErasureTarget.FILTER else None,
            bound_agent=bound,
            restriction=command.restriction,
        )
        if command.view is not None:
            found = [one for one in found if lets_change(command.view, self.context, row.kind, label, one)]
        if memory_ids is not None and bound is not None:
            # What was erased a moment ago, by somebody else, is missing here too.
            missing = set(memory_ids) - {revision.memory_id for revision in found}
            if missing & (await scopes_of(self.work, missing)).keys():
                raise MemoryNotFound(str(min(missing)))
        return found

    async def _forget_conversations(self, command: EraseCommand, scope_id: UUID) -> None:
        """Of a session, before its turns: what is queued of it must not bring any of it back."""
        scope = command.scope
        if command.target is not ErasureTarget.SESSION or scope is None or scope.session is None:
            return
        conversations = await conversations_of(
            self.work, scope_id, scope.session, scope.agent, self.context.principal.agent
        )
        jobs, derived = await remove_ingests(self.work, scope_id, conversations)
        self.tally.queued_jobs += jobs
        self.tally.derived_rows += derived

    async def _remove_scope(self, command: EraseCommand, scope: Scope, scope_id: UUID) -> None:
        work, keys = self.work, self.services.keys
        locked = await lock_for_erasure(keys, work, scope, scope_id, self.now)
        if locked is None:
            return
        removed = await remove_scope(work, scope_id, {scope_number(scope_id), locked.row.scope_no})
        self.tally.add(removed)
        if command.validate_only or (locked.empty and not removed.memory_ids):
            return
        # The row stays, with the next epoch: a writer that still holds the old key notices under the lock.
        after = await emptied(keys, work, scope, locked)
        await update_scope(work, after, self.now)
        await leave_tombstones(work, scope_id, removed.memory_ids, self.erasure_id, self.now)
        await announce_destroyed_keys(work, scope_id)
        self.tally.destroy_through = after.key_epoch - 1
