"""SubjectService: converts, delegates, converts back. Nothing is decided here."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import subject_pb2, subject_pb2_grpc
from muniment_server.api import answers, convert
from muniment_server.application.consent import ConsentCommand, get_consent, set_consent
from muniment_server.application.services import Services
from muniment_server.application.subject import describe
from muniment_server.domain.consent import Consent, ConsentLevel
from muniment_server.domain.errors import Unimplemented
from muniment_server.domain.model import MemoryKind
from muniment_server.identity.principal import current_call

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class SubjectService(subject_pb2_grpc.SubjectServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def SetConsent(
        self, request: subject_pb2.SetConsentRequest, context: _Context
    ) -> subject_pb2.SetConsentResponse:
        """See the contract."""
        convert.require_understood(request, "request")
        session = request.forget_session if request.HasField("forget_session") else None
        convert.plain_text(session, "forget_session")
        command = ConsentCommand(
            scope=convert.scope(request.scope),
            level=ConsentLevel(request.level) if request.level else None,
            necessary_kinds=frozenset(MemoryKind(kind) for kind in request.necessary_kinds),
            forget_session=session,
            erase=request.erase,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )
        done = await set_consent(self._services, current_call(), command)
        return subject_pb2.SetConsentResponse(
            consent=_consent(done.consent),
            erasure=answers.receipt(done.erasure) if done.erasure else None,
            consistency_token=answers.token(done.consistency_token),
            request_id=request.request_id,
        )

    async def GetConsent(
        self, request: subject_pb2.GetConsentRequest, context: _Context
    ) -> subject_pb2.GetConsentResponse:
        """See the contract."""
        found = await get_consent(self._services, current_call(), convert.scope(request.scope))
        return subject_pb2.GetConsentResponse(consent=_consent(found))

    async def DescribeSubject(
        self, request: subject_pb2.DescribeSubjectRequest, context: _Context
    ) -> subject_pb2.DescribeSubjectResponse:
        """See the contract."""
        described = await describe(
            self._services, current_call(), convert.scope(request.scope), request.language
        )
        return subject_pb2.DescribeSubjectResponse(
            holdings=[
                subject_pb2.SubjectHolding(
                    kind=answers.number(holding.kind),
                    source_type=answers.number(holding.source_type),
                    count=holding.count,
                    oldest_time=answers.timestamp(holding.oldest),
                    newest_time=answers.timestamp(holding.newest),
                    expiring_count=holding.expiring,
                    last_expire_time=answers.timestamp(holding.last_expire),
                    sentence=sentence,
                )
                for holding, sentence in described.holdings
            ],
            consent=_consent(described.consent),
            summary=described.summary,
            language=described.language,
        )

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


def _consent(value: Consent) -> subject_pb2.Consent:
    return subject_pb2.Consent(
        level=answers.number(value.level),
        necessary_kinds=[answers.number(kind) for kind in sorted(value.necessary_kinds)],
        forgotten_sessions=value.forgotten_sessions,
        update_time=answers.timestamp(value.update_time),
    )
