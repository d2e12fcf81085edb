"""The order of the stages, and the table of methods."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, ingest_pb2
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.authenticator import Authenticator
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.call import Call
from muniment_server.interceptors.chain import Chain, stages
from muniment_server.interceptors.deadline import DeadlineStage
from muniment_server.interceptors.errors import ErrorStage
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import METHODS, MethodClass
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage
from support.rpc import RPCS, SERVICES, VALID, Directory, Failure, serving

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


@pytest.mark.parametrize("name", ["Recall", "ExportAudit", "StreamIngest"])
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
    services = [module.DESCRIPTOR.services_by_name[name] for name, (module, *_) in SERVICES.items()]
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


async def test_method_without_a_rule_or_with_two_streams_is_not_offered() -> None:
    ran = []

    async def unary(_request: bytes, _context: Any) -> bytes:
        ran.append("unary")
        return b""

    async def collect(_requests: Any, _context: Any) -> bytes:
        ran.append("collect")
        return b""

    async def both(_requests: Any, _context: Any) -> Any:
        ran.append("both")
        yield b""

    def register(server: grpc.aio.Server) -> None:
        handlers = {
            "Unlisted": grpc.unary_unary_rpc_method_handler(unary),
            "Collect": grpc.stream_unary_rpc_method_handler(collect),
            "Both": grpc.stream_stream_rpc_method_handler(both),
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("muniment.v1.Extra", handlers),)
        )

    async with serving(register=register) as rpc:
        calls = [
            rpc.channel.unary_unary("/muniment.v1.Extra/Unlisted")(b"", metadata=rpc.metadata(), timeout=5),
            *(
                rpc.channel.stream_unary(f"/muniment.v1.Extra/{name}")(
                    iter([b""]), metadata=rpc.metadata(), timeout=5
                )
                for name in ("Collect", "Both")
            ),
        ]
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert ran == []


async def test_messages_of_a_stream_arrive_checked_and_in_their_order() -> None:
    seen: list[int] = []

    async def collect(requests: Any, _context: Any) -> Any:
        async for each in requests:
            seen.append(each.turns[0].number)  # noqa: PERF401 - what came before an error counts
        return ingest_pb2.StreamIngestResponse(ingest_id="x")

    async with serving() as rpc:
        rpc.handlers.custom["StreamIngest"] = collect
        call = rpc.method("StreamIngest")(
            iter([_message(0), _message(1), _message(2)]), metadata=rpc.metadata(), timeout=5
        )
        assert (await call).ingest_id == "x"
        assert len(dict(await call.initial_metadata())["muniment-request-id"]) == 32
        assert seen == [0, 1, 2]
        # The third one breaks a rule: the first two have been handed over, the handler gets no third.
        seen.clear()
        failure = await _fails(rpc, iter([_message(0), _message(1), _message(-1), _message(3)]))
        assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
        assert seen == [0, 1]
        failure = await _fails(rpc, iter([]))
        assert failure.code == "OK"


async def test_a_message_of_a_stream_that_is_too_large_or_malformed_is_refused() -> None:
    async with serving(limits=LimitStage(max_request_bytes=200)) as rpc:
        large = _message(1)
        large.turns[0].content = "x" * 300
        failure = await _fails(rpc, iter([_message(0), large]))
        assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "REQUEST_TOO_LARGE")
        raw = rpc.channel.stream_unary("/muniment.v1.MemoryService/StreamIngest")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await raw(iter([b"\xff\xff"]), metadata=rpc.metadata(), timeout=5)
        assert Failure.of(caught.value).reason == "INVALID_REQUEST"
        for limiter in rpc.limits.limiters.values():
            assert limiter.held == 0


async def test_a_key_that_is_revoked_writes_nothing_more_into_an_open_stream() -> None:
    seen: list[int] = []

    async def collect(requests: Any, _context: Any) -> Any:
        async for each in requests:
            seen.append(each.turns[0].number)
            revoked = next(iter(rpc.directory.records.values()))
            rpc.directory.records[revoked.public_id] = replace(revoked, revoke_time=datetime.now(UTC))
            rpc.authenticator.api_keys.drop_all()

    async with serving() as rpc:
        rpc.handlers.custom["StreamIngest"] = collect
        failure = await _fails(rpc, iter([_message(0), _message(1)]))
        assert (failure.code, failure.reason) == ("UNAUTHENTICATED", "CREDENTIALS_INVALID")
        assert seen == [0]


async def test_a_key_that_is_revoked_is_sent_nothing_more_of_a_stream() -> None:
    async def export(_request: Any, _context: Any) -> Any:
        for _ in range(3):
            yield audit_pb2.ExportAuditResponse()
            revoked = next(iter(rpc.directory.records.values()))
            rpc.directory.records[revoked.public_id] = replace(revoked, revoke_time=datetime.now(UTC))
            rpc.authenticator.api_keys.drop_all()

    async with serving() as rpc:
        rpc.handlers.stream = export
        call = rpc.method("ExportAudit")(VALID["ExportAudit"], metadata=rpc.metadata(), timeout=5)
        assert isinstance(await call.read(), audit_pb2.ExportAuditResponse)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert Failure.of(caught.value).reason == "CREDENTIALS_INVALID"


async def test_one_tenant_does_not_hold_every_stream() -> None:
    release, running = asyncio.Event(), asyncio.Semaphore(0)

    async def collect(requests: Any, _context: Any) -> Any:
        running.release()
        await release.wait()
        return ingest_pb2.StreamIngestResponse(ingest_id="x")

    async with serving(limits=LimitStage({MethodClass.STREAM: 4})) as rpc:
        rpc.handlers.custom["StreamIngest"] = collect
        calls = [asyncio.create_task(_fails(rpc, iter([_message(0)]))) for _ in range(2)]
        for _ in calls:
            await running.acquire()
        failure = await _fails(rpc, iter([_message(0)]))
        assert (failure.code, failure.reason) == ("RESOURCE_EXHAUSTED", "OVERLOADED")
        other = rpc.metadata(tenant="t2", key=rpc.directory.add_key(tenants=["t2"]))
        call = rpc.method("StreamIngest")(iter([_message(0)]), metadata=other, timeout=5)
        await running.acquire()
        release.set()
        assert (await call).ingest_id == "x"
        assert [one.code for one in await asyncio.gather(*calls)] == ["OK", "OK"]
        assert (await _fails(rpc, iter([_message(0)]))).code == "OK"


async def test_a_stream_that_says_nothing_more_ends_at_its_deadline() -> None:
    ended = asyncio.Event()

    async def collect(requests: Any, _context: Any) -> Any:
        try:
            async for _ in requests:
                pass
        finally:
            ended.set()

    async def hesitant() -> Any:
        yield _message(0)
        await asyncio.sleep(30)

    async with serving() as rpc:
        rpc.handlers.custom["StreamIngest"] = collect
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.method("StreamIngest")(hesitant(), metadata=rpc.metadata(), timeout=0.5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        async with asyncio.timeout(5):
            await ended.wait()
        assert rpc.limits.limiters[MethodClass.STREAM].held == 0


async def test_a_caller_without_the_permission_is_refused_before_a_message_is_read() -> None:
    async with serving(permissions=[]) as rpc:
        failure = await _fails(rpc, iter([_message(0)]))
        assert failure.code == "PERMISSION_DENIED"
        assert rpc.handlers.ran == []


def _message(number: int) -> Any:
    message = type(VALID["StreamIngest"])()
    message.CopyFrom(VALID["StreamIngest"])
    message.turns[0].number = number  # type: ignore[attr-defined]
    return message


async def _fails(rpc: Any, messages: Any) -> Failure:
    """How a stream ended; code OK when it did not fail."""
    try:
        await rpc.method("StreamIngest")(messages, metadata=rpc.metadata(), timeout=5)
    except grpc.aio.AioRpcError as error:
        return Failure.of(error)
    return Failure("OK", "", "", {}, {}, [])


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
