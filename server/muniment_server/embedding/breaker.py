"""Leaves an embedder alone that does not answer queries in time."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from muniment_server.embedding.errors import EmbedderOverloaded, EmbedderSlow

_FAILURES = 3
_REST = 5.0
_FAIR = 0.25
"""Seconds that an embedder may need for a query; what a greater hurry does not get is no fault of its own."""


class Breaker:
    """After three queries in a row without an answer there are none for some seconds, then a single one.

    That one decides: answered, all go on; late, the rest begins anew. Owned by the event loop.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._late = 0
        self._rests_until = 0.0
        self._trying = False

    def admits(self) -> bool:
        """Whether a query may be tried now. Who gets True says what became of it, best with `watching`."""
        if self._late < _FAILURES:
            return True
        if self._trying or self._clock() < self._rests_until:
            return False
        self._trying = True
        return True

    @contextmanager
    def watching(self, patience: float) -> Iterator[None]:
        """Note what becomes of a query that was admitted and has so many seconds."""
        try:
            yield
        except (TimeoutError, EmbedderSlow):
            self.late(patience)
            raise
        except (asyncio.CancelledError, EmbedderOverloaded):
            self.given_up()
            raise
        except Exception:
            self.answered()
            raise
        self.answered()

    def answered(self) -> None:
        """There was an answer, be it a failure: nothing of the caller's time is lost there."""
        self._late = 0
        self._trying = False

    def late(self, patience: float) -> None:
        """There was none within so many seconds."""
        self._trying = False
        if patience >= _FAIR:
            self._late += 1
            if self._late >= _FAILURES:
                self._rests_until = self._clock() + _REST

    def given_up(self) -> None:
        """The caller went away, which says nothing."""
        self._trying = False
