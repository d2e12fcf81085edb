"""The example of docs/generate-your-own-client.md is built by its commands and plays the scenarios."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vectors.drivers import own_recipe, plays
from vectors.player import scenarios

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "generate-your-own-client.md"


@pytest.mark.timeout(600)
def test_the_commands_of_the_page_hold() -> None:
    if shutil.which("mvn") is None:
        if os.environ.get("CI"):
            pytest.fail("mvn is not installed")
        pytest.skip("mvn is not installed")
    commands = re.findall(r"```sh no-run\n(.+?)\n```", PAGE.read_text("utf-8"))
    assert len(commands) == 2
    for command in commands:
        words = command.split()
        if words[0] == "python":
            words[0] = sys.executable
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    own = own_recipe(ROOT / "examples" / "kotlin" / "driver.json")
    played = sum(plays(own, scenario, name) for name, scenario in scenarios().items())
    assert f"\n{played} played, 0 failed" in done.stdout, done.stdout
