"""What an operator does to a change of the embedding model: begin it, switch it, abort it, look at it.

Acts over a connection that may act as the owner; the work itself is done by the servers. Blocking.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from muniment_server.domain.administration import AdministrativeAct, administered_change
from muniment_server.domain.ids import new_id

from .admin import AdminError, Model, Record, owner_cursor
from .hints import CHANNEL, Hint, HintKind
from .reindexing import LEASE, ReindexState

_MODEL = 1
"""The kind of a change; there is one so far."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change as operators see it. working: a server was heard of that works on it."""

    reindex_id: UUID
    state: ReindexState
    from_model: str
    to_model: str
    from_no: int
    to_no: int
    automatic: bool
    working: bool
    create_time: datetime
    complete_time: datetime | None
    drop_time: datetime | None

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.drop_time is not None


@dataclass(frozen=True, slots=True)
class AnalysisRow:
    """A change of the text analysis, as the servers make it by themselves.

    from_version: the oldest version whose terms may be in the index; to_version: that of this program.
    done: how many memories it has read.
    """

    from_version: int
    to_version: int
    memories: int
    done: int

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.from_version >= self.to_version


def start_change(
    connection: psycopg.Connection[Any], model: Model, *, automatic: bool, record: Record | None = None
) -> ChangeRow:
    """Begin a change to a model; to the one in use: store again what is missing of it.

    automatic: switch as soon as every memory has been seen. record: writes the act into a tenant's trail, and
    does so for every tenant. Raises AdminError when a change is not over.
    """
    with owner_cursor(connection, locked=True) as cursor:
        newest = _newest(cursor)
        if newest is not None and not newest.over:
            raise AdminError(
                f"A change from {newest.from_model} to {newest.to_model} is not over. "
                "`muniment reindex status` shows how far it is."
            )
        in_use = cursor.execute("SELECT model_no FROM instance").fetchone()
        if in_use is None:
            raise AdminError("The database is not set up yet: start the server once.")
        now = datetime.now(UTC)
        cursor.execute(
            "INSERT INTO reindex (reindex_id, kind, state, from_no, to_no, automatic, create_time)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (new_id(), _MODEL, ReindexState.RUNNING, in_use["model_no"], _number(cursor, model, now),
             automatic, now),
        )  # fmt: skip
        _tell(cursor)
        change = _present(cursor)
        _recorded(cursor, record, AdministrativeAct.EMBEDDING_CHANGE_STARTED, change)
        return change


def _number(cursor: psycopg.Cursor[DictRow], model: Model, now: datetime) -> int:
    """The number of a model, given to it now if it has none."""
    found = cursor.execute(
        "SELECT model_no FROM embedding_model WHERE name = %s AND digest = %s AND dimension = %s",
        (model.name, model.digest, model.dimension),
    ).fetchone()
    if found is not None:
        cursor.execute(
            "UPDATE embedding_model SET setting = %s WHERE model_no = %s", (model.setting, found["model_no"])
        )
        return int(found["model_no"])
    row = cursor.execute("SELECT max(model_no) + 1 AS model_no FROM embedding_model").fetchone()
    number = int(row["model_no"]) if row is not None else 1
    cursor.execute(
        "INSERT INTO embedding_model (model_no, name, digest, dimension, setting, create_time)"
        " VALUES (%s, %s, %s, %s, %s, %s)",
        (number, model.name, model.digest, model.dimension, model.setting, now),
    )
    return number


def release_switch(connection: psycopg.Connection[Any], record: Record | None = None) -> ChangeRow:
    """Let the servers switch once the running change is filled. Raises AdminError when there is none."""
    with owner_cursor(connection) as cursor:
        change = _running(cursor)
        cursor.execute("UPDATE reindex SET automatic = true WHERE reindex_id = %s", (change.reindex_id,))
        _recorded(cursor, record, AdministrativeAct.EMBEDDING_CHANGE_RELEASED, change)
        _tell(cursor)
        return _present(cursor)


def abort_change(connection: psycopg.Connection[Any], record: Record | None = None) -> ChangeRow:
    """End the running change; the model in use stays. Raises AdminError when there is none."""
    with owner_cursor(connection) as cursor:
        change = _running(cursor)
        cursor.execute(
            "UPDATE reindex SET state = %s WHERE reindex_id = %s AND state IN (1, 2)",
            (ReindexState.ABORTED, change.reindex_id),
        )
        if cursor.rowcount == 0:
            raise AdminError("The change has been switched already. Change back instead.")
        _recorded(cursor, record, AdministrativeAct.EMBEDDING_CHANGE_ABORTED, change)
        _tell(cursor)
        return _present(cursor)


def _recorded(
    cursor: psycopg.Cursor[DictRow], record: Record | None, act: AdministrativeAct, change: ChangeRow
) -> None:
    """Have an act stand in the trail of every tenant, since it concerns them all."""
    if record is None:
        return
    done = administered_change(act, change.from_model, change.to_model)
    for row in cursor.execute("SELECT tenant_id FROM tenant ORDER BY tenant_id").fetchall():
        record(cursor, row["tenant_id"], done)


def newest_change(connection: psycopg.Connection[Any]) -> ChangeRow | None:
    """The running change, or the last one."""
    with owner_cursor(connection) as cursor:
        return _newest(cursor)


def _running(cursor: psycopg.Cursor[DictRow]) -> ChangeRow:
    newest = _newest(cursor)
    if newest is None or newest.state not in (ReindexState.RUNNING, ReindexState.FILLED):
        raise AdminError("No change of the embedding model is running.")
    return newest


def _present(cursor: psycopg.Cursor[DictRow]) -> ChangeRow:
    found = _newest(cursor)
    if found is None:
        raise AdminError("The change is gone.")
    return found


def _newest(cursor: psycopg.Cursor[DictRow]) -> ChangeRow | None:
    row = cursor.execute(
        "SELECT r.reindex_id, r.state, f.name AS from_model, t.name AS to_model, r.from_no, r.to_no,"
        " r.automatic, r.lease_time, r.create_time, r.complete_time, r.drop_time FROM reindex r"
        " JOIN embedding_model f ON f.model_no = r.from_no JOIN embedding_model t ON t.model_no = r.to_no"
        " WHERE r.kind = %s ORDER BY r.create_time DESC, r.reindex_id DESC LIMIT 1",
        (_MODEL,),
    ).fetchone()
    if row is None:
        return None
    heard = row.pop("lease_time")
    working = heard is not None and datetime.now(UTC) - heard < LEASE
    return ChangeRow(**{**row, "state": ReindexState(row["state"]), "working": working})


def _tell(cursor: psycopg.Cursor[DictRow]) -> None:
    cursor.execute("SELECT pg_notify(%s, %s)", (CHANNEL, Hint(HintKind.MODELS_CHANGED).payload()))


def progress_of(connection: psycopg.Connection[Any], change: ChangeRow) -> tuple[int, int]:
    """How many memories there are, and how many of them the new model has seen.

    Counts, tenant by tenant: a second for a million memories.
    """
    return _counted(
        connection,
        "SELECT (SELECT count(*) FROM memory WHERE tenant_id = %(tenant)s::uuid) AS memories,"
        " (SELECT count(*) FROM memory_embedding WHERE tenant_id = %(tenant)s::uuid"
        " AND model_no = %(model_no)s AND state <> 2) AS done",
        {"model_no": change.to_no},
    )


def analysis_of(connection: psycopg.Connection[Any], version: int) -> AnalysisRow:
    """How far a change to a version of the text analysis is; counts only where it is not over."""
    with owner_cursor(connection) as cursor:
        row = cursor.execute("SELECT analyzer FROM instance").fetchone()
    oldest = version if row is None else int(row["analyzer"])
    if oldest >= version:
        return AnalysisRow(oldest, version, 0, 0)
    memories, done = _counted(
        connection,
        "SELECT count(*) AS memories, count(*) FILTER (WHERE analyzer = %(version)s) AS done"
        " FROM memory WHERE tenant_id = %(tenant)s::uuid",
        {"version": version},
    )
    return AnalysisRow(oldest, version, memories, done)


def _counted(
    connection: psycopg.Connection[Any], query: LiteralString, values: Mapping[str, Any]
) -> tuple[int, int]:
    """Memories and how many are done, of all tenants: row-level security shows those of one at a time."""
    memories = done = 0
    with owner_cursor(connection) as cursor:
        for tenant in cursor.execute("SELECT tenant_id::text FROM tenant").fetchall():
            cursor.execute("SELECT set_config('app.tenant_id', %s, true)", (tenant["tenant_id"],))
            row = cursor.execute(query, {**values, "tenant": tenant["tenant_id"]}).fetchone()
            if row is not None:
                memories += row["memories"]
                done += row["done"]
    return memories, done
