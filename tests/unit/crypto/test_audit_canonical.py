"""Canonical bytes of audit events: one spelling, and a chain anybody can recompute."""

import json
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.audit.canonical import (
    CHAIN_START,
    CanonicalError,
    canonical_bytes,
    chain_digest,
    checkpoint_bytes,
    parse_canonical,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(text, values, max_size=6)


@given(objects)
def test_round_trip(value: dict[str, Any]) -> None:
    data = canonical_bytes(value)
    assert parse_canonical(data) == value
    assert json.loads(data) == value


@given(objects)
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert canonical_bytes(dict(reversed(value.items()))) == canonical_bytes(value)


def _same(one: Any, two: Any) -> bool:
    # 1 == True in Python, but not in JSON.
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


@given(objects, objects)
def test_different_objects_have_different_bytes(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert (canonical_bytes(one) == canonical_bytes(two)) == _same(one, two)


def test_the_spelling() -> None:
    value = {"b": [1, None, True, 'é\u2028\n"\\'], "a": {}, "Z": -1, "é": "", "ab": (1, 2)}
    assert canonical_bytes(value) == (
        '{"Z":-1,"a":{},"ab":[1,2],"b":[1,null,true,"é\u2028\\n\\"\\\\"],"é":""}'.encode()
    )


def test_enumerations_are_their_values() -> None:
    class Number(IntEnum):
        ONE = 1

    class Name(StrEnum):
        A = "a"

    assert canonical_bytes({"n": Number.ONE, "s": Name.A}) == b'{"n":1,"s":"a"}'


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1.0},
        {"a": [float("nan")]},
        {"a": 1 << 63},
        {"a": -(1 << 63) - 1},
        {"a": b"bytes"},
        {"a": {1: "x"}},
        {1: "x"},
        {"a": {1, 2}},
        {"a": datetime(2026, 1, 1, tzinfo=UTC)},
        {"a": "\ud83d"},
        {"\ud83d": 1},
    ],
)
def test_refuses_what_has_no_one_spelling(value: dict[str, Any]) -> None:
    with pytest.raises(CanonicalError):
        canonical_bytes(value)


def test_refuses_depth() -> None:
    value: dict[str, Any] = {}
    for _ in range(31):
        value = {"a": value}
    assert parse_canonical(canonical_bytes(value)) == value
    with pytest.raises(CanonicalError, match="deep"):
        canonical_bytes({"a": value})


def test_the_message_names_the_place_not_the_value() -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes({"scores": [1, 3.25]})
    assert str(caught.value) == "$.scores[1] is a float"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"1",
        b"{",
        b'{"a": 1}',
        b'{"a":1} ',
        b'\xef\xbb\xbf{"a":1}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":NaN}',
        b'{"a":-0}',
        b'{"a":01}',
        b'{"a":9223372036854775808}',
        b'{"a":' + b"1" * 5000 + b"}",
        b'{"a":"\\u00e9"}',
        b'{"a":"\\ud83d"}',
        b'{"a":"\xff"}',
        b'{"a":"\\/"}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_refuses_other_spellings(data: bytes) -> None:
    with pytest.raises(CanonicalError):
        parse_canonical(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    try:
        value = parse_canonical(data)
    except CanonicalError:
        return
    assert canonical_bytes(value) == data


def test_the_chain_is_what_the_contract_says() -> None:
    event = canonical_bytes({"action": 1})
    first = chain_digest(CHAIN_START, 1, event)
    assert first == sha256(b"muniment.audit.v1\x00" + bytes(32) + (1).to_bytes(8) + event).digest()
    second = chain_digest(first, 2, event)
    assert second == sha256(b"muniment.audit.v1\x00" + first + (2).to_bytes(8) + event).digest()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 1 << 40), st.binary(max_size=20))
def test_a_link_depends_on_everything(prev: bytes, sequence: int, event: bytes) -> None:
    digest = chain_digest(prev, sequence, event)
    assert digest != chain_digest(prev, sequence + 1, event)
    assert digest != chain_digest(prev, sequence, event + b"\x00")
    assert digest != chain_digest(bytes([prev[0] ^ 1]) + prev[1:], sequence, event)


@pytest.mark.parametrize("prev", [b"", bytes(31), bytes(33)])
def test_a_link_needs_a_whole_digest(prev: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        chain_digest(prev, 1, b"{}")
    with pytest.raises(ValueError, match="32 bytes"):
        checkpoint_bytes(UUID(int=1), 1, prev, datetime.now(UTC))


def test_checkpoint_bytes_state_tenant_place_and_time() -> None:
    data = checkpoint_bytes(UUID(int=1), 9, bytes(32), datetime(1970, 1, 1, 0, 0, 1, 5, UTC))
    assert parse_canonical(data) == {
        "type": "muniment.audit-checkpoint.v1",
        "tenant_id": "00000000-0000-0000-0000-000000000001",
        "sequence": 9,
        "digest": "00" * 32,
        "time": 1_000_005,
    }
