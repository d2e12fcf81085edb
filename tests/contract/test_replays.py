"""Request ids and who uses them: an answer comes back to a caller with the same rights, and to no other."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import (
    correction_pb2,
    erasure_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    review_pb2,
    subject_pb2,
)
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from muniment_server.interceptors.methods import METHODS
from support.conversations import stream, turn
from support.service import Caller, RunningService, item, request_id, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATED = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED)
HEARSAY = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)

Send = Callable[[Caller], Awaitable[Any]]


@dataclass(frozen=True)
class Repeatable:
    """A call with a request id. bound: may be made by a credential that is bound to an agent."""

    method: str
    prepare: Callable[[Caller, str], Awaitable[Send]]
    bound: bool = True


def _said(answer: Any) -> Any:
    """An answer, but for the token of an erasure, which tells of the moment of the answer."""
    return answer.receipt if hasattr(answer, "receipt") else answer


def _of(method: str, request: Any) -> Send:
    return lambda caller: caller.call(method, request)


async def _memory(caller: Caller, content: str = "Lives in Nice", **fields: Any) -> str:
    written = await caller.write("u1", item(content, provenance=STATED, **fields), agent="a1")
    return written.results[0].memory.memory_id


async def _write(caller: Caller, mark: str) -> Send:
    place = scope("u1", agent="a1")
    return _of(
        "Write",
        memory_service_pb2.WriteRequest(scope=place, items=[item("Likes tea")], request_id=mark),
    )


async def _supersede(caller: Caller, mark: str) -> Send:
    request = memory_service_pb2.SupersedeRequest(
        memory_id=await _memory(caller), item=item("Lives in Lyon", provenance=STATED), request_id=mark
    )
    return _of("Supersede", request)


async def _erase(caller: Caller, mark: str) -> Send:
    target = erasure_pb2.ErasureTarget(
        memories=erasure_pb2.MemoriesTarget(memory_ids=[await _memory(caller)])
    )
    return _of("Erase", memory_service_pb2.EraseRequest(target=target, request_id=mark))


async def _report_use(caller: Caller, mark: str) -> Send:
    await _memory(caller)
    recalled = await caller.recall("u1", "Lives in Nice", narrowing={"agent": "a1"})
    request = memory_service_pb2.ReportUseRequest(recall_id=recalled.recall_id, request_id=mark)
    return _of("ReportUse", request)


async def _ingest(caller: Caller, mark: str) -> Send:
    request = ingest_pb2.IngestRequest(
        scope=scope("u1", agent="a1", session="s1"),
        turns=[turn(0, "I live in Bergen.")],
        mode=ingest_pb2.EXTRACTION_MODE_NONE,
        request_id=mark,
    )
    return _of("Ingest", request)


async def _stream(caller: Caller, mark: str) -> Send:
    part = ingest_pb2.StreamIngestRequest(
        scope=scope("u1", agent="a1", session="s1"),
        turns=[turn(0, "I live in Bergen.")],
        mode=ingest_pb2.EXTRACTION_MODE_NONE,
        request_id=mark,
    )
    return lambda sender: stream(sender, [part])


async def _restore(caller: Caller, mark: str) -> Send:
    memory_id = await _memory(caller)
    await caller.supersede(memory_id, item("Lives in Lyon", provenance=STATED))
    return _of("Restore", correction_pb2.RestoreRequest(memory_id=memory_id, request_id=mark))


async def _retract(caller: Caller, mark: str) -> Send:
    return _of("Retract", correction_pb2.RetractRequest(memory_id=await _memory(caller), request_id=mark))


async def _undo(caller: Caller, mark: str) -> Send:
    write = request_id()
    await caller.write("u1", item("Likes tea", provenance=STATED), agent="a1", request_id=write)
    return _of("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=write, request_id=mark))


async def _decide(caller: Caller, mark: str) -> Send:
    waiting = (await caller.write("u1", item("Owes money", provenance=HEARSAY), agent="a1")).results[0]
    request = review_pb2.DecideReviewRequest(
        memory_id=waiting.memory.memory_id, decision=review_pb2.REVIEW_DECISION_APPROVE, request_id=mark
    )
    return _of("DecideReview", request)


async def _consent(caller: Caller, mark: str) -> Send:
    request = subject_pb2.SetConsentRequest(
        scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_ALL, request_id=mark
    )
    return _of("SetConsent", request)


async def _import(caller: Caller, mark: str) -> Send:
    request = subject_pb2.ImportMemoriesRequest(
        scope=scope("u1"), records=[subject_pb2.MemoryRecord(item=item("Likes tea"))], request_id=mark
    )
    return _of("ImportMemories", request)


REPEATABLE = (
    Repeatable("Write", _write),
    Repeatable("Supersede", _supersede),
    Repeatable("Erase", _erase),
    Repeatable("ReportUse", _report_use),
    Repeatable("Ingest", _ingest),
    Repeatable("StreamIngest", _stream),
    Repeatable("Restore", _restore),
    Repeatable("Retract", _retract),
    Repeatable("UndoWrite", _undo),
    Repeatable("DecideReview", _decide),
    Repeatable("SetConsent", _consent, bound=False),
    Repeatable("ImportMemories", _import),
)
each = pytest.mark.parametrize("call", REPEATABLE, ids=lambda call: call.method)


def others(shared: RunningService, tenant: str, method: str) -> dict[str, Caller]:
    """Callers of the same tenant with other rights, each with the permission that the method needs."""
    (needed,) = (rule.permissions for name, rule in METHODS.items() if name.endswith(f"/{method}"))
    return {
        "another agent": shared.caller(tenant, agent="a2"),
        "another credential of the agent": shared.caller(tenant, agent="a1"),
        "another subject": shared.caller(tenant, subject="u2"),
        "the subject alone": shared.caller(tenant, subject="u1"),
        "fewer permissions": shared.caller(tenant, permissions=[needed[0]]),
        "fewer sources": shared.caller(tenant, source_types=[SourceType.TOOL]),
        "less trust": shared.caller(tenant, max_trust=TrustLevel.LOW),
    }


async def test_every_method_with_a_request_id_is_tried() -> None:
    from contract.requests import valid_requests

    known = {
        name
        for name, request in valid_requests().items()
        if "request_id" in request.DESCRIPTOR.fields_by_name
    }
    # Of audit events it is a condition, not a mark.
    assert known - {"Audit"} | {"Ingest", "StreamIngest"} == {call.method for call in REPEATABLE}


@each
async def test_a_caller_with_other_rights_gets_no_stored_answer(
    shared: RunningService, caller: Caller, stored: Stored, call: Repeatable
) -> None:
    send = await call.prepare(caller, request_id())
    first = await send(caller)
    before = stored.snapshot()
    for who, other in others(shared, caller.tenant, call.method).items():
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(other)
        code = caught.value.code().name
        assert code in {"ALREADY_EXISTS", "NOT_FOUND", "PERMISSION_DENIED"}, (who, code)
        assert stored.snapshot() == before, who
    assert _said(await send(caller)) == _said(first)
    assert stored.snapshot() == before


@each
async def test_a_caller_with_the_same_rights_gets_it(
    shared: RunningService, caller: Caller, stored: Stored, call: Repeatable
) -> None:
    send = await call.prepare(caller, request_id())
    first = await send(caller)
    before = stored.snapshot()
    assert _said(await send(shared.caller(caller.tenant))) == _said(first)
    assert stored.snapshot() == before


@each
async def test_what_a_bound_credential_was_answered_is_its_own(
    shared: RunningService, caller: Caller, stored: Stored, call: Repeatable
) -> None:
    send = await call.prepare(caller, request_id())
    bound = shared.caller(caller.tenant, agent="a1")
    if not call.bound:
        before = stored.snapshot()
        await refused(send(bound), "PERMISSION_DENIED", "PERMISSION_DENIED")
        assert stored.snapshot() == before
        return
    first = await send(bound)
    before = stored.snapshot()
    assert _said(await send(bound)) == _said(first)
    for other in (caller, shared.caller(caller.tenant, agent="a2"), shared.caller(caller.tenant, agent="a1")):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(other)
        assert caught.value.code().name in {"ALREADY_EXISTS", "NOT_FOUND", "PERMISSION_DENIED"}
    assert stored.snapshot() == before


async def test_a_new_key_in_the_place_of_an_old_one_repeats_a_write(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    rights = {"permissions": [Permission.WRITE], "subject": "u1", "max_trust": TrustLevel.MEDIUM}
    old, new = (shared.caller(caller.tenant, **rights) for _ in range(2))
    mark = request_id()
    first = await old.write("u1", "Likes tea", request_id=mark)
    assert await new.write("u1", "Likes tea", request_id=mark) == first
    (row,) = stored.rows("memory")
    assert (str(row["memory_id"]), row["reinforce_count"]) == (first.results[0].memory.memory_id, 0)
