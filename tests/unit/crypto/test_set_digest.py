"""The digest of a set of rows depends on what is in it and on nothing else."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.crypto.set_digest import SetDigest

elements = st.binary(min_size=32, max_size=32)
several = st.lists(elements, max_size=12)


@given(st.data())
def test_the_order_does_not_matter(data: st.DataObject) -> None:
    items = data.draw(several)
    assert SetDigest.of(data.draw(st.permutations(items))) == SetDigest.of(items)


@given(several, several)
def test_removing_undoes_adding(kept: list[bytes], gone: list[bytes]) -> None:
    before = SetDigest.of(kept)
    assert before.add(*gone).remove(*gone) == before
    assert SetDigest.of([*kept, *gone]).remove(*kept) == SetDigest.of(gone)


@given(several, several)
def test_combining_is_the_digest_of_both(one: list[bytes], two: list[bytes]) -> None:
    assert SetDigest.of(one).combine(SetDigest.of(two)) == SetDigest.of([*one, *two])


@given(st.lists(st.integers(0, 5), max_size=8), st.lists(st.integers(0, 5), max_size=8))
def test_two_multisets_of_hashed_elements_never_meet(one: list[int], two: list[int]) -> None:
    def digest(numbers: list[int]) -> SetDigest:
        return SetDigest.of(blake2b(bytes([number]), key=b"k", digest_size=32).digest() for number in numbers)

    assert (digest(one) == digest(two)) == (sorted(one) == sorted(two))


@given(several)
def test_value_and_count(items: list[bytes]) -> None:
    digest = SetDigest.of(items)
    assert digest.count == len(items)
    assert len(digest.value) == 32
    assert SetDigest(digest.count, int.from_bytes(digest.value)) == digest


def test_the_empty_set() -> None:
    assert SetDigest() == SetDigest.of([])
    assert SetDigest().value == bytes(32)


def test_the_sum_wraps_around() -> None:
    assert SetDigest.of([b"\xff" * 32, bytes(31) + b"\x02"]).value == bytes(31) + b"\x01"


def test_refusals() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SetDigest.of([b"short"])
    with pytest.raises(ValueError, match="count"):
        SetDigest().remove(bytes(32))
    with pytest.raises(ValueError, match="256 bits"):
        SetDigest(0, 1 << 256)


def test_the_sum_is_not_shown() -> None:
    digest = SetDigest.of([b"\x11" * 32])
    assert repr(digest) == "SetDigest(count=1)"
