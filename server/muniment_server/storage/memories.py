"""Memories, their history, their vectors and postings: rows to values and back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.model import (
    MemoryFilter,
    Revision,
    ScopeRow,
)

from .database import Row, UnitOfWork
from .rows import COLUMNS, SCOPE_COLUMNS, to_revision, to_scope

_NOBODY = UUID(int=0)


def _values(revision: Revision) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(revision, name) for name in COLUMNS}
    for name in ("state", "kind", "trust", "source_type"):
        values[name] = int(values[name])
    values["tags"] = list(revision.tags)
    values["tokens"] = list(revision.tokens)
    values["properties"] = Jsonb(dict(revision.properties))
    return values


async def lock_scopes(work: UnitOfWork, scope_ids: Iterable[UUID]) -> dict[UUID, ScopeRow]:
    """Lock scopes for writing, always in the order of their ids."""
    rows = await work.fetch("scope_lock", scope_ids=sorted(scope_ids))
    return {row["scope_id"]: to_scope(row) for row in rows}


async def read_scopes(work: UnitOfWork, scope_ids: Iterable[UUID]) -> dict[UUID, ScopeRow]:
    """Read scopes without a lock."""
    rows = await work.fetch("scope_read", scope_ids=sorted(scope_ids))
    return {row["scope_id"]: to_scope(row) for row in rows}


async def insert_scope(work: UnitOfWork, scope: ScopeRow, now: datetime) -> None:
    """Queue the creation of a scope; does nothing when it exists."""
    await work.send("scope_insert", **_scope_values(scope), now=now)


async def update_scope(work: UnitOfWork, scope: ScopeRow, now: datetime) -> None:
    """Queue the new state of a locked scope."""
    await work.send("scope_update", **_scope_values(scope), now=now)


def _scope_values(scope: ScopeRow) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(scope, name) for name in SCOPE_COLUMNS}
    values["kind"] = int(scope.kind)
    return values


async def write_candidates(
    work: UnitOfWork, scope_id: UUID, statement_hashes: Sequence[bytes], slots: Sequence[str]
) -> list[tuple[Revision, bool]]:
    """Live memories that items may restate or replace, and waiting ones with the same statements, locked;
    each with whether history contradicts it."""
    rows = await work.fetch("write_candidates", **_candidate_values(scope_id, statement_hashes, slots))
    return [(to_revision(row), row["contradicted"]) for row in rows]


def _candidate_values(
    scope_id: UUID, statement_hashes: Sequence[bytes], slots: Sequence[str]
) -> dict[str, Any]:
    return {"scope_id": scope_id, "statement_hashes": list(statement_hashes), "slots": list(slots)}


@dataclass(frozen=True, slots=True)
class OpenedWrite:
    """What a Write has to know: its scope, locked (None before the first write), the answer stored for its
    request id, and the memories that its items may restate or replace (see `write_candidates`)."""

    scope: ScopeRow | None
    answer: Row | None
    candidates: list[tuple[Revision, bool]]
    also: list[list[Row]] = field(default_factory=list)


async def open_write(
    work: UnitOfWork,
    scope_id: UUID,
    request_id: UUID | None,
    statement_hashes: Sequence[bytes],
    slots: Sequence[str],
    also: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> OpenedWrite:
    """Lock the scope, then read under the lock, all in one round trip.

    also: further statements, run before the lock is taken, so that nobody waits for them.
    """
    *further, scopes, answers, candidates = await work.fetch_together(
        *also,
        ("scope_lock", {"scope_ids": [scope_id]}),
        # Without a request id nothing is found: no answer is ever stored under this one.
        ("idempotency_read", {"request_id": request_id or _NOBODY}),
        ("write_candidates", _candidate_values(scope_id, statement_hashes, slots)),
    )
    return OpenedWrite(
        to_scope(scopes[0]) if scopes else None,
        answers[0] if answers else None,
        [(to_revision(row), row["contradicted"]) for row in candidates],
        further,
    )


async def insert_memories(work: UnitOfWork, revisions: Sequence[Revision]) -> None:
    """Queue the first revisions of new memories."""
    await work.send_many("memory_insert", [_values(revision) for revision in revisions])


async def change_memory(work: UnitOfWork, before: Revision, after: Revision) -> None:
    """Queue a change of a locked memory; a new revision number keeps the earlier one as history."""
    if after.revision != before.revision:
        await work.send("revision_keep", memory_id=before.memory_id)
    values = _values(after)
    await work.send("memory_update", **values)
    if after.content_revision != before.content_revision:
        await work.send("memory_edit", **values)


async def analysed_otherwise(
    work: UnitOfWork, scope_id: UUID, analyzer: int, after: int, limit: int
) -> list[Revision]:
    """Memories of a scope, by document, whose terms another version of the analysis has made."""
    rows = await work.fetch(
        "memory_analysed_otherwise", scope_id=scope_id, analyzer=analyzer, after=after, limit=limit
    )
    return [to_revision(row) for row in rows]


async def replace_analysis(work: UnitOfWork, after: Revision) -> None:
    """Queue the new terms of a locked memory, whose revision stays the same."""
    await work.send(
        "memory_reanalyse",
        memory_id=after.memory_id,
        analyzer=after.analyzer,
        term_count=after.term_count,
        tokens=list(after.tokens),
        seal=after.seal,
    )


async def index_tokens(
    work: UnitOfWork, scope_no: int, documents: Sequence[tuple[int, Mapping[int, int], int]]
) -> None:
    """Queue postings: per document its number, token hash → frequency, and its number of terms."""
    tokens: list[int] = []
    doc_nos: list[int] = []
    tfs: list[int] = []
    doc_terms: list[int] = []
    for doc_no, frequencies, terms in documents:
        for token, frequency in frequencies.items():
            tokens.append(token)
            doc_nos.append(doc_no)
            tfs.append(min(frequency, 32767))
            doc_terms.append(terms)
    if tokens:
        await work.send(
            "posting_insert",
            scope_no=scope_no,
            tokens=tokens,
            doc_nos=doc_nos,
            tfs=tfs,
            doc_terms=doc_terms,
        )


async def unindex_tokens(work: UnitOfWork, scope_no: int, revisions: Sequence[Revision]) -> None:
    """Queue the removal of memories from the lexical index."""
    tokens = sorted({token for revision in revisions for token in revision.tokens})
    if tokens:
        await work.send(
            "posting_delete",
            scope_no=scope_no,
            tokens=tokens,
            doc_nos=[revision.doc_no for revision in revisions],
        )


async def lock_memory(work: UnitOfWork, memory_id: UUID) -> tuple[Revision, bool] | None:
    """Lock a memory (its scope must be locked before); with whether history contradicts it."""
    found = await lock_memories(work, [memory_id])
    return found[0] if found else None


async def lock_memories(work: UnitOfWork, memory_ids: Iterable[UUID]) -> list[tuple[Revision, bool]]:
    """`lock_memory` of several, in the order of their ids; those that there are."""
    rows = await work.fetch("memory_lock", memory_ids=sorted(memory_ids))
    return [(to_revision(row), row["contradicted"]) for row in rows]


async def read_memories(work: UnitOfWork, memory_ids: Sequence[UUID]) -> list[tuple[Revision, bool]]:
    """Current revisions, each with whether history contradicts that it is the newest."""
    rows = await work.fetch("memory_read", memory_ids=list(memory_ids))
    return [(to_revision(row), row["contradicted"]) for row in rows]


async def read_revisions(work: UnitOfWork, memory_id: UUID, before: int | None, limit: int) -> list[Revision]:
    """Earlier revisions of a memory, newest first."""
    rows = await work.fetch("revision_read", memory_id=memory_id, before=before, limit=limit)
    return [to_revision(row) for row in rows]


async def count_revisions(work: UnitOfWork, memory_id: UUID, before: int) -> int:
    """How many revisions a memory has before the given one."""
    row = await work.fetch_one("revision_count", memory_id=memory_id, before=before)
    return int(row["revisions"]) if row else 0


async def scopes_of(work: UnitOfWork, memory_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The scope of each memory that exists in the tenant."""
    rows = await work.fetch("memory_scopes", memory_ids=sorted(memory_ids))
    return {row["memory_id"]: row["scope_id"] for row in rows}


async def tombstones(work: UnitOfWork, memory_ids: Iterable[UUID]) -> dict[UUID, Row]:
    """Tombstones of erased memories by id."""
    rows = await work.fetch("tombstone_read", memory_ids=sorted(memory_ids))
    return {row["memory_id"]: row for row in rows}


def filter_values(restriction: MemoryFilter) -> dict[str, Any]:
    """The parameters of the filter lines that recall, list and erase have in common."""
    view = restriction.view or AgentView()
    return {
        "kinds": _both(restriction.kinds, view.kinds),
        "states": [int(state) for state in restriction.states],
        "source_types": _both(restriction.source_types, view.source_types),
        "min_trust": max(int(restriction.min_trust or 0), int(view.min_trust or 0)),
        "slots": list(restriction.slots) or None,
        "origin_sessions": list(restriction.sessions) or None,
        "tags_any": list(restriction.tags_any) or None,
        "tags_all": list(restriction.tags_all) or None,
        "tags_none": list(restriction.tags_none) or None,
        "view_tags": None if view.tags is None else sorted(view.tags),
        "properties": restriction.properties,
        "create_start": restriction.create_time.start,
        "create_end": restriction.create_time.end,
        "valid_overlap_start": restriction.valid_time.start,
        "valid_overlap_end": restriction.valid_time.end,
        "valid_start_from": restriction.valid_start.start,
        "valid_start_to": restriction.valid_start.end,
        "valid_at": restriction.valid_at,
    }


def is_unrestricted(values: Mapping[str, Any]) -> bool:
    """Whether filter values restrict nothing but states; lets a statement skip a test per row and field."""
    return not any(value not in (None, 0) for name, value in values.items() if name != "states")


def _both(asked: Sequence[int], seen: Collection[int] | None) -> list[int] | None:
    """What is asked for and seen as well: None for no restriction, an empty list for nothing."""
    if seen is None:
        return [int(one) for one in asked] or None
    return sorted(int(one) for one in seen if not asked or one in asked)


async def list_memories(
    work: UnitOfWork,
    restriction: MemoryFilter,
    *,
    scope_id: UUID,
    agent: str | None,
    session: str | None,
    include_narrowed: bool,
    bound_agent: str | None,
    now: datetime,
    after_id: UUID | None,
    limit: int,
) -> list[tuple[Revision, bool]]:
    """One page of memories, newest first, each with whether history contradicts it.

    bound_agent: leaves out what is narrowed to any other agent.
    """
    rows = await work.fetch(
        "memory_list",
        **filter_values(restriction),
        scope_id=scope_id,
        agent=agent,
        session=session,
        include_narrowed=include_narrowed,
        bound_agent=bound_agent,
        now=now,
        after_id=after_id,
        limit=limit,
    )
    return [(to_revision(row), row["contradicted"]) for row in rows]
