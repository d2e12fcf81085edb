"""The statements of the key store, which is another database than the one behind `storage`."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """The blocks of `sql/<dialect>.sql` by the name in the line above each."""
    text = resources.files(__package__).joinpath("sql", f"{dialect}.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: block.strip() for name, block in zip(parts[::2], parts[1::2], strict=True)}
