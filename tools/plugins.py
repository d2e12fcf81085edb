"""Installs the pinned plug-ins of the generators into .tools, each once for each pin."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"

GO_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.10",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)


def missing(*programs: str) -> str | None:
    """The first of the programs that is not there. In CI nothing may be missing: exits."""
    absent = next((program for program in programs if shutil.which(program) is None), None)
    if absent is not None and os.environ.get("CI"):
        sys.exit(f"{absent} is not installed")
    return absent


def run(*command: str, cwd: Path = ROOT, **environment: str) -> None:
    """Run a command, with its output only if it fails."""
    result = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")


def _pinned(stamp: Path, pins: str) -> bool:
    return stamp.exists() and stamp.read_text("utf-8") == pins


def install_go() -> None:
    """protoc-gen-go and protoc-gen-go-grpc into .tools/go/bin."""
    pins = "\n".join(GO_PLUGINS)
    stamp = TOOLS / "go" / ".installed"
    if _pinned(stamp, pins):
        return
    for plugin in GO_PLUGINS:
        run("go", "install", plugin, GOBIN=str(TOOLS / "go" / "bin"), GOFLAGS="")
    stamp.write_text(pins, "utf-8")


def install_node() -> None:
    """What tools/node/package-lock.json pins into .tools/node."""
    folder = TOOLS / "node"
    pins = (ROOT / "tools/node/package-lock.json").read_text("utf-8")
    stamp = folder / ".installed"
    if _pinned(stamp, pins):
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / "tools/node" / name, folder / name)
    run("npm", "ci", "--no-audit", "--no-fund", cwd=folder)
    stamp.write_text(pins, "utf-8")
