"""From what a caller names to what the store holds: bindings, scopes, keys."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.errors import ScopeKeyDestroyed, ScopeKeyMissing
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.seal import scope_bytes
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, PermissionDenied
from muniment_server.domain.model import Scope, ScopeKind, ScopeRow
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import insert_scope, lock_scopes

_LABEL = "scope_label"


def bind_scope(context: CallContext, scope: Scope) -> Scope:
    """Hold a named scope against the credential's bindings.

    A credential bound to a subject reaches this subject only, and no space; one bound to an agent may
    name no other agent. Raises PermissionDenied.
    """
    principal = context.principal
    if principal.subject is not None and (
        scope.kind is not ScopeKind.SUBJECT or scope.label != principal.subject
    ):
        raise PermissionDenied("subject")
    if principal.agent is not None and scope.agent is not None and scope.agent != principal.agent:
        raise PermissionDenied("agent")
    return scope


def in_reach(context: CallContext, key: TenantKey, scope_id: UUID) -> bool:
    """Whether the credential may see things of a scope that it did not name itself."""
    subject = context.principal.subject
    return subject is None or scope_id == key.scope_id(int(ScopeKind.SUBJECT), subject)


def agent_in_reach(context: CallContext, agent: str | None) -> bool:
    """Whether the credential may see a memory that is narrowed to this agent, or to none."""
    bound = context.principal.agent
    return bound is None or agent is None or agent == bound


def scope_number(scope_id: UUID) -> int:
    """The compact number of a scope inside its tenant: its first eight bytes as a signed integer."""
    return int.from_bytes(scope_id.bytes[:8], signed=True)


class EpochChanged(Exception):
    """A scope's row belongs to another key epoch than the key at hand: begin again with that epoch's key.

    The row is the authority: it moves on under its lock when the scope is erased.
    """

    def __init__(self, scope_id: UUID, epoch: int) -> None:
        super().__init__(scope_id, epoch)
        self.scope_id = scope_id
        self.epoch = epoch


async def reading_key(
    keys: KeyRing, tenant_id: UUID, scope_id: UUID, epoch: int | None = None
) -> ScopeKey | None:
    """The key of a scope, of its newest epoch unless one is given; None where there is none (any more)."""
    if epoch is None:
        return await keys.current(tenant_id, scope_id)
    try:
        return await keys.get(tenant_id, scope_id, epoch)
    except (ScopeKeyMissing, ScopeKeyDestroyed):
        return None


async def writing_key(keys: KeyRing, tenant_id: UUID, scope_id: UUID, epoch: int | None = None) -> ScopeKey:
    """The key to write with; made at a scope's first use.

    Raises IntegrityViolation when the row's own epoch has no key: an older copy of the data stands
    there, or the key store lost something. `muniment restore` sorts that out; nothing is written on top.
    """
    found = await reading_key(keys, tenant_id, scope_id, epoch)
    if found is not None:
        return found
    if epoch is not None:
        raise IntegrityViolation()
    fresh = await keys.next_epoch(tenant_id, scope_id)
    try:
        return await keys.create(tenant_id, scope_id, fresh)
    except ScopeKeyDestroyed:
        return await writing_key(keys, tenant_id, scope_id)


def sealed_scope(key: ScopeKey, tenant_id: UUID, scope: ScopeRow) -> ScopeRow:
    """The row with its seal made anew."""
    return replace(scope, seal=key.seal(scope_canonical(tenant_id, scope)))


def scope_canonical(tenant_id: UUID, scope: ScopeRow) -> bytes:
    """The bytes that a scope's seal covers."""
    return scope_bytes(
        tenant_id=tenant_id,
        scope_id=scope.scope_id,
        kind=int(scope.kind),
        key_epoch=scope.key_epoch,
        generation=scope.generation,
        live_count=scope.live_count,
        live_terms=scope.live_terms,
        next_doc=scope.next_doc,
        set_count=scope.set_count,
        set_digest=scope.set_digest,
        label_ct=scope.label_ct,
        consent=scope.consent,
    )


def read_label(key: ScopeKey, scope: ScopeRow) -> str | None:
    """The caller's name of a scope, or None when it can no longer be read."""
    if scope.label_ct is None or scope.key_epoch != key.epoch:
        return None
    return key.decrypt(scope.label_ct, _LABEL, scope.scope_id.bytes).decode()


async def create_scope(
    work: UnitOfWork,
    key: ScopeKey,
    scope: Scope,
    scope_id: UUID,
    now: datetime,
    consent: bytes | None = None,
) -> None:
    """Queue the row of a scope at its first use; somebody else may make it at the same moment."""
    fresh = ScopeRow(
        scope_id=scope_id,
        scope_no=scope_number(scope_id),
        kind=scope.kind,
        label_ct=_label_ct(key, scope, scope_id),
        key_epoch=key.epoch,
        generation=0,
        live_count=0,
        live_terms=0,
        next_doc=1,
        set_count=0,
        set_digest=key.hide_set(SetDigest()),
        seal=b"",
        consent=consent,
    )
    await insert_scope(work, sealed_scope(key, work.tenant_id, fresh), now)


def usable_scope(tenant_id: UUID, key: ScopeKey, scope: Scope, found: ScopeRow | None) -> ScopeRow:
    """A locked row to write to, named (again, after an erasure); see `locked_existing` for what it raises."""
    checked = _checked(tenant_id, key, found)
    if checked.label_ct is None:
        checked = replace(checked, label_ct=_label_ct(key, scope, checked.scope_id))
    return checked


async def locked_existing(work: UnitOfWork, key: ScopeKey, scope_id: UUID) -> ScopeRow:
    """Lock the row of a scope that memories were found in.

    Raises EpochChanged, and IntegrityViolation when the row is gone or its seal is broken.
    """
    return _checked(work.tenant_id, key, await _lock(work, scope_id))


async def _lock(work: UnitOfWork, scope_id: UUID) -> ScopeRow | None:
    return (await lock_scopes(work, [scope_id])).get(scope_id)


def _label_ct(key: ScopeKey, scope: Scope, scope_id: UUID) -> bytes:
    return key.encrypt(scope.label.encode(), _LABEL, scope_id.bytes)


def _checked(tenant_id: UUID, key: ScopeKey, found: ScopeRow | None) -> ScopeRow:
    if found is None:
        raise IntegrityViolation()
    if found.key_epoch != key.epoch:
        raise EpochChanged(found.scope_id, found.key_epoch)
    if not is_genuine_scope(tenant_id, key, found):
        raise IntegrityViolation()
    return found


def is_genuine_scope(tenant_id: UUID, key: ScopeKey, scope: ScopeRow) -> bool:
    """Whether the row's seal holds, and its number is that of its id."""
    return (
        scope.key_epoch == key.epoch
        and scope.scope_no == scope_number(scope.scope_id)
        and key.verify_seal(scope_canonical(tenant_id, scope), scope.seal)
    )
