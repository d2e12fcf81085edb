"""Canonical bytes of rows, for their seals.

Every form starts with a versioned name, holds its fields in a fixed order and says the length of
whatever has no fixed one before any of it, so two different rows never give the same bytes. Integers
are 8 bytes signed, big endian; instants are microseconds since 1970 UTC; a double is IEEE 754; None
differs from every value. Tags and properties are sets: their order does not matter.

The read path makes these bytes for every row it returns, hence `struct` instead of a readable form.
A change of layout is a new version name and re-sealing, never an edit.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from math import isfinite
from struct import Struct
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# No instant that datetime can hold and no length has these values.
_NO_TIME = -(1 << 63)
_NO_VALUE = 0xFFFF_FFFF
# A turn's number is not negative.
_NO_TURN = -1

_REVISION = b"muniment.revision.v1\x00"
_SCOPE = b"muniment.scope-row.v1\x00"
_VECTOR = b"muniment.vector.v1\x00"

# uuids; integers; instants; confidence present, confidence; lengths of the variable fields, of tags
# and of properties (their numbers of entries).
_REVISION_HEAD = Struct(">16s16s16s 12q 6q ?d 13I")
_SCOPE_HEAD = Struct(">16s16s 7q 3I")
_VECTOR_HEAD = Struct(">16s16s16s 3q 2I")
_LENGTH = Struct(">I")
_TEXT = Struct(">IcI")
_DOUBLE = Struct(">Icd")
_BOOL = Struct(">Ic?")


def _micros(instant: datetime | None) -> int:
    # Subtracting a naive datetime raises TypeError, which is what it deserves here.
    return _NO_TIME if instant is None else (instant - _EPOCH) // _MICROSECOND


def revision_bytes(
    *,
    tenant_id: UUID,
    scope_id: UUID,
    key_epoch: int,
    memory_id: UUID,
    revision: int,
    content_revision: int,
    doc_no: int,
    kind: int,
    state: int,
    slot: str | None,
    agent: str | None,
    session: str | None,
    tags: Sequence[str],
    properties: Mapping[str, str | float | bool],
    source_type: int,
    trust: int,
    confidence: float | None,
    author: str | None,
    author_agent: str | None,
    origin_session: str | None,
    turn_number: int | None,
    source_ref: str | None,
    valid_from: datetime | None,
    valid_to: datetime | None,
    create_time: datetime,
    update_time: datetime,
    expire_time: datetime | None,
    supersedes: UUID | None,
    superseded_by: UUID | None,
    reinforce_count: int,
    reinforce_time: datetime | None,
    statement_hash: bytes | None,
    term_count: int,
    analyzer: int,
    content_ct: bytes | None,
) -> bytes:
    """Everything that gives one revision of a memory its meaning. The ciphertext enters by its SHA-256.

    Raises ValueError for text that is not well-formed Unicode and for a double that is not finite,
    TypeError for an instant without a time zone, struct.error for an integer beyond 64 bits.
    """
    pieces: list[bytes] = []
    lengths: list[int] = []
    for text in (slot, agent, session, author, author_agent, origin_session, source_ref):
        if text is None:
            lengths.append(_NO_VALUE)
        else:
            raw = text.encode()
            lengths.append(len(raw))
            pieces.append(raw)
    for data in (
        None if supersedes is None else supersedes.bytes,
        None if superseded_by is None else superseded_by.bytes,
        statement_hash,
        None if content_ct is None else sha256(content_ct).digest(),
    ):
        if data is None:
            lengths.append(_NO_VALUE)
        else:
            lengths.append(len(data))
            pieces.append(data)
    if tags:
        pieces.extend(_tags(tags))
    if properties:
        pieces.extend(_properties(properties))
    head = _REVISION_HEAD.pack(
        tenant_id.bytes,
        scope_id.bytes,
        memory_id.bytes,
        key_epoch,
        revision,
        content_revision,
        doc_no,
        kind,
        state,
        source_type,
        trust,
        reinforce_count,
        term_count,
        analyzer,
        _NO_TURN if turn_number is None else turn_number,
        _micros(valid_from),
        _micros(valid_to),
        (create_time - _EPOCH) // _MICROSECOND,
        (update_time - _EPOCH) // _MICROSECOND,
        _micros(expire_time),
        _micros(reinforce_time),
        confidence is not None,
        0.0 if confidence is None else _finite(confidence),
        *lengths,
        len(tags),
        len(properties),
    )
    return b"".join((_REVISION, head, *pieces))


def _tags(tags: Iterable[str]) -> list[bytes]:
    pieces = []
    for tag in sorted(tags):
        raw = tag.encode()
        pieces.append(_LENGTH.pack(len(raw)))
        pieces.append(raw)
    return pieces


def _properties(properties: Mapping[str, str | float | bool]) -> list[bytes]:
    pieces: list[bytes] = []
    for name in sorted(properties):
        value = properties[name]
        raw_name = name.encode()
        size = len(raw_name)
        if isinstance(value, str):
            raw = value.encode()
            pieces += (_TEXT.pack(size, b"s", len(raw)), raw_name, raw)
        elif isinstance(value, bool):
            pieces += (_BOOL.pack(size, b"b", value), raw_name)
        else:
            pieces += (_DOUBLE.pack(size, b"d", _finite(value)), raw_name)
    return pieces


def _finite(value: float) -> float:
    # jsonb gives a whole number back as int, and 0 for -0.0; both must seal as they were written.
    number = float(value) + 0.0
    if not isfinite(number):
        raise ValueError("a double in a sealed row is finite")
    return number


def scope_bytes(
    *,
    tenant_id: UUID,
    scope_id: UUID,
    kind: int,
    key_epoch: int,
    generation: int,
    live_count: int,
    live_terms: int,
    next_doc: int,
    set_count: int,
    set_digest: bytes,
    label_ct: bytes | None,
    consent: bytes | None,
) -> bytes:
    """A scope's row. `set_digest` is what is stored (`ScopeKey.hide_set`)."""
    label = None if label_ct is None else sha256(label_ct).digest()
    decided = None if consent is None else sha256(consent).digest()
    head = _SCOPE_HEAD.pack(
        tenant_id.bytes,
        scope_id.bytes,
        kind,
        key_epoch,
        generation,
        live_count,
        live_terms,
        next_doc,
        set_count,
        len(set_digest),
        _NO_VALUE if label is None else len(label),
        _NO_VALUE if decided is None else len(decided),
    )
    return b"".join((_SCOPE, head, set_digest, label or b"", decided or b""))


def vector_bytes(
    *,
    tenant_id: UUID,
    scope_id: UUID,
    memory_id: UUID,
    content_revision: int,
    model: str,
    dimension: int,
    state: int,
    vector: bytes,
) -> bytes:
    """What a model made of a memory's text: its vector as the database holds it, empty where there is none.

    A row that waits for its vector says nothing about a model: the name is empty and the dimension 0.
    """
    name = model.encode()
    head = _VECTOR_HEAD.pack(
        tenant_id.bytes,
        scope_id.bytes,
        memory_id.bytes,
        content_revision,
        dimension,
        state,
        len(name),
        len(vector),
    )
    return b"".join((_VECTOR, head, name, vector))
