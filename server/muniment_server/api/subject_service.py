"""SubjectService: converts, delegates, converts back. Nothing is decided here."""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from muniment_server._gen.muniment.v1 import subject_pb2, subject_pb2_grpc
from muniment_server.api import answers, convert, records, writing_answers
from muniment_server.application.consent import ConsentCommand, get_consent, set_consent
from muniment_server.application.export_memories import export_memories
from muniment_server.application.import_memories import ImportCommand, Imported, import_memories
from muniment_server.application.services import Services
from muniment_server.application.subject import describe
from muniment_server.domain.consent import Consent, ConsentLevel
from muniment_server.domain.errors import RequestTooLarge
from muniment_server.domain.model import MemoryKind, MemoryState
from muniment_server.identity.principal import current_call

MAX_RESPONSE_BYTES = 3_670_016

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class SubjectService(subject_pb2_grpc.SubjectServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def SetConsent(
        self, request: subject_pb2.SetConsentRequest, context: _Context
    ) -> subject_pb2.SetConsentResponse:
        """See the contract."""
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
        sent = 0
        parts = export_memories(
            self._services,
            current_call(),
            convert.scope(request.scope),
            [MemoryState(state) for state in request.states],
        )
        async for part in parts:
            sent += len(part.memories)
            yield subject_pb2.ExportMemoriesResponse(
                records=[records.record(memory) for memory in part.memories],
                seal_broken_memory_ids=[str(memory_id) for memory_id in part.broken],
            )
        yield subject_pb2.ExportMemoriesResponse(record_count=sent)

    async def ImportMemories(
        self, request: subject_pb2.ImportMemoriesRequest, context: _Context
    ) -> subject_pb2.ImportMemoriesResponse:
        """See the contract."""
        services = self._services
        command = ImportCommand(
            scope=convert.scope(request.scope),
            records=[
                records.imported(record, services.embeddings.model, f"records[{index}]")
                for index, record in enumerate(request.records)
            ],
            validate_only=request.validate_only,
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(imported: Imported) -> bytes:
            response = subject_pb2.ImportMemoriesResponse(
                results=writing_answers.write_results(imported.results),
                consistency_token=answers.token(imported.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()
            # Said before anything is stored: an import that was done must be answered.
            if len(response) > MAX_RESPONSE_BYTES:
                raise RequestTooLarge(MAX_RESPONSE_BYTES, len(response))
            return response

        return subject_pb2.ImportMemoriesResponse.FromString(
            await import_memories(services, current_call(), command, encode)
        )


def _consent(value: Consent) -> subject_pb2.Consent:
    return subject_pb2.Consent(
        level=answers.number(value.level),
        necessary_kinds=[answers.number(kind) for kind in sorted(value.necessary_kinds)],
        forgotten_sessions=value.forgotten_sessions,
        update_time=answers.timestamp(value.update_time),
    )
