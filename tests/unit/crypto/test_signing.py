"""Signatures of receipts and checkpoints."""

import pickle
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from muniment_server.audit.canonical import canonical_bytes, checkpoint_bytes, parse_canonical
from muniment_server.crypto.signing import (
    SigningKey,
    key_id_of,
    receipt_bytes,
    verify_checkpoint,
    verify_receipt,
)

CHECKPOINT = checkpoint_bytes(uuid4(), 7, bytes(range(32)), datetime(2026, 1, 2, 3, 4, 5, 6, UTC))
RECEIPT = receipt_bytes({"erasure_id": str(uuid4()), "memories": 3})


def test_signs_and_verifies() -> None:
    key = SigningKey.generate()
    receipt, checkpoint = key.sign_receipt(RECEIPT), key.sign_checkpoint(CHECKPOINT)
    assert len(receipt) == len(checkpoint) == 64
    assert verify_receipt(key.public_bytes, RECEIPT, receipt)
    assert verify_checkpoint(key.public_bytes, CHECKPOINT, checkpoint)
    # Any Ed25519 library verifies the handed-out bytes as they are.
    Ed25519PublicKey.from_public_bytes(key.public_bytes).verify(receipt, RECEIPT)


def test_what_was_not_signed_does_not_verify() -> None:
    key = SigningKey.generate()
    signature = key.sign_receipt(RECEIPT)
    other = receipt_bytes({"erasure_id": str(uuid4()), "memories": 3})
    assert not verify_receipt(key.public_bytes, other, signature)
    assert not verify_receipt(SigningKey.generate().public_bytes, RECEIPT, signature)
    assert not verify_receipt(b"no key", RECEIPT, signature)
    assert not verify_receipt(key.public_bytes, RECEIPT, signature[:-1])
    assert not verify_receipt(key.public_bytes, RECEIPT, b"")


def test_a_receipt_is_no_checkpoint() -> None:
    key = SigningKey.generate()
    assert not verify_checkpoint(key.public_bytes, RECEIPT, key.sign_receipt(RECEIPT))
    for sign, message in ((key.sign_receipt, CHECKPOINT), (key.sign_checkpoint, RECEIPT)):
        with pytest.raises(ValueError, match="no muniment"):
            sign(message)
    for message in (b"", b"{}", canonical_bytes({"type": 1}), RECEIPT + b" "):
        with pytest.raises(ValueError, match=r"."):
            key.sign_receipt(message)


def test_the_type_of_a_receipt_cannot_be_chosen() -> None:
    assert parse_canonical(receipt_bytes({"type": "other"}))["type"] == "muniment.erasure-receipt.v1"


def test_key_id_and_storage() -> None:
    key = SigningKey.generate()
    assert key.key_id == key_id_of(key.public_bytes) == sha256(key.public_bytes).hexdigest()[:16]
    again = SigningKey(key.private_bytes())
    assert again.key_id == key.key_id
    assert verify_receipt(key.public_bytes, RECEIPT, again.sign_receipt(RECEIPT))


def test_the_private_half_is_not_shown() -> None:
    key = SigningKey.generate()
    assert key.private_bytes().hex() not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)
