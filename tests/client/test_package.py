"""The package as a whole: what is made from what, and what it exports."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import muniment

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "python" / "muniment"


def test_the_synchronous_client_is_made_from_the_asynchronous_one() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_sync.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_both_clients_offer_the_same() -> None:
    def methods(cls: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(value).parameters)
            for name, value in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert methods(muniment.Client) == methods(muniment.AsyncClient)
    connect, connect_sync = map(inspect.signature, (muniment.connect, muniment.connect_sync))
    assert list(connect.parameters) == list(connect_sync.parameters)


def test_nothing_asynchronous_is_left_in_the_synchronous_client() -> None:
    for path in (PACKAGE / "_sync").glob("*.py"):
        if path.name in ("__init__.py", "runtime.py"):
            continue
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith("# Made from"):
                assert not re.search(r"\b(async|await|aio)\b|Async|_async", line), (path.name, line)


def test_exports_are_complete() -> None:
    public = {
        name
        for name, value in vars(muniment).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public | {"__version__"} == set(muniment.__all__)


def test_everything_public_is_documented() -> None:
    for name in muniment.__all__:
        value = getattr(muniment, name)
        if not isinstance(value, type) or value is muniment.ItemFields:
            continue
        assert value.__doc__, name
        assert not value.__doc__.startswith(f"{name}("), name
        for member, function in inspect.getmembers(value, inspect.isfunction):
            if not member.startswith("_"):
                assert function.__doc__, f"{name}.{member}"


def test_item_fields_are_the_fields_of_an_item() -> None:
    from muniment._arguments import ItemFields, WriteItem

    fields = {name: value for name, value in WriteItem.__annotations__.items() if name != "content"}
    assert set(ItemFields.__annotations__) == set(fields)


def test_imports_stay_within_the_dependencies() -> None:
    allowed = {"muniment", "grpc", "google", "opentelemetry"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            for module in modules:
                top = module.partition(".")[0]
                assert top in allowed or top in sys.stdlib_module_names, f"{path.name}: {module}"
                assert not module.startswith(("opentelemetry.sdk", "opentelemetry.instrumentation"))


def test_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
