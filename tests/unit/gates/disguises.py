"""Texts with stored instructions, ordinary ones, and ways to disguise a text."""

import random
from collections.abc import Callable

from muniment_server.domain.gates.base import Verdict

from .support import corpus, screened

ENGLISH = corpus("instructions-en.txt")
CHINESE = corpus("instructions-zh.txt")
ORDINARY = corpus("ordinary-en.txt") + corpus("ordinary-zh.txt")
# Those that are all markup keep no words to disguise.
WORDED = [text for text in ENGLISH if not any(char in text for char in "<[{#(_:/")]

_LOOK_ALIKE = str.maketrans("aceiopxyIOAE", "асеіорхуІОАЕ")


def suspicious(text: str) -> bool:
    """Whether the gate does anything about a text."""
    return screened(text).verdict is Verdict.QUARANTINE


def _between(text: str, *fill: str, every: int = 1) -> str:
    chooser = random.Random(7)
    letters = []
    for number, char in enumerate(text):
        letters.append(char)
        if char.isalpha() and number % every == 0:
            letters.append(chooser.choice(fill))
    return "".join(letters)


def _filler(text: str) -> str:
    fillers = ["um,", "...", "well,", "—", "really", "🙂", "uh,"]
    chooser = random.Random(3)
    return " ".join(f"{word} {chooser.choice(fillers)}" for word in text.split())


DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "shouted": str.upper,
    "look-alike letters": lambda text: text.translate(_LOOK_ALIKE),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "bold letters": lambda text: "".join(
        chr(0x1D400 + ord(c) - 65)
        if "A" <= c <= "Z"
        else chr(0x1D41A + ord(c) - 97)
        if "a" <= c <= "z"
        else c
        for c in text
    ),
    "zero width": lambda text: _between(text, "\u200b", "\u2060", "\u200d"),
    "soft hyphens": lambda text: _between(text, "\u00ad", every=2),
    "accents": lambda text: _between(text, "\u0301", "\u0308", every=2),
    "fillers": _filler,
    "dots for spaces": lambda text: text.replace(" ", " ... "),
    "line breaks": lambda text: text.replace(" ", "\n"),
    "spelt out": lambda text: "   ".join(" ".join(word) for word in text.rstrip(".").split()),
    "digits for letters": lambda text: text.translate(str.maketrans("oe", "03")),
    "underscores": lambda text: text.replace(" ", "_"),
}
