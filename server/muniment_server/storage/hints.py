"""Hints between the processes that serve one database: drop what you cached.

A hint makes an effect immediate. It guarantees nothing: a connection may break and a message be lost,
so every cache that follows hints has a short lifetime of its own.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import psycopg

_LOG = logging.getLogger(__name__)

CHANNEL = "muniment_hint"
_PROBE_SECONDS = 15.0
_MAX_PAUSE = 5.0


class HintKind(StrEnum):
    """What happened."""

    CREDENTIAL_CHANGED = "credential_changed"
    """ids: public id of the API key."""
    KEYS_DESTROYED = "keys_destroyed"
    """ids: tenant_id, scope_id."""
    POLICY_CHANGED = "policy_changed"
    """ids: tenant_id."""
    MODELS_CHANGED = "models_changed"
    """No ids: another embedding model is in use, or will be."""
    MISSED = "missed"
    """The connection was down for a while: drop everything. Made by the listener, never sent."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint: a kind and ids, nothing else ever."""

    kind: HintKind
    ids: tuple[str, ...] = ()

    def payload(self) -> str:
        """The text that travels."""
        return " ".join((self.kind.value, *self.ids))

    @classmethod
    def parse(cls, payload: str) -> "Hint | None":
        """The hint of a text, or None for one that this version does not know."""
        kind, *ids = payload.split(" ")
        try:
            return cls(HintKind(kind), tuple(ids))
        except ValueError:
            return None


def keys_destroyed(tenant_id: UUID, scope_id: UUID) -> str:
    """Payload for the statement `hint_send`, sent inside the transaction of an erasure."""
    return Hint(HintKind.KEYS_DESTROYED, (str(tenant_id), str(scope_id))).payload()


class Hints:
    """Listens on a connection of its own, reconnects by itself, and calls `handle` per hint.

    handle: runs in the event loop and must not block. After a reconnect it gets a MISSED hint, since
    others may have been lost meanwhile.
    """

    def __init__(self, conninfo: str, handle: Callable[[Hint], None]) -> None:
        self._conninfo = conninfo
        self._handle = handle
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def start(self, timeout: float = 5.0) -> bool:
        """Start listening; tells whether the connection stood within `timeout` seconds."""
        self._task = asyncio.create_task(self._run(), name="muniment-hints")
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._listening.wait()
        return self._listening.is_set()

    async def stop(self) -> None:
        """Stop listening and close the connection."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @property
    def listening(self) -> bool:
        """Whether hints arrive at this moment."""
        return self._listening.is_set()

    async def _run(self) -> None:
        pause = 0.2
        interrupted = False
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
                async with connection:
                    await connection.execute(f"LISTEN {CHANNEL}".encode())
                    self._listening.set()
                    pause = 0.2
                    if interrupted:
                        self._tell(Hint(HintKind.MISSED))
                    await self._listen(connection)
            except (psycopg.Error, OSError):
                _LOG.warning(
                    "the connection for hints is down; caches rely on their lifetime until it is back"
                )
            self._listening.clear()
            interrupted = True
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE)

    async def _listen(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        while True:
            async for notification in connection.notifies(timeout=_PROBE_SECONDS):
                hint = Hint.parse(notification.payload)
                if hint is not None:
                    self._tell(hint)
            # Nothing came for a while: a dead peer is found by asking, not by waiting.
            async with asyncio.timeout(_PROBE_SECONDS):
                await connection.execute(b"SELECT 1")

    def _tell(self, hint: Hint) -> None:
        try:
            self._handle(hint)
        except Exception:  # noqa: BLE001 - one bad handler must not end the listening
            _LOG.exception("a hint of kind %s could not be handled", hint.kind)
