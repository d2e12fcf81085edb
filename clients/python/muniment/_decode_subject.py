"""From the answers about conversations, corrections, reviews and subjects to plain values; as tolerant as
`_decode`."""

from muniment._decode import erasure_receipt, memory, possible_conflict, token, write_result
from muniment._enums import (
    ConsentLevel,
    ExtractionFallback,
    IngestState,
    MemoryKind,
    SourceType,
    UndoOutcome,
    WriteOutcome,
)
from muniment._subject_types import (
    Consent,
    ConsentSet,
    ExtractedMemory,
    Ingested,
    IngestedTurn,
    IngestStatus,
    Restored,
    Retracted,
    Review,
    ReviewDecisionMade,
    SubjectDescription,
    SubjectHolding,
    Undone,
    UndoneMemory,
)
from muniment._values import instant
from muniment.v1 import correction_pb2, ingest_pb2, review_pb2, subject_pb2


def _extracted(message: ingest_pb2.ExtractedMemory) -> ExtractedMemory:
    return ExtractedMemory(write_result(message.result), tuple(message.turn_numbers), message.extracted_by)


def ingested(message: ingest_pb2.IngestResponse | ingest_pb2.StreamIngestResponse) -> Ingested:
    """The answer to an ingest."""
    return Ingested(
        ingest_id=message.ingest_id,
        state=IngestState(message.state),
        turns=tuple(
            IngestedTurn(each.number, each.memory_id, each.already_known, WriteOutcome(each.outcome))
            for each in message.turns
        ),
        extracted=tuple(map(_extracted, message.extracted)),
        fallback=ExtractionFallback(message.fallback),
        consistency_token=token(message.consistency_token),
        request_id=message.request_id,
    )


def ingest_status(message: ingest_pb2.GetIngestResponse) -> IngestStatus:
    """How far an ingest has come."""
    return IngestStatus(
        ingest_id=message.ingest_id,
        state=IngestState(message.state),
        extracted=tuple(map(_extracted, message.extracted)),
        fallback=ExtractionFallback(message.fallback),
        attempts=message.attempts,
        create_time=instant(message, "create_time"),
        end_time=instant(message, "end_time"),
    )


def restored(message: correction_pb2.RestoreResponse) -> Restored:
    """The answer to a restore."""
    return Restored(
        memory(message.memory),
        message.superseded_memory_id,
        token(message.consistency_token),
        message.request_id,
    )


def retracted(message: correction_pb2.RetractResponse) -> Retracted:
    """The answer to a retraction."""
    return Retracted(memory(message.memory), token(message.consistency_token), message.request_id)


def undone(message: correction_pb2.UndoWriteResponse) -> Undone:
    """The answer to undoing a write."""
    return Undone(
        tuple(UndoneMemory(each.memory_id, UndoOutcome(each.outcome)) for each in message.memories),
        token(message.consistency_token),
        message.request_id,
    )


def review(message: review_pb2.Review) -> Review:
    """One memory that waits."""
    return Review(
        memory=memory(message.memory),
        rule=message.rule,
        explanation=message.explanation,
        would_supersede_memory_id=message.would_supersede_memory_id,
        possible_conflicts=tuple(map(possible_conflict, message.possible_conflicts)),
        create_time=instant(message, "create_time"),
        expire_time=instant(message, "expire_time"),
    )


def decided(message: review_pb2.DecideReviewResponse) -> ReviewDecisionMade:
    """The answer to a decision."""
    return ReviewDecisionMade(
        memory(message.memory),
        message.superseded_memory_id,
        token(message.consistency_token),
        message.request_id,
    )


def consent(message: subject_pb2.Consent) -> Consent:
    """What a subject decided."""
    return Consent(
        ConsentLevel(message.level),
        tuple(map(MemoryKind, message.necessary_kinds)),
        tuple(message.forgotten_sessions),
        instant(message, "update_time"),
    )


def consent_set(message: subject_pb2.SetConsentResponse) -> ConsentSet:
    """The answer to a change of consent."""
    return ConsentSet(
        consent(message.consent),
        erasure_receipt(message.erasure) if message.HasField("erasure") else None,
        token(message.consistency_token),
        message.request_id,
    )


def description(message: subject_pb2.DescribeSubjectResponse) -> SubjectDescription:
    """What is stored about a subject."""
    return SubjectDescription(
        holdings=tuple(
            SubjectHolding(
                kind=MemoryKind(each.kind),
                source_type=SourceType(each.source_type),
                count=each.count,
                oldest_time=instant(each, "oldest_time"),
                newest_time=instant(each, "newest_time"),
                expiring_count=each.expiring_count,
                last_expire_time=instant(each, "last_expire_time"),
                sentence=each.sentence,
            )
            for each in message.holdings
        ),
        consent=consent(message.consent),
        summary=message.summary,
        language=message.language,
    )
