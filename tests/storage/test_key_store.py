"""The key store's promises, held by both of its implementations."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from muniment_server.crypto.errors import (
    KeyStoreError,
    KeyStoreUnavailable,
    MasterKeyError,
    MasterKeyRetired,
    MasterKeyUnknown,
    ScopeKeyDestroyed,
    ScopeKeyMissing,
    UnwrapFailed,
)
from muniment_server.crypto.key_rows import KeyRows, Rewrapped, Slot, SlotKind
from muniment_server.crypto.key_store import NO_TENANT, Head, HeadKind, KeyStore
from muniment_server.crypto.master import LocalMasterKeys, MasterKeyProvider, WrappedKey
from muniment_server.crypto.postgres_key_rows import PostgresKeyRows
from muniment_server.crypto.signing import key_id_of
from muniment_server.crypto.sqlite_key_rows import SqliteKeyRows
from muniment_server.crypto.wrapped_key_store import WrappedKeyStore, key_store_at
from support.postgres import PostgresDatabase, PostgresServer

TENANT = UUID("018f3c00-0000-7000-8000-000000000001")
OTHER_TENANT = UUID("018f3c00-0000-7000-8000-000000000002")
NOW = datetime(2026, 3, 4, 5, 6, 7, 89, UTC)


OpenStore = Callable[[], Awaitable[KeyStore]]


@pytest.fixture
def empty_database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    created = postgres_server.create_empty()
    yield created
    created.close()
    postgres_server.drop(created)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the key store of the test lies, for `make_rows` of any process."""
    if request.param == "sqlite":
        return str(tmp_path / "keys" / "keystore.sqlite")
    return request.getfixturevalue("empty_database").superuser_conninfo


def rows_at(location: str) -> KeyRows:
    return SqliteKeyRows(Path(location)) if location.startswith("/") else PostgresKeyRows(location)


@pytest.fixture
def provider() -> LocalMasterKeys:
    return LocalMasterKeys([bytes(range(32))])


@pytest.fixture
async def open_store(location: str, provider: LocalMasterKeys) -> AsyncIterator[OpenStore]:
    """Opens the same key store as another process would; closed after the test."""
    opened: list[KeyStore] = []

    async def opener() -> KeyStore:
        store = WrappedKeyStore(rows_at(location), provider)
        await store.open()
        opened.append(store)
        return store

    yield opener
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: OpenStore) -> KeyStore:
    return await open_store()


@pytest.fixture
async def rows(location: str, store: KeyStore) -> AsyncIterator[KeyRows]:
    """The rows below the store, to look at or to tamper with."""
    below = rows_at(location)
    await below.open()
    yield below
    await below.close()


def head(position: int, digest: bytes = b"digest", *, tenant: UUID = TENANT, key: UUID = TENANT) -> Head:
    return Head(tenant, HeadKind.AUDIT, key, position, digest, NOW + timedelta(microseconds=position))


class TestTenantKeys:
    async def test_made_once_and_the_same_for_everybody(self, store: KeyStore, open_store: OpenStore) -> None:
        label = (await store.tenant_key(TENANT)).scope_id(1, "alice")
        assert (await store.tenant_key(TENANT)).scope_id(1, "alice") == label
        assert (await (await open_store()).tenant_key(TENANT)).scope_id(1, "alice") == label
        assert (await store.tenant_key(OTHER_TENANT)).scope_id(1, "alice") != label

    async def test_a_race_has_one_winner(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(4)))
        keys = await asyncio.gather(*(each.tenant_key(TENANT) for each in stores for _ in range(5)))
        assert len({key.scope_id(1, "alice") for key in keys}) == 1


class TestScopeKeys:
    async def test_missing_until_created(self, store: KeyStore, open_store: OpenStore) -> None:
        scope = uuid4()
        with pytest.raises(ScopeKeyMissing):
            await store.scope_key(TENANT, scope, 1)
        with pytest.raises(ScopeKeyMissing):
            await store.newest_scope_key(TENANT, scope)
        key = await store.scope_key(TENANT, scope, 1, create=True)
        assert (key.tenant_id, key.scope_id, key.epoch) == (TENANT, scope, 1)
        again = await (await open_store()).scope_key(TENANT, scope, 1)
        assert again.decrypt(key.encrypt(b"text", "content"), "content") == b"text"
        assert await store.highest_destroyed_epoch(TENANT, scope) is None

    async def test_every_place_has_a_key_of_its_own(self, store: KeyStore) -> None:
        one, two = uuid4(), uuid4()
        places = [(TENANT, one, 1), (TENANT, one, 2), (TENANT, two, 1), (OTHER_TENANT, one, 1)]
        keys = [await store.scope_key(*place, create=True) for place in places]
        assert len({key.seal(b"") for key in keys}) == 4

    async def test_newest_is_the_highest_epoch_with_a_key(self, store: KeyStore) -> None:
        scope = uuid4()
        for epoch in (1, 3, 2):
            await store.scope_key(TENANT, scope, epoch, create=True)
        assert (await store.newest_scope_key(TENANT, scope)).epoch == 3
        await store.destroy_scope_keys(TENANT, scope, 3)
        with pytest.raises(ScopeKeyMissing):
            await store.newest_scope_key(TENANT, scope)

    async def test_a_race_has_one_winner(self, open_store: OpenStore) -> None:
        scope = uuid4()
        stores = await asyncio.gather(*(open_store() for _ in range(4)))
        keys = await asyncio.gather(
            *(each.scope_key(TENANT, scope, 1, create=True) for each in stores for _ in range(5))
        )
        assert len({key.seal(b"") for key in keys}) == 1

    @pytest.mark.parametrize("epoch", [-1, 1 << 63])
    async def test_impossible_epochs_are_refused(self, store: KeyStore, epoch: int) -> None:
        with pytest.raises(ValueError, match="epoch"):
            await store.scope_key(TENANT, uuid4(), epoch, create=True)
        with pytest.raises(ValueError, match="epoch"):
            await store.destroy_scope_keys(TENANT, uuid4(), epoch)

    async def test_the_largest_epoch_is_possible(self, store: KeyStore) -> None:
        scope = uuid4()
        await store.scope_key(TENANT, scope, (1 << 63) - 1, create=True)
        assert await store.destroy_scope_keys(TENANT, scope, (1 << 63) - 1) == 1


class TestDestruction:
    async def test_destroys_up_to_the_epoch_and_nothing_else(self, store: KeyStore) -> None:
        scope, other = uuid4(), uuid4()
        for epoch in (1, 2, 3):
            await store.scope_key(TENANT, scope, epoch, create=True)
        await store.scope_key(TENANT, other, 1, create=True)
        await store.scope_key(OTHER_TENANT, scope, 1, create=True)
        assert await store.destroy_scope_keys(TENANT, scope, 2) == 2
        for epoch in (1, 2):
            for create in (False, True):
                with pytest.raises(ScopeKeyDestroyed):
                    await store.scope_key(TENANT, scope, epoch, create=create)
        assert (await store.scope_key(TENANT, scope, 3)).epoch == 3
        assert (await store.scope_key(TENANT, other, 1)).epoch == 1
        assert (await store.scope_key(OTHER_TENANT, scope, 1)).epoch == 1
        assert await store.highest_destroyed_epoch(TENANT, scope) == 2
        assert await store.highest_destroyed_epoch(OTHER_TENANT, scope) is None

    async def test_is_idempotent_and_never_goes_back(self, store: KeyStore) -> None:
        scope = uuid4()
        await store.scope_key(TENANT, scope, 5, create=True)
        assert await store.destroy_scope_keys(TENANT, scope, 5) == 1
        assert await store.destroy_scope_keys(TENANT, scope, 5) == 0
        assert await store.destroy_scope_keys(TENANT, scope, 2) == 0
        assert await store.highest_destroyed_epoch(TENANT, scope) == 5

    async def test_what_never_had_a_key_is_destroyed_too(self, store: KeyStore) -> None:
        scope = uuid4()
        assert await store.destroy_scope_keys(TENANT, scope, 4) == 0
        with pytest.raises(ScopeKeyDestroyed):
            await store.scope_key(TENANT, scope, 4, create=True)
        assert (await store.scope_key(TENANT, scope, 5, create=True)).epoch == 5

    async def test_the_next_key_opens_nothing_old(self, store: KeyStore) -> None:
        scope = uuid4()
        old = await store.scope_key(TENANT, scope, 1, create=True)
        await store.destroy_scope_keys(TENANT, scope, 1)
        new = await store.scope_key(TENANT, scope, 2, create=True)
        assert old.seal(b"") != new.seal(b"")

    async def test_the_row_is_gone(self, store: KeyStore, rows: KeyRows) -> None:
        scope = uuid4()
        await store.scope_key(TENANT, scope, 1, create=True)
        assert await rows.read(Slot(SlotKind.SCOPE, TENANT, scope, 1)) is not None
        await store.destroy_scope_keys(TENANT, scope, 1)
        assert await rows.read(Slot(SlotKind.SCOPE, TENANT, scope, 1)) is None

    async def test_no_key_appears_behind_a_destruction(self, open_store: OpenStore, rows: KeyRows) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(3)))
        for _ in range(15):
            scope = uuid4()
            await asyncio.gather(
                *(each.scope_key(TENANT, scope, 1, create=True) for each in stores[:2]),
                stores[2].destroy_scope_keys(TENANT, scope, 1),
                return_exceptions=True,
            )
            assert await rows.read(Slot(SlotKind.SCOPE, TENANT, scope, 1)) is None
            with pytest.raises(ScopeKeyDestroyed):
                await stores[0].scope_key(TENANT, scope, 1, create=True)


class TestHeads:
    async def test_round_trip_of_every_kind(self, store: KeyStore, open_store: OpenStore) -> None:
        scope = uuid4()
        heads = [
            Head(NO_TENANT, HeadKind.INSTANCE, NO_TENANT, 0, b"\x00", NOW),
            Head(TENANT, HeadKind.AUDIT, TENANT, 12, bytes(range(32)), NOW),
            Head(TENANT, HeadKind.SCOPE, scope, (1 << 63) - 1, bytes(64), NOW),
            Head(OTHER_TENANT, HeadKind.AUDIT, OTHER_TENANT, 1, b"x", NOW),
        ]
        assert await store.put_heads(heads[::-1]) == []
        assert await store.put_heads([]) == []
        again = await open_store()
        assert await again.heads() == heads
        assert await again.heads(TENANT) == heads[1:3]
        assert await again.heads(NO_TENANT) == heads[:1]
        assert await again.heads(uuid4()) == []

    async def test_a_head_moves_forward_only(self, store: KeyStore) -> None:
        await store.put_heads([head(5)])
        assert await store.put_heads([head(6, b"six")]) == []
        assert await store.put_heads([head(5)]) == [head(6, b"six")]
        assert await store.heads() == [head(6, b"six")]

    async def test_the_same_head_again_is_no_contradiction(self, store: KeyStore) -> None:
        await store.put_heads([head(5)])
        later = Head(TENANT, HeadKind.AUDIT, TENANT, 5, b"digest", NOW + timedelta(days=1))
        assert await store.put_heads([later]) == []
        assert await store.heads() == [head(5)]

    async def test_another_digest_at_the_same_place_is_refused(self, store: KeyStore) -> None:
        await store.put_heads([head(5)])
        assert await store.put_heads([head(5, b"forged")]) == [head(5)]
        assert await store.heads() == [head(5)]

    async def test_one_refusal_does_not_hold_up_the_others(self, store: KeyStore) -> None:
        one, two = sorted((uuid4(), uuid4()))
        await store.put_heads([head(5, key=one), head(5, key=two)])
        assert await store.put_heads([head(4, key=two), head(9, key=one)]) == [head(5, key=two)]
        assert await store.heads() == [head(9, key=one), head(5, key=two)]

    async def test_of_one_batch_the_highest_counts(self, store: KeyStore) -> None:
        assert await store.put_heads([head(2), head(7), head(3), head(7)]) == []
        assert await store.heads() == [head(7)]
        with pytest.raises(ValueError, match="contradict"):
            await store.put_heads([head(8), head(8, b"other")])
        assert await store.heads() == [head(7)]

    async def test_many_writers_end_at_the_highest(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(3)))
        keys = sorted(uuid4() for _ in range(20))

        async def write(number: int, each: KeyStore) -> None:
            for position in range(number, 30, 3):
                order = keys if number % 2 else keys[::-1]
                await each.put_heads([head(position, bytes([position]), key=key) for key in order])

        await asyncio.gather(*(write(number, each) for number, each in enumerate(stores)))
        assert await stores[0].heads() == [head(29, bytes([29]), key=key) for key in keys]

    async def test_a_declared_restore_moves_a_tenant_back(self, store: KeyStore) -> None:
        scope = uuid4()
        other = head(9, tenant=OTHER_TENANT, key=OTHER_TENANT)
        await store.put_heads([head(9), head(9, key=scope), other])
        await store.reset_heads(TENANT, [head(3, b"older")])
        assert await store.heads() == [head(3, b"older"), other]
        with pytest.raises(ValueError, match="another tenant"):
            await store.reset_heads(TENANT, [other])
        await store.reset_heads(TENANT, [])
        assert await store.heads() == [other]

    async def test_a_declared_restore_moves_everybody_back(self, store: KeyStore) -> None:
        await store.put_heads([head(9), head(9, tenant=OTHER_TENANT, key=OTHER_TENANT)])
        await store.reset_heads(None, [head(1)])
        assert await store.heads() == [head(1)]

    @pytest.mark.parametrize(
        ("position", "digest", "time"),
        [
            (-1, b"x", NOW),
            (1 << 63, b"x", NOW),
            (1, b"", NOW),
            (1, bytes(65), NOW),
            (1, b"x", datetime(2026, 1, 1)),  # noqa: DTZ001
        ],
    )
    def test_impossible_heads_are_refused(self, position: int, digest: bytes, time: datetime) -> None:
        with pytest.raises(ValueError, match="head"):
            Head(TENANT, HeadKind.AUDIT, TENANT, position, digest, time)


class TestSigningKey:
    async def test_made_once_and_the_same_for_everybody(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(4)))
        keys = await asyncio.gather(*(each.signing_key() for each in stores for _ in range(3)))
        assert len({key.key_id for key in keys}) == 1
        key = keys[0]
        assert await stores[0].public_keys() == {key.key_id: key.public_bytes}
        assert key.key_id == key_id_of(key.public_bytes)

    async def test_rotation_keeps_public_keys_and_destroys_the_private_one(
        self, store: KeyStore, rows: KeyRows
    ) -> None:
        old = await store.signing_key()
        before = await rows.current_signing()
        assert before is not None
        new = await store.rotate_signing_key()
        assert new.key_id != old.key_id
        assert (await store.signing_key()).key_id == new.key_id
        assert await store.public_keys() == {key.key_id: key.public_bytes for key in (old, new)}
        assert await rows.read(before.slot) is None

    async def test_rotations_at_once_leave_one_current_key(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(3)))
        await stores[0].signing_key()
        await asyncio.gather(*(each.rotate_signing_key() for each in stores))
        current = {(await each.signing_key()).key_id for each in stores}
        assert len(current) == 1
        assert current <= set(await stores[0].public_keys())

    async def test_the_first_rotation_makes_the_first_key(self, store: KeyStore) -> None:
        key = await store.rotate_signing_key()
        assert list(await store.public_keys()) == [key.key_id]


class TestMasterKeys:
    async def test_another_master_key_is_noticed_when_opening(self, store: KeyStore, location: str) -> None:
        for wrong in (LocalMasterKeys([bytes(32)]), _Impostor(bytes(32), bytes(range(32)))):
            other = WrappedKeyStore(rows_at(location), wrong)
            with pytest.raises(MasterKeyError, match="another master key"):
                await other.open()
            with pytest.raises(KeyStoreUnavailable):
                await other.tenant_key(TENANT)

    async def test_check_passes(self, store: KeyStore) -> None:
        await store.check()

    async def test_rewrap_moves_everything_to_the_new_master_key(
        self, store: KeyStore, provider: LocalMasterKeys, location: str
    ) -> None:
        scope = uuid4()
        tenant_key = await store.tenant_key(TENANT)
        scope_key = await store.scope_key(TENANT, scope, 1, create=True)
        signing_key = await store.signing_key()
        assert await store.master_keys_in_use() == {provider.current_key_id: 4}
        new = LocalMasterKeys([bytes(32)])
        assert await store.rewrap(new) == 4
        assert await store.rewrap(new) == 0
        assert await store.master_keys_in_use() == {new.current_key_id: 4}
        after = WrappedKeyStore(rows_at(location), new)
        await after.open()
        for each in (store, after):
            assert (await each.tenant_key(TENANT)).mac("", b"") == tenant_key.mac("", b"")
            assert (await each.scope_key(TENANT, scope, 1)).seal(b"") == scope_key.seal(b"")
            assert (await each.signing_key()).key_id == signing_key.key_id
        await after.close()

    async def test_a_broken_off_rewrap_goes_on(
        self, store: KeyStore, rows: KeyRows, provider: LocalMasterKeys
    ) -> None:
        await store.tenant_key(TENANT)
        await store.tenant_key(OTHER_TENANT)
        new = LocalMasterKeys([bytes(32)])
        (slot, wrapped), *_ = await rows.read_not_wrapped_by(new.current_key_id, 1)
        moved = await new.wrap(await provider.unwrap(wrapped, slot.aad()), slot.aad())
        assert await rows.rewrap([Rewrapped(slot, wrapped, moved)]) == 1
        assert await rows.rewrap([Rewrapped(slot, wrapped, moved)]) == 0
        assert await store.rewrap(LocalMasterKeys([bytes(32), bytes(range(32))])) == 2

    async def test_two_rewraps_at_once_lose_nothing(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(2)))
        macs = {}
        for _ in range(30):
            tenant = uuid4()
            macs[tenant] = (await stores[0].tenant_key(tenant)).mac("", b"")
        new = LocalMasterKeys([bytes(32), bytes(range(32))])
        counts = await asyncio.gather(*(each.rewrap(new) for each in stores))
        assert sum(counts) == 31
        assert await stores[0].master_keys_in_use() == {new.current_key_id: 31}
        for tenant, mac in macs.items():
            assert (await stores[1].tenant_key(tenant)).mac("", b"") == mac

    async def test_a_master_key_is_retired_once_nothing_needs_it(
        self, store: KeyStore, provider: LocalMasterKeys, rows: KeyRows, location: str
    ) -> None:
        scope = uuid4()
        old = provider.current_key_id
        mac = (await store.tenant_key(TENANT)).mac("", b"")
        signing_key = await store.signing_key()
        new = LocalMasterKeys([bytes(32), bytes(range(32))])
        with pytest.raises(MasterKeyError, match="wraps new keys"):
            await store.retire_master_key(old)
        running = WrappedKeyStore(rows, provider)
        await store.rewrap(new)
        # A process that began before the rotation goes on to wrap with the old key.
        await running.scope_key(TENANT, scope, 1, create=True)
        assert await store.retire_master_key(old) == 1
        assert await running.scope_key(TENANT, scope, 2, create=True)
        assert await store.rewrap(new) == 2
        assert await store.retire_master_key(old) == 0
        assert await store.retire_master_key(old) == 0
        for attempt in (
            running.scope_key(TENANT, scope, 3, create=True),
            running.tenant_key(OTHER_TENANT),
            running.rotate_signing_key(),
            running.rewrap(LocalMasterKeys([bytes(range(32)), bytes(32)])),
        ):
            with pytest.raises(MasterKeyRetired, match=old):
                await attempt
        assert (await store.signing_key()).key_id == signing_key.key_id
        assert await store.master_keys_in_use() == {new.current_key_id: 5}
        assert (await store.tenant_key(TENANT)).mac("", b"") == mac
        assert (await store.scope_key(TENANT, scope, 3, create=True)).epoch == 3
        assert (await store.rotate_signing_key()).key_id
        outdated = WrappedKeyStore(rows_at(location), LocalMasterKeys([bytes(range(32)), bytes(32)]))
        with pytest.raises(MasterKeyRetired, match=old):
            await outdated.open()

    async def test_nothing_slips_past_a_retirement(
        self, store: KeyStore, open_store: OpenStore, provider: LocalMasterKeys
    ) -> None:
        running = await asyncio.gather(*(open_store() for _ in range(3)))
        new = LocalMasterKeys([bytes(32), bytes(range(32))])
        made, refused = 0, 0
        stop = asyncio.Event()

        async def make(process: KeyStore) -> None:
            nonlocal made, refused
            while not stop.is_set():
                try:
                    await process.scope_key(TENANT, uuid4(), 1, create=True)
                    made += 1
                except MasterKeyRetired:
                    refused += 1
                # Room for a retirement between two keys, or this could go on for ever.
                await asyncio.sleep(0.1)

        makers = [asyncio.create_task(make(process)) for process in running]
        await asyncio.sleep(0.2)
        await store.rewrap(new)
        while await store.retire_master_key(provider.current_key_id):
            await store.rewrap(new)
        await asyncio.sleep(0.5)
        stop.set()
        await asyncio.gather(*makers)
        assert made > 0 < refused
        # The value that proves the master key is one more.
        assert await store.master_keys_in_use() == {new.current_key_id: made + 1}

    async def test_a_running_process_without_the_new_master_key_says_so(
        self, store: KeyStore, open_store: OpenStore
    ) -> None:
        running = await open_store()
        await store.tenant_key(TENANT)
        await store.rewrap(LocalMasterKeys([bytes(32)]))
        with pytest.raises(MasterKeyUnknown):
            await running.tenant_key(TENANT)
        with pytest.raises(MasterKeyError, match="another master key"):
            await running.check()

    async def test_a_wrapped_key_in_another_place_does_not_open(self, store: KeyStore, rows: KeyRows) -> None:
        one, two = uuid4(), uuid4()
        await store.scope_key(TENANT, one, 1, create=True)
        stolen = await rows.read(Slot(SlotKind.SCOPE, TENANT, one, 1))
        assert stolen is not None
        await rows.add(Slot(SlotKind.SCOPE, TENANT, two, 1), stolen)
        with pytest.raises(UnwrapFailed):
            await store.scope_key(TENANT, two, 1)


class _Impostor(LocalMasterKeys):
    """A provider that claims the id of another key, as a mistaken key-management alias would."""

    def __init__(self, root: bytes, claimed: bytes) -> None:
        super().__init__([root])
        self._claimed = LocalMasterKeys([claimed]).current_key_id

    @property
    def current_key_id(self) -> str:
        return self._claimed

    async def unwrap(self, wrapped: WrappedKey, aad: bytes) -> bytes:
        own = LocalMasterKeys.current_key_id.fget
        assert own is not None
        return await super().unwrap(WrappedKey(own(self), wrapped.data), aad)


class TestLifeCycle:
    async def test_processes_that_create_the_store_at_once(self, open_store: OpenStore) -> None:
        stores = await asyncio.gather(*(open_store() for _ in range(6)))
        assert len({(await each.tenant_key(TENANT)).mac("", b"") for each in stores}) == 1

    async def test_a_closed_store_is_unavailable(self, location: str, provider: LocalMasterKeys) -> None:
        store = WrappedKeyStore(rows_at(location), provider)
        with pytest.raises(KeyStoreUnavailable):
            await store.check()
        await store.open()
        await store.close()
        await store.close()
        for call in (store.check(), store.tenant_key(TENANT), store.heads()):
            with pytest.raises(KeyStoreUnavailable):
                await call

    async def test_a_newer_store_is_left_alone(
        self, location: str, provider: LocalMasterKeys, request: pytest.FixtureRequest
    ) -> None:
        store = WrappedKeyStore(rows_at(location), provider)
        await store.open()
        await store.close()
        if location.startswith("/"):
            connection = sqlite3.connect(location)
            connection.execute("PRAGMA user_version = 99")
            connection.close()
        else:
            request.getfixturevalue("empty_database").execute("INSERT INTO muniment_keys.version VALUES (99)")
        with pytest.raises(KeyStoreError, match="version 99"):
            await WrappedKeyStore(rows_at(location), provider).open()

    async def test_a_lost_check_value_is_noticed(
        self, store: KeyStore, location: str, request: pytest.FixtureRequest
    ) -> None:
        if location.startswith("/"):
            with sqlite3.connect(location) as connection:
                connection.execute("DELETE FROM wrapped_key")
            connection.close()
        else:
            request.getfixturevalue("empty_database").execute("DELETE FROM muniment_keys.wrapped_key")
        with pytest.raises(KeyStoreError, match="check value"):
            await store.check()

    async def test_real_processes_agree(self, location: str, open_store: OpenStore) -> None:
        scope = uuid4()
        processes = [
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _CHILD,
                location,
                str(scope),
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
            for _ in range(3)
        ]
        outputs = [await process.communicate() for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0]
        assert len({out for out, _ in outputs}) == 1
        store = await open_store()
        assert await store.highest_destroyed_epoch(TENANT, scope) == 19
        assert (
            outputs[0][0].decode().split()[-1] == (await store.scope_key(TENANT, scope, 20)).seal(b"").hex()
        )


_CHILD = """
import asyncio, sys
from pathlib import Path
from uuid import UUID
from muniment_server.crypto.master import LocalMasterKeys
from muniment_server.crypto.postgres_key_rows import PostgresKeyRows
from muniment_server.crypto.sqlite_key_rows import SqliteKeyRows
from muniment_server.crypto.wrapped_key_store import WrappedKeyStore
from muniment_server.crypto.errors import ScopeKeyDestroyed

async def main(location, scope):
    rows = SqliteKeyRows(Path(location)) if location.startswith("/") else PostgresKeyRows(location)
    store = WrappedKeyStore(rows, LocalMasterKeys([bytes(range(32))]))
    await store.open()
    tenant = UUID("018f3c00-0000-7000-8000-000000000001")
    for epoch in range(20):
        try:
            await store.scope_key(tenant, scope, epoch, create=True)
        except ScopeKeyDestroyed:
            pass
        await store.destroy_scope_keys(tenant, scope, epoch)
    print((await store.tenant_key(tenant)).mac("", b"").hex())
    print((await store.signing_key()).key_id)
    print((await store.scope_key(tenant, scope, 20, create=True)).seal(b"").hex())
    await store.close()

asyncio.run(main(sys.argv[1], UUID(sys.argv[2])))
"""


class TestPostgres:
    async def test_url_or_path_choose_the_implementation(
        self, tmp_path: Path, provider: MasterKeyProvider
    ) -> None:
        for url in ("postgresql://u@h/db", "postgres://u@h/db"):
            chosen = key_store_at(url, provider)
            assert isinstance(chosen, WrappedKeyStore)
            assert isinstance(chosen._rows, PostgresKeyRows)
        store = key_store_at(tmp_path / "keys" / "keystore.sqlite", provider)
        await store.open()
        await store.close()
        assert (tmp_path / "keys" / "keystore.sqlite").exists()

    async def test_a_role_without_the_right_to_create_uses_what_is_there(
        self, empty_database: PostgresDatabase, provider: LocalMasterKeys, postgres_server: PostgresServer
    ) -> None:
        first = WrappedKeyStore(PostgresKeyRows(empty_database.superuser_conninfo), provider)
        await first.open()
        await first.close()
        role = "muniment_keys_user"
        empty_database.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'only-for-this-test'")
        try:
            empty_database.execute(f"GRANT CONNECT ON DATABASE {empty_database.name} TO {role}")
            empty_database.execute(f"GRANT USAGE ON SCHEMA muniment_keys TO {role}")
            empty_database.execute(
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA muniment_keys TO {role}"
            )
            conninfo = postgres_server.embedded.conninfo(role, "only-for-this-test", empty_database.name)
            store = WrappedKeyStore(PostgresKeyRows(conninfo), provider)
            await store.open()
            await store.scope_key(TENANT, uuid4(), 1, create=True)
            await store.put_heads([head(1)])
            await store.reset_heads(None, [])
            await store.close()
        finally:
            empty_database.execute(f"DROP OWNED BY {role}")
            empty_database.execute(f"DROP ROLE {role}")

    async def test_lost_connections_are_replaced(
        self, empty_database: PostgresDatabase, provider: LocalMasterKeys
    ) -> None:
        store = WrappedKeyStore(PostgresKeyRows(empty_database.superuser_conninfo), provider)
        await store.open()
        key = await store.tenant_key(TENANT)
        ended = empty_database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert ended
        assert (await store.tenant_key(TENANT)).mac("", b"") == key.mac("", b"")
        await store.close()

    async def test_a_lock_is_not_waited_for_endlessly(
        self,
        empty_database: PostgresDatabase,
        provider: LocalMasterKeys,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(
            "muniment_server.crypto.postgres_key_rows._TIMEOUTS", "SET LOCAL lock_timeout = '50ms'"
        )
        store = WrappedKeyStore(PostgresKeyRows(empty_database.superuser_conninfo), provider)
        await store.open()
        with empty_database.eye.transaction():
            empty_database.execute("LOCK TABLE muniment_keys.wrapped_key")
            with pytest.raises(KeyStoreUnavailable, match="55P03"):
                await store.tenant_key(TENANT)
        await store.tenant_key(TENANT)
        await store.close()

    async def test_a_server_that_is_not_there(
        self, provider: LocalMasterKeys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("muniment_server.crypto.postgres_key_rows.BUSY_SECONDS", 1.0)
        store = WrappedKeyStore(PostgresKeyRows(f"host={tmp_path} user=nobody dbname=none"), provider)
        with pytest.raises(KeyStoreUnavailable):
            await store.open()
