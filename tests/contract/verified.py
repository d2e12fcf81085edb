"""`muniment verify --deep` over one tenant of a running service."""

from muniment_server.audit.verify import verify
from support.service import RunningService


async def findings(shared: RunningService, tenant: str) -> list[str]:
    """What does not hold: kinds and details, with every event chained and anchored before."""
    await shared.sealed()
    assert shared.service.maintenance is not None
    found = verify(shared.service.maintenance, shared.key_store, tenant=tenant, deep=True)
    return [f"{one.kind}: {one.detail}" async for report in found for one in report.findings]
