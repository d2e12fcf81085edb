"""The plaintext that is encrypted as one: a memory's text and its caller-owned attributes."""

_VERSION = b"\x01"


def pack_content(text: str, attributes: str | None) -> bytes:
    """Bytes to encrypt; the text's length stands in front, so that both parts come back exactly."""
    body = text.encode()
    return _VERSION + len(body).to_bytes(4) + body + (attributes or "").encode()


def unpack_content(plain: bytes) -> tuple[str, str | None]:
    """Text and attributes (a JSON object as text, or None). Raises ValueError on other bytes."""
    if plain[:1] != _VERSION:
        raise ValueError("unknown content version")
    length = int.from_bytes(plain[1:5])
    return plain[5 : 5 + length].decode(), plain[5 + length :].decode() or None
