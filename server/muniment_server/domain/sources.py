"""Which memories count for one source, of which an answer has not too many."""

from .model import MemoryKind, TrustLevel


def bounded_source(trust: int, kind: int, source_ref: str | None, author: str) -> str | None:
    """The source that a memory counts for, or None for one that is no bounded source; as in sql/recall.sql.

    A turn of MEDIUM trust is what an agent said itself: the conversation that its `source_ref` may name is
    no document that could be stuffed.
    """
    if trust >= TrustLevel.HIGH or (kind == MemoryKind.TURN and trust == TrustLevel.MEDIUM):
        return None
    if source_ref:
        return f"ref {source_ref}"
    return f"author {author}" if trust < TrustLevel.MEDIUM else None
