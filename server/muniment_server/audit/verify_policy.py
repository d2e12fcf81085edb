"""Whether a tenant's settings and views are those that an operator set last."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from muniment_server.application.policies import PolicyBroken, policy_digest, to_policy
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.policies import read_policy

from .findings import FindingKind, TenantReport
from .stored import EventForged, open_event

_ROWS = 50


async def check_policy(work: UnitOfWork, key: TenantKey, report: TenantReport) -> None:
    """Hold the rows against their mac, and their state against the newest one that the trail tells of.

    The mac finds every change of single rows; the trail finds all of them put back, or taken away, together.
    """
    rows = await read_policy(work)
    try:
        to_policy(key, rows)
    except PolicyBroken as error:
        report.add(FindingKind.POLICY, f"settings or views are not what an operator set: {error}")
        return
    told = await _told(work, key)
    number = 0 if told is None else told["policy_revision"]
    if rows.revision != number or (told is not None and told["policy_digest"] != policy_digest(rows).hex()):
        report.add(
            FindingKind.POLICY,
            f"settings and views stand at revision {rows.revision}, and the trail tells of {number}",
        )


async def _told(work: UnitOfWork, key: TenantKey) -> Mapping[str, Any] | None:
    """What the newest genuine event says that changed the policy."""
    before: UUID | None = None
    while True:
        rows = await work.fetch("verify_policies", before=before, limit=_ROWS)
        for row in rows:
            try:
                details: Mapping[str, Any] = open_event(key, row).details.get("administered", {})
            except EventForged:
                continue
            if details.get("policy_revision"):
                return details
        if len(rows) < _ROWS:
            return None
        before = rows[-1]["event_id"]
