"""Which text is refused, and when two statements are the same."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.domain.statement import (
    TextRefusal,
    check_text,
    normalise_statement,
    normalize_unicode,
)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("abc\x00def", TextRefusal.NUL),
        ("\ud83d", TextRefusal.SURROGATE),
        ("a\udc00b", TextRefusal.SURROGATE),
        ("bell \x07", TextRefusal.CONTROL),
        ("\x1b[31mred", TextRefusal.CONTROL),
        ("\x7f", TextRefusal.CONTROL),
        ("\x9b", TextRefusal.CONTROL),
        ("tab\t line\n return\r\n next\x85", None),
        ("👩‍👩‍👧‍👦 🏳️‍🌈 eats 🍣", None),
        ("\ufffe \U0010ffff \u202e \ufeff", None),
        ("", None),
    ],
)
def test_refusal_names_the_reason(text: str, refusal: TextRefusal | None) -> None:
    assert check_text(text) is refusal


@pytest.mark.parametrize("refusal", TextRefusal)
def test_every_refusal_says_what_is_allowed(refusal: TextRefusal) -> None:
    assert refusal.description
    assert refusal.value.startswith("text.")


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Likes tea", " Likes \t\n tea ", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("Likes tea", "Likes\u00a0tea", True),
        ("Likes tea", "likes tea", False),
        ("Likes tea", "Likes tea.", False),
        ("Ｌikes", "Likes", False),
        ("ﬁne", "fine", False),
        ("Likes tea", "Likestea", False),
        ("x²", "x2", False),
    ],
)
def test_only_composition_and_white_space_are_ignored(one: str, two: str, same: bool) -> None:
    assert (normalise_statement(one) == normalise_statement(two)) is same


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_statement(text)
    assert normalise_statement(once) == once


@given(
    st.lists(st.text("a\u0301\u0323e가\u1100\u1161\u11a8か\u3099ﷺ中", min_size=1), max_size=40),
    st.sampled_from(["NFC", "NFKC"]),
)
def test_blocks_give_the_true_normal_form(pieces: list[str], form: str) -> None:
    text = " ".join(piece * 60 for piece in pieces)
    assert normalize_unicode(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


def test_marks_out_of_order_take_no_quadratic_time() -> None:
    text = "\u0301" * 32_000 + "\u0316" * 32_000
    started = time.process_time()
    normalise_statement(text)
    # Eight seconds in one block.
    assert time.process_time() - started < 1.5
