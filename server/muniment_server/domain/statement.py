"""What text may be stored, and when two statements are the same."""

import re
import unicodedata
from enum import StrEnum
from typing import Literal


class TextRefusal(StrEnum):
    """Why a text cannot be stored. The values are rule ids for field violations."""

    NUL = "text.no_nul"
    SURROGATE = "text.no_lone_surrogate"
    CONTROL = "text.no_control"

    @property
    def description(self) -> str:
        """What is allowed, in words."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    TextRefusal.NUL: "must not contain the character U+0000",
    TextRefusal.SURROGATE: "must be well-formed Unicode; it contains half of a surrogate pair",
    TextRefusal.CONTROL: "must not contain control characters other than tab, line feed and carriage return",
}
# U+0085 is a line break in text from mainframes and stays allowed.
_BLOCK = 1024
# Code points with Canonical_Combining_Class 0 that compose with nothing before them: Latin, Han, kana
# without the sound marks, Hangul syllables.
_BOUNDARY = re.compile("[\x00-\u02ff\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3]")
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff]")


def check_text(text: str) -> TextRefusal | None:
    """Return why a text is refused, or None. The text itself is never altered.

    The first refused character decides.
    """
    found = _REFUSED.search(text)
    if found is None:
        return None
    char = found[0]
    if char == "\x00":
        return TextRefusal.NUL
    return TextRefusal.SURROGATE if char >= "\ud800" else TextRefusal.CONTROL


def normalize_unicode(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a Unicode normal form in linear time.

    Canonical ordering takes quadratic time in a long run of combining marks: half a second for 32 KiB.
    So a long text is normalised in blocks that begin at a character which never combines with what
    precedes it. Only where there is none for a thousand characters, a run of a thousand marks for
    instance, a block ends anywhere, and the result can differ from the true normal form there.
    """
    if text.isascii():
        return text
    blocks = []
    start = 0
    while len(text) - start > 2 * _BLOCK:
        boundary = _BOUNDARY.search(text, start + _BLOCK, start + 2 * _BLOCK)
        end = boundary.start() if boundary else start + 2 * _BLOCK
        blocks.append(unicodedata.normalize(form, text[start:end]))
        start = end
    blocks.append(unicodedata.normalize(form, text[start:]))
    return "".join(blocks)


def normalise_statement(text: str) -> str:
    """Return the form in which two statements are compared for being the same.

    Canonical composition (NFC), every run of white space as one space, none at the ends. Nothing else:
    case, width and punctuation can carry the difference between two statements.
    """
    return " ".join(normalize_unicode("NFC", text).split())


def statement_form(text: str, speaker: str | None, turn: tuple[str | None, int] | None = None) -> str:
    """Return what makes a memory's statement the same as another's: its text and who said it.

    turn: session and number of a turn that has one. Saying the same again is another turn.
    """
    statement = normalise_statement(text)
    # No statement and no session has a control character, so none reads like another one with its speaker.
    if turn is not None:
        session, number = turn
        return f"{session or ''}\x1f{number}\x1f{speaker or ''}\x1f{statement}"
    return f"{speaker}\x1f{statement}" if speaker else statement
