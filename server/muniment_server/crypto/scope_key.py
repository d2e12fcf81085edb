"""The key of one scope and epoch, as the keys derived from it."""

import os
from collections.abc import Sequence
from hashlib import blake2b
from hmac import compare_digest
from struct import Struct, unpack
from typing import Never
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .derivation import derive_key
from .errors import CiphertextInvalid
from .framing import frame, framed, framing
from .set_digest import DIGEST_BYTES, SetDigest

_NONCE_BYTES = 12
_TAG_BYTES = 16
_VERSION = b"\x01"
_EPOCH = Struct(">q")
_MASK_NONCE_BYTES = 16
_SET_MODULUS = 1 << (8 * DIGEST_BYTES)


class ScopeKey:
    """Encrypts, hashes and seals everything of one scope in one key epoch.

    Destroying the key behind it makes all of that unreadable. Random nonces bound the number of
    encryptions of one epoch to about 2**32 (NIST SP 800-38D, section 8.3).
    """

    __slots__ = (
        "_beginnings",
        "_binding",
        "_content",
        "_element",
        "_mask",
        "_query",
        "_seal_base",
        "_statement",
        "_token_base",
        "epoch",
        "scope_id",
        "tenant_id",
    )

    def __init__(self, tenant_id: UUID, scope_id: UUID, epoch: int, root: bytes) -> None:
        self.tenant_id = tenant_id
        self.scope_id = scope_id
        self.epoch = epoch
        self._binding = (tenant_id.bytes, scope_id.bytes, _EPOCH.pack(epoch))
        context = frame(b"muniment.scope.v1", *self._binding)
        self._content = AESGCM(derive_key(root, "muniment/v1/scope/content", context))
        self._statement = derive_key(root, "muniment/v1/scope/statement", context)
        self._query = derive_key(root, "muniment/v1/scope/query", context)
        # Copying a hash object with the key already in it is a third faster than keying it each time.
        seal = derive_key(root, "muniment/v1/scope/seal", context)
        self._seal_base = blake2b(key=seal, digest_size=32)
        self._element = derive_key(root, "muniment/v1/scope/set-element", context)
        self._mask = derive_key(root, "muniment/v1/scope/set-mask", context)
        index = derive_key(root, "muniment/v1/scope/index", context)
        self._token_base = blake2b(key=index, digest_size=8)
        self._beginnings: dict[tuple[str, int], bytes] = {}

    def encrypt(self, plaintext: bytes, kind: str, *row: bytes) -> bytes:
        """AES-256-GCM ciphertext that opens only in this scope and epoch, for this kind and row.

        `row` are the ids (memory, content revision, …) of the place it is stored in. Layout: version
        (1 byte), nonce (12), ciphertext, tag (16).
        """
        nonce = os.urandom(_NONCE_BYTES)
        aad = self._place(kind, row)
        return b"".join((_VERSION, nonce, self._content.encrypt(nonce, plaintext, aad)))

    def decrypt(self, ciphertext: bytes, kind: str, *row: bytes) -> bytes:
        """The plaintext of `encrypt` with the same kind and row. Raises CiphertextInvalid."""
        if len(ciphertext) < 1 + _NONCE_BYTES + _TAG_BYTES or ciphertext[:1] != _VERSION:
            raise CiphertextInvalid("not a ciphertext of a known version")
        aad = self._place(kind, row)
        try:
            return self._content.decrypt(
                ciphertext[1 : 1 + _NONCE_BYTES], ciphertext[1 + _NONCE_BYTES :], aad
            )
        except InvalidTag:
            raise CiphertextInvalid("a ciphertext does not open in this place") from None

    def _place(self, kind: str, row: tuple[bytes, ...]) -> bytes:
        # The parts of a key's places are the same but for the row, and there are few kinds.
        beginning = self._beginnings.get((kind, len(row)))
        if beginning is None:
            first = (_VERSION, *self._binding, kind.encode())
            beginning = self._beginnings[kind, len(row)] = framing(len(first) + len(row), *first)
        return beginning + framed(*row)

    def token_hashes(self, tokens: Sequence[str]) -> list[int]:
        """One signed 64-bit number per token, in their order: keyed BLAKE2b (RFC 7693) of 8 bytes."""
        copy = self._token_base.copy
        digests = []
        for token in tokens:
            state = copy()
            state.update(token.encode())
            digests.append(state.digest())
        return list(unpack(f">{len(digests)}q", b"".join(digests)))

    def statement_hash(self, text: str) -> bytes:
        """16 bytes by which two equal statements of the scope meet; the caller normalises the text."""
        return blake2b(text.encode(), key=self._statement, digest_size=16).digest()

    def query_digest(self, text: str) -> bytes:
        """16 bytes that stand for a query in the audit, and for nothing once the key is destroyed."""
        return blake2b(text.encode(), key=self._query, digest_size=16).digest()

    def seal(self, canonical: bytes) -> bytes:
        """32 bytes that authenticate canonical bytes made by `seal.py`."""
        state = self._seal_base.copy()
        state.update(canonical)
        return state.digest()

    def verify_seal(self, canonical: bytes, seal: bytes) -> bool:
        """Whether the seal is that of these bytes; compared in constant time."""
        return compare_digest(self.seal(canonical), seal)

    def set_element(self, data: bytes) -> bytes:
        """32 bytes that stand for a row (its seal) in the scope's SetDigest."""
        return blake2b(data, key=self._element, digest_size=DIGEST_BYTES).digest()

    def hide_set(self, digest: SetDigest) -> bytes:
        """The set digest as it is stored: a fresh nonce (16 bytes) and the masked sum (32)."""
        nonce = os.urandom(_MASK_NONCE_BYTES)
        return nonce + ((digest.total + self._mask_of(nonce)) % _SET_MODULUS).to_bytes(DIGEST_BYTES)

    def reveal_set(self, stored: bytes, count: int) -> SetDigest:
        """The set digest of `hide_set`. Its integrity comes from the scope's seal, not from here.

        Raises CiphertextInvalid when the length is wrong.
        """
        if len(stored) != _MASK_NONCE_BYTES + DIGEST_BYTES or count < 0:
            raise CiphertextInvalid("not a stored set digest")
        masked = int.from_bytes(stored[_MASK_NONCE_BYTES:])
        return SetDigest(count, (masked - self._mask_of(stored[:_MASK_NONCE_BYTES])) % _SET_MODULUS)

    def _mask_of(self, nonce: bytes) -> int:
        return int.from_bytes(blake2b(nonce, key=self._mask, digest_size=DIGEST_BYTES).digest())

    def __repr__(self) -> str:
        return f"<ScopeKey {self.scope_id} epoch {self.epoch} of tenant {self.tenant_id}>"

    def __reduce__(self) -> Never:
        raise TypeError("keys are not pickled")
