"""Character classes of the scripts that the analyser treats differently.

Python's ``re`` knows no Unicode properties, and its ``\\w`` leaves combining marks out, which
would cut Thai, Hindi and Khmer words in pieces. The classes are therefore built once, at import,
from ``unicodedata``; that takes some 50 ms and follows the Unicode version of the interpreter.
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_HAN_RANGES = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_KANA_RANGES = (
    (0x3041, 0x3096),
    (0x3099, 0x309A),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FC, 0x30FF),
    (0x31F0, 0x31FF),
    (0x1B000, 0x1B16F),
)
_HANGUL_RANGES = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
# Thai, Lao, Myanmar, Khmer and their smaller neighbours: written without spaces between words.
_UNSPACED_RANGES = (
    (0x0E00, 0x0E7F),
    (0x0E80, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x1950, 0x19DF),
    (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F),
    (0xA980, 0xA9DF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF),
)
# Pictographs only. Skin tones, variation selectors and joiners are left out on purpose: they change
# how a picture looks, not what it shows, and would be the commonest "words" of every emoji text.
_EMOJI_RANGES = (
    (0x231A, 0x231B),
    (0x23E9, 0x23FA),
    (0x2600, 0x27BF),
    (0x2B05, 0x2B55),
    (0x1F000, 0x1F1E5),
    (0x1F200, 0x1F3FA),
    (0x1F400, 0x1FAFF),
)
# Beyond the supplementary ideographic plane there are only private use, tags and selectors.
_SCAN_END = 0x20000

Ranges = tuple[tuple[int, int], ...]


def _char_class(codes: Iterable[int]) -> str:
    """Write sorted code points as the inside of a character class."""
    parts: list[str] = []
    first = last = -2
    for code in codes:
        if code == last + 1:
            last = code
            continue
        if first >= 0:
            parts.append(f"\\U{first:08x}-\\U{last:08x}")
        first = last = code
    if first >= 0:
        parts.append(f"\\U{first:08x}-\\U{last:08x}")
    return "".join(parts)


def _range_class(ranges: Ranges) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _scan() -> tuple[str, str, str]:
    """Collect combining marks, letters of unspaced scripts, and all other letters and digits."""
    own_class = bytearray(_SCAN_END)
    for ranges, flag in ((_HAN_RANGES + _KANA_RANGES + _HANGUL_RANGES, 1), (_UNSPACED_RANGES, 2)):
        for first, last in ranges:
            stop = min(last + 1, _SCAN_END)
            own_class[first:stop] = bytes((flag,)) * max(0, stop - first)
    marks: list[int] = []
    unspaced: list[int] = []
    words: list[int] = []
    for code in range(_SCAN_END):
        flag = own_class[code]
        if flag == 1:
            continue
        char = chr(code)
        if char.isalnum():
            # Digits of the unspaced scripts stay ordinary digits, so that numbers stay whole.
            (unspaced if flag == 2 and not char.isdecimal() else words).append(code)
        elif unicodedata.category(char)[0] == "M":
            marks.append(code)
    return _char_class(marks), _char_class(unspaced), _char_class(words)


HAN = _range_class(_HAN_RANGES)
KANA = _range_class(_KANA_RANGES)
HANGUL = _range_class(_HANGUL_RANGES)
EMOJI = _range_class(_EMOJI_RANGES)
MARK, UNSPACED, WORD = _scan()

#: One written character: a base with the marks that sit on it.
CLUSTER = re.compile(f"[{UNSPACED}][{MARK}]*")
HAN_CHARACTER = re.compile(f"[{HAN}]")
HAS_KANA = re.compile(f"[{KANA}]")
#: Invisible characters that stand inside words without separating them.
INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")

# From OpenCC (data/NOTICE). Some characters have more than one simplified form: which one does not matter,
# since both sides take it.
_SIMPLIFIED = str.maketrans(
    *Path(__file__).with_name("data").joinpath("simplified.txt").read_text(encoding="utf-8").splitlines()
)


def simplified(text: str) -> str:
    """A text with simplified Chinese characters for traditional ones, Japanese and Korean texts included."""
    return text.translate(_SIMPLIFIED) if not text.isascii() and HAN_CHARACTER.search(text) else text
