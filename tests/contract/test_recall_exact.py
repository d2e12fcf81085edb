"""Recall against a plain scan: filters, scopes and tenants never cost a result or change an order."""

import random
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from contract.stored import Stored, memory_ids
from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, recall_pb2
from support.service import Caller, RunningService, item, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

VECTOR = recall_pb2.RETRIEVAL_LEG_VECTOR
QUERY = np.eye(1, 384, dtype=np.float64)[0]


def _near(chance: random.Random, cosine: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A vector with (nearly) this cosine to the query."""
    noise = np.array([chance.gauss(0, 1) for _ in range(383)])
    noise *= np.sqrt(1 - cosine**2) / np.linalg.norm(noise)
    return np.concatenate([[cosine], noise])


def _embedding(vector: np.ndarray[Any, np.dtype[np.float64]]) -> memory_pb2.Embedding:
    return memory_pb2.Embedding(model="deterministic", vector=vector.astype("<f4").tobytes())


def _by_hand(vectors: dict[str, np.ndarray[Any, np.dtype[np.float64]]]) -> list[str]:
    """Ids by cosine of the stored half-precision vectors, best first."""

    def cosine(vector: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        half = (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float64)
        return float(half @ QUERY / np.linalg.norm(half))

    return sorted(vectors, key=lambda memory_id: (-cosine(vectors[memory_id]), memory_id))


async def _fill(
    caller: Caller, subject: str, vectors: Sequence[np.ndarray[Any, np.dtype[np.float64]]], **fields: Any
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    found: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    mark = uuid4()
    for start in range(0, len(vectors), 100):
        part = vectors[start : start + 100]
        items = [
            item(f"{mark} {start + number}", embedding=_embedding(vector), **fields)
            for number, vector in enumerate(part)
        ]
        answer = await caller.write(subject, *items)
        found.update(zip(memory_ids(answer.results), part, strict=True))
    return found


async def _recalled(caller: Caller, subject: str, **fields: Any) -> list[str]:
    request = memory_service_pb2.RecallRequest(
        scope=scope(subject), query_embedding=_embedding(QUERY), legs=[VECTOR], min_score=0.0, **fields
    )
    return memory_ids((await caller.call("Recall", request)).memories)


@pytest.mark.slow
async def test_neighbours_of_others_use_up_nothing(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    chance = random.Random(5_000)
    # Twenty times as near to the query as what is looked for, and in the very same table.
    crowd = [_near(chance, 0.9 + 0.1 * chance.random()) for _ in range(5_000)]
    await _fill(caller, "u1", crowd)
    assert stored.count("memory_embedding") == 5_000
    other = shared.caller(f"{caller.tenant}-b")
    own = await _fill(other, "u1", [_near(chance, 0.2 + 0.3 * chance.random()) for _ in range(30)])
    expected = _by_hand(own)
    assert await _recalled(other, "u1", limit=20) == expected[:20]
    assert await _recalled(other, "u1", limit=50) == expected
    few = await _fill(caller, "u2", [_near(chance, 0.1) for _ in range(3)])
    assert await _recalled(caller, "u2", limit=20) == _by_hand(few)
    assert len(await _recalled(caller, "u1", limit=200)) == 200


async def test_filters_act_before_the_ranking(caller: Caller, stored: Stored) -> None:
    chance = random.Random(30)
    await _fill(caller, "u1", [_near(chance, 0.95) for _ in range(300)], tags=["near"])
    wanted = await _fill(
        caller, "u1", [_near(chance, 0.1 + 0.5 * chance.random()) for _ in range(25)], tags=["far"]
    )
    expected = _by_hand(wanted)
    assert await _recalled(caller, "u1", limit=20, filter={"tags_all": ["far"]}) == expected[:20]
    assert await _recalled(caller, "u1", limit=200, filter={"tags_none": ["near"]}) == expected
    assert stored.count("memory") == 325


async def test_what_was_superseded_or_erased_takes_no_place(caller: Caller, stored: Stored) -> None:
    chance = random.Random(31)
    near = await _fill(caller, "u1", [_near(chance, 0.97) for _ in range(40)])
    far = await _fill(caller, "u1", [_near(chance, 0.3 * chance.random() + 0.1) for _ in range(12)])
    names = list(near)
    await caller.erase_memories(*names[:20])
    for memory_id in names[20:]:
        vector = _near(chance, 0.05)
        answer = await caller.supersede(
            memory_id, item(f"Instead of {memory_id}", embedding=_embedding(vector))
        )
        far[answer.memory.memory_id] = vector
    assert await _recalled(caller, "u1", limit=20) == _by_hand(far)[:20]
    assert stored.live() == set(far)
    assert stored.count("memory_embedding") == len(far) + 20


async def test_equal_scores_have_one_order(caller: Caller) -> None:
    same = [QUERY.copy() for _ in range(12)]
    ids = sorted(await _fill(caller, "u1", same))
    for limit in (1, 5, 12, 50):
        assert await _recalled(caller, "u1", limit=limit) == ids[:limit]
