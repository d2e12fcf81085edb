"""Leaves an embedder alone that does not answer queries in time."""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from muniment_server.embedding.errors import EmbedderOverloaded, EmbedderSlow

_FAILURES = 3
_REST = 5.0
_FAIR = 0.25
"""Seconds that an embedder may need for a query; what a greater hurry does not get is no fault of its own."""
_TENANTS = 1024
"""Whose late queries are remembered at once."""


@dataclass(slots=True)
class _Row:
    """Queries in a row without an answer, and what follows from them."""

    late: int = 0
    rests_until: float = 0.0
    trying: bool = False

    def admits(self, now: float) -> bool:
        return self.late < _FAILURES or not (self.trying or now < self.rests_until)

    def count(self, now: float) -> None:
        self.late += 1
        if self.late >= _FAILURES:
            self.rests_until = now + _REST


class Breaker:
    """After three queries of a tenant in a row without an answer it has none for some seconds, then one.

    That one decides: answered, all go on; late, the rest begins anew. The same holds for everybody once those
    without an answer were of two tenants or more: one whose queries are long and deadlines short must not
    take an embedder from the others that answers them well. Owned by the event loop.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rows: dict[Hashable, _Row] = {}
        self._all = _Row()
        self._late_ones: set[Hashable] = set()
        """Tenants of the queries without an answer since the last answer to anybody."""

    def admits(self, tenant: Hashable = None) -> bool:
        """Whether a query may be tried now. Who gets True says what became of it, best with `watching`."""
        now = self._clock()
        rows = self._rows_of(tenant)
        if not all(row.admits(now) for row in rows):
            return False
        for row in rows:
            row.trying = row.late >= _FAILURES
        return True

    @contextmanager
    def watching(self, patience: float, tenant: Hashable = None) -> Iterator[None]:
        """Note what becomes of a query that was admitted and has so many seconds."""
        try:
            yield
        except (TimeoutError, EmbedderSlow):
            self.late(patience, tenant)
            raise
        except (asyncio.CancelledError, EmbedderOverloaded):
            self.given_up(tenant)
            raise
        except Exception:
            self.answered(tenant)
            raise
        self.answered(tenant)

    def answered(self, tenant: Hashable = None) -> None:
        """There was an answer, be it a failure: nothing of the caller's time is lost there."""
        self._rows.pop(tenant, None)
        self._all = _Row()
        self._late_ones.clear()

    def late(self, patience: float, tenant: Hashable = None) -> None:
        """There was none within so many seconds."""
        self.given_up(tenant)
        if patience < _FAIR:
            return
        now = self._clock()
        if tenant not in self._rows and len(self._rows) >= _TENANTS:
            del self._rows[next(iter(self._rows))]
        self._rows.setdefault(tenant, _Row()).count(now)
        if len(self._late_ones) < 2:
            self._late_ones.add(tenant)
        self._all.count(now)

    def given_up(self, tenant: Hashable = None) -> None:
        """The caller went away, which says nothing."""
        for row in self._rows_of(tenant):
            row.trying = False

    def _rows_of(self, tenant: Hashable) -> list[_Row]:
        own = self._rows.get(tenant)
        rows = [own] if own is not None else []
        return [*rows, self._all] if len(self._late_ones) > 1 else rows
