"""`muniment review`, `consent`, `export`, `import` and `undo`, as an operator types them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muniment_server._gen.muniment.v1 import memory_pb2
from muniment_server.cli.app import run
from muniment_server.domain.model import TrustLevel
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    async with running_service(module_database) as running:
        yield running


class Shell:
    """The command line against the running service."""

    def __init__(self, caller: Caller, capsys: pytest.CaptureFixture[str]) -> None:
        self.caller = caller
        self.capsys = capsys

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = await asyncio.to_thread(run, arguments)
        output = self.capsys.readouterr()
        return code, output.out, output.err

    async def ok(self, *arguments: str) -> str:
        code, out, err = await self.run(*arguments)
        assert code == 0, err
        return out


@pytest.fixture
def shell(
    service: RunningService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Shell:
    caller = service.caller(request.node.name.replace("_", "-")[:40])
    monkeypatch.setenv("MUNIMENT_API_KEY", caller.key)
    monkeypatch.setenv("MUNIMENT_TENANT", caller.tenant)
    monkeypatch.setenv("MUNIMENT_TARGET", f"127.0.0.1:{service.port}")
    return Shell(caller, capsys)


async def test_taking_along_and_taking_in(shell: Shell, tmp_path: Path) -> None:
    caller = shell.caller
    await caller.write("u1", "Likes tea", "喜欢喝茶", item("Lives in Nice", slot="home"))
    file = tmp_path / "u1.jsonl"
    await shell.ok("export", "--subject", "u1", "--output", str(file))
    assert file.stat().st_mode & 0o077 == 0
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["item"]["content"] for line in lines] == [
        "Likes tea",
        "喜欢喝茶",
        "Lives in Nice",
    ]
    assert (await shell.ok("export", "--subject", "u1")).splitlines() == lines
    code, _, err = await shell.run("export", "--subject", "u1", "--output", str(file))
    assert (code, "cannot be written" in err) == (1, True)

    tried = json.loads(await shell.ok("import", str(file), "--subject", "u2", "--dry-run", "--json"))
    assert (tried["outcomes"], tried["request_ids"]) == ({"created": 3}, [])
    over = json.loads(lines[0])
    over["item"]["expireTime"] = "2001-01-01T00:00:00Z"
    with file.open("a", encoding="utf-8") as more:
        more.write("\n" + json.dumps(over) + "\n")
    done = json.loads(await shell.ok("import", str(file), "--subject", "u2", "--json"))
    assert done["outcomes"] == {"created": 3, "expired": 1}
    assert len(await caller.contents("u2", "tea Nice 喝茶", min_score=0)) == 3
    (request_id,) = done["request_ids"]
    code, out, err = await shell.run("undo", request_id, "--dry-run")
    assert (code, out.count("archived")) == (0, 3)
    assert "Nothing was changed" in err
    undone = json.loads(await shell.ok("undo", request_id, "--json"))
    assert {one["outcome"] for one in undone["memories"]} == {"archived"}
    assert await caller.contents("u2", "tea Nice 喝茶", min_score=0) == []

    broken = tmp_path / "broken.jsonl"
    broken.write_text(lines[0] + "\n{]\n")
    code, _, err = await shell.run("import", str(broken), "--subject", "u3")
    assert (code, "Line 2" in err) == (1, True)
    code, _, err = await shell.run("import", str(broken))
    assert (code, "--subject or --space" in err) == (1, True)


async def test_consent(shell: Shell) -> None:
    caller = shell.caller
    assert (await shell.ok("consent", "show", "--subject", "u1")).strip() == "not decided"
    await caller.write("u1", item("Likes tea", memory_pb2.MEMORY_KIND_PREFERENCE), "Lives in Nice")
    code, out, err = await shell.run(
        "consent", "set", "--subject", "u1", "--level", "necessary", "--kind", "preference", "--erase"
    )
    assert (code, out.strip()) == (0, "necessary: preference")
    assert "1 memory erased" in err
    told = await shell.ok("consent", "describe", "--subject", "u1", "--language", "zh")
    assert "共保存了 1 条记忆" in told
    await shell.ok("consent", "set", "--subject", "u1", "--forget-session", "s\u202e1")
    shown = await shell.ok("consent", "show", "--subject", "u1")
    assert "\u202e" not in shown
    code, _, err = await shell.run("consent", "set", "--subject", "u1", "--level", "necessary", "--kind", "x")
    assert (code, "--kind is one of" in err) == (1, True)


async def test_review(service: RunningService, shell: Shell) -> None:
    caller = shell.caller
    weak = service.caller(caller.tenant, max_trust=TrustLevel.LOW)
    held = []
    for number in range(3):
        old = (await caller.write("u1", f"Lives in Nice {number}")).results[0].memory
        held.append((await weak.supersede(old.memory_id, f"Lives in Lyon \x85{number}")).memory.memory_id)
    listed = await shell.ok("review", "list")
    rows = [line.split("\t") for line in listed.splitlines()]
    assert [row[0] for row in rows[1:]] == held
    assert rows[1][6] == "LESS_TRUSTED_THAN_CORRECTED"
    assert "\x85" not in listed
    plain = json.loads(await shell.ok("review", "list", "--subject", "u1", "--limit", "2", "--json"))
    assert [one["memory"]["memory_id"] for one in plain] == held[:2]
    done = json.loads(await shell.ok("review", "approve", held[0], "--trust", "high", "--json"))
    assert (done["state"], done["trust"]) == ("active", "high")
    assert done["superseded_memory_id"]
    await shell.ok("review", "edit", held[1], "Lives in Metz")
    await shell.ok("review", "reject", held[2])
    assert "Lives in Metz" in await caller.contents("u1", "Lives in Metz", min_score=0)
    code, _, err = await shell.run("review", "reject", held[2])
    assert (code, "REVIEW_NOT_PENDING" in err) == (1, True)
    _, _, err = await shell.run("review", "list")
    assert "Nothing waits." in err
    listed = await shell.ok("audit", "list", "--action", "decide_review")
    assert listed.count("reject") == 1
