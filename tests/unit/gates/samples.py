"""Secrets and personal data to find, and texts that look like them and hold none.

Nothing here is a real number or key: all are made on the spot, from prefixes and a fixed random source.
"""

import base64
import json
import random
import string
from collections.abc import Iterator, Mapping, Sequence

from muniment_server.domain.gates.check_digits import is_resident_id, luhn
from muniment_server.domain.gates.policy import Sensitive

from .support import corpus

CHOOSER = random.Random(20)
ALPHABET = string.ascii_letters + string.digits


def random_of(length: int, alphabet: str = ALPHABET) -> str:
    return "".join(CHOOSER.choice(alphabet) for _ in range(length))


def card(prefix: str, length: int) -> str:
    body = prefix + random_of(length - len(prefix) - 1, string.digits)
    return next(body + digit for digit in string.digits if luhn(body + digit))


def _resident_id(division: str, birth: str) -> str:
    body = division + birth + random_of(3, string.digits)
    return next(body + digit for digit in "0123456789X" if is_resident_id(body + digit))


def _iban(country: str, account: str) -> str:
    number = int("".join(str(int(char, 36)) for char in account + country + "00"))
    return f"{country}{98 - number % 97:02}{account}"


def grouped(text: str, size: int, separator: str) -> str:
    return separator.join(text[place : place + size] for place in range(0, len(text), size))


def _jwt() -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'ES256', 'typ': 'JWT'})}.{part({'sub': 'somebody', 'exp': 1})}.{random_of(43)}"


def _pem(kind: str) -> str:
    lines = "\n".join(random_of(64, ALPHABET + "+/") for _ in range(4))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


CARDS = [
    card(prefix, length)
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
    "212-555-0147",
    "212.555.0147",
    "1-212-555-0147",
    "020 7946 0958",
    "0151 12345678",
    "138 0013 8000",
    "138-0013-8000",
    "021-62345678",
    "+8613912345678",
    "+4915112345678",
]
SAID_PHONES = ("+44 20 7946 0958", "+1 212 555 0147", "030 901820", "13800138000", "010-62770001")
"""Those that stand in the ordinary sentences."""
# Ten digits are a number in some plan once in three times; a date with its hour is one in Washington.
LIKE_PHONES = [
    "Order 4500017834 was shipped.",
    "The order number is 4500017834, the invoice 2125550147.",
    "订单号4500017834已发货。",
    "快递单号13800138000已发出。",
    "The parcel is 13800138000, it comes on Friday.",
    "The backup ran at 2024-03-15 10:30.",
    "The backup ran at 2024-03-15 10.30.",
    "Am 03.04.2024 10 Uhr beim Notar.",
    "03/04/2024 1030 is when it starts.",
    "From 2019-2024 and from 2025-2030 he worked there.",
    "Build 20240315.1030 is broken, version 10.20.30.4050 was not.",
    "The printer is at 192.168.100.200.",
    "ISBN 978-3-16-148410-0 and 9783161484100 are the same.",
    "EAN 4006381333931 is on the box.",
    "The epoch began 1700000000 seconds before.",
    "Serial 5551234567 is engraved.",
    "Population 1 412 600 000, budget 2 125 550 147 dollars.",
    "Rooms 12-34-56-78-90 are taken.",
    "Case 2023 0415 0099 was closed.",
    "The meter reading is 02071234567.",
    "Kundennummer 0301234567.",
    "It cost 1,412,600,000 yuan.",
]
MAILS = [
    "ann@example.com",
    "j.o'k+tag@mail.example.co.uk".replace("'", ""),
    "张三@example.com",
    "A_B-c@sub.example.org",
    "x@y.example",
    "first.last@a-b.example.museum",
]
SAID_MAILS = ("accounts@brightwater.example", "lena.hartmann@mail.example", "zhangli@qingshan.example")
LIKE_MAILS = [
    "Write to @ann on the board.",
    "Three @ 4.50 each.",
    "The server is root@localhost.",
    "The decorator is @functools.cache.",
    "npm install @types/node@20.1.0 failed.",
    "git@ is where the address begins.",
    "他的微博是 @张三。",
]
KEYS = [
    "AKIA" + random_of(16, string.ascii_uppercase + string.digits),
    "ghp_" + random_of(36),
    "github_pat_" + random_of(70),
    "glpat-" + random_of(20),
    "sk-proj-" + random_of(48),
    "sk-ant-api03-" + random_of(60),
    "sk_live_" + random_of(24),
    "xoxb-" + random_of(12, string.digits) + "-" + random_of(24),
    "AIza" + random_of(35),
    "hf_" + random_of(34),
    "npm_" + random_of(36),
    "SG." + random_of(22) + "." + random_of(43),
    "LTAI" + random_of(20),
    "mnm_" + random_of(12, string.ascii_lowercase) + "_" + random_of(43),
    random_of(48),
    "api key: " + random_of(24),
    "密钥是" + random_of(32),
    "password = " + random_of(20),
]  # fmt: skip
PRIVATE = [_pem("PRIVATE KEY"), _pem("RSA PRIVATE KEY"), _pem("OPENSSH PRIVATE KEY"), _pem("EC PRIVATE KEY")]
JWTS = [_jwt() for _ in range(3)]


def _sentences(values: Sequence[str]) -> Iterator[str]:
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

MADE: Mapping[Sensitive, Sequence[str]] = {
    Sensitive.CARD: CARDS,
    Sensitive.RESIDENT_ID: IDS,
    Sensitive.IBAN: IBANS,
    Sensitive.PHONE: PHONES,
    Sensitive.EMAIL: MAILS,
    Sensitive.API_KEY: KEYS,
    Sensitive.PRIVATE_KEY: PRIVATE,
    Sensitive.JWT: JWTS,
}
"""Of every sort what there is to find."""


def sentences(values: Sequence[str]) -> list[str]:
    """Each value in a sentence, in either language, or alone."""
    return list(_sentences(values))


def innocent(sort: Sensitive) -> list[str]:
    """Texts without anything of a sort; what holds something of another sort is among them."""
    own = {Sensitive.PHONE: SAID_PHONES, Sensitive.EMAIL: SAID_MAILS}.get(sort, ())
    plain = [text for text in NOT_SECRET if not any(said in text for said in own)]
    others = [text for other, values in MADE.items() if other is not sort for text in _sentences(values)]
    return [*plain, *others, *LIKE_PHONES, *LIKE_MAILS]
