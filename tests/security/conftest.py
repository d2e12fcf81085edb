"""Fixtures of the security tests.

- `shared` (module): one running service for the tests of a module; they stay apart by their tenants.
- `caller` (test): a credential with every permission in a tenant of its own on the shared service.

A module that uses `shared` says `pytestmark = pytest.mark.asyncio(loop_scope="module")`.
"""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio

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
