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
from .phones import plans
from .policy import Sensitive

Span = tuple[int, int]


class Unread(Exception):
    """A detector did not look at the rest of a text."""


# A run of digits with the separators that people put between groups.
# What begins with a digit is found quickly; what stands before it is looked at afterwards.
_GROUPS = re.compile(r"[0-9](?<![0-9A-Za-z].)[0-9]*(?:[ \-.·–—_/][0-9]+)*(?![0-9A-Za-z])", re.DOTALL)
_DIGITS = re.compile(r"[0-9]+")
_CARD_GROUPS = frozenset(
    {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (6, 13), (8, 8), (4, 4, 4, 1), (4, 4, 4, 4, 2)}
)
# Of a group's size the shapes that begin with it, the longest first; a card can stand as one group.
_SHAPES = {
    size: tuple(
        sorted(
            {shape for shape in _CARD_GROUPS if shape[0] == size} | ({(size,)} if 12 <= size < 20 else set()),
            key=len,
            reverse=True,
        )
    )
    for size in {*(shape[0] for shape in _CARD_GROUPS), *range(12, 20)}
}
# One fraction in fifty would pass as a card, and a number that somebody wrote would be stored as another.
# Whoever wants to hide a card has easier ways than to write it behind a point.
_FRACTION = re.compile(r"[0-9]{1,3}\.[0-9]+")
_RESIDENT_ID = re.compile(
    r"[1-8](?<![0-9A-Za-z][1-8])[0-9]{5}[ \-]?[0-9]{8}[ \-]?[0-9]{3}[0-9Xx](?![0-9A-Za-z])"
)
_IBAN_CHECK = re.compile(
    r"[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})(?<![0-9A-Za-z][A-Za-z]{2}[0-9]{2})(?=[ \-]?[0-9A-Za-z])"
)
_IBANS = {
    length: re.compile(rf"[A-Za-z]{{2}}[0-9]{{2}}(?:[ \-]?[0-9A-Za-z]){{{length - 4}}}(?![0-9A-Za-z])")
    for length in sorted(set(IBAN_LENGTHS.values()))
}
_UNSEPARATED = str.maketrans("", "", " -")
_MOST_DIALLED = 15
MOST_NUMBERS = 100
"""Different numbers of one text that are held against the numbering plans, which takes some 0.1 ms each."""
_PHONE = re.compile(r"(?<![0-9A-Za-z.,])(?:\+|00)?\(?[0-9](?:[\-./() ]{0,2}[0-9]){5,16}(?![0-9A-Za-z])")
_EMAIL = re.compile(r"(?<![\w.+\-])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.)+[^\W\d_]{2,24}(?![\w\-])")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"|PuTTY-User-Key-File-\d.*?(?:Private-MAC: [0-9a-f]+|\Z)|AGE-SECRET-KEY-1[0-9A-Z]{40,60}",
    re.DOTALL,
)
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"[\sA-Za-z0-9+/=:,\-\\]*")
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
# A key stands in one run of such characters, and none is shorter than this.
_RUN = re.compile(r"[A-Za-z0-9+/_\-=.~:]{14,}")
_LEAST_LONG = 40
# What names a key stands no farther before it.
_NAME_BEFORE = 48
_NAMES = ("api", "access", "secret", "token", "bearer", "pass", "pwd", "密", "秘", "口令", "令牌", "凭证")
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
        groups = [found.span() for found in _DIGITS.finditer(run[0])]
        sizes = tuple(end - start for start, end in groups)
        if text[max(0, run.start() - 1) : run.start()] == "+" and sum(sizes) <= _MOST_DIALLED:
            # Every tenth number of thirteen digits would pass, and this is how people write one they dial.
            continue
        first = 0
        while first < len(groups):
            taken = 0
            for shape in _SHAPES.get(sizes[first], ()):
                if sizes[first : first + len(shape)] != shape:
                    continue
                part = groups[first : first + len(shape)]
                if is_card("".join(run[0][start:end] for start, end in part)):
                    taken = len(shape)
                    yield run.start() + part[0][0], run.start() + part[-1][1]
                    break
            first += taken or 1


def _ibans(text: str) -> Iterator[Span]:
    for check in _IBAN_CHECK.finditer(text):
        start = check.start() - 2
        length = IBAN_LENGTHS.get(text[start : start + 2].upper())
        found = _IBANS[length].match(text, start) if length is not None else None
        if found is not None and is_iban(found[0].upper().translate(_UNSEPARATED)):
            yield found.span()


def _phones(text: str, regions: Sequence[str]) -> Iterator[Span]:
    """Raises Unread when a text has so many numbers that not all of them were looked at."""
    known: dict[tuple[str, tuple[str | None, ...]], bool] = {}
    for found in _PHONE.finditer(text):
        number = (found[0], plans(text, *found.span(), regions))
        if not number[1]:
            continue
        if number not in known:
            if len(known) == MOST_NUMBERS:
                raise Unread
            known[number] = _is_phone(*number)
        if known[number]:
            yield found.span()


def _is_phone(written: str, regions: Sequence[str | None]) -> bool:
    candidate = "+" + written[2:] if written.startswith("00") else written
    for region in regions:
        try:
            number = phonenumbers.parse(candidate, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return True
    return False


def _emails(text: str) -> Iterator[Span]:
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield found.span()


def _private_keys(text: str) -> Iterator[Span]:
    if not ("KEY-" in text or "PuTTY" in text or " KEY" in text):
        return
    place = 0
    endless = False
    while (found := _PRIVATE_KEY.search(text, place)) is not None:
        stop = found.end()
        if found[0].startswith("-----"):
            # Searched for from one key at most without being there: there are texts full of beginnings.
            end = None if endless else _KEY_END.search(text, stop)
            endless = end is None
            rest = _KEY_BODY.match(text, stop)
            stop = end.end() if end is not None else rest.end() if rest is not None else stop
        place = stop
        yield found.start(), found.start() + len(text[found.start() : stop].rstrip())


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
    runs = [found.span() for found in _RUN.finditer(text)]
    if not runs:
        return
    for start, end in runs:
        for found in _KEY_PREFIX.finditer(text, start, end):
            if len(set(found[0])) >= 8:
                yield found.span()
    lower = text.lower()
    if any(name in lower for name in _NAMES):
        for start, end in _joined([(max(0, start - _NAME_BEFORE), end) for start, end in runs]):
            for found in _NAMED_KEY.finditer(text, start, end):
                value = found[1]
                mixed = any(map(str.isdecimal, value)) and any(map(str.isalpha, value))
                if mixed and entropy(value) >= _NAMED_ENTROPY and not _is_words(value):
                    yield found.span(1)
    for start, end in runs:
        if end - start < _LEAST_LONG:
            continue
        for found in _LONG_TOKEN.finditer(text, start, end):
            value = found[0]
            if (
                not _HEXADECIMAL.fullmatch(value)
                and any(map(str.isdecimal, value))
                and any(map(str.isupper, value))
                and any(map(str.islower, value))
                and entropy(value) >= _BARE_ENTROPY
            ):
                yield found.span()


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Spans in order of their starts, those that touch as one."""
    start, end = spans[0]
    for first, last in spans[1:]:
        if first > end:
            yield start, end
            start = first
        end = max(end, last)
    yield start, end


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
# Fewer digits than these are nothing of the sort.
_LEAST_DIGITS = {Sensitive.RESIDENT_ID: 17, Sensitive.CARD: 13, Sensitive.IBAN: 2, Sensitive.PHONE: 7}


def detect(
    text: str, sorts: frozenset[Sensitive], regions: Sequence[str]
) -> tuple[list[tuple[Sensitive, Span]], bool]:
    """Where something of the given sorts stands in a text, in order, without overlaps; and whether all of the
    text was looked at."""
    whole = True
    digits = sum(map(text.count, "0123456789"))
    found: list[tuple[Sensitive, Span]] = []
    for sort in _ORDER:
        if sort not in sorts or digits < _LEAST_DIGITS.get(sort, 0):
            continue
        spans = _phones(text, regions) if sort is Sensitive.PHONE else _DETECTORS[sort](text)
        listed, complete = _all_of(spans)
        whole = whole and complete
        for start, end in listed:
            # In order and without overlaps: only the neighbours can be in the way, among thousands.
            place = bisect_right(found, start, key=_start)
            after_one = place == 0 or found[place - 1][1][1] <= start
            if after_one and (place == len(found) or found[place][1][0] >= end):
                found.insert(place, (sort, (start, end)))
    return found, whole


def _all_of(spans: Iterator[Span]) -> tuple[list[Span], bool]:
    """The spans, and whether these are all."""
    found: list[Span] = []
    try:
        for span in spans:
            found.append(span)  # noqa: PERF402 - what came before the end counts
    except Unread:
        return found, False
    return found, True


def _start(one: tuple[Sensitive, Span]) -> int:
    return one[1][0]
