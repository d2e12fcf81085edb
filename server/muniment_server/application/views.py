"""Sealed revisions as the memories that callers see."""

from datetime import datetime
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import Memory, MemoryState, Provenance, Revision, Scope, ScopeKind, Validity

_FRAME = 768
"""Ids, times, numbers, the reasons of a score, and the lengths of all that is not counted one by one."""
_LABEL_FRAME = 24
_STRUCT_BYTES = 6
"""Of a Struct per byte of its JSON at most: a digit and a comma are a number of eleven bytes."""


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
    speaker: str | None = None,
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
        speaker=speaker,
        turn_number=revision.turn_number,
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


def weight(memory: Memory) -> int:
    """What a memory takes of an answer at most, in bytes."""
    texts = [memory.content, memory.slot, memory.speaker, *memory.tags, *memory.properties]
    texts += [value for value in memory.properties.values() if isinstance(value, str)]
    if memory.scope is not None:
        texts += [memory.scope.label, memory.scope.agent, memory.scope.session]
    if memory.provenance is not None:
        provenance = memory.provenance
        texts += [provenance.source_ref, provenance.session, provenance.author, provenance.author_agent]
    weighed = sum(len(text.encode()) for text in texts if text is not None)
    attributes = _STRUCT_BYTES * len(memory.attributes.encode()) if memory.attributes else 0
    return _FRAME + _LABEL_FRAME * (len(memory.tags) + len(memory.properties)) + weighed + attributes
