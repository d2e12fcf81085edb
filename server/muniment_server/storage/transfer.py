"""Everything of a scope on its way out, and what is there already on the way in."""

from collections.abc import Sequence
from uuid import UUID

from muniment_server.domain.model import MemoryState, Revision

from .database import UnitOfWork
from .rows import to_revision

Known = tuple[bytes, int, str | None, str | None, str | None]
"""Statement hash, kind, slot, agent and session of a stored memory."""


async def export_page(
    work: UnitOfWork,
    *,
    scope_id: UUID,
    states: Sequence[MemoryState],
    bound_agent: str | None,
    after_id: UUID | None,
    limit: int,
) -> list[tuple[Revision, bool]]:
    """One page of memories, oldest first, each with whether history contradicts it."""
    rows = await work.fetch(
        "memory_export",
        scope_id=scope_id,
        states=[int(state) for state in states],
        bound_agent=bound_agent,
        after_id=after_id,
        limit=limit,
    )
    return [(to_revision(row), row["contradicted"]) for row in rows]


async def known_statements(work: UnitOfWork, scope_id: UUID, statement_hashes: Sequence[bytes]) -> set[Known]:
    """Statements that a scope holds already, live or archived."""
    rows = await work.fetch("import_known", scope_id=scope_id, statement_hashes=list(statement_hashes))
    return {
        (bytes(row["statement_hash"]), row["kind"], row["slot"], row["agent"], row["session"]) for row in rows
    }
