"""What the distributions promise about their dependencies is what the generated code asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
CLIENT_CODE = ROOT / "clients" / "python" / "muniment" / "v1"
DISTRIBUTIONS = ["pyproject.toml", "clients/python/pyproject.toml"]


def requirements(file: str) -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / file).read_text("utf-8"))["project"]
    return {parsed.name: parsed for parsed in map(Requirement, project["dependencies"])}


def protobuf_floor() -> str:
    """Lowest runtime that the generated messages import with."""
    text = (CLIENT_CODE / "memory_pb2.py").read_text("utf-8")
    found = re.search(r"Domain\.PUBLIC,\s*(\d+),\s*(\d+),\s*(\d+)", text)
    assert found
    return ".".join(found.groups())


def grpc_floor() -> str:
    """Lowest grpcio that the generated stubs import with."""
    text = (CLIENT_CODE / "memory_service_pb2_grpc.py").read_text("utf-8")
    found = re.search(r"GRPC_GENERATED_VERSION = '([\d.]+)'", text)
    assert found
    return found[1]


@pytest.mark.parametrize("file", DISTRIBUTIONS)
def test_floors_are_those_of_the_generated_code(file: str) -> None:
    declared = requirements(file)
    major, minor, patch = map(int, protobuf_floor().split("."))
    assert not declared["protobuf"].specifier.contains(f"{major}.{minor}.{patch - 1}")
    assert not declared["grpcio"].specifier.contains("1.75.1")


def test_the_client_accepts_exactly_what_its_generated_code_runs_with() -> None:
    declared = requirements("clients/python/pyproject.toml")
    assert declared["protobuf"].specifier.contains(protobuf_floor())
    assert declared["grpcio"].specifier.contains(grpc_floor())
    # The runtime promises to run generated code of one major version below its own.
    next_major = int(protobuf_floor().split(".")[0]) + 1
    assert declared["protobuf"].specifier.contains(f"{next_major}.99.0")
    assert not declared["protobuf"].specifier.contains(f"{next_major + 1}.0.0")


def test_the_client_knows_no_validation_rules() -> None:
    files = [path for path in CLIENT_CODE.iterdir() if path.suffix in {".py", ".pyi"}]
    assert files
    assert not [path.name for path in files if "buf/validate" in path.read_text("utf-8")]


@pytest.mark.parametrize("file", DISTRIBUTIONS)
def test_readme_and_licence_come_along(file: str) -> None:
    project = tomllib.loads((ROOT / file).read_text("utf-8"))["project"]
    folder = (ROOT / file).parent
    assert (folder / project["readme"]).read_text("utf-8").startswith("# Muniment")
    assert project["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_what_comes_as_source_is_built_with_pinned_versions() -> None:
    pinned = {
        line.partition("==")[0]
        for line in (ROOT / "requirements" / "build.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    # Of all that is pinned only jieba has no wheel, and no pyproject.toml: setuptools builds it.
    assert "setuptools" in pinned
    for file in DISTRIBUTIONS:
        system = tomllib.loads((ROOT / file).read_text("utf-8"))["build-system"]
        assert {Requirement(each).name for each in system["requires"]} <= pinned
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "--require-build-hashes" in makefile
    assert "--build-constraints requirements/build.txt" in makefile


@pytest.mark.parametrize("file", ["dev.txt", "server.txt", "build.txt", "uv.txt"])
def test_pinned_requirements_name_no_host(file: str) -> None:
    text = (ROOT / "requirements" / file).read_text("utf-8")
    assert "://" not in text
    assert "--index-url" not in text
    assert "--find-links" not in text
