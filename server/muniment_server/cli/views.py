"""`muniment views`: what each agent may see. A view narrows what requests reach, and never widens it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from . import policy
from .keys import SourceChoice, TrustChoice
from .output import CommandError, Json, note, print_json, print_table, time_text
from .settings import Tenant

if TYPE_CHECKING:
    from muniment_server.crypto.tenant_key import TenantKey
    from muniment_server.domain.administration import Administered
    from muniment_server.domain.agent_views import AgentView
    from muniment_server.storage.policies import PolicyRows

app = typer.Typer(name="views", help="Bound what an agent may see.", no_args_is_help=True)

_NAME_CHARACTERS = 256
_MOST = 64
Agent = Annotated[str, typer.Argument(help="The agent, as credentials and requests name it.")]


@app.command("set")
def set_(
    agent: Agent,
    tenant: Tenant,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind of memory it may see, for example fact; repeat for several."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only memories with this tag; repeat: with one of them.")
    ] = None,
    source_type: Annotated[
        list[SourceChoice] | None, typer.Option(help="Source type it may see; repeat for several.")
    ] = None,
    min_trust: Annotated[TrustChoice | None, typer.Option(help="Lowest trust it may see.")] = None,
    space: Annotated[
        list[str] | None, typer.Option(help="Only this space, beside subjects; repeat for several.")
    ] = None,
    no_spaces: Annotated[bool, typer.Option("--no-spaces", help="No space at all.")] = False,
) -> None:
    """Set the view of an agent in place of the one it had. Running servers follow at once, or within 5 s.

    It holds for credentials that are bound to the agent, and for requests of others that name it.
    """
    from muniment_server.application.policies import seal_view
    from muniment_server.domain.agent_views import AgentView
    from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel

    _check(agent, "AGENT")
    try:
        kinds = frozenset(MemoryKind[name.upper()] for name in kind or ())
    except KeyError:
        raise CommandError(f"--kind is one of {', '.join(one.name.lower() for one in MemoryKind)}.") from None
    for text, option in ((tag or [], "--tag"), (space or [], "--space")):
        for one in text:
            _check(one, option)
        if len(text) > _MOST:
            raise CommandError(f"{option} may be given at most {_MOST} times.")
    if no_spaces and space:
        raise CommandError("--space and --no-spaces exclude each other.")
    sources = [
        one
        for one in SourceType
        if SourceChoice.ALL in (source_type or ()) or one.name.lower() in (source_type or ())
    ]
    view = AgentView(
        kinds=kinds or None,
        tags=frozenset(tag or ()) or None,
        source_types=frozenset(sources) or None,
        min_trust=None if min_trust is None else TrustLevel[min_trust.name],
        spaces=frozenset(space or ()) if space or no_spaces else None,
    )
    if view == AgentView():
        raise CommandError("A view without any bound is no view; `muniment views remove` takes one away.")

    def edit(key: "TenantKey", rows: "PolicyRows") -> "tuple[PolicyRows, Administered]":
        return replace(rows, views={**rows.views, agent: seal_view(key, agent, view)}), _told(agent, view)

    policy.change(tenant, edit)
    print(f"{agent} of {tenant} sees {_text(view)}.")


@app.command("list")
def list_(tenant: Tenant, as_json: Json = False) -> None:
    """List the views of a tenant's agents."""
    known = policy.read(tenant)
    views = sorted(known.policy.views.items())
    if as_json:
        print_json(
            [
                {
                    "agent": agent,
                    "kinds": None if view.kinds is None else sorted(view.kinds),
                    "tags": None if view.tags is None else sorted(view.tags),
                    "source_types": None if view.source_types is None else sorted(view.source_types),
                    "min_trust": view.min_trust,
                    "spaces": None if view.spaces is None else sorted(view.spaces),
                    "set_time": known.view_times.get(agent),
                }
                for agent, view in views
            ]
        )
        return
    print_table(
        ("AGENT", "SEES", "SET"),
        ((agent, _text(view), time_text(known.view_times.get(agent))) for agent, view in views),
        empty="No agent is bounded by a view.",
    )


@app.command()
def remove(agent: Agent, tenant: Tenant) -> None:
    """Take an agent's view away: it sees what its credential and its requests reach."""

    def edit(_key: "TenantKey", rows: "PolicyRows") -> "tuple[PolicyRows, Administered]":
        if agent not in rows.views:
            raise CommandError(f"The agent {agent!r} has no view.")
        left = {other: sealed for other, sealed in rows.views.items() if other != agent}
        return replace(rows, views=left), _told(agent, None)

    policy.change(tenant, edit)
    note(f"{agent} of {tenant} is not bounded by a view any more.")


def _check(text: str, what: str) -> None:
    if not text or len(text) > _NAME_CHARACTERS or "\x00" in text:
        raise CommandError(f"{what} has 1 to {_NAME_CHARACTERS} characters.")


def _text(view: "AgentView") -> str:
    parts = []
    if view.kinds is not None:
        parts.append("kinds " + ", ".join(kind.name.lower() for kind in sorted(view.kinds)))
    if view.tags is not None:
        parts.append("tags " + ", ".join(sorted(view.tags)))
    if view.source_types is not None:
        parts.append("sources " + ", ".join(one.name.lower() for one in sorted(view.source_types)))
    if view.min_trust is not None:
        parts.append(f"trust from {view.min_trust.name.lower()}")
    if view.spaces is not None:
        parts.append("spaces " + (", ".join(sorted(view.spaces)) or "none"))
    return "; ".join(parts)


def _told(agent: str, view: "AgentView | None") -> "Administered":
    from muniment_server.domain.administration import Administered, AdministrativeAct

    # Names of spaces are encrypted where they are stored, and do not stand in the trail.
    text = (
        "" if view is None else replace(view, spaces=None if view.spaces is None else frozenset()).to_json()
    )
    return Administered(AdministrativeAct.VIEW_CHANGED, agent=agent, value=text)
