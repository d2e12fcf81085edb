"""Many audit events at once, written by the service's own trail."""

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from muniment_server.audit.events import AuditAction
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import CallContext, Permission, Principal
from support.service import Caller, RunningService


async def record_events(
    shared: RunningService,
    caller: Caller,
    count: int,
    *,
    action: AuditAction = AuditAction.GET_MEMORY,
    memory_ids: Sequence[UUID] = (),
    details: Mapping[str, Any] | None = None,
) -> list[str]:
    """Record events in the caller's tenant, in one transaction; gives their ids, oldest first."""
    services = shared.service.services
    tenant_id = shared.tenant_id(caller.tenant)
    key = await services.keys.tenant(tenant_id)
    principal = Principal(
        credential_id=uuid4(),
        kind="api_key",
        tenants={caller.tenant: tenant_id},
        permissions=frozenset(Permission),
        source_types=frozenset(SourceType),
        max_trust=TrustLevel.CONFIRMED,
    )
    context = CallContext(
        principal=principal,
        tenant_id=tenant_id,
        tenant_name=caller.tenant,
        method="test",
        request_id=uuid4().hex,
        trace_id=uuid4().hex,
        span_id=uuid4().hex[:16],
        deadline=time.monotonic() + 60,
    )
    made = []
    async with services.database.transaction(tenant_id, timeout=60) as work:
        for _ in range(count):
            event = await services.trail.record(
                work,
                key,
                context,
                action,
                now=services.clock(),
                memory_ids=memory_ids,
                details=details or {},
            )
            made.append(str(event.event_id))
    services.on_recorded(tenant_id)
    return made
