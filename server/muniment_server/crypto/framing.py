"""Joining of byte strings without ambiguity."""

from struct import Struct

_COUNT = Struct(">B")
_LENGTH = Struct(">I")


def frame(*parts: bytes) -> bytes:
    """Join parts so that two different lists never give the same bytes.

    Layout: number of parts (1 byte), then for each part its length (4 bytes, big endian) and itself.
    """
    return b"".join((_COUNT.pack(len(parts)), *_pieces(parts)))


def framing(count: int, *first: bytes) -> bytes:
    """How the frame of `count` parts begins whose first ones are these; `framed` gives the rest of it."""
    return b"".join((_COUNT.pack(count), *_pieces(first)))


def framed(*parts: bytes) -> bytes:
    """The further parts of a frame that `framing` began."""
    return b"".join(_pieces(parts))


def _pieces(parts: tuple[bytes, ...]) -> list[bytes]:
    pieces = []
    for part in parts:
        pieces.append(_LENGTH.pack(len(part)))
        pieces.append(part)
    return pieces
