"""In what two near statements differ, in two languages."""

import pytest

from muniment_server.domain.conflicts import is_near, shared_terms
from muniment_server.domain.differences import MOST_READ, MOST_READ_TOGETHER, Difference, Reader, differences

N, NAME, DATE, UNIT, NOT = (
    Difference.NUMBER,
    Difference.NAME,
    Difference.DATE,
    Difference.UNIT,
    Difference.NEGATION,
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("喜欢邮件通知", "不喜欢邮件通知", (NOT,)),
        ("报销额度 5000 元", "报销额度 50000 元", (N,)),
        ("报销额度五千元", "报销额度 5000 元", ()),
        ("报销额度五万元", "报销额度 5000 元", (N,)),
        ("报销额度 5000 元", "报销额度 5000 美元", (UNIT,)),
        ("我的猫叫咪咪", "我的狗叫旺财", (NAME,)),
        ("他住在上海", "他住在北京", (NAME,)),
        ("周五部署", "周一部署", (DATE,)),
        ("会议三点开始", "会议三点半开始", (DATE,)),
        ("这个方案不错", "这个方案很好", ()),
        ("没有过敏", "有过敏", (NOT,)),
        ("今天非常忙", "今天很忙", ()),
        ("User likes email notifications", "User does not like email notifications", (NOT,)),
        ("Can come on Monday", "Can't come on Monday", (NOT,)),
        ("prefers Rust", "prefers Python", (NAME,)),
        ("Takes the lift to floor 1", "Takes the lift to floor 10", (N,)),
        ("The deploy is on Friday", "The deploy is on Monday", (DATE,)),
        ("The deadline is 5 March", "The deadline is 3月5日", ()),
        ("The deadline is March 5", "The deadline is March 15", (DATE,)),
        ("Meeting 2025-03-05", "Meeting on 2025年3月5日", ()),
        ("The fee is $50", "The fee is 50 euros", (UNIT,)),
        ("weighs 5 kg", "weighs 6 lbs", (N, UNIT)),
        ("The budget is 48,000", "The budget is 48k", ()),
        ("Owes Ann 100 €", "Owes Bob 100 €", (NAME,)),
        ("Office opens at eight", "Office opens at 8:00", ()),
        ("My cat is called Mimi", "我的猫叫咪咪", ()),
        ("Does not like 5 of them", "Likes 6 of them", (N, NOT)),
        ("Likes tea", "Likes tea", ()),
    ],
)
def test_differences_are_named(one: str, other: str, expected: tuple[Difference, ...]) -> None:
    assert differences(one, other) == expected
    assert differences(other, one) == expected


@pytest.mark.parametrize(
    "run", ["九", "亿", "九亿", "万亿千", "1", "1,000", "twenty-one ", "\ufdfa", "12年", "五月"]
)
def test_a_number_without_an_end_is_compared_as_well(run: str) -> None:
    assert differences(run * 3_000, "Pays 5 euros") == differences("Pays 5 euros", run * 3_000)


def test_a_reader_looks_through_so_much_and_no_more() -> None:
    read = Reader()
    assert read.differences("Pays 5 euros", "Pays 6 euros") == (N,)
    assert read.differences("Pays 5 euros" + " " * MOST_READ, "Pays 5 euros" + " " * MOST_READ + "6") == ()
    for number in range(MOST_READ_TOGETHER // MOST_READ):
        read.differences(f"{number} " * MOST_READ, "Pays 5 euros")
    assert read.differences("Pays 7 euros", "Pays 6 euros" + " " * MOST_READ) == ()
    assert read.differences("Pays 5 euros", "Pays 6 euros") == (N,)


def test_nearness_needs_meaning_or_meaning_and_words() -> None:
    assert is_near(0.8, 0.0)
    assert is_near(0.65, 0.5)
    assert not is_near(0.65, 0.1)
    assert not is_near(0.5, 1.0)
    assert shared_terms({1, 2, 3}, {2, 3, 4, 5}) == pytest.approx(2 / 3)
    assert shared_terms((), {1}) == 0.0
