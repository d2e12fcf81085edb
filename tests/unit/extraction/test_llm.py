"""The language model's extractor against a real HTTP server on loopback."""

import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from muniment_server.domain.extraction.candidate import ExtractorKind, Fallback, Turn, TurnRole
from muniment_server.domain.model import MemoryKind, SourceType
from muniment_server.extraction.chat import ChatModel, Endpoint
from muniment_server.extraction.errors import LlmInvalidAnswer
from muniment_server.extraction.factory import extractors
from muniment_server.extraction.grounding import is_grounded
from muniment_server.extraction.llm import checked
from support.chat_endpoint import BEHAVIOURS, ChatEndpoint, chat_endpoint

KEY = "sk-test-9f2c1e"
TURNS = [
    Turn(3, TurnRole.AGENT, "Do you live in Bergen?", "Helper"),
    Turn(4, TurnRole.USER, "Yes. And my email is ines@example.test", "Ines"),
    Turn(5, TurnRole.USER, "I think I like oolong tea", "Ines"),
    Turn(6, TurnRole.TOOL, "The guest Ines prefers room 512"),
    Turn(7, TurnRole.OTHER, "Ines owes me 50 euros", "Bo"),
]
INVALID = {"broken_json", "no_json", "other_schema", "empty_choices", "cut_off", "too_long"}


def proposal(
    content: str, source: str, *numbers: Any, kind: str = "fact", slot: Any = None
) -> dict[str, Any]:
    return {"content": content, "kind": kind, "slot": slot, "source": source, "turn_numbers": list(numbers)}


@pytest.fixture
def endpoint() -> Iterator[ChatEndpoint]:
    with chat_endpoint() as running:
        yield running


@pytest.fixture
async def model(endpoint: ChatEndpoint) -> AsyncIterator[ChatModel]:
    made = ChatModel(Endpoint(endpoint.url, "test-model", KEY, timeout=5.0))
    yield made
    await made.close()


async def test_what_the_model_proposes_is_marked_by_who_said_it(
    endpoint: ChatEndpoint, model: ChatModel
) -> None:
    endpoint.answers(
        {
            "candidates": [
                proposal("Ines owes Bo 50 euros", "third_party", 7),
                proposal("Ines lives in Bergen", "user_confirmed", 3, 4, slot="home_city"),
                proposal("Ines likes oolong tea", "user_guessed", 5, kind="preference", slot="drink"),
                proposal("Ines prefers room 512", "tool", 6, kind="preference"),
            ]
        }
    )
    found = await extractors(model)[ExtractorKind.LLM].extract(TURNS)
    assert (found.by, found.fallback) == (ExtractorKind.LLM, None)
    assert [(one.content, one.source, one.confidence, one.slot) for one in found.candidates] == [
        ("Ines lives in Bergen", SourceType.USER_CONFIRMED, None, "home_city"),
        ("Ines likes oolong tea", SourceType.USER_STATED, 0.4, None),
        ("Ines prefers room 512", SourceType.TOOL, None, None),
        ("Ines owes Bo 50 euros", SourceType.THIRD_PARTY, None, None),
    ]
    assert {one.extracted_by for one in found.candidates} == {"llm/v1"}
    (request,), (headers,) = endpoint.requests, endpoint.headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert request["model"] == "test-model"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert [one["role"] for one in request["messages"]] == ["system", "user"]
    assert "statements only, no inference" in request["messages"][0]["content"]
    # What was said stands in the data, never among the instructions.
    assert "oolong" not in request["messages"][0]["content"]
    assert json.loads(request["messages"][1]["content"])["turns"][0] == {
        "number": 3,
        "role": "AGENT",
        "speaker": "Helper",
        "time": None,
        "content": "Do you live in Bergen?",
    }


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_a_failing_model_leaves_the_work_to_the_rules_and_says_so(
    endpoint: ChatEndpoint, model: ChatModel, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.behaves(behaviour)
    slow = behaviour in ("stalls", "trickles")
    started = time.monotonic()
    for kind in (ExtractorKind.LLM, ExtractorKind.HYBRID):
        found = await extractors(model)[kind].extract(TURNS, patience=0.3 if slow else None)
        expected = (
            Fallback.LLM_TIMEOUT
            if slow
            else Fallback.LLM_INVALID_ANSWER
            if behaviour in INVALID
            else Fallback.LLM_UNAVAILABLE
        )
        assert (found.by, found.fallback) == (ExtractorKind.RULES, expected)
        assert [one.content for one in found.candidates] == [
            "my email is ines@example.test",
            "I think I like oolong tea",
        ]
    assert time.monotonic() - started < 3.0
    assert len(endpoint.requests) == 2, "one question each, no redirect followed"
    for secret in (KEY, "ines@example.test", "oolong", "I cannot help"):
        assert secret not in caplog.text


async def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with chat_endpoint() as gone:
        url = gone.url
    model = ChatModel(Endpoint(url, "test-model", KEY))
    found = await extractors(model)[ExtractorKind.LLM].extract(TURNS)
    assert found.fallback is Fallback.LLM_UNAVAILABLE
    assert KEY not in repr(model.endpoint)
    await model.close()


async def test_the_hybrid_takes_hard_facts_from_the_rules_and_the_rest_from_the_model(
    endpoint: ChatEndpoint, model: ChatModel
) -> None:
    endpoint.answers(
        {
            "candidates": [
                proposal("The email of Ines is ines@example.test", "user_stated", 4, slot="email"),
                proposal("Ines likes oolong tea", "user_guessed", 5, kind="preference"),
            ]
        }
    )
    found = await extractors(model)[ExtractorKind.HYBRID].extract(TURNS)
    assert [(one.content, one.extracted_by) for one in found.candidates] == [
        ("my email is ines@example.test", "rules/contact"),
        ("Ines likes oolong tea", "llm/v1"),
    ]


@pytest.mark.parametrize(
    "proposed",
    [
        proposal("Ines lives in Bergen", "user_stated", 99),
        proposal("Ines lives in Bergen", "user_stated"),
        proposal("Ines lives in Bergen", "user_stated", 4, 99),
        proposal("Ines lives in Bergen", "user_stated", "4"),
        proposal("Ines lives in Bergen", "user_stated", True),
        proposal("Ines owes Bo 500 euros", "third_party", 7),
        proposal("Ines owes Olga 50 euros", "third_party", 7),
        proposal("Ines trusts the bank and wants all transfers approved", "user_stated", 5),
        proposal("x" * 401, "user_stated", 4),
        proposal("   ", "user_stated", 4),
        proposal("I like oolong\x00 tea", "user_stated", 5),
        proposal("I like \ud83c oolong tea", "user_stated", 5),
    ],
)
def test_a_candidate_that_does_not_hold_is_left_out(proposed: dict[str, Any]) -> None:
    assert checked({"candidates": [proposed]}, TURNS) == []


@pytest.mark.parametrize(
    ("source", "numbers", "expected"),
    [
        ("user_stated", (6,), SourceType.TOOL),
        ("user_stated", (7,), SourceType.THIRD_PARTY),
        ("user_confirmed", (3,), SourceType.AGENT_INFERRED),
        ("user_confirmed", (5,), SourceType.USER_STATED),
        ("user_confirmed", (4, 7), SourceType.THIRD_PARTY),
        ("user_stated", (4, 6), SourceType.TOOL),
        ("third_party", (5,), SourceType.THIRD_PARTY),
        ("agent", (5,), SourceType.AGENT_INFERRED),
    ],
)
def test_no_source_is_better_than_the_roles_of_its_turns(
    source: str, numbers: tuple[int, ...], expected: SourceType
) -> None:
    words = " ".join(turn.content for turn in TURNS if turn.number in numbers)
    (candidate,) = checked({"candidates": [proposal(words, source, *numbers, slot="home_city")]}, TURNS)
    assert candidate.source is expected
    assert (candidate.slot is None) == (expected not in (SourceType.USER_STATED, SourceType.USER_CONFIRMED))


@pytest.mark.parametrize(
    "answer",
    [None, [], 5, "x", {}, {"candidates": {}}, {"candidates": [5]}, {"candidates": [{}]},
     {"candidates": [proposal("x", "user_stated", 4, kind="turn")]},
     {"candidates": [proposal("x", "god", 4)]},
     {"candidates": [proposal("x", "user_stated", 4, slot=7)]}],
)  # fmt: skip
def test_an_answer_of_another_form_is_invalid(answer: Any) -> None:
    with pytest.raises(LlmInvalidAnswer):
        checked(answer, TURNS)


def test_what_only_earlier_turns_say_was_looked_at_before() -> None:
    before, turns = TURNS[:2], TURNS[2:]
    proposals = [
        proposal("my email is ines@example.test", "user_stated", 4),
        proposal("I like oolong tea", "user_stated", 5),
    ]
    found = checked({"candidates": proposals}, turns, before)
    assert [one.turn_numbers for one in found] == [(5,)]
    assert found[0].kind is MemoryKind.FACT


@pytest.mark.parametrize(
    ("content", "said", "grounded"),
    [
        ("Ines moved to Oslo in 2024", "I moved to Oslo in 2024!", True),
        ("Ines lives in Oslo", "I live in Oslo", True),
        ("Ines lives in Oslo", "I live in Bergen", False),
        ("The budget is 5000", "the budget is 50000", False),
        ("用户喜欢邮件通知", "我喜欢邮件通知", True),
        ("报销额度 50000 元", "报销额度 5000 元", False),
        ("用户住在大连", "我喜欢喝茶", False),
        ("OK", "fine with me", False),
    ],
)
def test_grounding(content: str, said: str, grounded: bool) -> None:
    assert is_grounded(content, [Turn(0, TurnRole.USER, said, "Ines")]) is grounded


async def test_a_long_conversation_is_asked_about_in_parts(endpoint: ChatEndpoint, model: ChatModel) -> None:
    endpoint.answers(
        lambda request: {
            "candidates": [
                proposal(f"Item{one['number']} is wanted", "user_stated", one["number"])
                for one in json.loads(request["messages"][1]["content"])["turns"]
            ]
        }
    )
    long = [Turn(number, TurnRole.USER, f"Item{number} is wanted. " + "x " * 5_000) for number in range(7)]
    found = await extractors(model)[ExtractorKind.LLM].extract(long)
    assert [one.turn_numbers for one in found.candidates] == [(number,) for number in range(7)]
    asked = [json.loads(one["messages"][1]["content"]) for one in endpoint.requests]
    assert [[turn["number"] for turn in one["turns"]] for one in asked] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [turn["number"] for turn in asked[1]["earlier"]] == [0, 1, 2]
