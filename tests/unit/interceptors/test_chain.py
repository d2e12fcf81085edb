"""The order of the stages, and the table of methods."""

import asyncio
from typing import Any

import grpc
import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.authenticator import Authenticator
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.call import Call
from muniment_server.interceptors.chain import Chain, stages
from muniment_server.interceptors.deadline import DeadlineStage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import METHODS
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage
from support.rpc import RPCS, Directory, serving

ORDER = [
    "telemetry",
    "error mapping",
    "deadline",
    "authentication and tenant",
    "permission",
    "limits",
    "validation",
]


def _all() -> Any:
    return stages(
        TelemetryStage(),
        ErrorStage(),
        DeadlineStage(),
        AuthenticationStage(Authenticator(ApiKeyAuthenticator(Directory()))),
        PermissionStage(),
        LimitStage(),
        ValidationStage(),
    )


def test_stages_stand_in_the_settled_order() -> None:
    assert [stage.name for stage in _all()] == ORDER


@pytest.mark.parametrize("name", ["Recall", "ExportAudit"])
async def test_stages_run_in_the_settled_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    for stage in _all():
        inner = type(stage).__call__

        async def outer(self: Any, call: Call, inner: Any = inner) -> object:
            ran.append(self.name)
            return await inner(self, call)

        monkeypatch.setattr(type(stage), "__call__", outer)
    async with serving() as rpc:
        await rpc.call(name)
        assert ran == ORDER
        assert rpc.handlers.ran == [name]


def test_every_method_of_the_contract_has_a_rule() -> None:
    services = (
        memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
        audit_pb2.DESCRIPTOR.services_by_name["AuditService"],
    )
    methods = {f"{service.full_name}/{method.name}" for service in services for method in service.methods}
    assert methods == set(METHODS)
    assert {method.rpartition("/")[2] for method in methods} == set(RPCS)


async def test_unknown_methods_are_unimplemented() -> None:
    async with serving() as rpc:
        for path in (
            "/muniment.v1.MemoryService/Nope",
            "/other.Service/Recall",
            "/muniment.v2.MemoryService/Recall",
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await rpc.channel.unary_unary(path)(b"", metadata=rpc.metadata(), timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                [
                    each
                    async for each in rpc.channel.unary_stream(path)(b"", metadata=rpc.metadata(), timeout=5)
                ]
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_method_without_a_rule_or_with_a_request_stream_is_not_offered() -> None:
    ran = []

    async def unary(_request: bytes, _context: Any) -> bytes:
        ran.append("unary")
        return b""

    async def collect(_requests: Any, _context: Any) -> bytes:
        ran.append("collect")
        return b""

    def register(server: grpc.aio.Server) -> None:
        handlers = {
            "Unlisted": grpc.unary_unary_rpc_method_handler(unary),
            "Collect": grpc.stream_unary_rpc_method_handler(collect),
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("muniment.v1.Extra", handlers),)
        )

    async with serving(register=register) as rpc:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.channel.unary_unary("/muniment.v1.Extra/Unlisted")(
                b"", metadata=rpc.metadata(), timeout=5
            )
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.channel.stream_unary("/muniment.v1.Extra/Collect")(
                iter([b""]), metadata=rpc.metadata(), timeout=5
            )
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert ran == []


async def test_stream_arrives_whole_with_its_header() -> None:
    async with serving() as rpc:
        call = rpc.method("ExportAudit")(audit_pb2.ExportAuditRequest(), metadata=rpc.metadata(), timeout=5)
        assert len([each async for each in call]) == 3
        assert len(dict(await call.initial_metadata())["muniment-request-id"]) == 32


async def test_stream_that_is_left_early_ends_the_handler() -> None:
    ended = asyncio.Event()

    async def endless(_request: Any, _context: Any) -> Any:
        try:
            while True:
                yield audit_pb2.ExportAuditResponse()
                await asyncio.sleep(0.001)
        finally:
            ended.set()

    async with serving() as rpc:
        rpc.handlers.stream = endless
        call = rpc.method("ExportAudit")(audit_pb2.ExportAuditRequest(), metadata=rpc.metadata(), timeout=5)
        async for _ in call:
            break
        call.cancel()
        await asyncio.wait_for(ended.wait(), 2)


async def test_handlers_are_wrapped_once() -> None:
    chain = Chain(_all())

    async def unary(_request: bytes, _context: Any) -> bytes:
        return b""

    handler = grpc.unary_unary_rpc_method_handler(unary)

    class Details:
        method = "/muniment.v1.MemoryService/Recall"
        invocation_metadata = ()

    async def continuation(_details: Any) -> Any:
        return handler

    first = await chain.intercept_service(continuation, Details())  # type: ignore[arg-type]
    assert first is await chain.intercept_service(continuation, Details())  # type: ignore[arg-type]
    assert first is not handler
