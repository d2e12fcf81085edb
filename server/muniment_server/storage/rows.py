"""Rows of memories and scopes as values."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from operator import itemgetter
from types import NoneType
from typing import Any
from uuid import UUID

from muniment_server.domain.making import maker
from muniment_server.domain.model import (
    MemoryKind,
    MemoryState,
    PropertyValue,
    Revision,
    ScopeKind,
    ScopeRow,
    SourceType,
    TrustLevel,
)

from .database import Row

COLUMNS = tuple(f.name for f in fields(Revision))
_ENUMS = {"state": MemoryState, "kind": MemoryKind, "trust": TrustLevel, "source_type": SourceType}
_NUMBERS = (
    "doc_no",
    "revision",
    "content_revision",
    "key_epoch",
    "analyzer",
    "term_count",
    "reinforce_count",
)
_INSTANTS = ("expire_time", "valid_from", "valid_to", "reinforce_time")
_NAMES = ("slot", "agent", "session", "origin_session", "author_agent", "source_ref")
_TYPES: dict[str, Any] = {
    "memory_id": UUID,
    "scope_id": UUID,
    **_ENUMS,
    **dict.fromkeys(_NUMBERS, int),
    "confidence": (float, NoneType),
    "create_time": datetime,
    "update_time": datetime,
    **dict.fromkeys(_INSTANTS, (datetime, NoneType)),
    **dict.fromkeys(("supersedes", "superseded_by"), (UUID, NoneType)),
    "author": str,
    **dict.fromkeys(_NAMES, (str, NoneType)),
    "turn_number": (int, NoneType),
    "tags": tuple,
    "tokens": tuple,
    "properties": dict,
    **dict.fromkeys(("statement_hash", "content_ct", "seal"), bytes),
}
# The driver gives each column its type; what is left to look for is what it gives instead.
_REQUIRED = itemgetter(*(name for name, kind in _TYPES.items() if not isinstance(kind, tuple)))
_TIMES = itemgetter("create_time", "update_time", *_INSTANTS)
# The fields in their order, but for those that are stored as something else.
_IDS = itemgetter(*COLUMNS[: COLUMNS.index("state")])
_MIDDLE = itemgetter(*COLUMNS[COLUMNS.index("analyzer") : COLUMNS.index("tags")])
_STATES, _KINDS = {int(one): one for one in MemoryState}, {int(one): one for one in MemoryKind}
_TRUSTS, _SOURCE_TYPES = {int(one): one for one in TrustLevel}, {int(one): one for one in SourceType}
_revision = maker(Revision)
_NEUTRAL: dict[str, Any] = {
    **dict.fromkeys(_NUMBERS, 0),
    "state": MemoryState.QUARANTINED,
    "kind": MemoryKind.FACT,
    "trust": TrustLevel.UNTRUSTED,
    "source_type": SourceType.THIRD_PARTY,
    "create_time": datetime.min.replace(tzinfo=UTC),
    "update_time": datetime.min.replace(tzinfo=UTC),
    "author": "",
    **dict.fromkeys(("statement_hash", "content_ct", "seal"), b""),
}
NEVER_ANALYSED = -1
"""The analyzer of a row that the service cannot have stored."""
SCOPE_COLUMNS = tuple(f.name for f in fields(ScopeRow))


def to_revision(row: Row) -> Revision:
    """A row of `memory` or `memory_revision` as a value.

    Whoever writes to the database can put values there that the service never stores. Such a row must
    not fail the answer that it would stand in: it comes back with what can be read of it, and with an
    analyzer that no seal was ever made over, so that it is nowhere taken for genuine.
    """
    try:
        state, kind, trust = _STATES[row["state"]], _KINDS[row["kind"]], _TRUSTS[row["trust"]]
        source_type = _SOURCE_TYPES[row["source_type"]]
        tags, tokens = tuple(row["tags"]), tuple(row["tokens"])
        properties = _properties(row["properties"])
        readable = (
            None not in _REQUIRED(row)
            and int not in map(type, _TIMES(row))
            and {str}.issuperset(map(type, tags))
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        readable = False
    if not readable:
        return _unreadable(row)
    return _revision(
        *_IDS(row),
        state,
        kind,
        trust,
        source_type,
        *_MIDDLE(row),
        tags,
        properties,
        row["statement_hash"],
        tokens,
        row["content_ct"],
        row["seal"],
        row["turn_number"],
    )


def _unreadable(row: Row) -> Revision:
    values: dict[str, Any] = {}
    for name, kind in _TYPES.items():
        values[name] = row[name] if isinstance(row[name], kind) else _NEUTRAL.get(name)
    for name, enum in _ENUMS.items():
        with suppress(ValueError):
            values[name] = enum(row[name])
    return Revision(**(values | {"analyzer": NEVER_ANALYSED, "tags": (), "tokens": (), "properties": {}}))


def _properties(stored: Mapping[str, Any]) -> dict[str, PropertyValue]:
    # jsonb knows one kind of number; a property's number is a double.
    found: dict[str, PropertyValue] = {}
    for key, value in stored.items():
        if isinstance(value, (str, bool)):
            found[key] = value
        else:
            found[key] = float(value)
    return found


def to_scope(row: Row) -> ScopeRow:
    """A row of `scope` as a value."""
    values = {name: row[name] for name in SCOPE_COLUMNS}
    try:
        values["kind"] = ScopeKind(values["kind"])
    except ValueError:
        # Not stored by the service: it can be locked and erased, and its seal holds nowhere.
        values |= {"kind": ScopeKind.SUBJECT, "seal": b""}
    return ScopeRow(**values)
