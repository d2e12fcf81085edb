"""What an agent's view leaves of a request."""

from dataclasses import replace

from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.errors import PermissionDenied
from muniment_server.domain.model import MemoryFilter, Revision, Scope, ScopeKind
from muniment_server.identity.principal import CallContext

from .services import Services


async def view_of(services: Services, context: CallContext, scope: Scope | None = None) -> AgentView | None:
    """The view that bounds a call: of the agent that the credential is bound to, or that the scope names.

    None where nothing bounds it. Raises IntegrityViolation when somebody changed the tenant's views.
    """
    agent = context.principal.agent or (scope.agent if scope is not None else None)
    return await services.settings.view(context.tenant_id, agent)


async def view_within(services: Services, context: CallContext, scope: Scope) -> AgentView | None:
    """The view that bounds a call in a scope. Raises PermissionDenied for a space out of it."""
    view = await view_of(services, context, scope)
    if view is not None and not may_name(view, scope.kind, scope.label):
        raise PermissionDenied("space")
    return view


async def within_view(
    services: Services, context: CallContext, scope: Scope, restriction: MemoryFilter
) -> MemoryFilter:
    """A request's filter, intersected in the database with the view that bounds the call.

    Raises PermissionDenied when the scope is a space out of the view.
    """
    view = await view_within(services, context, scope)
    return restriction if view is None else replace(restriction, view=view)


async def check_space(services: Services, context: CallContext, scope: Scope) -> None:
    """Hold a space that a call writes to against the view of the agent that the credential is bound to.

    Raises PermissionDenied. To be called before a transaction takes the connection.
    """
    view = await view_of(services, context)
    if view is not None and not may_name(view, scope.kind, scope.label):
        raise PermissionDenied("space")


def may_name(view: AgentView, kind: ScopeKind, label: str) -> bool:
    """Whether a view lets a scope be named; only spaces are bounded."""
    return kind is not ScopeKind.SPACE or view.spaces is None or label in view.spaces


def lets_change(
    view: AgentView | None, context: CallContext, kind: ScopeKind, label: str, revision: Revision
) -> bool:
    """Whether a credential with this view may change a memory by its id: what it sees, and what it wrote."""
    if view is None or revision.author == str(context.principal.credential_id):
        return True
    return may_name(view, kind, label) and shows(view, revision)


def shows(view: AgentView | None, revision: Revision) -> bool:
    """Whether a view lets a stored memory be seen, its scope aside."""
    return view is None or view.admits(revision.kind, revision.source_type, revision.trust, revision.tags)
