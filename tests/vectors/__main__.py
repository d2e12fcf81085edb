"""Plays every scenario with every driver and prints a matrix: `make conformance [LANG=go]`."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server")]

from support.postgres import running_server  # noqa: E402
from support.service import running_service  # noqa: E402
from support.telemetry import recording  # noqa: E402
from vectors.bench import bench  # noqa: E402
from vectors.drivers import PREVIOUS, Driver, DriverMissingError, Recipe, own_recipe, plays, recipes  # noqa: E402
from vectors.fleet import run_fleet  # noqa: E402
from vectors.matching import MismatchError  # noqa: E402
from vectors.peer import Peer  # noqa: E402
from vectors.player import Player, scenarios  # noqa: E402
from vectors.tls import Encrypted  # noqa: E402

KNOWN_FAILING = Path(__file__).parent / "known-failing.txt"


async def play(chosen: list[Recipe], pattern: str) -> int:
    """Play, print, and return how many did not hold."""
    wanted = {name: each for name, each in scenarios().items() if pattern in name}
    table: dict[str, dict[str, str]] = {}
    with running_server() as server, recording() as recorded:
        database = server.create()
        async with running_service(database) as running:
            encrypted = Encrypted(running.port)
            await encrypted.start()
            for recipe in chosen:
                driver, peer = await Driver.start(recipe), Peer()
                await peer.start()
                player = Player(running, driver, recorded, peer, encrypted)
                await player.warm_up()
                column = table.setdefault(recipe.language, {})
                for name, scenario in wanted.items():
                    if not plays(recipe, scenario, name):
                        continue
                    try:
                        await player.play(name, scenario)
                        column[name] = ""
                    except (MismatchError, RuntimeError) as error:
                        column[name] = str(error)
                assert await driver.close() == 0
                await peer.stop()
            await encrypted.stop()
    known = {line.strip() for line in KNOWN_FAILING.read_text("utf-8").splitlines() if line.strip()}
    width = max(map(len, wanted), default=0)
    print(" " * width, *(f"{language:>11}" for language in table))
    for name in wanted:
        marks = [{None: "·", "": "✓"}.get(column.get(name), "✗") for column in table.values()]
        print(f"{name:<{width}}", *(f"{mark:>11}" for mark in marks))
    failures = 0
    for language, column in table.items():
        for name, problem in column.items():
            if problem and f"{language} {name}" not in known:
                failures += 1
                print(f"\n{language} {name}\n{problem}")
    played = sum(map(len, table.values()))
    left = len(wanted) * len(table) - played
    print(f"\n{played} played, {failures} failed, {len(known)} known to fail, {left} left out (·)")
    return failures


async def send_out(chosen: list[Recipe], seconds: float) -> int:
    """Let a fleet of all of them act on one tenant, or measure them when there is no time for that.

    Returns how many miss the goal of the measurement.
    """
    missed: list[str] = []
    with running_server() as server:
        async with running_service(server.create()) as running:
            drivers = [await Driver.start(recipe) for recipe in chosen if recipe.language != PREVIOUS]
            if seconds:
                print(await run_fleet(running, drivers, seconds, seed=int(time.time())))
            else:
                missed = await bench(running, drivers)
            for driver in drivers:
                assert await driver.close() == 0
    return len(missed)


def main() -> int:
    # A mismatch may be about half a character.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", default="", help="only these, with commas between")
    parser.add_argument("--driver", type=Path, help="a driver.json of your own, to play what needs no layer")
    parser.add_argument("--scenario", default="", help="only those whose names hold this")
    parser.add_argument("--fleet", type=float, help="let a fleet act for so many seconds instead")
    parser.add_argument("--bench", action="store_true", help="measure what the layers cost instead")
    arguments = parser.parse_args()
    chosen = []
    known = {"own": own_recipe(arguments.driver)} if arguments.driver else recipes()
    for language, recipe in known.items():
        if not arguments.language or language in arguments.language.split(","):
            try:
                recipe.prepare()
                chosen.append(recipe)
            except DriverMissingError as missing:
                print(f"skipped: {missing}")
    if arguments.fleet or arguments.bench:
        return int(asyncio.run(send_out(chosen, arguments.fleet or 0)) > 0)
    return int(asyncio.run(play(chosen, arguments.scenario)) > 0)


if __name__ == "__main__":
    sys.exit(main())
