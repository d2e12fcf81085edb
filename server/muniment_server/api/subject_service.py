"""SubjectService: converts, delegates, converts back. Nothing is decided here."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import subject_pb2, subject_pb2_grpc
from muniment_server.application.services import Services
from muniment_server.domain.errors import Unimplemented

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class SubjectService(subject_pb2_grpc.SubjectServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def SetConsent(
        self, request: subject_pb2.SetConsentRequest, context: _Context
    ) -> subject_pb2.SetConsentResponse:
        """See the contract."""
        raise Unimplemented("SetConsent")

    async def GetConsent(
        self, request: subject_pb2.GetConsentRequest, context: _Context
    ) -> subject_pb2.GetConsentResponse:
        """See the contract."""
        raise Unimplemented("GetConsent")

    async def DescribeSubject(
        self, request: subject_pb2.DescribeSubjectRequest, context: _Context
    ) -> subject_pb2.DescribeSubjectResponse:
        """See the contract."""
        raise Unimplemented("DescribeSubject")

    async def ExportMemories(
        self, request: subject_pb2.ExportMemoriesRequest, context: _Context
    ) -> AsyncIterator[subject_pb2.ExportMemoriesResponse]:
        """See the contract."""
        raise Unimplemented("ExportMemories")
        yield

    async def ImportMemories(
        self, request: subject_pb2.ImportMemoriesRequest, context: _Context
    ) -> subject_pb2.ImportMemoriesResponse:
        """See the contract."""
        raise Unimplemented("ImportMemories")
