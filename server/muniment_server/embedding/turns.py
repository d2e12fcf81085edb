"""Whose text is embedded next: tenants share the model by the work of their texts, and so do their calls.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): the least served goes first, and who comes anew begins
where those stand that are being served, so that nobody saves up turns.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from muniment_server.embedding.cache import CacheKey, Embedded, Purpose

_READ = 2048
"""Characters up to which a longer text is more work: about what a model reads of it."""
_EACH = 64
"""What every text costs, as characters."""
_MANY = 256
"""Tenants that are remembered before those are forgotten who are owed nothing."""


@dataclass(slots=True)
class Job:
    """One distinct text of a tenant that waits or runs, for all of its callers who asked for it.

    taken: it runs, or is not wanted any more.
    """

    key: CacheKey
    text: str
    purpose: Purpose
    tenant: Hashable
    waiters: list[asyncio.Future[Embedded]] = field(default_factory=list)
    taken: bool = False

    @property
    def wanted(self) -> bool:
        """Whether somebody still waits for it."""
        return any(not waiter.done() for waiter in self.waiters)


def work(text: str) -> int:
    """How much work a text is, in characters."""
    return _EACH + min(len(text), _READ)


@dataclass(slots=True)
class _Call:
    spent: int
    jobs: deque[Job] = field(default_factory=deque)


@dataclass(slots=True)
class _Tenant:
    spent: int
    clock: int = 0
    calls: dict[object, _Call] = field(default_factory=dict)


class Turns:
    """The jobs that wait, in the order of fair turns. A job may stand in several calls; it is taken once."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._tenants: dict[Hashable, _Tenant] = {}
        self._clock = 0

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return any(one.calls for one in self._tenants.values())

    def add(self, job: Job, tenant: Hashable, call: object) -> None:
        """Put a job behind those of its call."""
        if len(self._tenants) > _MANY:
            self._forget()
        share = self._tenants.setdefault(tenant, _Tenant(self._clock))
        if not share.calls:
            share.spent = max(share.spent, self._clock)
        share.calls.setdefault(call, _Call(share.clock)).jobs.append(job)

    def next(self) -> Job | None:
        """The job whose turn it is; it stays until `take`."""
        while (turn := self._turn()) is not None:
            share, name, call = turn
            if not call.jobs[0].taken:
                return call.jobs[0]
            self._remove(share, name, call)
        return None

    def take(self) -> None:
        """Remove the job whose turn it is, and count its work."""
        turn = self._turn()
        if turn is None:
            return
        share, name, call = turn
        cost = work(call.jobs[0].text)
        self._clock, share.clock = share.spent, call.spent
        share.spent += cost
        call.spent += cost
        self._remove(share, name, call)

    def purge(self) -> None:
        """Drop what is taken."""
        for share in self._tenants.values():
            for name, call in list(share.calls.items()):
                call.jobs = deque(job for job in call.jobs if not job.taken)
                if not call.jobs:
                    del share.calls[name]

    def clear(self) -> None:
        """Drop everything."""
        self._tenants.clear()

    def _turn(self) -> tuple[_Tenant, object, _Call] | None:
        busy = [one for one in self._tenants.values() if one.calls]
        if not busy:
            return None
        share = min(busy, key=lambda one: one.spent)
        name, call = min(share.calls.items(), key=lambda one: one[1].spent)
        return share, name, call

    def _remove(self, share: _Tenant, name: object, call: _Call) -> None:
        call.jobs.popleft()
        if not call.jobs:
            del share.calls[name]

    def _forget(self) -> None:
        for tenant, share in list(self._tenants.items()):
            if not share.calls and share.spent <= self._clock:
                del self._tenants[tenant]
