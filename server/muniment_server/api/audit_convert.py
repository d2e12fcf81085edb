"""Audit events, receipts and exports as messages of the contract."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from muniment_server._gen.muniment.v1 import audit_pb2, error_reason_pb2
from muniment_server.api import answers, audit_details, convert
from muniment_server.application.audit import AuditQuery
from muniment_server.application.export_audit import (
    FORMAT_VERSION,
    ChainedEvent,
    ExportEnd,
    ExportPart,
    ExportStart,
    SignedState,
)
from muniment_server.application.get_recall import RecallRecord
from muniment_server.audit.events import Actor, AuditAction, AuditOutcome
from muniment_server.audit.stored import StoredEvent
from muniment_server.domain.model import Scope, SourceType


def query(message: audit_pb2.AuditFilter) -> AuditQuery:
    """A filter. Raises InvalidRequest for what is not known and for text that cannot be stored."""
    convert.require_understood(message, "filter")
    return AuditQuery(
        memory_id=UUID(message.memory_id) if message.memory_id else None,
        scope=convert.scope(message.scope, "filter.scope") if message.HasField("scope") else None,
        recall_id=UUID(message.recall_id) if message.recall_id else None,
        trace_id=message.trace_id or None,
        principal=message.principal or None,
        actions=[AuditAction(action) for action in message.actions],
        outcomes=[AuditOutcome(outcome) for outcome in message.outcomes],
        source_types=[SourceType(source) for source in message.source_types],
        event_time=convert.time_range(message.event_time, "filter.event_time"),
    )


def event(stored: StoredEvent, scope: Scope | None) -> audit_pb2.AuditEvent:
    """An event with its place in the chain.

    One whose mac does not hold is shown as a mark in its place and nothing more: its id, its sequence and
    digests, and INTEGRITY_VIOLATION.
    """
    known = stored.event
    if known is None:
        shown = audit_pb2.AuditEvent(
            event_id=str(stored.event_id),
            reason=error_reason_pb2.ERROR_REASON_INTEGRITY_VIOLATION,
            integrity_violation=audit_pb2.IntegrityViolation(check="seal", count=1),
        )
    else:
        shown = audit_pb2.AuditEvent(
            event_id=str(known.event_id),
            event_time=answers.timestamp(known.time),
            action=answers.number(known.action),
            outcome=answers.number(known.outcome),
            reason=_reason(known.reason),
            actor=actor(known.actor),
            scope=answers.scope(scope) if scope else None,
            scope_id=str(known.scope_id) if known.scope_id else "",
            trace_id=known.trace_id or "",
            span_id=known.span_id or "",
            request_id=known.request_id or "",
            **audit_details.of(known),
        )
    shown.sequence = stored.sequence
    shown.digest = stored.digest
    shown.prev_digest = stored.prev_digest if stored.sequence else b""
    return shown


def actor(value: Actor) -> audit_pb2.Actor:
    """Who acted."""
    return audit_pb2.Actor(
        kind=answers.number(value.kind),
        principal=value.principal,
        agent=value.agent or "",
        client=value.client or "",
    )


def _reason(name: str | None) -> Any:
    found = error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name.get(f"ERROR_REASON_{name}")
    return found.number if found else 0


def receipt(record: RecallRecord) -> audit_pb2.RecallReceipt:
    """A recall's receipt with its use reports."""
    known = record.event
    return audit_pb2.RecallReceipt(
        recall_id=str(known.recall_id) if known.recall_id else "",
        recall_time=answers.timestamp(known.time),
        actor=actor(known.actor),
        scope=answers.scope(record.scope) if record.scope else None,
        trace_id=known.trace_id or "",
        span_id=known.span_id or "",
        recalled=audit_details.recalled(known.details["memories_recalled"]),
        uses=[
            audit_pb2.UseReport(
                event_id=str(use.event_id),
                report_time=answers.timestamp(use.time),
                actor=actor(use.actor),
                used=audit_details.used(use.details["memories_used"]),
            )
            for _, use in record.uses
        ],
        event_id=str(known.event_id),
        sequence=record.recall.sequence,
        digest=record.recall.digest,
    )


def export_part(part: ExportPart) -> audit_pb2.ExportAuditResponse:
    """One message of an export."""
    match part:
        case ExportStart():
            return audit_pb2.ExportAuditResponse(header=_header(part))
        case SignedState():
            return audit_pb2.ExportAuditResponse(checkpoint=_checkpoint(part))
        case ExportEnd():
            return audit_pb2.ExportAuditResponse(
                trailer=audit_pb2.ExportTrailer(
                    event_count=part.event_count,
                    last_sequence=part.last_sequence,
                    last_digest=part.last_digest,
                    unchained_count=part.unchained_count,
                )
            )
        case _:
            return audit_pb2.ExportAuditResponse(events=_exported(part))


def _header(part: ExportStart) -> audit_pb2.ExportHeader:
    return audit_pb2.ExportHeader(
        format_version=FORMAT_VERSION,
        tenant=part.tenant,
        tenant_id=str(part.tenant_id),
        first_sequence=part.first_sequence,
        last_sequence=part.last_sequence,
        first_prev_digest=part.first_prev_digest,
        signing_keys=[
            audit_pb2.SigningKey(signing_key_id=key_id, algorithm="ed25519", public_key=public_key)
            for key_id, public_key in sorted(part.signing_keys.items())
        ],
    )


def _checkpoint(part: SignedState) -> audit_pb2.AuditCheckpoint:
    signed = part.checkpoint
    return audit_pb2.AuditCheckpoint(
        sequence=signed.sequence,
        digest=signed.digest,
        create_time=answers.timestamp(signed.create_time),
        signing_key_id=signed.signing_key,
        signature=signed.signature,
        signed_bytes=part.signed_bytes,
    )


def _exported(events: Iterable[ChainedEvent]) -> audit_pb2.ExportedEvents:
    return audit_pb2.ExportedEvents(
        events=[
            audit_pb2.ExportedEvent(
                sequence=one.sequence,
                event_id=str(one.event_id),
                canonical_bytes=one.canonical_bytes,
                prev_digest=one.prev_digest,
                digest=one.digest,
            )
            for one in events
        ]
    )
