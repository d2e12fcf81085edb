"""All clients behave alike: every scenario of tests/vectors, played by every driver on the real service."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from support.postgres import PostgresDatabase
from support.service import RunningService, running_service
from support.telemetry import Recorded, recording
from vectors.drivers import Driver, DriverMissingError, plays, recipes
from vectors.peer import Peer
from vectors.player import Player, scenarios
from vectors.tls import Encrypted

pytestmark = pytest.mark.timeout(600)

KNOWN_FAILING = Path(__file__).parents[1] / "vectors" / "known-failing.txt"


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    with recording() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(module_database: PostgresDatabase, recorded: Recorded) -> AsyncIterator[RunningService]:
    async with running_service(module_database) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def encrypted(running: RunningService) -> AsyncIterator[Encrypted]:
    made = Encrypted(running.port)
    await made.start()
    yield made
    await made.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=sorted(recipes()))
async def player(
    request: pytest.FixtureRequest, running: RunningService, recorded: Recorded, encrypted: Encrypted
) -> AsyncIterator[Player]:
    recipe = recipes()[request.param]
    try:
        recipe.prepare()
    except DriverMissingError as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    driver, peer = await Driver.start(recipe), Peer()
    await peer.start()
    made = Player(running, driver, recorded, peer, encrypted)
    await made.warm_up()
    yield made
    assert await driver.close() == 0
    await peer.stop()


@pytest.mark.parametrize("name", sorted(scenarios()))
@pytest.mark.asyncio(loop_scope="module")
async def test_all_clients_behave_alike(player: Player, name: str) -> None:
    scenario = scenarios()[name]
    if plays(player.driver.recipe, scenario, name):
        await player.play(name, scenario)


def test_nothing_is_known_to_fail() -> None:
    assert KNOWN_FAILING.read_text("utf-8") == ""
