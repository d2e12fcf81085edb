"""Connections, transactions and the translation of the driver's errors.

One transaction belongs to one tenant. Its `BEGIN` and `SET LOCAL` lines travel in one pipeline with
the first statement; nothing of a session's state outlives the transaction on a pooled connection.
"""

import asyncio
import json
import select
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader, Transformer
from psycopg.pq import Format
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from muniment_server.connection_pool import ConnectionPool
from muniment_server.domain.errors import (
    DatabaseUnavailable,
    DeadlineExceeded,
    IntegrityViolation,
    MunimentError,
    Overloaded,
    TransactionConflict,
)
from muniment_server.telemetry.instruments import metrics
from muniment_server.telemetry.metrics import PoolStats
from muniment_server.telemetry.spans import sql_span, sql_spans

from .exchange import Answer, Exchange, Kept
from .queries import Statement, load_statements

Row = dict[str, Any]
Connection = AsyncConnection[Row]

_INSTANT_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_OUTAGE_PATIENCE = 0.5
"""Seconds that a call waits for a connection while there is none at all."""
_CONTENTION = frozenset({"40001", "40P01", "55P03"})


class UniqueConflict(Exception):
    """A unique constraint refused a row; `constraint` is its name without a shard's suffix."""

    def __init__(self, constraint: str) -> None:
        super().__init__(constraint)
        self.constraint = constraint


def translate_exception(error: BaseException) -> MunimentError | None:
    """The caller's error for a driver's exception, or None where it is not the driver's.

    Decides by SQLSTATE and class only: names and texts of the database never leave this module.
    """
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        return Overloaded("database_connections")
    if isinstance(error, PoolClosed):
        return DatabaseUnavailable("connection")
    if isinstance(error, UniqueConflict):
        # Whoever writes holds the lock under which numbers and slots are given out: what collides then
        # was put there by somebody else.
        return IntegrityViolation()
    if isinstance(error, psycopg.errors.QueryCanceled):
        return DeadlineExceeded()
    if isinstance(error, psycopg.Error):
        state = error.sqlstate or ""
        if state in _CONTENTION:
            return TransactionConflict()
        if state[:2] in ("08", "53", "57") or (isinstance(error, psycopg.OperationalError) and not state):
            return DatabaseUnavailable("connection")
    return None


class UnitOfWork:
    """One transaction of one tenant. Every named statement gets `tenant_id` bound by itself."""

    def __init__(
        self,
        exchange: Exchange,
        tenant_id: UUID | None,
        statements: Mapping[str, Statement],
    ) -> None:
        self._exchange = exchange
        self._tenant_id = tenant_id
        self._statements = statements

    @property
    def tenant_id(self) -> UUID:
        """The tenant of this transaction."""
        if self._tenant_id is None:
            raise RuntimeError("this transaction has no tenant")
        return self._tenant_id

    async def fetch(self, name: str, /, **values: Any) -> list[Row]:
        """Run a named statement and return its rows; this is a round trip."""
        statement = self._statements[name]
        with sql_span(statement):
            return await self._exchange.rows(self._send(statement, values))

    async def fetch_together(self, *requests: tuple[str, Mapping[str, Any]]) -> list[list[Row]]:
        """Run several named statements, in their order, in one round trip; the rows of each."""
        statements = [self._statements[name] for name, _ in requests]
        answers: list[Answer] = []
        with sql_spans(statements, lambda place: _came(answers, place)):
            for statement, (_, values) in zip(statements, requests, strict=True):
                answers.append(self._send(statement, values))
            # With the answer of the last one come all others: each is waited for by itself no more.
            return [await self._exchange.rows(answer) for answer in reversed(answers)][::-1]

    async def fetch_one(self, name: str, /, **values: Any) -> Row | None:
        """The first row, or None."""
        rows = await self.fetch(name, **values)
        return rows[0] if rows else None

    async def send(self, name: str, /, **values: Any) -> None:
        """Queue a named statement without waiting; its error surfaces at the next round trip."""
        self._send(self._statements[name], values)

    async def send_many(self, name: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Queue a statement once per row of values."""
        statement = self._statements[name]
        for values in rows:
            self._send(statement, values)

    def send_commit(self) -> None:
        """Have the server commit while the caller goes on; nothing can be sent any more.

        Whether it is committed is known at the end of the transaction, and not before.
        """
        self._exchange.send_commit()

    def _send(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        if self._tenant_id is not None:
            values = {"tenant_id": self._tenant_id, **values}
        return self._exchange.send(statement, values)


def _came(answers: Sequence[Answer], place: int) -> bool:
    return place < len(answers) and answers[place].result is not None


class Database:
    """A pool of one role's connections. Open it before use; `transaction` is the only way in."""

    def __init__(
        self,
        conninfo: str,
        *,
        max_size: int,
        min_size: int = 1,
        acquire_timeout: float = 5.0,
        statements: Mapping[str, Statement] | None = None,
        name: str = "app",
    ) -> None:
        self.statements: dict[str, Statement] = dict(statements or load_statements())
        self._unreachable = False
        self._held = 0
        self._handed_out = 0
        self.pool: ConnectionPool[Connection] = ConnectionPool(
            conninfo,
            connection_class=_reporting(self._connected),
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "cursor_factory": AsyncRawCursor,
                # Instants at the edges of the calendar survive only in UTC; the server's zone is not ours.
                "options": "-c timezone=UTC",
            },
            min_size=min_size,
            max_size=max_size,
            timeout=acquire_timeout,
            max_waiting=max_size * 64,
            reconnect_timeout=5.0,
            configure=_configure,
            check=None,
            open=False,
            name=name,
        )

    async def open(self) -> None:
        """Open the pool and wait for the first connection; raises DatabaseUnavailable."""
        try:
            await self.pool.open(wait=True, timeout=20.0)
        except PoolTimeout as error:
            raise DatabaseUnavailable("connection") from error

    async def close(self) -> None:
        """Close all connections."""
        await self.pool.close()

    @asynccontextmanager
    async def transaction(
        self,
        tenant_id: UUID | None,
        *,
        timeout: float | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> AsyncIterator[UnitOfWork]:
        """A transaction of one tenant, committed on a clean exit, rolled back otherwise.

        timeout: seconds that a statement may run (`statement_timeout`).
        settings: further transaction-local settings; values must be canonical text of parsed values.
        Raises UniqueConflict, TransactionConflict (nothing was changed, it may be tried again), or the
        driver's errors (see `translate_exception`).
        """
        lines = ["BEGIN", "SET LOCAL citus.propagate_set_commands = 'local'"]
        if tenant_id is not None:
            lines.append(f"SET LOCAL app.tenant_id = '{UUID(int=tenant_id.int)}'")
        if timeout is not None:
            lines.append(f"SET LOCAL statement_timeout = {max(1, int(timeout * 1000))}")
        for key, value in (settings or {}).items():
            lines.append(f"SET LOCAL {key} = '{value}'")
        async with self._connection(timeout) as connection:
            exchange = Exchange(connection, _kept(connection))
            try:
                exchange.begin(lines)
                yield UnitOfWork(exchange, tenant_id, self.statements)
                await exchange.commit()
            except psycopg.errors.UniqueViolation as error:
                raise UniqueConflict(_constraint(error)) from error
            except psycopg.Error as error:
                if error.sqlstate in _CONTENTION:
                    raise TransactionConflict from error
                raise
            finally:
                if not exchange.over:
                    await _roll_back(connection, exchange)

    @asynccontextmanager
    async def _connection(self, timeout: float | None) -> AsyncIterator[Connection]:
        wait = self.pool.timeout if timeout is None else min(self.pool.timeout, timeout)
        started = time.perf_counter()
        connection = await self._living_connection(wait)
        metrics().connection_wait(self.pool.name, time.perf_counter() - started)
        self._held += 1
        self._handed_out += 1
        try:
            yield connection
        finally:
            self._held -= 1
            await asyncio.shield(self.pool.putconn(connection))

    async def _living_connection(self, wait: float) -> Connection:
        # An idle connection whose socket is readable was closed by the server (or has a notice
        # waiting): only then is a round trip spent on asking, so that the ordinary call pays nothing.
        end = time.monotonic() + wait
        while True:
            connection = await self._pooled_connection(max(0.0, end - time.monotonic()))
            readable, _, _ = select.select([connection.fileno()], [], [], 0)
            if not readable:
                return connection
            try:
                await ConnectionPool.check_connection(connection)
            except psycopg.Error:
                await self.pool.putconn(connection)
            except BaseException:
                await asyncio.shield(self.pool.putconn(connection))
                raise
            else:
                return connection

    async def _pooled_connection(self, wait: float) -> Connection:
        """A connection of the pool. While the database cannot be reached nobody waits long to hear of it:
        raises DatabaseUnavailable then, and PoolTimeout when all connections are busy."""
        end = time.monotonic() + wait
        before = self._handed_out
        while True:
            left = max(0.0, end - time.monotonic())
            patience = left if self._held else min(left, _OUTAGE_PATIENCE)
            try:
                return await self.pool.getconn(patience)
            except PoolTimeout:
                if self._unreachable and not self._held:
                    raise DatabaseUnavailable("connection") from None
                if patience >= left:
                    # Connections that end before anybody works with them are no sign of many callers.
                    if not self._held and self._handed_out == before and wait >= _OUTAGE_PATIENCE:
                        raise DatabaseUnavailable("connection") from None
                    raise

    def _connected(self, succeeded: bool) -> None:
        self._unreachable = not succeeded

    def pool_stats(self) -> PoolStats:
        """The pool's state for the metrics."""
        stats = self.pool.get_stats()
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        return PoolStats(size - idle, idle, self.pool.max_size, stats.get("requests_waiting", 0))

    async def check(self) -> None:
        """One round trip, for readiness; raises when the database does not answer."""
        async with self.transaction(None, timeout=2.0) as work:
            await work.fetch("ping")


def _reporting(tell: Callable[[bool], None]) -> type[Connection]:
    """A connection class that tells of every attempt to connect whether it succeeded."""

    class Reporting(AsyncConnection[Row]):
        @classmethod
        async def connect(cls, *args: Any, **kwargs: Any) -> Any:
            try:
                made = await super().connect(*args, **kwargs)
            except psycopg.OperationalError:
                tell(False)
                raise
            tell(True)
            return made

    return Reporting


async def _roll_back(connection: Connection, exchange: Exchange) -> None:
    # A cancelled or failed transaction must not reach the next caller: either it is rolled back
    # here, or the connection is closed and the pool replaces it.
    try:
        async with asyncio.timeout(2.0):
            await exchange.abandon()
            if (
                not connection.closed
                and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            ):
                await connection.rollback()
    except BaseException as error:
        with suppress(Exception):
            await connection.close()
        # Why the transaction failed is told already.
        if not isinstance(error, (psycopg.Error, TimeoutError)):
            raise


def _kept(connection: Connection) -> Kept:
    # Every connection of the pool is of the class that `_reporting` makes.
    kept: Kept = cast("Any", connection).kept
    return kept


async def _configure(connection: Connection) -> None:
    await register_vector_async(connection)
    connection.adapters.register_loader("timestamptz", _Instant)
    set_json_loads(_json, connection)
    # Only now: what adapts values knows what was registered before it.
    cast("Any", connection).kept = Kept(Transformer(connection))


class _Instant(Loader):
    """Loads an instant; one that datetime cannot hold (an infinity, a year beyond 1 to 9999) as an int.

    The service never stores such a one. Raising here, as the driver does, would fail a whole answer for
    one row that somebody else wrote.
    """

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime | int:
        micros = int.from_bytes(data, signed=True)
        try:
            return _INSTANT_ZERO + timedelta(microseconds=micros)
        except OverflowError:
            return micros


def _json(data: str | bytes) -> Any:
    # What most memories have, of properties.
    if data == b"{}":
        return {}
    # For the same reason: numbers of any length and nesting of any depth are JSON for the database.
    try:
        return json.loads(data)
    except (RecursionError, ValueError):
        return None


def _constraint(error: psycopg.errors.UniqueViolation) -> str:
    name = error.diag.constraint_name or ""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name
