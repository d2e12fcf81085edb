"""What a process does every now and then for all tenants, besides the work of calls."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from muniment_server.storage.database import Database
from muniment_server.storage.tenants import tenant_ids
from muniment_server.telemetry.instruments import metrics

from .backlogs import backlogs
from .erasure_record import finish_pending
from .review_expiry import expire_reviews
from .services import Services

_log = logging.getLogger("muniment.service")

_SECONDS = 30.0
_ANSWER_WINDOW = timedelta(hours=72)


@dataclass(slots=True)
class Upkeep:
    """The background task. Without `maintenance`, which sees all tenants, it only purges keys."""

    services: Services
    maintenance: Database | None

    def start(self) -> asyncio.Task[None]:
        """Begin; whoever cancels the task ends it."""
        return asyncio.create_task(self._run(), name="muniment-upkeep")

    async def _run(self) -> None:
        """Finish what a crash or an outage of the key store left pending; forget what is old."""
        while True:
            try:
                await self.finish_pending_erasures()
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("pending erasures could not be looked through: %s", type(error).__name__)
            try:
                await self.forget_answers()
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("old answers could not be forgotten: %s", type(error).__name__)
            try:
                await self.expire_reviews()
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("overdue reviews could not be rejected: %s", type(error).__name__)
            try:
                await self.measure_backlogs()
            except Exception as error:  # noqa: BLE001 - tried again in a while
                _log.warning("what waits could not be counted: %s", type(error).__name__)
            await asyncio.sleep(_SECONDS)
            self.services.keys.purge()

    async def finish_pending_erasures(self) -> int:
        """Complete erasures that wait for their keys; returns how many still wait."""
        if self.maintenance is None:
            return 0
        left = 0
        for tenant_id in await tenant_ids(self.maintenance):
            left += await finish_pending(self.services, tenant_id)
        metrics().erasures_pending(left)
        return left

    async def forget_answers(self) -> None:
        """Remove stored answers that are older than the window of a request id."""
        if self.maintenance is None:
            return
        before = self.services.clock() - _ANSWER_WINDOW
        for tenant_id in await tenant_ids(self.maintenance):
            async with self.maintenance.transaction(tenant_id, timeout=10.0) as work:
                await work.send("idempotency_expire", before=before)

    async def expire_reviews(self) -> int:
        """Reject what waited too long for a person; returns how many memories that were."""
        if self.maintenance is None:
            return 0
        ended = 0
        for tenant_id in await tenant_ids(self.maintenance):
            ended += await expire_reviews(self.services, tenant_id)
        return ended

    async def measure_backlogs(self) -> None:
        """Tell the metrics what waits, where something reads them."""
        if self.maintenance is None or not metrics().enabled:
            return
        found = await backlogs(self.services, await tenant_ids(self.maintenance))
        metrics().embeddings_pending(found.embeddings, found.embedding_lag)
        metrics().ingests_pending(found.ingests, found.ingest_lag)
        metrics().reviews_pending(found.reviews)
        metrics().audit_pending(found.events)
