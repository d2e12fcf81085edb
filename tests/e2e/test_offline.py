"""The service without a network, on a read-only root file system: nothing is fetched, ever."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.postgres import reachable_folder

# Inside: no interface but loopback, nothing writable but the home folder. The client runs in there too.
SCRIPT = r"""
set -eu
ip link set lo up
mount --bind "$FOLDER" "$FOLDER"
mount -o remount,bind,ro /
if touch /offline-probe 2>/dev/null; then echo "the root file system is writable"; exit 3; fi
MUNIMENT_HOME="$FOLDER/home" "$BIN/muniment" serve --listen 127.0.0.1:7443 > "$FOLDER/out" 2>&1 &
server=$!
trap 'kill -TERM $server; wait $server' EXIT
"$BIN/python" "$FOLDER/client.py"
"""
CLIENT = """
import socket, sys, time
from pathlib import Path
import muniment

home = Path(sys.argv[0]).parent / "home"
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    raise SystemExit("there is a network")
except OSError:
    pass
deadline = time.monotonic() + 90
while True:
    try:
        key = (home / "dev-key").read_text().strip()
        client = muniment.connect_sync("127.0.0.1:7443", tenant="dev", api_key=key)
        client.write("The locker is in the east hall", subject="ada")
        break
    except (FileNotFoundError, muniment.MunimentError):
        if time.monotonic() > deadline:
            raise
        time.sleep(0.2)
found = client.recall("where is my locker", subject="ada", token_budget=200)
print(found.context)
client.close()
"""


def can_unshare() -> bool:
    """Whether this test may make namespaces (root, or a permissive kernel)."""
    tools = all(shutil.which(tool) for tool in ("unshare", "ip", "mount"))
    return (
        tools
        and subprocess.run(
            ["unshare", "--net", "--mount", "true"], check=False, capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.timeout(180)
def test_serves_without_a_network_on_a_read_only_root() -> None:
    if not can_unshare():
        pytest.skip("needs the right to make network and mount namespaces")
    with reachable_folder() as folder:
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        result = subprocess.run(
            ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", SCRIPT],
            env=clean | {"FOLDER": str(folder), "BIN": str(Path(sys.executable).parent)},
            check=False,
            capture_output=True,
            text=True,
            timeout=170,
        )
        log = (folder / "out").read_text(encoding="utf-8") if (folder / "out").exists() else ""
        assert result.returncode == 0, result.stderr + log
        assert "The locker is in the east hall" in result.stdout
        assert "error" not in log.lower()
