"""Derivation of one key from another."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32


def derive_key(root: bytes, purpose: str, context: bytes = b"", length: int = KEY_BYTES) -> bytes:
    """A key of `length` bytes for one purpose: HKDF-SHA256 (RFC 5869).

    `root` must be uniformly random. `purpose` is the info, `context` (what the root belongs to) the salt.
    """
    return HKDF(SHA256(), length, context or None, purpose.encode()).derive(root)
