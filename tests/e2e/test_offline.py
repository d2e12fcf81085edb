"""The service without a network, on a read-only root file system: nothing is fetched, ever."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.postgres import reachable_folder

# Inside: no interface but loopback, nothing writable but the home folder, and not root where the kernel lets
# root be somebody else. The client runs in there too. What leaves without a route is counted by the kernel.
SCRIPT = r"""
set -eu
ip link set lo up
mount --bind "$FOLDER" "$FOLDER"
mount -o remount,bind,ro /
if touch /offline-probe 2>/dev/null; then echo "the root file system is writable"; exit 3; fi
if "$BIN/python" -c 'import socket; socket.create_connection(("192.0.2.1", 80), timeout=1)' 2>/dev/null; then
    echo "there is a network"; exit 4
fi
as="unshare --user --map-user=1000 --map-group=1000"
$as true 2>/dev/null || as=""
counted() {
    grep -h -E '^(Ip|Udp):' /proc/net/snmp
    grep -h -E '^(Ip6OutNoRoutes|Udp6OutDatagrams)' /proc/net/snmp6
}
counted > "$FOLDER/before"
for turn in first second; do
    $as "$BIN/muniment" serve --listen 127.0.0.1:7443 > "$FOLDER/out-$turn" 2>&1 &
    server=$!
    trap 'kill -TERM $server; wait $server' EXIT
    "$BIN/python" "$FOLDER/client.py" $turn
    ps -o cputimes= -p $server >> "$FOLDER/processor-seconds"
    trap - EXIT
    kill -TERM $server
    wait $server
done
counted > "$FOLDER/after"
"""
CLIENT = """
import sys, time
from pathlib import Path
import muniment

home = Path(sys.argv[0]).parent / "home"
deadline = time.monotonic() + 90
while True:
    try:
        key = (home / "dev-key").read_text().strip()
        client = muniment.connect_sync("127.0.0.1:7443", tenant="dev", api_key=key)
        client.write(f"The {sys.argv[1]} locker is in the east hall", subject="ada")
        break
    except (FileNotFoundError, muniment.MunimentError):
        if time.monotonic() > deadline:
            raise
        time.sleep(0.2)
found = client.recall("where are my lockers", subject="ada", token_budget=200)
print(found.context)
client.close()
"""


def counters(text: str) -> dict[str, int]:
    """What left, or would have: packets without a route, and datagrams, which a question for a name is."""
    found: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in itertools.pairwise(lines):
        head, *rest = names.split()
        if values.startswith(head) and head in ("Ip:", "Udp:") and not rest[0].isdigit():
            found |= {head + name: int(value) for name, value in zip(rest, values.split()[1:], strict=True)}
    for line in lines:
        if line.startswith(("Ip6", "Udp6")):
            name, value = line.split()
            found[name] = int(value)
    names = ("Ip:OutNoRoutes", "Udp:OutDatagrams", "Udp:NoPorts", "Ip6OutNoRoutes", "Udp6OutDatagrams")
    return {name: found[name] for name in names if name in found}


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


@pytest.mark.timeout(300)
def test_serves_without_a_network_on_a_read_only_root() -> None:
    if not can_unshare():
        pytest.skip("needs the right to make network and mount namespaces")
    with reachable_folder() as folder:
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        result = subprocess.run(
            ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", SCRIPT],
            env=clean
            | {
                "FOLDER": str(folder),
                "BIN": str(Path(sys.executable).parent),
                "MUNIMENT_HOME": str(folder / "home"),
            },
            check=False,
            capture_output=True,
            text=True,
            timeout=280,
        )

        def read(name: str) -> str:
            return (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else ""

        log = read("out-first") + read("out-second")
        assert result.returncode == 0, result.stdout + result.stderr + log
        assert "The first locker is in the east hall" in result.stdout
        # After the restart it knows what was said before, and takes in more.
        assert result.stdout.count("The first locker is in the east hall") == 2
        assert "The second locker is in the east hall" in result.stdout
        assert "error" not in log.lower()
        before, after = counters(read("before")), counters(read("after"))
        assert before["Ip:OutNoRoutes"] >= 1, "the kernel does not count"
        assert after == before, "something was looked for outside"
        # Of processor time, so that a busy machine does not count.
        assert all(int(seconds) < 30 for seconds in read("processor-seconds").split())
