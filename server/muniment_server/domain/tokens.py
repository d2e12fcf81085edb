"""How many tokens a language model will count, without knowing the model.

An estimate from above: a budget that is overrun cuts somebody's prompt, one that is not filled costs
a little recall. Rules:

- a word of ASCII letters: one token per started 4 letters; ASCII letters in a run with digits (ids,
  hashes): one per started 2; digits: one each, as in the models that split numbers;
- a single space: none; every other ASCII character, and each further space of a run: one;
- Latin, Greek, Cyrillic, Hebrew and Arabic, all that has 2 bytes in UTF-8: one per character;
- Chinese, Japanese and Korean: two per character;
- all else: one per byte of UTF-8, which no byte-level tokenizer exceeds.

The estimate of lines joined by line feeds is the sum of their estimates and one for each line feed.
"""

import re

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)(?![A-Za-z0-9])"
    r"|(?P<mixed>[A-Za-z0-9]+)"
    r"|(?P<space> +)"
    r"|(?P<single>[\x00-\x7f]+?)"
    r"|(?P<two>[\x80-\u07ff]+)"
    r"|(?P<cjk>[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]+)"
    r"|(?P<three>[\u0800-\uffff]+)"
    r"|(?P<four>[\U00010000-\U0010ffff]+)"
)
_LETTER = re.compile(r"[A-Za-z]+")


def estimate_tokens(text: str) -> int:
    """Return an estimate from above of the tokens of a text; linear time; 0 for an empty text."""
    total = 0
    for match in _PIECES.finditer(text):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "word":
            total += (length + 3) // 4
        elif kind == "mixed":
            letters = _LETTER.findall(match[0])
            total += sum((len(run) + 1) // 2 for run in letters) + length - sum(map(len, letters))
        elif kind == "space":
            total += length - 1
        elif kind == "cjk":
            total += 2 * length
        elif kind == "three":
            total += 3 * length
        elif kind == "four":
            total += 4 * length
        else:
            total += length
    return total
