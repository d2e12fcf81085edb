"""What authentication needs to know from storage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission


@dataclass(frozen=True, slots=True)
class CredentialRecord:
    """A stored API key. secret_digest: SHA-256 of the secret part, 32 bytes; the secret is nowhere."""

    credential_id: UUID
    public_id: str
    secret_digest: bytes
    tenants: Mapping[str, UUID]
    permissions: frozenset[Permission]
    source_types: frozenset[SourceType]
    max_trust: TrustLevel
    subject: str | None = None
    agent: str | None = None
    expire_time: datetime | None = None
    revoke_time: datetime | None = None


class CredentialSource(Protocol):
    """Reads credentials and tenants; implemented by storage. Its errors pass through unchanged."""

    async def find_api_key(self, public_id: str) -> CredentialRecord | None:
        """The key with this public id, revoked and expired ones included, or None."""
        ...

    async def find_tenants(self, names: Collection[str]) -> Mapping[str, UUID]:
        """Ids of those of the named tenants that exist."""
        ...
