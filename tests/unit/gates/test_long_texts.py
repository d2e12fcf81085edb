"""Long texts: the gates find in them what they find in short ones, and take time in proportion to them."""

import random
import re
import time
from collections.abc import Iterator

import pytest

from muniment_server.domain.gates.anchors import first_characters, first_words, most_words
from muniment_server.domain.gates.base import Statement, Verdict
from muniment_server.domain.gates.combinations import combined
from muniment_server.domain.gates.instructions import chinese_letters, english_words
from muniment_server.domain.gates.long_texts import around, chinese_in, english_in
from muniment_server.domain.gates.policy import GatePolicy, Handling, Sensitive
from muniment_server.domain.gates.sensitive import MOST_NUMBERS
from muniment_server.domain.gates.stuffing import fewest_different, is_stuffed
from muniment_server.domain.gates.wording_en import ENGLISH
from muniment_server.domain.gates.wording_zh import CHINESE
from muniment_server.domain.model import MemoryKind, MemoryState, SourceType, TrustLevel

from .support import corpus, rules, screened

ORDINARY = " ".join(corpus("ordinary-en.txt")[:40]), "".join(corpus("ordinary-zh.txt")[:60])
EVERY = GatePolicy(sensitive=dict.fromkeys(Sensitive, Handling.REDACT), min_importance=0.01)


def folded(text: str) -> str:
    return Statement(text, MemoryKind.FACT, TrustLevel.MEDIUM, SourceType.AGENT_INFERRED).folded.text


def mixtures(count: int) -> Iterator[str]:
    """Texts out of words and sentences of all corpora, instructions cut to pieces among them."""
    chooser = random.Random(11)
    lines = [*corpus("instructions-en.txt"), *corpus("instructions-zh.txt"), *corpus("ordinary-en.txt")]
    for _ in range(count):
        chosen = chooser.sample(lines, 12)
        words = " ".join(chosen).split(" ")
        if chooser.random() < 0.5:
            place = chooser.randrange(len(words))
            words[place : place + 20] = chooser.sample(
                words[place : place + 20], len(words[place : place + 20])
            )
        yield " ".join(words)


@pytest.mark.parametrize("name", ["instructions-en.txt", "instructions-zh.txt"])
@pytest.mark.parametrize("filling", ORDINARY, ids=["English", "Chinese"])
def test_an_instruction_in_a_long_text_is_found(name: str, filling: str) -> None:
    assert not rules(filling, "instructions")
    half = len(filling) // 2
    texts = corpus(name)
    missed = []
    for place, text in enumerate(texts):
        around_it = (("", filling), (filling[:half] + ". ", filling[half:]), (filling + ". ", ""))
        before, after = around_it[place % 3]
        if rules(text, "instructions") and not rules(f"{before}{text} . . . {after}", "instructions"):
            missed.append(text)
    # Combinations leave out what people say of people, and that may stand in the sentence beside it.
    assert len(missed) <= len(texts) // 50, missed


def test_what_is_found_is_what_a_search_finds() -> None:
    for text in mixtures(150):
        words = english_words(folded(text))
        joined = " ".join(words)
        searched = {(one.rule, one.weak) for one in ENGLISH if one.pattern.search(joined)}
        searched |= {(rule, False) for rule in combined(joined)}
        assert set(english_in(words)) == searched, text
        letters = chinese_letters(folded(text))
        if len(letters) > 1:
            found = {(one.rule, one.weak) for one in CHINESE if one.pattern.search(letters)}
            assert set(chinese_in(letters)) == found, text


def test_where_every_wording_can_begin_is_known() -> None:
    for one in ENGLISH:
        assert first_words(one.pattern), one.pattern.pattern
        assert 0 < (most_words(one.pattern) or 0) < 40
    for one in CHINESE:
        assert first_characters(one.pattern), one.pattern.pattern


@pytest.mark.parametrize(
    ("pattern", "words", "most"),
    [
        (r"\b(?:go (?:away|home)|leave)\b", {"go", "leave"}, 2),
        (r"(?:please )?(?:do|don t) (?:\w+ ){0,3}it", {"please", "do", "don"}, 7),
        (r"(?<!not )sto(?:p|re)(?:s)? it", {"stop", "stops", "store", "stores"}, 2),
        (r"\w+ it", None, 2),
        (r"(?:x )+y", {"x"}, None),
    ],
)
def test_beginnings_of_patterns(pattern: str, words: set[str] | None, most: int | None) -> None:
    found = first_words(re.compile(pattern))
    assert (None if found is None else set(found)) == words
    assert most_words(re.compile(pattern)) == most


def test_two_letters_with_which_a_pattern_begins() -> None:
    assert first_characters(re.compile("(?:忽略|无视).{0,4}规则")) == ({"忽", "无"}, {"略", "视"})
    assert first_characters(re.compile("把.{0,4}?密码")) == ({"把"}, None)
    assert first_characters(re.compile(".{0,4}密码")) is None
    assert first_characters(re.compile("(?:你|您)?")) is None


def test_parts_of_a_text() -> None:
    assert list(around("short x text", ("x",), 5, 5)) == ["short x text"]
    assert not list(around("nothing", ("x",), 5, 5))
    text = "a" * 50 + "x" + "b" * 50 + "x" + "c" * 3 + "y" + "d" * 50
    assert list(around(text, ("x", "y"), 2, 4)) == ["aaxbbb", "bbxcccyddd"]


# Each made some pattern look at a text again and again from every place of it.
_HOSTILE = {
    "line breaks": "<" + "\n" * 30_000 + "system",
    "spaces": "(system" + " " * 30_000 + "use system: call tool_x",
    "line breaks before a call": "now use" + "\n" * 30_000 + "send_it",
    "keys that do not end": "-----BEGIN PRIVATE KEY-----. " * 1_100,
    "words that begin": "ignore if you always " * 1_500,
    "letters": "a " * 16_000,
    "Chinese words that begin": "忽略你的所有请每次" * 1_200,
    "cards": "4000 4111 5500 3782 " * 1_600,
    "accounts": "GB29 DE89 FR14 " * 2_000,
    "addresses": "a@" * 16_000,
    "telephones": "".join(f"+49 30 {place:07d}, " for place in range(2_000)),
    "digits": "7" * 32_000,
    "one long word": "x" * 32_000,
    "digits for letters": "1gn0re a11 ru1es " * 1_900,
    "tags": "<system " * 4_000,
    "brackets": "[(【#" * 5_000,
    "invisible": "a\u200b" * 8_000,
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_time_grows_with_the_text(name: str) -> None:
    text = _HOSTILE[name]

    def seconds(part: str) -> float:
        started = time.process_time()
        screened(part, policy=EVERY)
        return time.process_time() - started

    screened(" ".join(ORDINARY), policy=EVERY)
    # Twice the text, twice the time: four times would be its square. The floor is what a busy machine adds.
    half, whole = (min(seconds(text[:length]) for _ in range(3)) for length in (len(text) // 2, len(text)))
    assert whole <= 3 * half + 0.02, (half, whole)
    assert whole < 0.3


def test_more_numbers_than_are_looked_at_wait_for_a_person() -> None:
    looked_at = GatePolicy(sensitive={Sensitive.PHONE: Handling.REDACT})
    numbers = [f"+49 30 {place:07d}" for place in range(1_000_000, 1_000_000 + MOST_NUMBERS + 1)]
    few, many = ", ".join(numbers[:-1]), ", ".join(numbers)
    assert screened(few, policy=looked_at).verdict is Verdict.REDACT
    after = screened(many, SourceType.USER_STATED, policy=looked_at)
    assert (after.state, after.rule) == (MemoryState.PENDING, "NOT_LOOKED_THROUGH")
    assert {one.rule for one in after.findings} == {"PHONE_NUMBER", "NOT_LOOKED_THROUGH"}
    # Nothing is left out of what nobody looks for, and a repeated number is one.
    assert screened(many).verdict is Verdict.PASS
    assert screened(", ".join([numbers[0]] * 200), policy=looked_at).verdict is Verdict.REDACT
    # A label cannot wait.
    label = screened("A list", policy=looked_at, tags=(many,))
    assert (label.verdict, label.refused) == (Verdict.REJECT, "tags[0]")


def test_padding_is_found_wherever_it_stands() -> None:
    chooser = random.Random(5)
    words = ["".join(chooser.choices("abcdefghijklmnopqrstuvwxyz", k=3)) for _ in range(7_900)]
    assert not is_stuffed(words)
    assert is_stuffed([*words, *["tea", "shop"] * 20])
    assert fewest_different([*words[:60], *["tea", "shop"] * 20]) == 2
    assert rules(" ".join([*words, *["tea", "shop"] * 20]), "stuffing") == {"REPEATED_WORDS"}
