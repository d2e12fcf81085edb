"""The tenant stands in the metadata, once and well-formed; without it nothing is read or changed."""

from uuid import uuid4

import grpc
import pytest
from google.protobuf import descriptor_pool
from google.protobuf.message import Message

from contract.requests import path_of, valid_requests
from contract.stored import Stored
from muniment_server._gen.muniment.v1 import erasure_pb2, ingest_pb2, memory_service_pb2
from muniment_server.identity.principal import Permission
from muniment_server.interceptors.methods import METHODS
from support.service import Caller, RunningService, error_info, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _requests(memory_id: str, recall_id: str) -> dict[str, Message]:
    """A request of every method there is, of a whole subject or of what the test has made."""
    session, turns = scope("u1", session="s1"), [ingest_pb2.IngestTurn(role="TURN_ROLE_USER", content="Hi")]
    target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=scope("u1")))
    found = valid_requests() | {
        "Erase": memory_service_pb2.EraseRequest(target=target),
        "Ingest": ingest_pb2.IngestRequest(scope=session, turns=turns),
        "StreamIngest": ingest_pb2.StreamIngestRequest(scope=session, turns=turns),
        "GetIngest": ingest_pb2.GetIngestRequest(ingest_id=str(uuid4())),
    }
    for request in found.values():
        for name, value in (("memory_id", memory_id), ("recall_id", recall_id)):
            if name in request.DESCRIPTOR.fields_by_name:
                setattr(request, name, value)
    by_path = {path_of(method).lstrip("/"): request for method, request in found.items()}
    assert by_path.keys() == METHODS.keys(), "a method has no request here"
    return by_path


Metadata = tuple[tuple[str, str | bytes], ...]


async def _fails(
    channel: grpc.aio.Channel, path: str, request: Message, metadata: Metadata
) -> grpc.aio.AioRpcError:
    service, _, name = path.partition("/")
    method = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    body = request.SerializeToString()
    try:
        if method.client_streaming:
            await channel.stream_unary(f"/{path}")(iter([body]), metadata=metadata, timeout=10)
        elif method.server_streaming:
            _ = [part async for part in channel.unary_stream(f"/{path}")(body, metadata=metadata, timeout=10)]
        else:
            await channel.unary_unary(f"/{path}")(body, metadata=metadata, timeout=10)
    except grpc.aio.AioRpcError as error:
        return error
    pytest.fail(f"{path} succeeded")


async def _every_method_fails(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    metadata: Metadata,
    code: grpc.StatusCode,
    why: str,
    problem: str | None,
) -> None:
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    recall_id = (await caller.recall("u1", "tea")).recall_id
    before, events = stored.snapshot(), stored.count("audit_event")
    for method, request in _requests(memory_id, recall_id).items():
        error = await _fails(shared.channel, method, request, metadata)
        assert error.code() is code, method
        info = error_info(error)
        assert info.reason == why, method
        if problem is not None:
            assert dict(info.metadata) == {"problem": problem}, method
    assert stored.snapshot() == before
    assert stored.count("audit_event") == events


@pytest.mark.parametrize(
    ("tenants", "problem"),
    [
        ([], "missing"),
        ([("muniment-tenant-bin", b"acme")], "missing"),
        ([("muniment_tenant", "acme")], "missing"),
        ([("tenant", "acme")], "missing"),
        ([("muniment-tenant", "")], "malformed"),
        ([("muniment-tenant", "   ")], "malformed"),
        ([("muniment-tenant", "t%")], "malformed"),
        ([("muniment-tenant", "%")], "malformed"),
        ([("muniment-tenant", "ACME")], "malformed"),
        ([("muniment-tenant", "_acme")], "malformed"),
        ([("muniment-tenant", "a" * 64)], "malformed"),
        ([("muniment-tenant", "acme,other")], "malformed"),
        ([("muniment-tenant", "acme other")], "malformed"),
        ([("muniment-tenant", "acme/../other")], "malformed"),
        ([("muniment-tenant", "00000000-0000-0000-0000-00000000000G")], "malformed"),
        ([("muniment-tenant", "acme"), ("muniment-tenant", "other")], "duplicated"),
        ([("muniment-tenant", "acme"), ("muniment-tenant", "acme")], "duplicated"),
        ([("muniment-tenant", "acme"), ("muniment-tenant", "")], "duplicated"),
    ],
    ids=str,
)
async def test_without_one_well_formed_tenant_nothing_happens(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    tenants: list[tuple[str, str | bytes]],
    problem: str,
) -> None:
    named = [
        (key, value.replace("acme", caller.tenant) if isinstance(value, str) else caller.tenant.encode())
        for key, value in tenants
    ]
    metadata = (caller.metadata[0], *named)
    await _every_method_fails(
        shared, caller, stored, metadata, grpc.StatusCode.INVALID_ARGUMENT, "TENANT_METADATA_INVALID", problem
    )


@pytest.mark.parametrize(
    ("credentials", "why"),
    [
        ([], "CREDENTIALS_MISSING"),
        ([("authorization-bin", b"Bearer x")], "CREDENTIALS_MISSING"),
        ([("x-api-key", "KEY")], "CREDENTIALS_MISSING"),
        ([("authorization", "")], "CREDENTIALS_INVALID"),
        ([("authorization", "KEY")], "CREDENTIALS_INVALID"),
        ([("authorization", "Bearer")], "CREDENTIALS_INVALID"),
        ([("authorization", "Bearer KEY0")], "CREDENTIALS_INVALID"),
        ([("authorization", "Basic KEY")], "CREDENTIALS_INVALID"),
        ([("authorization", "Bearer mnm_aaaaaaaaaaaaaaaaaaaa_" + "0" * 43)], "CREDENTIALS_INVALID"),
        ([("authorization", "Bearer KEY"), ("authorization", "Bearer KEY")], "CREDENTIALS_INVALID"),
        ([("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.")], "CREDENTIALS_INVALID"),
    ],
    ids=str,
)
async def test_without_one_valid_credential_nothing_happens(
    shared: RunningService,
    caller: Caller,
    stored: Stored,
    credentials: list[tuple[str, str | bytes]],
    why: str,
) -> None:
    given = [
        (key, value.replace("KEY", caller.key) if isinstance(value, str) else value)
        for key, value in credentials
    ]
    metadata = (*given, caller.metadata[1])
    await _every_method_fails(shared, caller, stored, metadata, grpc.StatusCode.UNAUTHENTICATED, why, None)


async def test_a_tenant_in_the_body_widens_nothing(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    other = shared.caller(f"{caller.tenant}-b")
    await other.write("u1", "Of the other tenant")
    # A field that this server does not know, as somebody might send who believes that there is one.
    body = memory_service_pb2.RecallRequest(scope=scope("u1"), query="other").SerializeToString()
    name = other.tenant.encode()
    body += bytes([0xFA, 0x3F, len(name)]) + name
    send = shared.channel.unary_unary(
        "/muniment.v1.MemoryService/Recall",
        response_deserializer=memory_service_pb2.RecallResponse.FromString,
    )
    answer = await send(body, metadata=caller.metadata, timeout=10)
    assert not answer.memories
    assert stored.count("memory") == 0


@pytest.mark.parametrize("method", METHODS)
async def test_each_method_needs_its_permission(
    shared: RunningService, caller: Caller, stored: Stored, method: str
) -> None:
    need = set(METHODS[method].permissions)
    memory_id = (await caller.write("u1", "Likes tea")).results[0].memory.memory_id
    recall_id = (await caller.recall("u1", "tea")).recall_id
    without = shared.caller(caller.tenant, permissions=set(Permission) - need)
    before = stored.snapshot()
    # Permission is looked at before the fields: a request full of faults tells no more.
    for request in (_requests(memory_id, recall_id)[method], type(_requests("", "")[method])()):
        error = await _fails(shared.channel, method, request, without.metadata)
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED
        assert error_info(error).metadata["permission"] in {each.value for each in need}
    assert stored.snapshot() == before
    denied = [event for event in stored.events() if event["outcome"] == 2]
    assert len(denied) == 2
    shown = await caller.call(
        "Audit", memory_service_pb2.AuditRequest(filter={"outcomes": ["AUDIT_OUTCOME_DENIED"]})
    )
    for event in shown.events:
        assert event.access_denied.method == method
        assert event.access_denied.permission in {each.value for each in need}
