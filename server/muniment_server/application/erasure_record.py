"""An erasure as it is recorded: its receipt, complete once its keys are destroyed, and read again later."""

import json
import logging
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from muniment_server.audit.events import AuditAction, to_micros
from muniment_server.crypto.errors import KeyStoreError
from muniment_server.crypto.signing import receipt_bytes
from muniment_server.domain.errors import ErasureNotFound, IntegrityViolation
from muniment_server.domain.model import ErasureState, ErasureTarget
from muniment_server.identity.principal import CallContext
from muniment_server.storage.erasures import (
    ErasureRow,
    insert_erasure,
    pending_erasures,
    read_erasure,
    update_erasure,
)
from muniment_server.telemetry.instruments import metrics

from .idempotency import RequestMark, remember
from .receipts import is_genuine_receipt, is_pending, pending_mac
from .removal import EraseCommand, Removal, Tally
from .scoping import in_reach
from .services import Services

_log = logging.getLogger(__name__)

_SAMPLE = 100


class Kept(IntEnum):
    """What an erasure leaves; the contract's KeptItem."""

    AUDIT_EVENTS = 1
    TOMBSTONES = 2
    KEYS = 4
    BACKUPS = 5


class KeptReason(IntEnum):
    """Why."""

    PROOF = 1
    STORE_UNAVAILABLE = 2
    KEY_IN_USE = 3
    OUT_OF_REACH = 4


@dataclass(frozen=True, slots=True)
class Receipt:
    """An erasure receipt; `facts` is the content of `signed_bytes`."""

    facts: dict[str, Any]
    signed_bytes: bytes = b""
    signature: bytes | None = None
    signing_key_id: str = ""
    sample: list[UUID] = field(default_factory=list)
    consistency_token: str = ""


def dry_receipt(command: EraseCommand, tally: Tally, now: datetime) -> Receipt:
    """The receipt of an erasure that was only tried."""
    return Receipt(
        facts=_facts(command, tally, None, None, now),
        sample=sorted(tally.memory_ids, reverse=True)[:_SAMPLE],
    )


async def record(removal: Removal, command: EraseCommand, mark: RequestMark | None) -> ErasureRow:
    """Queue the event, the receipt and the answer of what was removed."""
    services, work, key, now = removal.services, removal.work, removal.key, removal.now
    tally, erasure_id = removal.tally, removal.erasure_id
    facts = _facts(command, tally, work.tenant_id, erasure_id, now)
    event = await services.trail.record(
        work,
        key,
        removal.context,
        AuditAction.ERASE,
        now=now,
        scope_id=tally.scope_id,
        agent=command.scope.agent if command.scope else None,
        session=command.scope.session if command.scope else None,
        request_id=str(mark.request_id) if mark else None,
        memory_ids=tally.memory_ids,
        details={
            "memory_erased": {
                "erasure_id": str(erasure_id),
                "target_kind": int(command.target),
                "reason": command.reason,
                "reason_code": command.reason_code,
                "counts": facts["counts"],
                "keys_destroyed": 0 if tally.destroy_through is None else 1,
            }
        },
    )
    facts["event_id"] = str(event.event_id)
    row = ErasureRow(
        erasure_id=erasure_id,
        state=ErasureState.PENDING,
        target=command.target,
        scope_id=tally.scope_id,
        key_epoch=tally.destroy_through,
        receipt=receipt_bytes(facts | {"state": int(ErasureState.PENDING)}),
        signature=None,
        create_time=now,
        complete_time=None,
    )
    if tally.destroy_through is None:
        row = await _completed(services, row, 0, now)
    else:
        row = replace(row, signature=pending_mac(key, row))
    await insert_erasure(work, row)
    await remember(work, mark, erasure_id.bytes, scope_id=None, key=None, now=now)
    return row


def _facts(
    command: EraseCommand, tally: Tally, tenant_id: UUID | None, erasure_id: UUID | None, now: datetime
) -> dict[str, Any]:
    kept = [{"item": int(Kept.AUDIT_EVENTS), "count": 0, "reason": int(KeptReason.PROOF)}]
    if tally.memory_ids:
        kept.append(
            {"item": int(Kept.TOMBSTONES), "count": len(tally.memory_ids), "reason": int(KeptReason.PROOF)}
        )
        if command.target is not ErasureTarget.SCOPE:
            kept.append({"item": int(Kept.KEYS), "count": 0, "reason": int(KeptReason.KEY_IN_USE)})
        kept.append({"item": int(Kept.BACKUPS), "count": 0, "reason": int(KeptReason.OUT_OF_REACH)})
    return {
        "tenant_id": str(tenant_id) if tenant_id else None,
        "erasure_id": str(erasure_id) if erasure_id else "",
        "state": 0,
        "target_kind": int(command.target),
        "scope_id": str(tally.scope_id) if tally.scope_id else None,
        "reason": command.reason,
        "reason_code": command.reason_code,
        "validate_only": command.validate_only,
        "counts": {
            "memories": len(tally.memory_ids),
            "revisions": tally.revisions,
            "embeddings": tally.embeddings,
            "postings": tally.postings,
            "idempotency_records": tally.idempotency_records,
            "queued_jobs": tally.queued_jobs,
            "derived_rows": tally.derived_rows,
        },
        "kept": kept,
        "keys_destroyed": 0,
        "create_time": to_micros(now),
        "complete_time": None,
        "event_id": "",
        "signing_key_id": "",
    }


async def _completed(services: Services, row: ErasureRow, destroyed: int, now: datetime) -> ErasureRow:
    """The row with its final, signed receipt."""
    signing = await services.keys.store.signing_key()
    facts = json.loads(row.receipt)
    facts |= {
        "state": int(ErasureState.COMPLETE),
        "keys_destroyed": destroyed,
        "complete_time": to_micros(now),
        "signing_key_id": signing.key_id,
    }
    receipt = receipt_bytes(facts)
    return replace(
        row,
        state=ErasureState.COMPLETE,
        receipt=receipt,
        signature=signing.sign_receipt(receipt),
        complete_time=now,
    )


async def finish(services: Services, tenant_id: UUID, row: ErasureRow) -> ErasureRow:
    """Destroy the keys of a recorded erasure and complete its receipt.

    Harmless to repeat; the row as it is comes back when the key store does not answer, and when it is not
    what the service recorded: whoever can write into the database must neither have a key destroyed nor
    a receipt signed.
    """
    pending = is_pending(await services.keys.tenant(tenant_id), row)
    if not pending or row.scope_id is None or row.key_epoch is None:
        _log.error("erasure %s is not what the service recorded; no key is destroyed", row.erasure_id)
        metrics().integrity_violation(1)
        return row
    services.keys.drop(tenant_id, row.scope_id)
    services.models.clear()
    try:
        destroyed = await services.keys.store.destroy_scope_keys(tenant_id, row.scope_id, row.key_epoch)
        done = await _completed(services, row, max(destroyed, 1), services.clock())
    except KeyStoreError as error:
        _log.error("erasure %s waits for the key store: %s", row.erasure_id, type(error).__name__)
        return row
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        await update_erasure(work, done)
    return done


async def finish_pending(services: Services, tenant_id: UUID) -> int:
    """Complete the erasures of a tenant that a crash or an outage left pending; returns how many are left."""
    async with services.database.transaction(tenant_id, timeout=10.0) as work:
        rows = await pending_erasures(work)
    left = 0
    for row in rows:
        done = await finish(services, tenant_id, row)
        left += done.state is ErasureState.PENDING
    return left


async def get_erasure(services: Services, context: CallContext, erasure_id: UUID) -> Receipt:
    """The receipt of an earlier erasure. Raises ErasureNotFound, and IntegrityViolation when the stored
    receipt is not what the service signed.
    """
    key = await services.keys.tenant(context.tenant_id)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        row = await read_erasure(work, erasure_id)
    if row is None or (
        context.principal.subject is not None
        and (row.scope_id is None or not in_reach(context, key, row.scope_id))
    ):
        raise ErasureNotFound(str(erasure_id))
    if not is_genuine_receipt(key, await services.keys.store.public_keys(), row):
        raise IntegrityViolation(erasure_id=str(erasure_id))
    return to_receipt(row)


def to_receipt(row: ErasureRow) -> Receipt:
    """The receipt of a recorded erasure."""
    facts = json.loads(row.receipt)
    signed = row.state is not ErasureState.PENDING
    return Receipt(
        facts=facts,
        signed_bytes=row.receipt if signed else b"",
        signature=row.signature if signed else None,
        signing_key_id=facts["signing_key_id"],
    )
