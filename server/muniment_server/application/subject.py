"""DescribeSubject: what is stored about a subject, counted by the database and told in plain words."""

from dataclasses import dataclass
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.domain.consent import Consent
from muniment_server.domain.errors import PermissionDenied
from muniment_server.domain.model import MemoryKind, Scope, SourceType
from muniment_server.domain.plain_words import Holding, language_of, sentence, summary
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork

from .consent import read_consent
from .consenting import default_consent
from .scoping import bind_scope
from .services import Services
from .viewing import may_name, view_of


@dataclass(frozen=True, slots=True)
class Described:
    """The holdings, each with its sentence, what the subject decided, and the whole account."""

    holdings: list[tuple[Holding, str]]
    consent: Consent
    summary: str
    language: str


async def describe(services: Services, context: CallContext, scope: Scope, language: str) -> Described:
    """What is stored of a subject. Raises PermissionDenied, IntegrityViolation."""
    bind_scope(context, scope)
    view = await view_of(services, context, scope)
    if view is not None and not may_name(view, scope.kind, scope.label):
        raise PermissionDenied("space")
    key = await services.keys.tenant(context.tenant_id)
    scope_id = key.scope_id(int(scope.kind), scope.label)
    chosen = language_of(language)
    settings = await services.settings.of(context.tenant_id)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        consent = await read_consent(services, work, key, scope_id)
        holdings = [
            one
            for one in await _holdings(work, scope_id, context.principal.agent)
            if view is None
            or (
                (view.kinds is None or one.kind in view.kinds)
                and (view.source_types is None or one.source_type in view.source_types)
            )
        ]
        await services.trail.record(
            work, key, context, AuditAction.DESCRIBE_SUBJECT, now=services.clock(), scope_id=scope_id
        )
    services.on_recorded(context.tenant_id)
    return Described(
        [(holding, sentence(holding, chosen)) for holding in holdings],
        consent,
        summary(holdings, consent.under(default_consent(settings)), scope.kind, chosen),
        chosen,
    )


async def _holdings(work: UnitOfWork, scope_id: UUID, bound_agent: str | None) -> list[Holding]:
    rows = await work.fetch("subject_holdings", scope_id=scope_id, bound_agent=bound_agent)
    found = []
    for row in rows:
        try:
            kind, source = MemoryKind(row["kind"]), SourceType(row["source_type"])
        except ValueError:
            # Nothing that the service stored; `muniment verify` tells of it.
            continue
        found.append(
            Holding(
                kind,
                source,
                row["memories"],
                row["oldest"],
                row["newest"],
                row["expiring"],
                row["last_expire"],
            )
        )
    return found
