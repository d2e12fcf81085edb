"""A service in a process of its own, to be killed: `python -m support.served` with its parts as JSON.

async with served(database, keys_folder, ingest_quiet_seconds=60) as child:
    ... child.port ...
    child.kill()
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from support.postgres import PostgresDatabase

TESTS = Path(__file__).parents[1]


class Child:
    """A running child process."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    def kill(self) -> None:
        """SIGKILL: nothing of it gets to do anything more."""
        self.process.kill()
        self.process.wait()


@asynccontextmanager
async def served(database: PostgresDatabase, keys: Path, **settings: Any) -> AsyncIterator[Child]:
    """Start a service on a database that has an instance, and an existing key store."""
    instance = database.row("SELECT instance_id, model_no, restore_epoch FROM instance")
    parts = {
        "app": database.app_conninfo,
        "maintenance": database.maintenance_conninfo,
        "instance": [str(instance["instance_id"]), instance["model_no"], instance["restore_epoch"]],
        "keys": str(keys),
        "settings": settings,
    }
    process = subprocess.Popen(  # noqa: ASYNC220 - it is only begun here
        [sys.executable, "-m", "support.served", json.dumps(parts)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent / 'server'}:{TESTS}"},
    )
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        assert line.strip().isdigit(), "the child did not start"
        yield Child(process, int(line))
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def _serve(parts: dict[str, Any]) -> None:
    from muniment_server.application.services import Instance
    from muniment_server.config import Settings
    from muniment_server.crypto.master import FileMasterKeys
    from muniment_server.crypto.wrapped_key_store import key_store_at
    from muniment_server.service import Parts, Service
    from support.embedders import DeterministicEmbedder

    folder = Path(parts["keys"])
    store = key_store_at(folder / "keystore.sqlite", FileMasterKeys(folder / "master.key", create=True))
    await store.open()
    instance_id, model_no, restore_epoch = parts["instance"]
    service = Service(
        Settings(**({"listen": "127.0.0.1:0", "drain_delay": 0.0} | parts["settings"])),
        Parts(
            parts["app"],
            parts["maintenance"],
            Instance(UUID(instance_id), model_no, restore_epoch),
            store,
            DeterministicEmbedder(),
        ),
    )
    await service.start()
    assert service.server is not None
    print(service.server.port, flush=True)
    await service.run()


if __name__ == "__main__":
    asyncio.run(_serve(json.loads(sys.argv[1])))
