"""Write: 1 to 100 statements into one scope, all or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.model import NewMemory, Scope
from muniment_server.domain.write_result import WriteResult
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import OpenedWrite, open_write
from muniment_server.telemetry import names
from muniment_server.telemetry.spans import memory_span

from .applying import apply
from .batch import Batch, candidate_keys, gathered
from .conflicts import Requests
from .consenting import check_unheard_of
from .consistency import issue_token
from .idempotency import RequestMark, remember, stored_response
from .preparing import Prepared, check_expiry, check_items
from .repeating import Epochs, repeated
from .scoping import bind_scope, create_scope, usable_scope, writing_key
from .sealing import ScopeChange
from .services import Services
from .viewing import check_space

METHOD = "Write"


@dataclass(frozen=True, slots=True)
class WriteCommand:
    """`payload` is the request's deterministic bytes, by which a repeated request id is compared."""

    scope: Scope
    items: Sequence[NewMemory]
    request_id: UUID | None
    payload: bytes


@dataclass(frozen=True, slots=True)
class Written:
    """The results in the order of the items."""

    results: list[WriteResult]
    consistency_token: str


Encode: TypeAlias = Callable[[Written], bytes]
"""Makes the bytes that are stored for the request id and answered again on a repetition."""


async def write(services: Services, context: CallContext, command: WriteCommand, encode: Encode) -> bytes:
    """Store the items, or answer what was stored before for the same request id.

    Raises InvalidRequest, ContentRefused, SourceNotAllowed, PermissionDenied, RequestIdPayloadMismatch,
    EmbedderUnavailable, Overloaded; on any error nothing is stored.
    """
    scope = bind_scope(context, command.scope)
    await check_space(services, context, scope)
    check_items(command.items)
    check_expiry(command.items, services.clock())
    tenant_key = await services.keys.tenant(context.tenant_id)
    batch = await gathered(services, context, scope, command.items)
    mark = RequestMark.of(tenant_key, context.principal, command.request_id, METHOD, command.payload)

    async def attempt(epochs: Epochs) -> bytes:
        scope_id = batch.scope_id
        key = await writing_key(services.keys, context.tenant_id, scope_id, epochs.get(scope_id))
        return await _store(batch, mark, encode, key, batch.prepared(key))

    with memory_span(
        names.OP_UPSERT_MEMORY,
        store_id=str(context.tenant_id),
        record_count=len(command.items),
        agent=scope.agent,
        session=scope.session,
    ):
        response = await repeated(attempt)
    services.on_recorded(context.tenant_id)
    return response


async def _store(
    batch: Batch, mark: RequestMark | None, encode: Encode, key: ScopeKey, prepared: Sequence[Prepared]
) -> bytes:
    services, context, scope = batch.services, batch.context, batch.scope
    now = services.clock()
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        opened = await _open(work, batch, mark, prepared, batch.near.requests(prepared))
        if opened.scope is None:
            await check_unheard_of(work, batch.tenant_key, batch.scope_id)
            await create_scope(work, key, scope, batch.scope_id, now)
            opened = await _open(work, batch, mark, prepared)
        row = usable_scope(context.tenant_id, key, scope, opened.scope)
        earlier = stored_response(opened.answer, mark, key)
        if earlier is not None:
            return earlier
        change = ScopeChange(key, context.tenant_id, row)
        done = await apply(work, batch, change, prepared, opened.candidates, opened.also, now)
        response = encode(Written(done.results, issue_token(batch.tenant_key, services.instance, now)))
        event = await services.trail.record(
            work,
            batch.tenant_key,
            context,
            AuditAction.WRITE,
            now=now,
            scope_id=batch.scope_id,
            agent=scope.agent,
            session=scope.session,
            request_id=str(mark.request_id) if mark else None,
            memory_ids=done.touched,
            source_types=done.source_types,
            details={"memory_written": {"items": done.details}},
        )
        await remember(
            work,
            mark,
            response,
            scope_id=batch.scope_id,
            key=key,
            memory_ids=done.touched,
            now=now,
            event_id=event.event_id,
        )
    return response


async def _open(
    work: UnitOfWork,
    batch: Batch,
    mark: RequestMark | None,
    prepared: Sequence[Prepared],
    also: Requests = (),
) -> OpenedWrite:
    hashes, slots = candidate_keys(prepared)
    return await open_write(work, batch.scope_id, mark.request_id if mark else None, hashes, slots, also)
