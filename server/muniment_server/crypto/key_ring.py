"""The cache in front of the key store."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar
from uuid import UUID

from .errors import ScopeKeyMissing
from .key_store import KeyStore
from .scope_key import ScopeKey
from .tenant_key import TenantKey

FIRST_EPOCH = 1
"""Of a scope that was never erased."""

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class _Cache(Generic[_K, _V]):
    """Values for a limited time, each fetched once however many ask for it. Failures are not kept."""

    def __init__(
        self,
        ttl: float,
        max_entries: int,
        clock: Callable[[], float],
        newer: Callable[[_V, _V], bool] = lambda value, kept: True,
    ) -> None:
        self._newer = newer
        self._ttl = ttl
        self._max_entries = max_entries
        self._clock = clock
        self._entries: dict[_K, tuple[float, _V]] = {}
        self._flights: dict[Hashable, asyncio.Task[_V]] = {}
        self._drops = 0

    def hit(self, key: _K) -> _V | None:
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self._clock():
            return None
        return entry[1]

    async def load(self, key: _K, variant: Hashable, fetch: Callable[[], Awaitable[_V]]) -> _V:
        # After a drop nobody joins a fetch that began before it, and such a fetch leaves nothing behind.
        flight_key = (self._drops, key, variant)
        flight = self._flights.get(flight_key)
        if flight is None:
            flight = asyncio.create_task(self._fetch(key, fetch))
            self._flights[flight_key] = flight
            flight.add_done_callback(lambda done: self._landed(flight_key, done))
        # One caller that gives up must not take the key away from the others.
        return await asyncio.shield(flight)

    async def _fetch(self, key: _K, fetch: Callable[[], Awaitable[_V]]) -> _V:
        # The lifetime counts from before the fetch: the key store may change while it answers.
        expiry, drops = self._clock() + self._ttl, self._drops
        value = await fetch()
        kept = self.hit(key)
        if drops == self._drops and (kept is None or self._newer(value, kept)):
            self.purge()
            self._entries.pop(key, None)
            while len(self._entries) >= self._max_entries:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = (expiry, value)
        return value

    def _landed(self, flight_key: Hashable, done: asyncio.Task[_V]) -> None:
        self._flights.pop(flight_key, None)
        if not done.cancelled():
            # All callers may have gone; their loss is no "exception was never retrieved".
            done.exception()

    def drop(self, key: _K) -> None:
        self._drops += 1
        self._entries.pop(key, None)

    def drop_where(self, condition: Callable[[_K], bool]) -> None:
        self._drops += 1
        for key in [key for key in self._entries if condition(key)]:
            del self._entries[key]

    def purge(self) -> None:
        now = self._clock()
        # In the order of insertion, and so of expiry, but for fetches that overtook each other.
        while self._entries and self._entries[oldest := next(iter(self._entries))][0] <= now:
            del self._entries[oldest]

    def __len__(self) -> int:
        return len(self._entries)


class KeyRing:
    """Keys cached in this process for `ttl` seconds, which bounds how long a destroyed key lives on.

    Belongs to one event loop. Of a scope only the key of the newest epoch asked for is kept, since
    older ones are destroyed when the epoch rises. Absent and destroyed keys are asked for each time.
    """

    def __init__(
        self,
        store: KeyStore,
        *,
        ttl: float = 5.0,
        max_entries: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._scopes: _Cache[tuple[UUID, UUID], ScopeKey] = _Cache(
            ttl, max_entries, clock, lambda value, kept: value.epoch >= kept.epoch
        )
        self._tenants: _Cache[UUID, TenantKey] = _Cache(ttl, max_entries, clock)

    @property
    def store(self) -> KeyStore:
        """The key store behind it."""
        return self._store

    def cached(self, tenant_id: UUID, scope_id: UUID, epoch: int | None = None) -> ScopeKey | None:
        """The scope's key if it is at hand and, when an epoch is given, of that epoch."""
        key = self._scopes.hit((tenant_id, scope_id))
        return key if key is not None and (epoch is None or key.epoch == epoch) else None

    async def get(self, tenant_id: UUID, scope_id: UUID, epoch: int, *, create: bool = False) -> ScopeKey:
        """The scope's key of an epoch. Raises ScopeKeyMissing and ScopeKeyDestroyed as the key store does."""
        kept = self._scopes.hit((tenant_id, scope_id))
        if kept is not None and kept.epoch == epoch:
            return kept
        if kept is not None and kept.epoch > epoch:
            return await self._store.scope_key(tenant_id, scope_id, epoch, create=create)
        return await self._scopes.load(
            (tenant_id, scope_id),
            (epoch, create),
            lambda: self._store.scope_key(tenant_id, scope_id, epoch, create=create),
        )

    async def create(self, tenant_id: UUID, scope_id: UUID, epoch: int) -> ScopeKey:
        """`get`, making the key when there is none yet."""
        return await self.get(tenant_id, scope_id, epoch, create=True)

    async def current(self, tenant_id: UUID, scope_id: UUID) -> ScopeKey | None:
        """The scope's key of the newest epoch that has one; None when none has.

        That is a guess made without the database: compare its epoch with the one of the scope's row.
        """
        key = self._scopes.hit((tenant_id, scope_id))
        if key is not None:
            return key
        try:
            return await self._scopes.load(
                (tenant_id, scope_id), None, lambda: self._store.newest_scope_key(tenant_id, scope_id)
            )
        except ScopeKeyMissing:
            return None

    async def next_epoch(self, tenant_id: UUID, scope_id: UUID) -> int:
        """The first epoch that is not destroyed: of a scope without a key, the one to make a key for."""
        destroyed = await self._store.highest_destroyed_epoch(tenant_id, scope_id)
        return FIRST_EPOCH if destroyed is None else max(FIRST_EPOCH, destroyed + 1)

    def cached_tenant(self, tenant_id: UUID) -> TenantKey | None:
        """The tenant's key if it is at hand."""
        return self._tenants.hit(tenant_id)

    async def tenant(self, tenant_id: UUID) -> TenantKey:
        """The tenant's key, made on first use."""
        key = self._tenants.hit(tenant_id)
        if key is not None:
            return key
        return await self._tenants.load(tenant_id, None, lambda: self._store.tenant_key(tenant_id))

    def drop(self, tenant_id: UUID, scope_id: UUID) -> None:
        """Forget a scope's key at once; what is being fetched now is not kept either."""
        self._scopes.drop((tenant_id, scope_id))

    def drop_all(self, tenant_id: UUID | None = None) -> None:
        """Forget every key of a tenant, or of everybody, at once."""
        self._scopes.drop_where(lambda place: tenant_id is None or place[0] == tenant_id)
        self._tenants.drop_where(lambda place: tenant_id is None or place == tenant_id)

    def purge(self) -> None:
        """Forget what has expired; call it now and then, so that an idle process holds no keys."""
        self._scopes.purge()
        self._tenants.purge()

    def __len__(self) -> int:
        return len(self._scopes) + len(self._tenants)
