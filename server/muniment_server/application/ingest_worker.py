"""The worker that makes memories of queued turns, one in each process of the service.

It is told of every conversation that this process took in and looks through all tenants now and then, because
another process may have ended in between. Several may run at once: a conversation is held by one at a time.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final
from uuid import UUID

from muniment_server.storage.ingest import next_due
from muniment_server.telemetry.logs import describe_exception

from .extract import Ran, extract_due
from .services import Services

_log = logging.getLogger("muniment.ingest")

_LONGEST_PAUSE: Final = 60.0
_AT_A_TIME: Final = 20


class IngestWorker:
    """Looks at what is due.

    tenants: all tenants of the installation; without it only those that this process was told of.
    sweep_interval: seconds between two looks through them. parallel: tenants looked at at once.
    """

    def __init__(
        self,
        services: Services,
        tenants: Callable[[], Awaitable[Iterable[UUID]]] | None,
        *,
        sweep_interval: float = 30.0,
        parallel: int = 2,
    ) -> None:
        self._services = services
        self._tenants = tenants
        self._sweep_interval = sweep_interval
        self._room = asyncio.Semaphore(parallel)
        self._wake = asyncio.Event()
        self._due: dict[UUID, float] = {}
        self._failures: dict[UUID, int] = {}
        self._running: dict[UUID, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def notify(self, tenant_id: UUID) -> None:
        """Say that a conversation of the tenant was taken in. Never waits, never raises."""
        self._schedule(tenant_id, 0.0)

    async def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name="muniment-ingest")

    async def stop(self, timeout: float = 5.0) -> None:
        """End; what is under way gets `timeout` seconds, and is otherwise given back to be begun again."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._running:
            await asyncio.wait(self._running.values(), timeout=timeout)
        for task in list(self._running.values()):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running.values())

    def _schedule(self, tenant_id: UUID, seconds: float) -> None:
        when = time.monotonic() + seconds
        planned = self._due.get(tenant_id)
        if planned is None or when < planned:
            self._due[tenant_id] = when
            self._wake.set()

    async def _run(self) -> None:
        sweep_at = 0.0
        while True:
            if time.monotonic() >= sweep_at:
                await self._sweep()
                sweep_at = time.monotonic() + self._sweep_interval
            now = time.monotonic()
            for tenant_id in [one for one, when in self._due.items() if when <= now]:
                # One that is being looked at is looked at again afterwards.
                if tenant_id not in self._running:
                    del self._due[tenant_id]
                    self._begin(tenant_id)
            self._wake.clear()
            pause = min([sweep_at, *(when for one, when in self._due.items() if one not in self._running)])
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, pause - time.monotonic())):
                    await self._wake.wait()

    def _begin(self, tenant_id: UUID) -> None:
        task = asyncio.create_task(self._look(tenant_id), name="muniment-ingest-tenant")
        self._running[tenant_id] = task

        def ended(_task: asyncio.Task[None]) -> None:
            del self._running[tenant_id]
            self._wake.set()

        task.add_done_callback(ended)

    async def _look(self, tenant_id: UUID) -> None:
        async with self._room:
            try:
                for _ in range(_AT_A_TIME):
                    if await extract_due(self._services, tenant_id) is Ran.NOTHING:
                        break
                else:
                    self._schedule(tenant_id, 0.0)
                    return
                await self._plan(tenant_id)
            except Exception as error:  # noqa: BLE001 - the other tenants still get their turn
                count = self._failures.get(tenant_id, 0) + 1
                self._failures[tenant_id] = count
                pause = min(0.5 * 2 ** min(count, 10), _LONGEST_PAUSE)
                self._schedule(tenant_id, pause)
                _log.warning(
                    "conversations of tenant %s could not be looked at, next try in %.1f s: %s",
                    tenant_id,
                    pause,
                    describe_exception(error),
                )
            else:
                self._failures.pop(tenant_id, None)

    async def _plan(self, tenant_id: UUID) -> None:
        async with self._services.database.transaction(tenant_id, timeout=10.0) as work:
            due = await next_due(work)
        if due is not None:
            # Not sooner than a moment from now: what is due and held by somebody else is not polled hard.
            wait = (due - self._services.clock()).total_seconds()
            self._schedule(tenant_id, max(0.05, wait))

    async def _sweep(self) -> None:
        if self._tenants is None:
            return
        try:
            for tenant_id in await self._tenants():
                self._schedule(tenant_id, 0.0)
        except Exception as error:  # noqa: BLE001 - the next sweep looks again
            _log.warning("conversations could not be looked through: %s", describe_exception(error))
