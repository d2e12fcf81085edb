"""Transactions: what fails is told, and nothing of it is left on the connection for who comes next."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from opentelemetry.sdk.trace import ReadableSpan

from muniment_server.storage.database import (
    Database,
    TransactionConflict,
    UniqueConflict,
    UnitOfWork,
    translate_exception,
)
from muniment_server.storage.queries import compile_statement
from muniment_server.telemetry.spans import span
from support.postgres import PostgresDatabase
from support.telemetry import Recorded, recording

STATEMENTS = {
    "one": "SELECT 1 AS one",
    "add": "INSERT INTO thing (id, name) VALUES (%(id)s, %(name)s)",
    "all": "SELECT * FROM thing ORDER BY id",
    "take": "SELECT id FROM thing WHERE id = %(id)s FOR UPDATE NOWAIT",
    "typed": "SELECT %(number)s::integer AS number, %(text)s::text AS text, %(many)s::bigint[] AS many",
    "broken": "SELECT 1 / %(by)s::integer AS one",
    "wait": "SELECT pg_sleep(%(seconds)s)::text AS slept",
    "prepared": "SELECT count(*) AS n FROM pg_prepared_statements WHERE statement LIKE %(like)s",
    "process": "SELECT pg_backend_pid() AS pid",
}


@pytest.fixture
def things(database: PostgresDatabase) -> PostgresDatabase:
    """A database with a table for these tests."""
    database.execute("CREATE TABLE thing (id integer PRIMARY KEY, name text)")
    database.execute("GRANT SELECT, INSERT, UPDATE ON thing TO muniment_app")
    return database


@pytest.fixture
async def pool(things: PostgresDatabase) -> AsyncIterator[Database]:
    """A pool of one connection."""
    made = things.app(max_size=1)
    for name, text in STATEMENTS.items():
        made.statements[name] = compile_statement(name, text)
    await made.open()
    yield made
    await made.close()


async def names(pool: Database) -> list[Any]:
    async with pool.transaction(None) as work:
        return [row["name"] for row in await work.fetch("all")]


async def add(work: UnitOfWork, number: int) -> None:
    await work.send("add", id=number, name=f"thing {number}")


async def test_what_is_queued_is_stored_by_the_commit(pool: Database, things: PostgresDatabase) -> None:
    async with pool.transaction(None) as work:
        await work.send_many("add", [{"id": number, "name": f"thing {number}"} for number in range(500)])
    assert things.row("SELECT count(*) AS n FROM thing")["n"] == 500


async def test_answers_come_in_their_order_whoever_is_asked_first(pool: Database) -> None:
    async with pool.transaction(None) as work:
        await add(work, 1)
        first, second, third = await work.fetch_together(
            ("all", {}), ("typed", {"number": 2, "text": "b", "many": [1]}), ("one", {})
        )
        await add(work, 2)
        assert (await work.fetch_one("one")) == {"one": 1}
    assert [row["name"] for row in first] == ["thing 1"]
    assert second == [{"number": 2, "text": "b", "many": [1]}]
    assert third == [{"one": 1}]
    assert await names(pool) == ["thing 1", "thing 2"]


async def test_statements_that_are_sent_together_share_their_time(pool: Database) -> None:
    slow, quick = ("wait", {"seconds": 0.2}), ("one", {})
    for requests in ((slow, quick), (quick, slow)):
        with recording() as recorded:
            with span("muniment.test"):
                async with pool.transaction(None) as work:
                    await work.fetch_together(*requests)
                    await work.fetch_together(quick)
            above = recorded.span("muniment.test")
            waited, asked, alone = (one for one in recorded.spans() if one is not above)
            seconds = {point.attributes["db.operation.name"]: point.sum for point in _durations(recorded)}
        assert [waited.name, asked.name, alone.name] == [*(name for name, _ in requests), "one"]
        for one in (waited, asked, alone):
            assert one.parent is not None
            assert above.context is not None
            assert one.parent.span_id == above.context.span_id
        for one in (waited, asked):
            assert (one.attributes or {})["db.operation.batch.size"] == 2
            assert _seconds(one) >= 0.2
        assert "db.operation.batch.size" not in (alone.attributes or {})
        assert _seconds(alone) < 0.2
        assert seconds["SELECT"] >= 0.4


async def test_a_failure_stands_in_the_span_of_what_failed_and_of_what_did_not_come_to_run(
    pool: Database,
) -> None:
    with recording() as recorded:
        with span("muniment.test"), pytest.raises(psycopg.errors.DivisionByZero):
            async with pool.transaction(None) as work:
                await work.fetch_together(("one", {}), ("broken", {"by": 0}), ("all", {}))
        failed = {one.name: (one.attributes or {}).get("error.type") for one in recorded.spans()}
    assert failed == {"one": None, "broken": "22012", "all": "22012", "muniment.test": None}
    assert recorded.running() == 0


def _seconds(one: ReadableSpan) -> float:
    assert one.start_time is not None
    assert one.end_time is not None
    return (one.end_time - one.start_time) / 1e9


def _durations(recorded: Recorded) -> list[Any]:
    return recorded.metrics()["db.client.operation.duration"]


async def test_large_answers_and_large_values_pass_each_other(pool: Database) -> None:
    text = "x" * 300_000
    async with pool.transaction(None) as work:
        answers = await work.fetch_together(
            *(("typed", {"number": number, "text": text, "many": []}) for number in range(20))
        )
    assert [rows[0]["number"] for rows in answers] == list(range(20))
    assert {rows[0]["text"] for rows in answers} == {text}


async def test_the_first_failure_is_told_and_nothing_is_stored(
    pool: Database, things: PostgresDatabase
) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await add(work, 1)
            await add(work, 1)
            await work.send("broken", by=0)

    with pytest.raises(UniqueConflict) as caught:
        await attempt()
    assert caught.value.constraint == "thing_pkey"
    assert things.rows("SELECT * FROM thing") == []
    assert await names(pool) == []


async def test_what_comes_behind_a_failure_fails_with_it(pool: Database) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await work.send("broken", by=0)
            with pytest.raises(psycopg.errors.DivisionByZero):
                await work.fetch("one")
            with pytest.raises(psycopg.errors.DivisionByZero):
                await work.fetch("one")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await attempt()
    assert await names(pool) == []


async def test_a_failure_is_told_although_it_was_passed_over(
    pool: Database, things: PostgresDatabase
) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await add(work, 1)
            with pytest.raises(psycopg.errors.DivisionByZero):
                await work.fetch("broken", by=0)

    with pytest.raises(psycopg.errors.DivisionByZero):
        await attempt()
    assert things.rows("SELECT * FROM thing") == []


async def test_a_lock_that_is_held_is_a_conflict(pool: Database, things: PostgresDatabase) -> None:
    async with pool.transaction(None) as work:
        await add(work, 1)
    with psycopg.connect(things.superuser_conninfo) as other:
        other.execute("SELECT id FROM muniment.thing FOR UPDATE")
        with pytest.raises(TransactionConflict):
            async with pool.transaction(None) as work:
                await work.fetch("take", id=1)
    async with pool.transaction(None) as work:
        assert await work.fetch("take", id=1) == [{"id": 1}]


async def test_an_error_of_ours_rolls_back_what_was_sent_and_what_was_not(
    pool: Database, things: PostgresDatabase
) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await add(work, 1)
            await work.fetch("one")
            await add(work, 2)
            raise LookupError

    with pytest.raises(LookupError):
        await attempt()
    assert things.rows("SELECT * FROM thing") == []
    assert await names(pool) == []


async def test_a_cancelled_call_ends_its_statement_and_keeps_the_connection(
    pool: Database, things: PostgresDatabase
) -> None:
    async with pool.transaction(None) as work:
        (before,) = await work.fetch("process")

    async def call() -> None:
        async with pool.transaction(None) as work:
            await add(work, 1)
            await work.fetch("wait", seconds=60)

    running = asyncio.create_task(call())
    async with asyncio.timeout(20):
        while not things.rows(  # noqa: ASYNC110 - there is no event
            "SELECT FROM pg_stat_activity WHERE pid = %s AND query LIKE '%%pg_sleep%%' AND state = 'active'",
            (before["pid"],),
        ):
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert things.rows("SELECT * FROM thing") == []
    async with pool.transaction(None) as work:
        assert await work.fetch("process") == [before]


async def test_who_is_cancelled_at_the_moment_of_a_connection_is_cancelled(pool: Database) -> None:
    for moments in range(25):
        entered = asyncio.Event()

        async def hold(entered: asyncio.Event = entered) -> None:
            async with pool.transaction(None):
                entered.set()
                await asyncio.Event().wait()

        async with pool.transaction(None):
            task = asyncio.create_task(hold())
            while not pool.pool_stats().pending:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0)
        for _ in range(moments):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=5)
        assert done, f"what was cancelled {moments} moments after a connection was free goes on"
        assert task.cancelled()
        assert pool.pool_stats().used == 0
    assert await names(pool) == []


async def test_a_frozen_database_keeps_no_connection_from_who_comes_next(pool: Database) -> None:
    frozen: list[int] = []

    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await add(work, 1)
            (row,) = await work.fetch("process")
            os.kill(row["pid"], signal.SIGSTOP)
            frozen.append(row["pid"])
            raise LookupError

    try:
        # Longer than one of ours, and shorter than for ever.
        async with asyncio.timeout(20):
            with pytest.raises(LookupError):
                await attempt()
            assert await names(pool) == []
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)


async def test_a_statement_has_the_calls_time(pool: Database) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        async with pool.transaction(None, timeout=0.05) as work:
            await work.fetch("wait", seconds=60)
    assert await names(pool) == []


async def test_an_ended_connection_is_an_outage_and_replaced(
    pool: Database, things: PostgresDatabase
) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            (row,) = await work.fetch("process")
            things.execute(f"SELECT pg_terminate_backend({row['pid']})")
            await work.fetch("wait", seconds=60)

    with pytest.raises(psycopg.OperationalError) as caught:
        await attempt()
    assert type(translate_exception(caught.value)).__name__ == "DatabaseUnavailable"
    assert await names(pool) == []


async def test_values_that_are_left_out_make_no_other_statement(pool: Database) -> None:
    for given in (
        {"number": 1, "text": "a", "many": [7_000_000_000]},
        {"number": None, "text": None, "many": None},
        {"number": 2, "text": None, "many": []},
        {"number": None, "text": "c", "many": [7_000_000_000, -1]},
    ):
        async with pool.transaction(None) as work:
            assert await work.fetch("typed", **given) == [given]
    async with pool.transaction(None) as work:
        assert await work.fetch("prepared", like="%bigint[]%") == [{"n": 1}]


async def test_numbers_of_any_size_arrive_as_they_are(pool: Database) -> None:
    pool.statements["lists"] = compile_statement(
        "lists",
        "SELECT %(whole)s::bigint[] AS whole, %(parts)s::float8[] AS parts, %(words)s::text[] AS words",
    )
    for whole, parts, words in (
        ([1], [0.1], ["a"]),
        (
            [1, -2],
            [0.30000000000000004, -0.0],
            ["{}", 'b"'],
        ),
        ([40_000], [5e-324, 1.7976931348623157e308], []),
        ([], [], ["NULL"]),
        ([-(2**63), 2**63 - 1, 3_000_000_000], [1e22, float("inf")], ["c"]),
        ([7], [2.5], ["d,e"]),
    ):
        async with pool.transaction(None) as work:
            assert await work.fetch("lists", whole=whole, parts=parts, words=words) == [
                {"whole": whole, "parts": parts, "words": words}
            ]


async def test_a_statement_that_came_behind_a_failure_is_prepared_again(pool: Database) -> None:
    async def attempt() -> None:
        async with pool.transaction(None) as work:
            await work.send("broken", by=0)
            await work.send("typed", number=1, text="a", many=[1])

    with pytest.raises(psycopg.errors.DivisionByZero):
        await attempt()
    async with pool.transaction(None) as work:
        assert len(await work.fetch("typed", number=1, text="a", many=[1])) == 1


async def test_a_plan_that_does_not_fit_any_more_fails_once(pool: Database, things: PostgresDatabase) -> None:
    async with pool.transaction(None) as work:
        await add(work, 1)
    assert await names(pool) == ["thing 1"]
    things.execute("ALTER TABLE thing ADD COLUMN more text DEFAULT 'm'")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        await names(pool)
    async with pool.transaction(None) as work:
        assert await work.fetch("all") == [{"id": 1, "name": "thing 1", "more": "m"}]
        assert await work.fetch("prepared", like="INSERT INTO thing%") == [{"n": 0}]


async def test_what_gives_no_rows_is_not_asked_for_them(pool: Database) -> None:
    with pytest.raises(psycopg.ProgrammingError):
        async with pool.transaction(None) as work:
            await work.fetch("add", id=1, name="a")
    assert await names(pool) == []


async def test_a_commit_goes_on_while_the_caller_does(pool: Database, things: PostgresDatabase) -> None:
    async with pool.transaction(None) as work:
        await add(work, 1)
        work.send_commit()
        async with asyncio.timeout(20):
            while not things.rows("SELECT * FROM thing"):  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError):
            await work.send("one")
    assert await names(pool) == ["thing 1"]


async def test_a_commit_that_fails_is_told_at_the_end(pool: Database, things: PostgresDatabase) -> None:
    things.execute("ALTER TABLE thing ADD CONSTRAINT once UNIQUE (name) DEFERRABLE INITIALLY DEFERRED")
    reached = False

    async def attempt() -> None:
        nonlocal reached
        async with pool.transaction(None) as work:
            await work.send("add", id=1, name="same")
            await work.send("add", id=2, name="same")
            work.send_commit()
            reached = True

    with pytest.raises(UniqueConflict) as caught:
        await attempt()
    assert reached
    assert caught.value.constraint == "once"
    assert await names(pool) == []
