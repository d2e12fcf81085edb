"""Both clients against a peer: each test that takes `client` runs once with each of them."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from client import both
from client.peer import KEY, Peer, running


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as made:
        yield made


@pytest.fixture(params=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes a client of either kind, with a tenant and a key unless they are given."""

    def make(target: str, **options: Any) -> Any:
        options = {"tenant": "dev", **options}
        if "token_source" not in options:
            options.setdefault("api_key", KEY)
        return both.connect(request.param, target, **options)

    return make


@pytest.fixture
async def client(connect: Callable[..., Any], peer: Peer) -> AsyncIterator[Any]:
    made = connect(peer.target)
    yield made
    await made.close()
