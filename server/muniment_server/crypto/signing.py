"""Ed25519 signatures of erasure receipts and audit checkpoints (RFC 8032).

A signature is over the exact canonical JSON that is handed out with it, so that whoever holds the
public keys can verify it with any Ed25519 library. What the bytes are is said by their "type", which
is checked before signing and after verifying: a signed receipt is never taken for a checkpoint.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Never

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from muniment_server.audit.canonical import CHECKPOINT_TYPE, CanonicalError, canonical_bytes, parse_canonical

KEY_ID_CHARACTERS = 16
RECEIPT_TYPE = "muniment.erasure-receipt.v1"


def receipt_bytes(fields: Mapping[str, Any]) -> bytes:
    """The canonical bytes of an erasure receipt: its fields and the "type" that says what it is."""
    return canonical_bytes({**fields, "type": RECEIPT_TYPE})


class SigningKey:
    """The private key of an installation. `key_id` names the public key in what is signed."""

    __slots__ = ("_private", "key_id", "public_bytes")

    def __init__(self, private_bytes: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(private_bytes)
        self.public_bytes = self._private.public_key().public_bytes_raw()
        self.key_id = key_id_of(self.public_bytes)

    @classmethod
    def generate(cls) -> "SigningKey":
        """A new random key."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    def private_bytes(self) -> bytes:
        """The 32 secret bytes; for the key store only, which wraps them."""
        return self._private.private_bytes_raw()

    def sign_receipt(self, receipt: bytes) -> bytes:
        """64 bytes over `receipt_bytes`. Raises ValueError for anything else."""
        return self._sign(RECEIPT_TYPE, receipt)

    def sign_checkpoint(self, checkpoint: bytes) -> bytes:
        """64 bytes over `audit.canonical.checkpoint_bytes`. Raises ValueError for anything else."""
        return self._sign(CHECKPOINT_TYPE, checkpoint)

    def _sign(self, type_: str, message: bytes) -> bytes:
        if parse_canonical(message).get("type") != type_:
            raise ValueError(f"what is to be signed is no {type_}")
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"<SigningKey {self.key_id}>"

    def __reduce__(self) -> Never:
        raise TypeError("keys are not pickled")


def key_id_of(public_bytes: bytes) -> str:
    """The id of a public key: the first 16 hexadecimal digits of its SHA-256."""
    return sha256(public_bytes).hexdigest()[:KEY_ID_CHARACTERS]


def verify_receipt(public_bytes: bytes, receipt: bytes, signature: bytes) -> bool:
    """Whether the owner of the public key signed this erasure receipt."""
    return _verify(public_bytes, RECEIPT_TYPE, receipt, signature)


def verify_checkpoint(public_bytes: bytes, checkpoint: bytes, signature: bytes) -> bool:
    """Whether the owner of the public key signed this checkpoint."""
    return _verify(public_bytes, CHECKPOINT_TYPE, checkpoint, signature)


def _verify(public_bytes: bytes, type_: str, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_bytes).verify(signature, message)
        return bool(parse_canonical(message).get("type") == type_)
    except (InvalidSignature, CanonicalError, ValueError):
        return False
