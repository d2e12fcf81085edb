"""Joining of byte strings without ambiguity."""

from struct import Struct

_COUNT = Struct(">B")
_LENGTH = Struct(">I")


def frame(*parts: bytes) -> bytes:
    """Join parts so that two different lists never give the same bytes.

    Layout: number of parts (1 byte), then for each part its length (4 bytes, big endian) and itself.
    """
    pieces = [_COUNT.pack(len(parts))]
    for part in parts:
        pieces.append(_LENGTH.pack(len(part)))
        pieces.append(part)
    return b"".join(pieces)
