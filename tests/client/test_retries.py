"""Repetition, deadlines, tokens."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

import muniment
from client.peer import Fail, Peer
from muniment import _retry
from muniment._rpcs import Rpc
from muniment._settings import service_config
from muniment.v1 import memory_service_pb2

ROOT = Path(__file__).resolve().parents[2]
ID = "01890000-0000-7000-8000-000000000001"
WRITTEN = memory_service_pb2.WriteResponse()
UNAVAILABLE = Fail(grpc.StatusCode.UNAVAILABLE, "DATABASE_UNAVAILABLE")


def test_the_shipped_service_config_is_the_contracts() -> None:
    contract = ROOT / "proto" / "muniment" / "v1" / "muniment_grpc_service_config.json"
    assert json.loads(service_config()) == json.loads(contract.read_text("utf-8"))
    [policy] = json.loads(service_config())["methodConfig"]
    assert policy["retryPolicy"]["maxAttempts"] == _retry.ROUNDS


async def test_unavailable_is_repeated_with_the_same_request_id(client: Any, peer: Peer) -> None:
    peer.answer("Write", UNAVAILABLE, UNAVAILABLE, WRITTEN)
    await client.write("x", subject="u")
    calls = peer.calls("Write")
    assert len(calls) == 3
    assert len({call.request.request_id for call in calls}) == 1
    assert [call.values("grpc-previous-rpc-attempts") for call in calls] == [[], ["1"], ["2"]]


async def test_attempts_are_limited(client: Any, peer: Peer) -> None:
    peer.answer("Write", UNAVAILABLE)
    with pytest.raises(muniment.Unavailable):
        await client.write("x", subject="u")
    assert len(peer.received) == 4


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code.name not in ("OK", "UNAVAILABLE")])
async def test_nothing_else_is_repeated(client: Any, peer: Peer, code: grpc.StatusCode) -> None:
    peer.answer("Write", Fail(code, "REASON", retry_after=timedelta(milliseconds=1)), WRITTEN)
    with pytest.raises(muniment.MunimentError):
        await client.write("x", subject="u")
    assert len(peer.received) == 1


async def test_retry_info_is_honoured(client: Any, peer: Peer) -> None:
    asked = Fail(grpc.StatusCode.UNAVAILABLE, "DATABASE_UNAVAILABLE", retry_after=timedelta(seconds=0.6))
    # The transport uses up its own four attempts first.
    peer.answer("Write", asked, asked, asked, asked, WRITTEN)
    started = time.monotonic()
    await client.write("x", subject="u")
    assert time.monotonic() - started >= 0.6
    assert len(peer.received) == 5
    assert len({call.request.request_id for call in peer.received}) == 1


async def test_waiting_never_exceeds_the_deadline(client: Any, peer: Peer) -> None:
    peer.answer(
        "Write", Fail(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", retry_after=timedelta(seconds=60))
    )
    started = time.monotonic()
    with pytest.raises(muniment.Unavailable) as raised:
        await client.write("x", subject="u")
    assert time.monotonic() - started < 3
    assert raised.value.retry_after == timedelta(seconds=60)


def test_delays() -> None:
    asked = muniment.Unavailable("", retry_after=timedelta(seconds=1))
    for _ in range(100):
        wait = _retry.delay(asked, 1, 10.0)
        assert wait is not None
        assert 1.0 <= wait <= 1.25
    assert _retry.delay(asked, _retry.ROUNDS, 10.0) is None
    assert _retry.delay(asked, 1, 1.0) is None
    assert _retry.delay(muniment.Unavailable(""), 1, 10.0) is None
    exhausted = muniment.ResourceExhausted("", retry_after=timedelta(seconds=1))
    assert _retry.delay(exhausted, 1, 10.0) is None


@pytest.mark.parametrize(
    ("call", "method", "seconds"),
    [
        (lambda client, **more: client.recall("q", subject="u", **more), "Recall", 2),
        (lambda client, **more: client.write("x", subject="u", **more), "Write", 5),
        (lambda client, **more: client.supersede(ID, "x", **more), "Supersede", 5),
        (lambda client, **more: client.erase([ID], **more), "Erase", 30),
        (lambda client, **more: client.get_memory(ID, **more), "GetMemory", 5),
        (lambda client, **more: client.audit(**more).all(), "Audit", 5),
    ],
)
async def test_every_call_has_a_deadline(
    client: Any, peer: Peer, call: Callable[..., Any], method: str, seconds: float
) -> None:
    peer.answer(method, Fail(grpc.StatusCode.INTERNAL, "INTERNAL"))
    for more, expected in (({}, seconds), ({"timeout": 12.0}, 12.0)):
        with pytest.raises(muniment.InternalError):
            await call(client, **more)
        # The transport rounds what it sends.
        assert abs(peer.last(method).remaining - expected) < 1


async def test_deadlines_of_a_client(connect: Callable[..., Any], peer: Peer) -> None:
    peer.answer("Recall", memory_service_pb2.RecallResponse())
    async with connect(peer.target, deadlines=muniment.Deadlines(recall=7.5)) as client:
        await client.recall("q", subject="u")
        assert abs(peer.last("Recall").remaining - 7.5) < 1
        for timeout in (0, -1, float("nan")):
            with pytest.raises(ValueError, match="timeout"):
                await client.recall("q", subject="u", timeout=timeout)


async def test_deadline_exceeded(client: Any, peer: Peer) -> None:
    peer.answer("Recall", lambda _request: time.sleep(0.5))
    started = time.monotonic()
    with pytest.raises(muniment.DeadlineExceeded):
        await client.recall("q", subject="u", timeout=0.1)
    assert time.monotonic() - started < 0.4


def test_each_method_names_a_deadline_that_exists() -> None:
    from muniment import _rpcs

    for name, rpc in vars(_rpcs).items():
        if isinstance(rpc, Rpc):
            assert muniment.Deadlines().seconds(rpc.deadline, None) > 0, name


# --- consistency ------------------------------------------------------------------------------------


def token(text: str) -> Any:
    return memory_service_pb2.WriteResponse(consistency_token={"token": text})


async def test_recalls_see_the_clients_own_writes(client: Any, peer: Peer) -> None:
    peer.answer("Write", token("t1"), token("t2"))
    peer.answer("Recall", memory_service_pb2.RecallResponse(consistency_token={"token": "r1"}))
    await client.recall("q", subject="u")
    assert not peer.last("Recall").request.HasField("consistency")
    for expected in ("t1", "t2"):
        await client.write("x", subject="u")
        await client.recall("q", subject="u")
        assert peer.last("Recall").request.consistency.at_least_as_fresh.token == expected
        assert client.consistency_token == muniment.ConsistencyToken(expected)
    await client.recall("q", subject="u", consistency="minimize_latency")
    assert peer.last("Recall").request.consistency.minimize_latency
    await client.recall("q", subject="u", consistency=muniment.ConsistencyToken("other"))
    assert peer.last("Recall").request.consistency.at_least_as_fresh.token == "other"


async def test_the_token_held_only_moves_forward(client: Any, peer: Peer) -> None:
    orders = (("t5", 5), ("t9", 9), ("t7", 7), ("t9b", 9), ("old server", 0), ("t8", 8))
    peer.answer(
        "Write",
        *(
            memory_service_pb2.WriteResponse(consistency_token={"token": text, "order": order})
            for text, order in orders
        ),
    )
    held = []
    for _ in orders:
        await client.write("x", subject="u")
        held.append(client.consistency_token.token)
    assert held == ["t5", "t9", "t9", "t9b", "old server", "t8"]


async def test_read_your_writes_can_be_switched_off(connect: Callable[..., Any], peer: Peer) -> None:
    peer.answer("Write", token("t1"))
    peer.answer("Recall", memory_service_pb2.RecallResponse())
    async with connect(peer.target, read_your_writes=False) as client:
        await client.write("x", subject="u")
        await client.recall("q", subject="u")
        assert not peer.last("Recall").request.HasField("consistency")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.OUT_OF_RANGE, "CONSISTENCY_TOKEN_EXPIRED"),
        (grpc.StatusCode.INVALID_ARGUMENT, "CONSISTENCY_TOKEN_FOREIGN"),
        (grpc.StatusCode.INVALID_ARGUMENT, "CONSISTENCY_TOKEN_INVALID"),
    ],
)
async def test_an_old_token_of_our_own_does_no_harm(
    client: Any, peer: Peer, code: grpc.StatusCode, reason: str
) -> None:
    refused = Fail(code, reason)
    peer.answer("Write", token("t1"))
    peer.answer("Recall", refused, memory_service_pb2.RecallResponse(recall_id="r"))
    await client.write("x", subject="u")
    assert (await client.recall("q", subject="u")).recall_id == "r"
    assert client.consistency_token is None
    peer.answer("Recall", refused)
    with pytest.raises((muniment.OutOfRange, muniment.InvalidRequest)):
        await client.recall("q", subject="u", consistency=muniment.ConsistencyToken("t1"))


# --- credentials ------------------------------------------------------------------------------------


async def test_a_token_source_is_asked_for_every_call(connect: Callable[..., Any], peer: Peer) -> None:
    peer.answer("Recall", memory_service_pb2.RecallResponse())
    tokens = iter(["one", "two"])
    async with connect(peer.target, token_source=lambda: next(tokens)) as client:
        await client.recall("q", subject="u")
        await client.recall("q", subject="u")
    assert [call.values("authorization") for call in peer.received] == [["Bearer one"], ["Bearer two"]]


async def test_an_asynchronous_token_source(peer: Peer) -> None:
    peer.answer("Recall", memory_service_pb2.RecallResponse())

    async def source() -> str:
        return "jwt"

    async with muniment.connect(peer.target, tenant="dev", token_source=source) as client:
        await client.recall("q", subject="u")
    assert peer.last("Recall").values("authorization") == ["Bearer jwt"]
    with (
        muniment.connect_sync(peer.target, tenant="dev", token_source=source) as sync_client,
        pytest.raises(TypeError, match="returns str"),
    ):
        sync_client.recall("q", subject="u")


async def test_a_slow_token_source_does_not_outlast_the_deadline(peer: Peer) -> None:
    import asyncio

    async def source() -> str:
        await asyncio.sleep(60)
        return "late"

    async with muniment.connect(peer.target, tenant="dev", token_source=source) as client:
        with pytest.raises(muniment.DeadlineExceeded, match="token source"):
            await client.recall("q", subject="u", timeout=0.1)
    assert not peer.received


async def test_errors_of_a_token_source_pass_through(connect: Callable[..., Any], peer: Peer) -> None:
    def source() -> str:
        raise LookupError("the vault is sealed")

    async with connect(peer.target, token_source=source) as client:
        with pytest.raises(LookupError, match="sealed"):
            await client.recall("q", subject="u")
