"""Sixth stage: how much may run at once, and how large a request may be."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Final
from uuid import UUID

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

_SHARED: Final = frozenset({MethodClass.EXPORT, MethodClass.STREAM})
"""What may last as long as a caller likes: one tenant gets half of the slots, so that others find some."""


class Limiter:
    """At most `limit` holders at once and at most `waiting` callers in line, first come first served."""

    def __init__(self, limit: int, waiting: int) -> None:
        self.limit = limit
        self._longest = waiting
        self._held = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def held(self) -> int:
        """Slots taken."""
        return self._held

    @property
    def waiting(self) -> int:
        """Callers in line."""
        return len(self._line)

    async def acquire(self, patience: float) -> None:
        """Take a slot, waiting for `patience` seconds at most. Raises Overloaded."""
        if self._held < self.limit:
            self._held += 1
            return
        if len(self._line) >= self._longest:
            raise Overloaded("line")
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(slot)
        try:
            async with asyncio.timeout(patience):
                await slot
        except BaseException as error:
            if slot.done() and not slot.cancelled():
                # The slot was handed over in the same moment; it goes to the next in line.
                self.release()
            else:
                # A release that came in between has already passed over the cancelled slot.
                with contextlib.suppress(ValueError):
                    self._line.remove(slot)
            if isinstance(error, TimeoutError):
                raise Overloaded("patience") from None
            raise

    def release(self) -> None:
        """Give a slot back, or hand it to the first in line."""
        while self._line:
            slot = self._line.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._held -= 1


class LimitStage:
    """Refuses what is too large, and what is too much at once. The messages of a stream are held against
    the size one by one, as they arrive.

    A short line is allowed, so that a burst is served and not refused: four callers per slot, each
    for half of its remaining time or one second, whichever is less.
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
            method_class: Limiter(limit, limit * waiting_per_slot)
            for method_class, limit in {**DEFAULT_LIMITS, **limits}.items()
        }
        self._patience = patience
        self._waiting_per_slot = waiting_per_slot
        self._shares: dict[tuple[MethodClass, UUID], Limiter] = {}
        self._max_request_bytes = max_request_bytes

    async def __call__(self, call: Call) -> object:
        self._check_size(call.raw)
        if call.requests is not None:
            call.requests = self._sized(call.requests)
        if call.rule is None:
            raise Unimplemented(call.method)
        method_class = call.rule.method_class
        limiter = self.limiters[method_class]
        patience = min(self._patience, call.remaining() / 2)
        if method_class not in _SHARED or call.identity is None:
            return await self._held(limiter, call, patience)
        holder = (method_class, call.identity.tenant_id)
        async with self._share(holder, limiter.limit, patience):
            return await self._held(limiter, call, patience)

    @staticmethod
    async def _held(limiter: Limiter, call: Call, patience: float) -> object:
        await limiter.acquire(patience)
        try:
            return await call.proceed()
        finally:
            limiter.release()

    @contextlib.asynccontextmanager
    async def _share(
        self, holder: tuple[MethodClass, UUID], limit: int, patience: float
    ) -> AsyncIterator[None]:
        share = self._shares.get(holder)
        if share is None:
            most = max(1, limit // 2)
            share = self._shares[holder] = Limiter(most, most * self._waiting_per_slot)
        try:
            await share.acquire(patience)
            try:
                yield
            finally:
                share.release()
        finally:
            if not share.held and not share.waiting:
                self._shares.pop(holder, None)

    async def _sized(self, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for raw in requests:
            self._check_size(raw)
            yield raw

    def _check_size(self, raw: bytes) -> None:
        if len(raw) > self._max_request_bytes:
            raise RequestTooLarge(self._max_request_bytes, len(raw))
