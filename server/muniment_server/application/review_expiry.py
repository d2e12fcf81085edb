"""Reviews that nobody decided in time: the memory is rejected, and the trail says that the service did it."""

from collections import defaultdict
from datetime import datetime, timedelta
from uuid import UUID

from muniment_server.audit.events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome
from muniment_server.audit.trail import write_event
from muniment_server.domain.ids import new_id
from muniment_server.storage.memories import lock_memories, read_scopes
from muniment_server.storage.reviews import forget_notes, overdue_reviews

from .review import ReviewDecision, decided_details, rejected
from .review_notes import is_waiting
from .scoping import EpochChanged, locked_existing, reading_key
from .sealing import ScopeChange, is_genuine
from .services import Services

_OVERDUE = 100
_EXPIRY_SECONDS = 30.0
_SERVICE = Actor(ActorKind.SERVICE, "muniment")


async def expire_reviews(services: Services, tenant_id: UUID) -> int:
    """Reject what has waited longer than the tenant allows; returns how many memories that were."""
    settings = await services.settings.of(tenant_id)
    before = services.clock() - timedelta(days=settings.review.expire_days)
    done = 0
    while True:
        async with services.database.transaction(tenant_id, timeout=_EXPIRY_SECONDS) as work:
            overdue = await overdue_reviews(work, before, _OVERDUE)
        by_scope: dict[UUID, list[UUID]] = defaultdict(list)
        for memory_id, scope_id in overdue:
            by_scope[scope_id].append(memory_id)
        ended = 0
        for scope_id in sorted(by_scope):
            ended += await _expire(services, tenant_id, scope_id, by_scope[scope_id], before)
        done += ended
        # What was not ended is not what the service stored: `muniment verify` tells of it.
        if len(overdue) < _OVERDUE or not ended:
            break
    if done:
        services.on_recorded(tenant_id)
    return done


async def _expire(
    services: Services, tenant_id: UUID, scope_id: UUID, memory_ids: list[UUID], before: datetime
) -> int:
    tenant_key = await services.keys.tenant(tenant_id)
    now = services.clock()
    async with services.database.transaction(tenant_id, timeout=_EXPIRY_SECONDS) as work:
        found = (await read_scopes(work, [scope_id])).get(scope_id)
        key = await reading_key(services.keys, tenant_id, scope_id, found.key_epoch if found else None)
        if key is None:
            return 0
        try:
            row = await locked_existing(work, key, scope_id)
        except EpochChanged:
            return 0
        pairs = [
            (current, rejected(current, now))
            for current, contradicted in await lock_memories(work, memory_ids)
            if is_waiting(current.state)
            and current.update_time < before
            and not contradicted
            and is_genuine(key, tenant_id, current)
        ]
        if not pairs:
            return 0
        change = ScopeChange(key, tenant_id, row)
        await change.change(work, pairs)
        await forget_notes(work, [current.memory_id for current, _ in pairs])
        await change.close(work, now)
        for _, after in pairs:
            event = AuditEvent(
                event_id=new_id(),
                tenant_id=tenant_id,
                time=now,
                action=AuditAction.DECIDE_REVIEW,
                outcome=AuditOutcome.OK,
                actor=_SERVICE,
                scope_id=scope_id,
                agent=after.agent,
                session=after.session,
                memory_ids=[after.memory_id],
                details=decided_details(after, ReviewDecision.REJECT, None),
            )
            await write_event(work, tenant_key, event)
    return len(pairs)
