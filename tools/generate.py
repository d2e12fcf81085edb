"""Generates the code from proto/: run by `make generate` with the interpreter of the tool venv.

With --check nothing is written; the exit code is 1 when the checked-in code is not what the contract
and the pinned tools give.
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools" / "venv" / "bin"

SERVER = Path("server/muniment_server/_gen")
CLIENT = Path("clients/python/muniment/v1")

PACKAGE = '"""Generated from proto/ by `make generate`. Do not edit."""\n'


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


def generate(output: Path) -> None:
    buf_generate("buf.gen.server.yaml", output)
    move_imports(output / SERVER, "muniment_server._gen")
    buf_generate("buf.gen.yaml", output)
    for folder in (output / SERVER, output / CLIENT):
        drop_empty_stubs(folder)
        make_packages(folder)


def differences(made: Path, kept: Path) -> list[str]:
    """Relative paths of files that differ or exist on one side only."""
    names = {
        path.relative_to(side).as_posix()
        for side in (made, kept)
        for path in side.rglob("*")
        if path.is_file() and path.suffix in {".py", ".pyi"}
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
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        generate(output)
        stale = False
        for target in (SERVER, CLIENT):
            if check:
                for name in differences(output / target, ROOT / target):
                    stale = True
                    print(f"not up to date: {target / name}")
            else:
                shutil.rmtree(ROOT / target, ignore_errors=True)
                shutil.copytree(output / target, ROOT / target)
    if stale:
        print("run `make generate` and commit the result")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
