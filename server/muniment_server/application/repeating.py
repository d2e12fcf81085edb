"""A transaction that lost against another one, or came with an old key, begun again."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, TypeVar
from uuid import UUID

from muniment_server.domain.errors import TransactionConflict
from muniment_server.storage.database import UniqueConflict

from .scoping import EpochChanged

_Result = TypeVar("_Result")

Epochs: TypeAlias = Mapping[UUID, int]
"""Scope id to key epoch: of scopes whose row turned out to have another epoch than the key at hand."""


class Attempts:
    """Counts how often a command has lost against other transactions."""

    MOST = 4

    def __init__(self) -> None:
        self._lost = 0

    async def lost(self, conflict: TransactionConflict) -> None:
        """Wait a little before the next attempt, or raise the conflict after the last one."""
        self._lost += 1
        if self._lost >= self.MOST:
            raise conflict
        # Jitter, not secrecy: two that collided must not collide again.
        await asyncio.sleep(random.uniform(0.005, 0.02) * self._lost)  # noqa: S311


async def repeated(attempt: Callable[[Epochs], Awaitable[_Result]]) -> _Result:
    """Run a transaction again while it loses against others, with the key epochs that scopes' rows have.

    Raises TransactionConflict after the last attempt.
    """
    epochs: dict[UUID, int] = {}
    attempts = Attempts()
    while True:
        try:
            return await attempt(epochs)
        except EpochChanged as change:
            epochs[change.scope_id] = change.epoch
        except TransactionConflict as conflict:
            await attempts.lost(conflict)
        except UniqueConflict as conflict:
            # The same request id, committed by a call that held another lock: its answer is ours.
            if conflict.constraint != "idempotency_pkey":
                raise
