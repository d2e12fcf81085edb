"""Credentials as the serving role may see them: one at a time, by the id that the caller sent.

Whoever can write to the database can write any row here. So a row counts only with its seal.
"""

import logging
import re
from collections.abc import Collection, Mapping
from uuid import UUID

from muniment_server.crypto.credential_seal import credential_holds, tenant_holds
from muniment_server.crypto.key_store import KeyStore
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.principal import Permission
from muniment_server.identity.source import CredentialRecord
from muniment_server.telemetry.instruments import metrics

from .database import Database

_log = logging.getLogger("muniment.credentials")

_PUBLIC_ID = re.compile(r"[a-z0-9]{1,64}", re.ASCII)
_TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_PERMISSIONS = frozenset(Permission)


class DatabaseCredentials:
    """Implements identity's CredentialSource. Row-level security shows only what the setting names."""

    def __init__(self, database: Database, store: KeyStore, *, timeout: float = 5.0) -> None:
        self._database = database
        self._store = store
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
        # A revoked one is refused for that, and has no key for a seal any more.
        if row["revoke_time"] is None and not await credential_holds(self._store, row):
            metrics().integrity_violation(1)
            _log.error("the API key %s is not what an operator made; it is refused", public_id)
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
            if row is None:
                continue
            if not await tenant_holds(self._store, row):
                metrics().integrity_violation(1)
                _log.error("the tenant %s is not what an operator made; it is refused", name)
                continue
            found[name] = row["tenant_id"]
        return found
