"""Genuine memories pass: of five hundred ordinary sentences at most one in a hundred is touched."""

import pytest

from muniment_server.domain.model import SourceType

from .disguises import ORDINARY
from .figures import touched
from .support import screened


@pytest.mark.parametrize("source", [each for each in SourceType if each is not SourceType.THIRD_PARTY])
def test_ordinary_sentences_are_left_alone(source: SourceType) -> None:
    assert len(set(ORDINARY)) >= 500
    found = touched(source)
    print(f"{source.name}: {len(found)} of {len(ORDINARY)} touched", *found, sep="\n  ")
    assert len(found) <= len(ORDINARY) // 100


def test_nothing_of_a_passed_sentence_changes() -> None:
    after = screened("Prefers to be called in the morning.")
    assert after.indexed == after.item.content == "Prefers to be called in the morning."
    assert (after.findings, after.factors, after.rule, after.redacted, after.dropped) == (
        (),
        (),
        "",
        False,
        False,
    )
