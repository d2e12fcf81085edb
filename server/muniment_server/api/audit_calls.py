"""The Audit and ReportUse calls of MemoryService: convert, delegate, convert back."""

from uuid import UUID

from muniment_server._gen.muniment.v1 import memory_service_pb2
from muniment_server.api import answers, audit_convert, convert
from muniment_server.application.audit import audit_page
from muniment_server.application.report_use import ReportUseCommand
from muniment_server.application.report_use import report_use as record_use
from muniment_server.application.services import Services
from muniment_server.identity.principal import CallContext


async def audit(
    services: Services, call: CallContext, request: memory_service_pb2.AuditRequest
) -> memory_service_pb2.AuditResponse:
    """See MemoryService.Audit."""
    events, next_token = await audit_page(
        services,
        call,
        audit_convert.query(request.filter),
        page_size=request.page_size,
        page_token=request.page_token,
        arguments=convert.payload(request, "page_size", "page_token"),
        render=audit_convert.event,
    )
    return memory_service_pb2.AuditResponse(events=events, next_page_token=next_token)


async def report_use(
    services: Services, call: CallContext, request: memory_service_pb2.ReportUseRequest
) -> memory_service_pb2.ReportUseResponse:
    """See MemoryService.ReportUse."""
    reported = await record_use(
        services,
        call,
        ReportUseCommand(
            recall_id=UUID(request.recall_id),
            memory_ids=[UUID(memory_id) for memory_id in request.memory_ids],
            outcome=int(request.outcome),
            model=request.model,
            prompt_ref=request.prompt_ref,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        ),
    )
    return memory_service_pb2.ReportUseResponse(
        event_id=str(reported.event_id),
        consistency_token=answers.token(reported.consistency_token),
        request_id=request.request_id,
    )
