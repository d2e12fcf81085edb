"""The form in which detectors read a text, with a way back to the places in the text itself.

What a person takes for the same letter is made the same letter: compatibility forms (full width,
mathematical alphabets), letters of other scripts that look alike, text hidden in tag characters. What
nobody sees is left out. The stored text is never touched by this.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

# Default-ignorable characters, but for the variation selectors of emoji and ZWJ between them, which the
# fold drops as well without calling them hidden.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# Texts of these alone fold character by character, by a table.
_PLAIN = re.compile(
    "[\x00-\x7f\u00b7\u00a3\u00a5\u20ac\u2010-\u2015\u2018-\u201f\u2026\u3001-\u303f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
    "\uff01-\uff5e]*"
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | dict.fromkeys(
    range(0x2010, 0x2016), ord("-")
)
_FEW = 32
"""Different letters, up to which to replace each takes less time than to look up every character."""
_TAG = range(0xE0020, 0xE007F)

# Letters that look like Latin ones, after NFKC and case folding (a choice from Unicode's confusables,
# UTS #39: those that a reader does not notice).
_LOOK_ALIKES = (
    # Cyrillic
    str.maketrans("асԁеёɡһіїӏјкмпорԛгѕтцѵԝхувньԍ", "acdeeghiiljkmnopqrstuvwxybhbg")
    # Greek
    | str.maketrans("αβεικνορτυχγηω", "abeikvoptuxynw")
    # Armenian
    | str.maketrans("օոսյհցզաւ", "onujhgqwu")
    # Phonetic and small capital letters
    | str.maketrans("ıɩɑɪʟɴʀꜱᴀʙᴄᴅᴇɢʜᴊᴋᴍᴏᴘᴛᴜᴠᴡʏᴢ", "iiailnrsabcdeghjkmoptuvwyz")
    # Strokes, lines and dashes
    | str.maketrans("øđłħƒŧǃ∣⁄∕‐‑‒–—―−", "odlhft!|//-------")
)


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Folded:
    """Two readings of a text, of the same length: `visible` is what a person sees, in compatibility form;
    `text` is that in lower case, with look-alike letters made Latin and accents gone.

    original, widths: the text itself and how many characters of a reading stand for one of its characters;
    None where each stands for one. invisible: characters left out. hidden: whether text was spelt in tag
    characters that nobody sees.
    """

    text: str
    visible: str
    original: str = ""
    widths: Mapping[str, int] | None = None
    invisible: int = 0
    hidden: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original that a range of the readings came from."""
        if self.widths is None:
            return start, end
        return self._offsets[start], self._offsets[end - 1] + 1

    @cached_property
    def _offsets(self) -> list[int]:
        """For each character of a reading its place in the original."""
        widths = self.widths or {}
        return [place for place, char in enumerate(self.original) for _ in range(widths.get(char, 1))]


@lru_cache(maxsize=4096)
def _letter(char: str) -> tuple[str, str]:
    visible = unicodedata.normalize("NFKC", char)
    if _INVISIBLE.fullmatch(char) or unicodedata.combining(visible[0]):
        return "", ""
    folded = visible.casefold().translate(_LOOK_ALIKES)
    if not folded.isascii():
        # Accents hide nothing from a reader: "ïgnöre".
        bare = unicodedata.normalize("NFD", folded)
        if bare[0].isascii():
            folded = "".join(one for one in bare if not unicodedata.combining(one))
    return visible, folded if len(folded) == len(visible) else visible.lower()


def fold(text: str) -> Folded:
    """Fold a text for detection."""
    if text.isascii():
        return Folded(text.lower(), text)
    if _PLAIN.fullmatch(text):
        wide = text.translate(_WIDE)
        return Folded(wide.lower(), wide)
    visible: dict[int, str] = {}
    letters: dict[int, str] = {}
    widths: dict[str, int] = {}
    invisible = hidden = 0
    # What becomes of a character depends on nothing else, and a text has few different ones.
    for char in set(text):
        if char.isascii():
            continue
        code = ord(char)
        if code in _TAG:
            hidden += text.count(char)
            seen = chr(code - 0xE0000)
            folded = seen.lower()
        else:
            seen, folded = _letter(char)
            invisible += 0 if seen else text.count(char)
        visible[code], letters[code] = seen, folded
        if len(seen) != 1:
            widths[char] = len(seen)
    # The flags of England, Scotland and Wales are spelt in tag characters, behind a black flag.
    is_hidden = hidden > 0 and "\U0001f3f4" not in text
    return Folded(
        _exchanged(text, letters).lower(),
        _exchanged(text, visible),
        text,
        widths or None,
        invisible,
        is_hidden,
    )


def _exchanged(text: str, letters: Mapping[int, str]) -> str:
    """The text with other letters."""
    again = any(letters.get(ord(one), one) != one for letter in letters.values() for one in letter)
    if again or len(letters) > _FEW:
        return text.translate(letters)
    for code, letter in letters.items():
        text = text.replace(chr(code), letter)
    return text
