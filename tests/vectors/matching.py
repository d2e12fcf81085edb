"""Comparing what came with what was expected, and filling in what a scenario refers to.

An expectation is a part of an answer: what it names must be there, what it does not name may be anything.
Lists are compared element by element, whole. Instead of a value may stand:

    $any            something that is there and not empty
    {$save: name}   the same, kept as ${name} for the steps that follow
    {$len: n}       a list (or text) of that length
    {$min_len: n}   a list (or text) of at least that length
    {$absent: true} nothing, or the field's default
    {$has: [...]}   a list that holds each of these, in any order
    {$min: n}       a number (or its text) that is at least n
    {$above: [...]} a number (or its text) that is larger than each of these
    {$not: value}   another value
"""

import re
from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

_REFERENCE = re.compile(r"\$\{([a-z0-9_.-]+)\}")


class MismatchError(AssertionError):
    """An answer is not what was expected."""


class Values(dict[str, Any]):
    """What ${...} stands for: saved values, `subject`, and `uuid.x`, a UUID of the scenario's own."""

    def __missing__(self, name: str) -> str:
        if name.startswith("uuid."):
            self[name] = str(uuid5(NAMESPACE_URL, f"{self['subject']}/{name}"))
        elif name.startswith("new."):
            self[name] = str(uuid4())
        else:
            raise KeyError(f"${{{name}}} was not saved by a step before")
        return str(self[name])

    def fill(self, value: Any) -> Any:
        """The value with every reference filled in, and {$repeat: [text, n]}, {$concat: [text, ...]},
        {$character: number} and {$list: [value, n]} (with ${n} for the index) written out."""
        if isinstance(value, str):
            whole = _REFERENCE.fullmatch(value)
            if whole:
                return self[whole[1]]
            return _REFERENCE.sub(lambda found: str(self[found[1]]), value)
        if isinstance(value, Mapping):
            if set(value) == {"$repeat"}:
                text, times = value["$repeat"]
                return text * times
            if set(value) == {"$character"}:
                return chr(value["$character"])
            if set(value) == {"$concat"}:
                return "".join(map(self.fill, value["$concat"]))
            if set(value) == {"$list"}:
                first, times = value["$list"]
                return [Values({**self, "n": str(index)}).fill(first) for index in range(times)]
            return {self.fill(key): self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        return value


def check(expected: Any, found: Any, values: Values, path: str = "answer") -> None:
    """Raise MismatchError unless `found` is as expected."""
    if expected == "$any":
        if found in (None, "", [], {}):
            raise MismatchError(f"{path}: nothing is there")
    elif isinstance(expected, Mapping) and len(expected) == 1 and next(iter(expected)).startswith("$"):
        _special(next(iter(expected)), next(iter(expected.values())), found, values, path)
    elif isinstance(expected, Mapping):
        if not isinstance(found, Mapping):
            raise MismatchError(f"{path}: {found!r} is no message")
        for name, each in expected.items():
            check(each, found.get(name), values, f"{path}.{name}")
    elif isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            raise MismatchError(f"{path}: expected {len(expected)} elements, not {found!r}")
        for index, each in enumerate(expected):
            check(each, found[index], values, f"{path}[{index}]")
    elif not _equal(expected, found):
        raise MismatchError(f"{path}: expected {expected!r}, not {found!r}")


def _equal(expected: Any, found: Any) -> bool:
    if found is None:
        # Proto JSON leaves defaults out.
        return expected in (False, 0, "", "0") or expected is None
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int) and isinstance(found, str):
        return str(expected) == found
    return bool(expected == found)


def _special(name: str, argument: Any, found: Any, values: Values, path: str) -> None:
    match name:
        case "$save":
            check("$any", found, values, path)
            values[argument] = found
        case "$len":
            if len(found or ()) != argument:
                raise MismatchError(f"{path}: expected the length {argument}, not {len(found or ())}")
        case "$min_len":
            if len(found or ()) < argument:
                raise MismatchError(f"{path}: expected at least {argument}, not {len(found or ())}")
        case "$absent":
            if found not in (None, "", [], {}, False, 0, "0"):
                raise MismatchError(f"{path}: expected nothing, not {found!r}")
        case "$has":
            for each in argument:
                if not any(_matches(each, one, values) for one in found or ()):
                    raise MismatchError(f"{path}: {each!r} is not among {found!r}")
        case "$min":
            if float(found or 0) < float(argument):
                raise MismatchError(f"{path}: expected at least {argument}, not {found!r}")
        case "$above":
            if any(int(found or 0) <= int(each) for each in argument):
                raise MismatchError(f"{path}: expected more than each of {argument}, not {found!r}")
        case "$not":
            if _equal(argument, found):
                raise MismatchError(f"{path}: must not be {argument!r}")
        case _:
            raise ValueError(f"{path}: what is {name}?")


def _matches(expected: Any, found: Any, values: Values) -> bool:
    try:
        check(expected, found, values)
    except MismatchError:
        return False
    return True
