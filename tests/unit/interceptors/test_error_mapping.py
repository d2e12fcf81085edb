"""Whatever fails, the client gets a status of the contract and never an exception's text."""

import asyncio
import json
import logging
from datetime import timedelta
from itertools import pairwise
from typing import Any

import grpc
import psycopg
import pytest
from psycopg_pool import PoolTimeout

from muniment_server._gen.muniment.v1 import memory_service_pb2
from muniment_server.domain import errors as reasons
from muniment_server.interceptors.errors import DeniedCall, ErrorStage
from muniment_server.storage.database import translate_exception
from support.rpc import VALID, Failure, Rpc, serving

MARKER = "PII-8841 jo@example.test"


def raising(error: BaseException) -> Any:
    async def handler(_request: Any, _context: Any) -> Any:
        raise error

    return handler


async def _failure(rpc: Rpc, error: BaseException) -> Failure:
    rpc.handlers.custom["Recall"] = raising(error)
    return await rpc.fails("Recall")


async def test_uncaught_exception_is_internal_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as rpc:
        caplog.set_level(logging.DEBUG)
        error = RuntimeError(MARKER)
        error.__cause__ = ValueError(MARKER)
        failure = await _failure(rpc, error)
        assert (failure.code, failure.reason) == ("INTERNAL", "INTERNAL")
        assert failure.text == reasons.Internal.message
        trace_id = failure.details["RequestInfo"].request_id
        assert len(trace_id) == 32
        assert MARKER not in repr(failure)
        assert MARKER not in caplog.text
        (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
        assert "RuntimeError" in record.getMessage()
        assert "ValueError" in record.getMessage()


async def test_exception_in_a_stream_is_mapped_alike() -> None:
    async def broken(_request: Any, _context: Any) -> Any:
        from muniment_server._gen.muniment.v1 import audit_pb2

        yield audit_pb2.ExportAuditResponse()
        raise RuntimeError(MARKER)

    async with serving() as rpc:
        rpc.handlers.stream = broken
        failure = await rpc.fails("ExportAudit")
        assert failure.code == "INTERNAL"
        assert MARKER not in repr(failure)


async def test_error_of_the_domain_arrives_whole() -> None:
    async with serving() as rpc:
        failure = await _failure(rpc, reasons.MemoryNotFound("m-1"))
        assert (failure.code, failure.reason, failure.metadata) == (
            "NOT_FOUND",
            "MEMORY_NOT_FOUND",
            {"memory_id": "m-1"},
        )
        assert failure.details["ResourceInfo"].resource_name == "m-1"
        assert len(dict(failure.trailers)["muniment-request-id"]) == 32
        failure = await _failure(rpc, reasons.Overloaded(retry_delay=timedelta(milliseconds=250)))
        assert failure.details["RetryInfo"].retry_delay.ToMilliseconds() == 250


_RETRIES = {
    "methodConfig": [
        {
            "name": [{"service": "muniment.v1.MemoryService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.01s",
                "maxBackoff": "0.01s",
                "backoffMultiplier": 1,
                "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
            },
        }
    ]
}


@pytest.mark.parametrize("kind", [reasons.DatabaseUnavailable, reasons.Overloaded])
async def test_grpcs_own_retries_wait_as_long_as_they_are_asked_to(kind: Any) -> None:
    """A plain channel that knows nothing of RetryInfo, with a backoff of ten milliseconds of its own."""
    attempts: list[float] = []

    async def refuses_twice(_request: Any, _context: Any) -> Any:
        attempts.append(asyncio.get_running_loop().time())
        if len(attempts) < 3:
            raise kind(retry_delay=timedelta(milliseconds=350))
        return memory_service_pb2.RecallResponse(recall_id="here")

    options = (("grpc.service_config", json.dumps(_RETRIES)), ("grpc.use_local_subchannel_pool", 1))
    async with serving(channel_options=options) as rpc:
        rpc.handlers.custom["Recall"] = refuses_twice
        assert (await rpc.call("Recall")).recall_id == "here"
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    assert len(pauses) == 2
    assert all(0.35 <= pause < 1.5 for pause in pauses), pauses


@pytest.mark.parametrize(
    ("error", "pushback"),
    [
        (reasons.DatabaseUnavailable(), "500"),
        (reasons.ShuttingDown(retry_delay=timedelta(microseconds=1500)), "2"),
        # Later than the caller waits: do not wait.
        (reasons.DatabaseUnavailable(retry_delay=timedelta(hours=1)), "-1"),
        (reasons.QuotaExceeded("items", 3, timedelta(seconds=2)), "2000"),
        (reasons.QuotaExceeded("items", 3), None),
        (reasons.MemoryNotFound("m-1"), None),
    ],
)
async def test_the_pushback_is_the_retry_info(error: reasons.MunimentError, pushback: str | None) -> None:
    async with serving() as rpc:
        failure = await _failure(rpc, error)
    assert dict(failure.trailers).get("grpc-retry-pushback-ms") == pushback
    assert ("RetryInfo" in failure.details) == (pushback is not None)


async def test_error_inside_a_task_group_is_found() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(5))
            group.create_task(raising(reasons.MemoryErased("m-1"))(None, None))

    async with serving() as rpc:
        rpc.handlers.custom["Recall"] = handler
        assert (await rpc.fails("Recall")).reason == "MEMORY_ERASED"


async def test_inner_cancellation_answers_at_once() -> None:
    async with serving() as rpc:
        started = asyncio.get_running_loop().time()
        failure = await _failure(rpc, asyncio.CancelledError(MARKER))
        assert failure.code == "INTERNAL"
        assert asyncio.get_running_loop().time() - started < 2


async def test_cancelled_inner_task_answers_at_once() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        inner = asyncio.create_task(asyncio.sleep(30))
        asyncio.get_running_loop().call_later(0.01, inner.cancel)
        await inner

    async with serving() as rpc:
        rpc.handlers.custom["Recall"] = handler
        assert (await rpc.fails("Recall", timeout=5)).code == "INTERNAL"


async def test_caller_cancellation_reaches_the_handler() -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(_request: Any, _context: Any) -> Any:
        began.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with serving() as rpc:
        rpc.handlers.custom["Recall"] = handler
        call = rpc.method("Recall")(VALID["Recall"], metadata=rpc.metadata(), timeout=20)
        await asyncio.wait_for(began.wait(), 5)
        call.cancel()
        await asyncio.wait_for(cancelled.wait(), 2)


async def test_abort_with_trailers_reaches_the_client_unchanged() -> None:
    async def handler(_request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "own words", (("x-trailer", "kept"),))

    async with serving() as rpc:
        rpc.handlers.custom["Recall"] = handler
        failure = await rpc.fails("Recall")
        assert (failure.code, failure.text) == ("FAILED_PRECONDITION", "own words")
        assert dict(failure.trailers)["x-trailer"] == "kept"


async def test_database_errors_are_translated() -> None:
    async with serving(errors=ErrorStage(translate_exception)) as rpc:
        cases: list[tuple[BaseException, str]] = [
            (psycopg.OperationalError(MARKER), "UNAVAILABLE"),
            (psycopg.errors.AdminShutdown(MARKER), "UNAVAILABLE"),
            (psycopg.errors.ConnectionFailure(MARKER), "UNAVAILABLE"),
            (psycopg.errors.QueryCanceled(MARKER), "DEADLINE_EXCEEDED"),
            (PoolTimeout(MARKER), "RESOURCE_EXHAUSTED"),
            (psycopg.errors.UndefinedColumn(MARKER), "INTERNAL"),
        ]
        for error, code in cases:
            failure = await _failure(rpc, error)
            assert failure.code == code, error
            assert MARKER not in repr(failure)
            assert failure.reason
        for error in (psycopg.errors.SerializationFailure(MARKER), psycopg.errors.DeadlockDetected(MARKER)):
            assert (await _failure(rpc, error)).code in ("ABORTED", "UNAVAILABLE")


async def test_malformed_bytes_are_an_invalid_request() -> None:
    async with serving() as rpc:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.channel.unary_unary("/muniment.v1.MemoryService/Recall")(
                b"\xff\xff" + MARKER.encode(), metadata=rpc.metadata(), timeout=5
            )
        failure = Failure.of(caught.value)
        assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
        assert failure.details["BadRequest"].field_violations[0].reason == "message.malformed"
        assert MARKER not in repr(failure)
        # Who may not call learns nothing about the bytes.
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.channel.unary_unary("/muniment.v1.MemoryService/Recall")(b"\xff\xff", timeout=5)
        assert Failure.of(caught.value).code == "UNAUTHENTICATED"


async def test_answer_too_large_for_clients_is_internal() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        return memory_service_pb2.WriteResponse(request_id="x" * (4 * 1024 * 1024))

    async with serving() as rpc:
        rpc.handlers.custom["Write"] = handler
        assert (await rpc.fails("Write")).code == "INTERNAL"


async def test_wrong_answer_type_is_internal() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        return None

    async with serving() as rpc:
        rpc.handlers.custom["Write"] = handler
        assert (await rpc.fails("Write")).code == "INTERNAL"


async def test_unavailable_is_retried_by_a_client_policy() -> None:
    """Fails once headers are sent before the outcome is known: such calls are never retried."""
    policy = {
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.01s",
                    "maxBackoff": "0.1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
    attempts = []

    async def handler(_request: Any, _context: Any) -> Any:
        attempts.append(1)
        if len(attempts) < 3:
            raise reasons.DatabaseUnavailable
        return memory_service_pb2.WriteResponse()

    async with serving(channel_options=[("grpc.service_config", json.dumps(policy))]) as rpc:
        rpc.handlers.custom["Write"] = handler
        await rpc.call("Write")
        assert len(attempts) == 3


# --- reports to the audit -----------------------------------------------------------------------


async def test_denials_are_reported_with_what_is_known() -> None:
    reports: list[DeniedCall] = []

    async def on_denied(denied: DeniedCall) -> None:
        reports.append(denied)

    async with serving(errors=ErrorStage(on_denied=on_denied)) as rpc:
        await rpc.fails("Recall", metadata=(("muniment-tenant", "t1"),))
        await rpc.fails("Recall", metadata=rpc.metadata(tenant="t2"))
        rpc.handlers.custom["GetMemory"] = raising(reasons.MemoryNotFound("m-1"))
        await rpc.fails("GetMemory")
        await rpc.fails("Recall", memory_service_pb2.RecallRequest())
        await _failure(rpc, RuntimeError())
        missing, foreign, unknown = reports
        assert (missing.error.reason, missing.context, missing.principal) == (
            "CREDENTIALS_MISSING",
            None,
            None,
        )
        assert foreign.error.reason == "PERMISSION_DENIED"
        assert foreign.context is None
        assert foreign.principal is not None
        assert foreign.tenant_name == "t2"
        assert unknown.error.reason == "MEMORY_NOT_FOUND"
        assert unknown.context is not None
        assert unknown.context.tenant_id == rpc.directory.tenants["t1"]
        assert unknown.method == "muniment.v1.MemoryService/GetMemory"
        assert len(unknown.trace_id) == 32


async def test_report_that_hangs_or_fails_does_not_change_the_answer() -> None:
    async def hang(_denied: DeniedCall) -> None:
        await asyncio.sleep(60)

    async def fail(_denied: DeniedCall) -> None:
        raise RuntimeError(MARKER)

    for hook in (hang, fail):
        async with serving(errors=ErrorStage(on_denied=hook, report_timeout=0.05)) as rpc:
            failure = await rpc.fails("Recall", metadata=rpc.metadata(tenant="t2"), timeout=5)
            assert failure.code == "PERMISSION_DENIED"
            assert MARKER not in repr(failure)


async def test_reports_are_bounded() -> None:
    release = asyncio.Event()
    running = 0

    async def slow(_denied: DeniedCall) -> None:
        nonlocal running
        running += 1
        await release.wait()

    async with serving(errors=ErrorStage(on_denied=slow, report_limit=2, report_timeout=8)) as rpc:
        calls = [
            asyncio.create_task(rpc.fails("Recall", metadata=rpc.metadata(tenant="t2"))) for _ in range(6)
        ]
        done, _ = await asyncio.wait(calls, timeout=3, return_when=asyncio.ALL_COMPLETED)
        assert (running, len(done)) == (2, 4)
        release.set()
        await asyncio.gather(*calls)


async def test_report_outlives_a_caller_who_hangs_up() -> None:
    began, finished = asyncio.Event(), asyncio.Event()

    async def slow(_denied: DeniedCall) -> None:
        began.set()
        await asyncio.sleep(0.05)
        finished.set()

    async with serving(errors=ErrorStage(on_denied=slow)) as rpc:
        call = rpc.method("Recall")(VALID["Recall"], metadata=rpc.metadata(tenant="t2"), timeout=5)
        await asyncio.wait_for(began.wait(), 5)
        call.cancel()
        await asyncio.wait_for(finished.wait(), 2)
        await rpc.errors.drain()
