"""All tenants. Only the scheduler's role sees them, in a transaction that has none."""

from uuid import UUID

from .database import Database, UnitOfWork


async def tenants(work: UnitOfWork) -> list[tuple[UUID, str]]:
    """Id and name of each."""
    return [(row["tenant_id"], row["name"]) for row in await work.fetch("tenant_list")]


async def tenant_ids(database: Database) -> list[UUID]:
    """The id of each, in a transaction of its own."""
    async with database.transaction(None, timeout=10.0) as work:
        return [tenant_id for tenant_id, _ in await tenants(work)]
