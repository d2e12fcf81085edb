"""The statements of one transaction: sent together, and answered in their order.

The driver's own pipeline makes a cursor for each statement, hands each to the socket by itself and looks for
answers in between, which costs more than most of our statements do. Here they leave when somebody waits for
an answer, and how values are adapted and what is prepared is kept with the connection.
"""

import sys
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from psycopg.abc import PQGen, Transformer
from psycopg.adapt import PyFormat
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.postgres import types
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult

from .queries import Statement

_Row = dict[str, Any]
_Key = tuple[str, tuple[int, ...]]

_MOST_PREPARED: Final = 400
"""On one connection: each is a plan that the server keeps."""
_SAYS_NOTHING_OF_PLANS: Final = ("22", "23", "40", "55", "57")
"""Classes of errors that leave what is prepared as good as it was."""
_INT, _FLOAT = frozenset({int}), frozenset({float})
_BOUNDS: Final[Mapping[int, tuple[frozenset[type], float, float]]] = {
    types["int2"].array_oid: (_INT, -(1 << 15), (1 << 15) - 1),
    types["int4"].array_oid: (_INT, -(1 << 31), (1 << 31) - 1),
    types["int8"].array_oid: (_INT, -(1 << 63), (1 << 63) - 1),
    types["float8"].array_oid: (_FLOAT, -sys.float_info.max, sys.float_info.max),
}
"""By the types of lists of numbers: what is in one, from where to where."""
_DONE: Final = frozenset(
    (int(ExecStatus.TUPLES_OK), int(ExecStatus.COMMAND_OK), int(ExecStatus.PIPELINE_SYNC))
)


@dataclass(slots=True)
class Answer:
    """What a statement is answered, once it is read."""

    prepared: "_Prepared"
    result: PGresult | None = None


@dataclass(slots=True)
class _Prepared:
    name: bytes
    key: _Key
    columns: tuple[str, ...] | None = None
    known: bool = False
    """Whether the server has said that it is."""


@dataclass(slots=True)
class Kept:
    """What a connection keeps from one transaction to the next."""

    transformer: Transformer
    prepared: OrderedDict[_Key, _Prepared] = field(default_factory=OrderedDict)
    types: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each statement's values when last seen, so that one left out makes no other statement of it."""
    made: int = 0
    stale: bool = False
    """Whether the server still has prepared what is not to be used any more."""

    def adapted(self, statement: Statement, values: list[Any]) -> tuple[Sequence[Any], tuple[int, ...]]:
        """The values as they are sent, and their types."""
        before = self.types.get(statement.text)
        untyped: list[int] = []
        if before is not None:
            for place, value in enumerate(values):
                # The driver gives no type to what is None or an empty list; to the server it may have any.
                if value is None:
                    untyped.append(place)
                elif type(value) is list:
                    numbers = _as_text(value, before[place])
                    if numbers is not None:
                        values[place] = numbers
                        untyped.append(place)
        adapted = self.transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        given = self.transformer.types or ()
        if before is not None and before != given:
            merged = list(given)
            for place in untyped:
                merged[place] = before[place]
            given = tuple(merged)
        self.types[statement.text] = given
        return adapted, given

    def forget(self) -> None:
        """Use nothing again of what is prepared."""
        self.prepared.clear()
        self.types.clear()
        self.stale = True


def _as_text(values: list[Any], kind: int) -> str | None:
    """A list of numbers as the server reads one of the given type; None where it has to be adapted.

    The driver looks for the type of a list anew each time, which takes longer than to write it down.
    """
    if not values:
        return "{}"
    bounds = _BOUNDS.get(kind)
    if bounds is None or not bounds[0].issuperset(map(type, values)):
        return None
    if not bounds[1] <= min(values) <= max(values) <= bounds[2]:
        return None
    return "{" + ",".join(map(repr, values)) + "}"


class Exchange:
    """One transaction on a connection. After its first failure nothing of it is answered any more."""

    def __init__(self, connection: AsyncConnection[Any], kept: Kept) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._kept = kept
        self._awaited: deque[Answer | _Prepared | None] = deque()
        self._failure: psycopg.Error | None = None
        self._ending = False
        self.over = False
        """Whether everything was answered and the connection is as it was before."""

    def begin(self, lines: Sequence[str]) -> None:
        """Queue what a transaction begins with."""
        self._pgconn.enter_pipeline_mode()
        for line in lines:
            self._line(line)
        if self._kept.stale:
            self._kept.stale = False
            self._line("DEALLOCATE ALL")

    def send(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        """Queue a statement."""
        if self._ending:
            raise RuntimeError("the transaction is ending")
        kept, pgconn = self._kept, self._pgconn
        adapted, kinds = kept.adapted(statement, statement.arguments(values))
        formats = kept.transformer.formats
        key = (statement.text, kinds)
        prepared = kept.prepared.get(key)
        if prepared is None:
            prepared = self._prepare(key)
        kept.prepared.move_to_end(key)
        pgconn.send_query_prepared(prepared.name, adapted, formats, Format.BINARY)
        answer = Answer(prepared)
        self._awaited.append(answer)
        return answer

    async def rows(self, answer: Answer) -> list[_Row]:
        """The rows that a statement is answered; a round trip, unless they came with those of a later one."""
        if answer.result is None and self._failure is None:
            self._pgconn.send_flush_request()
            await self._connection.wait(self._read(answer))
        result, answer.result = answer.result, None
        if result is None:
            raise self._failure or psycopg.InternalError("a statement was not answered")
        columns = answer.prepared.columns
        if columns is None:
            names = [result.fname(place) or b"" for place in range(result.nfields)]
            columns = answer.prepared.columns = tuple(name.decode() for name in names)
        if not columns:
            raise psycopg.ProgrammingError("a statement without rows was asked for them")
        names_of = columns
        transformer = self._kept.transformer
        transformer.set_pgresult(result)
        try:
            return transformer.load_rows(
                0, result.ntuples, lambda values: dict(zip(names_of, values, strict=True))
            )
        finally:
            transformer.set_pgresult(None)

    def send_commit(self) -> None:
        """Send everything and the COMMIT, without waiting."""
        self._line("COMMIT")
        self._end()

    async def commit(self) -> None:
        """Commit; returns when the server has said that it is done."""
        if not self._ending:
            self.send_commit()
        await self._connection.wait(self._read(None))
        self._pgconn.exit_pipeline_mode()
        self.over = True

    async def abandon(self) -> None:
        """Roll back and read what is left; after a failure the transaction is still open then.

        Raises what the driver raises where the connection is of no use any more.
        """
        if self._pgconn.status != ConnStatus.OK:
            return
        if not self._ending:
            if self._failure is None:
                self._line("ROLLBACK")
            self._end()
        await self._connection.wait(self._read_rest())
        self._pgconn.exit_pipeline_mode()
        prepared = self._kept.prepared
        for one in [one for one in prepared.values() if not one.known]:
            del prepared[one.key]
        if self._failure is not None and (self._failure.sqlstate or "")[:2] not in _SAYS_NOTHING_OF_PLANS:
            self._kept.forget()
        self.over = True

    def _prepare(self, key: _Key) -> _Prepared:
        kept = self._kept
        if len(kept.prepared) >= _MOST_PREPARED:
            _, oldest = kept.prepared.popitem(last=False)
            self._line(f"DEALLOCATE {oldest.name.decode()}")
        kept.made += 1
        prepared = kept.prepared[key] = _Prepared(b"m%d" % kept.made, key)
        self._pgconn.send_prepare(prepared.name, key[0].encode(), key[1])
        self._awaited.append(prepared)
        return prepared

    def _line(self, text: str) -> None:
        self._pgconn.send_query_params(text.encode(), None)
        self._awaited.append(None)

    def _end(self) -> None:
        self._ending = True
        self._pgconn.pipeline_sync()
        self._awaited.append(None)

    def _read(self, wanted: Answer | None) -> PQGen[None]:
        """Send what is queued, and read answers until the wanted one is there, or to the end."""
        yield from send(self._pgconn)
        while self._awaited and (wanted is None or wanted.result is None):
            self._take((yield from fetch_many(self._pgconn)))

    def _read_rest(self) -> PQGen[None]:
        yield from send(self._pgconn)
        while self._awaited:
            results = yield from fetch_many(self._pgconn)
            with suppress(psycopg.Error):
                self._take(results)

    def _take(self, results: Sequence[PGresult]) -> None:
        awaited = self._awaited.popleft()
        if not results:
            raise psycopg.OperationalError("the server has ended the exchange")
        result = results[-1]
        status = result.status
        if status in _DONE:
            if isinstance(awaited, Answer):
                awaited.result = result
            elif awaited is not None:
                awaited.known = True
            return
        if status == ExecStatus.PIPELINE_ABORTED:
            raise self._failure or psycopg.errors.PipelineAborted("pipeline aborted")
        error = error_from_result(result, encoding="utf-8")
        self._failure = self._failure or error
        raise error
