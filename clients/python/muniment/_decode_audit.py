"""From the audit messages of the contract to plain values; as tolerant as `_decode`."""

from collections.abc import Iterator

from muniment._audit_types import (
    AccessDenied,
    Actor,
    Administered,
    AuditCheckpoint,
    AuditDetails,
    AuditEvent,
    ConsentChanged,
    ConversationIngested,
    CorrectedMemory,
    ExportedEvent,
    ExportHeader,
    ExportPart,
    ExportTrailer,
    IntegrityViolation,
    MemoriesCorrected,
    MemoriesRead,
    MemoriesRecalled,
    MemoriesUsed,
    MemoryErased,
    MemorySuperseded,
    MemoryWritten,
    RecalledMemory,
    RecallReceipt,
    RestoreDeclared,
    ReviewDecided,
    SigningKey,
    UseReport,
    WrittenMemory,
)
from muniment._decode import (
    degradation,
    erasure_counts,
    finding,
    left_out,
    leg_score,
    near_miss,
    scope,
    score_basis,
    score_factor,
)
from muniment._enums import (
    ActorKind,
    AdministrativeAct,
    AuditAction,
    AuditOutcome,
    ConsentLevel,
    ErasureReason,
    ErasureTargetKind,
    ExtractionFallback,
    Extractor,
    Fusion,
    IngestState,
    MemoryKind,
    MemoryState,
    ReviewDecision,
    SourceType,
    TrustLevel,
    UseOutcome,
    WriteOutcome,
)
from muniment._values import instant
from muniment.v1 import audit_pb2, error_reason_pb2


def _actor(message: audit_pb2.Actor) -> Actor:
    return Actor(ActorKind(message.kind), message.principal, message.agent, message.client)


def _reason(number: int) -> str:
    if number == 0:
        return ""
    try:
        return error_reason_pb2.ErrorReason.Name(number).removeprefix("ERROR_REASON_")
    except ValueError:
        return f"UNKNOWN_{number}"


def _written_memory(message: audit_pb2.WrittenMemory) -> WrittenMemory:
    return WrittenMemory(
        memory_id=message.memory_id,
        revision=message.revision,
        outcome=WriteOutcome(message.outcome),
        kind=MemoryKind(message.kind),
        source_type=SourceType(message.source_type),
        trust=TrustLevel(message.trust),
        superseded_memory_id=message.superseded_memory_id,
        rule=message.rule,
        findings=tuple(map(finding, message.findings)),
        importance_factors=tuple(map(score_factor, message.importance_factors)),
    )


def _recalled(message: audit_pb2.MemoriesRecalled) -> MemoriesRecalled:
    return MemoriesRecalled(
        recall_id=message.recall_id,
        memories=tuple(
            RecalledMemory(
                memory_id=each.memory_id,
                revision=each.revision,
                rank=each.rank,
                score=each.score,
                packed=each.packed,
                leg_scores=tuple(map(leg_score, each.leg_scores)),
                factors=tuple(map(score_factor, each.factors)),
                evidence=each.evidence,
            )
            for each in message.memories
        ),
        left_out=tuple(map(left_out, message.left_out)),
        degraded=tuple(map(degradation, message.degraded)),
        seal_broken_memory_ids=tuple(message.seal_broken_memory_ids),
        no_relevant_memory=message.no_relevant_memory,
        limit=message.limit,
        min_score=message.min_score,
        token_budget=message.token_budget,
        packed_tokens=message.packed_tokens,
        tokenizer=message.tokenizer,
        embedding_model=message.embedding_model,
        near_misses=tuple(map(near_miss, message.near_misses)),
        fusion=Fusion(message.fusion),
        as_of_time=instant(message, "as_of_time"),
        left_out_incomplete=message.left_out_incomplete,
        query_digest=message.query_digest,
        score_basis=score_basis(message),
    )


def _used(message: audit_pb2.MemoriesUsed) -> MemoriesUsed:
    return MemoriesUsed(
        recall_id=message.recall_id,
        memory_ids=tuple(message.memory_ids),
        outcome=UseOutcome(message.outcome),
        model=message.model,
        prompt_ref=message.prompt_ref,
    )


def _erased(message: audit_pb2.MemoryErased) -> MemoryErased:
    return MemoryErased(
        erasure_id=message.erasure_id,
        target_kind=ErasureTargetKind(message.target_kind),
        reason=ErasureReason(message.reason),
        reason_code=message.reason_code,
        counts=erasure_counts(message.counts),
        keys_destroyed=message.keys_destroyed,
        memory_ids=tuple(message.memory_ids),
    )


def _administered(message: audit_pb2.Administered) -> Administered:
    return Administered(
        act=AdministrativeAct(message.act),
        credential_id=message.credential_id,
        public_id=message.public_id,
        permissions=tuple(message.permissions),
        source_types=tuple(map(SourceType, message.source_types)),
        max_trust=TrustLevel(message.max_trust),
        subject_bound=message.subject_bound,
        agent=message.agent,
        expire_time=instant(message, "expire_time"),
        master_key_id=message.master_key_id,
        setting=message.setting,
        value=message.value,
        policy_revision=message.policy_revision,
        policy_digest=message.policy_digest,
    )


def _ingested(message: audit_pb2.ConversationIngested) -> ConversationIngested:
    return ConversationIngested(
        ingest_id=message.ingest_id,
        state=IngestState(message.state),
        items=tuple(map(_written_memory, message.items)),
        extractor=Extractor(message.extractor),
        fallback=ExtractionFallback(message.fallback),
    )


def _corrected(message: audit_pb2.MemoriesCorrected) -> MemoriesCorrected:
    return MemoriesCorrected(
        memories=tuple(
            CorrectedMemory(each.memory_id, each.revision, MemoryState(each.state))
            for each in message.memories
        ),
        write_request_id=message.write_request_id,
    )


def _decided(message: audit_pb2.ReviewDecided) -> ReviewDecided:
    return ReviewDecided(
        memory_id=message.memory_id,
        revision=message.revision,
        decision=ReviewDecision(message.decision),
        superseded_memory_id=message.superseded_memory_id,
        trust=TrustLevel(message.trust),
    )


def _consent(message: audit_pb2.ConsentChanged) -> ConsentChanged:
    return ConsentChanged(
        level=ConsentLevel(message.level),
        necessary_kinds=tuple(map(MemoryKind, message.necessary_kinds)),
        session_forgotten=message.session_forgotten,
        erasure_id=message.erasure_id,
    )


def _details(event: audit_pb2.AuditEvent) -> AuditDetails | None:
    match event.WhichOneof("details"):
        case "memory_written":
            return MemoryWritten(tuple(map(_written_memory, event.memory_written.items)))
        case "memory_superseded":
            message = event.memory_superseded
            successor = _written_memory(message.successor) if message.HasField("successor") else None
            return MemorySuperseded(message.memory_id, message.revision, successor)
        case "memory_erased":
            return _erased(event.memory_erased)
        case "memories_recalled":
            return _recalled(event.memories_recalled)
        case "memories_used":
            return _used(event.memories_used)
        case "memories_read":
            return MemoriesRead(tuple(event.memories_read.memory_ids), event.memories_read.count)
        case "access_denied":
            return AccessDenied(event.access_denied.method, event.access_denied.permission)
        case "integrity_violation":
            found = event.integrity_violation
            return IntegrityViolation(tuple(found.memory_ids), found.check, found.count)
        case "restore_declared":
            declared = event.restore_declared
            return RestoreDeclared(declared.anchored_sequence, declared.restored_sequence, declared.reference)
        case "administered":
            return _administered(event.administered)
        case "conversation_ingested":
            return _ingested(event.conversation_ingested)
        case "memories_corrected":
            return _corrected(event.memories_corrected)
        case "review_decided":
            return _decided(event.review_decided)
        case "consent_changed":
            return _consent(event.consent_changed)
    return None


def audit_event(message: audit_pb2.AuditEvent) -> AuditEvent:
    """One event of the trail."""
    return AuditEvent(
        event_id=message.event_id,
        event_time=instant(message, "event_time"),
        action=AuditAction(message.action),
        outcome=AuditOutcome(message.outcome),
        reason=_reason(message.reason),
        actor=_actor(message.actor),
        scope=scope(message.scope) if message.HasField("scope") else None,
        scope_id=message.scope_id,
        trace_id=message.trace_id,
        span_id=message.span_id,
        request_id=message.request_id,
        sequence=message.sequence,
        digest=message.digest,
        prev_digest=message.prev_digest,
        details=_details(message),
    )


def recall_receipt(message: audit_pb2.RecallReceipt) -> RecallReceipt:
    """The record of a recall."""
    return RecallReceipt(
        recall_id=message.recall_id,
        recall_time=instant(message, "recall_time"),
        actor=_actor(message.actor),
        scope=scope(message.scope) if message.HasField("scope") else None,
        trace_id=message.trace_id,
        span_id=message.span_id,
        recalled=_recalled(message.recalled),
        uses=tuple(
            UseReport(each.event_id, instant(each, "report_time"), _actor(each.actor), _used(each.used))
            for each in message.uses
        ),
        event_id=message.event_id,
        sequence=message.sequence,
        digest=message.digest,
    )


def export_parts(message: audit_pb2.ExportAuditResponse) -> Iterator[ExportPart]:
    """The parts of one message of an export; none for a part of a newer server."""
    match message.WhichOneof("part"):
        case "header":
            header = message.header
            yield ExportHeader(
                format_version=header.format_version,
                tenant=header.tenant,
                tenant_id=header.tenant_id,
                first_sequence=header.first_sequence,
                last_sequence=header.last_sequence,
                first_prev_digest=header.first_prev_digest,
                signing_keys=tuple(
                    SigningKey(key.signing_key_id, key.algorithm, key.public_key)
                    for key in header.signing_keys
                ),
            )
        case "events":
            for each in message.events.events:
                yield ExportedEvent(
                    each.sequence, each.event_id, each.canonical_bytes, each.prev_digest, each.digest
                )
        case "checkpoint":
            checkpoint = message.checkpoint
            yield AuditCheckpoint(
                sequence=checkpoint.sequence,
                digest=checkpoint.digest,
                create_time=instant(checkpoint, "create_time"),
                signing_key_id=checkpoint.signing_key_id,
                signature=checkpoint.signature,
                signed_bytes=checkpoint.signed_bytes,
            )
        case "trailer":
            trailer = message.trailer
            yield ExportTrailer(
                trailer.event_count, trailer.last_sequence, trailer.last_digest, trailer.unchained_count
            )
