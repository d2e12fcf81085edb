"""Genuine memories pass: of five hundred ordinary sentences at most one in a hundred is touched."""

import pytest

from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.model import MemoryKind, SourceType

from .support import corpus, screened

ORDINARY = corpus("ordinary-en.txt") + corpus("ordinary-zh.txt")


@pytest.mark.parametrize("source", [each for each in SourceType if each is not SourceType.THIRD_PARTY])
def test_ordinary_sentences_are_left_alone(source: SourceType) -> None:
    assert len(set(ORDINARY)) >= 500
    touched = []
    for text in ORDINARY:
        after = screened(text, source, kind=MemoryKind.PREFERENCE)
        if after.verdict is not Verdict.PASS or after.item.content != text:
            touched.append((text, after.rule))
    print(f"{source.name}: {len(touched)} of {len(ORDINARY)} touched", *touched, sep="\n  ")
    assert len(touched) <= len(ORDINARY) // 100


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
