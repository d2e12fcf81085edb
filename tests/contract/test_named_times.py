"""Questions that name a time, by all legs and the threshold in force: what lies in that time is found."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import memory_pb2, recall_pb2
from muniment_server.embedding.base import Embedder
from support.postgres import PostgresDatabase
from support.service import EVENT, Caller, RunningService, item, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

TIME, LEXICAL = recall_pb2.RETRIEVAL_LEG_TIME, recall_pb2.RETRIEVAL_LEG_LEXICAL
SHOES, DINNER, BILL, CAR = (
    "Bought new running shoes at the mall",
    "Dinner with Paolo at the harbour",
    "Paid the electricity bill",
    "Car inspection passed",
)
EVENTS = {
    SHOES: datetime(2026, 6, 16, 15, tzinfo=UTC),
    DINNER: datetime(2026, 6, 16, 21, 59, 59, tzinfo=UTC),
    BILL: datetime(2026, 6, 10, tzinfo=UTC),
    CAR: datetime(2026, 5, 5, 9, tzinfo=UTC),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase, multilingual: Embedder) -> AsyncIterator[RunningService]:
    """A service with the real default model, whose threshold is in force."""
    async with running_service(module_database, embedder=multilingual, embedding_patience=15.0) as running:
        yield running


def stamp(instant: datetime) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(instant)
    return made


NOW = stamp(datetime(2026, 6, 17, 10, tzinfo=UTC))


def event(content: str, start: datetime | None = None, end: datetime | None = None) -> Any:
    validity = memory_pb2.Validity(
        start_time=stamp(start) if start else None, end_time=stamp(end) if end else None
    )
    return item(content, EVENT, validity=validity)


async def write_events(caller: Caller, stored: Stored) -> None:
    written = await caller.write("u1", *(event(content, start) for content, start in EVENTS.items()))
    for result, start in zip(written.results, EVENTS.values(), strict=True):
        assert stored.memory(result.memory.memory_id)["valid_from"] == start


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What did I do yesterday?", {SHOES, DINNER}),
        ("yesterday", {SHOES, DINNER}),
        ("我昨天做了什么？", {SHOES, DINNER}),
        ("昨日何をしましたか？", {SHOES, DINNER}),
        ("어제 뭐 했어?", {SHOES, DINNER}),
        ("Was habe ich gestern gemacht?", {SHOES, DINNER}),
        ("hôm qua tôi đã làm gì?", {SHOES, DINNER}),
        ("เมื่อวานฉันทำอะไร", {SHOES, DINNER}),
        ("ماذا فعلت أمس؟", {SHOES, DINNER}),
        ("¿Qué hice ayer?", {SHOES, DINNER}),
        ("Qu'est-ce que j'ai fait hier ?", {SHOES, DINNER}),
        ("What did I do yesterday at 5 pm?", {SHOES, DINNER}),
        ("วันที่ 5 พฤษภาคม 2569 ฉันทำอะไร", {CAR}),
        ("ماذا حدث في ٥ مايو ٢٠٢٦؟", {CAR}),
        ("ngày 5 tháng 5 năm 2026 tôi đã làm gì?", {CAR}),
        ("What happened on 30 February 2026?", set()),
        ("what did I do last week", {BILL}),
        ("What happened on 5 May 2026?", {CAR}),
        ("What happened on 5 May?", {CAR}),
        ("05.05.2026", {CAR}),
        ("5/5/2026", {CAR}),
        ("What happened between 3 May 2026 and 10 May 2026?", {CAR}),
        ("五月发生了什么", {CAR}),
        ("What happened since 10 June 2026?", {BILL, SHOES, DINNER}),
        ("What happened on 6 May 2026?", set()),
        ("What did I do the day before yesterday?", set()),
        ("我大前天做了什么？", set()),
    ],
)
async def test_a_question_for_a_time_alone_finds_what_lies_in_it(
    caller: Caller, stored: Stored, query: str, found: set[str]
) -> None:
    await write_events(caller, stored)
    answer = await caller.recall("u1", query, reference_time=NOW, time_zone="Europe/Berlin", explain=True)
    in_time = {
        one.memory.content for one in answer.memories if any(leg.leg == TIME for leg in one.leg_scores)
    }
    assert in_time == found
    assert answer.no_relevant_memory == (not answer.memories)


async def test_a_question_for_more_needs_more_than_the_time(caller: Caller, stored: Stored) -> None:
    await write_events(caller, stored)
    answer = await caller.recall("u1", "What zebra came yesterday?", legs=[TIME, LEXICAL], reference_time=NOW)
    assert not answer.memories
    assert answer.no_relevant_memory
    answer = await caller.recall("u1", "What shoes came yesterday?", legs=[TIME, LEXICAL], reference_time=NOW)
    assert [one.memory.content for one in answer.memories] == [SHOES]


async def test_what_is_said_of_no_time_is_of_the_time_of_its_record(caller: Caller, stored: Stored) -> None:
    written = await caller.write("u1", event("A quiet day"), event(CAR, EVENTS[CAR]))
    created = stored.memory(written.results[0].memory.memory_id)["create_time"]
    answer = await caller.recall("u1", "What happened today?", reference_time=stamp(created))
    # The record of what happened at another time is half a sign, and none by itself.
    assert [one.memory.content for one in answer.memories] == ["A quiet day"]


LYON, FALCON, LEASE = "Trip to Lyon", "Project Falcon is running", "Lives in the flat by the canal"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        # In the middle, on the first and on the last day, around it, and on the days next to it.
        ("Where was I on 6 May 2026?", {LYON}),
        ("Where was I on 3 May 2026?", {LYON}),
        ("Where was I on 9 May 2026?", {LYON}),
        ("What was I doing between 1 May 2026 and 20 May 2026?", {LYON}),
        ("Where was I on 10 May 2026?", set()),
        ("Where was I on 2 May 2026?", set()),
        # Of a validity without an end, and of one without a beginning, nothing but the other end is known.
        ("What happened on 1 March 2024?", {LEASE}),
        ("What happened on 2 March 2024?", set()),
        ("What happened in 2019?", set()),
    ],
)
async def test_validity_with_both_ends_counts_throughout(
    caller: Caller, stored: Stored, query: str, found: set[str]
) -> None:
    validities = {
        LYON: (datetime(2026, 5, 3, tzinfo=UTC), datetime(2026, 5, 10, tzinfo=UTC)),
        LEASE: (datetime(2024, 3, 1, tzinfo=UTC), None),
        FALCON: (None, datetime(2030, 3, 1, tzinfo=UTC)),
    }
    written = await caller.write("u1", *(event(content, *ends) for content, ends in validities.items()))
    for result, (start, end) in zip(written.results, validities.values(), strict=True):
        row = stored.memory(result.memory.memory_id)
        assert (row["valid_from"], row["valid_to"]) == (start, end)
    answer = await caller.recall("u1", query, reference_time=NOW, explain=True)
    by_time = {
        one.memory.content: leg.raw_score
        for one in answer.memories
        for leg in one.leg_scores
        if leg.leg == TIME
    }
    assert by_time == dict.fromkeys(found, 1.0)


async def test_what_was_recorded_then_is_half_a_sign(caller: Caller, stored: Stored) -> None:
    written = await caller.write("u1", event(LYON, datetime(2026, 5, 3, tzinfo=UTC)))
    created = stored.memory(written.results[0].memory.memory_id)["create_time"]
    answer = await caller.recall(
        "u1", "What is said of Lyon today?", reference_time=stamp(created), explain=True
    )
    assert [leg.raw_score for leg in answer.memories[0].leg_scores if leg.leg == TIME] == [0.5]


async def test_an_end_before_its_beginning_breaks_nothing(
    caller: Caller, stored: Stored, shared: RunningService
) -> None:
    written = await caller.write("u1", event(LYON, datetime(2026, 5, 3, tzinfo=UTC)), event(CAR, EVENTS[CAR]))
    shared.database.execute(
        "UPDATE memory SET valid_to = valid_from - interval '2 days' WHERE memory_id = %s",
        (written.results[0].memory.memory_id,),
    )
    try:
        answer = await caller.recall("u1", "What happened on 5 May 2026?", reference_time=NOW)
        assert [one.memory.content for one in answer.memories] == [CAR]
    finally:
        shared.database.execute(
            "UPDATE memory SET valid_to = NULL WHERE memory_id = %s",
            (written.results[0].memory.memory_id,),
        )
