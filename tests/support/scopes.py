"""A scope put into the store as the statements of Recall find one; seals do not matter to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from pgvector import HalfVector

from muniment_server.domain.model import (
    EmbeddingState,
    MemoryKind,
    MemoryState,
    Revision,
    ScopeKind,
    ScopeRow,
    SourceType,
    TrustLevel,
)
from muniment_server.storage.database import Database, UnitOfWork
from muniment_server.storage.embeddings import EmbeddingRow, insert_embeddings
from muniment_server.storage.memories import index_tokens, insert_memories, insert_scope

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_ABSENT = (
    "confidence", "expire_time", "valid_from", "valid_to", "reinforce_time", "supersedes", "superseded_by",
    "slot", "agent", "session", "origin_session", "turn_number", "author_agent", "source_ref",
)  # fmt: skip


@dataclass(frozen=True)
class Indexed:
    """A memory, the frequencies of the tokens that the index has it by, and its vector if it has one."""

    revision: Revision
    tokens: Mapping[int, int]
    vector: np.ndarray | None


def made_revision(scope_id: UUID, doc_no: int, term_count: int, **labels: Any) -> Revision:
    """The first revision of a memory: a fact of high trust, unless the labels say otherwise."""
    values: dict[str, Any] = {
        **dict.fromkeys(_ABSENT),
        "memory_id": uuid4(),
        "state": MemoryState.ACTIVE,
        "kind": MemoryKind.FACT,
        "trust": TrustLevel.HIGH,
        "source_type": SourceType.USER_STATED,
        "tags": (),
        "properties": {},
    }
    return Revision(
        **(values | labels),
        scope_id=scope_id,
        doc_no=doc_no,
        revision=1,
        content_revision=1,
        key_epoch=1,
        analyzer=1,
        term_count=term_count,
        reinforce_count=0,
        create_time=NOW,
        update_time=NOW,
        author="test",
        statement_hash=b"",
        tokens=(),
        content_ct=b"",
        seal=b"",
    )


async def put_scope(
    pool: Database, tenant_id: UUID, scope_id: UUID, memories: Sequence[Indexed], *, model_no: int = 1
) -> int:
    """Store a new scope with its memories, index and vectors; returns the scope's number."""
    scope_no = int.from_bytes(scope_id.bytes[:8], signed=True)
    live = [one for one in memories if one.revision.state is MemoryState.ACTIVE]
    scope = ScopeRow(
        scope_id=scope_id,
        scope_no=scope_no,
        kind=ScopeKind.SUBJECT,
        label_ct=None,
        key_epoch=1,
        generation=1,
        live_count=len(live),
        live_terms=sum(one.revision.term_count for one in live),
        next_doc=len(memories) + 1,
        set_count=0,
        set_digest=b"",
        seal=b"",
    )
    async with pool.transaction(tenant_id) as work:
        await insert_scope(work, scope, NOW)
        await put_memories(work, scope_no, memories, model_no=model_no)
    return scope_no


async def put_memories(
    work: UnitOfWork, scope_no: int, memories: Sequence[Indexed], *, model_no: int = 1
) -> None:
    """Store memories of a scope, index those that are live, and their vectors."""
    await insert_memories(work, [one.revision for one in memories])
    await index_tokens(
        work,
        scope_no,
        [
            (one.revision.doc_no, one.tokens, one.revision.term_count)
            for one in memories
            if one.revision.state is MemoryState.ACTIVE
        ],
    )
    vectors = {one.revision.doc_no: one.vector for one in memories if one.vector is not None}
    await put_vectors(work, scope_no, vectors, model_no=model_no)


async def put_vectors(
    work: UnitOfWork, scope_no: int, vectors: Mapping[int, np.ndarray], *, model_no: int = 1
) -> None:
    """Store vectors by the number of their document."""
    rows = [
        EmbeddingRow(model_no, doc_no, 1, EmbeddingState.READY, HalfVector(vector), b"")
        for doc_no, vector in vectors.items()
    ]
    await insert_embeddings(work, scope_no, rows)
