"""A call without exactly one credential and one tenant reads and changes nothing."""

from datetime import UTC, datetime, timedelta

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from muniment_server.health import Health
from muniment_server.identity.principal import CallContext, Permission, current_call
from support.rpc import RPCS, VALID, serving

MALFORMED_TENANTS = [
    "",
    "   ",
    " t1",
    "t1 ",
    "T1",
    "t%",
    "%",
    "_",
    ".t1",
    "-t1",
    "t1,t1",
    "t1/t2",
    "a" * 64,
    "*",
]


@pytest.mark.parametrize("name", RPCS)
async def test_tenant_missing_empty_doubled_or_binary_is_refused(name: str) -> None:
    async with serving() as rpc:
        bearer = ("authorization", f"Bearer {rpc.key.text()}")
        cases = {
            "missing": ((bearer,), "missing"),
            "binary": ((bearer, ("muniment-tenant-bin", b"t1")), "missing"),
            "doubled": ((bearer, ("muniment-tenant", "t1"), ("muniment-tenant", "t2")), "duplicated"),
            "same twice": ((bearer, ("muniment-tenant", "t1"), ("muniment-tenant", "t1")), "duplicated"),
            "empty": ((bearer, ("muniment-tenant", "")), "malformed"),
            "blank": ((bearer, ("muniment-tenant", "   ")), "malformed"),
        }
        for metadata, problem in cases.values():
            failure = await rpc.fails(name, metadata=metadata)
            assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "TENANT_METADATA_INVALID")
            assert failure.metadata == {"problem": problem}
        assert rpc.handlers.ran == []
        assert rpc.directory.lookups == 0


async def test_malformed_tenant_names_are_refused() -> None:
    async with serving() as rpc:
        for tenant in MALFORMED_TENANTS:
            failure = await rpc.fails("Recall", metadata=rpc.metadata(tenant=tenant))
            assert (failure.code, failure.metadata) == ("INVALID_ARGUMENT", {"problem": "malformed"}), tenant
        assert rpc.handlers.ran == []


async def test_tenant_names_match_exactly() -> None:
    async with serving() as rpc:
        for name in ("t_1", "tx1", "t-1", "t.1"):
            rpc.directory.tenants[name] = rpc.directory.tenants["t1"]
        key = rpc.directory.add_key(tenants=["t_1"])
        await rpc.call("Recall", metadata=rpc.metadata(key, "t_1"))
        for other in ("tx1", "t-1", "t.1", "t1"):
            assert (await rpc.fails("Recall", metadata=rpc.metadata(key, other))).code == "PERMISSION_DENIED"


@pytest.mark.parametrize("name", RPCS)
async def test_credential_is_required_exactly_once(name: str) -> None:
    async with serving() as rpc:
        tenant = ("muniment-tenant", "t1")
        bearer = ("authorization", f"Bearer {rpc.key.text()}")
        assert (await rpc.fails(name, metadata=(tenant,))).reason == "CREDENTIALS_MISSING"
        binary = (tenant, ("authorization-bin", bearer[1].encode()))
        assert (await rpc.fails(name, metadata=binary)).reason == "CREDENTIALS_MISSING"
        assert (await rpc.fails(name, metadata=(tenant, bearer, bearer))).reason == "CREDENTIALS_INVALID"
        assert rpc.handlers.ran == []


async def test_every_invalid_credential_answers_alike() -> None:
    async with serving() as rpc:
        now = datetime.now(UTC)
        expired = rpc.directory.add_key(expire_time=now - timedelta(seconds=1))
        revoked = rpc.directory.add_key(revoke_time=now)
        unknown = f"mnm_{'a' * 20}_{rpc.key.secret}"
        wrong_secret = f"mnm_{rpc.key.public_id}_{expired.secret}"
        values = [
            f"Bearer {text}"
            for text in (
                expired.text(),
                revoked.text(),
                unknown,
                wrong_secret,
                rpc.key.text() + "x",
                rpc.key.text()[:-1],
                "mnm_",
                "",
                "eyJhbGciOiJub25lIn0.e30.",
                "not a token",
            )
        ]
        values += [rpc.key.text(), f"Basic {rpc.key.text()}", f"Bearer{rpc.key.text()}", ""]
        answers = set()
        for value in values:
            metadata = (("authorization", value), ("muniment-tenant", "t1"))
            failure = await rpc.fails("Recall", metadata=metadata)
            assert failure.code == "UNAUTHENTICATED", value
            answers.add(
                (failure.code, failure.text, failure.reason, tuple(failure.metadata), tuple(failure.details))
            )
        assert len(answers) == 1
        assert rpc.handlers.ran == []


async def test_scheme_is_not_case_sensitive() -> None:
    async with serving() as rpc:
        metadata = (("authorization", f"bearer {rpc.key.text()}"), ("muniment-tenant", "t1"))
        await rpc.call("Recall", metadata=metadata)


@pytest.mark.parametrize("name", RPCS)
async def test_foreign_tenant_answers_like_one_that_never_existed(name: str) -> None:
    async with serving() as rpc:
        existing = await rpc.fails(name, metadata=rpc.metadata(tenant="t2"))
        missing = await rpc.fails(name, metadata=rpc.metadata(tenant="never-was"))
        assert existing.code == "PERMISSION_DENIED"
        assert existing.metadata == {"permission": "tenant"}
        assert (existing.code, existing.text, existing.details) == (
            missing.code,
            missing.text,
            missing.details,
        )
        assert rpc.handlers.ran == []


async def test_handler_sees_the_verified_context() -> None:
    async with serving() as rpc:
        key = rpc.directory.add_key(tenants=["t1", "t2"], subject="u1", agent="planner")
        seen: list[CallContext] = []

        async def handler(_request: object, _context: object) -> object:
            from muniment_server._gen.muniment.v1 import memory_service_pb2

            seen.append(current_call())
            return memory_service_pb2.RecallResponse()

        rpc.handlers.custom["Recall"] = handler
        call = rpc.method("Recall")(
            VALID["Recall"],
            metadata=(*rpc.metadata(key, "t2"), ("muniment-client", "muniment-go/1.2.3")),
            timeout=5,
        )
        await call
        (context,) = seen
        record = rpc.directory.records[key.public_id]
        assert context.tenant_id == rpc.directory.tenants["t2"]
        assert context.tenant_name == "t2"
        assert context.principal.credential_id == record.credential_id
        assert (context.principal.subject, context.principal.agent) == ("u1", "planner")
        assert context.method == "muniment.v1.MemoryService/Recall"
        assert context.client == "muniment-go/1.2.3"
        assert len(context.trace_id) == 32
        assert len(context.span_id) == 16
        assert 0.0 < context.remaining() <= 5.0
        header = dict(await call.initial_metadata())
        assert header["muniment-request-id"] == context.request_id
        with pytest.raises(LookupError):
            current_call()


async def test_malformed_client_name_is_left_out() -> None:
    async with serving() as rpc:
        seen: list[str | None] = []

        async def handler(_request: object, _context: object) -> object:
            from muniment_server._gen.muniment.v1 import memory_service_pb2

            seen.append(current_call().client)
            return memory_service_pb2.RecallResponse()

        rpc.handlers.custom["Recall"] = handler
        for client in ("jo@example.test", "x" * 65, "", "<script>"):
            await rpc.call("Recall", metadata=(*rpc.metadata(), ("muniment-client", client)))
        assert seen == [None] * 4


async def test_health_and_reflection_need_no_credential() -> None:
    health = Health(["muniment.v1.MemoryService"])

    def register(server: grpc.aio.Server) -> None:
        health_pb2_grpc.add_HealthServicer_to_server(health, server)
        reflection.enable_server_reflection(["muniment.v1.MemoryService"], server)

    async with serving(register=register) as rpc:
        await health.check_now()
        stub = health_pb2_grpc.HealthStub(rpc.channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service="muniment.v1.MemoryService"))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        listed = [
            each
            async for each in reflection_pb2_grpc.ServerReflectionStub(rpc.channel).ServerReflectionInfo(
                requests
            )
        ]
        assert [s.name for s in listed[0].list_services_response.service] == ["muniment.v1.MemoryService"]


async def test_permission_of_each_method() -> None:
    needed = {
        "Write": {"write"},
        "Recall": {"recall"},
        "Supersede": {"supersede"},
        "Erase": {"erase"},
        "GetErasure": {"erase", "audit"},
        "GetMemory": {"recall"},
        "ListMemories": {"recall"},
        "ReportUse": {"recall"},
        "Audit": {"audit"},
        "GetRecall": {"audit"},
        "ExportAudit": {"audit"},
        "Ingest": {"write"},
        "StreamIngest": {"write"},
        "GetIngest": {"write", "recall"},
        "Restore": {"supersede"},
        "Retract": {"supersede"},
        "UndoWrite": {"supersede"},
        "ListReviews": {"review"},
        "DecideReview": {"review"},
        "SetConsent": {"erase", "admin"},
        "GetConsent": {"recall"},
        "DescribeSubject": {"recall"},
        "ExportMemories": {"recall"},
        "ImportMemories": {"write"},
    }
    assert set(needed) == set(RPCS)
    async with serving() as rpc:
        for permission in Permission:
            key = rpc.directory.add_key(permissions=[permission])
            for name, enough in needed.items():
                if permission.value in enough:
                    await rpc.call(name, metadata=rpc.metadata(key))
                else:
                    failure = await rpc.fails(name, metadata=rpc.metadata(key))
                    assert (failure.code, failure.reason) == ("PERMISSION_DENIED", "PERMISSION_DENIED")
                    assert failure.metadata["permission"] in enough


async def test_permission_is_checked_before_fields() -> None:
    async with serving(permissions=[Permission.RECALL]) as rpc:
        empty = type(VALID["Write"])()
        assert (await rpc.fails("Write", empty)).code == "PERMISSION_DENIED"
