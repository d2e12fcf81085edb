"""Canonical bytes of audit events, and the steps of the chain over them (format version 1).

The bytes are JSON in UTF-8 that has exactly one spelling: keys in the order of their code points, no
white space, nothing escaped that need not be. Numbers are whole and of 64 bits; a fraction goes in as a
whole number of millionths, because two languages need not print the same double alike.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from struct import Struct
from typing import Any, NoReturn
from uuid import UUID

DIGEST_BYTES = 32
CHAIN_START = bytes(DIGEST_BYTES)
"""What the first event of a chain follows."""

CHECKPOINT_TYPE = "muniment.audit-checkpoint.v1"
_MAX_DEPTH = 32
_MIN_INTEGER, _MAX_INTEGER = -(1 << 63), (1 << 63) - 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_CHAIN_PREFIX = b"muniment.audit.v1\x00"
_SEQUENCE = Struct(">Q")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class CanonicalError(ValueError):
    """A value has no canonical bytes, or bytes are not canonical. Says where, never the value."""


def canonical_bytes(value: Mapping[str, Any]) -> bytes:
    """The one spelling of an object of str, int, bool, None, lists (or tuples) and dicts.

    Raises CanonicalError for anything else: a float, an integer beyond 64 bits, a key that is no
    string, half of a surrogate pair, more than 32 levels.
    """
    if not _is_plain(value, 0):
        _explain(value, "$", 0)
    try:
        return _ENCODER.encode(dict(value)).encode()
    except UnicodeEncodeError:
        raise CanonicalError("a string is not well-formed Unicode") from None


def parse_canonical(data: bytes) -> dict[str, Any]:
    """The object of canonical bytes. Raises CanonicalError unless they are exactly that."""
    try:
        value = json.loads(data.decode(), parse_float=_refuse, parse_constant=_refuse)
    except RecursionError:
        raise CanonicalError("nested too deeply") from None
    except ValueError as error:
        raise CanonicalError("not a JSON object of the canonical kind") from error
    # Another spelling, a repeated key included, does not come out the same again.
    if not isinstance(value, dict) or canonical_bytes(value) != data:
        raise CanonicalError("not in canonical form")
    return value


def _refuse(_text: str) -> Any:
    raise CanonicalError("a number is not whole")


def _is_plain(value: Any, depth: int) -> bool:
    # By exact type what nearly everything is, and its entries without a call for each.
    kind = type(value)
    if kind is dict and depth < _MAX_DEPTH:
        for key, item in value.items():
            kind = type(item)
            if type(key) is not str:
                return False if not isinstance(key, str) else _is_plain_at_all(value, depth)
            if kind is str or kind is bool or item is None:
                continue
            if kind is int:
                if not _MIN_INTEGER <= item <= _MAX_INTEGER:
                    return False
            elif not _is_plain(item, depth + 1):
                return False
        return True
    if (kind is list or kind is tuple) and depth < _MAX_DEPTH:
        return all(type(item) is str or _is_plain(item, depth + 1) for item in value)
    return _is_plain_at_all(value, depth)


def _is_plain_at_all(value: Any, depth: int) -> bool:
    if isinstance(value, str | bool) or value is None:
        return True
    if isinstance(value, int):
        return _MIN_INTEGER <= value <= _MAX_INTEGER
    if depth == _MAX_DEPTH:
        return False
    if isinstance(value, list | tuple):
        return all(_is_plain(item, depth + 1) for item in value)
    if isinstance(value, dict) or (depth == 0 and isinstance(value, Mapping)):
        for key, item in value.items():
            if not isinstance(key, str) or not _is_plain(item, depth + 1):
                return False
        return True
    return False


def _explain(value: Any, path: str, depth: int) -> NoReturn:
    """Raise for the first part of a value that is not plain. Apart, so that the rule stays fast."""
    if isinstance(value, int):
        raise CanonicalError(f"{path} is an integer beyond 64 bits")
    if depth == _MAX_DEPTH:
        raise CanonicalError(f"{path} is nested too deeply")
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if not _is_plain(item, depth + 1):
                _explain(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, dict) or (depth == 0 and isinstance(value, Mapping)):
        for key, item in value.items():
            if not isinstance(key, str):
                raise CanonicalError(f"{path} has a key that is no string")
            if not _is_plain(item, depth + 1):
                _explain(item, f"{path}.{key}", depth + 1)
    raise CanonicalError(f"{path} is a {type(value).__name__}")


def chain_digest(prev: bytes, sequence: int, event_bytes: bytes) -> bytes:
    """The digest of one link, as `ExportAudit` documents it.

    SHA-256 over "muniment.audit.v1", a zero byte, the previous digest (32 bytes), the sequence number (8
    bytes, big endian) and the event's canonical bytes; the first event has number 1 and follows
    CHAIN_START. Raises ValueError when `prev` has not 32 bytes, struct.error when the number does not fit.
    """
    if len(prev) != DIGEST_BYTES:
        raise ValueError(f"a chain digest has {DIGEST_BYTES} bytes")
    state = sha256(_CHAIN_PREFIX)
    state.update(prev)
    state.update(_SEQUENCE.pack(sequence))
    state.update(event_bytes)
    return state.digest()


def checkpoint_bytes(tenant_id: UUID, sequence: int, digest: bytes, time: datetime) -> bytes:
    """What `SigningKey.sign_checkpoint` signs: that the tenant's chain stood there at that time.

    Canonical JSON with "type", "tenant_id", "sequence", "digest" (hexadecimal) and "time" (microseconds
    since 1970 UTC).
    """
    if len(digest) != DIGEST_BYTES:
        raise ValueError(f"a chain digest has {DIGEST_BYTES} bytes")
    return canonical_bytes(
        {
            "type": CHECKPOINT_TYPE,
            "tenant_id": str(tenant_id),
            "sequence": sequence,
            "digest": digest.hex(),
            "time": (time - _EPOCH) // _MICROSECOND,
        }
    )
