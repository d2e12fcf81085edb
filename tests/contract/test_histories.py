"""Random histories of all that changes a memory: whatever happens, what is stored fits together."""

import random
from typing import Any

import grpc
import pytest

from contract.verified import findings
from muniment_server._gen.muniment.v1 import (
    correction_pb2,
    memory_pb2,
    memory_service_pb2,
    review_pb2,
    subject_pb2,
)
from muniment_server.domain.model import TrustLevel
from support.service import Caller, RunningService, item, reason, request_id, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEPS = 80
TEXTS = [f"Lives in town {number}" for number in range(6)]
EVERY = [
    state for state in memory_pb2.MemoryState.values() if state not in (0, memory_pb2.MEMORY_STATE_ERASED)
]


class History:
    """Two callers, one of them hardly trusted, doing something at random."""

    def __init__(self, strong: Caller, weak: Caller, seed: int) -> None:
        self.callers = (strong, weak)
        self.random = random.Random(seed)
        self.ids: list[str] = []
        self.writes: list[str] = []

    def _item(self) -> Any:
        slot = self.random.choice(["", "home", "work"])
        return item(self.random.choice(TEXTS), slot=slot)

    async def step(self) -> None:
        caller = self.random.choice(self.callers)
        name = self.random.choice(
            ["write"] * 4
            + ["supersede"] * 3
            + ["restore"] * 4
            + ["retract"]
            + ["undo"] * 2
            + ["decide"] * 3
            + ["erase", "move"]
        )
        await getattr(self, name)(caller)

    async def write(self, caller: Caller) -> None:
        self.writes.append(request_id())
        items = [self._item() for _ in range(self.random.randint(1, 3))]
        for result in (await caller.write("u1", *items, request_id=self.writes[-1])).results:
            self.ids.append(result.memory.memory_id)

    async def supersede(self, caller: Caller) -> None:
        self.writes.append(request_id())
        target = self.random.choice(self.ids)
        answer = await caller.supersede(target, self._item(), request_id=self.writes[-1])
        self.ids.append(answer.memory.memory_id)

    async def restore(self, caller: Caller) -> None:
        revision = self.random.choice([None, None, 1, 2])
        target = self.random.choice(self.ids)
        await caller.call("Restore", correction_pb2.RestoreRequest(memory_id=target, revision=revision))

    async def retract(self, caller: Caller) -> None:
        target = self.random.choice(self.ids)
        await caller.call("Retract", correction_pb2.RetractRequest(memory_id=target))

    async def undo(self, caller: Caller) -> None:
        target = self.random.choice(self.writes)
        await caller.call("UndoWrite", correction_pb2.UndoWriteRequest(write_request_id=target))

    async def decide(self, caller: Caller) -> None:
        waiting = (await caller.call("ListReviews", review_pb2.ListReviewsRequest())).reviews
        if not waiting:
            return
        decision = self.random.choice([1, 1, 2, 3])
        request = review_pb2.DecideReviewRequest(
            memory_id=self.random.choice(waiting).memory.memory_id,
            decision=decision,
            content=self.random.choice(TEXTS) if decision == 2 else "",
            trust=self.random.choice([0, 4]),
        )
        await caller.call("DecideReview", request)

    async def erase(self, caller: Caller) -> None:
        target = self.random.choice(self.ids)
        await caller.erase_memories(target)

    async def move(self, caller: Caller) -> None:
        self.writes.append(request_id())
        parts = await caller.call("ExportMemories", subject_pb2.ExportMemoriesRequest(scope=scope("u1")))
        records = [record for part in parts for record in part.records]
        if records:
            request = subject_pb2.ImportMemoriesRequest(
                scope=scope("u1"), records=records[:50], request_id=self.writes[-1]
            )
            await caller.call("ImportMemories", request)


@pytest.mark.parametrize("seed", range(1))
async def test_everything_fits_together(shared: RunningService, caller: Caller, seed: int) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    history = History(caller, weak, seed)
    await history.write(caller)
    refused: dict[str, int] = {}
    for _ in range(STEPS):
        try:
            await history.step()
        except grpc.aio.AioRpcError as error:
            refused[reason(error)] = refused.get(reason(error), 0) + 1
    assert refused.keys() <= {
        "MEMORY_ERASED",
        "MEMORY_NOT_ACTIVE",
        "MEMORY_NOT_RESTORABLE",
        "MEMORY_SUPERSEDED",
        "PERMISSION_DENIED",
        "SLOT_CONFLICT",
        "WRITE_NOT_FOUND",
    }, refused
    listed = await caller.call(
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), filter={"states": EVERY}, page_size=1000),
    )
    assert not listed.seal_broken_memory_ids
    live = [one for one in listed.memories if one.state == memory_pb2.MEMORY_STATE_ACTIVE]
    slots = [one.slot for one in live if one.slot]
    assert len(slots) == len(set(slots))
    recalled = await caller.recall("u1", "Lives in town", min_score=0, limit=100)
    assert {one.memory.memory_id for one in recalled.memories} == {one.memory_id for one in live}
    assert not recalled.seal_broken_memory_ids
    assert await findings(shared, caller.tenant) == []
