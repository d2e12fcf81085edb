"""ReportUse: which of the offered memories entered a prompt, by the caller's word.

Besides the record, an outcome is counted per memory and reporter, which moves later recalls a little
(docs/recall.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, MemoryNotInRecall
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict, UnitOfWork
from muniment_server.storage.feedback import count_outcome

from .audit import report_forged
from .consistency import issue_token
from .get_recall import ForgedEvent, find_recall
from .idempotency import RequestMark, earlier_response, remember
from .services import Services

METHOD = "ReportUse"
_OUTCOMES = {1: "helpful", 2: "neutral", 3: "harmful"}
"""The contract's numbers."""


@dataclass(frozen=True, slots=True)
class ReportUseCommand:
    """`outcome` is the contract's number, 0 for no judgement; `payload` as for a Write."""

    recall_id: UUID
    memory_ids: Sequence[UUID]
    outcome: int = 0
    model: str = ""
    prompt_ref: str = ""
    request_id: UUID | None = None
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class UseReported:
    """The event that records the report."""

    event_id: UUID
    consistency_token: str


async def report_use(services: Services, context: CallContext, command: ReportUseCommand) -> UseReported:
    """Record a use report, or answer what was answered before for the same request id.

    Raises RecallNotFound, MemoryNotInRecall, RequestIdPayloadMismatch, and IntegrityViolation when the
    receipt of the recall is not what the service wrote.
    """
    key = await services.keys.tenant(context.tenant_id)
    mark = RequestMark.of(key, context.principal, command.request_id, METHOD, command.payload)
    while True:
        forged = False
        reported: UseReported | None = None
        try:
            async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
                earlier = await earlier_response(work, mark, None)
                if earlier is not None:
                    return _decode(earlier)
                try:
                    reported = await _record(services, context, command, key, work, mark)
                except ForgedEvent as error:
                    forged = True
                    await report_forged(services, work, key, context, [error.event_id])
        except UniqueConflict as conflict:
            # The same request id, committed by another call a moment ago: its answer is ours.
            if conflict.constraint != "idempotency_pkey":
                raise
            continue
        services.on_recorded(context.tenant_id)
        if forged or reported is None:
            raise IntegrityViolation(recall_id=str(command.recall_id))
        return reported


async def _record(
    services: Services,
    context: CallContext,
    command: ReportUseCommand,
    key: TenantKey,
    work: UnitOfWork,
    mark: RequestMark | None,
) -> UseReported:
    now = services.clock()
    _, recall = await find_recall(work, key, context, command.recall_id)
    offered = set(recall.memory_ids)
    for memory_id in command.memory_ids:
        if memory_id not in offered:
            raise MemoryNotInRecall(str(command.recall_id), str(memory_id))
    event = await services.trail.record(
        work,
        key,
        context,
        AuditAction.REPORT_USE,
        now=now,
        scope_id=recall.scope_id,
        agent=recall.agent,
        session=recall.session,
        request_id=str(mark.request_id) if mark else None,
        recall_id=command.recall_id,
        memory_ids=command.memory_ids,
        details={
            "memories_used": {
                "recall_id": str(command.recall_id),
                "memory_ids": [str(memory_id) for memory_id in command.memory_ids],
                "outcome": command.outcome,
                "model": command.model,
                "prompt_ref": command.prompt_ref,
            }
        },
    )
    outcome = _OUTCOMES.get(command.outcome)
    if outcome is not None and recall.scope_id is not None and command.memory_ids:
        revisions = {
            UUID(one["memory_id"]): int(one["revision"])
            for one in recall.details["memories_recalled"]["memories"]
        }
        used = {memory_id: revisions[memory_id] for memory_id in command.memory_ids}
        await count_outcome(work, recall.scope_id, used, _actor(context), **{outcome: True})
    reported = UseReported(event.event_id, issue_token(key, services.instance, now))
    await remember(work, mark, _encode(reported), scope_id=None, key=None, now=now)
    return reported


def _actor(context: CallContext) -> str:
    """Whose voice it is: all keys that are bound to one agent have one."""
    principal = context.principal
    if principal.agent is not None:
        return f"agent {principal.agent}"
    return f"credential {principal.credential_id}"


def _encode(reported: UseReported) -> bytes:
    return reported.event_id.bytes + reported.consistency_token.encode()


def _decode(stored: bytes) -> UseReported:
    return UseReported(UUID(bytes=stored[:16]), stored[16:].decode())
