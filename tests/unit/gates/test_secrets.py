"""The gates for secrets and personal data: what proves itself by a check digit, a prefix or its structure.

Nothing here is a real number or key: all are made on the spot, from prefixes and a fixed random source.
"""

import base64
import json
import random
import string
from collections.abc import Iterator

import pytest

from muniment_server.domain.gates.base import Verdict
from muniment_server.domain.gates.check_digits import is_card, is_iban, is_resident_id, luhn
from muniment_server.domain.gates.policy import GatePolicy, Handling, Sensitive
from muniment_server.domain.model import MemoryKind

from .support import corpus, measured, screened

ALL = GatePolicy(sensitive=dict.fromkeys(Sensitive, Handling.REDACT))
CHOOSER = random.Random(20)
ALPHABET = string.ascii_letters + string.digits


def _random(length: int, alphabet: str = ALPHABET) -> str:
    return "".join(CHOOSER.choice(alphabet) for _ in range(length))


def _card(prefix: str, length: int) -> str:
    body = prefix + _random(length - len(prefix) - 1, string.digits)
    return next(body + digit for digit in string.digits if luhn(body + digit))


def _resident_id(division: str, birth: str) -> str:
    body = division + birth + _random(3, string.digits)
    return next(body + digit for digit in "0123456789X" if is_resident_id(body + digit))


def _iban(country: str, account: str) -> str:
    number = int("".join(str(int(char, 36)) for char in account + country + "00"))
    return f"{country}{98 - number % 97:02}{account}"


def _groups(text: str, size: int, separator: str) -> str:
    return separator.join(text[place : place + size] for place in range(0, len(text), size))


def _jwt() -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'ES256', 'typ': 'JWT'})}.{part({'sub': 'somebody', 'exp': 1})}.{_random(43)}"


def _pem(kind: str) -> str:
    lines = "\n".join(_random(64, ALPHABET + "+/") for _ in range(4))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


CARDS = [
    _card(prefix, length)
    for prefix, length in [
        ("4", 16), ("4", 13), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("36", 14),
        ("6011", 16), ("65", 16), ("3528", 16), ("62", 16), ("62", 19), ("62", 17), ("5018", 16),
        ("6759", 18),
    ]
    for _ in range(3)
]  # fmt: skip
IDS = [
    _resident_id(division, birth)
    for division in ("110105", "310112", "440304", "650102")
    for birth in ("19870214", "20010731", "19491001", "20200229")
]
IBANS = [
    _iban("DE", "500105170648489890"),
    _iban("GB", "WEST12345698765432"),
    _iban("FR", "20041010050500013M02606"),
    _iban("NL", "ABNA0417164300"),
    _iban("CH", "00762011623852957"),
    _iban("NO", "86011117947"),
]
PHONES = [
    "+44 20 7946 0958",
    "+49 30 901820",
    "+1 212-555-0147",
    "13800138000",
    "0086 138 0013 8000",
    "(212) 555-0147",
]
MAILS = [
    "ann@example.com",
    "j.o'k+tag@mail.example.co.uk".replace("'", ""),
    "张三@example.com",
    "A_B-c@sub.example.org",
]
KEYS = [
    "AKIA" + _random(16, string.ascii_uppercase + string.digits),
    "ghp_" + _random(36),
    "github_pat_" + _random(70),
    "glpat-" + _random(20),
    "sk-proj-" + _random(48),
    "sk-ant-api03-" + _random(60),
    "sk_live_" + _random(24),
    "xoxb-" + _random(12, string.digits) + "-" + _random(24),
    "AIza" + _random(35),
    "hf_" + _random(34),
    "npm_" + _random(36),
    "SG." + _random(22) + "." + _random(43),
    "LTAI" + _random(20),
    "mnm_" + _random(12, string.ascii_lowercase) + "_" + _random(43),
    _random(48),
    "api key: " + _random(24),
    "密钥是" + _random(32),
    "password = " + _random(20),
]  # fmt: skip
PRIVATE = [_pem("PRIVATE KEY"), _pem("RSA PRIVATE KEY"), _pem("OPENSSH PRIVATE KEY"), _pem("EC PRIVATE KEY")]
JWTS = [_jwt() for _ in range(3)]


def _sentences(values: list[str]) -> Iterator[str]:
    for number, value in enumerate(values):
        yield [f"Note: {value} belongs to Ann.", f"请记住 {value}，谢谢。", value, f"({value})"][number % 4]


NOT_SECRET = [
    *corpus("ordinary-en.txt"),
    *corpus("ordinary-zh.txt"),
    *corpus("repetitive.txt"),
    "Order 4111111111111112 was shipped.",
    "The tracking number is 1234567890123456.",
    "Invoice 5500005555555550 from March.",
    "Epoch 1700000000000, microseconds 1700000000000000.",
    "The number 0000000000000000 is a placeholder.",
    "IBAN DE00 5001 0517 0648 4898 90 is wrong.",
    "GB82 is the first part of it.",
    "ID 110105198713320012 has no such date.",
    "ID 110105198702140010 fails its check digit.",
    "SHA-1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "3f2c9e10-7d4b-4c0e-9c53-2a1f0be5d6aa is the build",
    "https://docs.example/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    "The token is in the vault under production-database-primary-2.",
    "password: see the note in the kitchen drawer",
    "sk-learn and sk-image are short for the packages.",
    "the branch is feature/keep-the-old-names-in-the-index-for-one-release-2024",
    "Say AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA loudly",
    "begin certificate is not a private key",
    "eyJ is how tokens begin, eyJhbGciOi.but.not",
]
SECRET = [
    *_sentences(CARDS),
    *_sentences(IDS),
    *_sentences(IBANS),
    *_sentences(KEYS),
    *_sentences(PRIVATE),
    *_sentences(JWTS),
]


def _redacts(text: str) -> bool:
    return screened(text).redacted


def test_on_their_corpus() -> None:
    precision, recall = measured("secrets and personal data", SECRET, NOT_SECRET, _redacts)
    assert precision >= 0.99
    assert recall >= 0.99


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
        lambda card: _groups(card, 4, " "),
        lambda card: _groups(card, 4, "-"),
        lambda card: "".join(chr(ord(digit) - 48 + 0xFF10) for digit in card),
        lambda card: "\u200b".join(card),
        lambda card: _groups(card, 4, "\u00a0"),
    ],
    ids=["spaces", "hyphens", "full width", "zero width", "no-break spaces"],
)
def test_a_card_however_it_is_written(written: object) -> None:
    card = _card("4", 16)
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
    card = _card("4", 16)
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
        screened(text[:32_768], policy=ALL)
