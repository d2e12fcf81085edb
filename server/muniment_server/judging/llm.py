"""A judge that asks the configured language model; its answer is read as JSON and believed in no more."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from muniment_server.domain.conflicts import Judgement, Relation
from muniment_server.extraction.chat import ChatModel
from muniment_server.extraction.errors import LlmError
from muniment_server.extraction.prompts import load_prompt

from .base import JudgeFailed

VERSION: Final = "v1"
_MOST_CHARACTERS: Final = 2_000
_RELATIONS: Final[Mapping[str, Relation]] = {relation.name.lower(): relation for relation in Relation}


class LlmJudge:
    """One question for all pairs of a write."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._prompt = load_prompt("judge", VERSION)

    async def judge(self, pairs: Sequence[tuple[str, str]], patience: float) -> list[Judgement | None]:
        """See Judge."""
        question = {
            "pairs": [
                {"number": number, "new": new[:_MOST_CHARACTERS], "old": old[:_MOST_CHARACTERS]}
                for number, (new, old) in enumerate(pairs)
            ]
        }
        try:
            answer = await self._model.ask(
                self._prompt.instructions,
                json.dumps(question, ensure_ascii=False),
                name="judgements",
                schema=self._prompt.schema,
                patience=patience,
                most_tokens=64 * len(pairs) + 256,
            )
        except LlmError as error:
            raise JudgeFailed(type(error).__name__) from None
        return read_judgements(answer, len(pairs))


def read_judgements(answer: Any, count: int) -> list[Judgement | None]:
    """The judgements of an answer, in the order of the pairs. Raises JudgeFailed for another shape."""
    found: list[Judgement | None] = [None] * count
    try:
        for one in answer["judgements"]:
            number, confidence = one["number"], float(one["confidence"])
            if type(number) is int and 0 <= number < count and 0.0 <= confidence <= 1.0:
                found[number] = Judgement(_RELATIONS[one["relation"]], confidence)
    except (KeyError, TypeError, ValueError):
        raise JudgeFailed("another shape") from None
    return found
