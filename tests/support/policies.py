"""Settings and views as an operator sets them, beside a running service."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg

from muniment_server.application.policies import policy_digest, seal_view, signed
from muniment_server.audit.events import Actor, ActorKind
from muniment_server.audit.operators import OperatorTrail
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.administration import Administered, AdministrativeAct
from muniment_server.domain.agent_views import AgentView
from muniment_server.storage.policies import PolicyRows, change_policy
from support.service import RunningService


def _keys(service: RunningService) -> Callable[[UUID], TenantKey]:
    """Tenants' keys for another thread than the running loop's."""
    loop = asyncio.get_running_loop()
    return lambda tenant_id: asyncio.run_coroutine_threadsafe(
        service.key_store.tenant_key(tenant_id), loop
    ).result()


def operator_trail(
    service: RunningService, key_of: Callable[[UUID], TenantKey] | None = None
) -> OperatorTrail:
    """The trail of an operator, to be written to by another thread than the running loop's."""
    return OperatorTrail(Actor(ActorKind.OPERATOR, "anna"), key_of or _keys(service))


async def set_policy(
    service: RunningService,
    tenant: str,
    settings: Mapping[str, Any] | None = None,
    views: Mapping[str, AgentView] | None = None,
) -> None:
    """Replace everything that a tenant set; values as they are in JSON. Waits until the service knows."""
    key_of = _keys(service)

    def change(tenant_id: UUID, before: PolicyRows) -> tuple[PolicyRows, Administered]:
        key = key_of(tenant_id)
        rows = replace(
            before,
            revision=before.revision + 1,
            settings={name: json.dumps(value) for name, value in (settings or {}).items()},
            views={agent: seal_view(key, agent, view) for agent, view in (views or {}).items()},
        )
        after = signed(key, rows)
        act = AdministrativeAct.SETTING_CHANGED
        return after, Administered(act, policy_revision=after.revision, policy_digest=policy_digest(after))

    def work() -> None:
        trail = operator_trail(service, key_of)
        with psycopg.connect(service.database.superuser_conninfo, autocommit=True) as connection:
            change_policy(connection, tenant, change, trail)

    await asyncio.to_thread(work)
    # A hint does the same within milliseconds; a test does not wait for it.
    service.service.services.settings.drop_all()
