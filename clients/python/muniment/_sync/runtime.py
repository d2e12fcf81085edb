"""What differs between asyncio and threads; `_async` has its own."""

import threading
import time
from types import TracebackType

import grpc

from muniment._settings import AsyncTokenSource, Secret, Settings


def open_channel(settings: Settings) -> grpc.Channel:
    """A channel, to be shared by all threads."""
    options = settings.channel_options()
    if settings.tls is None:
        return grpc.insecure_channel(settings.target, options=options)
    return grpc.secure_channel(settings.target, settings.tls.credentials(), options=options)


def close_channel(channel: grpc.Channel) -> None:
    """End what still runs, and the channel."""
    channel.close()


def home() -> object:
    """What a channel is bound to beside its process: nothing."""
    return None


def pause(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def credential(source: AsyncTokenSource, timeout: float) -> Secret:
    """The credential for a call. TypeError for an asynchronous source; `timeout` cannot interrupt it."""
    given = source()
    if not isinstance(given, str):
        close = getattr(given, "close", None)
        if close is not None:
            close()
        raise TypeError("the synchronous client needs a token source that returns str")
    return Secret(given)


class Activity:
    """The calls under way, for `close` to wait for."""

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise RuntimeError("the client is closed")
            self._count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self, timeout: float) -> None:
        """Refuse new calls, and wait at most `timeout` seconds for those under way."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._count == 0, timeout)
