"""Which script a text is written in, so that words are not missed where they could not have met.

A question and a memory in different scripts share no word, whatever they say. The index therefore has a mark
of the script of each memory, and a query looks for the marks of all scripts but its own.
"""

import re

from muniment_server.retrieval.scripts import HAN, HANGUL, KANA

_WRITES = "\x1fwrites:"
_JAPANESE = "japanese"
_SCRIPTS = {
    "latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "han": HAN,
    _JAPANESE: KANA,
    "hangul": HANGUL,
    "cyrillic": "\u0400-\u052f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}


def script(text: str) -> str | None:
    """The script of most letters of a text; None without letters of a script that is known here.

    Japanese is what has kana and more kana and Chinese characters than letters of any other script.
    """
    if text.isascii():
        return "latin" if _LETTERS["latin"].search(text) else None
    counts = {name: len(letters.findall(text)) for name, letters in _LETTERS.items()}
    if counts[_JAPANESE]:
        counts[_JAPANESE] += counts.pop("han")
    most = max(counts, key=lambda name: counts[name])
    return most if counts[most] else None


def writing_marks(text: str) -> list[str]:
    """The mark of a text's script; none if it has none that is known."""
    found = script(text)
    return [_WRITES + found] if found else []


def apart_marks(query: str) -> list[str]:
    """The marks of every script in which no word of a query can stand; none for a query without letters."""
    found = script(query)
    if found is None:
        return []
    own = {name for name, letters in _LETTERS.items() if letters.search(query)}
    if found == _JAPANESE:
        own.add("han")
    elif found == "han":
        own.add(_JAPANESE)
    return [_WRITES + name for name in _SCRIPTS if name not in own]
