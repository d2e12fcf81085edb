"""What tests look at: what verify finds, what a call was refused with, what is stored."""

from collections.abc import Awaitable
from typing import Any
from uuid import UUID

import grpc
import pytest

from muniment_server.audit.findings import Finding
from muniment_server.audit.verify import verify
from support.service import RunningService, reason


async def findings(service: RunningService, tenant: str, *, deep: bool = True) -> list[Finding]:
    """What verify finds in a tenant."""
    pool = service.database.maintenance()
    await pool.open()
    try:
        return [
            finding
            async for report in verify(pool, service.key_store, tenant=tenant, deep=deep)
            for finding in report.findings
        ]
    finally:
        await pool.close()


async def kinds(service: RunningService, tenant: str, *, deep: bool = True) -> set[str]:
    """The kinds of what verify finds in a tenant."""
    return {finding.kind.value for finding in await findings(service, tenant, deep=deep)}


async def refused(call: Awaitable[Any], code: str, why: str | None = None) -> grpc.aio.AioRpcError:
    """The error of a call that must fail with this code and reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = caught.value
    assert error.code().name == code, f"{error.code()}: {error.details()}"
    if why is not None:
        assert reason(error) == why
    return error


async def unless(call: Awaitable[Any], *codes: str) -> Any | None:
    """What a call answers, or None when it is refused with one of these codes."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        if error.code().name not in codes:
            raise
        return None


async def outcome(call: Awaitable[Any]) -> str:
    """ "OK", or the name of the status of a call that may fail."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


def stored(
    service: RunningService, table: str, tenant: str, where: str = "true", *values: Any, columns: str = "*"
) -> list[Any]:
    """Rows of a tenant, seen by a superuser."""
    return service.database.rows(
        f"SELECT {columns} FROM {table} WHERE tenant_id = %s AND {where}",
        (service.tenant_id(tenant), *values),
    )


def snapshot(service: RunningService, tenant: str) -> dict[str, list[str]]:
    """Everything of a tenant but its audit trail, to compare."""
    tables = (
        "scope",
        "memory",
        "memory_revision",
        "memory_embedding",
        "posting",
        "tombstone",
        "idempotency",
        "erasure",
    )
    return {table: sorted(map(repr, stored(service, table, tenant))) for table in tables}


def violations_audited(service: RunningService, tenant: str, memory_id: str | None = None) -> int:
    """How many events tell of broken seals (of a memory)."""
    rows = stored(service, "audit_event", tenant, "action = 21")
    return sum(memory_id is None or UUID(memory_id) in row["memory_ids"] for row in rows)
