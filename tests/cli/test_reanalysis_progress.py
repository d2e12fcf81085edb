"""`muniment reindex status` while a newer text analysis reads what an older one has indexed."""

import asyncio
import json
from pathlib import Path

import pytest

from cli.test_settings_and_views import Shell, made_home, to_url
from contract.stored import Stored, until
from muniment_server.application import preparing
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.earlier import index_terms_1
from support.postgres import PostgresDatabase
from support.service import running_service

__all__ = ["made_home"]

NEVER = "The embedding model was never changed."


async def test_an_operator_sees_how_far_a_newer_analysis_is(
    database: PostgresDatabase,
    made_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MUNIMENT_HOME", str(made_home))
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", to_url(database.superuser_conninfo))
    shell = Shell(capsys)
    async with running_service(database, keys_folder=made_home / "keys") as running:
        for tenant in ("acme", "other"):
            caller = running.caller(tenant)
            with monkeypatch.context() as first:
                first.setattr(preparing, "ANALYZER_VERSION", 1)
                first.setattr(preparing, "index_terms", index_terms_1)
                await caller.write("u1", *(f"Straße {number}" for number in range(60)))
            await caller.write("u2", "Straße 60")
        assert (await shell.ok("reindex", "status")).strip() == NEVER, "before anybody says that it is needed"
        assert json.loads(await shell.ok("reindex", "status", "--json")) is None
    database.execute("UPDATE instance SET analyzer = 1")
    shown = f"text analysis 1 -> {ANALYZER_VERSION}: 2 of 122 memories have been read anew."
    assert (await shell.ok("reindex", "status")).splitlines() == [NEVER, shown]
    told = json.loads(await shell.ok("reindex", "status", "--json"))
    assert told == {"analysis": {"from": 1, "to": ANALYZER_VERSION, "memories": 122, "read": 2}}
    waiting = asyncio.create_task(shell.run("reindex", "status", "--wait"))
    async with running_service(database, keys_folder=made_home / "keys") as running:
        await until(lambda: running.service.models.oldest_analyzer == 1)
        running.service.reembedder.wake()
        code, out, err = await waiting
        assert (code, out.strip()) == (0, NEVER)
        assert "text analysis: 2 of 122 memories" in err
        for tenant in ("acme", "other"):
            rows = Stored(database, tenant).rows("memory")
            assert {row["analyzer"] for row in rows} == {ANALYZER_VERSION}
            assert len(rows) == 61
    assert json.loads(await shell.ok("reindex", "status", "--json")) is None
