"""Messages of the contract in plain values and words, for the commands that show the trail."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .output import count_of

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from muniment_server._gen.muniment.v1 import audit_pb2, memory_pb2


def word(enum: Any, number: int) -> str:
    """The name of an enum's value without its prefix, in lower case; an unknown number as it is."""
    descriptor = enum.DESCRIPTOR
    value = descriptor.values_by_number.get(number)
    if value is None:
        return str(number)
    prefix: str = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    name: str = value.name.removeprefix(prefix).lower()
    return "" if name == "unspecified" else name


def shown(text: str) -> str:
    """A caller's text as it may stand on a terminal: nothing in it moves the cursor or hides a line."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def instant(value: "Timestamp") -> datetime:
    """The instant of a message's field."""
    return value.ToDatetime(tzinfo=UTC)


def actor(value: "audit_pb2.Actor") -> dict[str, str]:
    """Who acted."""
    from muniment_server._gen.muniment.v1 import audit_pb2

    return {
        "kind": word(audit_pb2.ActorKind, value.kind),
        "principal": value.principal,
        "agent": value.agent,
        "client": value.client,
    }


def actor_text(value: Mapping[str, str]) -> str:
    """Who acted, in one line."""
    parts = [f"{value['kind']} {value['principal']}".strip()]
    parts += [f"{name} {value[name]}" for name in ("agent", "client") if value[name]]
    return shown(", ".join(parts))


def scope(value: "memory_pb2.Scope") -> dict[str, str | None]:
    """A scope whose labels can still be read."""
    kind = value.WhichOneof("owner")
    return {
        "subject": value.subject if kind == "subject" else None,
        "space": value.space if kind == "space" else None,
        "agent": value.agent if value.HasField("agent") else None,
        "session": value.session if value.HasField("session") else None,
    }


def scope_text(value: Mapping[str, str | None] | None, scope_id: str) -> str:
    """A scope in one line: its id always, its labels where they can still be read."""
    if not scope_id:
        return "-"
    if value is None:
        return f"{scope_id} (labels can no longer be read)"
    named = [f"{name} {text!r}" for name, text in value.items() if text is not None]
    return f"{scope_id} ({', '.join(named)})"


def summary(event: "audit_pb2.AuditEvent") -> str:
    """What an event says, in a few words: counts and ids."""
    from muniment_server._gen.muniment.v1 import audit_pb2, erasure_pb2, write_pb2

    match event.WhichOneof("details"):
        case "memory_written":
            outcomes = [word(write_pb2.WriteOutcome, item.outcome) for item in event.memory_written.items]
            return ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes))
        case "memory_superseded":
            told = event.memory_superseded
            outcome = word(write_pb2.WriteOutcome, told.successor.outcome)
            return f"{told.memory_id} by {told.successor.memory_id} ({outcome})"
        case "memory_erased":
            erased = event.memory_erased
            target = word(erasure_pb2.ErasureTargetKind, erased.target_kind)
            keys = count_of(erased.keys_destroyed, "key")
            return f"{count_of(erased.counts.memories, 'memory')} ({target}), {keys} destroyed"
        case "memories_recalled":
            recalled = event.memories_recalled
            packed = sum(one.packed for one in recalled.memories)
            return (
                f"{count_of(len(recalled.memories), 'memory')}, {packed} packed, recall {recalled.recall_id}"
            )
        case "memories_used":
            used = event.memories_used
            outcome = word(audit_pb2.UseOutcome, used.outcome)
            return f"{count_of(len(used.memory_ids), 'memory')} of recall {used.recall_id} {outcome}".rstrip()
        case "memories_read":
            return count_of(event.memories_read.count, "memory")
        case "access_denied":
            return f"{event.access_denied.method} needs {event.access_denied.permission}"
        case "integrity_violation":
            violated = event.integrity_violation
            return f"{violated.count} with a broken {violated.check}"
        case "restore_declared":
            restored = event.restore_declared
            return f"from {restored.anchored_sequence} back to {restored.restored_sequence}"
        case "administered":
            return _administered(event.administered)
        case "conversation_ingested":
            ingested = event.conversation_ingested
            outcomes = [word(write_pb2.WriteOutcome, item.outcome) for item in ingested.items]
            counted = ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes))
            return f"ingest {ingested.ingest_id}: {counted}"
        case "memories_corrected":
            return _corrected(event.memories_corrected)
        case "review_decided":
            return _decided(event.review_decided)
        case "consent_changed":
            return _consented(event.consent_changed)
        case _:
            return ""


def _corrected(done: "audit_pb2.MemoriesCorrected") -> str:
    from muniment_server._gen.muniment.v1 import memory_pb2

    changed = [f"{one.memory_id} {word(memory_pb2.MemoryState, one.state)}" for one in done.memories[:3]]
    if len(done.memories) > len(changed):
        changed.append(f"{len(done.memories) - len(changed)} more")
    text = ", ".join(changed) or "nothing changed"
    return f"write {done.write_request_id}: {text}" if done.write_request_id else text


def _decided(done: "audit_pb2.ReviewDecided") -> str:
    from muniment_server._gen.muniment.v1 import memory_pb2, review_pb2

    text = f"{word(review_pb2.ReviewDecision, done.decision)} {done.memory_id}"
    if done.superseded_memory_id:
        text += f" in place of {done.superseded_memory_id}"
    return f"{text} (trust {word(memory_pb2.TrustLevel, done.trust)})"


def _consented(done: "audit_pb2.ConsentChanged") -> str:
    from muniment_server._gen.muniment.v1 import memory_pb2, subject_pb2

    parts = [word(subject_pb2.ConsentLevel, done.level) or "not decided"]
    if done.necessary_kinds:
        parts.append(" ".join(word(memory_pb2.MemoryKind, kind) for kind in done.necessary_kinds))
    if done.session_forgotten:
        parts.append("a session is not to be remembered")
    if done.erasure_id:
        parts.append(f"erasure {done.erasure_id}")
    return ", ".join(parts)


def _administered(done: "audit_pb2.Administered") -> str:
    from muniment_server._gen.muniment.v1 import audit_pb2

    about = done.public_id or done.master_key_id or done.setting
    if done.policy_revision:
        about = f"{about or done.agent or 'all'} to {done.value or 'its default'}"
    elif done.value:
        about = done.value
    text = f"{word(audit_pb2.AdministrativeAct, done.act)} {about}".rstrip()
    if done.permissions:
        text += f": {', '.join(done.permissions)}"
    if done.subject_bound:
        text += "; for this subject only"
    return text
