"""The quick bound by which packing passes over contents that cannot fit."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.domain.ids import new_id
from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel
from muniment_server.domain.packing import PackItem, _quoted, least_tokens, pack
from muniment_server.domain.tokens import estimate_tokens

_TEXTS = st.text(
    st.sampled_from(
        '<>aAbZ09 \n\t"\\!.é茶\u202e\u2028\u200b\x7f\x85\U000e0041🍣\ufeff\u00ad\uffa0\ufffb\u3164'
    ),
    max_size=60,
) | st.text(max_size=60)


@given(_TEXTS)
def test_the_bound_is_never_above_the_estimate(content: str) -> None:
    assert least_tokens(content) <= estimate_tokens(_quoted(content))


@pytest.mark.parametrize("content", ["<" * 500, "!" * 500, "tea " * 500, "a " * 500, "茶" * 500])
def test_the_bound_is_near_the_estimate(content: str) -> None:
    assert least_tokens(content) > estimate_tokens(_quoted(content)) * 0.45


@pytest.mark.parametrize("budget", [100, 10_000, 190_000, 200_000])
def test_two_hundred_long_contents_are_packed_in_short_time(budget: int) -> None:
    items = [
        PackItem(
            memory_id=new_id(),
            kind=MemoryKind.FACT,
            trust=TrustLevel.HIGH,
            source_type=SourceType.USER_STATED,
            content=f"{number} " + "<" * 32_000,
            rank=number + 1,
        )
        for number in range(200)
    ]
    begun = time.perf_counter()
    assert pack(items, budget).tokens <= budget
    assert time.perf_counter() - begun < 5
