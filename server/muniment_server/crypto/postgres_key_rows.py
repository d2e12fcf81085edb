"""Rows of the key store in a PostgreSQL database, where several servers share it.

It should be another server than that of the data, or at least another database with a role of its own:
who can write to the data must not reach it. A deleted row stays readable in PostgreSQL's own log, in
pages not yet vacuumed and in backups for as long as the operator keeps them.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor, Error
from psycopg.rows import TupleRow
from psycopg_pool import PoolTimeout

from muniment_server.connection_pool import ConnectionPool

from .errors import KeyStoreError, KeyStoreUnavailable, MasterKeyRetired
from .key_rows import BUSY_SECONDS, SCHEMA_VERSION, PublicKey, Rewrapped, Slot, SlotKind
from .key_store import Head, HeadKind
from .master import WrappedKey
from .named_sql import statements

_Cursor = AsyncCursor[TupleRow]

_MAX_CONNECTIONS = 4
_TIMEOUTS = (
    f"SET LOCAL lock_timeout = '{BUSY_SECONDS:.0f}s'; SET LOCAL statement_timeout = '{2 * BUSY_SECONDS:.0f}s'"
)
# Of the advisory locks: the first half says what for.
_LOCK_SCHEMA = 0x4D756E01
_LOCK_SIGNING = 0x4D756E02
_LOCK_SCOPE = 0x4D756E03
_LOCK_MASTER = 0x4D756E04

_SQL = {name: text.encode() for name, text in statements("postgres").items()}


class PostgresKeyRows:
    """See KeyRows. `url` is a libpq connection URL, whose role may create or use schema muniment_keys."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: ConnectionPool[AsyncConnection[TupleRow]] | None = None

    async def open(self) -> None:
        """Connect, and create schema and tables when they are not there."""
        pool: ConnectionPool[AsyncConnection[TupleRow]] = ConnectionPool(
            self._url,
            min_size=1,
            max_size=_MAX_CONNECTIONS,
            open=False,
            timeout=BUSY_SECONDS,
            name="muniment-key-store",
            check=ConnectionPool.check_connection,
            # Nothing is prepared, so that a pooler in front of the server does no harm.
            kwargs={"autocommit": True, "prepare_threshold": None, "connect_timeout": int(BUSY_SECONDS)},
        )
        self._pool = pool
        try:
            await pool.open(wait=True, timeout=BUSY_SECONDS)
            await self._create_tables()
        except BaseException as error:
            await self.close()
            if isinstance(error, PoolTimeout):
                raise KeyStoreUnavailable("the PostgreSQL server of the key store does not answer") from error
            raise

    async def _create_tables(self) -> None:
        async with self._transaction() as cursor:
            # Looking first lets a role without the right to create use what is there.
            if not await _value(cursor, "tables_exist"):
                await _lock(cursor, _LOCK_SCHEMA)
                await cursor.execute(_SQL["tables"])
                await cursor.execute(_SQL["version_put"], {"version": SCHEMA_VERSION})
            version = await _value(cursor, "version_read")
        if version != SCHEMA_VERSION:
            raise KeyStoreError(f"the key store has version {version}, not {SCHEMA_VERSION}")

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[_Cursor]:
        if self._pool is None:
            raise KeyStoreUnavailable("the key store is not open")
        try:
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(_TIMEOUTS)
                async with connection.cursor() as cursor:
                    yield cursor
        except Error as error:
            # Messages of the driver can name hosts and values.
            reason = error.sqlstate or type(error).__name__
            raise KeyStoreUnavailable(f"the key store is not available ({reason})") from error

    async def read(self, slot: Slot) -> WrappedKey | None:
        """The value in a slot."""
        async with self._transaction() as cursor:
            return await _read(cursor, slot)

    async def add(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
        """Fill an empty slot; returns what is in it then."""
        async with self._transaction() as cursor:
            return await _insert(cursor, slot, wrapped)

    async def read_newest_scope(self, tenant_id: UUID, scope_id: UUID) -> tuple[int, WrappedKey] | None:
        """The highest epoch with a key, and the key."""
        async with self._transaction() as cursor:
            slot = Slot(SlotKind.SCOPE, tenant_id, scope_id)
            await cursor.execute(_SQL["key_newest"], _slot_values(slot))
            row = await cursor.fetchone()
        return None if row is None else (row[0], WrappedKey(row[1], row[2]))

    async def add_scope(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey | None:
        """As `add`, for a scope's key; None when its epoch is destroyed."""
        async with self._transaction() as cursor:
            await _lock_scope(cursor, slot.item_id)
            destroyed = await _destroyed_through(cursor, slot.tenant_id, slot.item_id)
            if destroyed is not None and slot.epoch <= destroyed:
                return None
            return await _insert(cursor, slot, wrapped)

    async def destroyed_through(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        """The epoch through which a scope's keys are destroyed."""
        async with self._transaction() as cursor:
            return await _destroyed_through(cursor, tenant_id, scope_id)

    async def destroy_scope(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        """Note the destruction and delete the keys."""
        values = _slot_values(Slot(SlotKind.SCOPE, tenant_id, scope_id, through_epoch))
        async with self._transaction() as cursor:
            await _lock_scope(cursor, scope_id)
            await cursor.execute(_SQL["destroyed_put"], values)
            await cursor.execute(_SQL["keys_delete_through"], values)
            return cursor.rowcount

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        """Store those that move forward; returns the stored ones that refused."""
        values = _head_values(heads)
        async with self._transaction() as cursor:
            await cursor.execute(_SQL["heads_put"], values)
            await cursor.execute(_SQL["heads_refused"], values)
            return [_head(row) for row in await cursor.fetchall()]

    async def heads(self, tenant_id: UUID | None) -> list[Head]:
        """Heads of a tenant or of all, ordered."""
        async with self._transaction() as cursor:
            await cursor.execute(_SQL["heads_read"], {"tenant_id": tenant_id})
            return [_head(row) for row in await cursor.fetchall()]

    async def reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        """Replace the heads of a tenant or of all."""
        async with self._transaction() as cursor:
            # Against heads that are put in meanwhile: the snapshot of DELETE would not see them.
            await cursor.execute(_SQL["heads_lock"])
            await cursor.execute(_SQL["heads_delete"], {"tenant_id": tenant_id})
            await cursor.execute(_SQL["heads_put"], _head_values(heads))

    async def current_signing(self) -> PublicKey | None:
        """The public half of the signing key in use."""
        async with self._transaction() as cursor:
            return await _current_signing(cursor)

    async def add_signing(self, key: PublicKey, wrapped: WrappedKey, replaces: str | None) -> None:
        """Make it the current one if `replaces` still is."""
        async with self._transaction() as cursor:
            await _lock(cursor, _LOCK_SIGNING)
            current = await _current_signing(cursor)
            if (current.key_id if current else None) != replaces:
                return
            if current is not None:
                await cursor.execute(_SQL["signing_retire"], {"key_id": current.key_id})
                await cursor.execute(_SQL["key_delete"], _slot_values(current.slot))
            values = {"key_id": key.key_id, "public_key": key.public_bytes}
            await cursor.execute(_SQL["signing_add"], _slot_values(key.slot) | values)
            await _insert(cursor, key.slot, wrapped)

    async def public_keys(self) -> dict[str, bytes]:
        """All public signing keys by id."""
        async with self._transaction() as cursor:
            await cursor.execute(_SQL["signing_public"])
            return dict(await cursor.fetchall())

    async def read_not_wrapped_by(self, master_id: str, limit: int) -> list[tuple[Slot, WrappedKey]]:
        """Some values that another master key wraps."""
        async with self._transaction() as cursor:
            await cursor.execute(_SQL["keys_not_wrapped_by"], {"master_id": master_id, "limit": limit})
            rows = await cursor.fetchall()
        return [(Slot(SlotKind(row[0]), *row[1:4]), WrappedKey(row[4], row[5])) for row in rows]

    async def rewrap(self, changes: Sequence[Rewrapped]) -> int:
        """Exchange wrappings that have not changed meanwhile; returns how many."""
        values = [
            _slot_values(change.slot)
            | {"master_id": change.new.master_id, "wrapped": change.new.data, "old": change.old.data}
            for change in changes
        ]
        async with self._transaction() as cursor:
            for master_id in {change.new.master_id for change in changes}:
                await _refuse_retired(cursor, master_id)
            await cursor.executemany(_SQL["key_rewrap"], values)
            return cursor.rowcount

    async def forget_old_copies(self) -> None:
        """Nothing: PostgreSQL's log and its backups are the operator's."""

    async def count_by_master(self) -> dict[str, int]:
        """Number of values per master key."""
        async with self._transaction() as cursor:
            await cursor.execute(_SQL["keys_by_master"])
            return dict(await cursor.fetchall())

    async def retire_master(self, master_id: str) -> int:
        """Refuse values of this master key from now on, unless some are there."""
        async with self._transaction() as cursor:
            # Whoever wraps holds it shared: nothing is on its way that the count does not see.
            await _lock(cursor, _LOCK_MASTER)
            count = int(await _value(cursor, "master_count", {"master_id": master_id}))
            if count == 0:
                await cursor.execute(_SQL["master_retire"], {"master_id": master_id})
        return count

    async def is_retired(self, master_id: str) -> bool:
        """Whether values of this master key are refused."""
        async with self._transaction() as cursor:
            return await _value(cursor, "master_retired", {"master_id": master_id}) is not None


async def _value(cursor: _Cursor, name: str, values: Mapping[str, Any] | None = None) -> Any:
    await cursor.execute(_SQL[name], values)
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def _read(cursor: _Cursor, slot: Slot) -> WrappedKey | None:
    await cursor.execute(_SQL["key_read"], _slot_values(slot))
    row = await cursor.fetchone()
    return None if row is None else WrappedKey(*row)


async def _insert(cursor: _Cursor, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
    await _refuse_retired(cursor, wrapped.master_id)
    values = {"master_id": wrapped.master_id, "wrapped": wrapped.data}
    await cursor.execute(_SQL["key_add"], _slot_values(slot) | values)
    stored = await _read(cursor, slot)
    if stored is None:
        raise KeyStoreError("a key just stored cannot be read")
    return stored


async def _lock(cursor: _Cursor, subject: int, number: int = 0) -> None:
    await cursor.execute(_SQL["lock"], {"subject": subject, "number": number})


async def _refuse_retired(cursor: _Cursor, master_id: str) -> None:
    await cursor.execute(_SQL["lock_shared"], {"subject": _LOCK_MASTER, "number": 0})
    if await _value(cursor, "master_retired", {"master_id": master_id}) is not None:
        raise MasterKeyRetired(master_id)


async def _lock_scope(cursor: _Cursor, scope_id: UUID) -> None:
    # There may be no row to lock yet. Two scopes that share a number only wait for each other.
    await _lock(cursor, _LOCK_SCOPE, int.from_bytes(scope_id.bytes[-4:], signed=True))


async def _destroyed_through(cursor: _Cursor, tenant_id: UUID, scope_id: UUID) -> int | None:
    value = await _value(cursor, "destroyed_read", {"tenant_id": tenant_id, "scope_id": scope_id})
    return None if value is None else int(value)


async def _current_signing(cursor: _Cursor) -> PublicKey | None:
    await cursor.execute(_SQL["signing_current"])
    row = await cursor.fetchone()
    return None if row is None else PublicKey(row[0], row[1], Slot(SlotKind.SIGNING, row[2], row[3]))


def _slot_values(slot: Slot) -> dict[str, Any]:
    return {
        "kind": str(slot.kind),
        "tenant_id": slot.tenant_id,
        "item_id": slot.item_id,
        "epoch": slot.epoch,
    }


def _head_values(heads: Sequence[Head]) -> dict[str, list[Any]]:
    return {
        "tenant_ids": [head.tenant_id for head in heads],
        "kinds": [str(head.kind) for head in heads],
        "keys": [head.key for head in heads],
        "positions": [head.position for head in heads],
        "digests": [head.digest for head in heads],
        "times": [head.time for head in heads],
    }


def _head(row: TupleRow) -> Head:
    tenant_id, kind, key, position, digest, time = row
    return Head(tenant_id, HeadKind(kind), key, position, digest, time.astimezone(UTC))
