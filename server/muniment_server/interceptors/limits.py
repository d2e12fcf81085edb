"""Sixth stage: how much may run at once, and how large a request may be."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable, Mapping
from typing import Final

from muniment_server.domain.errors import Overloaded, RequestTooLarge, Unimplemented
from muniment_server.interceptors.call import Call
from muniment_server.interceptors.methods import MethodClass

MAX_REQUEST_BYTES: Final = 4 * 1024 * 1024

DEFAULT_LIMITS: Final[Mapping[MethodClass, int]] = {
    MethodClass.RECALL: 64,
    MethodClass.WRITE: 32,
    MethodClass.ERASE: 8,
    MethodClass.AUDIT: 16,
    MethodClass.EXPORT: 4,
    MethodClass.STREAM: 64,
}

_LONG: Final = frozenset({MethodClass.EXPORT, MethodClass.STREAM})
"""What may last as long as a caller likes: one tenant gets half of the slots. Of the others an eighth is kept
from it, so that whoever comes beside it is served at once."""


class Limiter:
    """At most `limit` holders at once, and `most` of one tenant.

    In line stand at most `waiting` callers of a tenant; behind twice as many of all, one of each tenant.
    A slot goes to the tenant that has the fewest, and of one tenant's callers to the first that came.
    """

    def __init__(self, limit: int, waiting: int, most: int | None = None) -> None:
        self.limit = limit
        self._most = limit if most is None else most
        self._longest = waiting
        self._held: Counter[Hashable] = Counter()
        self._lines: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @property
    def held(self) -> int:
        """Slots taken."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """Callers in line."""
        return sum(map(len, self._lines.values()))

    async def acquire(self, patience: float, tenant: Hashable = None) -> None:
        """Take a slot, waiting for `patience` seconds at most. Raises Overloaded."""
        if self.held < self.limit and self._held[tenant] < self._most:
            self._held[tenant] += 1
            return
        own = len(self._lines.get(tenant, ()))
        if own >= self._longest or (own and self.waiting >= 2 * self._longest):
            raise Overloaded("line")
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(tenant, deque()).append(slot)
        try:
            async with asyncio.timeout(patience):
                await slot
        except BaseException as error:
            if slot.done() and not slot.cancelled():
                # The slot was handed over in the same moment; it goes to the next in line.
                self.release(tenant)
            else:
                self._leave(tenant, slot)
            if isinstance(error, TimeoutError):
                raise Overloaded("patience") from None
            raise

    def release(self, tenant: Hashable = None) -> None:
        """Give a slot back, or hand it to whoever is next."""
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        while self.held < self.limit:
            waiting = [one for one in self._lines if self._held[one] < self._most]
            if not waiting:
                return
            # Of equals the one that was not served for longest.
            following = min(waiting, key=lambda one: self._held[one])
            line = self._lines.pop(following)
            slot = line.popleft()
            if line:
                self._lines[following] = line
            if not slot.done():
                self._held[following] += 1
                slot.set_result(None)

    def _leave(self, tenant: Hashable, slot: asyncio.Future[None]) -> None:
        # A release that came in between has already passed over the cancelled slot.
        with contextlib.suppress(KeyError, ValueError):
            self._lines[tenant].remove(slot)
            if not self._lines[tenant]:
                del self._lines[tenant]


class LimitStage:
    """Refuses what is too large, and what is too much at once. The messages of a stream are held against
    the size one by one, as they arrive.

    A short line is allowed, so that a burst is served and not refused: four callers of a tenant per slot,
    each for half of its remaining time or one second, whichever is less.
    """

    name = "limits"

    def __init__(
        self,
        limits: Mapping[MethodClass, int] = DEFAULT_LIMITS,
        *,
        waiting_per_slot: int = 4,
        patience: float = 1.0,
        max_request_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        self.limiters = {
            method_class: Limiter(limit, limit * waiting_per_slot, _most(method_class, limit))
            for method_class, limit in {**DEFAULT_LIMITS, **limits}.items()
        }
        self._patience = patience
        self._max_request_bytes = max_request_bytes

    async def __call__(self, call: Call) -> object:
        self._check_size(call.raw)
        if call.requests is not None:
            call.requests = self._sized(call.requests)
        if call.rule is None:
            raise Unimplemented(call.method)
        limiter = self.limiters[call.rule.method_class]
        tenant = None if call.identity is None else call.identity.tenant_id
        await limiter.acquire(min(self._patience, call.remaining() / 2), tenant)
        try:
            return await call.proceed()
        finally:
            limiter.release(tenant)

    async def _sized(self, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for raw in requests:
            self._check_size(raw)
            yield raw

    def _check_size(self, raw: bytes) -> None:
        if len(raw) > self._max_request_bytes:
            raise RequestTooLarge(self._max_request_bytes, len(raw))


def _most(method_class: MethodClass, limit: int) -> int:
    return max(1, limit // 2) if method_class in _LONG else limit - limit // 8
