"""Settings of tenants and views of agents: read by the service, written by operators alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from muniment_server.domain.administration import Administered

from .admin import AdminError, Record, owner_cursor
from .database import UnitOfWork
from .hints import CHANNEL, Hint, HintKind
from .queries import load_statements


@dataclass(frozen=True, slots=True)
class PolicyRows:
    """Everything that a tenant set, as stored. revision: 0 where nothing was ever set.

    settings: values as JSON texts, by name. views: encrypted views, by agent.
    """

    revision: int = 0
    mac: bytes = b""
    settings: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    set_times: Mapping[str, datetime] = field(default_factory=dict)
    view_times: Mapping[str, datetime] = field(default_factory=dict)


async def read_policy(work: UnitOfWork) -> PolicyRows:
    """All rows of the transaction's tenant, of one instant."""
    return _rows(await work.fetch("policy_read"))


def _rows(found: Sequence[Mapping[str, Any]]) -> PolicyRows:
    heads, settings, views = ([row for row in found if row["part"] == part] for part in (1, 2, 3))
    return PolicyRows(
        revision=heads[0]["revision"] if heads else 0,
        mac=bytes(heads[0]["mac"]) if heads else b"",
        settings={row["name"]: row["value"] for row in settings},
        views={row["name"]: row["value"] for row in views},
        set_times={row["name"]: row["update_time"] for row in settings},
        view_times={row["name"]: row["update_time"] for row in views},
    )


def read_policy_as_owner(connection: psycopg.Connection[Any], tenant: str) -> tuple[UUID, PolicyRows]:
    """A tenant's id and rows. Raises AdminError when there is no such tenant."""
    with owner_cursor(connection) as cursor:
        tenant_id = _tenant(cursor, tenant)
        return tenant_id, _read(cursor, tenant_id)


Change = Callable[[UUID, PolicyRows], tuple[PolicyRows, Administered]]


def change_policy(
    connection: psycopg.Connection[Any], tenant: str, change: Change, record: Record
) -> PolicyRows:
    """Replace a tenant's rows by what `change` makes of them, and tell the running servers.

    change: gets the tenant's id and its rows under the lock of the tenant; returns the rows with the next
    revision and its mac, and what the trail says. Raises AdminError when there is no such tenant, and what
    `change` and `record` raise; then nothing is changed.
    """
    with owner_cursor(connection) as cursor:
        tenant_id = _tenant(cursor, tenant)
        # Not FOR UPDATE: that would wait for everybody who writes in the tenant, and they for it.
        cursor.execute("SELECT FROM tenant WHERE tenant_id = %s FOR NO KEY UPDATE", (tenant_id,))
        before = _read(cursor, tenant_id)
        after, told = change(tenant_id, before)
        now = datetime.now(UTC)
        _replace(cursor, "tenant_setting", "name", "value", tenant_id, before.settings, after.settings, now)
        _replace(cursor, "agent_view", "agent", "view_ct", tenant_id, before.views, after.views, now)
        cursor.execute(
            "INSERT INTO tenant_policy (tenant_id, revision, mac, update_time) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (tenant_id) DO UPDATE SET revision = excluded.revision, mac = excluded.mac,"
            " update_time = excluded.update_time",
            (tenant_id, after.revision, after.mac, now),
        )
        record(cursor, tenant_id, told)
        hint = Hint(HintKind.POLICY_CHANGED, (str(tenant_id),))
        cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, hint.payload()))
    return after


def _tenant(cursor: psycopg.Cursor[Any], name: str) -> UUID:
    found = cursor.execute("SELECT tenant_id FROM tenant WHERE name = %s", (name,)).fetchone()
    if found is None:
        raise AdminError(f"There is no tenant {name!r}. Make it with `muniment tenants create {name}`.")
    tenant_id: UUID = found["tenant_id"]
    # Row-level security holds for the owner too.
    cursor.execute("SELECT set_config('app.tenant_id', %s, true)", (str(tenant_id),))
    return tenant_id


def _read(cursor: psycopg.Cursor[Any], tenant_id: UUID) -> PolicyRows:
    statement = load_statements()["policy_read"]
    return _rows(cursor.execute(statement.source.encode(), {"tenant_id": tenant_id}).fetchall())


def _replace(
    cursor: psycopg.Cursor[Any],
    table: str,
    key: str,
    column: str,
    tenant_id: UUID,
    before: Mapping[str, str],
    after: Mapping[str, str],
    now: datetime,
) -> None:
    names = {part: sql.Identifier(text) for part, text in (("t", table), ("k", key), ("c", column))}
    delete = sql.SQL("DELETE FROM {t} WHERE tenant_id = %s AND {k} = %s").format(**names)
    put = sql.SQL(
        "INSERT INTO {t} (tenant_id, {k}, {c}, update_time) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (tenant_id, {k}) DO UPDATE SET {c} = excluded.{c}, update_time = excluded.update_time"
    ).format(**names)
    for name in before.keys() - after.keys():
        cursor.execute(delete, (tenant_id, name))
    for name, value in after.items():
        if before.get(name) != value:
            cursor.execute(put, (tenant_id, name, value, now))
