"""Which candidates are offered when one source has too many of the best."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from muniment_server.application.choosing import choose
from muniment_server.domain.model import MemoryKind, TrustLevel

LOW, MEDIUM, HIGH = TrustLevel.LOW, TrustLevel.MEDIUM, TrustLevel.HIGH


@dataclass
class Candidate:
    revision: Any


def candidates(*sources: tuple[TrustLevel, str | None], kind: MemoryKind = MemoryKind.FACT) -> list[Any]:
    return [
        (Candidate(SimpleNamespace(trust=trust, source_ref=ref, author="a1", kind=kind)), place)
        for place, (trust, ref) in enumerate(sources)
    ]


def places(found: list[Any]) -> list[int]:
    return [place for _, place in found]


def test_a_doubtful_source_loses_what_it_has_too_many_of() -> None:
    ranked = candidates(*[(LOW, "shop")] * 6, (HIGH, None), (HIGH, None), (LOW, "other"))
    choice = choose(ranked, 4, 0.5)
    assert places(choice.chosen) == [0, 1, 6, 7]
    assert places(choice.capped) == [2, 3, 4, 5]
    assert places(choose(ranked, 20, 0.2).chosen) == [0, 1, 2, 3, 6, 7, 8]


def test_without_a_reference_the_source_is_who_wrote() -> None:
    assert places(choose(candidates(*[(LOW, None)] * 5), 4, 0.5).chosen) == [0, 1]


def test_a_document_of_an_agent_steps_back_and_comes_in_again() -> None:
    ranked = candidates(*[(MEDIUM, "manual")] * 5, (HIGH, None))
    choice = choose(ranked, 4, 0.5)
    assert places(choice.chosen) == [0, 1, 2, 5]
    assert places(choice.capped) == [3, 4]
    assert places(choose(ranked[:5], 4, 0.5).chosen) == [0, 1, 2, 3]


@pytest.mark.parametrize("source", [(HIGH, "diary"), (MEDIUM, None)])
def test_the_subject_and_an_agent_itself_are_no_bounded_sources(source: Any) -> None:
    assert places(choose(candidates(*[source] * 6), 6, 0.5).chosen) == list(range(6))


def test_turns_of_one_conversation_are_no_bounded_source() -> None:
    ranked = candidates(*[(MEDIUM, "chat-7")] * 6, (HIGH, None), kind=MemoryKind.TURN)
    assert places(choose(ranked, 6, 0.5).chosen) == list(range(6))


def test_every_source_may_have_one_and_a_share_of_one_is_no_bound() -> None:
    ranked = candidates(*[(LOW, "shop")] * 3)
    assert places(choose(ranked, 1, 0.1).chosen) == [0]
    assert places(choose(ranked, 3, 1.0).chosen) == [0, 1, 2]
    assert choose([], 5, 0.5).chosen == []
