"""Errors: every status code has its class, and every detail of the service its place."""

import pickle
import re
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

import muniment
from client.peer import KEY, Fail, Peer
from muniment._errors import BY_CODE

ID = "01890000-0000-7000-8000-000000000001"


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_each_code_has_its_class(client: Any, peer: Peer, code: grpc.StatusCode) -> None:
    peer.answer("Write", Fail(code, "SOME_REASON", "what happened", {"key": "value"}))
    with pytest.raises(muniment.MunimentError) as raised:
        await client.write("x", subject="u")
    error = raised.value
    assert type(error) is BY_CODE[code.name]
    assert error.code == code.name
    assert error.reason == "SOME_REASON"
    assert error.message == "what happened"
    assert error.metadata == {"key": "value"}
    assert error.call_id == "cafe" * 8
    assert isinstance(error.__cause__, grpc.RpcError)
    assert str(error) == f"{code.name} (SOME_REASON): what happened"


def test_every_code_but_ok_is_mapped() -> None:
    assert set(BY_CODE) == {code.name for code in grpc.StatusCode} - {"OK"}


async def test_details(client: Any, peer: Peer) -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field="items[0].content", reason="string.max_bytes", description="must be at most 32768 bytes"
    )
    peer.answer(
        "Write",
        Fail(
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_REQUEST",
            "the request is not valid",
            {"violation_count": "1"},
            [error_details_pb2.BadRequest(field_violations=[violation])],
        ),
    )
    with pytest.raises(muniment.InvalidRequest) as raised:
        await client.write("x", subject="u")
    error = raised.value
    assert error.field_violations == (
        muniment.FieldViolation("items[0].content", "string.max_bytes", "must be at most 32768 bytes"),
    )
    assert "items[0].content: must be at most 32768 bytes" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is muniment.InvalidRequest
    assert copy.__dict__ == error.__dict__


async def test_retry_after_and_trace_id(client: Any, peer: Peer) -> None:
    peer.answer(
        "Write",
        Fail(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "OVERLOADED",
            retry_after=timedelta(milliseconds=1500),
            details=[error_details_pb2.RequestInfo(request_id="ab" * 16)],
        ),
    )
    with pytest.raises(muniment.ResourceExhausted) as raised:
        await client.write("x", subject="u")
    assert raised.value.retry_after == timedelta(milliseconds=1500)
    assert raised.value.trace_id == "ab" * 16
    assert raised.value.reason == muniment.ErrorReason.OVERLOADED


async def test_an_answer_of_something_in_between(client: Any, peer: Peer) -> None:
    peer.answer("Write", Fail(grpc.StatusCode.PERMISSION_DENIED, "PROXY_SAYS_NO", domain="proxy.example"))
    with pytest.raises(muniment.PermissionDenied) as raised:
        await client.write("x", subject="u")
    assert raised.value.reason == ""
    assert raised.value.metadata == {}


@pytest.mark.parametrize(
    ("reason", "metadata", "said"),
    [
        ("PERMISSION_DENIED", {"permission": "erase"}, "it failed (missing: erase)"),
        ("SOURCE_NOT_ALLOWED", {"source_type": "USER_STATED"}, "it failed (refused: user_stated)"),
        ("PERMISSION_DENIED", {}, "it failed"),
    ],
)
async def test_a_refusal_says_what_was_missing(
    client: Any, peer: Peer, reason: str, metadata: dict[str, str], said: str
) -> None:
    peer.answer("Write", Fail(grpc.StatusCode.PERMISSION_DENIED, reason, metadata=metadata))
    with pytest.raises(muniment.PermissionDenied) as raised:
        await client.write("x", subject="u")
    assert str(raised.value).endswith(said)
    assert raised.value.message == "it failed"


async def test_broken_details_do_not_hide_the_error(client: Any, peer: Peer) -> None:
    class Broken(Fail):
        def trailers(self) -> list[tuple[str, str | bytes]]:
            return [("grpc-status-details-bin", b"\xff\xff\xff")]

    peer.answer("Write", Broken(grpc.StatusCode.NOT_FOUND, message="gone"))
    with pytest.raises(muniment.NotFound, match="gone"):
        await client.write("x", subject="u")


async def test_errors_of_pages_and_streams(client: Any, peer: Peer) -> None:
    denied = Fail(grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
    for method in ("Audit", "ExportAudit", "ListMemories", "GetRecall"):
        peer.answer(method, denied)
    with pytest.raises(muniment.PermissionDenied):
        await client.audit().all()
    with pytest.raises(muniment.PermissionDenied):
        _ = [part async for part in client.export_audit()]
    with pytest.raises(muniment.PermissionDenied):
        await client.list_memories(subject="u").all()
    with pytest.raises(muniment.PermissionDenied):
        await client.get_recall(ID)


async def test_nobody_listens(connect: Callable[..., Any]) -> None:
    async with connect("127.0.0.1:1") as client:
        with pytest.raises(muniment.Unavailable) as raised:
            await client.recall("q", subject="u")
    assert raised.value.reason == ""


async def test_no_credential_in_any_error(connect: Callable[..., Any], peer: Peer) -> None:
    async with connect(peer.target) as client, connect("127.0.0.1:1") as nobody:
        assert KEY not in repr(client)
        for each in (client, nobody):
            with pytest.raises(muniment.MunimentError) as raised:
                await each.recall("q", subject="u")
            seen = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
            text = "".join(seen.format())
            assert re.search(r'File "[^"]*muniment/_', text)
            assert KEY not in text
            assert KEY not in repr(raised.value.__cause__)


@pytest.mark.parametrize("key", ["a b", "schlüssel", "line\nbreak", "\ud83d"])
async def test_a_credential_that_cannot_be_sent(connect: Callable[..., Any], peer: Peer, key: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as raised:
        connect(peer.target, api_key=key)
    assert key not in str(raised.value)
    async with connect(peer.target, token_source=lambda: key) as client:
        with pytest.raises(ValueError, match="printable ASCII") as raised:
            await client.recall("q", subject="u")
        assert key not in str(raised.value)
