"""The composition root: the parts of the service, put together, opened and closed in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    correction_pb2,
    ingest_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    review_pb2,
    review_pb2_grpc,
    subject_pb2,
    subject_pb2_grpc,
)
from muniment_server.api.audit_service import AuditService
from muniment_server.api.memory_service import MemoryService
from muniment_server.api.review_service import ReviewService
from muniment_server.api.subject_service import SubjectService
from muniment_server.application.extracting import IngestPolicy
from muniment_server.application.ingest_worker import IngestWorker
from muniment_server.application.models import ModelKeeper
from muniment_server.application.policies import stored_policies
from muniment_server.application.reembed import Reembedder
from muniment_server.application.services import Instance, Services, utc_now
from muniment_server.application.upkeep import Upkeep
from muniment_server.application.vectors import WritePolicy
from muniment_server.audit.denied import DeniedCalls
from muniment_server.audit.sealer import Sealer
from muniment_server.audit.trail import AuditTrail
from muniment_server.audit.verify import startup_check
from muniment_server.config import Settings
from muniment_server.crypto.errors import CiphertextInvalid, KeyStoreError
from muniment_server.crypto.key_ring import KeyRing
from muniment_server.crypto.key_store import KeyStore
from muniment_server.domain.errors import IntegrityViolation, KeyStoreUnavailable, MunimentError
from muniment_server.domain.gates import long_texts
from muniment_server.embedding.base import Embedder
from muniment_server.embedding.batching import EmbeddingService
from muniment_server.embedding.factory import create_embedder
from muniment_server.embedding.live import LiveModel, Models
from muniment_server.extraction.factory import extractors
from muniment_server.extraction.settings import chat_model
from muniment_server.grpc_server import GrpcServer, TlsFiles
from muniment_server.health import Health
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.authenticator import Authenticator
from muniment_server.identity.jwt import JwtAuthenticator, JwtSettings
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.chain import Chain, stages
from muniment_server.interceptors.deadline import DeadlineRule, DeadlineStage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.gate import LateHandlers
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import MethodClass
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage
from muniment_server.judging.factory import configured_judge
from muniment_server.reranking.base import RerankPolicy
from muniment_server.reranking.factory import configured_reranker
from muniment_server.retrieval.analysis import Analyzer
from muniment_server.retrieval.model_tokenizer import load_tokenizer
from muniment_server.storage.credentials import DatabaseCredentials
from muniment_server.storage.database import Database, translate_exception
from muniment_server.storage.hints import Hint, HintKind, Hints
from muniment_server.storage.tenants import tenant_ids
from muniment_server.telemetry.instruments import metrics

_log = logging.getLogger("muniment.service")

SERVICE_NAMES = (
    "muniment.v1.MemoryService",
    "muniment.v1.AuditService",
    "muniment.v1.ReviewService",
    "muniment.v1.SubjectService",
)
_WARM = (
    memory_service_pb2.WriteRequest,
    memory_service_pb2.RecallRequest,
    memory_service_pb2.SupersedeRequest,
    memory_service_pb2.EraseRequest,
    memory_service_pb2.GetErasureRequest,
    memory_service_pb2.GetMemoryRequest,
    memory_service_pb2.ListMemoriesRequest,
    memory_service_pb2.ReportUseRequest,
    memory_service_pb2.AuditRequest,
    audit_pb2.GetRecallRequest,
    audit_pb2.ExportAuditRequest,
    ingest_pb2.IngestRequest,
    ingest_pb2.StreamIngestRequest,
    ingest_pb2.GetIngestRequest,
    correction_pb2.RestoreRequest,
    correction_pb2.RetractRequest,
    correction_pb2.UndoWriteRequest,
    review_pb2.ListReviewsRequest,
    review_pb2.DecideReviewRequest,
    subject_pb2.SetConsentRequest,
    subject_pb2.GetConsentRequest,
    subject_pb2.DescribeSubjectRequest,
    subject_pb2.ExportMemoriesRequest,
    subject_pb2.ImportMemoriesRequest,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a service is made of, prepared and open but for the pools."""

    app_conninfo: str
    maintenance_conninfo: str | None
    instance: Instance
    key_store: KeyStore
    embedder: Embedder
    load: Callable[[str], Embedder] = lambda setting: create_embedder(setting)
    """Makes the embedder of a setting; for a change of the model while the service runs."""


def _translate(error: BaseException) -> MunimentError | None:
    """The caller's error for what storage and keys raise."""
    if isinstance(error, KeyStoreError):
        return KeyStoreUnavailable()
    if isinstance(error, CiphertextInvalid):
        return IntegrityViolation()
    return translate_exception(error)


class Service:
    """One serving process. `start`, then `run` until a signal or `stop`.

    server: one that listens already (see `grpc_server`); without it the service makes its own.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        clock: Callable[[], datetime] = utc_now,
        server: GrpcServer | None = None,
    ) -> None:
        self.settings = settings
        self.parts = parts
        self.database = Database(
            parts.app_conninfo,
            min_size=min(settings.pool_min_size, settings.pool_max_size),
            max_size=settings.pool_max_size,
            acquire_timeout=settings.pool_timeout,
        )
        self.maintenance = (
            Database(
                parts.maintenance_conninfo,
                max_size=settings.maintenance_pool_max_size,
                name="maintenance",
            )
            if parts.maintenance_conninfo is not None
            else None
        )
        self.keys = KeyRing(parts.key_store)
        self.models = Models(LiveModel(parts.instance.model_no, EmbeddingService(parts.embedder)))
        self.sealer = Sealer(self.maintenance, self.keys, clock=clock) if self.maintenance else None
        self.chat = chat_model(settings)
        self.services = Services(
            database=self.database,
            keys=self.keys,
            models=self.models,
            trail=AuditTrail(),
            instance=parts.instance,
            on_recorded=self.sealer.notify if self.sealer else lambda _tenant: None,
            clock=clock,
            settings=stored_policies(self.database, self.keys),
            tokenizer=load_tokenizer(settings.tokenizer_file),
            write_policy=WritePolicy(
                require=settings.embedding_on_write == "require",
                patience=settings.embedding_patience,
                backlog=settings.embedding_backlog,
            ),
            on_waiting=lambda tenant_id, scope_id, count: self.reembedder.note(tenant_id, scope_id, count),
            models_changed=lambda: self.keeper.refresh(),
            extractors=extractors(self.chat),
            ingest=IngestPolicy(
                quiet_seconds=settings.ingest_quiet_seconds,
                seconds=max(60.0, 2 * settings.llm_timeout),
                attempts=settings.ingest_attempts,
            ),
            on_ingested=lambda tenant_id: self.ingests.notify(tenant_id),
            judge=configured_judge(settings, self.chat),
            judge_patience=settings.judge_timeout,
            exact_rows=settings.recall_exact_rows,
            reranker=configured_reranker(settings),
            rerank_policy=RerankPolicy(
                settings.rerank_candidates, settings.rerank_timeout, settings.rerank_weight
            ),
        )
        self.ingests = IngestWorker(self.services, self._all_tenants if self.maintenance else None)
        self.keeper = ModelKeeper(self.models, self.database, parts.load)
        self.reembedder = Reembedder(self.services, self.keeper, self.maintenance)
        source = DatabaseCredentials(self.database, parts.key_store)
        self.tokens = (
            JwtAuthenticator(
                JwtSettings(
                    issuer=settings.oidc_issuer or "",
                    audience=settings.oidc_audience or "",
                    jwks_url=settings.oidc_jwks_url,
                    jwks_file=settings.oidc_jwks_file,
                ),
                source,
            )
            if settings.oidc
            else None
        )
        self.api_keys = ApiKeyAuthenticator(source)
        self._hints = Hints(parts.app_conninfo, self._hinted)
        self.upkeep = Upkeep(self.services, self.maintenance)
        self._upkeep: asyncio.Task[None] | None = None
        self._closing = AsyncExitStack()
        self.server = server

    @property
    def embeddings(self) -> EmbeddingService:
        """The embedder in use at this moment."""
        return self.models.current.embeddings

    def _hinted(self, hint: Hint) -> None:
        match hint.kind:
            case HintKind.CREDENTIAL_CHANGED:
                self.api_keys.drop(*hint.ids)
            case HintKind.POLICY_CHANGED:
                self.services.settings.drop(UUID(hint.ids[0]))
            case HintKind.KEYS_DESTROYED:
                tenant_id, scope_id = hint.ids
                self.keys.drop(UUID(tenant_id), UUID(scope_id))
                self.models.clear()
            case HintKind.MODELS_CHANGED:
                self.keeper.wake()
                self.reembedder.wake()
            case HintKind.MISSED:
                self.keeper.wake()
                self.reembedder.wake()
                self.api_keys.drop_all()
                if self.tokens is not None:
                    self.tokens.drop_all()
                self.keys.drop_all()
                self.services.settings.drop_all()
                self.models.clear()

    async def start(self) -> None:
        """Open everything and listen. Raises what its parts raise; then everything is closed again."""
        try:
            await self._start()
        except BaseException:
            await self._closing.aclose()
            raise

    async def _start(self) -> None:
        settings = self.settings
        await self._open("database", self.database.open, self.database.close)
        metrics().observe_pool("app", self.database.pool_stats)
        if self.maintenance is not None:
            await self._open("maintenance", self.maintenance.open, self.maintenance.close)
            metrics().observe_pool("maintenance", self.maintenance.pool_stats)
            await startup_check(self.maintenance, self.parts.key_store)
        await self._open("hints", self._hints.start, self._hints.stop)
        await self._open("embedder", self.embeddings.start, self._stop_embedder)
        await self._open("models", self.keeper.start, self.keeper.stop)
        await self._open("reembedder", self.reembedder.start, self.reembedder.stop)
        await asyncio.to_thread(Analyzer().warm_up)
        await asyncio.to_thread(long_texts.warm_up)
        if self.tokens is not None:
            await self.tokens.start()
        if self.sealer is not None:
            await self._open("sealer", self.sealer.start, self.sealer.stop)
        if self.chat is not None:
            self._closing.push_async_callback(self.chat.close)
        if self.services.reranker is not None:
            self._closing.push_async_callback(self.services.reranker.close)
        await self._open("ingests", self.ingests.start, self.ingests.stop)
        self._upkeep = self.upkeep.start()
        self._closing.push_async_callback(self._stop_upkeep)
        if self.server is None:
            self.server = grpc_server(settings)
        chain = self._chain()
        self.server.on_cut(self._errors.cut)
        self.server.on_stop("denied calls", self._errors.drain)
        self.server.on_stop("service", self._closing.aclose)
        await self.server.start()
        await self.server.open(
            self._register,
            chain,
            {
                "database": self.database.check,
                "embedder": self._check_embedder,
                "key store": self.parts.key_store.check,
            },
        )

    async def _open(
        self, name: str, start: Callable[[], Awaitable[object]], stop: Callable[[], Awaitable[object]]
    ) -> None:
        self._closing.push_async_callback(stop)
        await start()
        _log.debug("%s is open", name)

    def _register(self, handlers: LateHandlers) -> None:
        # As much of a server as the generated code uses.
        server = cast("grpc.aio.Server", handlers)
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(MemoryService(self.services), server)
        audit_pb2_grpc.add_AuditServiceServicer_to_server(AuditService(self.services, self.sealer), server)
        review_pb2_grpc.add_ReviewServiceServicer_to_server(ReviewService(self.services), server)
        subject_pb2_grpc.add_SubjectServiceServicer_to_server(SubjectService(self.services), server)

    def _chain(self) -> Chain:
        settings = self.settings
        self._errors = ErrorStage(
            _translate,
            DeniedCalls(self.database, self.keys, self.services.on_recorded, self.services.clock),
        )
        rules = {
            each: DeadlineRule(
                getattr(settings, f"deadline_{each.value}"),
                getattr(settings, f"deadline_ceiling_{each.value}"),
            )
            for each in MethodClass
        }
        return Chain(
            stages(
                TelemetryStage(settings.host, settings.port),
                self._errors,
                DeadlineStage(rules),
                AuthenticationStage(Authenticator(self.api_keys, self.tokens)),
                PermissionStage(),
                LimitStage({each: getattr(settings, f"concurrency_{each.value}") for each in MethodClass}),
                ValidationStage(_WARM),
            )
        )

    async def _stop_embedder(self) -> None:
        await self.embeddings.stop()

    async def _check_embedder(self) -> None:
        if not self.embeddings.ready.is_set():
            raise RuntimeError("the embedder is not ready")

    async def _all_tenants(self) -> list[UUID]:
        return await tenant_ids(self.maintenance) if self.maintenance is not None else []

    async def _stop_upkeep(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])

    async def run(self) -> None:
        """Serve until SIGTERM, SIGINT or `stop`."""
        if self.server is None:
            raise RuntimeError("start the service first")
        await self.server.serve()

    async def stop(self) -> None:
        """Stop in order; `run` returns."""
        if self.server is not None:
            await self.server.stop()
        else:
            await self._closing.aclose()


def grpc_server(settings: Settings) -> GrpcServer:
    """The server of these settings, not started. Must be made in the running event loop."""
    return GrpcServer(
        listen=settings.listen,
        services=SERVICE_NAMES,
        health=Health(SERVICE_NAMES, interval=settings.health_interval),
        before=(TelemetryStage(settings.host, settings.port), ErrorStage()),
        tls=TlsFiles(settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file)
        if settings.tls_cert_file and settings.tls_key_file
        else None,
        reflect=settings.reflection_enabled,
        reuse_port=settings.shared_listen,
        max_concurrent_rpcs=settings.max_concurrent_rpcs,
        drain_delay=settings.drain_delay,
        grace=settings.shutdown_grace,
    )
