"""The demo holds, cleans up, and says which step failed."""

import base64
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from support.postgres import reachable_folder

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.py"


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


def start(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, str(DEMO)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def left_behind(folder: Path) -> list[str]:
    """Files of the demo, and processes that still use its folder."""
    commands = (process.info["cmdline"] or () for process in psutil.process_iter(["cmdline"]))
    using = [" ".join(command) for command in commands if any(str(folder) in part for part in command)]
    return [str(path) for path in folder.iterdir()] + using


def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_step_holds_without_a_terminal(folder: Path) -> None:
    process = start(folder)
    output, _ = process.communicate(timeout=580)
    assert process.returncode == 0, output
    assert re.search(r"All \d+ steps held", output)
    assert "\x1b" not in output
    assert left_behind(folder) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ctrl_c_cleans_up(folder: Path) -> None:
    process = start(folder)
    assert process.stdout is not None
    for line in process.stdout:
        if "Two customers" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=200)
    assert process.returncode == 130
    deadline = time.monotonic() + 20
    while left_behind(folder) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left_behind(folder) == []


def test_a_step_that_does_not_hold_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = demo()

    def the_sky_is_green(story: object) -> None:
        """The sky is green"""
        module.Story.holds(story, False, "somebody looked up")

    story = module.Story(tmp_path / "home", module.Console(width=100))
    assert module._play(story, [the_sky_is_green]) == 1
    output = capsys.readouterr().out
    assert "step 1 failed (The sky is green): somebody looked up" in output


def test_the_search_finds_every_spelling(tmp_path: Path) -> None:
    module = demo()
    text = "a sentence to look for"
    needles = {text: module._spellings(text)}
    for lead in range(4):
        raw = b"x" * lead + text.encode() + b"yz"
        for form, content in (
            ("plain", raw),
            ("hex", raw.hex().encode()),
            ("hex", raw.hex().upper().encode()),
            ("base64", base64.b64encode(raw)),
        ):
            (tmp_path / "file").write_bytes(b"\0before" + content + b"after\0")
            _, _, found = module._search(tmp_path, needles)
            assert found[text] == {form}
    (tmp_path / "file").write_bytes(b"something else")
    assert module._search(tmp_path, needles)[2][text] == set()
