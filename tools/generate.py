"""Generates the code from proto/: run by `make generate` with the interpreter of the tool venv.

Installs the pinned plug-ins that it needs into .tools. A language whose toolchain is not there is left
out with a note; in CI that is a failure.

With --check nothing is written; the exit code is 1 when the checked-in code is not what the contract
and the pinned tools give.
"""

import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import plugins
import service_config

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools" / "venv" / "bin"

SERVER = Path("server/muniment_server/_gen")
CLIENT = Path("clients/python/muniment/v1")
GO = Path("clients/go/munimentv1")
TYPESCRIPT = Path("clients/typescript/src/gen")
JAVA = Path("clients/java/src/main/java/dev/muniment/v1")
RUST = Path("clients/rust/src/gen")
REFERENCE = Path("docs/reference")
SERVICE_CONFIG = Path("proto/muniment/v1/muniment_grpc_service_config.json")

PACKAGE = '"""Generated from proto/ by `make generate`. Do not edit."""\n'
IGNORED = {"__pycache__"}


@dataclass(frozen=True)
class Target:
    """One folder of generated code, nothing in it written by hand."""

    folder: Path
    make: Callable[[Path], None]
    """Generates it below a folder that stands for the root of the repository."""
    needs: Sequence[str] = ()
    """Programs of its toolchain."""
    install: Callable[[], None] = lambda: None


def buf_generate(template: str, output: Path) -> None:
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    command = [str(TOOLS / "buf"), "generate", "--template", template, "--output", str(output)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"buf generate failed:\n{result.stderr}")


def drop_empty_stubs(folder: Path) -> None:
    """The typing plug-in writes a stub for every file; only files with a service have a module."""
    for stub in folder.rglob("*_pb2_grpc.pyi"):
        if not stub.with_suffix(".py").exists():
            stub.unlink()


def move_imports(folder: Path, prefix: str) -> None:
    """protoc imports by the proto package; the server keeps its generated code in a package below."""
    pattern = re.compile(r"^from (muniment|buf)\.", re.MULTILINE)
    for path in [*folder.rglob("*.py"), *folder.rglob("*.pyi")]:
        text = path.read_text("utf-8")
        path.write_text(pattern.sub(rf"from {prefix}.\1.", text), "utf-8")


def make_packages(folder: Path) -> None:
    for directory in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        (directory / "__init__.py").write_text(PACKAGE, "utf-8")


def make_server(output: Path) -> None:
    buf_generate("buf.gen.server.yaml", output)
    move_imports(output / SERVER, "muniment_server._gen")
    drop_empty_stubs(output / SERVER)
    make_packages(output / SERVER)


def make_python(output: Path) -> None:
    buf_generate("buf.gen.yaml", output)
    drop_empty_stubs(output / CLIENT)
    make_packages(output / CLIENT)


def make_go(output: Path) -> None:
    buf_generate("buf.gen.go.yaml", output)
    shutil.copyfile(ROOT / SERVICE_CONFIG, output / GO / "service_config.json")


def make_typescript(output: Path) -> None:
    buf_generate("buf.gen.typescript.yaml", output)
    config = json.dumps(json.loads((ROOT / SERVICE_CONFIG).read_text("utf-8")), indent=2)
    (output / TYPESCRIPT / "service_config.ts").write_text(
        f"// Generated from {SERVICE_CONFIG} by `make generate`. Do not edit.\n"
        f"export const serviceConfig = {config} as const;\n",
        "utf-8",
    )


def make_java(output: Path) -> None:
    buf_generate("buf.gen.java.yaml", output)
    config = service_config.java(json.loads((ROOT / SERVICE_CONFIG).read_text("utf-8")), SERVICE_CONFIG)
    (output / JAVA / "ServiceConfig.java").write_text(config, "utf-8")


def make_rust(output: Path) -> None:
    buf_generate("buf.gen.rust.yaml", output)
    config = service_config.rust(json.loads((ROOT / SERVICE_CONFIG).read_text("utf-8")), SERVICE_CONFIG)
    (output / RUST / "service_config.rs").write_text(config, "utf-8")


def make_reference(output: Path) -> None:
    buf_generate("buf.gen.docs.yaml", output)
    page = output / REFERENCE / "contract.md"
    text = page.read_text("utf-8")
    # The plug-in links protobuf's own messages, which this page does not show.
    text = re.sub(r"\[([^\]]+)\]\(#google-protobuf-[^)]+\)", r"\1", text)
    page.write_text("\n".join(line.rstrip() for line in text.split("\n")), "utf-8")


TARGETS = (
    Target(SERVER, make_server),
    Target(CLIENT, make_python),
    Target(REFERENCE, make_reference, needs=("go",), install=plugins.install_go),
    Target(GO, make_go, needs=("go",), install=plugins.install_go),
    Target(TYPESCRIPT, make_typescript, needs=("node", "npm"), install=plugins.install_node),
    Target(JAVA, make_java, needs=("java", "mvn"), install=plugins.install_java),
    Target(RUST, make_rust, needs=("cargo",), install=plugins.install_rust),
)


def differences(made: Path, kept: Path) -> list[str]:
    """Relative paths of files that differ or exist on one side only."""
    names = {
        path.relative_to(side).as_posix()
        for side in (made, kept)
        for path in side.rglob("*")
        if path.is_file() and not IGNORED.intersection(path.relative_to(side).parts)
    }
    return sorted(
        name
        for name in names
        if not (made / name).exists()
        or not (kept / name).exists()
        or not filecmp.cmp(made / name, kept / name, shallow=False)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    stale = False
    for target in TARGETS:
        if absent := plugins.missing(*target.needs):
            print(f"skipped {target.folder}: {absent} is not installed")
            continue
        target.install()
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder)
            target.make(output)
            if check:
                for name in differences(output / target.folder, ROOT / target.folder):
                    stale = True
                    print(f"not up to date: {target.folder / name}")
            else:
                shutil.rmtree(ROOT / target.folder, ignore_errors=True)
                shutil.copytree(output / target.folder, ROOT / target.folder)
    if stale:
        print("run `make generate` and commit the result")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
