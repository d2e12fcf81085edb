"""What a declared restore does as the owner of the schema. Blocking; every function is one transaction."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from .admin import owner_cursor

# Logins that serve: members of the service's roles that may not do everything anyway.
_SERVING = """
SELECT count(*)
FROM pg_stat_activity a
JOIN pg_roles r ON r.oid = a.usesysid
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND NOT r.rolsuper
      AND (pg_has_role(r.oid, 'muniment_app', 'USAGE') OR pg_has_role(r.oid, 'muniment_maintenance', 'USAGE'))
"""


def count_serving(connection: psycopg.Connection[Any]) -> int:
    """How many connections of servers the database has."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_SERVING).fetchone()
    return int(row[0]) if row else 0


def raise_restore_epoch(connection: psycopg.Connection[Any]) -> int:
    """Count one more restore; returns the new count. Tokens issued before are of an earlier one."""
    with owner_cursor(connection) as cursor:
        row = cursor.execute(
            "UPDATE instance SET restore_epoch = restore_epoch + 1 RETURNING restore_epoch"
        ).fetchone()
    if row is None:
        raise LookupError("the installation has no instance row")
    return int(row["restore_epoch"])


def unsealed_tenants(connection: psycopg.Connection[Any]) -> dict[UUID, str]:
    """Tenants of a copy that was made before names had seals."""
    with owner_cursor(connection) as cursor:
        rows = cursor.execute("SELECT tenant_id, name FROM tenant WHERE seal IS NULL").fetchall()
    return {row["tenant_id"]: row["name"] for row in rows}


def seal_tenants(connection: psycopg.Connection[Any], seals: Mapping[UUID, bytes]) -> None:
    """Give tenants their seals."""
    with owner_cursor(connection) as cursor:
        for tenant_id, seal in seals.items():
            cursor.execute(
                "UPDATE tenant SET seal = %s WHERE tenant_id = %s AND seal IS NULL", (seal, tenant_id)
            )
