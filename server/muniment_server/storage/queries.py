"""Named SQL: one statement per file of `sql/`, the file's stem is its name.

Statements use `%(name)s` for parameters and are compiled once to the server's own `$1` form, so that
no text is parsed again per call. The name goes into the span and into the metrics.

A file may hold several statements that are the same but for some lines. A line `--@ name: feature feature`
declares one of them with its features; a line that ends with `--@feature`, or with several, belongs to those
that have all of these, and a line without to every one of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

_PARAMETER = re.compile(r"%\((\w+)\)s")
_DECLARED = re.compile(r"--@ (\w+):((?: \w+)+)$")
_MARK = re.compile(r"[ ]*--@(\w+(?: \w+)*)$")
_COMMENT = re.compile(r"--[^\n]*")
_NAMED = re.compile(r"\b([a-z_]+) AS (?:NOT )?(?:MATERIALIZED )?\(")
_TARGET = re.compile(r"\b(?:INTO|UPDATE)\s+([a-z_]+)|\b(?:FROM|JOIN)\s+([a-z_]+)\b(?!\s*\()")
"""A table, and no function that returns rows."""
_OPERATION = re.compile(r"\b(INSERT|UPDATE|DELETE|SELECT)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """A compiled statement. `parameters` lists the names in the order of `$1`, `$2`, …"""

    name: str
    source: str
    text: str
    parameters: tuple[str, ...]
    operation: str
    collection: str | None

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Order the named values; a missing one is a programming error (KeyError)."""
        return [values[name] for name in self.parameters]


def compile_statement(name: str, source: str) -> Statement:
    """Compile the text of one file; comments are dropped."""
    body = _COMMENT.sub("", source).strip()
    order: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${order.setdefault(match.group(1), len(order) + 1)}"

    text = _PARAMETER.sub(number, body)
    written = [m for m in _OPERATION.findall(body) if m != "SELECT"]
    own = set(_NAMED.findall(body))
    targets = [target[1] or target[2] for target in _TARGET.finditer(body)]
    return Statement(
        name=name,
        source=source,
        text=text,
        parameters=tuple(order),
        operation=written[0] if written else "SELECT",
        collection=next((target for target in targets if target not in own), None),
    )


def split_statements(name: str, text: str) -> dict[str, str]:
    """The statements of the file `name`, each with its own lines; most files hold one."""
    features: dict[str, set[str]] = {}
    lines: list[tuple[str, set[str]]] = []
    for line in text.splitlines():
        if declared := _DECLARED.match(line):
            features[declared[1]] = set(declared[2].split())
        elif mark := _MARK.search(line):
            lines.append((line[: mark.start()], set(mark[1].split())))
        else:
            lines.append((line, set()))
    return {
        one: "\n".join(line for line, needed in lines if needed <= had)
        for one, had in (features or {name: set()}).items()
    }


@cache
def load_statements() -> Mapping[str, Statement]:
    """All statements by name."""
    folder = resources.files(__package__).joinpath("sql")
    return {
        name: compile_statement(name, source)
        for file in folder.iterdir()
        if file.name.endswith(".sql")
        for name, source in split_statements(
            file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")
        ).items()
    }
