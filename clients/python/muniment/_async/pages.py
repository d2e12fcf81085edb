"""Lists that the service answers page by page."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_log: Final = logging.getLogger("muniment")


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """One page."""

    items: tuple[T_co, ...]
    next_page_token: str
    """Empty for the last page."""
    seal_broken_memory_ids: tuple[str, ...] = ()
    """Memories of this page left out because somebody changed them in the database."""


class AsyncFetch(Protocol[T_co]):
    """Gets one page."""

    async def __call__(self, page_token: str) -> Page[T_co]:
        """page_token: empty for the first page."""
        ...


class AsyncPages(Generic[T]):
    """All items of a list, read page by page while you iterate.

    Every iteration begins anew with a first page. An error of a page is raised where it is read.
    """

    def __init__(self, fetch: AsyncFetch[T]) -> None:
        self._fetch = fetch
        self._seal_broken: tuple[str, ...] = ()

    @property
    def seal_broken_memory_ids(self) -> tuple[str, ...]:
        """Memories that the latest iteration left out so far, because somebody changed them in the
        database. They are logged as a warning, too."""
        return self._seal_broken

    async def pages(self) -> AsyncIterator[Page[T]]:
        """The pages."""
        self._seal_broken = ()
        page_token = ""
        while True:
            page = await self._fetch(page_token)
            if page.seal_broken_memory_ids:
                self._seal_broken += page.seal_broken_memory_ids
                _log.warning(
                    "left out of a list, changed behind the service's back: memories %s",
                    ", ".join(page.seal_broken_memory_ids),
                )
            yield page
            page_token = page.next_page_token
            if not page_token:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def all(self) -> list[T]:
        """Everything in one list."""
        return [item async for item in self]
