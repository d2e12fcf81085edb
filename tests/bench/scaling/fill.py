"""The weight of others: rows, index entries and vectors, without valid seals, since nobody recalls them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg

_COPIES_AT_ONCE = 50


@dataclass(frozen=True)
class Original:
    """A scope that the service wrote."""

    scope_id: UUID
    scope_no: int
    count: int


async def scope_of(superuser: psycopg.AsyncConnection[Any], memory_id: str) -> Original:
    """The scope of a memory."""
    row = await (
        await superuser.execute(
            "SELECT s.scope_id, s.scope_no, s.live_count FROM scope s JOIN memory m"
            " ON m.tenant_id = s.tenant_id AND m.scope_id = s.scope_id WHERE m.memory_id = %s",
            (memory_id,),
        )
    ).fetchone()
    assert row is not None
    return Original(*row)


async def add_tenants(superuser: psycopg.AsyncConnection[Any], count: int) -> list[UUID]:
    """Make tenants."""
    made = [uuid4() for _ in range(count)]
    async with superuser.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO tenant (tenant_id, name, create_time) VALUES (%s, %s, %s)",
            [(one, f"neighbour-{number}", datetime.now(UTC)) for number, one in enumerate(made)],
        )
    return made


async def multiply(superuser: psycopg.AsyncConnection[Any], original: Original, tenants: list[UUID]) -> None:
    """Copy a scope once into each of the named tenants (one tenant may be named often)."""
    for begin in range(0, len(tenants), _COPIES_AT_ONCE):
        some = tenants[begin : begin + _COPIES_AT_ONCE]
        ids = [uuid4() for _ in some]
        numbers = [int.from_bytes(one.bytes[:8], signed=True) for one in ids]
        values = {
            "tenants": some,
            "ids": ids,
            "numbers": numbers,
            "scope_id": original.scope_id,
            "scope_no": original.scope_no,
        }
        async with superuser.transaction():
            for table, key in (
                ("scope", "scope_id"),
                ("memory", "scope_id"),
                ("memory_embedding", "scope_no"),
                ("posting", "scope_no"),
            ):
                columns = await _columns(superuser, table)
                taken = ", ".join(_REPLACED.get(one, f"o.{one}") for one in columns)
                await superuser.execute(
                    f"INSERT INTO {table} ({', '.join(columns)}) SELECT {taken} FROM {table} o,"
                    " unnest(%(tenants)s::uuid[], %(ids)s::uuid[], %(numbers)s::bigint[])"
                    f" AS copy (tenant_id, scope_id, scope_no) WHERE o.{key} = %({key})s".encode(),
                    values,
                )


_REPLACED = {
    "tenant_id": "copy.tenant_id",
    "scope_id": "copy.scope_id",
    "scope_no": "copy.scope_no",
    "memory_id": "gen_random_uuid()",
}


async def _columns(connection: psycopg.AsyncConnection[Any], table: str) -> list[str]:
    rows = await (
        await connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            (table,),
        )
    ).fetchall()
    return [row[0] for row in rows]


async def memories(superuser: psycopg.AsyncConnection[Any], tenant_id: UUID) -> int:
    """How many a tenant has."""
    row = await (
        await superuser.execute("SELECT count(*) FROM memory WHERE tenant_id = %s", (tenant_id,))
    ).fetchone()
    assert row is not None
    return int(row[0])
