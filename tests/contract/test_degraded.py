"""What fails of a Recall is left out and named; the rest answers."""

from typing import Any

import grpc
import pytest

from muniment_server._gen.muniment.v1 import audit_pb2, recall_pb2
from muniment_server.application import recall_query as recalling
from support.service import Caller, RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Broken:
    """Fails at whatever it is asked."""

    name = "broken"

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


async def receipt_of(caller: Caller, recall_id: str) -> audit_pb2.MemoriesRecalled:
    asked = audit_pb2.GetRecallRequest(recall_id=recall_id)
    return (await caller.call("GetRecall", asked)).receipt.recalled


async def test_a_query_that_cannot_be_analysed_is_answered_by_meaning(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.write("u1", "Likes tea", "Likes jam")

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(recalling, "query_terms", fail)
    answer = await caller.recall("u1", "Likes tea")
    assert answer.memories[0].memory.content == "Likes tea"
    assert {(one.stage, one.reason) for one in answer.degraded} == {
        (recall_pb2.RECALL_STAGE_LEG, recall_pb2.DEGRADATION_REASON_FAILED)
    }
    without = set(recall_pb2.RetrievalLeg.values()) - {0, recall_pb2.RETRIEVAL_LEG_VECTOR}
    assert sorted(one.leg for one in answer.degraded) == sorted(without), "none of them saw the words"
    two = [recall_pb2.RETRIEVAL_LEG_VECTOR, recall_pb2.RETRIEVAL_LEG_TIME]
    asked = await caller.recall("u1", "Likes tea", legs=two)
    assert [one.leg for one in asked.degraded] == [recall_pb2.RETRIEVAL_LEG_TIME]
    assert (await receipt_of(caller, answer.recall_id)).degraded == answer.degraded
    with pytest.raises(grpc.aio.AioRpcError):
        await caller.recall("u1", "Likes tea", legs=[recall_pb2.RETRIEVAL_LEG_LEXICAL])


async def test_a_tokenizer_that_fails_is_replaced_by_the_estimate(
    shared: RunningService, caller: Caller
) -> None:
    await caller.write("u1", "Likes tea")
    services = shared.service.services
    before = services.tokenizer
    object.__setattr__(services, "tokenizer", Broken())
    try:
        answer = await caller.recall("u1", "tea", token_budget=400)
    finally:
        object.__setattr__(services, "tokenizer", before)
    assert answer.packed_context.memory_ids == [answer.memories[0].memory.memory_id]
    assert answer.packed_context.tokenizer == "estimate-1"
    (degradation,) = answer.degraded
    assert degradation.stage == recall_pb2.RECALL_STAGE_PACKING
    assert degradation.reason == recall_pb2.DEGRADATION_REASON_FAILED
    stored = await receipt_of(caller, answer.recall_id)
    assert (stored.tokenizer, list(stored.degraded)) == ("estimate-1", [degradation])
