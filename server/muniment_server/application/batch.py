"""Some items on their way into one scope, whoever writes them: Write, an ingest, an extraction, an import.

`gathered` does everything that needs no lock: provenance, gates, index terms, vectors. `applying.apply` does
the rest under the lock of the scope's row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.model import NewMemory, Revision, Scope
from muniment_server.domain.settings import TenantSettings
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.indexing import IndexTerms

from .conflicts import Near
from .gating import screen
from .judging import judged, reviewed
from .preparing import Prepared, analyse, prepare, stamp
from .services import Services
from .vectors import ItemVector
from .vectors import vectors as made_vectors
from .viewing import lets_change, view_of


@dataclass(frozen=True, slots=True)
class Batch:
    """What stays the same in every attempt to store some items. screened: every item after the gates.

    kept: those that no gate dropped, with what the index and the models make of them.
    """

    services: Services
    context: CallContext
    scope: Scope
    scope_id: UUID
    tenant_key: TenantKey
    settings: TenantSettings
    screened: Sequence[Screened]
    kept: Sequence[Screened]
    analysed: Sequence[IndexTerms]
    made: Sequence[ItemVector]
    near: Near
    view: AgentView | None = None

    def prepared(self, key: ScopeKey) -> list[Prepared]:
        """The kept items, hashed and encrypted under the scope's key."""
        return prepare(key, self.kept, self.analysed, self.made)

    def lets_change(self, revision: Revision) -> bool:
        """Whether the caller may change a memory of the scope."""
        return lets_change(self.view, self.context, self.scope.kind, self.scope.label, revision)


async def gathered(
    services: Services,
    context: CallContext,
    scope: Scope,
    items: Sequence[NewMemory],
    *,
    path: str = "items[{}]",
    extraction: bool = False,
    near: bool = True,
) -> Batch:
    """Everything about items that needs no lock; the scope is bound, the items are checked.

    path, extraction: see `gating.screen`. near: whether memories near to them are looked for.
    Raises ContentRefused, SourceNotAllowed, EmbedderUnavailable, Overloaded.
    """
    provenances = [stamp(context, item, index, scope.session) for index, item in enumerate(items)]
    tenant_key = await services.keys.tenant(context.tenant_id)
    settings = await services.settings.of(context.tenant_id)
    scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
    screened = await screen(services, context.tenant_id, items, provenances, path=path, extraction=extraction)
    kept = [one for one in screened if not one.dropped]
    analysed = await analyse([one.item for one in kept])
    made = await item_vectors(services, context, [one.item for one in kept])
    most = settings.review.conflicts if near else 0
    around = await Near.of(services, context, scope, scope_id, most)
    view = await view_of(services, context)
    batch = Batch(
        services, context, scope, scope_id, tenant_key, settings, screened, kept, analysed, made, around, view
    )
    return await _judged(batch) if near else batch


async def narrowed(batch: Batch, scope: Scope, places: Sequence[int]) -> Batch:
    """Some items of a batch that was gathered without what is near, for the scope narrowed to them."""
    numbers: dict[int, int] = {}
    for place, one in enumerate(batch.screened):
        if not one.dropped:
            numbers[place] = len(numbers)
    kept = [numbers[place] for place in places if place in numbers]
    near = await Near.of(
        batch.services, batch.context, scope, batch.scope_id, batch.settings.review.conflicts
    )
    return await _judged(
        replace(
            batch,
            scope=scope,
            screened=[batch.screened[place] for place in places],
            kept=[batch.kept[number] for number in kept],
            analysed=[batch.analysed[number] for number in kept],
            made=[batch.made[number] for number in kept],
            near=near,
        )
    )


async def _judged(batch: Batch) -> Batch:
    """The batch with what a judge says, where there is one and the tenant wants to hear it."""
    policy = batch.settings.review.judge
    if batch.services.judge is None or policy == "off":
        return batch
    said, merges = await judged(batch.services, batch.context, batch.near, batch.kept, batch.prepared)
    heard = replace(batch, near=replace(batch.near, judged=said))
    if policy != "review":
        return heard
    return replace(
        heard,
        screened=reviewed(batch.screened, said, merges),
        kept=reviewed(batch.kept, said, merges),
    )


def candidate_keys(prepared: Sequence[Prepared]) -> tuple[list[bytes], list[str]]:
    """Statement hashes and slots by which the live memories are found that items may restate or replace."""
    hashes = sorted({one.item.statement_hash for one in prepared})
    slots = sorted({one.item.slot for one in prepared if one.item.slot is not None})
    return hashes, slots


async def item_vectors(
    services: Services, context: CallContext, items: Sequence[NewMemory]
) -> list[ItemVector]:
    """The vectors of a call's items, as the policy of the installation has it; see `vectors.vectors`."""
    return await made_vectors(
        services.models,
        items,
        services.write_policy,
        services.backlog,
        context.remaining(),
        tenant_id=context.tenant_id,
    )
