"""Makes the vectors that are not there: of writes that did not wait for them, and for a change of model.

What is to be done stands in the database: rows that wait, and memories without a row for the model of a
running change. So nothing is lost whoever is killed, and to begin again is to go on. A vector is stored
under the lock of its scope and only while its memory is there, so that none outlives an erasure.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from muniment_server.audit.events import Actor, ActorKind, AuditAction, AuditEvent, AuditOutcome
from muniment_server.audit.operators import administered_details
from muniment_server.audit.trail import write_event
from muniment_server.domain.administration import AdministrativeAct, administered_change
from muniment_server.domain.ids import new_id
from muniment_server.embedding.errors import EmbedderUnavailable
from muniment_server.embedding.live import LiveModel
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.storage.database import Database
from muniment_server.storage.embeddings import (
    drop_vectors,
    waiting_scopes,
)
from muniment_server.storage.reindexing import (
    Reindex,
    ReindexState,
    dropped,
    filled,
    lease,
    open_changes,
    settle_analyzer,
    switch,
    transactions,
)
from muniment_server.storage.verification import scopes as scope_page

from .filling import Filled, Filler
from .models import ModelKeeper
from .reanalyse import reanalyse_scope
from .services import Services

_log = logging.getLogger("muniment.reembed")

_SCOPES = 200
_SWEEP_SECONDS = 30.0
_CHANGE_SECONDS = 2.0
"""How soon a process looks again at a change that another one works on, in case that one is gone."""
_SOON = 0.05
_LOOK_SECONDS = 5.0
"""How long a scope is looked at again that had nothing to do yet: its write may not be committed."""
_MOST_PAUSE = 5.0
_HOLD_SECONDS = 1.0
"""How often the lease on a change is renewed, and so how soon an abortion of it is noticed."""


class ReindexStopped(Exception):
    """The change is not this process's to work on any more: aborted, or taken by another one."""


@dataclass(slots=True)
class _Known:
    """A scope in which this process stored memories without vectors: how many, and when last."""

    count: int = 0
    noted: float = 0.0


@dataclass(slots=True)
class Reembedder:
    """The background task of a process. Without `maintenance` it does only what this process left undone."""

    services: Services
    keeper: ModelKeeper
    maintenance: Database | None
    worker: UUID = field(default_factory=uuid4)
    filler: Filler = field(init=False)
    _known: dict[tuple[UUID, UUID], _Known] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _swept: float = float("-inf")
    _held: float = float("-inf")
    _patience: float = _SWEEP_SECONDS
    _settled: int = 0
    _told: set[UUID] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make the part that fills."""
        self.filler = Filler(self.services)

    def note(self, tenant_id: UUID, scope_id: UUID, count: int) -> None:
        """Hear that a write stores `count` memories without vectors; 0: that somebody waits for some."""
        known = self._known.setdefault((tenant_id, scope_id), _Known())
        known.count += count
        known.noted = asyncio.get_running_loop().time()
        self.services.backlog.size += count
        self._wake.set()

    def wake(self) -> None:
        """Look for work soon."""
        self._swept = float("-inf")
        self._wake.set()

    async def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name="muniment-reembed")

    async def stop(self) -> None:
        """End; what is undone is done by whoever comes next."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        pause = _SOON
        while True:
            try:
                busy = await self.step()
                pause = _SOON
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("vectors could not be made: %s", type(error).__name__)
                busy, pause = True, min(pause * 2, _MOST_PAUSE)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause if busy else self._patience):
                    await self._wake.wait()
            self._wake.clear()
            if pause > _SOON:
                # While the embedder is down, a write that waits is no reason to ask it again at once.
                await asyncio.sleep(pause)

    async def step(self) -> bool:
        """Do what there is to do; tells whether to look again soon. Raises when the embedder is down."""
        busy = await self._fill_known()
        if self.maintenance is None:
            return busy
        loop = asyncio.get_running_loop()
        if loop.time() - self._swept >= _SWEEP_SECONDS:
            self._swept = loop.time()
            await self._sweep(self.services.models.current)
        changes = await open_changes(self.maintenance)
        self._patience = _CHANGE_SECONDS if changes else _SWEEP_SECONDS
        for change in changes:
            busy |= await self._carry_on(change)
        return busy | await self._analyse()

    # --- another version of the analysis ------------------------------------------------------------

    async def _analyse(self) -> bool:
        """Derive terms anew that older versions of the analysis made, until there are none."""
        if self.maintenance is None or self.services.models.oldest_analyzer >= ANALYZER_VERSION:
            return False
        oldest, bound = await transactions(self.maintenance)
        # What a transaction writes that had begun before the first look is not overlooked.
        self._settled = self._settled or bound
        done = 0
        async for tenant_id, scope_id, _ in self._scopes():
            done += await reanalyse_scope(self.services, tenant_id, scope_id)
        if done or oldest < self._settled:
            return True
        await settle_analyzer(self.maintenance, ANALYZER_VERSION)
        await self.keeper.refresh()
        _log.info("every memory is analysed by version %d", ANALYZER_VERSION)
        return False

    # --- what waits ---------------------------------------------------------------------------------

    async def _fill_known(self) -> bool:
        now = asyncio.get_running_loop().time()
        for place, known in list(self._known.items()):
            done = await self.filler.fill(*place, self.services.models.current, missing=False)
            settled = min(known.count, done.stored)
            known.count -= settled
            self.services.backlog.size -= settled
            if done.failed:
                raise EmbedderUnavailable("some texts could not be embedded")
            if known.count == 0 or now - known.noted > _LOOK_SECONDS:
                self.services.backlog.size -= known.count
                if self._known.get(place) is known:
                    del self._known[place]
        return bool(self._known)

    async def _sweep(self, live: LiveModel | None) -> None:
        if live is None:
            return
        for tenant_id in await self._tenants():
            while True:
                async with self.services.database.transaction(tenant_id, timeout=10.0) as work:
                    found = await waiting_scopes(work, live.model_no, _SCOPES)
                done = Filled()
                for scope_id in found:
                    one = await self.filler.fill(tenant_id, scope_id, live, missing=False)
                    done.stored += one.stored
                    done.failed += one.failed
                if done.failed:
                    raise EmbedderUnavailable("some texts could not be embedded")
                if not done.stored:
                    break

    # --- a change of model --------------------------------------------------------------------------

    async def _carry_on(self, seen: Reindex) -> bool:
        """Take a change as far as it goes now; tells whether to look again soon."""
        if self.maintenance is None:
            return False
        services = self.services
        change = await lease(self.maintenance, seen.reindex_id, self.worker, services.clock())
        if change is None:
            return False
        try:
            if change.state is ReindexState.RUNNING:
                await self._fill_all(change)
                change = await lease(self.maintenance, seen.reindex_id, self.worker, services.clock())
            if change is None:
                return False
            if change.state is ReindexState.FILLED and not change.automatic:
                await self._sweep(self.services.models.upcoming)
            if change.state is ReindexState.FILLED and change.automatic:
                if await switch(self.maintenance, change, services.clock()):
                    _log.info(
                        "switched the embedding model from number %d to %d", change.from_no, change.to_no
                    )
                await self.keeper.refresh()
                change = await lease(self.maintenance, seen.reindex_id, self.worker, services.clock())
            if change is not None and change.state is ReindexState.SWITCHED:
                await self._tell(change)
                await self._drop(change, change.from_no)
            elif change is not None and change.state is ReindexState.ABORTED:
                await self._drop(change, change.to_no)
        except ReindexStopped:
            return True
        return False

    async def _fill_all(self, change: Reindex) -> None:
        """Fill until nothing is missing that any transaction can have left out."""
        if self.maintenance is None:
            return
        await self.keeper.refresh()
        models = self.services.models
        live = models.current if models.current.model_no == change.to_no else models.upcoming
        if live is None or live.model_no != change.to_no:
            return

        async def hold() -> None:
            await self._hold(change)

        # Whoever did not see the change yet had begun before it did: wait until all of those are over.
        _, bound = await transactions(self.maintenance)
        _log.info("giving every memory a vector of the embedding model %s", live.model.name)
        while True:
            oldest, _ = await transactions(self.maintenance)
            done = Filled()
            async for tenant_id, scope_id, _ in self._scopes():
                await self._hold(change)
                one = await self.filler.fill(tenant_id, scope_id, live, missing=True, hold=hold)
                done.stored += one.stored
                done.failed += one.failed
            if done.failed:
                raise EmbedderUnavailable("some texts could not be embedded")
            if not done.stored and oldest >= bound:
                break
            await asyncio.sleep(_SOON)
        await filled(self.maintenance, change, self.services.clock())
        _log.info("every memory has been seen by the embedding model %s", live.model.name)

    async def _tell(self, change: Reindex) -> None:
        """Have the switch stand in the trail of every tenant.

        Before the change is over, so that one that a process did not live to tell of is told by the next:
        rather twice than never.
        """
        if change.from_no == change.to_no or change.reindex_id in self._told:
            return
        services, names = self.services, await self._model_names()
        done = administered_change(
            AdministrativeAct.EMBEDDING_SWITCHED, names[change.from_no], names[change.to_no]
        )
        for tenant_id in await self._tenants():
            key = await services.keys.tenant(tenant_id)
            event = AuditEvent(
                event_id=new_id(),
                tenant_id=tenant_id,
                time=services.clock(),
                action=AuditAction.ADMINISTER,
                outcome=AuditOutcome.OK,
                actor=Actor(ActorKind.SERVICE, "muniment"),
                details={"administered": administered_details(done)},
            )
            async with services.database.transaction(tenant_id, timeout=30.0) as work:
                await write_event(work, key, event)
            services.on_recorded(tenant_id)
        self._told.add(change.reindex_id)

    async def _model_names(self) -> dict[int, str]:
        if self.maintenance is None:
            return {}
        async with self.maintenance.transaction(None, timeout=10.0) as work:
            return {row["model_no"]: row["name"] for row in await work.fetch("model_list")}

    async def _drop(self, change: Reindex, model_no: int) -> None:
        if self.maintenance is None:
            return
        if change.from_no != change.to_no:
            async for tenant_id, _, number in self._scopes():
                await self._hold(change)
                async with self.services.database.transaction(tenant_id, timeout=60.0) as work:
                    await drop_vectors(work, number, model_no)
        await dropped(self.maintenance, change.reindex_id, self.services.clock())
        _log.info("dropped the vectors of embedding model number %d", model_no)

    async def _hold(self, change: Reindex) -> None:
        """Keep the lease. Raises ReindexStopped when the change is in another state or another's."""
        now = asyncio.get_running_loop().time()
        if self.maintenance is None or now - self._held < _HOLD_SECONDS:
            return
        self._held = now
        kept = await lease(self.maintenance, change.reindex_id, self.worker, self.services.clock())
        if kept is None or kept.state is not change.state:
            raise ReindexStopped

    async def _scopes(self) -> AsyncIterator[tuple[UUID, UUID, int]]:
        """Every scope: tenant, scope, and the number that its row has."""
        for tenant_id in await self._tenants():
            after: UUID | None = None
            while True:
                async with self.services.database.transaction(tenant_id, timeout=30.0) as work:
                    page = await scope_page(work, after=after, limit=_SCOPES)
                for scope, number in page:
                    yield tenant_id, scope.scope_id, number
                if len(page) < _SCOPES:
                    break
                after = page[-1][0].scope_id

    async def _tenants(self) -> list[UUID]:
        if self.maintenance is None:
            return []
        async with self.maintenance.transaction(None, timeout=10.0) as work:
            return [row["tenant_id"] for row in await work.fetch("tenant_list")]
