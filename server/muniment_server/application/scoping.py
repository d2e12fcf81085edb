"""From what a caller names to what the store holds: bindings, scopes, keys."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ..crypto.errors import ScopeKeyDestroyed
from ..crypto.keys import KeyRing, ScopeKey, TenantKey
from ..crypto.seal import scope_bytes
from ..crypto.set_digest import SetDigest
from ..domain.errors import IntegrityViolation, PermissionDenied
from ..domain.model import Scope, ScopeKind, ScopeRow
from ..identity.principal import CallContext
from ..storage.database import UnitOfWork
from ..storage.memories import insert_scope, lock_scopes

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
        raise PermissionDenied()
    if principal.agent is not None and scope.agent is not None and scope.agent != principal.agent:
        raise PermissionDenied()
    return scope


def in_reach(context: CallContext, key: TenantKey, scope_id: UUID) -> bool:
    """Whether the credential may see things of a scope that it did not name itself."""
    subject = context.principal.subject
    return subject is None or scope_id == key.scope_id(int(ScopeKind.SUBJECT), subject)


def scope_number(scope_id: UUID) -> int:
    """The compact number of a scope inside its tenant: its first eight bytes as a signed integer."""
    return int.from_bytes(scope_id.bytes[:8], signed=True)


async def writing_key(keys: KeyRing, tenant_id: UUID, scope_id: UUID) -> ScopeKey:
    """The scope's present key, made if there is none."""
    while True:
        found = await keys.current(tenant_id, scope_id)
        if found is not None:
            return found
        epoch = await keys.next_epoch(tenant_id, scope_id)
        try:
            return await keys.create(tenant_id, scope_id, epoch)
        except ScopeKeyDestroyed:
            continue


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
    )


def read_label(key: ScopeKey, scope: ScopeRow) -> str | None:
    """The caller's name of a scope, or None when it can no longer be read."""
    if scope.label_ct is None or scope.key_epoch != key.epoch:
        return None
    return key.decrypt(scope.label_ct, _LABEL, scope.scope_id.bytes).decode()


async def locked_scope(
    work: UnitOfWork, key: ScopeKey, scope: Scope, scope_id: UUID, now: datetime
) -> ScopeRow | None:
    """Lock the row of a scope, creating it at first use.

    None when the row belongs to another epoch than the key: the scope was erased in between, and the
    caller has to begin again with the present key. Raises IntegrityViolation when the row's seal is
    broken or the row is older than its key.
    """
    rows = await lock_scopes(work, [scope_id])
    if not rows:
        fresh = ScopeRow(
            scope_id=scope_id,
            scope_no=scope_number(scope_id),
            kind=scope.kind,
            label_ct=key.encrypt(scope.label.encode(), _LABEL, scope_id.bytes),
            key_epoch=key.epoch,
            generation=0,
            live_count=0,
            live_terms=0,
            next_doc=1,
            set_count=0,
            set_digest=key.hide_set(SetDigest()),
            seal=b"",
        )
        await insert_scope(work, sealed_scope(key, work.tenant_id, fresh), now)
        rows = await lock_scopes(work, [scope_id])
    found = rows[scope_id]
    if found.key_epoch < key.epoch:
        # An older copy of the data stands here: the key of this row was destroyed by an erasure that
        # the row does not know of. `muniment restore` sorts it out; nothing is written on top.
        raise IntegrityViolation()
    if found.key_epoch > key.epoch:
        return None
    if not key.verify_seal(scope_canonical(work.tenant_id, found), found.seal):
        raise IntegrityViolation()
    if found.label_ct is None:
        found = replace(found, label_ct=key.encrypt(scope.label.encode(), _LABEL, scope_id.bytes))
    return found
