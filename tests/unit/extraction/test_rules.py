"""The rule extractor: what it takes, what it leaves, and in whose name."""

from datetime import UTC, datetime

import pytest

from muniment_server.domain.extraction.candidate import Turn, TurnRole
from muniment_server.domain.extraction.rules import extract
from muniment_server.domain.extraction.sentences import sentences
from muniment_server.domain.model import MemoryKind, SourceType

from .sayings import HEDGED, NOTHING, STATED


def turn(content: str, number: int = 0, role: TurnRole = TurnRole.USER, speaker: str | None = None) -> Turn:
    return Turn(number, role, content, speaker, datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize(("text", "kind", "slot", "rule"), STATED)
def test_what_is_stated_is_taken_in_its_own_words(text: str, kind: str, slot: str | None, rule: str) -> None:
    candidates = extract([turn(text, 7, speaker="Ines")])
    assert [(one.kind.name, one.slot, one.extracted_by) for one in candidates] == [
        (kind, slot, f"rules/{rule}")
    ]
    (candidate,) = candidates
    assert candidate.content in text
    assert candidate.turn_numbers == (7,)
    assert candidate.speaker == "Ines"
    assert candidate.source is SourceType.USER_STATED
    assert candidate.confidence is None


@pytest.mark.parametrize("text", HEDGED)
def test_a_guess_has_little_confidence_and_fills_no_slot(text: str) -> None:
    (candidate,) = extract([turn(text)])
    assert candidate.confidence == 0.4
    assert candidate.slot is None
    # The words that make it a guess stay in it.
    assert len(candidate.content) >= len(text) - 1


@pytest.mark.parametrize("text", NOTHING)
def test_questions_suppositions_reports_and_small_talk_give_nothing(text: str) -> None:
    assert extract([turn(text)]) == []


def test_each_statement_of_a_sentence_is_one_candidate() -> None:
    found = extract([turn("Hi! My name is Ines, I live in Bergen and I work at Fennel Labs.")])
    assert [(one.content, one.slot) for one in found] == [
        ("My name is Ines", "name"),
        ("I live in Bergen", "home_city"),
        ("I work at Fennel Labs", "employer"),
    ]
    found = extract([turn("我叫欧阳靖，住在青岛，不喜欢吵闹的地方。")])
    assert [(one.content, one.slot) for one in found] == [
        ("我叫欧阳靖", "name"),
        ("住在青岛", "home_city"),
        ("不喜欢吵闹的地方", None),
    ]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("My name is Ines, nice to meet you!", "My name is Ines"),
        ("我叫欧阳靖，很高兴认识你。", "我叫欧阳靖"),
        ("I like tea, especially in the morning.", "I like tea, especially in the morning"),
    ],
)
def test_a_name_ends_with_its_clause(text: str, content: str) -> None:
    assert [one.content for one in extract([turn(text)])] == [content]


def test_a_correction_comes_after_what_it_corrects() -> None:
    found = extract([turn("I live in Bergen.", 0), turn("Actually, I live in Oslo now.", 2)])
    assert [(one.content, one.slot, one.turn_numbers) for one in found] == [
        ("I live in Bergen", "home_city", (0,)),
        ("I live in Oslo now", "home_city", (2,)),
    ]


@pytest.mark.parametrize(
    ("role", "source"),
    [
        (TurnRole.OTHER, SourceType.THIRD_PARTY),
        (TurnRole.TOOL, SourceType.TOOL),
    ],
)
def test_only_the_subject_fills_the_slots_of_the_subject(role: TurnRole, source: SourceType) -> None:
    (candidate,) = extract([turn("I live in Bergen.", role=role)])
    assert candidate.source is source
    assert candidate.slot is None


def test_of_an_agent_only_decisions_and_commitments_are_taken() -> None:
    assert extract([turn("My name is Helper. I like to help.", role=TurnRole.AGENT)]) == []
    found = extract([turn("We decided to wait. I'll send the list by Monday.", role=TurnRole.AGENT)])
    assert [(one.kind, one.source) for one in found] == [
        (MemoryKind.DECISION, SourceType.AGENT_INFERRED),
        (MemoryKind.EVENT, SourceType.AGENT_INFERRED),
    ]


def test_numbers_and_negations_keep_statements_apart() -> None:
    texts = ["我喜欢邮件通知", "我不喜欢邮件通知", "I have 2 cats.", "I have 3 cats."]
    found = extract([turn(text, number) for number, text in enumerate(texts)])
    assert len({one.content for one in found}) == 4


def test_the_same_statement_twice_is_one_candidate() -> None:
    assert len(extract([turn("I like tea.", 0), turn("I like tea!", 1)])) == 1


def test_the_same_turns_give_the_same_candidates() -> None:
    turns = [turn(text, number) for number, (text, *_) in enumerate(STATED)]
    assert extract(turns) == extract(turns)


def test_sentences_end_where_people_end_them() -> None:
    assert sentences("Dr. Mae paid 3.50 to a.b@c.test. Fine! 好的。再见") == [
        "Dr. Mae paid 3.50 to a.b@c.test.",
        "Fine!",
        "好的。",
        "再见",
    ]


def test_long_and_hostile_text_costs_little() -> None:
    for text in (
        "I like " * 4000,
        "，我喜欢" * 4000,
        "well, " * 5000 + "I live in Bergen",
        "a" * 32_000,
        "I will " + "x " * 140,
        ("I like" + " " * 290 + "x\n") * 27,
        ("I" + " " * 290 + "like tea\n") * 27,
        "之前" * 140 + "好",
        "刚" * 250 + "好",
        "周一" * 140 + "好",
        "11月" * 90 + "好",
        "1月11日" * 50 + "好",
    ):
        started = datetime.now(UTC)
        extract([turn(text)])
        assert (datetime.now(UTC) - started).total_seconds() < 2.0


def test_one_turn_cannot_flood() -> None:
    found = extract([turn(" ".join(f"I like item{number}." for number in range(2_000)))])
    assert len(found) == 20
