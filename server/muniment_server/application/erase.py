"""Erase: memories removed from every store, the key destroyed for a whole scope, a signed receipt."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from muniment_server.domain.errors import PermissionDenied
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import ErasureState, ErasureTarget
from muniment_server.identity.principal import CallContext
from muniment_server.storage.erasures import ErasureRow
from muniment_server.telemetry import names
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.spans import memory_span

from .consistency import issue_token
from .erasure_record import Receipt, dry_receipt, finish, get_erasure, record, to_receipt
from .idempotency import RequestMark, earlier_response
from .removal import EraseCommand, Removal, Tally
from .repeating import Epochs, repeated
from .scoping import bind_scope
from .services import Services
from .viewing import check_space, view_of

METHOD = "Erase"


class _DryRun(Exception):
    """Leaves the transaction without committing what was counted in it."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally


async def erase(services: Services, context: CallContext, command: EraseCommand) -> Receipt:
    """Erase, and return the receipt; or the present receipt for a repeated request id.

    After it returned nothing erased is served any more. The receipt is PENDING only when the key store
    could not destroy a key yet. Raises MemoryNotFound for an id that never existed (then nothing is
    erased), PermissionDenied, RequestIdPayloadMismatch, TransactionConflict.
    """
    view = await view_of(services, context)
    if command.scope is not None:
        bind_scope(context, command.scope)
        await check_space(services, context, command.scope)
    if view is not None and command.target is ErasureTarget.SESSION:
        # All of a session is more than what the view shows of it.
        raise PermissionDenied("agent")
    command = replace(command, view=view)
    if command.target is ErasureTarget.SCOPE and context.principal.agent is not None:
        # All of a scope is more than what is narrowed to the agent or to none, and its key is everybody's.
        raise PermissionDenied("agent")
    started = services.clock()
    with memory_span(
        names.OP_DELETE_MEMORY,
        store_id=str(context.tenant_id),
        record_id=str(command.memory_ids[0]) if len(command.memory_ids) == 1 else None,
    ) as span:
        receipt = await _erase(services, context, command, started)
        span.set(names.GEN_AI_MEMORY_RECORD_COUNT, receipt.facts["counts"]["memories"])
        span.set(names.ERASURE_ID, receipt.facts["erasure_id"])
        span.set(names.ERASURE_MODE, command.target.name.lower())
    if not command.validate_only:
        metrics().erased(command.target.name.lower(), (services.clock() - started).total_seconds())
        services.on_recorded(context.tenant_id)
    return receipt


async def _erase(services: Services, context: CallContext, command: EraseCommand, now: datetime) -> Receipt:
    tenant_id = context.tenant_id
    key = await services.keys.tenant(tenant_id)
    mark = RequestMark.of(key, context.principal, command.request_id, METHOD, command.payload)
    erasure_id = new_id()

    async def attempt(epochs: Epochs) -> ErasureRow | bytes:
        """The erasure as recorded, or the id of the one that the same request made before."""
        async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
            earlier = await earlier_response(work, mark, None)
            if earlier is not None:
                return earlier
            removal = Removal(services, context, key, work, erasure_id, now, epochs)
            await removal.remove(command)
            if command.validate_only:
                raise _DryRun(removal.tally)
            return await record(removal, command, mark)

    try:
        recorded = await repeated(attempt)
    except _DryRun as tried:
        found = dry_receipt(command, tried.tally, now)
    else:
        if isinstance(recorded, bytes):
            found = await get_erasure(services, context, UUID(bytes=recorded))
        else:
            if recorded.state is ErasureState.PENDING:
                recorded = await finish(services, tenant_id, recorded)
            found = to_receipt(recorded)
    return replace(found, consistency_token=issue_token(key, services.instance, now))
