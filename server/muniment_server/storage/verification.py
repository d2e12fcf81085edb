"""What `muniment verify` reads. Every function belongs to one transaction with one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from pgvector import HalfVector

from muniment_server.domain.model import Revision, ScopeRow

from .database import Row, UnitOfWork
from .erasures import ErasureRow, to_erasure
from .ingest import Conversation, IngestRow, to_ingest
from .rows import to_revision, to_scope

SNAPSHOT: Final = {"transaction_isolation": "repeatable read", "transaction_read_only": "on"}
"""Settings of a transaction whose statements all see the same state, and change nothing."""


@dataclass(frozen=True, slots=True)
class StoredVector:
    """What a model made of a text, and the seal; a row that says READY may have been robbed of its vector."""

    model_no: int
    doc_no: int
    content_revision: int
    state: int
    vector: HalfVector | None
    seal: bytes


@dataclass(frozen=True, slots=True)
class StoredModel:
    """An embedding model that rows may name. in_use: every memory has a row for it."""

    name: str
    dimension: int
    in_use: bool


@dataclass(frozen=True, slots=True)
class Postings:
    """The index entries of one document: token hashes, frequencies, and the extremes of its length."""

    tokens: Sequence[int]
    frequencies: Sequence[int]
    least_terms: int
    most_terms: int


@dataclass(frozen=True, slots=True)
class Named:
    """What became of a memory that an event names. `revision` is None when it is not stored."""

    scope_id: UUID | None
    revision: int | None
    state: int | None
    erased: bool


async def models(work: UnitOfWork) -> dict[int, StoredModel]:
    """The embedding models by number."""
    rows = await work.fetch("model_list")
    return {row["model_no"]: StoredModel(row["name"], row["dimension"], row["in_use"]) for row in rows}


async def scopes(
    work: UnitOfWork, *, after: UUID | None = None, scope_ids: Sequence[UUID] | None = None, limit: int
) -> list[tuple[ScopeRow, int]]:
    """Scopes in order, each with the number that its row has."""
    rows = await work.fetch(
        "verify_scopes",
        after=after,
        scope_ids=list(scope_ids) if scope_ids is not None else None,
        limit=limit,
    )
    return [(to_scope(row), row["scope_no"]) for row in rows]


async def memories(work: UnitOfWork, scope_id: UUID, after: int, limit: int) -> list[Revision]:
    """Memories of a scope, in the order of their documents."""
    rows = await work.fetch("verify_memories", scope_id=scope_id, after=after, limit=limit)
    return [to_revision(row) for row in rows]


async def history(work: UnitOfWork, memory_ids: Sequence[UUID]) -> list[Revision]:
    """Earlier revisions of memories."""
    rows = await work.fetch("verify_history", memory_ids=list(memory_ids))
    return [to_revision(row) for row in rows]


async def vectors(work: UnitOfWork, scope_no: int, after: int, last: int) -> list[StoredVector]:
    """Vectors of a scope's documents after one up to another."""
    return [
        StoredVector(
            row["model_no"],
            row["doc_no"],
            row["content_revision"],
            row["state"],
            row["embedding"],
            bytes(row["seal"]),
        )
        for row in await work.fetch("verify_vectors", scope_no=scope_no, after=after, last=last)
    ]


async def postings(work: UnitOfWork, scope_no: int, after: int, last: int) -> dict[int, Postings]:
    """Index entries of a scope's documents after one up to another."""
    return {
        row["doc_no"]: Postings(row["tokens"], row["tfs"], row["least_terms"], row["most_terms"])
        for row in await work.fetch("verify_postings", scope_no=scope_no, after=after, last=last)
    }


async def queue(work: UnitOfWork, after: UUID | None, limit: int) -> list[Row]:
    """What waits to be chained, with all columns of the events that are `present`."""
    return await work.fetch("verify_queue", after=after, limit=limit)


async def unchained(work: UnitOfWork, limit: int) -> list[UUID]:
    """Events that neither stand in the chain nor wait."""
    return [row["event_id"] for row in await work.fetch("verify_unchained", limit=limit)]


async def index_faults(work: UnitOfWork, limit: int) -> list[UUID]:
    """Events that the index by memory does not tell rightly."""
    missing = await work.fetch("verify_index_missing", limit=limit)
    extra = await work.fetch("verify_index_extra", limit=limit)
    return [row["event_id"] for row in (*missing, *extra)]


async def named(work: UnitOfWork, memory_ids: Sequence[UUID]) -> dict[UUID, Named]:
    """What became of memories."""
    return {
        row["memory_id"]: Named(row["scope_id"], row["revision"], row["state"], row["erased"])
        for row in await work.fetch("verify_named", memory_ids=list(memory_ids))
    }


async def returned(work: UnitOfWork, limit: int) -> list[tuple[UUID, UUID]]:
    """Erased memories that are there: memory and scope."""
    rows = await work.fetch("verify_returned", limit=limit)
    return [(row["memory_id"], row["scope_id"]) for row in rows]


async def doubled_slots(work: UnitOfWork, limit: int) -> list[tuple[UUID, list[UUID]]]:
    """Scopes with the live memories that hold one slot together."""
    rows = await work.fetch("verify_slots", limit=limit)
    return [(row["scope_id"], row["memory_ids"]) for row in rows]


async def broken_successions(work: UnitOfWork, limit: int) -> list[tuple[UUID, UUID]]:
    """Memories whose correction does not fit together: scope and memory."""
    rows = await work.fetch("verify_successions", limit=limit)
    return [(row["scope_id"], row["memory_id"]) for row in rows]


async def strays(work: UnitOfWork, limit: int) -> list[tuple[str, UUID | None, UUID | None]]:
    """Rows that belong to nothing: table, scope and memory as far as they name one."""
    rows = await work.fetch("verify_strays", limit=limit)
    return [(row["place"], row["scope_id"], row["memory_id"]) for row in rows]


async def ingests(
    work: UnitOfWork, after: UUID | None, limit: int
) -> list[tuple[IngestRow, Conversation | None]]:
    """Ingests in order, each with its conversation; a refused one has none."""
    return [
        (
            to_ingest(row),
            Conversation(row["conversation"], row["conversation_scope"], row["agent"], row["session"])
            if row["conversation"] is not None
            else None,
        )
        for row in await work.fetch("verify_ingests", after=after, limit=limit)
    ]


async def erasures(work: UnitOfWork, after: UUID | None, limit: int) -> list[ErasureRow]:
    """Erasures in order."""
    return [to_erasure(row) for row in await work.fetch("verify_erasures", after=after, limit=limit)]
