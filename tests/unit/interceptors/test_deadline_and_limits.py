"""Deadlines are kept, and what is too much or too large is refused with a way out."""

import asyncio
import time
from typing import Any

import pytest

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from muniment_server.domain.errors import Overloaded
from muniment_server.identity.principal import current_call
from muniment_server.interceptors.deadline import DeadlineRule, DeadlineStage
from muniment_server.interceptors.limits import Limiter, LimitStage
from muniment_server.interceptors.methods import MethodClass
from support.rpc import serving


async def hanging(_request: Any, _context: Any) -> Any:
    await asyncio.sleep(60)


async def test_hung_handler_answers_in_time_with_details() -> None:
    async with serving() as rpc:
        await rpc.call("Recall")
        rpc.handlers.custom["Recall"] = hanging
        started = time.monotonic()
        failure = await rpc.fails("Recall", timeout=0.5)
        assert failure.code == "DEADLINE_EXCEEDED"
        # Our own status and not the transport's: the server ends a little before the caller.
        assert failure.reason == "DEADLINE_EXCEEDED"
        assert time.monotonic() - started < 1.5


async def test_hung_stream_answers_in_time() -> None:
    async def hung(_request: Any, _context: Any) -> Any:
        await asyncio.sleep(60)
        yield

    rules = {MethodClass.EXPORT: DeadlineRule(default=0.3, ceiling=0.3)}
    async with serving(deadline=DeadlineStage(rules)) as rpc:
        rpc.handlers.stream = hung
        assert (await rpc.fails("ExportAudit", timeout=30)).reason == "DEADLINE_EXCEEDED"


async def test_default_and_ceiling() -> None:
    seen: list[float] = []

    async def handler(_request: Any, _context: Any) -> Any:
        seen.append(current_call().remaining())
        return memory_service_pb2.RecallResponse()

    rules = {MethodClass.RECALL: DeadlineRule(default=1.0, ceiling=3.0)}
    async with serving(deadline=DeadlineStage(rules)) as rpc:
        rpc.handlers.custom["Recall"] = handler
        await rpc.call("Recall", timeout=None)
        await rpc.call("Recall", timeout=60)
        await rpc.call("Recall", timeout=2)
        assert 0.3 < seen[0] <= 1.0
        assert 2.0 < seen[1] <= 3.0
        assert 1.0 < seen[2] < 2.0


async def test_ceiling_is_enforced() -> None:
    rules = {MethodClass.RECALL: DeadlineRule(default=0.1, ceiling=0.1)}
    async with serving(deadline=DeadlineStage(rules)) as rpc:
        rpc.handlers.custom["Recall"] = hanging
        assert (await rpc.fails("Recall", timeout=30)).reason == "DEADLINE_EXCEEDED"


async def test_too_little_time_is_refused_before_anything_runs() -> None:
    async with serving() as rpc:
        await rpc.call("Recall")
        rpc.handlers.ran.clear()
        lookups = rpc.directory.lookups
        for _ in range(5):
            assert (await rpc.fails("Recall", timeout=0.015)).code == "DEADLINE_EXCEEDED"
        await asyncio.sleep(0.05)
        assert rpc.handlers.ran == []
        assert rpc.directory.lookups == lookups


async def test_timeout_of_the_handlers_own_is_not_the_deadline() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1)

    async with serving() as rpc:
        rpc.handlers.custom["Recall"] = handler
        assert (await rpc.fails("Recall")).code == "INTERNAL"


async def test_slow_credential_lookup_is_under_the_deadline() -> None:
    async with serving() as rpc:

        async def slow(_public_id: str) -> None:
            await asyncio.sleep(60)

        rpc.authenticator.api_keys._cache._lookup = slow
        assert (await rpc.fails("Recall", timeout=0.3)).code == "DEADLINE_EXCEEDED"


async def test_overload_is_refused_with_a_delay_and_health_of_others_is_kept() -> None:
    release = asyncio.Event()

    async def handler(_request: Any, _context: Any) -> Any:
        await release.wait()
        return memory_service_pb2.RecallResponse()

    limits = LimitStage({MethodClass.RECALL: 2}, waiting_per_slot=1, patience=0.3)
    async with serving(limits=limits) as rpc:
        rpc.handlers.custom["Recall"] = handler
        calls = [asyncio.create_task(rpc.call("Recall")) for _ in range(8)]
        done, running = await asyncio.wait(calls, timeout=4)
        assert len(running) == 2
        for task in done:
            error = task.exception()
            assert error is not None
        failure = await rpc.fails("Recall")
        assert (failure.code, failure.reason) == ("RESOURCE_EXHAUSTED", "OVERLOADED")
        assert failure.details["RetryInfo"].retry_delay.ToMilliseconds() > 0
        # Another class has its own slots.
        await rpc.call("Write")
        release.set()
        await asyncio.gather(*running)
        assert limits.limiters[MethodClass.RECALL].held == 0


async def test_short_burst_waits_in_line() -> None:
    async def handler(_request: Any, _context: Any) -> Any:
        await asyncio.sleep(0.01)
        return memory_service_pb2.RecallResponse()

    limits = LimitStage({MethodClass.RECALL: 4}, waiting_per_slot=8)
    async with serving(limits=limits) as rpc:
        rpc.handlers.custom["Recall"] = handler
        await asyncio.gather(*(rpc.call("Recall") for _ in range(32)))
        assert limits.limiters[MethodClass.RECALL].held == 0


async def test_limiter_hands_slots_over_and_loses_none() -> None:
    limiter = Limiter(2, 100)
    peak = 0

    async def user(index: int) -> None:
        nonlocal peak
        await limiter.acquire(0.05 if index % 3 == 0 else 5)
        try:
            peak = max(peak, limiter.held)
            await asyncio.sleep(0.003)
        finally:
            limiter.release()

    tasks = [asyncio.create_task(user(index)) for index in range(60)]
    await asyncio.sleep(0.02)
    for index, task in enumerate(tasks):
        if index % 7 == 0:
            task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(each is None or isinstance(each, Overloaded | asyncio.CancelledError) for each in results)
    assert peak == 2
    assert limiter.held == 0
    await limiter.acquire(0.01)
    await limiter.acquire(0.01)
    with pytest.raises(Overloaded):
        await limiter.acquire(0.01)


async def test_a_slot_goes_to_the_tenant_that_has_the_fewest() -> None:
    limiter = Limiter(8, 16, most=7)
    for _ in range(7):
        await limiter.acquire(0.01, "many")
    with pytest.raises(Overloaded):
        await limiter.acquire(0.01, "many")
    served: list[str] = []

    async def wait(tenant: str) -> None:
        await limiter.acquire(5, tenant)
        served.append(tenant)

    # The first ones fill its part of the line; whoever comes behind them still finds a slot, and a place.
    line = [asyncio.create_task(wait("many")) for _ in range(16)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await limiter.acquire(5, "many")
    others = [asyncio.create_task(wait(tenant)) for tenant in ("one", "one", "two")]
    await asyncio.sleep(0)
    assert served == ["one"]
    limiter.release("many")
    limiter.release("many")
    await asyncio.sleep(0)
    assert served == ["one", "two", "one"]
    for tenant in ("one", "one", "two"):
        limiter.release(tenant)
    await asyncio.gather(*others)
    assert served[3:] == ["many", "many"]
    for task in line:
        task.cancel()
    await asyncio.gather(*line, return_exceptions=True)
    assert limiter.waiting == 0
    for _ in range(7):
        limiter.release("many")
    assert limiter.held == 0


async def test_a_full_line_refuses_nobody_who_has_no_place_in_it() -> None:
    limiter = Limiter(2, 3, most=1)
    for tenant in ("one", "two"):
        await limiter.acquire(0.01, tenant)
    served: list[str] = []

    async def wait(tenant: str) -> None:
        await limiter.acquire(5, tenant)
        served.append(tenant)

    line = [asyncio.create_task(wait(tenant)) for tenant in ("one", "two") for _ in range(3)]
    await asyncio.sleep(0)
    assert limiter.waiting == 6
    last = asyncio.create_task(wait("three"))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await limiter.acquire(0.01, "three")
    for _ in range(2):
        limiter.release("one")
    await last
    assert served == ["one", "three"]
    for task in line:
        task.cancel()
    await asyncio.wait(line)
    for tenant in ("two", "three"):
        limiter.release(tenant)
    assert (limiter.held, limiter.waiting) == (0, 0)


async def test_request_over_the_limit_names_the_limit() -> None:
    items = [
        write_pb2.WriteItem(content="x" * 32 * 1024, kind=memory_pb2.MEMORY_KIND_FACT) for _ in range(100)
    ]
    legal = memory_service_pb2.WriteRequest(scope=memory_pb2.Scope(subject="u1"), items=items)
    async with serving() as rpc:
        await rpc.call("Write", legal)
        large = memory_service_pb2.WriteRequest(scope=memory_pb2.Scope(subject="u1"), items=items * 2)
        del large.items[130:]
        assert 4 * 1024 * 1024 < large.ByteSize() < 5 * 1024 * 1024
        failure = await rpc.fails("Write", large)
        assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "REQUEST_TOO_LARGE")
        assert failure.metadata == {
            "limit_bytes": str(4 * 1024 * 1024),
            "actual_bytes": str(large.ByteSize()),
        }
