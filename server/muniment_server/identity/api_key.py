"""API keys: `mnm_<id>_<secret>`.

The id is public and finds the row; the secret is 256 random bits. Stored is SHA-256 of the secret.
A slow password hash would add nothing: it defends short, guessable secrets against trying out, and
256 random bits cannot be tried out; what it would cost is milliseconds of CPU in every call.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.identity.cache import LookupCache
from muniment_server.identity.principal import Principal
from muniment_server.identity.source import CredentialRecord, CredentialSource

PREFIX: Final = "mnm_"
_ID_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_ID_LENGTH: Final = 20
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_BYTES: Final = 32
_SECRET_LENGTH: Final = 43  # 256 bits in base 62
_KEY: Final = re.compile(r"mnm_([a-z0-9]{16,32})_([0-9A-Za-z]{43})", re.ASCII)
_NOBODY: Final = hashlib.sha256(b"muniment: no such key").digest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The two parts of a key. The secret is kept out of the representation."""

    public_id: str
    secret: str

    def __repr__(self) -> str:
        return f"ApiKey(public_id={self.public_id!r})"

    def text(self) -> str:
        """The key as its holder sends it; shown once, when it is made."""
        return f"{PREFIX}{self.public_id}_{self.secret}"

    def digest(self) -> bytes:
        """What is stored: SHA-256 of the secret, 32 bytes."""
        return hashlib.sha256(self.secret.encode("ascii")).digest()


def generate() -> ApiKey:
    """A new key from the system's random source."""
    number = int.from_bytes(secrets.token_bytes(_SECRET_BYTES), "big")
    digits: list[str] = []
    for _ in range(_SECRET_LENGTH):
        number, digit = divmod(number, len(_BASE62))
        digits.append(_BASE62[digit])
    public_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    return ApiKey(public_id, "".join(reversed(digits)))


def parse(text: str) -> ApiKey | None:
    """The parts of a well-formed key, or None."""
    match = _KEY.fullmatch(text)
    return ApiKey(match[1], match[2]) if match else None


class ApiKeyAuthenticator:
    """Verifies API keys against storage, behind a cache of five seconds.

    A revocation takes effect when `drop` is called, and after the cache's lifetime at the latest.
    """

    def __init__(
        self,
        source: CredentialSource,
        *,
        ttl: float = 5.0,
        miss_ttl: float = 1.0,
        size: int = 4096,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._now = now
        self._cache: LookupCache[str, CredentialRecord] = LookupCache(
            source.find_api_key, ttl=ttl, miss_ttl=miss_ttl, size=size, clock=clock
        )

    async def authenticate(self, text: str) -> Principal:
        """The principal of a key. Raises CredentialsInvalid, or what storage raises."""
        key = parse(text)
        if key is None:
            raise CredentialsInvalid
        record = await self._cache.get(key.public_id)
        # Compared even when there is no such key, so that both cases take the same path.
        matches = hmac.compare_digest(record.secret_digest if record else _NOBODY, key.digest())
        if record is None or not matches or record.revoke_time is not None:
            raise CredentialsInvalid
        if record.expire_time is not None and record.expire_time <= self._now():
            raise CredentialsInvalid
        return Principal(
            credential_id=record.credential_id,
            kind="api_key",
            tenants=record.tenants,
            permissions=record.permissions,
            source_types=record.source_types,
            max_trust=record.max_trust,
            subject=record.subject,
            agent=record.agent,
            expires=record.expire_time,
        )

    def drop(self, public_id: str) -> None:
        """Forget one key, after it was changed or revoked."""
        self._cache.drop(public_id)

    def drop_all(self) -> None:
        """Forget all keys, after notifications may have been missed."""
        self._cache.drop_all()
