"""Agents in all languages on one tenant at once leave a whole store."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from support.postgres import PostgresDatabase
from support.service import running_service
from vectors.drivers import PREVIOUS, Driver, DriverMissingError, recipes
from vectors.fleet import run_fleet

SECONDS = float(os.environ.get("FLEET_SECONDS", "12"))
"""`make fleet` gives it two minutes."""


@pytest_asyncio.fixture
async def drivers() -> AsyncIterator[list[Driver]]:
    started = []
    for language, recipe in recipes().items():
        if language == PREVIOUS:
            continue
        try:
            recipe.prepare()
        except DriverMissingError as missing:
            if os.environ.get("CI"):
                pytest.fail(str(missing))
            print(f"without {missing}")
            continue
        started.append(await Driver.start(recipe))
    yield started
    for driver in started:
        assert await driver.close() == 0


@pytest.mark.timeout(600)
async def test_a_fleet_leaves_a_whole_store(database: PostgresDatabase, drivers: list[Driver]) -> None:
    async with running_service(database) as running:
        print(await run_fleet(running, drivers, SECONDS, seed=7))
