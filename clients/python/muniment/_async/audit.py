"""The methods for auditors."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from muniment import _decode_audit, _encode, _rpcs
from muniment._async.calls import AsyncCalls
from muniment._async.pages import AsyncPages, Page
from muniment._audit_types import AuditEvent, ExportedEvent, ExportPart, ExportTrailer, RecallReceipt
from muniment._enums import AuditAction, AuditOutcome, SourceType
from muniment._errors import Unavailable
from muniment._values import identifier
from muniment.v1 import audit_pb2, memory_service_pb2


class AsyncAuditMethods:
    """What the permission `audit` allows."""

    _calls: AsyncCalls

    def audit(
        self,
        *,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        memory_id: str | UUID | None = None,
        recall_id: str | UUID | None = None,
        trace_id: str | None = None,
        principal: str | None = None,
        actions: Sequence[AuditAction | str] = (),
        outcomes: Sequence[AuditOutcome | str] = (),
        source_types: Sequence[SourceType | str] = (),
        event_time: tuple[datetime | None, datetime | None] | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncPages[AuditEvent]:
        """The audit trail, newest first: `async for event in client.audit(recall_id=...)`.

        Everything that is given must hold; without anything all events of the tenant are listed, all
        pages of them. Events recorded meanwhile do not disturb the pages.

        subject, space, agent, session: events about this scope. memory_id: events that concern this
        memory. recall_id: the recall and the reports of its use. trace_id: W3C trace id, 32 lower-case
        hex digits. principal: id of a credential. actions, outcomes: any of these. source_types:
        events that wrote a memory of any of these. event_time: recorded in [start, end).
        page_size: events fetched at once, 0 for the server's default of 100. timeout: seconds for
        one page.
        """
        narrowed = any(label is not None for label in (subject, space, agent, session))
        where = _encode.scope(subject, space, agent, session) if narrowed else None
        wanted = _encode.audit_filter(
            where,
            memory_id=memory_id,
            recall_id=recall_id,
            trace_id=trace_id,
            principal=principal,
            actions=actions,
            outcomes=outcomes,
            source_types=source_types,
            event_time=event_time,
        )

        async def fetch(page_token: str) -> Page[AuditEvent]:
            request = memory_service_pb2.AuditRequest(
                filter=wanted, page_size=page_size, page_token=page_token
            )
            answer = await self._calls.unary(_rpcs.AUDIT, self._calls.memory.Audit, request, timeout)
            events = tuple(map(_decode_audit.audit_event, answer.message.events))
            return Page(events, answer.message.next_page_token)

        return AsyncPages(fetch)

    async def get_recall(self, recall_id: str | UUID, *, timeout: float | None = None) -> RecallReceipt:
        """The durable record of a recall: what was offered, in which revision, why, and what was used.

        Raises NotFound, and DataLoss when the record was tampered with.
        """
        request = audit_pb2.GetRecallRequest(recall_id=identifier(recall_id, "recall_id"))
        answer = await self._calls.unary(_rpcs.GET_RECALL, self._calls.audit.GetRecall, request, timeout)
        return _decode_audit.recall_receipt(answer.message.receipt)

    async def export_audit(
        self,
        *,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[ExportPart]:
        """The tenant's chain in ascending order, with all that somebody outside needs to check it.

        Yields one ExportHeader, then ExportedEvents with the AuditCheckpoints that cover them, at last
        one ExportTrailer. from_sequence, to_sequence: first and last event; None: the whole chain.
        timeout: seconds for the whole export (default 600).

        Raises Unavailable when the export ends without its trailer, or the trailer counts other
        events than arrived; go on with `from_sequence`.
        """
        request = audit_pb2.ExportAuditRequest(from_sequence=from_sequence, to_sequence=to_sequence)
        stream = self._calls.stream(_rpcs.EXPORT_AUDIT, self._calls.audit.ExportAudit, request, timeout)
        events = 0
        trailer: ExportTrailer | None = None
        async for message in stream:
            for part in _decode_audit.export_parts(message):
                if isinstance(part, ExportedEvent):
                    events += 1
                elif isinstance(part, ExportTrailer):
                    trailer = part
                yield part
        if trailer is None:
            raise Unavailable("the export was cut off before its trailer")
        if trailer.event_count != events:
            raise Unavailable(f"the export announced {trailer.event_count} events but sent {events}")
