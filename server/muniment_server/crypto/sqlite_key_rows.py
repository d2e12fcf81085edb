"""Rows of the key store in a SQLite file, for one machine and any number of its processes.

A deleted key must be gone from the file. `secure_delete` overwrites what is deleted with zeros, but not
the stale copies that stay in the gap of a b-tree page when rows move to another one: about one deleted
row in twenty-five thousand was still partly readable. So each wrapped value follows a padding as long as
a page. By the file format (https://www.sqlite.org/fileformat2.html, sections 1.6 and 1.7) it then lies on
overflow pages of its own, which no balancing copies and which are zeroed when freed. The write-ahead log
is emptied after each destruction.
"""

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from .errors import KeyStoreError, KeyStoreUnavailable, MasterKeyRetired
from .key_rows import BUSY_SECONDS, SCHEMA_VERSION, PublicKey, Rewrapped, Slot, SlotKind
from .key_store import Head, HeadKind
from .master import WrappedKey
from .named_sql import statements

_P = ParamSpec("_P")
_T = TypeVar("_T")

_APPLICATION_ID = 0x4D756E69
# Small, because every wrapped value takes one page and a page of padding.
_PAGE_BYTES = 512
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_SQL = statements("sqlite")


class SqliteKeyRows:
    """See KeyRows. All work runs in one thread of its own, so a slow disk never blocks the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="muniment-key-store")
        self._connection: sqlite3.Connection | None = None
        self._page_bytes = _PAGE_BYTES
        self._closed = False

    async def open(self) -> None:
        """Create the file (0600, in a folder 0700) if need be; refuses one that others may read."""
        await self._run(SqliteKeyRows._open)

    async def close(self) -> None:
        """Close the file and end the thread."""
        if not self._closed:
            await self._run(SqliteKeyRows._close)
            self._closed = True
            self._thread.shutdown(wait=False)

    async def read(self, slot: Slot) -> WrappedKey | None:
        """The value in a slot."""
        return await self._run(SqliteKeyRows._read, slot)

    async def add(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
        """Fill an empty slot; returns what is in it then."""
        return await self._run(SqliteKeyRows._add, slot, wrapped)

    async def read_newest_scope(self, tenant_id: UUID, scope_id: UUID) -> tuple[int, WrappedKey] | None:
        """The highest epoch with a key, and the key."""
        return await self._run(SqliteKeyRows._read_newest_scope, tenant_id, scope_id)

    async def add_scope(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey | None:
        """As `add`, for a scope's key; None when its epoch is destroyed."""
        return await self._run(SqliteKeyRows._add_scope, slot, wrapped)

    async def destroyed_through(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        """The epoch through which a scope's keys are destroyed."""
        return await self._run(SqliteKeyRows._destroyed_through, tenant_id, scope_id)

    async def destroy_scope(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        """Note the destruction, delete the keys, and leave no copy."""
        return await self._run(SqliteKeyRows._destroy_scope, tenant_id, scope_id, through_epoch)

    async def put_heads(self, heads: Sequence[Head]) -> list[Head]:
        """Store those that move forward; returns the stored ones that refused."""
        return await self._run(SqliteKeyRows._put_heads, heads)

    async def heads(self, tenant_id: UUID | None) -> list[Head]:
        """Heads of a tenant or of all, ordered."""
        return await self._run(SqliteKeyRows._heads, tenant_id)

    async def reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        """Replace the heads of a tenant or of all."""
        await self._run(SqliteKeyRows._reset_heads, tenant_id, heads)

    async def current_signing(self) -> PublicKey | None:
        """The public half of the signing key in use."""
        return await self._run(SqliteKeyRows._current_signing)

    async def add_signing(self, key: PublicKey, wrapped: WrappedKey, replaces: str | None) -> None:
        """Make it the current one if `replaces` still is."""
        await self._run(SqliteKeyRows._add_signing, key, wrapped, replaces)

    async def public_keys(self) -> dict[str, bytes]:
        """All public signing keys by id."""
        return await self._run(SqliteKeyRows._public_keys)

    async def read_not_wrapped_by(self, master_id: str, limit: int) -> list[tuple[Slot, WrappedKey]]:
        """Some values that another master key wraps."""
        return await self._run(SqliteKeyRows._read_not_wrapped_by, master_id, limit)

    async def rewrap(self, changes: Sequence[Rewrapped]) -> int:
        """Exchange wrappings that have not changed meanwhile; returns how many."""
        return await self._run(SqliteKeyRows._rewrap, changes)

    async def forget_old_copies(self) -> None:
        """Empty the write-ahead log."""
        await self._run(SqliteKeyRows._empty_log)

    async def count_by_master(self) -> dict[str, int]:
        """Number of values per master key."""
        return await self._run(SqliteKeyRows._count_by_master)

    async def retire_master(self, master_id: str) -> int:
        """Refuse values of this master key from now on, unless some are there."""
        return await self._run(SqliteKeyRows._retire_master, master_id)

    async def is_retired(self, master_id: str) -> bool:
        """Whether values of this master key are refused."""
        return await self._run(SqliteKeyRows._is_retired, master_id)

    # Below: in the thread --------------------------------------------------------------------

    async def _run(
        self,
        work: "Callable[Concatenate[SqliteKeyRows, _P], _T]",
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        def guarded() -> _T:
            try:
                return work(self, *args, **kwargs)
            except sqlite3.OperationalError as error:
                raise KeyStoreUnavailable(f"the key store {self._path} is not available: {error}") from error
            except sqlite3.DatabaseError as error:
                raise KeyStoreError(f"the key store {self._path} is damaged: {error}") from error

        try:
            future = asyncio.get_running_loop().run_in_executor(self._thread, guarded)
        except RuntimeError as error:
            raise KeyStoreUnavailable("the key store is closed") from error
        return await future

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise KeyStoreUnavailable("the key store is not open")
        return self._connection

    def _open(self) -> None:
        _make_private(self._path)
        uri = f"{self._path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            # Two processes that make the same new file: the busy handler does not cover this switch.
            _retry_busy(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
            for pragma in (
                "secure_delete = ON",
                "synchronous = FULL",
                "temp_store = MEMORY",
                "cell_size_check = ON",
                "trusted_schema = OFF",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            self._connection = connection
            self._create_tables()
            self._page_bytes = int(connection.execute("PRAGMA page_size").fetchone()[0])
        except BaseException:
            self._connection = None
            connection.close()
            raise

    def _create_tables(self) -> None:
        version = self._version()
        if version == 0:
            with self._writing() as db:
                if self._version() == 0:
                    for statement in _SQL["tables"].split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            version = self._version()
        if version != SCHEMA_VERSION:
            raise KeyStoreError(f"the key store {self._path} has version {version}, not {SCHEMA_VERSION}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _read(self, slot: Slot) -> WrappedKey | None:
        row = self._db.execute(_SQL["key_read"], _slot_values(slot)).fetchone()
        return None if row is None else WrappedKey(*row)

    def _add(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
        with self._writing():
            return self._insert(slot, wrapped)

    def _insert(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey:
        self._refuse_retired(wrapped.master_id)
        values = {"master_id": wrapped.master_id, "wrapped": wrapped.data, "now": _now()}
        self._db.execute(_SQL["key_add"], _slot_values(slot) | values | {"padding": self._page_bytes})
        stored = self._read(slot)
        if stored is None:
            raise KeyStoreError("a key just stored cannot be read")
        return stored

    def _read_newest_scope(self, tenant_id: UUID, scope_id: UUID) -> tuple[int, WrappedKey] | None:
        slot = Slot(SlotKind.SCOPE, tenant_id, scope_id)
        row = self._db.execute(_SQL["key_newest"], _slot_values(slot)).fetchone()
        return None if row is None else (row[0], WrappedKey(row[1], row[2]))

    def _add_scope(self, slot: Slot, wrapped: WrappedKey) -> WrappedKey | None:
        with self._writing():
            destroyed = self._destroyed_through(slot.tenant_id, slot.item_id)
            if destroyed is not None and slot.epoch <= destroyed:
                return None
            return self._insert(slot, wrapped)

    def _destroyed_through(self, tenant_id: UUID, scope_id: UUID) -> int | None:
        values = {"tenant_id": tenant_id.bytes, "scope_id": scope_id.bytes}
        row = self._db.execute(_SQL["destroyed_read"], values).fetchone()
        return None if row is None else int(row[0])

    def _destroy_scope(self, tenant_id: UUID, scope_id: UUID, through_epoch: int) -> int:
        values = _slot_values(Slot(SlotKind.SCOPE, tenant_id, scope_id, through_epoch))
        with self._writing() as db:
            db.execute(_SQL["destroyed_put"], values | {"now": _now()})
            count = db.execute(_SQL["keys_delete_through"], values).rowcount
        # Also when nothing was deleted: an earlier call may have failed just here.
        self._empty_log()
        return count

    def _empty_log(self) -> None:
        def emptied() -> bool:
            row = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return bool(row[0] == 0)

        if not _retry_busy(emptied):
            raise KeyStoreUnavailable(
                "deleted keys still stand in the write-ahead log of the key store, which others keep in use"
            )

    def _put_heads(self, heads: Sequence[Head]) -> list[Head]:
        refused = []
        with self._writing() as db:
            for head in heads:
                values = _head_values(head)
                db.execute(_SQL["head_put"], values)
                stored = _head(db.execute(_SQL["head_read"], values).fetchone())
                if not stored.same_place(head):
                    refused.append(stored)
        return refused

    def _heads(self, tenant_id: UUID | None) -> list[Head]:
        return [
            _head(row) for row in self._db.execute(_SQL["heads_read"], _tenant_value(tenant_id)).fetchall()
        ]

    def _reset_heads(self, tenant_id: UUID | None, heads: Sequence[Head]) -> None:
        with self._writing() as db:
            db.execute(_SQL["heads_delete"], _tenant_value(tenant_id))
            db.executemany(_SQL["head_put"], map(_head_values, heads))

    def _current_signing(self) -> PublicKey | None:
        row = self._db.execute(_SQL["signing_current"]).fetchone()
        if row is None:
            return None
        return PublicKey(row[0], row[1], Slot(SlotKind.SIGNING, UUID(bytes=row[2]), UUID(bytes=row[3])))

    def _add_signing(self, key: PublicKey, wrapped: WrappedKey, replaces: str | None) -> None:
        with self._writing() as db:
            current = self._current_signing()
            if (current.key_id if current else None) != replaces:
                return
            if current is not None:
                db.execute(_SQL["signing_retire"], {"key_id": current.key_id})
                db.execute(_SQL["key_delete"], _slot_values(current.slot))
            values = {"key_id": key.key_id, "public_key": key.public_bytes, "now": _now()}
            db.execute(_SQL["signing_add"], _slot_values(key.slot) | values)
            self._insert(key.slot, wrapped)
        if current is not None:
            self._empty_log()

    def _public_keys(self) -> dict[str, bytes]:
        return dict(self._db.execute(_SQL["signing_public"]))

    def _read_not_wrapped_by(self, master_id: str, limit: int) -> list[tuple[Slot, WrappedKey]]:
        values = {"master_id": master_id, "limit": limit}
        return [
            (
                Slot(SlotKind(kind), UUID(bytes=tenant_id), UUID(bytes=item_id), epoch),
                WrappedKey(wrapped_by, wrapped),
            )
            for kind, tenant_id, item_id, epoch, wrapped_by, wrapped in self._db.execute(
                _SQL["keys_not_wrapped_by"], values
            ).fetchall()
        ]

    def _rewrap(self, changes: Sequence[Rewrapped]) -> int:
        count = 0
        with self._writing() as db:
            for master_id in {change.new.master_id for change in changes}:
                self._refuse_retired(master_id)
            for change in changes:
                values = {
                    "master_id": change.new.master_id,
                    "wrapped": change.new.data,
                    "old": change.old.data,
                }
                count += db.execute(_SQL["key_rewrap"], _slot_values(change.slot) | values).rowcount
        return count

    def _count_by_master(self) -> dict[str, int]:
        return dict(self._db.execute(_SQL["keys_by_master"]))

    def _retire_master(self, master_id: str) -> int:
        values = {"master_id": master_id, "now": _now()}
        with self._writing() as db:
            count = int(db.execute(_SQL["master_count"], values).fetchone()[0])
            if count == 0:
                db.execute(_SQL["master_retire"], values)
        return count

    def _refuse_retired(self, master_id: str) -> None:
        if self._is_retired(master_id):
            raise MasterKeyRetired(master_id)

    def _is_retired(self, master_id: str) -> bool:
        return self._db.execute(_SQL["master_retired"], {"master_id": master_id}).fetchone() is not None


def _slot_values(slot: Slot) -> dict[str, Any]:
    return {
        "kind": slot.kind,
        "tenant_id": slot.tenant_id.bytes,
        "item_id": slot.item_id.bytes,
        "epoch": slot.epoch,
    }


def _tenant_value(tenant_id: UUID | None) -> dict[str, Any]:
    return {"tenant_id": None if tenant_id is None else tenant_id.bytes}


def _head_values(head: Head) -> dict[str, Any]:
    return {
        "tenant_id": head.tenant_id.bytes,
        "kind": head.kind,
        "key": head.key.bytes,
        "position": head.position,
        "digest": head.digest,
        "time": (head.time - _EPOCH) // _MICROSECOND,
    }


def _head(row: tuple[Any, ...]) -> Head:
    tenant_id, kind, key, position, digest, micros = row
    anchored = _EPOCH + timedelta(microseconds=micros)
    return Head(UUID(bytes=tenant_id), HeadKind(kind), UUID(bytes=key), position, digest, anchored)


def _now() -> int:
    return time.time_ns() // 1000


def _retry_busy(attempt: Callable[[], _T]) -> _T:
    """Repeat what is refused by a lock or returns a false value, for as long as locks are waited for."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            result = attempt()
        except sqlite3.OperationalError as error:
            # The primary code; the upper bits say more about it.
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > deadline:
                raise
        else:
            if result or time.monotonic() > deadline:
                return result
        time.sleep(0.02)


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise KeyStoreError(f"cannot create the key store {path}: {error.strerror}") from error
    if os.name != "posix":
        return
    for place in (path.parent, path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        try:
            mode = stat.S_IMODE(place.stat().st_mode)
        except FileNotFoundError:
            continue
        if mode & 0o077:
            right = "700" if place == path.parent else "600"
            raise KeyStoreError(
                f"{place} may be read or written by others (mode {mode:04o}); "
                f"take care of what they may have seen, then chmod {right}"
            )
