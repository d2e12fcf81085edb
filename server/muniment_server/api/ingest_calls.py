"""Ingest, StreamIngest and GetIngest: conversions only."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import ingest_pb2
from muniment_server.application.services import Services
from muniment_server.domain.errors import Unimplemented

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class IngestCalls:
    """A part of MemoryService. Identity, deadline and validation have passed when one is called."""

    _services: Services

    async def Ingest(self, request: ingest_pb2.IngestRequest, context: _Context) -> ingest_pb2.IngestResponse:
        """See the contract."""
        raise Unimplemented("Ingest")

    async def StreamIngest(
        self, request_iterator: AsyncIterator[ingest_pb2.StreamIngestRequest], context: _Context
    ) -> ingest_pb2.StreamIngestResponse:
        """See the contract."""
        raise Unimplemented("StreamIngest")

    async def GetIngest(
        self, request: ingest_pb2.GetIngestRequest, context: _Context
    ) -> ingest_pb2.GetIngestResponse:
        """See the contract."""
        raise Unimplemented("GetIngest")
