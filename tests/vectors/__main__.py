"""Plays every scenario with every driver and prints a matrix: `make conformance [LANG=go]`."""

import argparse
import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server")]

from support.postgres import running_server  # noqa: E402
from support.service import running_service  # noqa: E402
from support.telemetry import recording  # noqa: E402
from vectors.drivers import Driver, DriverMissingError, Recipe, recipes  # noqa: E402
from vectors.matching import MismatchError  # noqa: E402
from vectors.peer import Peer  # noqa: E402
from vectors.player import Player, scenarios  # noqa: E402

KNOWN_FAILING = Path(__file__).parent / "known-failing.txt"


async def play(chosen: list[Recipe], pattern: str) -> int:
    """Play, print, and return how many did not hold."""
    wanted = {name: each for name, each in scenarios().items() if pattern in name}
    table: dict[str, dict[str, str]] = {}
    with running_server() as server, recording() as recorded:
        database = server.create()
        async with running_service(database) as running:
            for recipe in chosen:
                driver, peer = await Driver.start(recipe), Peer()
                await peer.start()
                player = Player(running, driver, recorded, peer)
                column = table.setdefault(recipe.language, {})
                for name, scenario in wanted.items():
                    try:
                        await player.play(name, scenario)
                        column[name] = ""
                    except (MismatchError, RuntimeError) as error:
                        column[name] = str(error)
                assert await driver.close() == 0
                await peer.stop()
    known = {line.strip() for line in KNOWN_FAILING.read_text("utf-8").splitlines() if line.strip()}
    width = max(map(len, wanted), default=0)
    print(" " * width, *(f"{language:>11}" for language in table))
    for name in wanted:
        marks = ["✓" if not column[name] else "✗" for column in table.values()]
        print(f"{name:<{width}}", *(f"{mark:>11}" for mark in marks))
    failures = 0
    for language, column in table.items():
        for name, problem in column.items():
            if problem and f"{language} {name}" not in known:
                failures += 1
                print(f"\n{language} {name}\n{problem}")
    played = sum(map(len, table.values()))
    print(f"\n{played} played, {failures} failed, {len(known)} known to fail")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", default="", help="only this one")
    parser.add_argument("--scenario", default="", help="only those whose names hold this")
    arguments = parser.parse_args()
    chosen = []
    for language, recipe in recipes().items():
        if arguments.language in ("", language):
            try:
                recipe.prepare()
                chosen.append(recipe)
            except DriverMissingError as missing:
                print(f"skipped: {missing}")
    return int(asyncio.run(play(chosen, arguments.scenario)) > 0)


if __name__ == "__main__":
    sys.exit(main())
