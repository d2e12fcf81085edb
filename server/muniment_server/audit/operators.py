"""What operators do at the command line, in the trail of every tenant that it concerns."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.administration import Administered
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import ScopeKind
from muniment_server.storage.audit import insert_event_as_owner

from .events import Actor, AuditAction, AuditEvent, AuditOutcome, to_micros


class OperatorTrail:
    """Writes acts into the transaction that does them; the sealer of any server chains the events.

    tenant_key: gets a tenant's key from the key store. Without it there is no event, and so no act.
    """

    def __init__(
        self,
        actor: Actor,
        tenant_key: Callable[[UUID], TenantKey],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._actor = actor
        self._tenant_key = tenant_key
        self._clock = clock

    def __call__(self, cursor: psycopg.Cursor[Any], tenant_id: UUID, done: Administered) -> None:
        """Write one act into one tenant's trail. cursor: in the owner's transaction.

        Raises what the key store raises.
        """
        key = self._tenant_key(tenant_id)
        bound = None if done.subject is None else key.scope_id(int(ScopeKind.SUBJECT), done.subject)
        event = AuditEvent(
            event_id=new_id(),
            tenant_id=tenant_id,
            time=self._clock(),
            action=AuditAction.ADMINISTER,
            outcome=AuditOutcome.OK,
            actor=self._actor,
            scope_id=bound,
            details={"administered": administered_details(done)},
        )
        payload = event.payload()
        insert_event_as_owner(cursor, event, payload, key.audit_mac(payload))


def administered_details(done: Administered) -> dict[str, Any]:
    """An act as the audit tells it."""
    return {
        "act": int(done.act),
        "credential_id": str(done.credential_id) if done.credential_id else None,
        "public_id": done.public_id or None,
        "permissions": list(done.permissions),
        "source_types": [int(source) for source in done.source_types],
        "max_trust": int(done.max_trust) if done.max_trust is not None else None,
        "subject_bound": done.subject is not None,
        "agent": done.agent,
        "expire_time": to_micros(done.expire_time) if done.expire_time else None,
        "master_key_id": done.master_key_id or None,
        **(
            {
                "setting": done.setting or None,
                "value": done.value or None,
                "policy_revision": done.policy_revision,
                "policy_digest": done.policy_digest.hex(),
            }
            if done.policy_revision
            else {"value": done.value}
            if done.value
            else {}
        ),
    }
