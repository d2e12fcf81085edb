"""Writes conversations into a running service and asks it the questions, through its RPCs alone."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from muniment_server._gen.muniment.v1 import (
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    write_pb2,
)
from support.service import Caller

from .corpora import Conversation, Turn

BATCH = 50
_ITEM = write_pb2.WriteItem.DESCRIPTOR.fields_by_name
_REQUEST = memory_service_pb2.RecallRequest.DESCRIPTOR.fields_by_name


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to ask: names of legs (all of the server's when empty), and the fusion if not the default.

    fused: names of configurations whose lists are fused here, by reciprocal ranks, instead of asking.
    """

    name: str
    legs: tuple[str, ...] = ()
    fusion: str | None = None
    fused: tuple[str, ...] = ()


@dataclass(slots=True)
class Corpus:
    """A conversation in the service: which turns a memory stands for, and what became of the writes."""

    conversation: Conversation
    subject: str
    turns: dict[str, list[str]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)


def server_legs() -> list[str]:
    """Names of the legs that the contract knows, in lower case."""
    prefix = "RETRIEVAL_LEG_"
    return [
        name.removeprefix(prefix).lower()
        for name, number in recall_pb2.RetrievalLeg.items()
        if number and name.startswith(prefix)
    ]


def standard_configurations() -> list[Configuration]:
    """The default and what it is held against."""
    plain = ("vector", "lexical")
    rrf = Configuration("rrf", plain, "rrf") if "fusion" in _REQUEST else Configuration("rrf", fused=plain)
    return [
        Configuration("default"),
        Configuration("vector", ("vector",)),
        Configuration("lexical", ("lexical",)),
        rrf,
    ]


def to_item(turn: Turn, *, captions: bool) -> write_pb2.WriteItem:
    """A turn as a TURN memory."""
    text = turn.text
    if captions and turn.caption:
        text = f"{text} [image: {turn.caption}]".strip()
    item = write_pb2.WriteItem(kind=memory_pb2.MEMORY_KIND_TURN)
    if "speaker" in _ITEM:
        item.speaker = turn.speaker
        item.turn_number = turn.place
        item.content = text
    else:
        item.content = f"{turn.speaker}: {text}" if turn.speaker else text
    item.provenance.source_type = memory_pb2.SOURCE_TYPE_USER_STATED
    if turn.session:
        item.provenance.session = turn.session
    if turn.time is not None:
        item.validity.start_time.FromDatetime(turn.time)
    return item


async def write(
    caller: Caller, conversation: Conversation, *, captions: bool, progress: Callable[[int], None]
) -> Corpus:
    """Write all turns of a conversation under a subject of its own."""
    corpus = Corpus(conversation, f"{conversation.corpus}/{conversation.name}")
    turns = [turn for turn in conversation.turns if turn.text.strip() or turn.caption]
    for start in range(0, len(turns), BATCH):
        batch = turns[start : start + BATCH]
        response = await caller.call(
            "Write",
            memory_service_pb2.WriteRequest(
                scope=memory_pb2.Scope(subject=corpus.subject),
                items=[to_item(turn, captions=captions) for turn in batch],
                request_id=str(uuid4()),
            ),
            timeout=300.0,
        )
        for turn, result in zip(batch, response.results, strict=True):
            outcome = write_pb2.WriteOutcome.Name(result.outcome).removeprefix("WRITE_OUTCOME_").lower()
            corpus.outcomes[outcome] += 1
            if result.memory.memory_id:
                corpus.turns.setdefault(result.memory.memory_id, []).append(turn.turn_id)
        progress(len(batch))
    return corpus


def _request(corpus: Corpus, query: str, how: Configuration, limit: int) -> memory_service_pb2.RecallRequest:
    request = memory_service_pb2.RecallRequest(
        scope=memory_pb2.Scope(subject=corpus.subject),
        query=query,
        limit=limit,
        min_score=0.0,
        legs=[f"RETRIEVAL_LEG_{leg.upper()}" for leg in how.legs],
        view=memory_pb2.MEMORY_VIEW_BASIC,
    )
    if how.fusion is not None:
        kind = _REQUEST["fusion"].enum_type
        (number,) = [each.number for each in kind.values if each.name.endswith(f"_{how.fusion.upper()}")]
        request.fusion = number
    return request


async def ask(
    caller: Caller,
    corpora: Sequence[Corpus],
    how: Configuration,
    earlier: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    limit: int,
    parallel: int,
    progress: Callable[[int], None],
) -> tuple[dict[str, list[str]], list[float]]:
    """Turn ids by question id, best first, and the seconds that each question took.

    `earlier`: what other configurations found.
    """
    if how.fused:
        lists = [earlier[name] for name in how.fused]
        return {one: reciprocal([each[one] for each in lists])[:limit] for one in lists[0]}, []
    ranked: dict[str, list[str]] = {}
    times: list[float] = []
    turn = asyncio.Semaphore(parallel)

    async def one(corpus: Corpus, question_id: str, text: str) -> None:
        async with turn:
            began = time.perf_counter()
            response: Any = await caller.call("Recall", _request(corpus, text, how, limit), timeout=60.0)
            times.append(time.perf_counter() - began)
        # A statement that was made twice is one memory, and takes a place for each of its turns.
        ranked[question_id] = [
            turn_id for found in response.memories for turn_id in corpus.turns.get(found.memory.memory_id, ())
        ]
        progress(1)

    try:
        async with asyncio.TaskGroup() as group:
            for corpus in corpora:
                for question in corpus.conversation.questions:
                    group.create_task(one(corpus, question.question_id, question.text))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return ranked, times


def reciprocal(lists: Sequence[Sequence[str]], k: int = 60) -> list[str]:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): sum of 1 / (k + rank), k = 60."""
    scores: dict[str, float] = {}
    for ranked in lists:
        for place, one in enumerate(ranked, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (k + place)
    return sorted(scores, key=lambda one: (-scores[one], one))
