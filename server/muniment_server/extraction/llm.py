"""The extractor that asks a language model, and the hybrid of it and the rules.

What the model answers is data of no standing: each candidate has to name turns that exist, to be short, to
stand in those turns, and to claim no better source than the roles of those turns allow. Whatever does not is
left out. What is left passes the same gates as any write.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from muniment_server.domain.extraction import rules
from muniment_server.domain.extraction.candidate import (
    HEDGED,
    MOST_CHARACTERS,
    ROLE_SOURCE,
    Candidate,
    Extraction,
    ExtractorKind,
    Fallback,
    Turn,
    TurnRole,
    weakest,
)
from muniment_server.domain.model import MemoryKind, SourceType
from muniment_server.domain.statement import check_text, normalise_statement

from .base import by_rules
from .chat import ChatModel
from .errors import LlmError, LlmInvalidAnswer, LlmTimeout
from .grounding import is_grounded
from .prompts import load_prompt

VERSION: Final = "v1"
MOST_CANDIDATES: Final = 50
_MOST_CHARACTERS: Final = 24_000
"""Of one question, so that it fits into the context of small models."""
_EARLIER: Final = 6
_SCHEMA: Final = "memory_candidates"
_SLOT: Final = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_KINDS: Final[Mapping[str, MemoryKind]] = {
    "preference": MemoryKind.PREFERENCE,
    "fact": MemoryKind.FACT,
    "event": MemoryKind.EVENT,
    "decision": MemoryKind.DECISION,
}
_SOURCES: Final[Mapping[str, SourceType]] = {
    "user_stated": SourceType.USER_STATED,
    "user_confirmed": SourceType.USER_CONFIRMED,
    "user_guessed": SourceType.USER_STATED,
    "agent": SourceType.AGENT_INFERRED,
    "tool": SourceType.TOOL,
    "third_party": SourceType.THIRD_PARTY,
}
_GUESSED: Final = "user_guessed"


class LlmExtractor:
    """A language model behind an endpoint; the rules where it fails."""

    kind = ExtractorKind.LLM

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._prompt = load_prompt("extract", VERSION)

    async def extract(
        self, turns: Sequence[Turn], before: Sequence[Turn] = (), patience: float | None = None
    ) -> Extraction:
        """See Extractor."""
        try:
            return Extraction(await self.proposed(turns, before, patience), self.kind)
        except LlmError as error:
            return Extraction(await by_rules(turns), ExtractorKind.RULES, fallback_of(error))

    async def proposed(
        self, turns: Sequence[Turn], before: Sequence[Turn], patience: float | None
    ) -> list[Candidate]:
        """What the model proposes, as far as it holds. Raises LlmError."""
        end = None if patience is None else time.monotonic() + patience
        found: list[Candidate] = []
        for part in _parts(turns):
            answer = await self._model.ask(
                self._prompt.instructions,
                json.dumps(
                    {
                        "earlier": [_shown(turn) for turn in before],
                        "turns": [_shown(turn) for turn in part],
                    },
                    ensure_ascii=False,
                ),
                name=_SCHEMA,
                schema=self._prompt.schema,
                patience=None if end is None else max(0.0, end - time.monotonic()),
            )
            found += checked(answer, part, before)
            before = part[-_EARLIER:]
        return found


def _parts(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    """Turns for one question each."""
    part: list[Turn] = []
    size = 0
    for turn in turns:
        length = min(len(turn.content), rules.LOOKED_AT)
        if part and size + length > _MOST_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(turn)
        size += length
    if part:
        yield part


class HybridExtractor:
    """The language model for meaning, the rules for what has one right form: identity, contact and place."""

    kind = ExtractorKind.HYBRID

    def __init__(self, model: LlmExtractor) -> None:
        self._model = model

    async def extract(
        self, turns: Sequence[Turn], before: Sequence[Turn] = (), patience: float | None = None
    ) -> Extraction:
        """See Extractor."""
        plain = await by_rules(turns)
        try:
            proposed = await self._model.proposed(turns, before, patience)
        except LlmError as error:
            return Extraction(plain, ExtractorKind.RULES, fallback_of(error))
        hard = [one for one in plain if is_hard(one)]
        taken = {(number, one.slot) for one in hard for number in one.turn_numbers if one.slot}
        said = {normalise_statement(one.content) for one in hard}
        meant = [
            one
            for one in proposed
            if normalise_statement(one.content) not in said
            and not any((number, one.slot) in taken for number in one.turn_numbers)
        ]
        # In the order of the conversation, so that the last word on a slot is the last one said.
        return Extraction(sorted((*hard, *meant), key=lambda one: max(one.turn_numbers)), self.kind)


def is_hard(candidate: Candidate) -> bool:
    """Whether a candidate of the rules says who, where or how to reach."""
    rule = candidate.extracted_by.rpartition("/")[2]
    return rule in rules.HARD or (rule == "correction" and candidate.slot in rules.HARD_SLOTS)


def fallback_of(error: LlmError) -> Fallback:
    """Why the rules did the work."""
    if isinstance(error, LlmTimeout):
        return Fallback.LLM_TIMEOUT
    return Fallback.LLM_INVALID_ANSWER if isinstance(error, LlmInvalidAnswer) else Fallback.LLM_UNAVAILABLE


def _shown(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "role": turn.role.name,
        "speaker": turn.speaker,
        "time": turn.time.isoformat() if turn.time else None,
        "content": turn.content[: rules.LOOKED_AT],
    }


def checked(answer: Any, turns: Sequence[Turn], before: Sequence[Turn] = ()) -> list[Candidate]:
    """The candidates of an answer that hold, in the order of the conversation. A candidate may name earlier
    turns, but not those alone. Raises LlmInvalidAnswer when the answer has not the form that was asked for.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("candidates"), list):
        raise LlmInvalidAnswer("not of the schema")
    new = {turn.number for turn in turns}
    known = {turn.number: turn for turn in (*before, *turns)}
    found = []
    for proposal in answer["candidates"][:MOST_CANDIDATES]:
        if not isinstance(proposal, dict):
            raise LlmInvalidAnswer("not of the schema")
        candidate = _candidate(proposal, known)
        if candidate is not None and new.intersection(candidate.turn_numbers):
            found.append(candidate)
    return sorted(found, key=lambda one: max(one.turn_numbers))


def _candidate(proposal: Mapping[str, Any], known: Mapping[int, Turn]) -> Candidate | None:
    content, slot, claimed = proposal.get("content"), proposal.get("slot"), proposal.get("source")
    numbers = proposal.get("turn_numbers")
    kind = _KINDS.get(str(proposal.get("kind")))
    source = _SOURCES.get(str(claimed))
    if not isinstance(content, str) or not isinstance(numbers, list) or kind is None or source is None:
        raise LlmInvalidAnswer("not of the schema")
    if slot is not None and not isinstance(slot, str):
        raise LlmInvalidAnswer("not of the schema")
    named = list(dict.fromkeys(number for number in numbers if type(number) is int and number in known))
    content = content.strip()
    if not named or len(named) != len(set(map(repr, numbers))):
        return None
    quoted = [known[number] for number in named]
    if not content or len(content) > MOST_CHARACTERS or check_text(content) is not None:
        return None
    if not is_grounded(content, quoted):
        return None
    source = _allowed(source, quoted)
    by_user = source in (SourceType.USER_STATED, SourceType.USER_CONFIRMED)
    guessed = claimed == _GUESSED
    return Candidate(
        content=content,
        kind=kind,
        source=source,
        turn_numbers=tuple(sorted(named)),
        extracted_by=f"llm/{VERSION}",
        slot=slot if slot and by_user and not guessed and _SLOT.fullmatch(slot) else None,
        confidence=HEDGED if guessed else None,
    )


def _allowed(claimed: SourceType, quoted: Sequence[Turn]) -> SourceType:
    """The claimed source as far as the roles of the quoted turns bear it out."""
    roles = {turn.role for turn in quoted}
    if claimed is SourceType.USER_CONFIRMED and roles == {TurnRole.USER, TurnRole.AGENT}:
        return claimed
    if claimed is SourceType.USER_CONFIRMED:
        claimed = SourceType.USER_STATED
    return weakest((claimed, *(ROLE_SOURCE[role] for role in roles)))
