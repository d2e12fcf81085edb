"""One test for both clients: the synchronous one behind the interface of the asynchronous one."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any

import muniment


class Awaited:
    """A synchronous client, or what it returned, behind the asynchronous interface."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not inspect.ismethod(value):
            return value
        if name in ("audit", "list_memories", "export_audit", "model_call", "pages"):
            return lambda *args, **kwargs: Awaited(value(*args, **kwargs))
        if name in ("use", "stamp"):
            return value
        return lambda *args, **kwargs: asyncio.to_thread(value, *args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_inner":
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)

    async def __aenter__(self) -> Any:
        entered = self._inner.__enter__()
        return self if entered is self._inner else entered

    async def __aexit__(self, *error: object) -> Any:
        return self._inner.__exit__(*error)

    async def __aiter__(self) -> AsyncIterator[Any]:
        # In this thread: a generator's context variables belong to it.
        for each in self._inner:
            yield each


def connect(kind: str, target: str, **options: Any) -> Any:
    """`muniment.connect` for "async", or `connect_sync` behind the same interface for "sync"."""
    if kind == "async":
        return muniment.connect(target, **options)
    return Awaited(muniment.connect_sync(target, **options))
