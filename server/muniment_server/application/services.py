"""What a command needs, put together once per process by service.py."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from muniment_server.audit.trail import AuditTrail
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.domain.errors import TransactionConflict
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.storage.database import Database

from .policies import Policies


def utc_now() -> datetime:
    """The present instant; PostgreSQL keeps microseconds, and so does this."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Instance:
    """The identity of this installation."""

    instance_id: UUID
    model_no: int
    restore_epoch: int


class Attempts:
    """Counts how often a command has lost against other transactions."""

    MOST = 4

    def __init__(self) -> None:
        self._lost = 0

    async def lost(self, conflict: TransactionConflict) -> None:
        """Wait a little before the next attempt, or raise the conflict after the last one."""
        self._lost += 1
        if self._lost >= self.MOST:
            raise conflict
        # Jitter, not secrecy: two that collided must not collide again.
        await asyncio.sleep(random.uniform(0.005, 0.02) * self._lost)  # noqa: S311


@dataclass(frozen=True, slots=True)
class Services:
    """Shared by all commands. `on_recorded` is told the tenant after each committed audit event."""

    database: Database
    keys: KeyRing
    embeddings: EmbeddingService
    trail: AuditTrail
    instance: Instance
    on_recorded: Callable[[UUID], None] = lambda _tenant: None
    clock: Callable[[], datetime] = utc_now
    settings: Policies = field(default_factory=Policies)
