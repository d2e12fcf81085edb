"""Fixtures of the contract tests.

- `shared` (module): one running service for the tests of a module; they stay apart by their tenants.
- `caller` (test): a credential with every permission in a tenant of its own on the shared service.
- `stored` (test): what the database holds of the caller's tenant.
- `multilingual` (session): the real default model.

A module that uses `shared` says `pytestmark = pytest.mark.asyncio(loop_scope="module")`.
"""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
import pytest_asyncio

from contract.stored import Stored
from muniment_server.embedding.base import Embedder
from muniment_server.embedding.factory import create_embedder
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, running_service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """One service for the tests of a module."""
    async with running_service(module_database) as running:
        yield running


@pytest.fixture
def caller(shared: RunningService) -> Caller:
    """A caller in a tenant of its own."""
    return shared.caller(f"t-{uuid4().hex[:12]}")


@pytest.fixture
def stored(shared: RunningService, caller: Caller) -> Iterator[Stored]:
    """What is stored of the caller's tenant; held against its own counts when the test is over."""
    found = Stored(shared.database, caller.tenant)
    yield found
    found.check()


@pytest.fixture(scope="session")
def multilingual() -> Embedder:
    """The default model of the service."""
    return create_embedder("multilingual")
