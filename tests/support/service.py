"""The whole service in the test's own process: real database, real key store, real gRPC on loopback.

    async def test_something(service):
        caller = service.caller("acme")
        written = await caller.write("u1", "Likes tea")
        assert service.database.row("SELECT count(*) AS n FROM memory")["n"] == 1

The embedder is the deterministic one unless a test asks for the real model, so that a test sees known
vectors. What a test does in its own words goes through `caller.memory` and `caller.audit`, the plain
generated stubs, with the caller's metadata in `caller.metadata`.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from muniment_server._gen.muniment.v1 import (
    audit_pb2_grpc,
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    review_pb2_grpc,
    subject_pb2_grpc,
    write_pb2,
)
from muniment_server.application.services import Instance, utc_now
from muniment_server.config import Settings
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.master import FileMasterKeys
from muniment_server.crypto.wrapped_key_store import key_store_at
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.embedding.base import Embedder
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.service import Parts, Service
from muniment_server.storage.admin import NewCredential, create_credential, create_tenant
from support.embedders import DeterministicEmbedder
from support.postgres import PostgresDatabase
from support.seals import seals_of

FACT = memory_pb2.MEMORY_KIND_FACT
PREFERENCE = memory_pb2.MEMORY_KIND_PREFERENCE
EVENT = memory_pb2.MEMORY_KIND_EVENT


def item(content: str, kind: int = FACT, **fields: Any) -> write_pb2.WriteItem:
    """One item of a Write."""
    return write_pb2.WriteItem(content=content, kind=kind, **fields)


def scope(subject: str, **narrowing: str) -> memory_pb2.Scope:
    """A subject's scope."""
    return memory_pb2.Scope(subject=subject, **narrowing)


class Caller:
    """One credential acting for one tenant."""

    def __init__(self, channel: grpc.aio.Channel, tenant: str, key: str) -> None:
        self.tenant = tenant
        self.key = key
        self.metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", tenant))
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.audit = audit_pb2_grpc.AuditServiceStub(channel)
        self.review = review_pb2_grpc.ReviewServiceStub(channel)
        self.subject = subject_pb2_grpc.SubjectServiceStub(channel)

    async def call(self, method: str, request: Any, *, timeout: float = 30.0, **metadata: str) -> Any:
        """Call an RPC of any service by its name, with `metadata` added; of a stream, all its messages."""
        stub = next(
            each for each in (self.memory, self.audit, self.review, self.subject) if hasattr(each, method)
        )
        extra = tuple((name.replace("_", "-"), value) for name, value in metadata.items())
        made = getattr(stub, method)(request, metadata=(*self.metadata, *extra), timeout=timeout)
        if isinstance(made, grpc.aio.UnaryStreamCall):
            return [message async for message in made]
        return await made

    async def write(
        self, subject: str, *items: str | write_pb2.WriteItem, request_id: str = "", **narrowing: str
    ) -> memory_service_pb2.WriteResponse:
        """Write into a subject's scope; plain text becomes a FACT."""
        return await self.call(
            "Write",
            memory_service_pb2.WriteRequest(
                scope=scope(subject, **narrowing),
                items=[one if isinstance(one, write_pb2.WriteItem) else item(one) for one in items],
                request_id=request_id,
            ),
        )

    async def recall(
        self, subject: str, query: str, *, narrowing: Mapping[str, str] | None = None, **fields: Any
    ) -> memory_service_pb2.RecallResponse:
        """Recall from a subject's scope."""
        return await self.call(
            "Recall",
            memory_service_pb2.RecallRequest(
                scope=scope(subject, **(narrowing or {})), query=query, **fields
            ),
        )

    async def contents(self, subject: str, query: str, **fields: Any) -> list[str]:
        """The recalled texts, best first."""
        return [one.memory.content for one in (await self.recall(subject, query, **fields)).memories]

    async def supersede(
        self, memory_id: str, content: str | write_pb2.WriteItem, etag: str = "", request_id: str = ""
    ) -> memory_service_pb2.SupersedeResponse:
        """Replace a memory."""
        return await self.call(
            "Supersede",
            memory_service_pb2.SupersedeRequest(
                memory_id=memory_id,
                etag=etag,
                item=content if isinstance(content, write_pb2.WriteItem) else item(content),
                request_id=request_id,
            ),
        )

    async def erase_subject(self, subject: str, **fields: Any) -> erasure_pb2.ErasureReceipt:
        """Erase a whole subject."""
        target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=scope(subject)))
        response = await self.call("Erase", memory_service_pb2.EraseRequest(target=target, **fields))
        return response.receipt

    async def erase_memories(self, *memory_ids: str, **fields: Any) -> erasure_pb2.ErasureReceipt:
        """Erase memories by id."""
        target = erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=memory_ids))
        response = await self.call("Erase", memory_service_pb2.EraseRequest(target=target, **fields))
        return response.receipt

    async def erase_filter(
        self, subject: str, restriction: filter_pb2.MemoryFilter, **fields: Any
    ) -> erasure_pb2.ErasureReceipt:
        """Erase what a filter finds."""
        target = erasure_pb2.ErasureTarget(
            filter=erasure_pb2.FilterTarget(scope=scope(subject), filter=restriction)
        )
        response = await self.call("Erase", memory_service_pb2.EraseRequest(target=target, **fields))
        return response.receipt

    async def get(self, memory_id: str, **fields: Any) -> memory_service_pb2.GetMemoryResponse:
        """One memory."""
        return await self.call(
            "GetMemory", memory_service_pb2.GetMemoryRequest(memory_id=memory_id, **fields)
        )


class RunningService:
    """A started service with its database and key store."""

    def __init__(
        self, service: Service, database: PostgresDatabase, key_store: KeyStore, channel: grpc.aio.Channel
    ) -> None:
        self.service = service
        self.database = database
        self.key_store = key_store
        self.seals = seals_of(key_store)
        self.channel = channel

    @property
    def port(self) -> int:
        """Where it listens on loopback."""
        assert self.service.server is not None
        return self.service.server.port

    async def without_upkeep(self) -> None:
        """From now on only calls use the database: nothing that the service does in the background waits
        for a lock that a test holds, or looks like a call that was left behind."""
        for task in (self.service._upkeep, self.service.reembedder._task, self.service.ingests._task):
            assert task is not None
            task.cancel()
            await asyncio.wait([task])

    def caller(
        self,
        tenant: str = "acme",
        *,
        permissions: Collection[Permission] = tuple(Permission),
        source_types: Sequence[SourceType] = tuple(SourceType),
        max_trust: TrustLevel = TrustLevel.CONFIRMED,
        subject: str | None = None,
        agent: str | None = None,
        tenants: Sequence[str] | None = None,
        expire_time: datetime | None = None,
    ) -> Caller:
        """A caller with a new API key; tenants are made when they do not exist."""
        for name in tenants or (tenant,):
            if not self.database.rows("SELECT 1 FROM tenant WHERE name = %s", (name,)):
                create_tenant(self.database.eye, name, seals=self.seals)
        key = api_key.generate()
        create_credential(
            self.database.eye,
            NewCredential(
                public_id=key.public_id,
                secret_digest=key.digest(),
                label="test",
                tenants=tuple(tenants or (tenant,)),
                permissions=tuple(permissions),
                source_types=tuple(source_types),
                max_trust=max_trust,
                subject=subject,
                agent=agent,
                expire_time=expire_time,
            ),
            seals=self.seals,
        )
        return Caller(self.channel, tenant, key.text())

    def tenant_id(self, name: str = "acme") -> UUID:
        """The id of a tenant."""
        return UUID(
            str(self.database.row("SELECT tenant_id FROM tenant WHERE name = %s", (name,))["tenant_id"])
        )

    async def sealed(self) -> None:
        """Wait until every audit event is chained and anchored."""
        assert self.service.sealer is not None
        await self.service.sealer.drain()


def _no_other(setting: str) -> Embedder:
    raise ValueError(f"this test has no embedder {setting!r}")


@asynccontextmanager
async def running_service(
    database: PostgresDatabase,
    *,
    embedder: Embedder | None = None,
    keys_folder: Path | None = None,
    clock: Callable[[], datetime] = utc_now,
    load: Callable[[str], Embedder] | None = None,
    **settings: Any,
) -> AsyncIterator[RunningService]:
    """Start a service on a test database; `keys_folder` given: on an existing key store.

    load: makes the embedder of a setting, for a change of model.
    """
    chosen = embedder or DeterministicEmbedder()
    rows = database.rows("SELECT instance_id, model_no, restore_epoch FROM instance")
    if not rows:
        database.add_instance(chosen.model.name, chosen.model.digest, chosen.model.dimension)
        rows = database.rows("SELECT instance_id, model_no, restore_epoch FROM instance")
    instance = Instance(rows[0]["instance_id"], rows[0]["model_no"], rows[0]["restore_epoch"])
    with tempfile.TemporaryDirectory(prefix="muniment-keys-") as own:
        folder = keys_folder or Path(own) / "keys"
        folder.mkdir(mode=0o700, exist_ok=True)
        store = key_store_at(folder / "keystore.sqlite", FileMasterKeys(folder / "master.key", create=True))
        await store.open()
        defaults: dict[str, Any] = {
            "listen": "127.0.0.1:0",
            "drain_delay": 0.0,
            "shutdown_grace": 2.0,
            "health_interval": 0.2,
        }
        service = Service(
            Settings(**(defaults | settings)),
            Parts(
                database.app_conninfo,
                database.maintenance_conninfo,
                instance,
                store,
                chosen,
                load or _no_other,
            ),
            clock,
        )
        try:
            await service.start()
            assert service.server is not None
            async with grpc.aio.insecure_channel(
                f"127.0.0.1:{service.server.port}", options=(("grpc.use_local_subchannel_pool", 1),)
            ) as channel:
                yield RunningService(service, database, store, channel)
        finally:
            await service.stop()
            await store.close()


def reason(error: grpc.aio.AioRpcError) -> str:
    """The ErrorInfo reason of a failed call."""
    return error_info(error).reason


def error_info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    """The ErrorInfo of a failed call; every error of ours has exactly one."""
    return _detail(error, error_details_pb2.ErrorInfo)


def violations(error: grpc.aio.AioRpcError) -> list[str]:
    """The paths of the fields at fault."""
    return [one.field for one in _detail(error, error_details_pb2.BadRequest).field_violations]


def _detail(error: grpc.aio.AioRpcError, kind: Any) -> Any:
    status = rpc_status.from_call(error)
    assert status is not None, f"no details: {error.code()} {error.details()}"
    for detail in status.details:
        if detail.Is(kind.DESCRIPTOR):
            found = kind()
            detail.Unpack(found)
            return found
    raise AssertionError(f"no {kind.DESCRIPTOR.name} in {error.code()} {error.details()}")


def request_id() -> str:
    """A fresh request id."""
    return str(uuid4())
