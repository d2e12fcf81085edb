"""What differs between asyncio and threads; `_sync` has its own."""

import asyncio
import inspect
from types import TracebackType

import grpc.aio

from muniment._errors import DeadlineExceeded
from muniment._settings import AsyncTokenSource, Secret, Settings


def open_channel(settings: Settings) -> grpc.aio.Channel:
    """A channel of the running event loop."""
    options = settings.channel_options()
    if settings.tls is None:
        return grpc.aio.insecure_channel(settings.target, options=options)
    return grpc.aio.secure_channel(settings.target, settings.tls.credentials(), options=options)


async def close_channel(channel: grpc.aio.Channel) -> None:
    """End what still runs, and the channel."""
    await channel.close(None)


def home() -> object:
    """What a channel is bound to beside its process: the running event loop."""
    return asyncio.get_running_loop()


async def pause(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)


async def credential(source: AsyncTokenSource, timeout: float) -> Secret:
    """The credential for a call. DeadlineExceeded when the source takes longer than `timeout` seconds."""
    given = source()
    if inspect.isawaitable(given):
        try:
            async with asyncio.timeout(timeout):
                given = await given
        except TimeoutError as error:
            raise DeadlineExceeded("the token source took too long") from error
    return Secret(given)


class Activity:
    """The calls under way, for `close` to wait for."""

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def __aenter__(self) -> None:
        if self._closed:
            raise RuntimeError("the client is closed")
        self._count += 1
        self._idle.clear()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._count -= 1
        if self._count == 0:
            self._idle.set()

    async def close(self, timeout: float) -> None:
        """Refuse new calls, and wait at most `timeout` seconds for those under way."""
        self._closed = True
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return
