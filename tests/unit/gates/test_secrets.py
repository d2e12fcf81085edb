"""The gates for secrets and personal data: what proves itself by a check digit, a prefix or its structure."""

import json
import random
import time

import pytest

from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.check_digits import is_card, is_iban, is_resident_id
from muniment_server.domain.gates.policy import GatePolicy, Handling, Sensitive
from muniment_server.domain.model import MemoryKind

from .figures import ALL, detected, found_in
from .samples import (
    CARDS,
    IBANS,
    IDS,
    JWTS,
    KEYS,
    LIKE_PHONES,
    MAILS,
    NOT_SECRET,
    PHONES,
    PRIVATE,
    SECRET,
    grouped,
)
from .samples import card as made_card
from .support import measured, screened


def _redacts(text: str) -> bool:
    return screened(text).redacted


def test_on_their_corpus() -> None:
    precision, recall = measured("secrets and personal data", SECRET, NOT_SECRET, _redacts)
    assert precision >= 0.99
    assert recall >= 0.99


@pytest.mark.parametrize("sort", Sensitive, ids=lambda sort: sort.name)
def test_each_detector_on_its_corpus(sort: Sensitive) -> None:
    precision, recall = detected(sort)
    assert precision == 1.0
    assert recall == 1.0


def test_a_number_of_something_else_is_no_telephone_number() -> None:
    for text in LIKE_PHONES:
        assert screened(text, policy=ALL).item.content == text
    # A word beside it tells, whatever else it could be.
    for text in ("Call 2125550147 tomorrow.", "Ask for order 4500017834 at phone 2125550147."):
        assert screened(text, policy=ALL).item.content == text.replace("2125550147", "[REDACTED:PHONE]")
    chooser = random.Random(7)
    for length in (10, 11, 12):
        for _ in range(200):
            text = f"Order {chooser.randrange(10 ** (length - 1), 10**length)} was shipped"
            assert Sensitive.PHONE not in found_in(text), text
            text = f"订单{chooser.randrange(10 ** (length - 1), 10**length)}已发货"
            assert Sensitive.PHONE not in found_in(text), text


@pytest.mark.parametrize(
    ("sort", "values", "placeholder"),
    [
        (Sensitive.CARD, CARDS, "[REDACTED:CARD]"),
        (Sensitive.RESIDENT_ID, IDS, "[REDACTED:RESIDENT_ID]"),
        (Sensitive.IBAN, IBANS, "[REDACTED:IBAN]"),
        (Sensitive.PHONE, PHONES, "[REDACTED:PHONE]"),
        (Sensitive.EMAIL, MAILS, "[REDACTED:EMAIL]"),
        (Sensitive.PRIVATE_KEY, PRIVATE, "[REDACTED:PRIVATE_KEY]"),
        (Sensitive.JWT, JWTS, "[REDACTED:JWT]"),
        (Sensitive.API_KEY, KEYS[:15], "[REDACTED:API_KEY]"),
    ],
    ids=lambda value: value.name if isinstance(value, Sensitive) else "",
)
def test_a_typed_placeholder_takes_the_place(sort: Sensitive, values: list[str], placeholder: str) -> None:
    for value in values:
        after = screened(f"Ann's is {value}, so.", policy=ALL)
        assert after.item.content == f"Ann's is {placeholder}, so.", value
        assert after.verdict is Verdict.REDACT
        (finding,) = after.findings
        assert (finding.rule, finding.placeholder, finding.count) == (sort.value, placeholder, 1)
        assert finding.spans == ((9, 9 + len(value)),)
        assert value not in repr(finding)


@pytest.mark.parametrize(
    "written",
    [
        lambda card: grouped(card, 4, " "),
        lambda card: grouped(card, 4, "-"),
        lambda card: "".join(chr(ord(digit) - 48 + 0xFF10) for digit in card),
        lambda card: "\u200b".join(card),
        lambda card: grouped(card, 4, "\u00a0"),
    ],
    ids=["spaces", "hyphens", "full width", "zero width", "no-break spaces"],
)
def test_a_card_however_it_is_written(written: object) -> None:
    card = made_card("4", 16)
    text = f"card {written(card)} until 12/29"  # type: ignore[operator]
    assert screened(text).item.content == "card [REDACTED:CARD] until 12/29"


def test_a_fraction_is_no_card() -> None:
    for card in CARDS:
        for text in (f"measured 0.{card} of it", f"at 48.{card}, 2.{card[::-1]}"):
            after = screened(text)
            assert after.item.content == text
            assert not after.findings


def test_a_wrong_check_digit_is_no_number() -> None:
    for card in CARDS:
        wrong = card[:-1] + str((int(card[-1]) + 1) % 10)
        assert not is_card(wrong)
        assert not screened(f"order {wrong}").findings
    for iban in IBANS:
        assert not is_iban(iban[:2] + f"{(int(iban[2:4]) + 1) % 97:02}" + iban[4:])
    for number in IDS:
        assert not is_resident_id(number[:-1] + ("1" if number[-1] != "1" else "2"))


@pytest.mark.parametrize(
    ("handling", "verdict", "content", "indexed"),
    [
        (Handling.ALLOW, Verdict.PASS, "iban {}", "iban {}"),
        (Handling.ENCRYPT_ONLY, Verdict.PASS, "iban {}", "iban [REDACTED:IBAN]"),
        (Handling.REDACT, Verdict.REDACT, "iban [REDACTED:IBAN]", "iban [REDACTED:IBAN]"),
        (Handling.REJECT, Verdict.REJECT, "iban {}", "iban {}"),
    ],
)
def test_the_policy_decides(handling: Handling, verdict: Verdict, content: str, indexed: str) -> None:
    policy = GatePolicy(sensitive={Sensitive.IBAN: handling})
    after = screened(f"iban {IBANS[0]}", policy=policy)
    assert after.verdict is verdict
    assert (after.item.content, after.indexed) == (content.format(IBANS[0]), indexed.format(IBANS[0]))


def test_a_policy_can_differ_by_kind() -> None:
    policy = GatePolicy(sensitive_by_kind={MemoryKind.TURN: {Sensitive.EMAIL: Handling.REDACT}})
    assert screened("write to ann@example.com", policy=policy, kind=MemoryKind.TURN).redacted
    assert not screened("write to ann@example.com", policy=policy, kind=MemoryKind.FACT).findings


def test_attributes_are_redacted_and_labels_refused() -> None:
    card = made_card("4", 16)
    after = screened("Likes tea", attributes=json.dumps({"a": [{"card": f"no {card}"}], "n": 1.5}))
    assert json.loads(after.item.attributes or "") == {"a": [{"card": "no [REDACTED:CARD]"}], "n": 1.5}
    assert after.redacted
    for fields, path in (
        ({"tags": ("x", card)}, "tags[1]"),
        ({"slot": card}, "slot"),
        ({"properties": {"card": card}}, "properties[card]"),
    ):
        after = screened("Likes tea", **fields)
        assert (after.verdict, after.refused, after.rule) == (Verdict.REJECT, path, "CARD_NUMBER")


def test_a_given_vector_goes_with_the_text_it_was_made_of() -> None:
    assert screened(f"card {CARDS[0]}", embedding=b"\0" * 1536).item.embedding is None
    assert screened("card in the drawer", embedding=b"\0" * 1536).item.embedding is not None


def test_a_long_hostile_text_takes_no_long_time() -> None:
    for text in (
        "-----BEGIN PRIVATE KEY-----" * 1200,
        "4111 " * 6000,
        "a@" * 16000,
        "eyJ" * 10000,
        "ignore the " * 2900,
    ):
        started = time.process_time()
        screened(text[:32_768], policy=ALL)
        # Seconds of this process alone: what is quadratic in such a text takes minutes.
        assert time.process_time() - started < 3.0, text[:20]
