"""Which of the errors of a pipeline is told: that of the statement that failed."""

import psycopg
import pytest

from muniment_server.storage.database import _what_failed


def aborted_after(*failures: Exception) -> psycopg.Error:
    """What the driver raises when it reads the statements behind a failure after the failure."""
    caught: Exception | None = None
    for failure in (*failures, psycopg.errors.PipelineAborted("pipeline aborted")):
        try:
            try:
                if caught is not None:
                    raise caught
            finally:
                raise failure
        except Exception as error:  # noqa: BLE001
            caught = error
    assert isinstance(caught, psycopg.Error)
    return caught


@pytest.mark.parametrize("between", [(), (psycopg.errors.PipelineAborted("again"),)])
def test_what_comes_behind_a_failure_does_not_hide_it(between: tuple[Exception, ...]) -> None:
    failure = psycopg.errors.UniqueViolation("taken")
    assert _what_failed(aborted_after(failure, *between)) is failure
    assert _what_failed(failure) is failure


def test_without_a_failure_of_the_database_it_stays_what_it_is() -> None:
    for raised in (aborted_after(), aborted_after(ValueError("ours"))):
        assert _what_failed(raised) is raised
