"""Sealed revisions as the memories that callers see."""

from datetime import datetime
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import Memory, MemoryState, Provenance, Revision, Scope, ScopeKind, Validity


def etag(key: TenantKey, memory_id: UUID, revision: int) -> str:
    """The opaque mark of a revision."""
    return key.mac("etag", memory_id.bytes + revision.to_bytes(8))[:12].hex()


def to_memory(
    key: TenantKey,
    revision: Revision,
    kind: ScopeKind,
    label: str,
    content: str | None = None,
    attributes: str | None = None,
) -> Memory:
    """The caller's view of a genuine revision; basic without `content`."""
    return Memory(
        memory_id=revision.memory_id,
        scope=Scope(kind, label, revision.agent, revision.session),
        state=revision.state,
        revision=revision.revision,
        etag=etag(key, revision.memory_id, revision.revision),
        kind=revision.kind,
        slot=revision.slot,
        content=content,
        attributes=attributes,
        tags=revision.tags,
        properties=revision.properties,
        provenance=Provenance(
            source_type=revision.source_type,
            trust=revision.trust,
            confidence=revision.confidence,
            session=revision.origin_session,
            source_ref=revision.source_ref,
            author=revision.author,
            author_agent=revision.author_agent,
        ),
        validity=Validity(revision.valid_from, revision.valid_to),
        create_time=revision.create_time,
        update_time=revision.update_time,
        expire_time=revision.expire_time,
        reinforce_time=revision.reinforce_time,
        reinforce_count=revision.reinforce_count,
        supersedes=revision.supersedes,
        superseded_by=revision.superseded_by,
    )


def tombstone(memory_id: UUID, erase_time: datetime) -> Memory:
    """What is left of an erased memory."""
    return Memory(memory_id, MemoryState.ERASED, erase_time=erase_time)
