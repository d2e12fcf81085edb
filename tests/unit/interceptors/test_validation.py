"""Violations name field and rule and never repeat what was sent."""

from typing import Any

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from support.rpc import RPCS, VALID, serving

MARKER = "PII-8841 jo@example.test"


async def test_valid_requests_pass_and_reach_the_handler_parsed() -> None:
    seen: list[Any] = []

    async def handler(request: Any, _context: Any) -> Any:
        seen.append(request)
        return memory_service_pb2.WriteResponse()

    async with serving() as rpc:
        for name in RPCS:
            await rpc.call(name)
        rpc.handlers.custom["Write"] = handler
        await rpc.call("Write")
        assert seen == [VALID["Write"]]


async def test_violations_name_field_and_rule() -> None:
    item = write_pb2.WriteItem(content="ok", kind=memory_pb2.MEMORY_KIND_FACT)
    request = memory_service_pb2.WriteRequest(
        scope=memory_pb2.Scope(subject="u1"),
        items=[item, write_pb2.WriteItem(content="ok")],
        request_id="not-a-uuid",
    )
    async with serving() as rpc:
        failure = await rpc.fails("Write", request)
        assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
        found = {each.field: each.reason for each in failure.details["BadRequest"].field_violations}
        assert found.keys() == {"items[1].kind", "request_id"}
        assert found["request_id"] == "string.uuid"
        assert failure.metadata == {"violation_count": "2"}
        assert rpc.handlers.ran == []


async def test_content_is_never_repeated() -> None:
    request = memory_service_pb2.WriteRequest(
        scope=memory_pb2.Scope(subject=MARKER * 20),
        items=[write_pb2.WriteItem(content=MARKER * 3000, slot=MARKER * 20, tags=[MARKER * 5] * 40)],
        request_id=MARKER,
    )
    async with serving() as rpc:
        failure = await rpc.fails("Write", request)
        assert failure.code == "INVALID_ARGUMENT"
        assert "PII-8841" not in repr(failure)
        assert "example.test" not in repr(failure)

        request = memory_service_pb2.WriteRequest()
        request.CopyFrom(VALID["Write"])
        request.items[0].properties[MARKER].string_value = MARKER * 20
        request.items[0].properties["city"].string_value = MARKER * 20
        failure = await rpc.fails("Write", request)
        assert "PII-8841" not in repr(failure)
        fields = {each.field for each in failure.details["BadRequest"].field_violations}
        assert "items[0].properties[*]" in fields
        assert any(field.startswith("items[0].properties[city]") for field in fields)


async def test_at_most_twenty_violations_under_four_kibibytes() -> None:
    request = memory_service_pb2.WriteRequest(
        scope=memory_pb2.Scope(subject="u1"), items=[write_pb2.WriteItem() for _ in range(100)]
    )
    async with serving() as rpc:
        failure = await rpc.fails("Write", request)
        assert 1 <= len(failure.details["BadRequest"].field_violations) <= 20
        assert int(failure.metadata["violation_count"]) >= 200
        details = dict(failure.trailers)["grpc-status-details-bin"]
        assert len(details) <= 4096
