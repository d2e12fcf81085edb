"""The drivers of the clients as processes; PROTOCOL.md says how they are spoken to."""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "clients"


class DriverMissingError(Exception):
    """The toolchain of a language is not installed."""


@dataclass(frozen=True)
class Recipe:
    """How a driver is built and run: `clients/<language>/conformance/driver.json`."""

    language: str
    requires: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]
    folder: Path
    """Where its commands run."""
    bare: bool = False
    """A generated client without a layer."""
    abilities: frozenset[str] = frozenset()
    """What not every language has: `cancel`, `half_characters`."""

    def prepare(self) -> None:
        """Build it. DriverMissingError when a program that it requires is not there."""
        missing = [program for program in self.requires if shutil.which(program) is None]
        if missing:
            raise DriverMissingError(f"{self.language}: {', '.join(missing)} is not installed")
        for command in self.build:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(
                    f"{self.language}: {' '.join(command)} failed\n{done.stdout}\n{done.stderr}"
                )


PREVIOUS = "previous"
"""A client of the contract's previous version; see previous/driver.py."""
BARE_SCENARIOS = ("memory/", "errors/", "wire/")
"""What a client plays that is generated and nothing else."""


def plays(recipe: Recipe, scenario: Mapping[str, Any], name: str) -> bool:
    """Whether a driver plays a scenario."""
    if not recipe.abilities.issuperset(scenario.get("needs", ())):
        return False
    if not recipe.bare:
        return True
    if recipe.language == PREVIOUS and scenario.get("new"):
        return False
    return name.startswith(BARE_SCENARIOS) and not scenario.get("layer")


def recipes() -> dict[str, Recipe]:
    """All drivers in the tree, by language."""
    previous = (sys.executable, str(Path(__file__).parent / "previous" / "driver.py"))
    found = {PREVIOUS: Recipe(PREVIOUS, (), (), previous, ROOT, bare=True)}
    for path in sorted(CLIENTS.glob("*/conformance/driver*.json")):
        recipe = _read(path, path.parents[1], bare=False)
        found[recipe.language] = recipe
    return found


def own_recipe(path: Path) -> Recipe:
    """A driver of somebody's own; its commands run in the folder of the file."""
    return _read(path.resolve(), path.resolve().parent, bare=True)


def _read(path: Path, folder: Path, *, bare: bool) -> Recipe:
    text = json.loads(path.read_text("utf-8"))
    return Recipe(
        text["language"],
        tuple(text["requires"]),
        tuple(map(tuple, text["build"])),
        tuple(text["run"]),
        folder,
        bare,
        frozenset(text.get("abilities", ())),
    )


@dataclass
class Driver:
    """A running driver."""

    recipe: Recipe
    process: asyncio.subprocess.Process
    _waiting: dict[int, "asyncio.Future[dict[str, Any]]"] = field(default_factory=dict)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _reader: "asyncio.Task[None] | None" = None

    @classmethod
    async def start(cls, recipe: Recipe) -> "Driver":
        """Run it; it must say hello within a minute."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MUNIMENT_")}
        process = await asyncio.create_subprocess_exec(
            *recipe.run,
            cwd=recipe.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,
            env=environment,
            limit=64 * 1024 * 1024,
        )
        driver = cls(recipe, process)
        driver._reader = asyncio.create_task(driver._read())
        hello = await driver.ask({"op": "hello"}, timeout=60)
        assert hello["ok"], hello
        assert (hello["language"], hello["protocol"]) == (recipe.language, 1), hello
        return driver

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            async for line in self.process.stdout:
                answer = json.loads(line)
                waiting = self._waiting.pop(answer["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(RuntimeError(f"the {self.recipe.language} driver ended"))

    async def ask(self, request: dict[str, Any], timeout: float = 60.0) -> dict[str, Any]:
        """The answer to one request."""
        number = next(self._ids)
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
        await self.process.stdin.drain()
        async with asyncio.timeout(timeout):
            return await waiting

    async def close(self) -> int:
        """Close it in order; returns its exit status."""
        try:
            answer = await self.ask({"op": "close"}, timeout=15)
            assert answer["ok"], answer
            return await asyncio.wait_for(self.process.wait(), 15)
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            if self._reader is not None:
                self._reader.cancel()
