"""The legs beside vector and lexical, seen through the API: who, when, which slot, and what stands around."""

from datetime import UTC, datetime

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import memory_pb2, recall_pb2, write_pb2
from muniment_server.domain.ranking import REPLY
from support.service import Caller, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENTITY = recall_pb2.RETRIEVAL_LEG_ENTITY
TIME = recall_pb2.RETRIEVAL_LEG_TIME
SLOT = recall_pb2.RETRIEVAL_LEG_SLOT
NEIGHBOUR = recall_pb2.RETRIEVAL_LEG_NEIGHBOUR
SESSION = recall_pb2.RETRIEVAL_LEG_SESSION
LEXICAL = recall_pb2.RETRIEVAL_LEG_LEXICAL
VECTOR = recall_pb2.RETRIEVAL_LEG_VECTOR


def stamp(year: int, month: int, day: int, hour: int = 12) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(datetime(year, month, day, hour, tzinfo=UTC))
    return made


def turn(number: int, speaker: str, content: str, session: str = "s1") -> write_pb2.WriteItem:
    item = write_pb2.WriteItem(
        content=content, kind=memory_pb2.MEMORY_KIND_TURN, speaker=speaker, turn_number=number
    )
    item.provenance.session = session
    return item


def event(content: str, start: Timestamp) -> write_pb2.WriteItem:
    item = write_pb2.WriteItem(content=content, kind=memory_pb2.MEMORY_KIND_EVENT)
    item.validity.start_time.CopyFrom(start)
    return item


def legs_of(one: recall_pb2.RankedMemory) -> dict[int, float]:
    return {leg.leg: leg.contribution for leg in one.leg_scores}


async def test_the_answer_behind_a_question_is_found_by_what_the_question_says(caller: Caller) -> None:
    await caller.write(
        "u1",
        turn(1, "Ann", "Which instrument did you learn as a child?"),
        turn(2, "Ben", "The cello, for nine years."),
        turn(3, "Ann", "It rained all the way here."),
        turn(1, "Ben", "My cat is ill again.", "s2"),
    )
    answer = await caller.recall("u1", "Which instrument did Ben learn?", legs=[LEXICAL, NEIGHBOUR, ENTITY])
    assert "cello" in [one.memory.content.split()[1].strip(",") for one in answer.memories[:2]]
    explained = await caller.recall(
        "u1", "Which instrument did Ben learn?", legs=[LEXICAL, NEIGHBOUR, SESSION, ENTITY], explain=True
    )
    cello = next(one for one in explained.memories if "cello" in one.memory.content)
    assert cello.memory.speaker == "Ben"
    assert cello.memory.turn_number == 2
    assert {NEIGHBOUR, SESSION, ENTITY} <= set(legs_of(cello))
    assert "reply" in [factor.name for factor in cello.factors]
    alone = await caller.recall("u1", "Which instrument did Ben learn?", legs=[LEXICAL])
    assert "cello" not in " ".join(one.memory.content for one in alone.memories)


async def test_a_reply_counts_by_how_well_the_question_before_it_matches(caller: Caller) -> None:
    await caller.write(
        "u1",
        turn(1, "Ann", "Which instrument did you learn as a child?"),
        turn(2, "Ben", "The cello, for nine years."),
        turn(3, "Ann", "Is the train late again?"),
        turn(4, "Ben", "By nine minutes, yes."),
        turn(5, "Ben", "Good night then."),
    )
    answer = await caller.recall("u1", "Which instrument did Ben learn?", explain=True, min_score=0.0)
    replies = {
        one.memory.turn_number: factor
        for one in answer.memories
        for factor in one.factors
        if factor.name == "reply"
    }
    assert set(replies) <= {2, 4}
    late = replies[4].value if 4 in replies else 0.0
    assert 0 <= 2 * late < replies[2].value <= 1
    assert replies[2].contribution == pytest.approx(REPLY * replies[2].value)


async def test_turns_that_live_in_a_session_are_neighbours_there(caller: Caller, stored: Stored) -> None:
    def said(number: int, speaker: str, content: str) -> write_pb2.WriteItem:
        item = turn(number, speaker, content)
        item.ClearField("provenance")
        return item

    written = await caller.write(
        "u1",
        said(1, "Ann", "Which hotel did you book in Lyon?"),
        said(2, "Ben", "The Continental, two nights."),
        write_pb2.WriteItem(content="Booking needs a passport.", kind=memory_pb2.MEMORY_KIND_FACT),
        session="trip",
    )
    assert [row["origin_session"] for row in stored.rows("memory", "true ORDER BY doc_no")] == [
        "trip",
        "trip",
        None,
    ]
    assert [one.memory.provenance.session for one in written.results] == ["trip", "trip", ""]
    answer = await caller.recall(
        "u1",
        "Which hotel did Ben book?",
        narrowing={"session": "trip"},
        legs=[LEXICAL, NEIGHBOUR, ENTITY],
        explain=True,
    )
    found = next(one for one in answer.memories if "Continental" in one.memory.content)
    assert NEIGHBOUR in legs_of(found)


async def test_the_only_text_with_a_number_is_found_however_long_it_is(caller: Caller) -> None:
    things = ["river", "market", "lamp", "bread", "window", "garden", "music", "paper", "cloud", "silver"]
    notes = [f"Ann likes the {thing}, {mood}." for thing in things for mood in ("often", "rarely")]
    words = " ".join(f"clause{number} about delivery and liability" for number in range(120))
    report = write_pb2.WriteItem(content=f"{words} order 9083-KD", kind=memory_pb2.MEMORY_KIND_EVENT)
    report.provenance.source_type = memory_pb2.SOURCE_TYPE_TOOL
    report.provenance.confidence = 0.5
    written = await caller.write("u1", *notes, report)
    assert written.results[-1].memory.state == memory_pb2.MEMORY_STATE_ACTIVE
    for legs in ([], [LEXICAL]):
        answer = await caller.recall("u1", "9083-KD", legs=legs, min_score=0.12)
        assert answer.memories[0].memory.content.endswith("9083-KD")


async def test_whoever_is_named_is_the_one_who_speaks(caller: Caller) -> None:
    await caller.write(
        "u1",
        turn(1, "Ann", "I adopted a grey dog in spring."),
        turn(2, "Ben", "I adopted a grey dog in spring."),
    )
    for name in ("Ann", "Ben"):
        answer = await caller.recall("u1", f"What did {name} adopt?", legs=[LEXICAL, ENTITY])
        assert [one.memory.speaker for one in answer.memories] == [name, {"Ann": "Ben", "Ben": "Ann"}[name]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("visit on 5 May", "The visit to the mill"),
        ("the visit of yesterday", "The visit to the harbour"),
        ("visit 上个月", "The visit to the museum"),
        ("visit in 2021", "The visit to the castle"),
    ],
)
async def test_times_of_the_query_are_met_by_validity(caller: Caller, query: str, expected: str) -> None:
    await caller.write(
        "u1",
        event("The visit to the mill", stamp(2026, 5, 5)),
        event("The visit to the harbour", stamp(2026, 6, 16)),
        event("The visit to the museum", stamp(2026, 5, 20)),
        event("The visit to the castle", stamp(2021, 2, 3)),
    )
    answer = await caller.recall(
        "u1", query, legs=[LEXICAL, TIME], reference_time=stamp(2026, 6, 17), explain=True
    )
    assert answer.memories[0].memory.content == expected
    assert legs_of(answer.memories[0])[TIME] > 0


async def test_a_day_is_the_callers_day(caller: Caller) -> None:
    await caller.write(
        "u1", event("A walk early", stamp(2026, 6, 16, 2)), event("A walk late", stamp(2026, 6, 16, 20))
    )
    early, late = "A walk early", "A walk late"
    for zone, expected in (("", {early, late}), ("Asia/Shanghai", {early}), ("America/New_York", {early})):
        answer = await caller.recall(
            "u1",
            "yesterday's walk",
            legs=[LEXICAL, TIME],
            reference_time=stamp(2026, 6, 17, 1),
            time_zone=zone,
            explain=True,
        )
        assert {one.memory.content for one in answer.memories if legs_of(one).get(TIME)} == expected
    # The last ones are files of a machine beside the zones: what clock that is differs between servers.
    for unknown in ("Mars/Base", "Europe", "europe/berlin", "localtime", "posixrules", "right/Europe/Berlin"):
        error = await refused(caller.recall("u1", "walk", time_zone=unknown), "INVALID_ARGUMENT")
        assert violations(error) == ["time_zone"]


async def test_the_words_of_a_slot_find_it(caller: Caller) -> None:
    await caller.write(
        "u1",
        write_pb2.WriteItem(content="Lyon", kind=memory_pb2.MEMORY_KIND_FACT, slot="home_city"),
        "Paris has many bridges",
    )
    answer = await caller.recall("u1", "What is the home city?", legs=[LEXICAL, SLOT], explain=True)
    assert [one.memory.content for one in answer.memories] == ["Lyon"]
    assert SLOT in legs_of(answer.memories[0])


async def test_what_always_applies_comes_along_without_being_relevant(caller: Caller) -> None:
    rule = write_pb2.WriteItem(
        content="Answer in metric units", kind=memory_pb2.MEMORY_KIND_RULE, tags=["pinned"]
    )
    unpinned = write_pb2.WriteItem(content="Answer politely", kind=memory_pb2.MEMORY_KIND_RULE)
    await caller.write("u1", rule, unpinned, "The train leaves at noon")
    answer = await caller.recall("u1", "zebra", legs=[LEXICAL, SLOT])
    assert [one.memory.content for one in answer.memories] == ["Answer in metric units"]
    assert answer.no_relevant_memory
    full = await caller.recall("u1", "train", legs=[LEXICAL, SLOT], limit=1)
    assert [one.memory.content for one in full.memories] == ["The train leaves at noon"]
    more = await caller.recall("u1", "train", legs=[LEXICAL, SLOT], limit=2)
    assert {one.memory.content for one in more.memories} == {
        "Answer in metric units",
        "The train leaves at noon",
    }
    assert not more.no_relevant_memory


async def test_first_place_in_every_leg_is_the_whole_of_rank_fusion(caller: Caller) -> None:
    await caller.write("u1", turn(1, "Ann", "The garden has tea"), turn(2, "Ben", "Fine weather"))
    for count in range(1, 6):
        legs = [LEXICAL, NEIGHBOUR, ENTITY, SESSION, VECTOR][:count]
        fields = {"legs": legs, "fusion": recall_pb2.FUSION_RRF, "explain": True}
        answer = await caller.recall("u1", "What has Ann said of tea in the garden?", **fields)
        best = answer.memories[0]
        assert {leg.leg: leg.rank for leg in best.leg_scores} == dict.fromkeys(legs, 1)
        assert best.score == 1.0


async def test_parts_and_factors_add_up(caller: Caller) -> None:
    liked = write_pb2.WriteItem(content="Likes green tea", kind=memory_pb2.MEMORY_KIND_PREFERENCE)
    await caller.write("u1", liked, turn(1, "Ann", "Do you like tea?"), turn(2, "Ben", "Green tea, yes."))
    answer = await caller.recall("u1", "Does Ben like green tea?", explain=True, min_score=0.0)
    assert len(answer.memories) == 3
    for one in answer.memories:
        total = sum(leg.contribution for leg in one.leg_scores) + sum(f.contribution for f in one.factors)
        assert total == pytest.approx(one.score, abs=1e-9)
    reciprocal = await caller.recall(
        "u1", "Does Ben like green tea?", explain=True, fusion=recall_pb2.FUSION_RRF
    )
    for one in reciprocal.memories:
        assert sum(leg.contribution for leg in one.leg_scores) == pytest.approx(one.score, abs=1e-9)
        assert 0 < one.score <= 1
