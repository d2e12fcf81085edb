"""AuditService: converts, delegates, converts back. Nothing is decided here."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import audit_pb2, audit_pb2_grpc
from muniment_server.api import audit_convert
from muniment_server.application.export_audit import export_audit
from muniment_server.application.get_recall import get_recall
from muniment_server.application.services import Services
from muniment_server.audit.sealer import Sealer
from muniment_server.identity.principal import current_call

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class AuditService(audit_pb2_grpc.AuditServiceServicer):
    """The handlers. Without a sealer in this process an export sends what others have chained."""

    def __init__(self, services: Services, sealer: Sealer | None = None) -> None:
        self._services = services
        self._sealer = sealer

    async def GetRecall(
        self, request: audit_pb2.GetRecallRequest, context: _Context
    ) -> audit_pb2.GetRecallResponse:
        """See the contract."""
        record = await get_recall(self._services, current_call(), UUID(request.recall_id))
        return audit_pb2.GetRecallResponse(receipt=audit_convert.receipt(record))

    async def ExportAudit(
        self, request: audit_pb2.ExportAuditRequest, context: _Context
    ) -> AsyncIterator[audit_pb2.ExportAuditResponse]:
        """See the contract."""
        parts = export_audit(
            self._services,
            current_call(),
            from_sequence=request.from_sequence if request.HasField("from_sequence") else None,
            to_sequence=request.to_sequence if request.HasField("to_sequence") else None,
            settle=self._sealer.settle if self._sealer else None,
        )
        async for part in parts:
            yield audit_convert.export_part(part)
