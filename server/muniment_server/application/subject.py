"""DescribeSubject: what is stored about a subject, counted by the database and told in plain words."""

from dataclasses import dataclass
from uuid import UUID

from muniment_server.audit.events import AuditAction
from muniment_server.domain.consent import Consent
from muniment_server.domain.model import MemoryFilter, MemoryKind, Scope, SourceType
from muniment_server.domain.plain_words import Holding, language_of, sentence, summary
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.memories import filter_values

from .consent import read_consent
from .consenting import default_consent
from .scoping import bind_scope
from .services import Services
from .viewing import within_view


@dataclass(frozen=True, slots=True)
class Described:
    """The holdings, each with its sentence, what the subject decided, and the whole account."""

    holdings: list[tuple[Holding, str]]
    consent: Consent
    summary: str
    language: str


async def describe(services: Services, context: CallContext, scope: Scope, language: str) -> Described:
    """What is stored of a subject, as far as the caller may see it.

    Raises PermissionDenied, IntegrityViolation.
    """
    bind_scope(context, scope)
    restriction = await within_view(services, context, scope, MemoryFilter())
    key = await services.keys.tenant(context.tenant_id)
    scope_id = key.scope_id(int(scope.kind), scope.label)
    chosen = language_of(language)
    settings = await services.settings.of(context.tenant_id)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        consent = await read_consent(services, work, key, scope_id)
        holdings = await _holdings(work, scope_id, restriction, context.principal.agent)
        await services.trail.record(
            work, key, context, AuditAction.DESCRIBE_SUBJECT, now=services.clock(), scope_id=scope_id
        )
    services.on_recorded(context.tenant_id)
    return Described(
        [(holding, sentence(holding, chosen)) for holding in holdings],
        consent,
        summary(holdings, consent.under(default_consent(settings)), scope.kind, language),
        chosen,
    )


async def _holdings(
    work: UnitOfWork, scope_id: UUID, restriction: MemoryFilter, bound_agent: str | None
) -> list[Holding]:
    rows = await work.fetch(
        "subject_holdings", **filter_values(restriction), scope_id=scope_id, bound_agent=bound_agent
    )
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
