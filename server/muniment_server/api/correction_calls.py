"""Restore, Retract and UndoWrite: conversions only."""

from typing import Any, TypeAlias
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import correction_pb2
from muniment_server.api import answers, convert
from muniment_server.application.correct import Corrected, RestoreCommand, RetractCommand, restore, retract
from muniment_server.application.services import Services
from muniment_server.application.undo import UndoCommand, Undone, undo_write
from muniment_server.identity.principal import current_call

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class CorrectionCalls:
    """A part of MemoryService. Identity, deadline and validation have passed when one is called."""

    _services: Services

    async def Restore(
        self, request: correction_pb2.RestoreRequest, context: _Context
    ) -> correction_pb2.RestoreResponse:
        """See the contract."""
        command = RestoreCommand(
            memory_id=UUID(request.memory_id),
            etag=request.etag,
            revision=request.revision if request.HasField("revision") else None,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(corrected: Corrected) -> bytes:
            return correction_pb2.RestoreResponse(
                memory=answers.memory(corrected.memory),
                superseded_memory_id=str(corrected.superseded) if corrected.superseded else "",
                consistency_token=answers.token(corrected.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()

        return correction_pb2.RestoreResponse.FromString(
            await restore(self._services, current_call(), command, encode)
        )

    async def Retract(
        self, request: correction_pb2.RetractRequest, context: _Context
    ) -> correction_pb2.RetractResponse:
        """See the contract."""
        command = RetractCommand(
            memory_id=UUID(request.memory_id),
            etag=request.etag,
            end=convert.instant(request.end_time, "end_time") if request.HasField("end_time") else None,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(corrected: Corrected) -> bytes:
            return correction_pb2.RetractResponse(
                memory=answers.memory(corrected.memory),
                consistency_token=answers.token(corrected.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()

        return correction_pb2.RetractResponse.FromString(
            await retract(self._services, current_call(), command, encode)
        )

    async def UndoWrite(
        self, request: correction_pb2.UndoWriteRequest, context: _Context
    ) -> correction_pb2.UndoWriteResponse:
        """See the contract."""
        command = UndoCommand(
            write_request_id=UUID(request.write_request_id),
            validate_only=request.validate_only,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(undone: Undone) -> bytes:
            return correction_pb2.UndoWriteResponse(
                memories=[
                    correction_pb2.UndoneMemory(memory_id=str(memory_id), outcome=answers.number(outcome))
                    for memory_id, outcome in undone.memories
                ],
                consistency_token=answers.token(undone.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()

        return correction_pb2.UndoWriteResponse.FromString(
            await undo_write(self._services, current_call(), command, encode)
        )
