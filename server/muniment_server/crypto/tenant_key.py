"""The key of a tenant, as the keys derived from it."""

import base64
import binascii
import os
from hashlib import blake2b
from typing import Never
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .derivation import derive_key
from .errors import TokenInvalid
from .framing import frame, framed, framing

_NONCE_BYTES = 12
_TAG_BYTES = 16
_TOKEN_VERSION = b"\x01"
_UUID_VERSION_AND_VARIANT = (0xF << 76) | (0x3 << 62)
_UUID_8 = (0x8 << 76) | (0x2 << 62)


class TenantKey:
    """Names scopes, seals page tokens and authenticates what belongs to a whole tenant.

    Random nonces bound the number of page tokens of one tenant key to about 2**32
    (NIST SP 800-38D, section 8.3).
    """

    __slots__ = ("_audit", "_begun", "_mac", "_scope_id", "_token", "tenant_id")

    def __init__(self, tenant_id: UUID, root: bytes) -> None:
        context = frame(b"muniment.tenant.v1", tenant_id.bytes)
        self.tenant_id = tenant_id
        self._scope_id = derive_key(root, "muniment/v1/tenant/scope-id", context)
        self._mac = derive_key(root, "muniment/v1/tenant/mac", context)
        self._audit = derive_key(root, "muniment/v1/tenant/audit", context)
        self._begun: dict[str, blake2b] = {}
        """By purpose, of which there are few: the state in which its codes begin."""
        self._token = AESGCM(derive_key(root, "muniment/v1/tenant/token", context))

    def scope_id(self, kind: int, label: str) -> UUID:
        """The id of a subject's or space's scope: a UUIDv8 that only this key can compute.

        `kind` is the number of the scope kind. Labels are compared byte for byte.
        """
        digest = blake2b(frame(bytes((kind,)), label.encode()), key=self._scope_id, digest_size=16).digest()
        return UUID(int=int.from_bytes(digest) & ~_UUID_VERSION_AND_VARIANT | _UUID_8)

    def mac(self, purpose: str, data: bytes) -> bytes:
        """32 bytes (keyed BLAKE2b, RFC 7693); two purposes never give the same for the same data."""
        begun = self._begun.get(purpose)
        if begun is None:
            begun = self._begun[purpose] = blake2b(
                framing(2, purpose.encode()), key=self._mac, digest_size=32
            )
        state = begun.copy()
        state.update(framed(data))
        return state.digest()

    def audit_mac(self, data: bytes) -> bytes:
        """32 bytes that authenticate the canonical bytes of an audit event."""
        return blake2b(data, key=self._audit, digest_size=32).digest()

    def seal_token(self, plaintext: bytes, context: bytes) -> str:
        """An opaque token in the URL-safe alphabet that opens only with the same context."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._token.encrypt(nonce, plaintext, frame(_TOKEN_VERSION, context))
        return base64.urlsafe_b64encode(_TOKEN_VERSION + nonce + sealed).rstrip(b"=").decode()

    def open_token(self, token: str, context: bytes) -> bytes:
        """What was put into the token. Raises TokenInvalid, with the same text whatever the cause."""
        try:
            padded = token + "=" * (-len(token) % 4)
            raw = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
            canonical = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
            if canonical != token or raw[:1] != _TOKEN_VERSION or len(raw) < 1 + _NONCE_BYTES + _TAG_BYTES:
                raise ValueError
            nonce, sealed = raw[1 : 1 + _NONCE_BYTES], raw[1 + _NONCE_BYTES :]
            return self._token.decrypt(nonce, sealed, frame(_TOKEN_VERSION, context))
        except (InvalidTag, ValueError, binascii.Error):
            raise TokenInvalid("the token is not valid here") from None

    def __repr__(self) -> str:
        return f"<TenantKey {self.tenant_id}>"

    def __reduce__(self) -> Never:
        raise TypeError("keys are not pickled")
