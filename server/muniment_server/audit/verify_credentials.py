"""Whether a tenant's name and the API keys that may act for it are those that operators made."""

from muniment_server.crypto.credential_seal import credential_holds, tenant_holds
from muniment_server.crypto.key_store import KeyStore
from muniment_server.storage.database import UnitOfWork

from .findings import FindingKind, TenantReport


async def check_credentials(work: UnitOfWork, store: KeyStore, report: TenantReport) -> None:
    """Hold both against their seals. A revoked key has none, and is refused for that."""
    for row in await work.fetch("verify_tenant"):
        if not await tenant_holds(store, row):
            report.add(FindingKind.CREDENTIAL, "the tenant's name is not the one that an operator gave it")
    for row in await work.fetch("verify_credentials"):
        if row["revoke_time"] is None and not await credential_holds(store, row):
            report.add(
                FindingKind.CREDENTIAL,
                f"the API key {row['credential_id']} is not what an operator made, or was revoked",
            )
