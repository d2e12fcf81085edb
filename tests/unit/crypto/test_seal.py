"""Canonical bytes of rows: every field counts, and no two rows share their bytes."""

import struct
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_server.crypto.seal import revision_bytes, scope_bytes, vector_bytes
from muniment_server.domain.model import MemoryKind, MemoryState, SourceType, TrustLevel

MICROS = 1_772_600_767_000_089
NONE = 0xFFFF_FFFF
ANY = datetime(2026, 3, 4, 5, 6, 7, 89, UTC)
REVISION: dict[str, Any] = {
    "tenant_id": UUID(int=1),
    "scope_id": UUID(int=2),
    "key_epoch": 1,
    "memory_id": UUID(int=3),
    "revision": 2,
    "content_revision": 1,
    "doc_no": 17,
    "kind": MemoryKind.FACT,
    "state": MemoryState.ACTIVE,
    "slot": "home_city",
    "agent": None,
    "session": None,
    "tags": ("a", "b"),
    "properties": {"n": 1.5, "s": "x", "b": True},
    "source_type": SourceType.USER_STATED,
    "trust": TrustLevel.HIGH,
    "confidence": 0.75,
    "author": "key-1",
    "author_agent": "planner",
    "origin_session": "s-1",
    "turn_number": 7,
    "source_ref": None,
    "valid_from": ANY,
    "valid_to": None,
    "create_time": ANY,
    "update_time": ANY,
    "expire_time": None,
    "supersedes": None,
    "superseded_by": None,
    "reinforce_count": 0,
    "reinforce_time": None,
    "statement_hash": bytes(16),
    "term_count": 5,
    "analyzer": 1,
    "content_ct": b"ciphertext",
}
SCOPE: dict[str, Any] = {
    "tenant_id": UUID(int=1),
    "scope_id": UUID(int=2),
    "kind": 1,
    "key_epoch": 1,
    "generation": 4,
    "live_count": 3,
    "live_terms": 20,
    "next_doc": 9,
    "set_count": 5,
    "set_digest": bytes(48),
    "label_ct": b"label",
    "consent": b"consent",
}
VECTOR: dict[str, Any] = {
    "tenant_id": UUID(int=1),
    "scope_id": UUID(int=2),
    "memory_id": UUID(int=3),
    "content_revision": 1,
    "model": "model-a",
    "dimension": 2,
    "state": 1,
    "vector": b"\x00\x01\x02\x03",
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
instants = st.datetimes(timezones=st.just(UTC))
integers = st.integers(-(1 << 63), (1 << 63) - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("tenant_id", "scope_id", "memory_id"), st.uuids()),
    **dict.fromkeys(("supersedes", "superseded_by"), st.none() | st.uuids()),
    **dict.fromkeys(
        (
            "key_epoch",
            "revision",
            "content_revision",
            "doc_no",
            "kind",
            "state",
            "source_type",
            "trust",
            "reinforce_count",
            "term_count",
            "analyzer",
            "generation",
            "live_count",
            "live_terms",
            "next_doc",
            "set_count",
            "dimension",
        ),
        integers,
    ),
    **dict.fromkeys(
        ("slot", "agent", "session", "author", "author_agent", "origin_session", "source_ref"),
        st.none() | texts,
    ),
    **dict.fromkeys(("valid_from", "valid_to", "expire_time", "reinforce_time"), st.none() | instants),
    **dict.fromkeys(("create_time", "update_time"), instants),
    **dict.fromkeys(
        ("statement_hash", "content_ct", "label_ct", "consent"), st.none() | st.binary(max_size=4)
    ),
    **dict.fromkeys(("set_digest", "vector"), st.binary(max_size=4)),
    "model": texts,
    "turn_number": st.none() | st.integers(0, (1 << 63) - 1),
    "tags": st.lists(texts, max_size=3).map(sorted),
    "properties": st.dictionaries(texts, texts | doubles | st.booleans(), max_size=3),
    "confidence": st.none() | doubles,
}


def identity(row: dict[str, Any]) -> str:
    # 1.0 == True and 0 == False in Python; what is stored differs.
    return repr(
        {name: sorted(value.items()) if name == "properties" else value for name, value in row.items()}
    )


@pytest.mark.parametrize(
    ("encode", "base"),
    [(revision_bytes, REVISION), (scope_bytes, SCOPE), (vector_bytes, VECTOR)],
    ids=["revision", "scope", "vector"],
)
class TestEveryForm:
    @settings(max_examples=300)
    @given(data=st.data())
    def test_a_change_of_one_field_changes_the_bytes(
        self, encode: Any, base: Any, data: st.DataObject
    ) -> None:
        name = data.draw(st.sampled_from(sorted(base)))
        value = data.draw(VALUES[name])
        changed = {**base, name: value}
        assert (encode(**changed) == encode(**base)) == (identity(changed) == identity(base))

    @given(data=st.data())
    def test_two_rows_with_the_same_bytes_are_the_same(
        self, encode: Any, base: Any, data: st.DataObject
    ) -> None:
        # Short values from a tiny alphabet: what concatenation alone would confuse.
        small = {
            "slot": st.none() | st.text("ab", max_size=2),
            "agent": st.none() | st.text("ab", max_size=2),
            "session": st.none() | st.text("ab", max_size=2),
            "tags": st.lists(st.text("ab", max_size=2), max_size=3).map(sorted),
            "properties": st.dictionaries(
                st.text("ab", max_size=2),
                st.text("ab", max_size=2) | st.sampled_from([1.0, True, False]),
                max_size=2,
            ),
            "supersedes": st.none() | st.just(UUID(int=0)),
            "superseded_by": st.none() | st.just(UUID(int=0)),
            "valid_from": st.none() | st.just(ANY),
            "valid_to": st.none() | st.just(ANY),
            "confidence": st.none() | st.just(0.0),
            "statement_hash": st.none() | st.binary(max_size=1),
            "model": st.text("ab", max_size=2),
            "vector": st.sampled_from([b"", b"a", b"b", b"ab"]),
            "label_ct": st.none() | st.just(b""),
            "consent": st.none() | st.just(b""),
            "set_digest": st.binary(max_size=1),
        }
        rows = [
            {**base, **{name: data.draw(small[name]) for name in base if name in small}} for _ in range(2)
        ]
        assert (encode(**rows[0]) == encode(**rows[1])) == (identity(rows[0]) == identity(rows[1]))

    def test_every_field_has_a_test(self, encode: Any, base: Any) -> None:
        assert set(encode.__kwdefaults__ or ()) == set()
        assert set(encode.__annotations__) - {"return"} == set(base)
        assert set(base) <= set(VALUES)

    def test_equal_rows_have_equal_bytes(self, encode: Any, base: Any) -> None:
        assert encode(**base) == encode(**dict(reversed(base.items())))


def test_the_forms_do_not_meet() -> None:
    prefixes = {
        encode(**base).split(b"\x00")[0]
        for encode, base in ((revision_bytes, REVISION), (scope_bytes, SCOPE), (vector_bytes, VECTOR))
    }
    assert prefixes == {b"muniment.revision.v1", b"muniment.scope-row.v1", b"muniment.vector.v1"}


def test_the_layout_is_fixed() -> None:
    # A change here would break the seals of every stored row: make a new version instead.
    expected = b"".join(
        (
            b"muniment.revision.v1\x00",
            *(UUID(int=number).bytes for number in (1, 2, 3)),
            struct.pack(">12q", 1, 2, 1, 17, 2, 2, 1, 4, 0, 5, 1, 7),
            struct.pack(">6q", MICROS, -(1 << 63), MICROS, MICROS, -(1 << 63), -(1 << 63)),
            struct.pack(">?d", True, 0.75),
            struct.pack(">7I", 9, NONE, NONE, 5, 7, 3, NONE),
            struct.pack(">4I", NONE, NONE, 16, 32),
            struct.pack(">2I", 2, 3),
            b"home_citykey-1planners-1",
            bytes(16),
            sha256(b"ciphertext").digest(),
            struct.pack(">I", 1) + b"a" + struct.pack(">I", 1) + b"b",
            struct.pack(">Ic?", 1, b"b", True) + b"b",
            struct.pack(">Icd", 1, b"d", 1.5) + b"n",
            struct.pack(">IcI", 1, b"s", 1) + b"sx",
        )
    )
    assert revision_bytes(**REVISION) == expected


def test_tags_and_properties_are_sets() -> None:
    other = {**REVISION, "tags": ["b", "a"], "properties": {"b": True, "s": "x", "n": 1.5}}
    assert revision_bytes(**other) == revision_bytes(**REVISION)
    assert revision_bytes(**{**REVISION, "tags": ("a", "a", "b")}) != revision_bytes(**REVISION)


@pytest.mark.parametrize(("written", "read"), [(5.0, 5), (1e22, 10**22), (-0.0, 0), (-0.0, 0.0)])
def test_a_number_seals_as_jsonb_gives_it_back(written: float, read: float) -> None:
    rows = [{**REVISION, "properties": {"n": value}} for value in (written, read)]
    assert revision_bytes(**rows[0]) == revision_bytes(**rows[1])


def test_the_same_instant_in_another_zone_is_the_same() -> None:
    kolkata = timezone(timedelta(hours=5, minutes=30))
    other = {**REVISION, "create_time": ANY.astimezone(kolkata)}
    assert revision_bytes(**other) == revision_bytes(**REVISION)


@pytest.mark.parametrize("year", [1, 9999])
def test_all_years_have_exact_microseconds(year: int) -> None:
    one = datetime(year, 6, 1, 2, 3, 4, 5, UTC)
    other = one + timedelta(microseconds=1)
    assert revision_bytes(**{**REVISION, "valid_from": one}) != revision_bytes(
        **{**REVISION, "valid_from": other}
    )


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("create_time", datetime(2026, 1, 1), TypeError),  # noqa: DTZ001
        ("valid_to", datetime(2026, 1, 1), TypeError),  # noqa: DTZ001
        ("confidence", float("nan"), ValueError),
        ("properties", {"n": float("inf")}, ValueError),
        ("slot", "\ud83d", ValueError),
        ("tags", ["\ud83d"], ValueError),
        ("doc_no", 1 << 63, struct.error),
    ],
)
def test_refuses_what_has_no_bytes(name: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        revision_bytes(**{**REVISION, name: value})


def test_the_ciphertext_enters_by_its_digest() -> None:
    short = {**REVISION, "content_ct": b"x" * 100_000}
    long = {**REVISION, "content_ct": b"x" * 100_001}
    assert len(revision_bytes(**short)) == len(revision_bytes(**REVISION))
    assert revision_bytes(**short) != revision_bytes(**long)
