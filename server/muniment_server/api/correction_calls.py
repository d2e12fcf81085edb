"""Restore, Retract and UndoWrite: conversions only."""

from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import correction_pb2
from muniment_server.application.services import Services
from muniment_server.domain.errors import Unimplemented

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class CorrectionCalls:
    """A part of MemoryService. Identity, deadline and validation have passed when one is called."""

    _services: Services

    async def Restore(
        self, request: correction_pb2.RestoreRequest, context: _Context
    ) -> correction_pb2.RestoreResponse:
        """See the contract."""
        raise Unimplemented("Restore")

    async def Retract(
        self, request: correction_pb2.RetractRequest, context: _Context
    ) -> correction_pb2.RetractResponse:
        """See the contract."""
        raise Unimplemented("Retract")

    async def UndoWrite(
        self, request: correction_pb2.UndoWriteRequest, context: _Context
    ) -> correction_pb2.UndoWriteResponse:
        """See the contract."""
        raise Unimplemented("UndoWrite")
