"""What holds about being remembered in a scope: from its sealed row, or told anew by the audit trail.

The decision stands in the scope's row and under its seal, so that whoever locks the row to write has it
at hand, and nobody who can write to the database can change it, take it away or put an earlier one back
unnoticed. Every change stands in the trail as well, which tells what was decided when the row itself cannot
be believed or is gone.
"""

from dataclasses import replace
from uuid import UUID

from muniment_server.audit.events import AuditEvent
from muniment_server.audit.stored import EventForged, open_event
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.consent import Consent, ConsentLevel
from muniment_server.domain.errors import IntegrityViolation
from muniment_server.domain.model import MemoryKind, ScopeRow
from muniment_server.domain.settings import TenantSettings
from muniment_server.storage.database import UnitOfWork

from .scoping import is_genuine_scope

_ROWS = 500


def default_consent(settings: TenantSettings) -> Consent:
    """What holds where a subject decided nothing."""
    level = ConsentLevel[settings.consent.default.upper()]
    return Consent(level, settings.consent.kinds() if level is ConsentLevel.NECESSARY else frozenset())


def decided(row: ScopeRow | None) -> Consent:
    """What a subject decided, from a genuine row. Raises IntegrityViolation for one that nobody stored."""
    try:
        return Consent.from_bytes(row.consent if row is not None else None)
    except ValueError:
        raise IntegrityViolation() from None


def consent_of(row: ScopeRow | None, settings: TenantSettings) -> Consent:
    """What holds in a scope with this genuine row (None: never written to), the tenant's default included."""
    return decided(row).under(default_consent(settings))


def changed(before: Consent, event: AuditEvent) -> Consent:
    """A decision after one change as the trail tells it."""
    told = event.details["consent_changed"]
    after = replace(before, update_time=event.time)
    if told["level_changed"]:
        after = replace(
            after,
            level=ConsentLevel(told["level"]),
            necessary_kinds=frozenset(MemoryKind(number) for number in told["necessary_kinds"]),
        )
    if told["session_forgotten"] and event.session is not None:
        sessions = [one for one in after.forgotten_sessions if one != event.session]
        after = replace(after, forgotten_sessions=(*sessions, event.session))
    return after


async def told_consent(work: UnitOfWork, key: TenantKey, scope_id: UUID) -> Consent | None:
    """What the audit trail says that a subject decided; None: nothing was ever decided.

    Events that are not what the service wrote are passed over; `muniment verify` names them.
    """
    found: Consent | None = None
    for row in await work.fetch("consent_events", scope_id=scope_id):
        try:
            event = open_event(key, row)
            found = changed(found or Consent(), event)
        except (EventForged, KeyError, TypeError, ValueError):
            continue
    return found


async def check_unheard_of(work: UnitOfWork, key: TenantKey, scope_id: UUID) -> None:
    """Before a scope's row is made: raise IntegrityViolation when something was decided there already.

    Then somebody took the row away, and with it the decision.
    """
    if await told_consent(work, key, scope_id) is not None:
        raise IntegrityViolation()


async def every_told_consent(work: UnitOfWork, key: TenantKey) -> dict[UUID, Consent]:
    """`told_consent` of all scopes of a tenant in which something was decided."""
    found: dict[UUID, Consent] = {}
    after: UUID | None = None
    while True:
        rows = await work.fetch("verify_consents", after=after, limit=_ROWS)
        for row in rows:
            try:
                event = open_event(key, row)
                scope_id = row["scope_id"]
                found[scope_id] = changed(found.get(scope_id, Consent()), event)
            except (EventForged, KeyError, TypeError, ValueError):
                continue
        if len(rows) < _ROWS:
            return found
        after = rows[-1]["event_id"]


async def is_withheld(
    work: UnitOfWork, tenant_key: TenantKey, key: ScopeKey, row: ScopeRow | None, settings: TenantSettings
) -> bool:
    """Whether nothing that is stored may be recalled. Where the row cannot be believed, the trail is."""
    if row is None or is_genuine_scope(work.tenant_id, key, row):
        return consent_of(row, settings).withheld
    told = await told_consent(work, tenant_key, row.scope_id)
    return (told or Consent()).under(default_consent(settings)).withheld
