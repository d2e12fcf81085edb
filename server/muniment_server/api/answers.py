"""Domain values as messages of the contract."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from google.protobuf import json_format
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
from muniment_server.application.erasure_record import Receipt
from muniment_server.application.explaining import LegScore, ScoreBasis
from muniment_server.application.recall_types import Degradation, NearMiss, Recalled
from muniment_server.audit.events import EPOCH, from_micros
from muniment_server.domain.importance import Factor
from muniment_server.domain.model import Memory, PropertyValue, Provenance, Scope, ScopeKind


def number(value: int | None) -> Any:
    """An enum's number for the generated code, whose stubs know only its own enums; None is unspecified."""
    return 0 if value is None else int(value)


def timestamp(value: datetime | None) -> Timestamp | None:
    """An instant; None stays unset."""
    if value is None:
        return None
    message = Timestamp()
    _put_instant(message, value)
    return message


def _put_instant(message: Timestamp, value: datetime) -> None:
    since = value - EPOCH
    message.seconds = since.days * 86_400 + since.seconds
    message.nanos = since.microseconds * 1_000


def scope(value: Scope) -> memory_pb2.Scope:
    """A scope."""
    message = memory_pb2.Scope()
    _put_scope(message, value)
    return message


def _put_scope(message: memory_pb2.Scope, value: Scope) -> None:
    if value.kind is ScopeKind.SUBJECT:
        message.subject = value.label
    else:
        message.space = value.label
    if value.agent is not None:
        message.agent = value.agent
    if value.session is not None:
        message.session = value.session


def property_value(value: PropertyValue) -> memory_pb2.PropertyValue:
    """A caller-owned value."""
    if isinstance(value, bool):
        return memory_pb2.PropertyValue(bool_value=value)
    if isinstance(value, str):
        return memory_pb2.PropertyValue(string_value=value)
    return memory_pb2.PropertyValue(number_value=value)


def memory(value: Memory) -> memory_pb2.Memory:
    """A memory; a tombstone has id, state and erase time only."""
    message = memory_pb2.Memory()
    _put_memory(message, value)
    return message


def _put_memory(message: memory_pb2.Memory, value: Memory, *, full: bool = True) -> None:
    """Put a memory where it is to stand: a message within another is copied. What is empty costs nothing.

    full: with what was encrypted of it.
    """
    message.memory_id = str(value.memory_id)
    message.state = number(value.state)
    message.revision = value.revision
    message.etag = value.etag
    if value.kind is not None:
        message.kind = number(value.kind)
    if value.scope is not None:
        _put_scope(message.scope, value.scope)
    if full:
        if value.content:
            message.content = value.content
        if value.speaker:
            message.speaker = value.speaker
        if value.attributes:
            json_format.Parse(value.attributes, message.attributes)
    if value.slot:
        message.slot = value.slot
    if value.turn_number is not None:
        message.turn_number = value.turn_number
    if value.tags:
        message.tags.extend(value.tags)
    for key, one in value.properties.items():
        message.properties[key].CopyFrom(property_value(one))
    if value.provenance is not None:
        _put_provenance(message.provenance, value.provenance)
    if value.validity.start is not None:
        _put_instant(message.validity.start_time, value.validity.start)
    if value.validity.end is not None:
        _put_instant(message.validity.end_time, value.validity.end)
    if value.create_time is not None:
        _put_instant(message.create_time, value.create_time)
    if value.update_time is not None:
        _put_instant(message.update_time, value.update_time)
    if value.expire_time is not None:
        _put_instant(message.expire_time, value.expire_time)
    if value.erase_time is not None:
        _put_instant(message.erase_time, value.erase_time)
    if value.reinforce_time is not None:
        _put_instant(message.reinforce_time, value.reinforce_time)
    if value.reinforce_count:
        message.reinforcement_count = value.reinforce_count
    if value.supersedes is not None:
        message.supersedes = str(value.supersedes)
    if value.superseded_by is not None:
        message.superseded_by = str(value.superseded_by)
    if value.embedding_state is not None:
        message.embedding_state = number(value.embedding_state)


def _put_provenance(message: memory_pb2.Provenance, value: Provenance) -> None:
    message.source_type = number(value.source_type)
    message.trust = number(value.trust)
    message.author = value.author
    if value.source_ref:
        message.source_ref = value.source_ref
    if value.session is not None:
        message.session = value.session
    if value.author_agent:
        message.agent = value.author_agent
    if value.confidence is not None:
        message.confidence = value.confidence


def token(text: str) -> consistency_pb2.ConsistencyToken:
    """A consistency token."""
    return consistency_pb2.ConsistencyToken(token=text, order=token_order(text) if text else 0)


def _leg(score: LegScore) -> recall_pb2.LegScore:
    return recall_pb2.LegScore(
        leg=number(score.leg),
        rank=score.rank or 0,
        raw_score=score.raw_score,
        contribution=score.contribution,
        value=score.value,
        weight=score.weight,
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
        evidence=value.evidence,
    )


def _basis(value: ScoreBasis) -> recall_pb2.ScoreBasis:
    return recall_pb2.ScoreBasis(
        cosine_low=value.cosine_low,
        cosine_high=value.cosine_high,
        vector_weight=value.vector_weight,
        lexical_weight=value.lexical_weight,
        around_vector_weight=value.around_vector_weight,
        around_lexical_weight=value.around_lexical_weight,
        leg_count=value.leg_count,
        threshold=value.threshold,
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
    answer = memory_service_pb2.RecallResponse(
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
        left_out_incomplete=value.drawn,
        score_basis=_basis(value.basis) if explain or value.near_misses else None,
        consistency_token=token(value.consistency_token),
        trace_id=trace_id,
        read_time=timestamp(value.read_time),
    )
    for one in value.ranked:
        ranked = answer.memories.add(rank=one.rank, score=one.score, packed=one.packed)
        _put_memory(ranked.memory, one.memory, full=full)
        if explain:
            ranked.leg_scores.extend([_leg(score) for score in one.legs])
            ranked.factors.extend(factors(one.factors))
            ranked.evidence = one.evidence
    return answer


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
