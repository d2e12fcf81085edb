"""Which servers are connected, and with which master key each of them began."""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import tuple_row

SERVER_NAME = "muniment-server"


def server_name(key_id: str) -> str:
    """What connections of servers are called that began with this master key; an id tells nothing of it."""
    return f"{SERVER_NAME} {key_id}"


def connected_servers(connection: psycopg.Connection[Any]) -> Mapping[str, int]:
    """Connections of servers to this database by the id of their master key. Any login may ask."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute(
            "SELECT split_part(application_name, ' ', 2), count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE %s GROUP BY 1 ORDER BY 1",
            (f"{SERVER_NAME} %",),
        )
        return dict(cursor.fetchall())
