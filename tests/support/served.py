"""A service in a process of its own, to be killed: `python -m support.served` with its parts as JSON.

async with served(database, keys_folder, ingest_quiet_seconds=60) as child:
    ... child.port ...
    child.kill()

Whoever kills many takes them from a `Nursery`, which has imported and read everything before they are born.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
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


class Born:
    """A service that a nursery has started."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid = pid
        self.port = port

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        with suppress(ProcessLookupError):
            while True:
                os.kill(self.pid, signal.SIGKILL)
                time.sleep(0.005)


class Nursery:
    """A process that forks services; made before any of them, and before gRPC does anything in it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.served"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env=_environment(),
        )
        self._born: list[Born] = []

    async def start(
        self, database: PostgresDatabase, keys: Path, *, sweeps: bool = True, **settings: Any
    ) -> Born:
        """One more service, as `served` starts it. sweeps: whether it looks after all tenants by itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        parts = _parts(database, keys, settings)
        if not sweeps:
            parts["maintenance"] = None
        self._process.stdin.write(json.dumps(parts) + "\n")
        self._process.stdin.flush()
        line = await asyncio.to_thread(self._process.stdout.readline)
        born = Born(*map(int, line.split()))
        self._born.append(born)
        return born

    def close(self) -> None:
        """Kill all of them, and the nursery."""
        for each in self._born:
            each.kill()
        self._process.kill()
        self._process.communicate()


@asynccontextmanager
async def served(database: PostgresDatabase, keys: Path, **settings: Any) -> AsyncIterator[Child]:
    """Start a service on a database that has an instance, and an existing key store."""
    process = subprocess.Popen(  # noqa: ASYNC220 - it is only begun here
        [sys.executable, "-m", "support.served", json.dumps(_parts(database, keys, settings))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env=_environment(),
    )
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        assert line.strip(), "the child did not start"
        yield Child(process, int(line.split()[1]))
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{TESTS.parent / 'server'}:{TESTS}",
        "GRPC_ENABLE_FORK_SUPPORT": "false",
    }


def _parts(database: PostgresDatabase, keys: Path, settings: dict[str, Any]) -> dict[str, Any]:
    instance = database.row("SELECT instance_id, model_no, restore_epoch FROM instance")
    return {
        "app": database.app_conninfo,
        "maintenance": database.maintenance_conninfo,
        "instance": [str(instance["instance_id"]), instance["model_no"], instance["restore_epoch"]],
        "keys": str(keys),
        "settings": settings,
    }


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
    print(os.getpid(), service.server.port, flush=True)
    await service.run()


def _raise_them() -> None:
    """Fork a service for every line, whose parts it is."""
    import muniment_server.service  # noqa: F401 - imported for the children
    from muniment_server.retrieval.analysis import Analyzer

    Analyzer().warm_up()
    # They are buried by the system.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            asyncio.run(_serve(json.loads(line)))
            os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_serve(json.loads(sys.argv[1])))
    else:
        _raise_them()
