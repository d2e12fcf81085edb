"""`muniment settings` and `muniment views` beside a running service, which follows."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2
from muniment_server.cli import app as cli
from support.postgres import PostgresDatabase
from support.service import RunningService, running_service


class Shell:
    """Runs commands as an operator would, on the database and the key store of the service."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = await asyncio.to_thread(cli.run, arguments)
        output = self.capsys.readouterr()
        return code, output.out, output.err

    async def ok(self, *arguments: str) -> str:
        code, out, err = await self.run(*arguments)
        assert code == 0, err
        return out

    async def refused(self, *arguments: str) -> str:
        code, out, err = await self.run(*arguments)
        assert (code, out) == (1, "")
        return err


def to_url(conninfo: str) -> str:
    """A connection string in the form that settings take."""
    parts = conninfo_to_dict(conninfo)
    user, password, name = (str(parts.pop(key, "")) for key in ("user", "password", "dbname"))
    return f"postgresql://{quote(user)}:{quote(password)}@/{name}?{urlencode(parts)}"


@pytest.fixture
def made_home(home: Path) -> Path:
    home.mkdir()
    return home


@pytest.fixture
async def service(
    database: PostgresDatabase, made_home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RunningService]:
    async with running_service(database, keys_folder=made_home / "keys") as running:
        monkeypatch.setenv("MUNIMENT_HOME", str(made_home))
        monkeypatch.setenv("MUNIMENT_TENANT", "acme")
        monkeypatch.setenv("MUNIMENT_DATABASE_URL", to_url(database.superuser_conninfo))
        yield running


async def test_an_operator_sets_what_the_service_obeys(
    service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(capsys)
    caller = service.caller("acme")
    await caller.write("u1", "likes green tea")
    assert await caller.contents("u1", "tea") == ["likes green tea"]

    assert await shell.ok("settings", "list", "--changed") == ""
    assert (await shell.ok("settings", "get", "packing.source_share")).strip() == "0.5"
    assert "0.1 to 1" in await shell.refused("settings", "set", "packing.source_share", "7")
    assert "Did you mean ranking.min_score?" in await shell.refused("settings", "get", "ranking.minscore")
    assert "not set" in await shell.refused("settings", "unset", "ranking.min_score")
    await shell.ok("settings", "set", "ranking.min_score", "0.95")
    await shell.ok("views", "set", "planner", "--kind", "rule", "--space", "secret-place")
    assert "without any bound" in await shell.refused("views", "set", "clerk")
    assert "has no view" in await shell.refused("views", "remove", "clerk")
    listed = json.loads(await shell.ok("settings", "list", "--changed", "--json"))
    assert [(row["name"], row["value"], row["default"]) for row in listed] == [
        ("ranking.min_score", 0.95, None)
    ]
    (view,) = json.loads(await shell.ok("views", "list", "--json"))
    assert (view["agent"], view["kinds"], view["spaces"]) == ("planner", ["rule"], ["secret-place"])
    for _ in range(80):
        if not await caller.contents("u1", "tea"):
            break
        await asyncio.sleep(0.05)
    assert await caller.contents("u1", "tea") == []
    bound = service.caller("acme", agent="planner")
    assert not (await bound.recall("u1", "tea", min_score=0.0)).memories
    assert (await caller.recall("u1", "tea", min_score=0.0)).memories

    events = await caller.call(
        "Audit",
        memory_service_pb2.AuditRequest(
            filter=audit_pb2.AuditFilter(actions=[audit_pb2.AUDIT_ACTION_ADMINISTER])
        ),
    )
    told = [one.administered for one in events.events if one.administered.policy_revision]
    assert [(one.policy_revision, one.setting, one.agent) for one in told] == [
        (2, "", "planner"),
        (1, "ranking.min_score", ""),
    ]
    assert told[1].value == "0.95"
    assert json.loads(told[0].value)["kinds"] == [5]
    assert b"secret-place" not in events.SerializeToString()
    assert len({one.policy_digest for one in told}) == 2
    stored = service.database.rows("SELECT view_ct FROM agent_view")
    assert "secret-place" not in str(stored)

    service.database.execute("UPDATE tenant_setting SET value = '0.1'")
    for command in (("settings", "list"), ("settings", "set", "ranking.kind", "2"), ("views", "list")):
        assert "not what an operator set" in await shell.refused(*command)
    assert "defaults" in await shell.ok("settings", "reset", "--yes")
    assert await shell.ok("settings", "list", "--changed") == ""
    assert await shell.ok("views", "list") == ""
    service.service.services.settings.drop_all()
    assert await caller.contents("u1", "tea") == ["likes green tea"]
