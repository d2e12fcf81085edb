"""The plaintext that is encrypted as one: who said it, a memory's text, and its caller-owned attributes."""

from typing import NamedTuple

_VERSION = b"\x01"


class Content(NamedTuple):
    """What is encrypted of a memory. `attributes`: a JSON object as text."""

    text: str
    attributes: str | None
    speaker: str | None


def pack_content(text: str, attributes: str | None, speaker: str | None = None) -> bytes:
    """Bytes to encrypt; the lengths of text and speaker stand in front, so that all come back exactly."""
    body, said_by = text.encode(), (speaker or "").encode()
    lengths = len(body).to_bytes(4) + len(said_by).to_bytes(2)
    return b"".join((_VERSION, lengths, body, said_by, (attributes or "").encode()))


def unpack_content(plain: bytes) -> Content:
    """What `pack_content` packed; None for what was empty. Raises ValueError on other bytes."""
    if plain[:1] != _VERSION or len(plain) < 7:
        raise ValueError("unknown content version")
    end = 7 + int.from_bytes(plain[1:5])
    last = end + int.from_bytes(plain[5:7])
    return Content(plain[7:end].decode(), plain[last:].decode() or None, plain[end:last].decode() or None)
