"""The synchronous client behind the surface of the asynchronous one, so that one driver serves both."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import muniment

T = TypeVar("T")
_END = object()


async def settled(value: "Awaitable[T] | T") -> T:
    """The value, which the synchronous client gives at once."""
    return await value if inspect.isawaitable(value) else value


async def read(items: "Iterator[T]") -> "AsyncIterator[T]":
    """An iterator that blocks, read in a thread."""
    try:
        while (item := await asyncio.to_thread(next, items, _END)) is not _END:
            yield item  # type: ignore[misc]
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            await asyncio.to_thread(close)


class Listed:
    """A list of the client."""

    def __init__(self, pages: muniment.Pages[Any]) -> None:
        self._pages = pages

    def pages(self) -> AsyncIterator[Any]:
        """The pages."""
        return read(self._pages.pages())

    def __aiter__(self) -> AsyncIterator[Any]:
        return read(iter(self._pages))


class Called:
    """A model call of the client. It belongs to the context that it was entered in, so to this thread."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    async def __aenter__(self) -> Self:
        self._call.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call.__exit__(kind, error, trace)


class Blocking:
    """One client; every call runs in a thread of its own, as programs do that share a synchronous client."""

    def __init__(self, client: muniment.Client) -> None:
        self.blocking = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.blocking, name)
        if not inspect.ismethod(found):
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            return await asyncio.to_thread(found, *arguments, **options)

        return call

    def list_memories(self, **options: Any) -> Listed:
        """As the client's."""
        return Listed(self.blocking.list_memories(**options))

    def list_reviews(self, **options: Any) -> Listed:
        """As the client's."""
        return Listed(self.blocking.list_reviews(**options))

    def audit(self, **options: Any) -> Listed:
        """As the client's."""
        return Listed(self.blocking.audit(**options))

    def export_audit(self, **options: Any) -> AsyncIterator[Any]:
        """As the client's."""
        return read(self.blocking.export_audit(**options))

    def export_memories(self, **options: Any) -> AsyncIterator[Any]:
        """As the client's."""
        return read(self.blocking.export_memories(**options))

    def model_call(self, *arguments: Any, **options: Any) -> Called:
        """As the client's."""
        return Called(self.blocking.model_call(*arguments, **options))

    async def stream_ingest(self, turns: AsyncIterable[Any], **options: Any) -> Any:
        """As the client's."""
        given = [each async for each in turns]
        return await asyncio.to_thread(self.blocking.stream_ingest, iter(given), **options)
