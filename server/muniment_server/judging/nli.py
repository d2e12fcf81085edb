"""A judge that runs a cross-encoder for natural language inference, through `sentence-transformers`.

Both directions are asked. A contradiction in either is one; entailment in both says the same; a new statement
that entails the old one says more; anything else is unrelated. The confidence is the model's probability.
"""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from muniment_server.domain.conflicts import Judgement, Relation

from .base import JudgeFailed

_LABELS = ("contradiction", "entailment", "neutral")
"""The order of most published models; a model's own configuration goes first."""


class NliJudge:
    """A loaded cross-encoder. Bound to the processor, so it runs beside the event loop."""

    def __init__(self, name: str, model: Any = None) -> None:
        """name: a folder or a model's name. Raises JudgeFailed when package or model are not there."""
        if model is None:
            try:
                model = import_module("sentence_transformers").CrossEncoder(name)
            except (ImportError, OSError, ValueError) as error:
                raise JudgeFailed(f"the model cannot be loaded: {type(error).__name__}") from error
        self._model: Any = model
        self._columns = _columns(model)

    async def judge(self, pairs: Sequence[tuple[str, str]], patience: float) -> list[Judgement | None]:
        """See Judge."""
        both = [pair for new, old in pairs for pair in ((new, old), (old, new))]
        try:
            async with asyncio.timeout(patience):
                scores = await asyncio.to_thread(self._model.predict, both)
        except (TimeoutError, RuntimeError, ValueError) as error:
            raise JudgeFailed(type(error).__name__) from None
        chances = _softmax(np.asarray(scores, dtype=np.float64))
        return [self._relate(chances[2 * place], chances[2 * place + 1]) for place in range(len(pairs))]

    def _relate(self, forward: Any, backward: Any) -> Judgement:
        against, says, _ = self._columns
        contradiction = max(float(forward[against]), float(backward[against]))
        new_says_old, old_says_new = float(forward[says]), float(backward[says])
        if contradiction >= 0.5:
            return Judgement(Relation.CONTRADICTS, contradiction)
        if min(new_says_old, old_says_new) >= 0.5:
            return Judgement(Relation.REINFORCES, min(new_says_old, old_says_new))
        if new_says_old >= 0.5:
            return Judgement(Relation.REFINES, new_says_old)
        return Judgement(Relation.UNRELATED, 1.0 - max(contradiction, new_says_old, old_says_new))


def _columns(model: Any) -> tuple[int, int, int]:
    names = getattr(getattr(getattr(model, "model", model), "config", None), "id2label", None) or {}
    found = {str(label).lower(): int(number) for number, label in dict(names).items()}
    if set(_LABELS) <= set(found):
        return found["contradiction"], found["entailment"], found["neutral"]
    return 0, 1, 2


def _softmax(scores: Any) -> Any:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
