"""Sealed revisions as the memories that callers see."""

from datetime import datetime
from uuid import UUID

from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.making import maker
from muniment_server.domain.model import (
    EmbeddingState,
    Memory,
    MemoryState,
    Provenance,
    Revision,
    Scope,
    ScopeKind,
    Validity,
)

_FRAME = 768
"""Ids, times, numbers, the reasons of a score, and the lengths of all that is not counted one by one."""
_LABEL_FRAME = 24
_STRUCT_BYTES = 6
"""Of a Struct per byte of its JSON at most: a digit and a comma are a number of eleven bytes."""
_memory, _provenance = maker(Memory), maker(Provenance)


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
    return _memory(
        revision.memory_id,
        revision.state,
        Scope(kind, label, revision.agent, revision.session),
        revision.revision,
        etag(key, revision.memory_id, revision.revision),
        revision.kind,
        revision.slot,
        content,
        attributes,
        speaker,
        revision.turn_number,
        revision.tags,
        revision.properties,
        _provenance(
            revision.source_type,
            revision.trust,
            revision.confidence,
            revision.origin_session,
            revision.source_ref,
            revision.author,
            revision.author_agent,
        ),
        Validity(revision.valid_from, revision.valid_to),
        revision.create_time,
        revision.update_time,
        revision.expire_time,
        None,
        revision.reinforce_time,
        revision.reinforce_count,
        revision.supersedes,
        revision.superseded_by,
        None,
    )


def stored_state(number: int | None) -> EmbeddingState | None:
    """What a row of a vector says of its memory; None for what the service never stores."""
    return EmbeddingState(number) if number in tuple(EmbeddingState) else None


def tombstone(memory_id: UUID, erase_time: datetime) -> Memory:
    """What is left of an erased memory."""
    return Memory(memory_id, MemoryState.ERASED, erase_time=erase_time)


def weight(memory: Memory, *, full: bool = True) -> int:
    """What a memory takes of an answer at most, in bytes. full: with what is encrypted."""
    texts = [memory.slot, *memory.tags, *memory.properties]
    if full:
        texts += [memory.content, memory.speaker]
    texts += [value for value in memory.properties.values() if isinstance(value, str)]
    if memory.scope is not None:
        texts += [memory.scope.label, memory.scope.agent, memory.scope.session]
    if memory.provenance is not None:
        provenance = memory.provenance
        texts += [provenance.source_ref, provenance.session, provenance.author, provenance.author_agent]
    weighed = sum([len(text.encode()) for text in texts if text])
    attributes = _STRUCT_BYTES * len(memory.attributes.encode()) if full and memory.attributes else 0
    return _FRAME + _LABEL_FRAME * (len(memory.tags) + len(memory.properties)) + weighed + attributes
