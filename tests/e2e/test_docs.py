"""What README and docs/ say, held against the code; and everything runnable in them is run.

Fences: ```python and ```sh are run, top to bottom, one namespace and one folder per page, beside one
running service whose address, tenant and key are in the environment. `no-run` after the language shows a
snippet only; ```text is output.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from muniment_server import config
from muniment_server.cli.app import app as command_line
from muniment_server.config import CONFIG_VARIABLE, Settings, variable
from muniment_server.domain.model import DEFAULT_TRUST
from muniment_server.identity.principal import Permission
from muniment_server.interceptors.methods import METHODS
from muniment_server.telemetry import names
from support.postgres import reachable_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLES = {
    "go": "clients/go/examples/turn/main.go",
    "ts": "clients/typescript/examples/turn.ts",
    "java": "clients/java/src/test/java/dev/muniment/examples/Agent.java",
    "rust": "clients/rust/examples/agent.rs",
}
"""Programs that the tests of the clients run; what a page shows of a language stands in its program."""
LANGUAGES = {"python", "sh", "text", *EXAMPLES}
ABSENT_COMMANDS = {"backup"}
"""Named in the docs as missing. The day they exist, the docs have to change."""
CLIENT_VARIABLES = {"MUNIMENT_TARGET", "MUNIMENT_TENANT", "MUNIMENT_API_KEY"}


@dataclass(frozen=True)
class Snippet:
    page: Path
    line: int
    language: str
    run: bool
    text: str


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def snippets(page: Path) -> list[Snippet]:
    found: list[Snippet] = []
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if not line.lstrip().startswith("```"):
            lines.append(line)
        elif opened is None:
            opened, lines = (number, line.strip()[3:].strip()), []
        else:
            language, _, attribute = opened[1].partition(" ")
            assert language in LANGUAGES, f"{relative(page)}:{opened[0]}: a fence needs one of {LANGUAGES}"
            assert attribute in ("", "no-run"), f"{relative(page)}:{opened[0]}: {attribute}"
            run = language != "text" and not attribute
            text = textwrap.dedent("\n".join(lines) + "\n")
            found.append(Snippet(page, opened[0], language, run, text))
            opened = None
    assert opened is None, f"{relative(page)}: a fence is not closed"
    return found


RUNNABLE = [page for page in PAGES if any(snippet.run for snippet in snippets(page))]


@dataclass(frozen=True)
class Server:
    home: Path
    target: str

    def environment(self) -> dict[str, str]:
        return {
            "MUNIMENT_HOME": str(self.home),
            "MUNIMENT_LISTEN": self.target,
            "MUNIMENT_TARGET": self.target,
            "MUNIMENT_TENANT": "dev",
            "MUNIMENT_API_KEY": (self.home / "dev-key").read_text().strip(),
        }


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with reachable_folder() as folder:
        home = folder / "home"
        environment = {**os.environ, "MUNIMENT_HOME": str(home), "MUNIMENT_DRAIN_DELAY": "0"}
        command = [str(Path(sys.executable).with_name("muniment")), "serve", "--listen", "127.0.0.1:0"]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                start_new_session=True,
            )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                ready = re.match(r"Muniment serves on (\S+)", line)
                if ready:
                    break
            else:
                pytest.fail((folder / "log").read_text())
            yield Server(home, ready[1])
        finally:
            process.terminate()
            process.communicate(timeout=60)


@pytest.mark.timeout(300)
def test_what_is_shown_of_other_languages_stands_in_their_programs() -> None:
    shown = [each for page in PAGES for each in snippets(page) if each.language in EXAMPLES]
    assert {each.language for each in shown} == set(EXAMPLES)
    for snippet in shown:
        lines = iter((ROOT / EXAMPLES[snippet.language]).read_text("utf-8").split())
        for word in snippet.text.split():
            assert word in lines, f"{relative(snippet.page)}:{snippet.line}: {word}"


@pytest.mark.parametrize("page", RUNNABLE, ids=relative)
def test_snippets_run(page: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "docs"}
    for snippet in snippets(page):
        if not snippet.run:
            continue
        where = f"{relative(page)}:{snippet.line}"
        if snippet.language == "python":
            code = compile("\n" * snippet.line + snippet.text, relative(page), "exec")
            exec(code, namespace)
        else:
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail", "-c", snippet.text],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_snippets_that_are_only_shown_are_well_formed(page: Path) -> None:
    for snippet in snippets(page):
        if snippet.language == "python":
            ast.parse(snippet.text, f"{relative(page)}:{snippet.line}")
        elif snippet.language == "sh":
            done = subprocess.run(
                ["bash", "-n"], input=snippet.text, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0 or "<this repository>" in snippet.text, done.stderr


def anchors(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = re.findall(r'<a name="([^"]+)"', text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(named)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{relative(page)}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{relative(page)}: {target}"


def test_every_page_is_linked_from_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in readme
    index = (ROOT / "docs/adr/README.md").read_text("utf-8")
    for page in (ROOT / "docs/adr").glob("[0-9]*.md"):
        title = page.read_text("utf-8").splitlines()[0].removeprefix("# ")
        assert f"[{title}]({page.name})" in index, f"{page.name} is missing in docs/adr/README.md"


# --- tables against code ----------------------------------------------------------------------------


def rows(page: str, columns: int) -> list[list[str]]:
    """Cells of every table row with that many columns, headings and rules left out."""
    found = []
    for line in (ROOT / page).read_text("utf-8").splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+\|$", line):
            cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            if len(cells) == columns:
                found.append(cells)
    return found


def code(cell: str) -> str:
    return cell.strip().strip("|").strip().strip("`")


def test_settings_table() -> None:
    listed = {
        code(name): code(default)
        for name, default, _ in rows("docs/operator.md", 3)
        if name.startswith("`MUNIMENT_")
    }
    expected = {}
    for name, field in Settings.model_fields.items():
        default = field.default
        text = "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
        expected[variable(name)] = text
    assert listed == expected


def test_settings_that_have_no_effect_are_marked() -> None:
    source = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "server/muniment_server").rglob("*.py")
        if path.name != "config.py"
    )
    inside = inspect.getsource(config).partition("@property")[2]
    for name, _, meaning in rows("docs/operator.md", 3):
        if not name.startswith("`MUNIMENT_"):
            continue
        field = code(name).removeprefix("MUNIMENT_").lower()
        used = (
            re.search(rf"\bsettings\.{field}\b", source + inside)
            or re.search(rf"\bself\.{field}\b", inside)
            or re.fullmatch(r"(deadline|concurrency)_.*", field)
        )
        assert bool(used) != ("no effect" in meaning), f"{code(name)}: {meaning}"


def test_telemetry_table() -> None:
    types = set(names.ATTRIBUTE_TYPES.values())
    listed, reserved = (
        {
            code(cells[0]): code(cells[1])
            for cells in rows("docs/telemetry.md", columns)
            if "`" in cells[0] and code(cells[1]) in types
        }
        for columns in (4, 3)
    )
    assert listed | reserved == dict(names.ATTRIBUTE_TYPES)
    assert not listed.keys() & reserved.keys()

    emitted = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "server/muniment_server").rglob("*.py")
        if path.name not in ("names.py", "console.py")
    )
    constants = {
        value: name for name, value in vars(names).items() if isinstance(value, str) and name.isupper()
    }
    for name in names.ATTRIBUTE_TYPES:
        if f"names.{constants[name]}" not in emitted:
            assert name in reserved, f"{name} is emitted nowhere"


def test_metrics_table() -> None:
    text = (
        (ROOT / "docs/telemetry.md").read_text("utf-8").partition("## Metrics")[2].partition("## In the")[0]
    )
    listed = re.findall(r"^\| `([a-z_.]+)` \|", text, re.MULTILINE)
    metrics = {value for name, value in vars(names).items() if name.startswith("METRIC_")}
    assert sorted(listed) == sorted(metrics)


def test_metrics_in_alerts_exist() -> None:
    metrics = {value.replace(".", "_") for name, value in vars(names).items() if name.startswith("METRIC_")}
    for metric in re.findall(
        r"\b(?:muniment|rpc|db_client|gen_ai)_[a-z_]+", (ROOT / "docs/sre.md").read_text()
    ):
        base = re.sub(r"(_seconds)?(_total|_count|_bucket|_sum)?$", "", metric)
        assert metric == "rpc_method" or base in metrics, metric


def test_permission_table() -> None:
    listed: dict[str, set[str]] = {}
    for permission, calls in (
        cells for cells in rows("docs/platform-team.md", 2) if cells[0].startswith("`")
    ):
        if code(permission.split(",")[0]) in set(Permission):
            for each in permission.split(","):
                listed[code(each)] = set() if "nothing" in calls else set(calls.strip("| ").split(", "))
    expected: dict[str, set[str]] = {each.value: set() for each in Permission}
    for method, rule in METHODS.items():
        for needed in rule.permissions:
            expected[needed.value].add(method.rpartition("/")[2])
    assert listed == expected


def test_trust_table() -> None:
    listed = {}
    for sources, trust in rows("docs/platform-team.md", 2):
        if code(trust) in {level.name for level in DEFAULT_TRUST.values()}:
            listed |= {code(each): code(trust) for each in sources.split(",")}
    assert listed == {source.name.lower(): trust.name for source, trust in DEFAULT_TRUST.items()}


# --- words against code -----------------------------------------------------------------------------


def spoken() -> Iterator[tuple[Path, str]]:
    """Every piece of code on every page: fences and inline."""
    for page in PAGES:
        text = page.read_text("utf-8")
        for snippet in snippets(page):
            yield page, snippet.text
        for inline in re.findall(r"`([^`\n]+)`", text):
            yield page, inline


def test_commands_exist() -> None:
    top = get_command(command_line).commands  # type: ignore[attr-defined]
    said = re.compile(r"^(?:docker .* )?(?:\.venv/bin/)?muniment ([a-z-]+)(?: ([a-z]+))?", re.MULTILINE)
    for page, text in spoken():
        for command, second in said.findall(text):
            if command in ABSENT_COMMANDS:
                assert command not in top, f"muniment {command} exists now: {relative(page)} says otherwise"
                continue
            assert command in top, f"{relative(page)}: muniment {command}"
            group = getattr(top[command], "commands", None)
            if group is not None and second:
                assert second in group, f"{relative(page)}: muniment {command} {second}"


def test_options_exist() -> None:
    known: set[str] = set()

    def collect(command: Any) -> None:
        known.update(option for each in command.params for option in each.opts)
        for each in getattr(command, "commands", {}).values():
            collect(each)

    collect(get_command(command_line))
    for page, text in spoken():
        for line in re.sub(r"\\\n", " ", text).splitlines():
            if re.match(r"(id=\$\()?muniment [a-z]", line):
                for option in re.findall(r"(?<=\s)--[a-z-]+", line):
                    assert option in known, f"{relative(page)}: {line}"


def test_variables_exist() -> None:
    known = {variable(name) for name in Settings.model_fields} | {CONFIG_VARIABLE} | CLIENT_VARIABLES
    for page in PAGES:
        for name in re.findall(r"\bMUNIMENT_[A-Z_]+[A-Z]\b(?!_?\*)", page.read_text("utf-8")):
            assert name in known or any(each.startswith(name + "_") for each in known), (
                f"{relative(page)}: {name}"
            )


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, text in spoken():
        for target in re.findall(r"(?:^|\s)make ([a-z][a-z-]*)", text):
            assert target in targets, f"{relative(page)}: make {target}"
