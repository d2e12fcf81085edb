"""What waits for the service or for a person, over all tenants, for whoever watches the installation."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment_server.storage.database import Row

from .services import Services

MOST = 10_000
"""Of one tenant's backlog so much is counted at most: beyond it, more of it says nothing new."""
_SECONDS = 10.0


@dataclass(slots=True)
class Backlogs:
    """Sums over tenants.

    embeddings, embedding_lag: memories without their vector, and the age of the oldest in seconds.
    ingests, ingest_lag: ingests whose turns are to be looked at, and for how long the first conversation has
    been due. reviews: memories that wait for a reviewer. events: audit events without a place in their chain.
    """

    embeddings: int = 0
    embedding_lag: float = 0.0
    ingests: int = 0
    ingest_lag: float = 0.0
    reviews: int = 0
    events: int = 0

    def add(self, row: Row, now: datetime) -> None:
        """Add one tenant's."""
        self.embeddings += row["embeddings"]
        self.ingests += row["ingests"]
        self.reviews += row["reviews"]
        self.events += row["events"]
        self.embedding_lag = max(self.embedding_lag, _age(row["embeddings_since"], now))
        self.ingest_lag = max(self.ingest_lag, _age(row["ingests_since"], now))


async def backlogs(services: Services, tenants: Iterable[UUID]) -> Backlogs:
    """What waits now."""
    found = Backlogs()
    for tenant_id in tenants:
        async with services.database.transaction(tenant_id, timeout=_SECONDS) as work:
            row = await work.fetch_one("backlogs", most=MOST)
        if row is not None:
            found.add(row, services.clock())
    return found


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
