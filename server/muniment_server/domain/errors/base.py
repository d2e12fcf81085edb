"""The base of the errors of the contract, and the typed details they may carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import ClassVar, Final

MAX_VIOLATIONS: Final = 20
"""Field violations reported per error; metadata `violation_count` says how many there were."""


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One broken rule of a request field.

    path: field path as in the contract, for example `items[3].content`.
    rule: stable id of the rule, for example `string.max_len`.
    description: what is allowed, in words; never the value that was sent.
    """

    path: str
    rule: str
    description: str


@dataclass(frozen=True, slots=True)
class Resource:
    """What an error is about: type in the contract's words (`memory`), name = its id."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Precondition:
    """State that has to change before the same call can succeed.

    type: stable constant such as `STATE`; subject: `memory/<id>`; description: the rule.
    """

    type: str
    subject: str
    description: str


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit that was hit; subject is a kind (`tenant`, `credential`), never a caller's label."""

    subject: str
    description: str


class MunimentError(Exception):
    """Base of all errors with a place in the contract.

    Raise subclasses only. Entries of `metadata` whose value is None are left out. `str(error)` is the
    fixed message, so logging an error is safe.
    """

    reason: ClassVar[str] = ""
    """Value of the contract's ErrorReason enum without its prefix."""
    code: ClassVar[str] = ""
    """Name of the gRPC status code."""
    message: ClassVar[str] = ""
    """Text for the caller: what happened and what to do."""
    metadata_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys this error may carry in `metadata`; stable forever."""

    def __init__(
        self,
        *,
        metadata: Mapping[str, str | None] | None = None,
        violations: Iterable[FieldViolation] = (),
        retry_delay: timedelta | None = None,
        resource: Resource | None = None,
        precondition: Precondition | None = None,
        quota: Quota | None = None,
    ) -> None:
        if not self.reason:
            raise TypeError("MunimentError is abstract: raise one of its subclasses")
        super().__init__(self.message)
        entries = {key: value for key, value in (metadata or {}).items() if value is not None}
        unknown = entries.keys() - self.metadata_keys
        if unknown:
            raise TypeError(f"{type(self).__name__} has no metadata key {sorted(unknown)}")
        self.metadata: Mapping[str, str] = MappingProxyType(entries)
        self.violations: tuple[FieldViolation, ...] = tuple(violations)[:MAX_VIOLATIONS]
        self.retry_delay = retry_delay
        self.resource = resource
        self.precondition = precondition
        self.quota = quota

    def __init_subclass__(cls) -> None:
        if cls.reason in _BY_REASON:
            raise TypeError(f"reason {cls.reason} is taken by {_BY_REASON[cls.reason].__name__}")
        _BY_REASON[cls.reason] = cls


_BY_REASON: dict[str, type[MunimentError]] = {}
BY_REASON: Final[Mapping[str, type[MunimentError]]] = MappingProxyType(_BY_REASON)
"""Every error class by its reason."""
