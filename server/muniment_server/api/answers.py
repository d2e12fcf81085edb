"""Domain values as messages of the contract."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from muniment_server._gen.muniment.v1 import (
    consistency_pb2,
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    write_pb2,
)
from muniment_server.application.consistency import token_order
from muniment_server.application.erase import Receipt
from muniment_server.application.explaining import LegScore
from muniment_server.application.recall_types import Degradation, NearMiss, Ranked, Recalled
from muniment_server.audit.events import EPOCH, from_micros
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import Memory, PropertyValue, Provenance, Scope, ScopeKind

_TEXTS = ("etag", "slot", "content", "speaker")
_INSTANTS = ("create_time", "update_time", "expire_time", "erase_time", "reinforce_time")


def number(value: int | None) -> Any:
    """An enum's number for the generated code, whose stubs know only its own enums; None is unspecified."""
    return 0 if value is None else int(value)


def timestamp(value: datetime | None) -> Timestamp | None:
    """An instant; None stays unset."""
    if value is None:
        return None
    since = value - EPOCH
    return Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1_000)


def scope(value: Scope) -> memory_pb2.Scope:
    """A scope."""
    message = memory_pb2.Scope(agent=value.agent, session=value.session)
    if value.kind is ScopeKind.SUBJECT:
        message.subject = value.label
    else:
        message.space = value.label
    return message


def property_value(value: PropertyValue) -> memory_pb2.PropertyValue:
    """A caller-owned value."""
    if isinstance(value, bool):
        return memory_pb2.PropertyValue(bool_value=value)
    if isinstance(value, str):
        return memory_pb2.PropertyValue(string_value=value)
    return memory_pb2.PropertyValue(number_value=value)


def memory(value: Memory) -> memory_pb2.Memory:
    """A memory; a tombstone has id, state and erase time only."""
    # What is empty is not named: each field that is costs as much as one that says something.
    named: dict[str, Any] = {}
    for name in _TEXTS:
        text = getattr(value, name)
        if text:
            named[name] = text
    for name in _INSTANTS:
        instant = getattr(value, name)
        if instant is not None:
            named[name] = timestamp(instant)
    if value.scope:
        named["scope"] = scope(value.scope)
    if value.kind is not None:
        named["kind"] = number(value.kind)
    if value.turn_number is not None:
        named["turn_number"] = value.turn_number
    if value.tags:
        named["tags"] = value.tags
    if value.properties:
        named["properties"] = {key: property_value(one) for key, one in value.properties.items()}
    if value.attributes:
        named["attributes"] = json_format.Parse(value.attributes, Struct())
    if value.provenance:
        named["provenance"] = _provenance(value.provenance)
    if value.validity.start or value.validity.end:
        named["validity"] = memory_pb2.Validity(
            start_time=timestamp(value.validity.start), end_time=timestamp(value.validity.end)
        )
    if value.supersedes:
        named["supersedes"] = str(value.supersedes)
    if value.superseded_by:
        named["superseded_by"] = str(value.superseded_by)
    return memory_pb2.Memory(
        memory_id=str(value.memory_id),
        revision=value.revision,
        state=number(value.state),
        reinforcement_count=value.reinforce_count,
        **named,
    )


def _provenance(value: Provenance) -> memory_pb2.Provenance:
    return memory_pb2.Provenance(
        source_type=number(value.source_type),
        source_ref=value.source_ref,
        session=value.session,
        author=value.author,
        agent=value.author_agent,
        confidence=value.confidence,
        trust=number(value.trust),
    )


def token(text: str) -> consistency_pb2.ConsistencyToken:
    """A consistency token."""
    return consistency_pb2.ConsistencyToken(token=text, order=token_order(text) if text else 0)


def _leg(score: LegScore) -> recall_pb2.LegScore:
    return recall_pb2.LegScore(
        leg=number(score.leg),
        rank=score.rank or 0,
        raw_score=score.raw_score,
        contribution=score.contribution,
    )


def _ranked(value: Ranked, *, full: bool, explain: bool) -> recall_pb2.RankedMemory:
    shown = memory(value.memory)
    if not full:
        shown.ClearField("content")
        shown.ClearField("attributes")
        shown.ClearField("speaker")
    return recall_pb2.RankedMemory(
        memory=shown,
        rank=value.rank,
        score=value.score,
        packed=value.packed,
        leg_scores=[_leg(score) for score in value.legs] if explain else [],
        factors=factors(value.factors) if explain else [],
    )


def factors(values: Iterable[Factor]) -> list[write_pb2.ScoreFactor]:
    """What a score or a gate took into account."""
    return [
        write_pb2.ScoreFactor(
            name=one.name,
            value=one.value,
            weight=one.weight,
            contribution=one.contribution,
            rank=one.rank,
        )
        for one in values
    ]


def _near_miss(value: NearMiss) -> recall_pb2.NearMiss:
    return recall_pb2.NearMiss(
        memory_id=str(value.memory_id),
        score=value.score,
        reason=number(value.reason),
        leg_scores=[_leg(score) for score in value.legs],
        factors=factors(value.factors),
    )


def degradations(values: Iterable[Degradation]) -> list[recall_pb2.Degradation]:
    """What a Recall had to leave out."""
    return [
        recall_pb2.Degradation(
            stage=number(one.stage),
            leg=number(one.leg),
            reason=number(one.reason),
            affected_count=one.affected,
        )
        for one in values
    ]


def recalled(
    value: Recalled, *, full: bool, explain: bool, trace_id: str
) -> memory_service_pb2.RecallResponse:
    """The answer of Recall."""
    packed = value.packed
    return memory_service_pb2.RecallResponse(
        memories=[_ranked(one, full=full, explain=explain) for one in value.ranked],
        recall_id=str(value.recall_id),
        packed_context=recall_pb2.PackedContext(
            text=packed.text,
            tokens=packed.tokens,
            memory_ids=[str(memory_id) for memory_id in packed.packed],
            tokenizer=packed.tokenizer,
        )
        if packed
        else None,
        no_relevant_memory=value.no_relevant_memory,
        left_out=[
            recall_pb2.LeftOut(reason=number(reason), count=count) for reason, count in value.left_out.items()
        ],
        degraded=degradations(value.degraded),
        seal_broken_memory_ids=[str(memory_id) for memory_id in value.broken[:100]],
        applied_min_score=value.min_score,
        applied_limit=value.limit,
        near_misses=[_near_miss(one) for one in value.near_misses],
        consistency_token=token(value.consistency_token),
        trace_id=trace_id,
        read_time=timestamp(value.read_time),
    )


def receipt(value: Receipt) -> erasure_pb2.ErasureReceipt:
    """An erasure receipt."""
    facts = value.facts
    return erasure_pb2.ErasureReceipt(
        erasure_id=facts["erasure_id"],
        state=facts["state"],
        target_kind=facts["target_kind"],
        reason=facts["reason"],
        reason_code=facts["reason_code"],
        validate_only=facts["validate_only"],
        counts=erasure_pb2.ErasureCounts(**facts["counts"]),
        kept=[
            erasure_pb2.ErasureKept(item=one["item"], count=one["count"], reason=one["reason"])
            for one in facts["kept"]
        ],
        keys_destroyed=facts["keys_destroyed"],
        create_time=timestamp(from_micros(facts["create_time"])),
        complete_time=timestamp(from_micros(facts["complete_time"]))
        if facts["complete_time"] is not None
        else None,
        sample_memory_ids=[str(memory_id) for memory_id in value.sample],
        event_id=facts["event_id"],
        signature=value.signature or b"",
        signing_key_id=value.signing_key_id,
        signed_bytes=value.signed_bytes,
    )
