"""A real grpc.aio server with the real chain and stub servicers, for tests of what surrounds handlers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    correction_pb2,
    erasure_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    review_pb2,
    review_pb2_grpc,
    subject_pb2,
    subject_pb2_grpc,
    write_pb2,
)
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.grpc_server import OPTIONS
from muniment_server.identity.api_key import ApiKey, ApiKeyAuthenticator, generate
from muniment_server.identity.authenticator import Authenticator
from muniment_server.identity.principal import Permission
from muniment_server.identity.source import CredentialRecord
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.chain import Chain, stages
from muniment_server.interceptors.deadline import DeadlineStage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage

_ID = "0190b0a0-0000-7000-8000-000000000001"
_SCOPE = memory_pb2.Scope(subject="u1")
_SESSION = memory_pb2.Scope(subject="u1", session="s1")
_ITEM = write_pb2.WriteItem(content="likes tea", kind=memory_pb2.MEMORY_KIND_FACT)
_TURN = ingest_pb2.IngestTurn(number=0, role=ingest_pb2.TURN_ROLE_USER, content="I like tea")

VALID: Mapping[str, Message] = {
    "Write": memory_service_pb2.WriteRequest(scope=_SCOPE, items=[_ITEM]),
    "Recall": memory_service_pb2.RecallRequest(scope=_SCOPE, query="tea"),
    "Supersede": memory_service_pb2.SupersedeRequest(memory_id=_ID, item=_ITEM),
    "Erase": memory_service_pb2.EraseRequest(
        target=erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[_ID]))
    ),
    "GetErasure": memory_service_pb2.GetErasureRequest(erasure_id=_ID),
    "GetMemory": memory_service_pb2.GetMemoryRequest(memory_id=_ID),
    "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=_SCOPE),
    "ReportUse": memory_service_pb2.ReportUseRequest(recall_id=_ID),
    "Audit": memory_service_pb2.AuditRequest(),
    "GetRecall": audit_pb2.GetRecallRequest(recall_id=_ID),
    "ExportAudit": audit_pb2.ExportAuditRequest(),
    "Ingest": ingest_pb2.IngestRequest(scope=_SESSION, turns=[_TURN]),
    "StreamIngest": ingest_pb2.StreamIngestRequest(scope=_SESSION, turns=[_TURN]),
    "GetIngest": ingest_pb2.GetIngestRequest(ingest_id=_ID),
    "Restore": correction_pb2.RestoreRequest(memory_id=_ID),
    "Retract": correction_pb2.RetractRequest(memory_id=_ID),
    "UndoWrite": correction_pb2.UndoWriteRequest(write_request_id=_ID),
    "ListReviews": review_pb2.ListReviewsRequest(scope=_SCOPE),
    "DecideReview": review_pb2.DecideReviewRequest(memory_id=_ID, decision=review_pb2.REVIEW_DECISION_REJECT),
    "SetConsent": subject_pb2.SetConsentRequest(scope=_SCOPE, level=subject_pb2.CONSENT_LEVEL_ALL),
    "GetConsent": subject_pb2.GetConsentRequest(scope=_SCOPE),
    "DescribeSubject": subject_pb2.DescribeSubjectRequest(scope=_SCOPE),
    "ExportMemories": subject_pb2.ExportMemoriesRequest(scope=_SCOPE),
    "ImportMemories": subject_pb2.ImportMemoriesRequest(
        scope=_SCOPE, records=[subject_pb2.MemoryRecord(item=_ITEM)]
    ),
}
"""A valid request of every RPC."""

RPCS = tuple(VALID)
SERVICES = {
    "MemoryService": (
        memory_service_pb2,
        memory_service_pb2_grpc.MemoryServiceStub,
        memory_service_pb2_grpc.MemoryServiceServicer,
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server,
    ),
    "AuditService": (
        audit_pb2,
        audit_pb2_grpc.AuditServiceStub,
        audit_pb2_grpc.AuditServiceServicer,
        audit_pb2_grpc.add_AuditServiceServicer_to_server,
    ),
    "ReviewService": (
        review_pb2,
        review_pb2_grpc.ReviewServiceStub,
        review_pb2_grpc.ReviewServiceServicer,
        review_pb2_grpc.add_ReviewServiceServicer_to_server,
    ),
    "SubjectService": (
        subject_pb2,
        subject_pb2_grpc.SubjectServiceStub,
        subject_pb2_grpc.SubjectServiceServicer,
        subject_pb2_grpc.add_SubjectServiceServicer_to_server,
    ),
}
"""Of every service: its module, its stub, its servicer, and how the servicer is added."""
METHODS: Mapping[str, tuple[str, Any]] = {
    method.name: (name, method)
    for name, (module, *_) in SERVICES.items()
    for method in module.DESCRIPTOR.services_by_name[name].methods
}
"""Of every RPC: its service and its descriptor."""


def answer_of(name: str) -> Any:
    """The class of an RPC's answer."""
    return GetMessageClass(METHODS[name][1].output_type)


class Directory:
    """Credentials and tenants in memory; counts its lookups."""

    def __init__(self) -> None:
        self.tenants = {name: uuid.uuid4() for name in ("t1", "t2")}
        self.records: dict[str, CredentialRecord] = {}
        self.lookups = 0

    def add_key(
        self,
        *,
        tenants: Collection[str] = ("t1",),
        permissions: Collection[Permission] = tuple(Permission),
        source_types: Collection[SourceType] = tuple(SourceType),
        subject: str | None = None,
        agent: str | None = None,
        expire_time: datetime | None = None,
        revoke_time: datetime | None = None,
    ) -> ApiKey:
        key = generate()
        self.records[key.public_id] = CredentialRecord(
            credential_id=uuid.uuid4(),
            public_id=key.public_id,
            secret_digest=key.digest(),
            tenants={name: self.tenants[name] for name in tenants},
            permissions=frozenset(permissions),
            source_types=frozenset(source_types),
            max_trust=TrustLevel.CONFIRMED,
            subject=subject,
            agent=agent,
            expire_time=expire_time,
            revoke_time=revoke_time,
        )
        return key

    async def find_api_key(self, public_id: str) -> CredentialRecord | None:
        self.lookups += 1
        return self.records.get(public_id)

    async def find_tenants(self, names: Collection[str]) -> Mapping[str, uuid.UUID]:
        self.lookups += 1
        return {name: self.tenants[name] for name in names if name in self.tenants}


class Handlers:
    """What the stub servicers do; replace single ones. `ran` counts the handlers that began."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.custom: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {}
        self.stream: Callable[[Any, Any], AsyncIterator[Any]] | None = None

    async def answer(self, name: str, request: Any, context: Any) -> Any:
        self.ran.append(name)
        if name in self.custom:
            return await self.custom[name](request, context)
        return answer_of(name)()


def _servicers(handlers: Handlers) -> dict[str, Any]:
    def single(name: str) -> Any:
        async def method(_self: Any, request: Any, context: Any) -> Any:
            return await handlers.answer(name, request, context)

        return method

    def collecting(name: str) -> Any:
        async def method(_self: Any, requests: AsyncIterator[Any], context: Any) -> Any:
            if name in handlers.custom:
                return await handlers.answer(name, requests, context)
            async for _ in requests:
                pass
            return await handlers.answer(name, None, context)

        return method

    def streaming(name: str) -> Any:
        async def method(_self: Any, request: Any, context: Any) -> AsyncIterator[Any]:
            handlers.ran.append(name)
            if handlers.stream is not None:
                async for each in handlers.stream(request, context):
                    yield each
            else:
                for _ in range(3):
                    yield answer_of(name)()

        return method

    made: dict[str, dict[str, Any]] = {name: {} for name in SERVICES}
    for name, (service, method) in METHODS.items():
        make = collecting if method.client_streaming else streaming if method.server_streaming else single
        made[service][name] = make(name)
    return {name: type(name, (SERVICES[name][2],), methods)() for name, methods in made.items()}


@dataclass
class Rpc:
    """A running server, a channel to it, and the ways to call it."""

    directory: Directory
    handlers: Handlers
    channel: grpc.aio.Channel
    port: int
    key: ApiKey
    limits: LimitStage
    errors: ErrorStage
    authenticator: Authenticator
    server: grpc.aio.Server
    _stubs: dict[str, Any] = field(default_factory=dict)

    def metadata(self, key: ApiKey | None = None, tenant: str = "t1") -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {(key or self.key).text()}"), ("muniment-tenant", tenant))

    def method(self, name: str) -> Any:
        return getattr(self._stubs[METHODS[name][0]], name)

    async def call(
        self,
        name: str,
        request: Message | None = None,
        *,
        metadata: Any = None,
        timeout: float | None = 10.0,
    ) -> Any:
        """The answer, or for a stream the list of answers. Raises AioRpcError."""
        sent = self.metadata() if metadata is None else metadata
        message: Any = request if request is not None else VALID[name]
        if METHODS[name][1].client_streaming:
            message = iter([message])
        call = self.method(name)(message, metadata=sent, timeout=timeout)
        if METHODS[name][1].server_streaming:
            return [each async for each in call]
        return await call

    async def fails(self, name: str, request: Message | None = None, **options: Any) -> Failure:
        """The failure of a call that must fail."""
        try:
            await self.call(name, request, **options)
        except grpc.aio.AioRpcError as error:
            return Failure.of(error)
        raise AssertionError(f"{name} answered OK")


@dataclass
class Failure:
    """A status as the client sees it."""

    code: str
    text: str
    reason: str
    metadata: dict[str, str]
    details: dict[str, Any]
    trailers: list[tuple[str, Any]]

    @classmethod
    def of(cls, error: grpc.aio.AioRpcError) -> Failure:
        trailers = [(key, value) for key, value in error.trailing_metadata()]
        failure = cls(error.code().name, error.details() or "", "", {}, {}, trailers)
        for key, value in trailers:
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                assert (status.code, status.message) == (error.code().value[0], error.details())
                for each in status.details:
                    kind = each.TypeName().rpartition(".")[2]
                    detail = getattr(error_details_pb2, kind)()
                    each.Unpack(detail)
                    assert kind not in failure.details
                    failure.details[kind] = detail
        info = failure.details.get("ErrorInfo")
        if info is not None:
            assert info.domain == "muniment.dev"
            failure.reason = info.reason
            failure.metadata = dict(info.metadata)
        return failure


@asynccontextmanager
async def serving(
    *,
    errors: ErrorStage | None = None,
    deadline: DeadlineStage | None = None,
    limits: LimitStage | None = None,
    permissions: Collection[Permission] = tuple(Permission),
    register: Callable[[grpc.aio.Server], None] | None = None,
    extra_interceptors: Collection[Any] = (),
    channel_options: Collection[tuple[str, Any]] = (),
) -> AsyncIterator[Rpc]:
    """A server with the whole chain."""
    directory = Directory()
    handlers = Handlers()
    authenticator = Authenticator(ApiKeyAuthenticator(directory))
    limits = limits or LimitStage()
    errors = errors or ErrorStage()
    chain = Chain(
        stages(
            TelemetryStage("127.0.0.1", 7443),
            errors,
            deadline or DeadlineStage(),
            AuthenticationStage(authenticator),
            PermissionStage(),
            limits,
            ValidationStage(type(request) for request in VALID.values()),
        )
    )
    server = grpc.aio.server(interceptors=[chain, *extra_interceptors], options=OPTIONS)
    for name, servicer in _servicers(handlers).items():
        SERVICES[name][3](servicer, server)
    if register is not None:
        register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=list(channel_options))
    rpc = Rpc(
        directory=directory,
        handlers=handlers,
        channel=channel,
        port=port,
        key=directory.add_key(permissions=permissions),
        limits=limits,
        errors=errors,
        authenticator=authenticator,
        server=server,
    )
    rpc._stubs = {name: stub(channel) for name, (_, stub, _, _) in SERVICES.items()}
    try:
        yield rpc
    finally:
        await channel.close()
        # A caller has its status before the stages around the handler have ended.
        await server.stop(5)
