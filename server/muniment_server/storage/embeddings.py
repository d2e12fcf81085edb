"""What models made of the memories' texts: one row for every memory and every model in use.

A row whose vector is still to be made (PENDING) stands there from the write on, so that nothing has to be
remembered elsewhere, whoever is killed when. What waits is found by a partial index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.model import EmbeddingState, Revision

from .database import UnitOfWork
from .rows import to_revision


@dataclass(frozen=True, slots=True)
class EmbeddingRow:
    """A row of `memory_embedding`. `vector` is None unless the state is READY or PARTIAL."""

    model_no: int
    doc_no: int
    content_revision: int
    state: EmbeddingState
    vector: HalfVector | None
    seal: bytes


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A document of which some model's vector is still to be made; the seal names no model."""

    doc_no: int
    content_revision: int
    seal: bytes


async def insert_embeddings(work: UnitOfWork, scope_no: int, rows: Sequence[EmbeddingRow]) -> None:
    """Queue rows of new memories."""
    await work.send_many("embedding_insert", [_values(scope_no, row) for row in rows])


async def insert_waiting(
    work: UnitOfWork, scope_no: int, given: Sequence[int], rows: Sequence[WaitingRow]
) -> None:
    """Queue a waiting row for every model in use that is none of `given`.

    Which models are in use is read by the statement itself, under the lock of the scope: a process that
    has not heard of a new model yet leaves its memories to be found all the same.
    """
    await work.send(
        "embedding_insert_waiting",
        scope_no=scope_no,
        model_nos=list(given),
        doc_nos=[row.doc_no for row in rows],
        content_revisions=[row.content_revision for row in rows],
        seals=[row.seal for row in rows],
    )


async def fill_embeddings(
    work: UnitOfWork, scope_id: UUID, scope_no: int, rows: Sequence[EmbeddingRow]
) -> None:
    """Queue what was still to be made or is missing; the scope must be locked.

    A vector that has been made meanwhile stays, and of a memory that is gone nothing is stored.
    """
    await work.send_many("embedding_fill", [{**_values(scope_no, row), "scope_id": scope_id} for row in rows])


def _values(scope_no: int, row: EmbeddingRow) -> dict[str, object]:
    return {
        "scope_no": scope_no,
        "model_no": row.model_no,
        "doc_no": row.doc_no,
        "content_revision": row.content_revision,
        "state": int(row.state),
        "embedding": row.vector,
        "seal": row.seal,
    }


async def without_vector(
    work: UnitOfWork,
    scope_id: UUID,
    scope_no: int,
    model_no: int,
    after: int,
    limit: int,
    *,
    missing: bool,
    again: bool = False,
) -> list[Revision]:
    """Memories of a scope, by document, whose row for a model waits, or with `missing` is not there.

    again: with `missing`, also those that have no vector because the model could make none.
    """
    place = {"scope_id": scope_id, "scope_no": scope_no, "model_no": model_no, "after": after, "limit": limit}
    if missing:
        rows = await work.fetch("embedding_missing", again=again, **place)
    else:
        rows = await work.fetch("embedding_waiting", **place)
    return [to_revision(row) for row in rows]


async def forget_waiting(work: UnitOfWork, scope_id: UUID, scope_no: int, model_no: int) -> None:
    """Queue the removal of rows that wait for the vector of a text that was edited since."""
    await work.send("embedding_forget_waiting", scope_id=scope_id, scope_no=scope_no, model_no=model_no)


async def waiting_scopes(work: UnitOfWork, model_no: int, limit: int) -> list[UUID]:
    """Scopes of the tenant with rows that wait for their vector."""
    rows = await work.fetch("embedding_waiting_scopes", model_no=model_no, limit=limit)
    return [row["scope_id"] for row in rows]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many memories wait for a vector, and when the newest of them was recorded."""

    waiting: int
    newest: datetime | None


async def count_waiting(work: UnitOfWork, scope_no: int, before: datetime | None) -> Waiting:
    """What of a scope waits for the vector of the model in use.

    before: count only what was recorded by then; None counts everything.
    """
    row = await work.fetch_one("embedding_waiting_count", scope_no=scope_no, before=before)
    return Waiting(row["waiting"], row["newest"]) if row else Waiting(0, None)


async def embedding_states(
    work: UnitOfWork, scope_no: int, revisions: Sequence[Revision]
) -> dict[UUID, EmbeddingState]:
    """Whether each of a scope's memories can be found by meaning; without those of which no row says it."""
    rows = await work.fetch(
        "embedding_states", scope_no=scope_no, doc_nos=[revision.doc_no for revision in revisions]
    )
    found = {(row["doc_no"], row["content_revision"]): row["state"] for row in rows}
    texts = {one.memory_id: (one.doc_no, one.content_revision) for one in revisions}
    return {
        memory_id: EmbeddingState(found[text])
        for memory_id, text in texts.items()
        if found.get(text) in tuple(EmbeddingState)
    }


async def drop_vectors(work: UnitOfWork, scope_no: int, model_no: int) -> None:
    """Queue the removal of a scope's rows of a model; nothing happens when the model is in use."""
    await work.send("embedding_drop", scope_no=scope_no, model_no=model_no)
