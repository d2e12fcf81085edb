"""ExportAudit: a tenant's chain in ascending order with all that somebody outside needs to check it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from muniment_server.audit.canonical import CHAIN_START, checkpoint_bytes
from muniment_server.domain.errors import PermissionDenied
from muniment_server.identity.principal import CallContext
from muniment_server.storage.audit_chain import (
    Checkpoint,
    chain_range,
    checkpoints,
    count_waiting,
    digests_at,
    read_state,
)

from .audit import record_reading
from .services import Services

Settle: TypeAlias = Callable[[UUID], Awaitable[object]]
"""Chains what a tenant has waiting."""

_ROWS = 200
_MESSAGE_BYTES = 1_000_000
_EVENT_OVERHEAD = 160
_SETTLE_SECONDS = 10.0
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExportStart:
    """The first part. Numbers are 0 when nothing will be sent."""

    tenant: str
    tenant_id: UUID
    first_sequence: int
    last_sequence: int
    first_prev_digest: bytes
    signing_keys: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ChainedEvent:
    """One event as it stands in the chain; without bytes when the stored event is gone."""

    sequence: int
    event_id: UUID
    canonical_bytes: bytes
    prev_digest: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class SignedState:
    """A checkpoint and the bytes that its signature covers."""

    checkpoint: Checkpoint
    signed_bytes: bytes


@dataclass(frozen=True, slots=True)
class ExportEnd:
    """The last part."""

    event_count: int
    last_sequence: int
    last_digest: bytes
    unchained_count: int


ExportPart: TypeAlias = ExportStart | list[ChainedEvent] | SignedState | ExportEnd


async def export_audit(
    services: Services,
    context: CallContext,
    *,
    from_sequence: int | None,
    to_sequence: int | None,
    settle: Settle | None,
) -> AsyncIterator[ExportPart]:
    """The parts of an export: a start, events with the checkpoints that cover them, an end.

    Sends what is stored, whether or not it holds: to find that out is what an export is for. The chain
    is read in short transactions, since nothing in it ever changes and a slow reader must not hold one
    open. Raises PermissionDenied for a credential that is bound to a subject or an agent:
    the chain is the tenant's.
    """
    if context.principal.subject is not None:
        raise PermissionDenied("subject")
    if context.principal.agent is not None:
        raise PermissionDenied("agent")
    tenant_id = context.tenant_id
    key = await services.keys.tenant(tenant_id)
    async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
        await record_reading(services, work, key, context, "ExportAudit")
    services.on_recorded(tenant_id)
    if settle is not None:
        await _settle(settle, tenant_id, min(_SETTLE_SECONDS, context.remaining() / 2))
    first = from_sequence or 1
    async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
        state = await read_state(work)
        end = state.head.sequence if state.head else 0
        before = (await digests_at(work, [first - 1])).get(first - 1, b"") if first > 1 else CHAIN_START
    last = end if to_sequence is None else min(to_sequence, end)
    nothing = first > last
    yield ExportStart(
        tenant=context.tenant_name,
        tenant_id=tenant_id,
        first_sequence=0 if nothing else first,
        last_sequence=0 if nothing else last,
        first_prev_digest=before,
        signing_keys=await services.keys.store.public_keys(),
    )
    sent, sent_to, place, digest = 0, 0, first - 1, before
    while not nothing and place < last:
        async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
            rows = await chain_range(work, place, last, _ROWS)
            until = rows[-1]["sequence"] if rows else last
            signed = await checkpoints(work, place, until, _ROWS)
        message: list[ChainedEvent] = []
        size = 0
        for row in rows:
            payload = bytes(row["payload"]) if row["present"] else b""
            size += len(payload) + _EVENT_OVERHEAD
            if message and size > _MESSAGE_BYTES:
                yield message
                message, size = [], len(payload) + _EVENT_OVERHEAD
            one = ChainedEvent(row["sequence"], row["event_id"], payload, digest, bytes(row["digest"]))
            message.append(one)
            sent, sent_to, digest = sent + 1, one.sequence, one.digest
        if message:
            yield message
        for checkpoint in signed:
            yield _signed(tenant_id, checkpoint)
        place = until
    async with services.database.transaction(tenant_id, timeout=context.remaining()) as work:
        waiting = await count_waiting(work)
    yield ExportEnd(sent, sent_to, digest if sent else b"", waiting)


async def _settle(settle: Settle, tenant_id: UUID, seconds: float) -> None:
    # Not cancelled when it takes too long: what was chained then is still to be anchored. What is not
    # chained in time is counted at the end of the export.
    chaining = asyncio.ensure_future(settle(tenant_id))
    await asyncio.wait([chaining], timeout=seconds)


def _signed(tenant_id: UUID, checkpoint: Checkpoint) -> SignedState:
    try:
        signed = checkpoint_bytes(tenant_id, checkpoint.sequence, checkpoint.digest, checkpoint.create_time)
    except (TypeError, ValueError):
        signed = b""
    return SignedState(checkpoint, signed)
