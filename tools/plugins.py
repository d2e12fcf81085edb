"""Installs the pinned plug-ins of the generators into .tools, each once for each pin."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"

GO_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.10",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
    "github.com/pseudomuto/protoc-gen-doc/cmd/protoc-gen-doc@v1.5.1",
)

# As old as the registry has them: generated code asks for a runtime at least as new as its generator.
JAVA_PLUGINS = {
    "protoc": "com.google.protobuf:protoc:4.31.1",
    "protoc-gen-grpc-java": "io.grpc:protoc-gen-grpc-java:1.79.0",
}


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
    """protoc-gen-go, protoc-gen-go-grpc and protoc-gen-doc into .tools/go/bin."""
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


def _maven_platform() -> str:
    system = {"Darwin": "osx", "Windows": "windows"}.get(platform.system(), "linux")
    machine = "aarch_64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"
    return f"{system}-{machine}"


def install_java() -> None:
    """protoc and protoc-gen-grpc-java into .tools/java."""
    folder = TOOLS / "java"
    classifier = _maven_platform()
    pins = "\n".join([*JAVA_PLUGINS.values(), classifier])
    stamp = folder / ".installed"
    if _pinned(stamp, pins):
        return
    for name, artifact in JAVA_PLUGINS.items():
        run(
            "mvn",
            "--batch-mode",
            "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy",
            f"-Dartifact={artifact}:exe:{classifier}",
            f"-DoutputDirectory={folder}",
            "-Dmdep.stripVersion=true",
            "-Dmdep.stripClassifier=true",
            "-Dmdep.overWriteReleases=true",
        )
        program = (folder / f"{name}.exe").replace(folder / name)
        program.chmod(0o755)
    stamp.write_text(pins, "utf-8")


def install_rust() -> None:
    """The generator of clients/rust, with what Cargo.lock pins, into .tools/rust/bin."""
    name = "protoc-gen-muniment-rust"
    # Cargo itself sees whether there is anything to do; the folder is shared with the client's build.
    run(
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "--package=muniment-generator",
        cwd=ROOT / "clients/rust",
        CARGO_TARGET_DIR=str(ROOT / "clients/rust/target"),
    )
    folder = TOOLS / "rust" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / "clients/rust/target/debug" / name, folder / name)
