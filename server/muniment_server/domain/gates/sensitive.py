"""Finding secrets and personal data: by check digit, structure, prefix and entropy, never by bare pattern.

The detectors read what a person sees: full-width digits are digits, and invisible characters between them
do not help. What a number proves by itself it must prove: a card by issuer, length and Luhn, a resident
ID by division, date and check digit, an account by country, length and remainder, a telephone number by
the numbering plan of its country.
"""

import json
import math
import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import phonenumbers

from .check_digits import IBAN_LENGTHS, is_card, is_iban, is_resident_id
from .policy import Sensitive

Span = tuple[int, int]

# A run of digits with the separators that people put between groups.
_GROUPS = re.compile(r"(?<![0-9A-Za-z])[0-9]+(?:[ \-.·–—_/][0-9]+)*(?![0-9A-Za-z])")
_DIGITS = re.compile(r"[0-9]+")
_CARD_GROUPS = frozenset(
    {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (6, 13), (8, 8), (4, 4, 4, 1), (4, 4, 4, 4, 2)}
)
# A card begins with one of these many digits, or stands as one group.
_FIRST_GROUPS = frozenset({*(sizes[0] for sizes in _CARD_GROUPS), *range(12, 20)})
# One fraction in fifty would pass as a card, and a number that somebody wrote would be stored as another.
# Whoever wants to hide a card has easier ways than to write it behind a point.
_FRACTION = re.compile(r"[0-9]{1,3}\.[0-9]+")
_RESIDENT_ID = re.compile(r"(?<![0-9A-Za-z])[1-8][0-9]{5}[ \-]?[0-9]{8}[ \-]?[0-9]{3}[0-9Xx](?![0-9A-Za-z])")
_IBAN_START = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}(?=[ \-]?[0-9A-Za-z])")
_PHONE = re.compile(r"(?<![0-9A-Za-z.,])(?:\+|00)?\(?[0-9](?:[\-./() ]{0,2}[0-9]){5,16}(?![0-9A-Za-z])")
_EMAIL = re.compile(r"(?<![\w.+\-])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.)+[^\W\d_]{2,24}(?![\w\-])")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END (?:[A-Z0-9]+ ){0,4}"
    r"PRIVATE KEY(?: BLOCK)?-----|[\sA-Za-z0-9+/=:,\-\\]*)"
    r"|PuTTY-User-Key-File-\d.*?(?:Private-MAC: [0-9a-f]+|\Z)|AGE-SECRET-KEY-1[0-9A-Z]{40,60}",
    re.DOTALL,
)
_JWT = re.compile(
    r"(?<![A-Za-z0-9_\-.])eyJ[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]{8,8000}\.[A-Za-z0-9_\-]{0,2000}"
)
_KEY_PREFIX = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[A-Z0-9]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255}|gl(?:pat|dt|rt|soat)-[A-Za-z0-9_\-]{20,64}"
    r"|sk-[A-Za-z0-9_\-]{20,200}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,120}|whsec_[A-Za-z0-9+/=]{24,80}"
    r"|xox[abeoprs]-[A-Za-z0-9\-]{10,250}|xapp-[A-Za-z0-9\-]{20,250}"
    r"|AIza[A-Za-z0-9_\-]{35}|GOCSPX-[A-Za-z0-9_\-]{20,40}|ya29\.[A-Za-z0-9_\-]{20,250}"
    r"|hf_[A-Za-z0-9]{30,60}|npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_\-]{40,250}|dop_v1_[a-f0-9]{64}"
    r"|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}"
    r"|LTAI[A-Za-z0-9]{12,20}|AKID[A-Za-z0-9]{30,40}|[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}"
    r"|mnm_[A-Za-z0-9]{6,40}_[A-Za-z0-9_\-]{20,90}"
    r")(?![A-Za-z0-9])"
)
_NAMED_KEY = re.compile(
    r"(?:api[ _\-]?keys?|access[ _\-]?keys?(?:[ _\-]?id)?|secrets?(?:[ _\-]?(?:access )?keys?)?"
    r"|tokens?|bearer|passw(?:or)?d|pwd|密钥|密鑰|秘钥|口令|密码|密碼|令牌|凭证)(?:\W{1,4}(?:is|was|value|为|是))?[\W为是]{1,6}"
    r"([A-Za-z0-9+/_\-=.~]{16,256})",
    re.IGNORECASE,
)
_LONG_TOKEN = re.compile(r"(?<![A-Za-z0-9+/_\-=.:%&?#@])[A-Za-z0-9+/_\-]{40,200}={0,2}(?![A-Za-z0-9+/_\-=.])")
# No key is shorter than this.
_RUN = re.compile(r"[A-Za-z0-9+/_\-=.~:]{14}")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F\-]+")
_NAMED_ENTROPY = 3.0
_BARE_ENTROPY = 4.5


def entropy(text: str) -> float:
    """Shannon's entropy of a text's characters, in bits per character."""
    length = len(text)
    return -sum(count / length * math.log2(count / length) for count in Counter(text).values())


def _resident_ids(text: str) -> Iterator[Span]:
    for found in _RESIDENT_ID.finditer(text):
        if is_resident_id(re.sub("[ -]", "", found[0])):
            yield found.span()


def _cards(text: str) -> Iterator[Span]:
    for run in _GROUPS.finditer(text):
        if len(run[0]) < 13 or _FRACTION.fullmatch(run[0]):
            continue
        groups = list(_DIGITS.finditer(run[0]))
        first = 0
        while first < len(groups):
            if len(groups[first][0]) not in _FIRST_GROUPS:
                first += 1
                continue
            taken = 0
            for count in range(min(5, len(groups) - first), 0, -1):
                part = groups[first : first + count]
                digits = "".join(group[0] for group in part)
                if (count == 1 or tuple(len(group[0]) for group in part) in _CARD_GROUPS) and is_card(digits):
                    taken = count
                    yield run.start() + part[0].start(), run.start() + part[-1].end()
                    break
            first += taken or 1


def _ibans(text: str) -> Iterator[Span]:
    for start in _IBAN_START.finditer(text):
        length = IBAN_LENGTHS.get(start[0][:2].upper())
        if length is None:
            continue
        letters: list[str] = []
        place = start.start()
        separated = False
        while place < len(text) and len(letters) < length:
            char = text[place]
            if char.isascii() and char.isalnum():
                letters.append(char.upper())
                separated = False
            elif char in " -" and not separated:
                separated = True
            else:
                break
            place += 1
        following = text[place : place + 1]
        if is_iban("".join(letters)) and not (following.isascii() and following.isalnum()):
            yield start.start(), place


def _phones(text: str, regions: Sequence[str]) -> Iterator[Span]:
    for found in _PHONE.finditer(text):
        written = found[0]
        digits = sum(map(str.isdecimal, written))
        if not 7 <= digits <= 15:
            continue
        international = written.startswith(("+", "00"))
        candidate = "+" + written[2:] if written.startswith("00") else written
        for region in [None] if international else regions:
            try:
                number = phonenumbers.parse(candidate, region)
            except phonenumbers.NumberParseException:
                continue
            # A number without a country code has to look like one that is dialled: at least ten digits, or
            # written in groups.
            if phonenumbers.is_valid_number(number) and (international or digits >= 10):
                yield found.span()
                break


def _emails(text: str) -> Iterator[Span]:
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield found.span()


def _private_keys(text: str) -> Iterator[Span]:
    if "KEY-" in text or "PuTTY" in text or " KEY" in text:
        for found in _PRIVATE_KEY.finditer(text):
            yield found.start(), found.start() + len(found[0].rstrip())


def _tokens(text: str) -> Iterator[Span]:
    if "eyJ" not in text:
        return
    for found in _JWT.finditer(text):
        head = found[0].partition(".")[0]
        try:
            header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
        except (Base64Error, ValueError):
            continue
        if isinstance(header, dict) and "alg" in header:
            yield found.span()


def _api_keys(text: str) -> Iterator[Span]:
    if not _RUN.search(text):
        return
    for found in _KEY_PREFIX.finditer(text):
        if len(set(found[0])) >= 8:
            yield found.span()
    for found in _NAMED_KEY.finditer(text):
        value = found[1]
        mixed = any(map(str.isdecimal, value)) and any(map(str.isalpha, value))
        if mixed and entropy(value) >= _NAMED_ENTROPY and not _is_words(value):
            yield found.span(1)
    for found in _LONG_TOKEN.finditer(text):
        value = found[0]
        if (
            not _HEXADECIMAL.fullmatch(value)
            and any(map(str.isdecimal, value))
            and any(map(str.isupper, value))
            and any(map(str.islower, value))
            and entropy(value) >= _BARE_ENTROPY
        ):
            yield found.span()


def _is_words(value: str) -> bool:
    """Whether a value is a name in words ("production-database-2") or an address, and not random."""
    parts = [part for part in re.split(r"[_\-./=+~]", value) if part]
    return len(parts) > 1 and all(len(part) < 16 and (part.isalpha() or part.isdecimal()) for part in parts)


_DETECTORS: Mapping[Sensitive, Callable[[str], Iterator[Span]]] = {
    Sensitive.PRIVATE_KEY: _private_keys,
    Sensitive.JWT: _tokens,
    Sensitive.API_KEY: _api_keys,
    Sensitive.RESIDENT_ID: _resident_ids,
    Sensitive.CARD: _cards,
    Sensitive.IBAN: _ibans,
    Sensitive.EMAIL: _emails,
}
_ORDER = (
    Sensitive.PRIVATE_KEY,
    Sensitive.JWT,
    Sensitive.API_KEY,
    Sensitive.EMAIL,
    Sensitive.RESIDENT_ID,
    Sensitive.CARD,
    Sensitive.IBAN,
    Sensitive.PHONE,
)
SECRETS = frozenset({Sensitive.PRIVATE_KEY, Sensitive.JWT, Sensitive.API_KEY})
_PREFILTER = re.compile(
    r"[A-Za-z0-9+/_\-=.]{12}|[0-9](?:[^A-Za-z]{0,2}[0-9]){5}|[A-Z]{2}[0-9]{2} [0-9A-Z]{4}|@|PRIVATE KEY",
    re.IGNORECASE,
)


def detect(text: str, sorts: frozenset[Sensitive], regions: Sequence[str]) -> list[tuple[Sensitive, Span]]:
    """Where something of the given sorts stands in a text, in order, without overlaps."""
    if not _PREFILTER.search(text):
        return []
    found: list[tuple[Sensitive, Span]] = []
    for sort in _ORDER:
        if sort not in sorts:
            continue
        spans = _phones(text, regions) if sort is Sensitive.PHONE else _DETECTORS[sort](text)
        for start, end in spans:
            # In order and without overlaps: only the neighbours can be in the way, among thousands.
            place = bisect_right(found, start, key=_start)
            after_one = place == 0 or found[place - 1][1][1] <= start
            if after_one and (place == len(found) or found[place][1][0] >= end):
                found.insert(place, (sort, (start, end)))
    return found


def _start(one: tuple[Sensitive, Span]) -> int:
    return one[1][0]
