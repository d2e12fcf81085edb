"""The client as others get it: built, installed into an empty environment, imported from elsewhere.

Once with the lowest versions of its dependencies that it allows, once with the highest, and not at all
with a protobuf beyond them. The environments are made with uv, which needs a package index to be
reachable.
"""

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).parent / "uv"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# A peer of 20 lines: what is tested is that the wheel can talk, not what it says.
SCRIPT = """
import asyncio, sys
from concurrent import futures
from pathlib import Path

import google.protobuf, grpc, muniment
from muniment.v1 import memory_service_pb2, memory_service_pb2_grpc

class Service(memory_service_pb2_grpc.MemoryServiceServicer):
    def Write(self, request, context):
        return memory_service_pb2.WriteResponse(results=[{"memory": {"memory_id": "m"}}])
    def Recall(self, request, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "nothing here")

server = grpc.server(futures.ThreadPoolExecutor(2))
memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(Service(), server)
target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
server.start()

async def asynchronous():
    async with muniment.connect(target, tenant="dev", api_key="k") as client:
        assert (await client.write("x", subject="u")).memory_ids == ("m",)
        try:
            await client.recall("q", subject="u")
        except muniment.NotFound as error:
            assert error.message == "nothing here"

asyncio.run(asynchronous())
with muniment.connect_sync(target, tenant="dev", api_key="k") as client:
    assert client.write("x", subject="u").memory_ids == ("m",)
server.stop(0).wait()
assert Path(muniment.__file__).is_relative_to(sys.prefix), muniment.__file__
assert (Path(muniment.__file__).parent / "py.typed").exists()
print(muniment.__version__, google.protobuf.__version__, grpc.__version__)
"""


def run(*command: str | Path, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # No isolation: the build backend is the pinned one of this environment.
    run(UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable,
        "--out-dir", folder, ROOT / "clients" / "python", folder=folder)  # fmt: skip
    [built] = folder.glob("*.whl")
    asked = run(UV, "pip", "install", "--dry-run", "--python", sys.executable, "--target", folder / "target",
        built, folder=folder, check=False)  # fmt: skip
    if "error sending request" in asked.stderr or "client error" in asked.stderr:
        pytest.skip("no package index can be reached")
    assert asked.returncode == 0, asked.stderr
    return built


def environment(folder: Path) -> Path:
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "env", folder=folder)
    return folder / "env" / "bin" / "python"


def test_the_wheel_holds_the_client_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "muniment",
        f"{wheel.name.split('-py3')[0]}.dist-info",
    }
    for needed in (
        "py.typed",
        "_service_config.json",
        "_sync/client.py",
        "v1/memory_pb2.py",
        "v1/memory_pb2.pyi",
    ):
        assert f"muniment/{needed}" in names
    assert not [name for name in names if "__pycache__" in name]


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        return message_from_bytes(archive.read(name))


def requirements(wheel: Path) -> list[str]:
    return metadata(wheel).get_all("Requires-Dist", [])


def test_readme_and_licence_are_in_it(wheel: Path) -> None:
    described = metadata(wheel)
    assert described["Description-Content-Type"] == "text/markdown"
    assert described.get_payload().startswith("# Muniment for Python")
    assert described.get_all("License-File") == ["LICENSE"]
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_it_runs_with_all_that_it_allows(wheel: Path, tmp_path: Path, resolution: str) -> None:
    python = environment(tmp_path)
    # Named by us they are direct ones: the lowest versions that our dependencies allow of theirs are not
    # our promise.
    needed = requirements(wheel)
    run(UV, "pip", "install", "--quiet", "--python", python, "--resolution", resolution, wheel, *needed,
        folder=tmp_path)  # fmt: skip
    result = run(python, "-W", "error", "-c", SCRIPT, folder=tmp_path)
    _, protobuf, grpc = result.stdout.split()
    if resolution == "lowest-direct":
        assert (protobuf, grpc) == ("6.31.1", "1.76.0")


def test_an_installer_refuses_a_protobuf_beyond(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path)
    for beyond in ("protobuf>=8", "protobuf<6.31.1", "grpcio<1.76"):
        result = run(
            UV, "pip", "install", "--dry-run", "--python", python, wheel, beyond, folder=tmp_path, check=False
        )
        assert result.returncode != 0
        assert "No solution found" in result.stderr or "no version" in result.stderr.lower(), result.stderr
