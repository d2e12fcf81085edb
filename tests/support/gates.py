"""Holds what a service does in the database at a chosen statement, so that a test can act in that moment.

    install(database, {"memory": "AFTER INSERT ON memory"})
    with held(database, "memory"):
        ... something that writes ...
        await waits(database, "memory")      # a connection has done the statement and waits
        child.kill()
    # now it goes on

A gate is a trigger that waits for an advisory lock while the test holds it, and costs nothing otherwise.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from zlib import crc32

import psycopg

from support.postgres import PostgresDatabase

_SPACE = 4711


def install(database: PostgresDatabase, gates: Mapping[str, str]) -> None:
    """Make gates: the name, and when the trigger fires, with its condition if there is one."""
    database.execute(
        "CREATE FUNCTION public.test_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int, TG_ARGV[1]::int); RETURN NULL; END $$"
    )
    for name, (when, _, condition) in ((name, text.partition(" WHEN ")) for name, text in gates.items()):
        database.execute(
            f"CREATE TRIGGER test_{name} {when} FOR EACH ROW {f'WHEN ({condition})' if condition else ''}"
            f" EXECUTE FUNCTION public.test_gate({_SPACE}, {_number(name)})"
        )


@contextmanager
def held(database: PostgresDatabase, name: str) -> Iterator[psycopg.Connection]:
    """Whoever comes to the gate waits, until the end or until the connection that this yields is closed."""
    with psycopg.connect(database.superuser_conninfo, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s, %s)", (_SPACE, _number(name)))
        yield holder


async def waits(database: PostgresDatabase, name: str, seconds: float = 30.0) -> None:
    """Wait until somebody stands at the gate."""
    query = (
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND classid = %s AND objid = %s"
    )
    async with asyncio.timeout(seconds):
        while not database.rows(query, (_SPACE, _number(name))):  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.005)


def _number(name: str) -> int:
    return crc32(name.encode()) % 2**31
