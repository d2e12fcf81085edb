"""Both clients against a peer: each test that takes `client` runs once with each of them."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import muniment
from client.peer import Peer, running

KEY = "mk_dev_5ecret"


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as made:
        yield made


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


@pytest.fixture(params=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`muniment.connect`, or `connect_sync` behind the same interface."""

    def make(target: str, **options: Any) -> Any:
        options = {"tenant": "dev", **options}
        if "token_source" not in options:
            options.setdefault("api_key", KEY)
        if request.param == "async":
            return muniment.connect(target, **options)
        return Awaited(muniment.connect_sync(target, **options))

    return make


@pytest.fixture
async def client(connect: Callable[..., Any], peer: Peer) -> AsyncIterator[Any]:
    made = connect(peer.target)
    yield made
    await made.close()
