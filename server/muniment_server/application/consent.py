"""SetConsent and GetConsent: what may be remembered, changed at once for everybody who writes or recalls."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.consent import MAX_SESSIONS, Consent, ConsentLevel
from muniment_server.domain.errors import (
    FieldViolation,
    IntegrityViolation,
    InvalidRequest,
    PermissionDenied,
)
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import (
    EVERY_STATE,
    ErasureState,
    ErasureTarget,
    MemoryFilter,
    MemoryKind,
    Scope,
    ScopeRow,
)
from muniment_server.identity.principal import CallContext, Permission
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.erasures import ErasureRow
from muniment_server.storage.memories import lock_scopes, read_scopes

from .consenting import check_unheard_of, decided, told_consent
from .consistency import issue_token
from .erasure_record import Receipt, get_erasure, record, to_receipt
from .erasure_record import finish as finish_erasure
from .idempotency import RequestMark, earlier_response, remember
from .removal import EraseCommand, Removal
from .repeating import Epochs, repeated
from .scoping import bind_scope, create_scope, is_genuine_scope, reading_key, usable_scope, writing_key
from .sealing import ScopeChange
from .services import Services
from .viewing import view_within

METHOD = "SetConsent"
WITHDRAWN = 2
"""The contract's ERASURE_REASON_CONSENT_WITHDRAWN."""


@dataclass(frozen=True, slots=True)
class ConsentCommand:
    """What is decided. `level` None: left as it is. `erase`: also what the decision does not cover."""

    scope: Scope
    level: ConsentLevel | None
    necessary_kinds: frozenset[MemoryKind]
    forget_session: str | None
    erase: bool
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class ConsentSet:
    """What holds now, and what was erased with it."""

    consent: Consent
    erasure: Receipt | None
    consistency_token: str


async def set_consent(services: Services, context: CallContext, command: ConsentCommand) -> ConsentSet:
    """Change what may be remembered, and erase in the same transaction what is no longer covered.

    Raises InvalidRequest, PermissionDenied (also for an erasure without that permission),
    RequestIdPayloadMismatch, TransactionConflict, IntegrityViolation.
    """
    bind_scope(context, command.scope)
    if context.principal.agent is not None:
        # The decision holds for every agent, and one of them does not speak for the others.
        raise PermissionDenied("agent")
    _check(command)
    if command.erase and not context.principal.allows(Permission.ERASE):
        raise PermissionDenied(Permission.ERASE.value)
    tenant_id = context.tenant_id
    key = await services.keys.tenant(tenant_id)
    mark = RequestMark.of(key, context.principal, command.request_id, METHOD, command.payload)
    now = services.clock()
    erasure_id = new_id()
    scope_id = key.scope_id(int(command.scope.kind), command.scope.label)

    async def attempt(epochs: Epochs) -> tuple[bytes, ErasureRow | None]:
        async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
            earlier = await earlier_response(work, mark, None)
            if earlier is not None:
                return earlier, None
            removal = Removal(services, context, key, work, erasure_id, now, epochs)
            return await _decide(removal, command, mark, scope_id)

    response, recorded = await repeated(attempt)
    services.on_recorded(tenant_id)
    answer = json.loads(response)
    erasure = None
    if recorded is not None:
        if recorded.state is ErasureState.PENDING:
            recorded = await finish_erasure(services, tenant_id, recorded)
        erasure = to_receipt(recorded)
    elif answer["erasure_id"]:
        erasure = await get_erasure(services, context, UUID(answer["erasure_id"]))
    return ConsentSet(Consent.from_bytes(answer["consent"].encode()), erasure, answer["token"])


def _check(command: ConsentCommand) -> None:
    violations = []
    if command.level is None and command.forget_session is None:
        violations.append(
            FieldViolation("level", "consent.decision", "must be set, or a session must be named")
        )
    if command.level is ConsentLevel.NECESSARY and not command.necessary_kinds:
        violations.append(
            FieldViolation("necessary_kinds", "consent.kinds", "must name the kinds that are necessary")
        )
    if command.level is not ConsentLevel.NECESSARY and command.necessary_kinds:
        violations.append(
            FieldViolation("necessary_kinds", "consent.kinds", "belongs to CONSENT_LEVEL_NECESSARY only")
        )
    if violations:
        raise InvalidRequest(violations)


async def _decide(
    removal: Removal, command: ConsentCommand, mark: RequestMark | None, scope_id: UUID
) -> tuple[bytes, ErasureRow | None]:
    """The answer, and what was erased with the decision."""
    services, work, key, now = removal.services, removal.work, removal.key, removal.now
    erased = await _erase(removal, command) if command.erase else None
    erasure_id = erased.erasure_id if erased is not None else None
    scope_key, row = await _opened(services, work, key, command, scope_id, now)
    after = _changed(decided(row), command, now)
    change = ScopeChange(scope_key, work.tenant_id, replace(row, consent=after.to_bytes()))
    await change.close(work, now)
    token = issue_token(key, services.instance, now)
    response = json.dumps(
        {
            "consent": after.to_bytes().decode(),
            "erasure_id": str(erasure_id) if erasure_id else "",
            "token": token,
        }
    ).encode()
    await services.trail.record(
        work,
        key,
        removal.context,
        AuditAction.SET_CONSENT,
        now=now,
        scope_id=scope_id,
        session=command.forget_session,
        request_id=str(mark.request_id) if mark else None,
        details={"consent_changed": _details(after, command, erasure_id)},
    )
    await remember(work, mark, response, scope_id=None, key=None, now=now)
    return response, erased


def _changed(before: Consent, command: ConsentCommand, now: datetime) -> Consent:
    after = replace(before, update_time=now)
    if command.level is not None:
        after = replace(after, level=command.level, necessary_kinds=command.necessary_kinds)
    session = command.forget_session
    if session is not None:
        others = [one for one in after.forgotten_sessions if one != session]
        if len(others) >= MAX_SESSIONS:
            raise InvalidRequest.of(
                "forget_session",
                "consent.max_sessions",
                f"must not be the {MAX_SESSIONS + 1}th session of the subject; use a level instead",
            )
        after = replace(after, forgotten_sessions=(*others, session))
    return after


def _details(after: Consent, command: ConsentCommand, erasure_id: UUID | None) -> dict[str, Any]:
    return {
        "level": int(after.level) if after.level is not None else 0,
        "level_changed": command.level is not None,
        "necessary_kinds": sorted(int(kind) for kind in after.necessary_kinds),
        "session_forgotten": command.forget_session is not None,
        "erasure_id": str(erasure_id) if erasure_id else None,
    }


async def _erase(removal: Removal, command: ConsentCommand) -> ErasureRow | None:
    """The erasure of what the decision does not cover, as recorded; None where that is nothing."""
    targets = _targets(command)
    if not targets:
        return None
    for target in targets:
        await removal.remove(target)
    return await record(removal, targets[0], None)


def _targets(command: ConsentCommand) -> list[EraseCommand]:
    """What the decision does not cover."""
    if command.level is ConsentLevel.NONE:
        return [EraseCommand(ErasureTarget.SCOPE, scope=command.scope, reason=WITHDRAWN)]
    found = []
    if command.level is ConsentLevel.NECESSARY:
        others = [kind for kind in MemoryKind if kind not in command.necessary_kinds]
        if others:
            restriction = MemoryFilter(kinds=others, states=EVERY_STATE)
            found.append(
                EraseCommand(
                    ErasureTarget.FILTER, scope=command.scope, restriction=restriction, reason=WITHDRAWN
                )
            )
    if command.forget_session is not None:
        session = replace(command.scope, session=command.forget_session)
        found.append(EraseCommand(ErasureTarget.SESSION, scope=session, reason=WITHDRAWN))
    return found


async def _opened(
    services: Services,
    work: UnitOfWork,
    tenant_key: TenantKey,
    command: ConsentCommand,
    scope_id: UUID,
    now: datetime,
) -> tuple[ScopeKey, ScopeRow]:
    """The locked row of the scope and its key; made when nothing was ever written or decided there.

    A row without a label, as an erasure leaves it, gets none: a decision is no reason to name anybody.
    """
    row = (await lock_scopes(work, [scope_id])).get(scope_id)
    if row is None:
        key = await writing_key(services.keys, work.tenant_id, scope_id)
        await check_unheard_of(work, tenant_key, scope_id)
        await create_scope(work, key, command.scope, scope_id, now)
        row = (await lock_scopes(work, [scope_id])).get(scope_id)
        return key, usable_scope(work.tenant_id, key, command.scope, row)
    found = await reading_key(services.keys, work.tenant_id, scope_id, row.key_epoch)
    if found is None or not is_genuine_scope(work.tenant_id, found, row):
        raise IntegrityViolation()
    return found, row


async def read_consent(services: Services, work: UnitOfWork, key: TenantKey, scope_id: UUID) -> Consent:
    """What a subject decided. Raises IntegrityViolation when the row is not what the service sealed."""
    row = (await read_scopes(work, [scope_id])).get(scope_id)
    if row is None:
        if await told_consent(work, key, scope_id) is not None:
            raise IntegrityViolation()
        return Consent()
    scope_key = await reading_key(services.keys, work.tenant_id, scope_id, row.key_epoch)
    if scope_key is None or not is_genuine_scope(work.tenant_id, scope_key, row):
        raise IntegrityViolation()
    return decided(row)


async def get_consent(services: Services, context: CallContext, scope: Scope) -> Consent:
    """What a subject decided. Raises PermissionDenied, IntegrityViolation."""
    bind_scope(context, scope)
    await view_within(services, context, scope)
    key = await services.keys.tenant(context.tenant_id)
    scope_id = key.scope_id(int(scope.kind), scope.label)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        found = await read_consent(services, work, key, scope_id)
        await services.trail.record(
            work, key, context, AuditAction.DESCRIBE_SUBJECT, now=services.clock(), scope_id=scope_id
        )
    services.on_recorded(context.tenant_id)
    return found
