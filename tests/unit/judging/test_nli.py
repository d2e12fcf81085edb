"""The judge that runs a cross-encoder: what its scores mean. The model itself is stood in for."""

import asyncio
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from muniment_server.domain.conflicts import Relation
from muniment_server.judging.base import JudgeFailed
from muniment_server.judging.llm import read_judgements
from muniment_server.judging.nli import NliJudge

AGAINST, SAYS, NEITHER = (6.0, 0.0, 0.0), (0.0, 6.0, 0.0), (0.0, 0.0, 6.0)


class Encoder:
    def __init__(self, *scores: Sequence[float], labels: dict[int, str] | None = None) -> None:
        self.scores = scores
        self.seen: list[Any] = []
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=labels))

    def predict(self, pairs: Any) -> Any:
        self.seen += pairs
        return [list(one) for one in self.scores]


@pytest.mark.parametrize(
    ("forward", "backward", "relation"),
    [
        (AGAINST, NEITHER, Relation.CONTRADICTS),
        (NEITHER, AGAINST, Relation.CONTRADICTS),
        (SAYS, SAYS, Relation.REINFORCES),
        (SAYS, NEITHER, Relation.REFINES),
        (NEITHER, SAYS, Relation.UNRELATED),
        (NEITHER, NEITHER, Relation.UNRELATED),
    ],
)
async def test_both_directions_decide(forward: Any, backward: Any, relation: Relation) -> None:
    encoder = Encoder(forward, backward)
    (answer,) = await NliJudge("-", encoder).judge([("new", "old")], 5.0)
    assert answer is not None
    assert answer.relation is relation
    assert 0.0 <= answer.confidence <= 1.0
    assert encoder.seen == [("new", "old"), ("old", "new")]


async def test_the_order_of_the_labels_is_the_models_own() -> None:
    labels = {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}
    (answer,) = await NliJudge("-", Encoder((0, 0, 6), (0, 0, 6), labels=labels)).judge([("a", "b")], 5.0)
    assert answer is not None
    assert answer.relation is Relation.CONTRADICTS


async def test_a_slow_or_broken_model_fails_in_time() -> None:
    class Slow(Encoder):
        def predict(self, pairs: Any) -> Any:
            time.sleep(0.5)

    class Broken(Encoder):
        def predict(self, pairs: Any) -> Any:
            raise RuntimeError("out of memory")

    for encoder in (Slow(), Broken()):
        begun = asyncio.get_running_loop().time()
        with pytest.raises(JudgeFailed):
            await NliJudge("-", encoder).judge([("a", "b")], 0.05)
        assert asyncio.get_running_loop().time() - begun < 0.4


def test_a_missing_package_or_model_is_said() -> None:
    with pytest.raises(JudgeFailed):
        NliJudge("/nowhere/at/all")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"judgements": [{"number": 0}]},
        {"judgements": [{"number": 0, "relation": "x", "confidence": 1}]},
    ],
)
def test_another_shape_is_no_judgement(answer: Any) -> None:
    with pytest.raises(JudgeFailed):
        read_judgements(answer, 1)
