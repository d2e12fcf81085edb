"""A small cache for lookups of credentials: bounded, short-lived, one lookup at a time per key."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LookupCache(Generic[Key, Value]):
    """Remembers what a lookup found for `ttl` seconds, and that it found nothing for `miss_ttl`.

    Hits and misses are bounded apart, so that a flood of made-up keys never pushes out real ones; and
    of keys that were not known before only `strangers` are looked up at once, so that the flood does
    not take the database away from everybody else.
    Concurrent lookups of one key share one call. A lookup that was under way when its key was
    dropped is answered to those who waited but not remembered. Errors are not remembered.
    """

    def __init__(
        self,
        lookup: Callable[[Key], Awaitable[Value | None]],
        *,
        ttl: float,
        miss_ttl: float,
        size: int,
        strangers: int = 4,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._ttl = ttl
        self._miss_ttl = miss_ttl
        self._size = size
        self._clock = clock
        self._hits: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._misses: OrderedDict[Key, float] = OrderedDict()
        self._running: dict[Key, asyncio.Task[Value | None]] = {}
        self._strangers = asyncio.Semaphore(strangers)

    async def get(self, key: Key) -> Value | None:
        """What is remembered and fresh, or else what the lookup finds now."""
        now = self._clock()
        hit = self._hits.get(key)
        if hit is not None:
            if now < hit[0]:
                return hit[1]
            del self._hits[key]
        if now < self._misses.get(key, 0.0):
            return None
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._fill(key, known=hit is not None))
            self._running[key] = task
            task.add_done_callback(_retrieve)
        # Shielded: one caller's cancellation must not fail the others that wait for the same lookup.
        return await asyncio.shield(task)

    def drop(self, key: Key) -> None:
        """Forget one key, at once and for lookups under way."""
        self._hits.pop(key, None)
        self._misses.pop(key, None)
        self._running.pop(key, None)

    def drop_all(self) -> None:
        """Forget everything."""
        self._hits.clear()
        self._misses.clear()
        self._running.clear()

    async def _fill(self, key: Key, *, known: bool) -> Value | None:
        mine = asyncio.current_task()
        try:
            if known:
                started, found = await self._timed(key)
            else:
                async with self._strangers:
                    started, found = await self._timed(key)
            if self._running.get(key) is mine:
                if found is None:
                    self._misses[key] = started + self._miss_ttl
                    self._misses.move_to_end(key)
                    if len(self._misses) > self._size:
                        self._misses.popitem(last=False)
                else:
                    self._misses.pop(key, None)
                    self._hits[key] = (started + self._ttl, found)
                    self._hits.move_to_end(key)
                    if len(self._hits) > self._size:
                        self._hits.popitem(last=False)
            return found
        finally:
            if self._running.get(key) is mine:
                del self._running[key]

    async def _timed(self, key: Key) -> tuple[float, Value | None]:
        # Fresh is counted from before the lookup: what it reads may be as old as its start.
        started = self._clock()
        return started, await self._lookup(key)


def _retrieve(task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()
