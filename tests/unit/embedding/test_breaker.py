"""When queries leave an embedder alone that does not answer them in time."""

import asyncio

import pytest

from muniment_server.embedding.breaker import Breaker
from muniment_server.embedding.errors import EmbedderOverloaded, EmbedderSlow, EmbedderUnavailable

FAIR, REST = 1.0, 5.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def broken(clock: Clock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(3):
        assert breaker.admits()
        breaker.late(FAIR)
    return breaker


def test_three_in_a_row_are_enough_and_two_are_not(clock: Clock) -> None:
    breaker = Breaker(clock)
    for _ in range(5):
        for _ in range(2):
            assert breaker.admits()
            breaker.late(FAIR)
        assert breaker.admits()
        breaker.answered()
    assert not broken(clock).admits()


def test_a_hurry_of_the_caller_counts_for_nothing(clock: Clock) -> None:
    breaker = Breaker(clock)
    for _ in range(10):
        breaker.late(0.01)
    assert breaker.admits()


def test_after_the_rest_one_is_tried_at_a_time(clock: Clock) -> None:
    breaker = broken(clock)
    clock.now += REST - 0.01
    assert not breaker.admits()
    clock.now += 0.01
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.late(FAIR)
    assert not breaker.admits(), "the rest began anew"
    clock.now += REST
    assert breaker.admits()
    breaker.given_up()
    assert breaker.admits(), "who went away said nothing"
    breaker.answered()
    assert [breaker.admits() for _ in range(3)] == [True, True, True]


def test_a_hasty_trial_leaves_it_to_the_next_one(clock: Clock) -> None:
    breaker = broken(clock)
    clock.now += REST
    assert breaker.admits()
    breaker.late(0.01)
    assert breaker.admits()


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (TimeoutError(), True),
        (EmbedderSlow("slow"), True),
        (EmbedderUnavailable("failed"), False),
        (EmbedderOverloaded("full"), None),
        (asyncio.CancelledError(), None),
    ],
)
def test_what_is_late_counts_and_what_fails_does_not(
    clock: Clock, error: BaseException, counts: bool | None
) -> None:
    breaker = Breaker(clock)
    breaker.late(FAIR)
    breaker.late(FAIR)
    with pytest.raises(type(error)), breaker.watching(FAIR):
        raise error
    assert breaker.admits() is (counts is not True)
    breaker.late(FAIR)
    # A failure is an answer, and begins the count anew; who gave up leaves it as it was.
    assert breaker.admits() is (counts is False)


def test_answers_that_were_under_way_end_the_rest(clock: Clock) -> None:
    breaker = broken(clock)
    breaker.answered()
    assert breaker.admits()


def test_late_queries_of_one_tenant_rest_the_embedder_for_it_alone(clock: Clock) -> None:
    breaker = Breaker(clock)
    for _ in range(20):
        breaker.late(FAIR, "hasty")
    assert not breaker.admits("hasty")
    assert breaker.admits("other")
    breaker.answered("other")
    assert not breaker.admits("hasty"), "an answer to another says nothing of its own queries"
    clock.now += REST
    assert [breaker.admits("hasty") for _ in range(2)] == [True, False]


def test_late_queries_of_two_tenants_rest_it_for_all(clock: Clock) -> None:
    breaker = Breaker(clock)
    for tenant in ("one", "two", "one"):
        assert breaker.admits(tenant)
        breaker.late(FAIR, tenant)
    assert not any(breaker.admits(tenant) for tenant in ("one", "two", "three"))
    clock.now += REST
    assert [breaker.admits(tenant) for tenant in ("three", "one", "two")] == [True, False, False]
    breaker.answered("three")
    assert all(breaker.admits(tenant) for tenant in ("one", "two", "three"))


def test_late_queries_of_many_tenants_are_not_remembered_without_end(clock: Clock) -> None:
    breaker = Breaker(clock)
    for tenant in range(5000):
        breaker.late(FAIR, tenant)
        breaker.answered("well")
    for _ in range(2):
        breaker.late(FAIR, 4999)
    assert not breaker.admits(4999)
    assert len(breaker._rows) <= 1024
