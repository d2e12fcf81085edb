"""The plaintext that is encrypted as one: who said it, a memory's text, and its caller-owned attributes."""

from typing import NamedTuple

_VERSION = b"\x01"
_MASKED = b"\x02"


class Content(NamedTuple):
    """What is encrypted of a memory. `attributes`: a JSON object as text.

    masked: the text without what may be stored and not indexed; None where that is the text itself.
    """

    text: str
    attributes: str | None
    speaker: str | None
    masked: str | None = None

    @property
    def indexed(self) -> str:
        """The text that index and vectors are made of."""
        return self.text if self.masked is None else self.masked


def pack_content(
    text: str, attributes: str | None, speaker: str | None = None, masked: str | None = None
) -> bytes:
    """Bytes to encrypt; lengths stand in front, so that all parts come back exactly."""
    body, said_by = text.encode(), (speaker or "").encode()
    lengths = len(body).to_bytes(4) + len(said_by).to_bytes(2)
    rest = (attributes or "").encode()
    if masked is None:
        return b"".join((_VERSION, lengths, body, said_by, rest))
    shown = masked.encode()
    return b"".join((_MASKED, lengths, body, said_by, len(shown).to_bytes(4), shown, rest))


def unpack_content(plain: bytes) -> Content:
    """What `pack_content` packed; None for what was empty. Raises ValueError on other bytes."""
    if plain[:1] not in (_VERSION, _MASKED) or len(plain) < 7:
        raise ValueError("unknown content version")
    end = 7 + int.from_bytes(plain[1:5])
    last = end + int.from_bytes(plain[5:7])
    text, speaker = plain[7:end].decode(), plain[end:last].decode() or None
    masked = None
    if plain[:1] == _MASKED:
        begin = last + 4
        last = begin + int.from_bytes(plain[last:begin])
        masked = plain[begin:last].decode()
    return Content(text, plain[last:].decode() or None, speaker, masked)
