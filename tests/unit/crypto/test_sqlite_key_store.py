"""What only the SQLite file promises: private files, and deleted keys that are really gone."""

import asyncio
import os
import random
import sqlite3
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from muniment_server.crypto import sqlite_key_rows
from muniment_server.crypto.errors import KeyStoreError, KeyStoreUnavailable
from muniment_server.crypto.key_rows import Slot, SlotKind
from muniment_server.crypto.master import LocalMasterKeys, WrappedKey
from muniment_server.crypto.sqlite_key_rows import SqliteKeyRows
from muniment_server.crypto.wrapped_key_store import WrappedKeyStore

TENANT = uuid4()
WINDOW = 10
"""Bytes of a wrapped key that are found only when a piece of it is left."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keystore.sqlite"


@pytest.fixture
def provider() -> LocalMasterKeys:
    return LocalMasterKeys([bytes(range(32))])


@pytest.fixture
async def rows(path: Path) -> AsyncIterator[SqliteKeyRows]:
    opened = SqliteKeyRows(path)
    await opened.open()
    yield opened
    await opened.close()


def pieces_on_disk(path: Path) -> set[bytes]:
    found = set()
    for file in path.parent.iterdir():
        data = file.read_bytes()
        found |= {data[start : start + WINDOW] for start in range(len(data) - WINDOW + 1)}
    return found


def sizes(path: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in path.parent.iterdir()}


def is_left(secret: bytes, pieces: set[bytes]) -> bool:
    return any(secret[start : start + WINDOW] in pieces for start in range(len(secret) - WINDOW + 1))


@pytest.mark.parametrize("size", [60, 61, 200, 900])
async def test_a_destroyed_key_leaves_no_piece_in_any_file(
    rows: SqliteKeyRows, path: Path, size: int
) -> None:
    chance = random.Random(size)
    live: dict[tuple[int, int], bytes] = {}
    destroyed: list[bytes] = []
    scopes = [uuid4() for _ in range(80)]
    for number in range(240):
        scope = chance.randrange(len(scopes))
        slot = Slot(SlotKind.SCOPE, TENANT, scopes[scope], number)
        live[scope, number] = os.urandom(size)
        await rows.add_scope(slot, WrappedKey("0011223344556677", live[scope, number]))
        if chance.random() < 0.4:
            scope = chance.choice(list(live))[0]
            gone = [place for place in live if place[0] == scope]
            assert await rows.destroy_scope(TENANT, scopes[scope], number) == len(gone)
            destroyed += [live.pop(place) for place in gone]
    await rows.forget_old_copies()
    pieces = pieces_on_disk(path)
    assert len(destroyed) > 50
    assert all(is_left(secret, pieces) for secret in live.values())
    assert not any(is_left(secret, pieces) for secret in destroyed)


async def test_a_destruction_empties_the_write_ahead_log(rows: SqliteKeyRows, path: Path) -> None:
    scope = uuid4()
    await rows.add_scope(Slot(SlotKind.SCOPE, TENANT, scope, 1), WrappedKey("id", b"wrapped"))
    assert sizes(path)["keystore.sqlite-wal"] > 0
    await rows.destroy_scope(TENANT, scope, 1)
    assert sizes(path)["keystore.sqlite-wal"] == 0


async def test_old_wrappings_leave_no_piece_either(path: Path, provider: LocalMasterKeys) -> None:
    store = WrappedKeyStore(SqliteKeyRows(path), provider)
    await store.open()
    for _ in range(20):
        await store.tenant_key(uuid4())
    old_signing = await store.signing_key()
    below = SqliteKeyRows(path)
    await below.open()
    before = [wrapped.data for _, wrapped in await below.read_not_wrapped_by("", 100)]
    assert len(before) == 22
    assert all(is_left(data, pieces_on_disk(path)) for data in before)
    await store.rotate_signing_key()
    await store.rewrap(LocalMasterKeys([bytes(32)]))
    pieces = pieces_on_disk(path)
    assert not any(is_left(data, pieces) for data in before)
    assert is_left(old_signing.public_bytes, pieces)
    await below.close()
    await store.close()


async def test_no_key_stands_in_the_file_in_clear(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def remembered(size: int) -> bytes:
        made.append(random.randbytes(size))
        return made[-1]

    monkeypatch.setattr("muniment_server.crypto.wrapped_key_store.os.urandom", remembered)
    store = WrappedKeyStore(SqliteKeyRows(path), LocalMasterKeys([bytes(range(32))]))
    await store.open()
    await store.tenant_key(TENANT)
    await store.scope_key(TENANT, uuid4(), 1, create=True)
    signing = await store.signing_key()
    pieces = pieces_on_disk(path)
    roots = [secret for secret in made if len(secret) == 32]
    assert len(roots) >= 2
    assert not any(is_left(secret, pieces) for secret in [*roots, signing.private_bytes()])
    await store.close()


async def test_a_reader_in_the_way_makes_the_destruction_fail_until_it_has_gone(
    rows: SqliteKeyRows, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_key_rows, "BUSY_SECONDS", 0.2)
    mine = SqliteKeyRows(path)
    await mine.open()
    scope = uuid4()
    await rows.add_scope(Slot(SlotKind.SCOPE, TENANT, scope, 1), WrappedKey("id", b"a wrapped key"))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM wrapped_key").fetchone() == (1,)
    with pytest.raises(KeyStoreUnavailable, match="write-ahead log"):
        await mine.destroy_scope(TENANT, scope, 1)
    # The key is destroyed for everybody already; what failed is to leave no copy.
    assert await rows.read(Slot(SlotKind.SCOPE, TENANT, scope, 1)) is None
    reader.execute("COMMIT")
    reader.close()
    assert await mine.destroy_scope(TENANT, scope, 1) == 0
    assert not is_left(b"a wrapped key", pieces_on_disk(path))
    await mine.close()


async def test_a_locked_file_is_waited_for_and_then_unavailable(
    path: Path, rows: SqliteKeyRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_key_rows, "BUSY_SECONDS", 0.3)
    mine = SqliteKeyRows(path)
    await mine.open()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    slot = Slot(SlotKind.TENANT, TENANT, TENANT)
    with pytest.raises(KeyStoreUnavailable, match="locked"):
        await mine.add(slot, WrappedKey("id", b"x"))
    waiting = asyncio.create_task(mine.add(slot, WrappedKey("id", b"x")))
    await asyncio.sleep(0.1)
    writer.execute("ROLLBACK")
    writer.close()
    assert (await waiting).data == b"x"
    await mine.close()


async def test_a_waiting_write_does_not_block_the_event_loop(path: Path, rows: SqliteKeyRows) -> None:
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(rows.add(Slot(SlotKind.TENANT, TENANT, TENANT), WrappedKey("id", b"x")))
    longest, last = 0.0, time.monotonic()
    for _ in range(30):
        await asyncio.sleep(0.01)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert not waiting.done()
    writer.execute("ROLLBACK")
    writer.close()
    await waiting
    assert longest < 0.25


async def test_files_are_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        rows = SqliteKeyRows(path)
        await rows.open()
        await rows.add(Slot(SlotKind.TENANT, TENANT, TENANT), WrappedKey("id", b"x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}
    await rows.close()


@pytest.mark.parametrize(
    ("name", "mode"), [("", 0o755), ("keystore.sqlite", 0o640), ("keystore.sqlite-wal", 0o604)]
)
async def test_files_that_others_reach_are_refused(path: Path, name: str, mode: int) -> None:
    path.parent.mkdir(mode=0o700)
    (path.parent / "keystore.sqlite").touch(mode=0o600)
    (path.parent / "keystore.sqlite-wal").touch(mode=0o600)
    (path.parent / name).chmod(mode)
    with pytest.raises(KeyStoreError, match="chmod"):
        await SqliteKeyRows(path).open()


def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path) -> None:
    async def attempt() -> None:
        rows = SqliteKeyRows(path)
        with pytest.raises(KeyStoreError, match="damaged"):
            await rows.open()
        await rows.close()

    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    path.write_bytes(b"not a database at all" * 100)
    asyncio.run(attempt())
    assert path.read_bytes() == b"not a database at all" * 100


async def test_durability_settings(rows: SqliteKeyRows) -> None:
    def read(each: SqliteKeyRows) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "secure_delete", "page_size", "temp_store")
        return {name: each._db.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    # 2 is FULL: a key is on disk before anything is encrypted with it.
    assert await rows._run(read) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "page_size": 512,
        "temp_store": 2,
    }


async def test_every_wrapped_key_follows_a_page_of_padding(rows: SqliteKeyRows) -> None:
    def read(each: SqliteKeyRows) -> tuple[int, ...]:
        columns = [row[1] for row in each._db.execute("PRAGMA table_info(wrapped_key)")]
        assert columns[-2:] == ["padding", "wrapped"]
        return each._db.execute(
            "SELECT min(length(padding)), max(length(padding)) FROM wrapped_key"
        ).fetchone()

    for _ in range(3):
        tenant = uuid4()
        await rows.add(Slot(SlotKind.TENANT, tenant, tenant), WrappedKey("id", b"x"))
    assert await rows._run(read) == (512, 512)


async def test_an_odd_path(tmp_path: Path) -> None:
    path = tmp_path / "keys ?#%41 é" / "store?mode=memory.sqlite"
    rows = SqliteKeyRows(path)
    await rows.open()
    await rows.close()
    assert path.exists()
