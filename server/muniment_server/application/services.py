"""What a command needs, put together once per process by service.py."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from muniment_server.audit.trail import AuditTrail
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.domain.errors import EmbedderUnavailable
from muniment_server.domain.extraction.candidate import ExtractorKind
from muniment_server.domain.packing import ESTIMATE, Tokenizer
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.embedding.live import LiveModel, Models
from muniment_server.extraction.base import Extractor
from muniment_server.judging.base import Judge
from muniment_server.reranking.base import Reranker, RerankPolicy
from muniment_server.storage.database import Database
from muniment_server.storage.recall import EXACT_ROWS

from .extracting import IngestPolicy, rules_only
from .policies import Policies
from .vectors import Backlog, WritePolicy


def utc_now() -> datetime:
    """The present instant; PostgreSQL keeps microseconds, and so does this."""
    return datetime.now(UTC)


class ModelChanged(Exception):
    """The database has another embedding model in use than the one a call began with."""


async def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Instance:
    """The identity of this installation. model_no: the model in use when the process started."""

    instance_id: UUID
    model_no: int
    restore_epoch: int


@dataclass(frozen=True, slots=True)
class Services:
    """Shared by all commands. `on_recorded` is told the tenant after each committed audit event.

    on_waiting: told the tenant and the scope in which memories are being stored without their vectors, and
    how many. models_changed: awaited when the database has another model in use than `models` says.
    on_ingested: told the tenant of every conversation that was taken in.
    """

    database: Database
    keys: KeyRing
    models: Models
    trail: AuditTrail
    instance: Instance
    on_recorded: Callable[[UUID], None] = lambda _tenant: None
    clock: Callable[[], datetime] = utc_now
    settings: Policies = field(default_factory=Policies)
    tokenizer: Tokenizer = ESTIMATE
    write_policy: WritePolicy = field(default_factory=WritePolicy)
    backlog: Backlog = field(default_factory=Backlog)
    on_waiting: Callable[[UUID, UUID, int], None] = lambda _tenant, _scope, _count: None
    models_changed: Callable[[], Awaitable[None]] = _nothing
    extractors: Mapping[ExtractorKind, Extractor] = field(default_factory=rules_only)
    ingest: IngestPolicy = field(default_factory=IngestPolicy)
    on_ingested: Callable[[UUID], None] = lambda _tenant: None
    judge: Judge | None = None
    judge_patience: float = 3.0
    """Seconds that a write waits for the judge."""
    reranker: Reranker | None = None
    rerank_policy: RerankPolicy = field(default_factory=RerankPolicy)
    exact_rows: int = EXACT_ROWS
    """Up to so many memories of a scope are all scored by a Recall."""

    async def changed_model(self, before: LiveModel) -> LiveModel:
        """The model in use after it was another one than `before`.

        Raises EmbedderUnavailable when this process has not loaded it (yet).
        """
        await self.models_changed()
        if self.models.current is before:
            raise EmbedderUnavailable
        return self.models.current

    async def with_policy(self, tenant_id: UUID) -> "Services":
        """For one call, with the tenant's policy read: to be called before a transaction that needs it.

        To read it there takes a second connection while the first is held; as many calls as there are
        connections would wait for one more.
        """
        return replace(self, settings=Policies(fixed=await self.settings.policy(tenant_id)))

    @property
    def embeddings(self) -> EmbeddingService:
        """The embedder in use at this moment; take it once for a call."""
        return self.models.current.embeddings
