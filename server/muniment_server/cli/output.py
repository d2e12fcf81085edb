"""How commands print: results on standard output, notes on standard error, JSON on request."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
"""The option of every command that prints a list or a record."""


class CommandError(Exception):
    """A command cannot do what it was asked; the message is one line."""


def print_json(value: Any) -> None:
    """One JSON document; dataclasses become objects, times RFC 3339 in UTC, enums their lower-case names."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """A table on standard output; `empty` on standard error when there are no rows."""
    rows = list(rows)
    if not rows:
        note(empty)
        return
    if not sys.stdout.isatty():
        # For other programs: tab-separated, nothing cut off.
        for row in (columns, *rows):
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def note(text: str) -> None:
    """A remark for the person at the terminal, on standard error."""
    print(text, file=sys.stderr)


def count_of(number: int, thing: str) -> str:
    """A number and what there are so many of, `thing` named as one of them."""
    if number != 1:
        thing = thing.removesuffix("y") + "ies" if thing.endswith("y") and thing != "key" else thing + "s"
    return f"{number} {thing}"


def time_text(value: datetime | None) -> str:
    """RFC 3339 in UTC to the second; a dash for None."""
    return "-" if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    return value
