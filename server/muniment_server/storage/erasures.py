"""The physical side of Erase: rows removed per store, tombstones, and the ledger of erasures."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment_server.domain.model import ErasureState, ErasureTarget, MemoryFilter, Revision

from .database import Row, UnitOfWork
from .hints import keys_destroyed
from .ingest import forget_turns, remove_ingests
from .memories import filter_values
from .rows import to_revision


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """An erasure as recorded. `receipt` are its canonical bytes; `signature` is over them once it is
    complete, and until then a keyed digest of the row.
    """

    erasure_id: UUID
    state: ErasureState
    target: ErasureTarget
    scope_id: UUID | None
    key_epoch: int | None
    receipt: bytes
    signature: bytes | None
    create_time: datetime
    complete_time: datetime | None


@dataclass(frozen=True, slots=True)
class Removed:
    """How many rows went, per store, and what the set digest loses."""

    memory_ids: list[UUID]
    revisions: int
    embeddings: int
    postings: int
    idempotency_records: int
    history_seals: list[bytes]
    queued_jobs: int = 0
    derived_rows: int = 0


async def targets(
    work: UnitOfWork,
    scope_id: UUID,
    *,
    memory_ids: Sequence[UUID] | None = None,
    target_session: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    bound_agent: str | None = None,
    restriction: MemoryFilter,
) -> list[Revision]:
    """Lock the memories of a scope that an erasure is aimed at.

    bound_agent: leaves out what is narrowed to any other agent.
    """
    rows = await work.fetch(
        "erase_targets",
        **filter_values(restriction),
        scope_id=scope_id,
        memory_ids=list(memory_ids) if memory_ids is not None else None,
        target_session=target_session,
        agent=agent,
        session=session,
        bound_agent=bound_agent,
    )
    return [to_revision(row) for row in rows]


async def remove_memories(
    work: UnitOfWork, scope_id: UUID, scope_no: int, found: Sequence[Revision]
) -> Removed:
    """Remove memories of one scope from every table."""
    memory_ids = [revision.memory_id for revision in found]
    doc_nos = [revision.doc_no for revision in found]
    history = await work.fetch("erase_revisions", memory_ids=memory_ids)
    embeddings = await work.fetch("erase_embeddings", scope_no=scope_no, doc_nos=doc_nos)
    postings = await work.fetch("erase_postings", scope_no=scope_no, doc_nos=doc_nos)
    await work.fetch("erase_memories", memory_ids=memory_ids)
    turns = await forget_turns(work, scope_id, memory_ids)
    redacted = await work.fetch("idempotency_redact", scope_id=scope_id, memory_ids=memory_ids)
    return Removed(
        memory_ids,
        len(history),
        _vectors(embeddings),
        len(postings),
        len(redacted),
        [bytes(row["seal"]) for row in history],
        derived_rows=turns,
    )


async def remove_strays(work: UnitOfWork, scope_id: UUID, scope_no: int) -> tuple[int, int]:
    """Remove vectors and postings of a scope that belong to no memory; how many of each.

    Where the numbers of erased rows had been changed, their vectors and postings stand under others.
    """
    embeddings = await work.fetch("erase_stray_embeddings", scope_id=scope_id, scope_no=scope_no)
    postings = await work.fetch("erase_stray_postings", scope_id=scope_id, scope_no=scope_no)
    return _vectors(embeddings), len(postings)


def _vectors(rows: Sequence[Row]) -> int:
    """Vectors among removed rows; a model may have had nothing to say of a text, or not yet."""
    return sum(row["vectors"] for row in rows)


async def remaining_rows(work: UnitOfWork, scope_id: UUID) -> list[Row]:
    """What a scope's digest and statistics are made of: seal, state, term_count, history; of every row."""
    return await work.fetch("scope_rows", scope_id=scope_id)


async def remove_scope(work: UnitOfWork, scope_id: UUID, scope_nos: Collection[int]) -> Removed:
    """Remove everything of one scope, whatever its labels say.

    scope_nos: its number, and the one that its row has if that is another.
    """
    history = await work.fetch("erase_scope_revisions", scope_id=scope_id)
    embeddings = await work.fetch("erase_scope_embeddings", scope_nos=list(scope_nos))
    postings = await work.fetch("erase_scope_postings", scope_nos=list(scope_nos))
    memories = await work.fetch("erase_scope_memories", scope_id=scope_id)
    jobs, derived = await remove_ingests(work, scope_id)
    redacted = await work.fetch("idempotency_redact", scope_id=scope_id, memory_ids=None)
    return Removed(
        [row["memory_id"] for row in memories],
        len(history),
        _vectors(embeddings),
        len(postings),
        len(redacted),
        [],
        jobs,
        derived,
    )


async def leave_tombstones(
    work: UnitOfWork, scope_id: UUID, memory_ids: Sequence[UUID], erasure_id: UUID, now: datetime
) -> None:
    """Queue a tombstone per erased memory."""
    if memory_ids:
        await work.send(
            "tombstone_insert",
            scope_id=scope_id,
            memory_ids=list(memory_ids),
            erasure_id=erasure_id,
            now=now,
        )


async def announce_destroyed_keys(work: UnitOfWork, scope_id: UUID) -> None:
    """Queue the hint that makes other processes drop a scope's key when the transaction commits."""
    await work.send("hint_send", payload=keys_destroyed(work.tenant_id, scope_id))


async def insert_erasure(work: UnitOfWork, row: ErasureRow) -> None:
    """Queue the record of an erasure."""
    await work.send(
        "erasure_insert",
        erasure_id=row.erasure_id,
        state=int(row.state),
        target=int(row.target),
        scope_id=row.scope_id,
        key_epoch=row.key_epoch,
        receipt=row.receipt,
        signature=row.signature,
        create_time=row.create_time,
        complete_time=row.complete_time,
    )


async def update_erasure(work: UnitOfWork, row: ErasureRow) -> None:
    """Queue the completion of an erasure."""
    await work.send(
        "erasure_update",
        erasure_id=row.erasure_id,
        state=int(row.state),
        receipt=row.receipt,
        signature=row.signature,
        complete_time=row.complete_time,
    )


async def read_erasure(work: UnitOfWork, erasure_id: UUID) -> ErasureRow | None:
    """One erasure, or None."""
    row = await work.fetch_one("erasure_read", erasure_id=erasure_id)
    return to_erasure(row) if row else None


async def pending_erasures(work: UnitOfWork) -> list[ErasureRow]:
    """Erasures of the tenant whose keys are still to be destroyed, oldest first."""
    return [to_erasure(row) for row in await work.fetch("erasure_pending")]


def to_erasure(row: Row) -> ErasureRow:
    """A row of `erasure` as a value."""
    values = {name: row[name] for name in ErasureRow.__slots__}
    values["receipt"] = bytes(values["receipt"])
    values["signature"] = bytes(values["signature"]) if values["signature"] is not None else None
    try:
        values["state"] = ErasureState(values["state"])
        values["target"] = ErasureTarget(values["target"])
    except ValueError:
        # Not stored by the service: nothing in it is believed, and it stands in nobody's way.
        values |= {"state": ErasureState.PENDING, "target": ErasureTarget.SCOPE, "signature": None}
    return ErasureRow(**values)
