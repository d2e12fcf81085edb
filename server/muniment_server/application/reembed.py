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
    switch,
    transactions,
    undone,
)
from muniment_server.storage.tenants import tenant_ids
from muniment_server.storage.verification import scopes as scope_page

from .filling import Filled, Filler
from .models import ModelKeeper
from .reanalyse import Reanalysis
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
_ROUND_SECONDS = 1.0
"""How long what waits is worked on before a change of model is looked at again."""
_FIRST_REST, _MOST_REST = 0.5, 60.0
"""How long a scope is left alone whose texts fail while the embedder works; doubled each time."""
_HOLD_SECONDS = 1.0
"""How often the lease on a change is renewed, and so how soon an abortion of it is noticed."""


class ReindexStopped(Exception):
    """The change is not this process's to work on any more: aborted, or taken by another one."""


@dataclass(slots=True)
class _Known:
    """A scope in which memories wait: how many this process stored, and when it last heard of some.

    after: the document behind which to go on. failed: whether some could not be embedded since the beginning
    of the scope. rests, rest: until when it is left alone after that, and for how long.
    """

    count: int = 0
    noted: float = 0.0
    after: int = -1
    failed: bool = False
    stored: bool = False
    rests: float = 0.0
    rest: float = _FIRST_REST


@dataclass(slots=True)
class Reembedder:
    """The background task of a process. Without `maintenance` it does only what this process left undone."""

    services: Services
    keeper: ModelKeeper
    maintenance: Database | None
    worker: UUID = field(default_factory=uuid4)
    filler: Filler = field(init=False)
    reanalysis: Reanalysis = field(init=False)
    _known: dict[tuple[UUID, UUID], _Known] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _swept: float = float("-inf")
    _held: float = float("-inf")
    _patience: float = _SWEEP_SECONDS
    _told: set[UUID] = field(default_factory=set)
    _tried_again: set[UUID] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make the parts that fill and that analyse."""
        self.filler = Filler(self.services)
        self.reanalysis = Reanalysis(self.services, self.keeper, self.maintenance)

    def note(self, tenant_id: UUID, scope_id: UUID, count: int) -> None:
        """Hear that a write stores `count` memories without vectors; 0: that somebody waits for some."""
        known = self._known.setdefault((tenant_id, scope_id), _Known())
        known.count += count
        known.noted = asyncio.get_running_loop().time()
        known.rests = 0.0
        self.services.backlog.add(tenant_id, count)
        self._wake.set()

    def wake(self) -> None:
        """Look for work soon."""
        self._swept = float("-inf")
        self.reanalysis.wake()
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
                async with asyncio.timeout(pause if busy else self._idle()):
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
            busy |= await self._sweep()
        changes = await open_changes(self.maintenance)
        self._patience = _CHANGE_SECONDS if changes else _SWEEP_SECONDS
        for change in changes:
            busy |= await self._carry_on(change)
        return busy | await self.reanalysis.step(self._scopes())

    # --- what waits ---------------------------------------------------------------------------------

    async def _fill_known(self) -> bool:
        """Give tenants turns of a page each, for a while; tells whether there is more to do now."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _ROUND_SECONDS
        while (turns := self._turns()) and loop.time() < end:
            await self._fill_once(turns)
        return bool(turns)

    def _turns(self) -> list[tuple[UUID, UUID]]:
        """A scope of each tenant that has something to do: the one that was served longest ago."""
        now = asyncio.get_running_loop().time()
        turns: dict[UUID, tuple[UUID, UUID]] = {}
        for place, known in self._known.items():
            if known.rests <= now:
                turns.setdefault(place[0], place)
        return list(turns.values())

    async def _fill_once(self, places: list[tuple[UUID, UUID]]) -> None:
        for place in places:
            known = self._known.pop(place)
            # Behind the others, whatever becomes of it: what fails here holds up nobody else.
            self._known[place] = known
            done = await self.filler.fill(
                *place, self.services.models.current, missing=False, after=known.after, one_page=True
            )
            settled = min(known.count, done.stored)
            known.count -= settled
            self.services.backlog.add(place[0], -settled)
            if done.outage is not None:
                raise done.outage
            self._settle(place, known, done)

    def _settle(self, place: tuple[UUID, UUID], known: _Known, done: Filled) -> None:
        """Decide when a scope is looked at again, and whether at all."""
        now = asyncio.get_running_loop().time()
        known.failed |= done.failed > 0
        known.stored |= done.stored > 0
        if done.after is not None:
            known.after = done.after
            return
        if known.failed:
            known.rest = _FIRST_REST if known.stored else min(known.rest * 2, _MOST_REST)
            known.rests = now + known.rest
        elif known.count == 0 or now - known.noted > _LOOK_SECONDS:
            self.services.backlog.add(place[0], -known.count)
            del self._known[place]
        else:
            known.rests = now + _SOON
        known.after, known.failed, known.stored = -1, False, False

    def _idle(self) -> float:
        """Seconds until there may be something to do."""
        now = asyncio.get_running_loop().time()
        return min([self._patience, *(max(_SOON, known.rests - now) for known in self._known.values())])

    async def _sweep(self) -> bool:
        """Find what is left to do, whoever left it: scopes in which something waits, and memories that came
        late with an older analysis. Tells whether there are new scopes."""
        now, before = asyncio.get_running_loop().time(), len(self._known)
        late = self.reanalysis.begin_look()
        versions: list[int] = []
        for tenant_id in await self._tenants():
            async with self.services.database.transaction(tenant_id, timeout=10.0) as work:
                found = await undone(work, self.services.models.current.model_no, _SCOPES, late=late)
            for scope_id in found.scopes:
                self._known.setdefault((tenant_id, scope_id), _Known(noted=now))
            if len(found.scopes) == _SCOPES:
                # There may be more of them: look again soon.
                self._swept = now - _SWEEP_SECONDS + _LOOK_SECONDS
            if found.oldest is not None:
                versions.append(found.oldest)
        if late:
            await self.reanalysis.looked(min(versions, default=None))
        return len(self._known) > before

    async def _fill_upcoming(self) -> None:
        """Make what waits for the model that is being changed to."""
        live = self.services.models.upcoming
        if live is None:
            return
        for tenant_id in await self._tenants():
            while True:
                async with self.services.database.transaction(tenant_id, timeout=10.0) as work:
                    found = await waiting_scopes(work, live.model_no, _SCOPES)
                done = Filled()
                for scope_id in found:
                    done.add(await self.filler.fill(tenant_id, scope_id, live, missing=False))
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
                await self._fill_upcoming()
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
            done, again = Filled(), change.reindex_id not in self._tried_again
            async for tenant_id, scope_id, _ in self._scopes():
                await self._hold(change)
                done.add(
                    await self.filler.fill(tenant_id, scope_id, live, missing=True, again=again, hold=hold)
                )
            self._tried_again.add(change.reindex_id)
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
        return await tenant_ids(self.maintenance)
