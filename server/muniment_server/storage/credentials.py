"""Credentials as the serving role may see them: one at a time, by the id that the caller sent."""

import re
from collections.abc import Collection, Mapping
from uuid import UUID

from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from muniment_server.identity.source import CredentialRecord

from .database import Database

_PUBLIC_ID = re.compile(r"[a-z0-9]{1,64}", re.ASCII)
_TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_PERMISSIONS = frozenset(Permission)


class DatabaseCredentials:
    """Implements identity's CredentialSource. Row-level security shows only what the setting names."""

    def __init__(self, database: Database, *, timeout: float = 5.0) -> None:
        self._database = database
        self._timeout = timeout

    async def find_api_key(self, public_id: str) -> CredentialRecord | None:
        """See CredentialSource. Permissions that this version does not know are left out."""
        # The id becomes part of a SET statement, which takes no parameters.
        if _PUBLIC_ID.fullmatch(public_id) is None:
            return None
        async with self._database.transaction(
            None, timeout=self._timeout, settings={"app.credential": public_id}
        ) as work:
            row = await work.fetch_one("credential_read", public_id=public_id)
        if row is None:
            return None
        return CredentialRecord(
            credential_id=row["credential_id"],
            public_id=row["public_id"],
            secret_digest=bytes(row["secret_digest"]),
            tenants=dict(zip(row["tenant_names"], row["tenant_ids"], strict=True)),
            permissions=frozenset(Permission(name) for name in row["permissions"] if name in _PERMISSIONS),
            source_types=frozenset(SourceType(number) for number in row["source_types"]),
            max_trust=TrustLevel(row["max_trust"]),
            subject=row["subject"],
            agent=row["agent"],
            expire_time=row["expire_time"],
            revoke_time=row["revoke_time"],
        )

    async def find_tenants(self, names: Collection[str]) -> Mapping[str, UUID]:
        """See CredentialSource."""
        found: dict[str, UUID] = {}
        for name in names:
            if _TENANT_NAME.fullmatch(name) is None:
                continue
            async with self._database.transaction(
                None, timeout=self._timeout, settings={"app.tenant_name": name}
            ) as work:
                row = await work.fetch_one("tenant_by_name", name=name)
            if row is not None:
                found[name] = row["tenant_id"]
        return found
