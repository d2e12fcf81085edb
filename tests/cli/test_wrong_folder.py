"""A command that is started in the wrong folder finds no installation there, says so, and makes none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment_server.cli.app import run

Muniment = Callable[..., tuple[int, str, str]]


@pytest.fixture
def muniment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Muniment:
    """Runs a command in an empty folder: its code, what it printed and what it said."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
        monkeypatch.delenv(name)

    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capsys.readouterr()

    return command


@pytest.mark.parametrize(
    "command",
    [
        ("tenants", "list"),
        ("keys", "list"),
        ("keys", "create", "--tenant", "dev", "--permission", "all"),
        ("keys", "revoke", "a" * 20),
        ("settings", "list", "--tenant", "dev"),
        ("reindex", "start"),
        ("reindex", "status"),
        ("master-key", "add"),
        ("restore", "--declare", "--reason", "a test"),
        ("verify",),
        ("audit", "verify"),
    ],
    ids=" ".join,
)
def test_nothing_is_made(muniment: Muniment, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, printed, said = muniment(*command)
    assert (code, printed) == (1, "")
    (line,) = said.splitlines()
    assert line.startswith(f"muniment: There is no installation in {tmp_path / 'muniment-data'}. ")
    assert "MUNIMENT_HOME" in line
    assert list(tmp_path.iterdir()) == []


def test_with_a_database_of_ones_own_no_master_key_is_made(
    muniment: Muniment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing answers there: it is refused before anybody asks.
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", "postgresql://nobody:nothing@127.0.0.1:1/muniment")
    code, _, said = muniment("keys", "list")
    assert code == 1
    assert f"There is no installation in {tmp_path / 'muniment-data'}" in said
    assert list(tmp_path.iterdir()) == []
