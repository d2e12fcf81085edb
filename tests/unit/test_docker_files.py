"""The image and the compose file, as far as they can be checked without a container engine."""

import fnmatch
import os
import re
import shlex
import shutil
import stat
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from muniment_server.cli.app import app as muniment
from muniment_server.config import CONFIG_VARIABLE, Settings, variable

ROOT = Path(__file__).resolve().parents[2]
KNOWN_VARIABLES = {variable(name) for name in Settings.model_fields} | {CONFIG_VARIABLE}
BUILD_TOOLS = re.compile(r"\b(gcc|g\+\+|make|cmake|build-essential|curl|wget|git|apt-get|apk)\b")


@dataclass
class Stage:
    base: str
    name: str | None
    lines: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [value for name, value in self.lines if name == instruction]

    def environment(self) -> dict[str, str]:
        pairs = (pair.partition("=") for value in self.all("ENV") for pair in shlex.split(value))
        return {name: value for name, _, value in pairs}


def stages() -> list[Stage]:
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    found: list[Stage] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(base.strip(), name.strip() or None))
        elif found:
            found[-1].lines.append((instruction, " ".join(rest.split())))
    return found


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def commands() -> set[str]:
    return set(get_command(muniment).commands)  # type: ignore[attr-defined]


def test_two_stages_and_no_build_tools_in_the_last() -> None:
    build, final = stages()
    assert build.name == "build"
    assert final.all("COPY") == ["--from=build /opt/muniment /opt/muniment"]
    assert not BUILD_TOOLS.search(" ".join(final.all("RUN")))
    assert "pip uninstall" in " ".join(final.all("RUN"))


def test_dependencies_are_locked_by_hash() -> None:
    build, _ = stages()
    installs = [part for value in build.all("RUN") for part in value.split("&&") if "install" in part]
    assert installs
    for command in installs:
        assert "--require-hashes" in command or "--no-deps" in command
        if command.strip().startswith("uv"):
            assert "--require-build-hashes --build-constraints requirements/build.txt" in command
    assert "--hash=sha256:" in (ROOT / "requirements/server.txt").read_text()


def test_what_is_copied_exists_and_reaches_the_build() -> None:
    build, _ = stages()
    sources = [source for value in build.all("COPY") for source in value.split()[:-1]]
    allowed = [
        line[1:].rstrip("/")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for source in sources:
        assert (ROOT / source).exists()
        assert any(Path(source).parts[0] == each for each in allowed)
    for secret in ("deploy/secrets", "muniment-data", ".git", ".venv"):
        assert not any(fnmatch.fnmatch(secret, each) for each in allowed)


def test_the_service_does_not_run_as_root() -> None:
    _, final = stages()
    (user,) = final.all("USER")
    uid, gid = (int(part) for part in user.split(":"))
    assert uid > 0 < gid
    # PostgreSQL looks the name of its user up, so the number needs an entry.
    assert f"--uid {uid} --gid {gid}" in " ".join(final.all("RUN"))
    order = [name for name, _ in final.lines]
    assert order.index("USER") > order.index("RUN")
    assert order.index("USER") < order.index("ENTRYPOINT")


def test_environment_names_real_settings() -> None:
    _, final = stages()
    environment = final.environment()
    assert {name for name in environment if name.startswith("MUNIMENT_")} <= KNOWN_VARIABLES
    assert environment["OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"] == "4096"
    home = environment["MUNIMENT_HOME"]
    assert home in " ".join(final.all("VOLUME"))
    for place in (home, f"{home}/keys", f"{home}/postgres"):
        assert re.search(rf"install -d -m 0700 -o \d+ -g \d+ [^&]*{place}(\s|$)", " ".join(final.all("RUN")))
    port = environment["MUNIMENT_LISTEN"].rpartition(":")[2]
    assert final.all("EXPOSE") == [port]


def test_commands_of_the_image_exist() -> None:
    _, final = stages()
    (entry,) = final.all("ENTRYPOINT")
    (command,) = final.all("CMD")
    assert yaml.safe_load(entry) == ["muniment"]
    assert yaml.safe_load(command)[0] in commands()
    (health,) = final.all("HEALTHCHECK")
    program, name, *_ = yaml.safe_load(health.partition("CMD ")[2])
    assert program == "muniment"
    assert name in commands()


def test_hadolint_finds_nothing() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_compose_names_what_is_there() -> None:
    loaded = compose()
    declared = {part: set(loaded.get(part) or ()) for part in ("networks", "volumes", "secrets")}
    for service in loaded["services"].values():
        assert set(service.get("networks", ())) <= declared["networks"]
        for secret in service.get("secrets", ()):
            assert (secret if isinstance(secret, str) else secret["source"]) in declared["secrets"]
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (ROOT / source).is_file() if source.startswith(".") else source in declared["volumes"]
        assert set(service.get("depends_on", ())) <= set(loaded["services"])
        for name in service.get("environment", {}):
            assert not name.startswith("MUNIMENT_") or name in KNOWN_VARIABLES


def test_compose_publishes_on_loopback_only() -> None:
    for service in compose()["services"].values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")


def test_compose_keeps_keys_apart_from_data_and_secrets_in_files() -> None:
    loaded = compose()
    data = {volume.partition(":")[0] for volume in loaded["services"]["database"]["volumes"]}
    keys = {volume.partition(":")[0] for volume in loaded["services"]["muniment"]["volumes"]}
    assert data
    assert keys
    assert not data & keys
    for service in loaded["services"].values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or name.endswith("_FILE")
            assert "://" not in str(value) or "@" not in str(value)


def test_compose_closes_what_can_be_closed() -> None:
    service = compose()["services"]["muniment"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    grace = Settings.model_fields["shutdown_grace"].default + Settings.model_fields["drain_delay"].default
    assert float(service["stop_grace_period"].removesuffix("s")) > grace


def test_the_collector_takes_what_the_service_sends() -> None:
    loaded = compose()
    config = yaml.safe_load((ROOT / "deploy/otel-collector.yaml").read_text())
    used = {
        kind: {name for pipeline in config["service"]["pipelines"].values() for name in pipeline[kind]}
        for kind in ("receivers", "processors", "exporters")
    }
    for kind, names in used.items():
        assert names == set(config[kind])
    endpoint = loaded["services"]["muniment"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
    host, port = endpoint.removeprefix("http://").split(":")
    assert host in loaded["services"]
    assert config["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(f":{port}")
    assert config["exporters"]["otlp/traces"]["endpoint"].partition(":")[0] in loaded["services"]
    scrape = config["exporters"]["prometheus"]["endpoint"].rpartition(":")[2]
    assert any(each.endswith(f":{scrape}") for each in loaded["services"]["collector"]["ports"])


def test_secrets_are_made_once_and_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "make-secrets.sh"
    shutil.copy(ROOT / "deploy/make-secrets.sh", script)
    subprocess.run(["/bin/sh", str(script)], check=True, capture_output=True)
    folder = tmp_path / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    text = (folder / "muniment.toml").read_text()
    loaded = tomllib.loads(text)
    password = (folder / "postgres_password").read_text()
    assert len(password) == 48
    assert loaded["database_url"] == f"postgresql://postgres:{password}@database:5432/muniment"
    subprocess.run(["/bin/sh", str(script)], check=True, capture_output=True)
    assert (folder / "muniment.toml").read_text() == text

    for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(CONFIG_VARIABLE, str(folder / "muniment.toml"))
    monkeypatch.setenv("MUNIMENT_LISTEN", "0.0.0.0:7443")
    monkeypatch.setenv("MUNIMENT_INSECURE_LISTEN", "true")
    settings = Settings()
    assert settings.master_key is not None
    assert loaded["master_key"] not in repr(settings)
