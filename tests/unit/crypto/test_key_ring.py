"""The cache of keys: short-lived, one fetch at a time, nothing left after a drop."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from muniment_server.crypto.errors import ScopeKeyDestroyed, ScopeKeyMissing
from muniment_server.crypto.key_ring import FIRST_EPOCH, KeyRing
from muniment_server.crypto.master import LocalMasterKeys
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.sqlite_key_rows import SqliteKeyRows
from muniment_server.crypto.wrapped_key_store import WrappedKeyStore

TENANT, SCOPE = uuid4(), uuid4()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class WatchedStore(WrappedKeyStore):
    """The real store, which counts what it is asked and can be made to wait with an answer in hand."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def scope_key(
        self, tenant_id: UUID, scope_id: UUID, epoch: int, *, create: bool = False
    ) -> ScopeKey:
        self.asked.append(f"epoch {epoch}")
        key = await super().scope_key(tenant_id, scope_id, epoch, create=create)
        if self.gate is not None:
            await self.gate.wait()
        return key

    async def newest_scope_key(self, tenant_id: UUID, scope_id: UUID) -> ScopeKey:
        self.asked.append("newest")
        return await super().newest_scope_key(tenant_id, scope_id)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[WatchedStore]:
    watched = WatchedStore(SqliteKeyRows(tmp_path / "keys" / "keystore.sqlite"), LocalMasterKeys([bytes(32)]))
    await watched.open()
    yield watched
    await watched.close()


@pytest.fixture
def ring(store: WatchedStore, clock: Clock) -> KeyRing:
    return KeyRing(store, ttl=5, max_entries=3, clock=clock)


async def test_a_hit_needs_no_store_until_the_lifetime_ends(
    ring: KeyRing, store: WatchedStore, clock: Clock
) -> None:
    assert ring.cached(TENANT, SCOPE) is None
    key = await ring.create(TENANT, SCOPE, 1)
    assert ring.cached(TENANT, SCOPE) is ring.cached(TENANT, SCOPE, 1) is key
    assert ring.cached(TENANT, SCOPE, 2) is None
    assert await ring.get(TENANT, SCOPE, 1) is await ring.current(TENANT, SCOPE) is key
    assert store.asked == ["epoch 1"]
    clock.now += 4.999
    assert ring.cached(TENANT, SCOPE) is key
    clock.now += 0.001
    assert ring.cached(TENANT, SCOPE) is None
    assert await ring.get(TENANT, SCOPE, 1) is not key
    assert store.asked == ["epoch 1", "epoch 1"]


async def test_a_destroyed_key_dies_with_the_lifetime_or_the_drop(
    ring: KeyRing, store: WatchedStore, clock: Clock
) -> None:
    await ring.create(TENANT, SCOPE, 1)
    await store.destroy_scope_keys(TENANT, SCOPE, 1)
    assert await ring.get(TENANT, SCOPE, 1)
    clock.now += 5
    with pytest.raises(ScopeKeyDestroyed):
        await ring.get(TENANT, SCOPE, 1)
    await ring.create(TENANT, SCOPE, 2)
    await store.destroy_scope_keys(TENANT, SCOPE, 2)
    ring.drop(TENANT, SCOPE)
    assert ring.cached(TENANT, SCOPE) is None
    with pytest.raises(ScopeKeyDestroyed):
        await ring.create(TENANT, SCOPE, 2)


async def test_absence_is_not_kept(ring: KeyRing) -> None:
    assert await ring.current(TENANT, SCOPE) is None
    with pytest.raises(ScopeKeyMissing):
        await ring.get(TENANT, SCOPE, 1)
    created = await ring.create(TENANT, SCOPE, 1)
    assert await ring.get(TENANT, SCOPE, 1) is created


async def test_next_epoch_is_the_first_that_is_not_destroyed(ring: KeyRing, store: WatchedStore) -> None:
    assert await ring.next_epoch(TENANT, SCOPE) == FIRST_EPOCH == 1
    await store.destroy_scope_keys(TENANT, SCOPE, 0)
    assert await ring.next_epoch(TENANT, SCOPE) == 1
    await store.destroy_scope_keys(TENANT, SCOPE, 7)
    assert await ring.next_epoch(TENANT, SCOPE) == 8


async def test_only_the_newest_epoch_is_kept(ring: KeyRing, store: WatchedStore) -> None:
    old = await ring.create(TENANT, SCOPE, 1)
    new = await ring.create(TENANT, SCOPE, 2)
    assert ring.cached(TENANT, SCOPE) is new
    assert (await ring.get(TENANT, SCOPE, 1)).epoch == old.epoch
    assert ring.cached(TENANT, SCOPE) is new
    assert len(ring) == 1


async def test_a_late_answer_for_an_older_epoch_does_not_win(ring: KeyRing, store: WatchedStore) -> None:
    await store.scope_key(TENANT, SCOPE, 1, create=True)
    store.gate = asyncio.Event()
    late = asyncio.create_task(ring.get(TENANT, SCOPE, 1))
    await asyncio.sleep(0.05)
    gate, store.gate = store.gate, None
    new = await ring.create(TENANT, SCOPE, 2)
    gate.set()
    assert (await late).epoch == 1
    assert ring.cached(TENANT, SCOPE) is new


async def test_many_that_miss_cause_one_fetch(ring: KeyRing, store: WatchedStore) -> None:
    await store.scope_key(TENANT, SCOPE, 1, create=True)
    store.asked.clear()
    keys = await asyncio.gather(*(ring.get(TENANT, SCOPE, 1) for _ in range(50)))
    assert len(set(map(id, keys))) == 1
    assert store.asked == ["epoch 1"]


async def test_a_failure_reaches_everybody_and_is_forgotten(ring: KeyRing, store: WatchedStore) -> None:
    results = await asyncio.gather(*(ring.get(TENANT, SCOPE, 1) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, ScopeKeyMissing) for result in results)
    assert store.asked == ["epoch 1"]
    assert (await ring.create(TENANT, SCOPE, 1)).epoch == 1


async def test_one_that_gives_up_does_not_take_the_key_from_the_others(
    ring: KeyRing, store: WatchedStore
) -> None:
    await store.scope_key(TENANT, SCOPE, 1, create=True)
    store.gate = asyncio.Event()
    first, second = (asyncio.create_task(ring.get(TENANT, SCOPE, 1)) for _ in range(2))
    await asyncio.sleep(0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    store.gate.set()
    assert (await second).epoch == 1
    assert ring.cached(TENANT, SCOPE) is not None


async def test_an_answer_from_before_a_drop_is_not_kept_nor_joined(
    ring: KeyRing, store: WatchedStore
) -> None:
    await store.scope_key(TENANT, SCOPE, 1, create=True)
    store.gate = asyncio.Event()
    before = asyncio.create_task(ring.get(TENANT, SCOPE, 1))
    await asyncio.sleep(0.05)
    await store.destroy_scope_keys(TENANT, SCOPE, 1)
    ring.drop(TENANT, SCOPE)
    with pytest.raises(ScopeKeyDestroyed):
        await ring.get(TENANT, SCOPE, 1)
    store.gate.set()
    assert (await before).epoch == 1
    assert ring.cached(TENANT, SCOPE) is None


async def test_the_lifetime_counts_from_before_the_fetch(
    ring: KeyRing, store: WatchedStore, clock: Clock
) -> None:
    await store.scope_key(TENANT, SCOPE, 1, create=True)
    store.gate = asyncio.Event()
    fetching = asyncio.create_task(ring.get(TENANT, SCOPE, 1))
    await asyncio.sleep(0.05)
    clock.now += 4
    store.gate.set()
    await fetching
    clock.now += 1
    assert ring.cached(TENANT, SCOPE) is None


async def test_the_number_of_entries_is_bounded_and_the_expired_go_first(ring: KeyRing, clock: Clock) -> None:
    scopes = [uuid4() for _ in range(5)]
    for scope in scopes[:3]:
        await ring.create(TENANT, scope, 1)
    await ring.create(TENANT, scopes[3], 1)
    assert [ring.cached(TENANT, scope) is not None for scope in scopes] == [False, True, True, True, False]
    clock.now += 5
    assert len(ring) == 3
    await ring.create(TENANT, scopes[4], 1)
    assert len(ring) == 1
    clock.now += 5
    ring.purge()
    assert len(ring) == 0


async def test_tenant_keys(ring: KeyRing, clock: Clock) -> None:
    assert ring.cached_tenant(TENANT) is None
    key = await ring.tenant(TENANT)
    assert ring.cached_tenant(TENANT) is await ring.tenant(TENANT) is key
    clock.now += 5
    again = await ring.tenant(TENANT)
    assert again is not key
    assert again.scope_id(1, "alice") == key.scope_id(1, "alice")


async def test_drop_all_of_a_tenant_or_of_everybody(ring: KeyRing) -> None:
    other = uuid4()
    for tenant in (TENANT, other):
        await ring.tenant(tenant)
        await ring.create(tenant, SCOPE, 1)
    ring.drop_all(TENANT)
    assert ring.cached(TENANT, SCOPE) is ring.cached_tenant(TENANT) is None
    assert ring.cached(other, SCOPE) is not None
    assert ring.cached_tenant(other) is not None
    ring.drop_all()
    assert len(ring) == 0
