"""From the answers of the contract to plain values. Nothing here raises for what a newer server adds:
unknown fields are not looked at, unknown enum values stay numbers, unknown alternatives become None."""

from opentelemetry.trace import SpanContext

from muniment._enums import (
    DegradationReason,
    Difference,
    EmbeddingState,
    ErasureReason,
    ErasureState,
    ErasureTargetKind,
    GateVerdict,
    KeptItem,
    KeptReason,
    LeftOutReason,
    MemoryKind,
    MemoryState,
    RecallStage,
    Relation,
    RetrievalLeg,
    SourceType,
    TrustLevel,
    WriteOutcome,
)
from muniment._types import (
    ConsistencyToken,
    Degradation,
    ErasureCounts,
    ErasureKept,
    ErasureReceipt,
    GateFinding,
    LeftOut,
    LegScore,
    Memory,
    MemoryHistory,
    MemoryRevision,
    NearMiss,
    PackedContext,
    PossibleConflict,
    Provenance,
    RankedMemory,
    Recalled,
    Scope,
    ScoreBasis,
    ScoreFactor,
    Superseded,
    UseReported,
    Validity,
    WriteResult,
    Written,
)
from muniment._values import instant, plain_struct, scalar
from muniment.v1 import (
    audit_pb2,
    consistency_pb2,
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_pb2,
    subject_pb2,
    write_pb2,
)


def token(message: consistency_pb2.ConsistencyToken) -> ConsistencyToken | None:
    """A consistency token; None when the answer had none."""
    return ConsistencyToken(message.token, message.order) if message.token else None


def scope(message: memory_pb2.Scope) -> Scope:
    """A scope."""
    owner = message.WhichOneof("owner")
    return Scope(
        subject=message.subject if owner == "subject" else None,
        space=message.space if owner == "space" else None,
        agent=message.agent if message.HasField("agent") else None,
        session=message.session if message.HasField("session") else None,
    )


def provenance(message: memory_pb2.Provenance) -> Provenance:
    """Who said it."""
    return Provenance(
        source_type=SourceType(message.source_type),
        source_ref=message.source_ref,
        session=message.session if message.HasField("session") else None,
        confidence=message.confidence if message.HasField("confidence") else None,
        trust=TrustLevel(message.trust),
        author=message.author,
        agent=message.agent,
    )


def validity(message: memory_pb2.Validity) -> Validity:
    """When it is true in the world."""
    return Validity(instant(message, "start_time"), instant(message, "end_time"))


def memory(message: memory_pb2.Memory) -> Memory:
    """A memory."""
    values = {key: scalar(value) for key, value in message.properties.items()}
    return Memory(
        memory_id=message.memory_id,
        revision=message.revision,
        etag=message.etag,
        state=MemoryState(message.state),
        scope=scope(message.scope),
        kind=MemoryKind(message.kind),
        slot=message.slot,
        content=message.content,
        tags=tuple(message.tags),
        properties={key: value for key, value in values.items() if value is not None},
        attributes=plain_struct(message.attributes) if message.HasField("attributes") else None,
        speaker=message.speaker,
        turn_number=message.turn_number if message.HasField("turn_number") else None,
        provenance=provenance(message.provenance),
        validity=validity(message.validity) if message.HasField("validity") else None,
        marks=tuple(message.marks),
        create_time=instant(message, "create_time"),
        update_time=instant(message, "update_time"),
        expire_time=instant(message, "expire_time"),
        erase_time=instant(message, "erase_time"),
        supersedes=message.supersedes,
        superseded_by=message.superseded_by,
        reinforcement_count=message.reinforcement_count,
        reinforce_time=instant(message, "reinforce_time"),
        embedding_state=EmbeddingState(message.embedding_state),
    )


def history(message: memory_service_pb2.GetMemoryResponse) -> MemoryHistory:
    """A memory with its revisions."""
    return MemoryHistory(
        memory=memory(message.memory),
        revisions=tuple(
            MemoryRevision(memory(each.memory), instant(each, "replace_time")) for each in message.revisions
        ),
        older_revision_count=message.older_revision_count,
        seal_broken_revisions=tuple(message.seal_broken_revisions),
        consistency_token=token(message.consistency_token),
    )


def score_factor(message: write_pb2.ScoreFactor) -> ScoreFactor:
    """A named number of a score."""
    return ScoreFactor(message.name, message.value, message.weight, message.contribution, message.rank)


def finding(message: write_pb2.GateFinding) -> GateFinding:
    """What a gate found."""
    return GateFinding(message.gate, message.rule, GateVerdict(message.verdict), message.count)


def possible_conflict(message: write_pb2.PossibleConflict) -> PossibleConflict:
    """A near memory."""
    return PossibleConflict(
        memory_id=message.memory_id,
        similarity=message.similarity,
        differences=tuple(map(Difference, message.differences)),
        relation=Relation(message.relation),
        confidence=message.confidence,
    )


def write_result(message: write_pb2.WriteResult) -> WriteResult:
    """What became of one item."""
    return WriteResult(
        memory=memory(message.memory) if message.HasField("memory") else None,
        outcome=WriteOutcome(message.outcome),
        superseded_memory_id=message.superseded_memory_id,
        embedding_state=EmbeddingState(message.embedding_state),
        possible_conflicts=tuple(map(possible_conflict, message.possible_conflicts)),
        possible_conflicts_partial=message.possible_conflicts_partial,
        rule=message.rule,
        explanation=message.explanation,
        findings=tuple(map(finding, message.findings)),
        importance_factors=tuple(map(score_factor, message.importance_factors)),
    )


def written(
    message: memory_service_pb2.WriteResponse | subject_pb2.ImportMemoriesResponse,
) -> Written:
    """The answer to a write or an import."""
    return Written(
        results=tuple(map(write_result, message.results)),
        consistency_token=token(message.consistency_token),
        request_id=message.request_id,
    )


def superseded(message: memory_service_pb2.SupersedeResponse) -> Superseded:
    """The answer to a supersede."""
    return Superseded(
        old=memory(message.superseded),
        memory=memory(message.memory) if message.HasField("memory") else None,
        outcome=WriteOutcome(message.outcome),
        embedding_state=EmbeddingState(message.embedding_state),
        possible_conflicts=tuple(map(possible_conflict, message.possible_conflicts)),
        rule=message.rule,
        explanation=message.explanation,
        findings=tuple(map(finding, message.findings)),
        importance_factors=tuple(map(score_factor, message.importance_factors)),
        consistency_token=token(message.consistency_token),
        request_id=message.request_id,
    )


def leg_score(message: recall_pb2.LegScore) -> LegScore:
    """What one leg contributed."""
    return LegScore(
        leg=RetrievalLeg(message.leg),
        rank=message.rank,
        raw_score=message.raw_score,
        contribution=message.contribution,
        value=message.value,
        weight=message.weight,
    )


def score_basis(
    message: memory_service_pb2.RecallResponse | audit_pb2.MemoriesRecalled,
) -> ScoreBasis | None:
    """What the scores of a recall have in common, where it is told."""
    if not message.HasField("score_basis"):
        return None
    basis = message.score_basis
    return ScoreBasis(
        cosine_low=basis.cosine_low,
        cosine_high=basis.cosine_high,
        vector_weight=basis.vector_weight,
        lexical_weight=basis.lexical_weight,
        around_vector_weight=basis.around_vector_weight,
        around_lexical_weight=basis.around_lexical_weight,
        leg_count=basis.leg_count,
        threshold=basis.threshold,
    )


def near_miss(message: recall_pb2.NearMiss) -> NearMiss:
    """A candidate that is not in the answer."""
    return NearMiss(
        memory_id=message.memory_id,
        score=message.score,
        reason=LeftOutReason(message.reason),
        leg_scores=tuple(map(leg_score, message.leg_scores)),
        factors=tuple(map(score_factor, message.factors)),
        evidence=message.evidence,
    )


def left_out(message: recall_pb2.LeftOut) -> LeftOut:
    """What was left out."""
    return LeftOut(LeftOutReason(message.reason), message.count)


def degradation(message: recall_pb2.Degradation) -> Degradation:
    """What could not be done."""
    return Degradation(
        RecallStage(message.stage),
        RetrievalLeg(message.leg),
        DegradationReason(message.reason),
        message.affected_count,
    )


def recalled(message: memory_service_pb2.RecallResponse, span: SpanContext | None) -> Recalled:
    """The answer to a recall."""
    packed = message.packed_context
    return Recalled(
        memories=tuple(
            RankedMemory(
                memory=memory(each.memory),
                rank=each.rank,
                score=each.score,
                packed=each.packed,
                leg_scores=tuple(map(leg_score, each.leg_scores)),
                factors=tuple(map(score_factor, each.factors)),
                evidence=each.evidence,
            )
            for each in message.memories
        ),
        recall_id=message.recall_id,
        packed=PackedContext(packed.text, packed.tokens, tuple(packed.memory_ids), packed.tokenizer)
        if message.HasField("packed_context")
        else None,
        no_relevant_memory=message.no_relevant_memory,
        left_out=tuple(map(left_out, message.left_out)),
        degraded=tuple(map(degradation, message.degraded)),
        seal_broken_memory_ids=tuple(message.seal_broken_memory_ids),
        applied_min_score=message.applied_min_score,
        applied_limit=message.applied_limit,
        near_misses=tuple(map(near_miss, message.near_misses)),
        left_out_incomplete=message.left_out_incomplete,
        score_basis=score_basis(message),
        consistency_token=token(message.consistency_token),
        trace_id=message.trace_id,
        read_time=instant(message, "read_time"),
        _span_context=span,
    )


def erasure_counts(message: erasure_pb2.ErasureCounts) -> ErasureCounts:
    """Rows removed."""
    return ErasureCounts(
        memories=message.memories,
        revisions=message.revisions,
        embeddings=message.embeddings,
        postings=message.postings,
        idempotency_records=message.idempotency_records,
        queued_jobs=message.queued_jobs,
        derived_rows=message.derived_rows,
    )


def erasure_receipt(message: erasure_pb2.ErasureReceipt) -> ErasureReceipt:
    """The record of an erasure."""
    return ErasureReceipt(
        erasure_id=message.erasure_id,
        state=ErasureState(message.state),
        target_kind=ErasureTargetKind(message.target_kind),
        reason=ErasureReason(message.reason),
        reason_code=message.reason_code,
        dry_run=message.validate_only,
        counts=erasure_counts(message.counts),
        kept=tuple(
            ErasureKept(KeptItem(each.item), each.count, KeptReason(each.reason)) for each in message.kept
        ),
        keys_destroyed=message.keys_destroyed,
        create_time=instant(message, "create_time"),
        complete_time=instant(message, "complete_time"),
        sample_memory_ids=tuple(message.sample_memory_ids),
        event_id=message.event_id,
        signature=message.signature,
        signing_key_id=message.signing_key_id,
        signed_bytes=message.signed_bytes,
    )


def use_reported(message: memory_service_pb2.ReportUseResponse) -> UseReported:
    """The answer to a use report."""
    return UseReported(message.event_id, token(message.consistency_token), message.request_id)
