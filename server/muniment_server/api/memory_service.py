"""MemoryService: converts, delegates, converts back. Nothing is decided here."""

from collections.abc import Sequence
from typing import Any, TypeAlias
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from muniment_server.api import answers, audit_calls, convert, writing_answers
from muniment_server.api.correction_calls import CorrectionCalls
from muniment_server.api.ingest_calls import IngestCalls
from muniment_server.application.as_of import legs_as_of
from muniment_server.application.erase import erase
from muniment_server.application.erasure_record import get_erasure
from muniment_server.application.read import get_memory, list_page
from muniment_server.application.recall import recall
from muniment_server.application.recall_types import DEFAULT_LIMIT, LEGS, RecallCommand
from muniment_server.application.removal import EraseCommand
from muniment_server.application.services import Services
from muniment_server.application.supersede import SupersedeCommand, Superseded, supersede
from muniment_server.application.write import WriteCommand, Written, write
from muniment_server.domain.errors import RequestTooLarge
from muniment_server.domain.model import EVERY_STATE, ErasureTarget, Fusion, RetrievalLeg
from muniment_server.identity.principal import current_call

MAX_ANSWER_BYTES = 3_670_016

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class MemoryService(IngestCalls, CorrectionCalls, memory_service_pb2_grpc.MemoryServiceServicer):
    """The handlers. Identity, deadline and validation have passed when one is called."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def Write(
        self, request: memory_service_pb2.WriteRequest, context: _Context
    ) -> memory_service_pb2.WriteResponse:
        """See the contract."""
        services = self._services
        command = WriteCommand(
            scope=convert.scope(request.scope),
            items=[
                convert.new_memory(item, services.embeddings.model, f"items[{index}]")
                for index, item in enumerate(request.items)
            ],
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(written: Written) -> bytes:
            response = memory_service_pb2.WriteResponse(
                results=writing_answers.write_results(written.results),
                consistency_token=answers.token(written.consistency_token),
                request_id=request.request_id,
            ).SerializeToString()
            # Said before anything is stored: a write that was done must be answered.
            if len(response) > MAX_ANSWER_BYTES:
                raise RequestTooLarge(MAX_ANSWER_BYTES, len(response))
            return response

        return memory_service_pb2.WriteResponse.FromString(
            await write(services, current_call(), command, encode)
        )

    async def Recall(
        self, request: memory_service_pb2.RecallRequest, context: _Context
    ) -> memory_service_pb2.RecallResponse:
        """See the contract."""
        services = self._services
        call = current_call()
        legs: Sequence[RetrievalLeg] = [RetrievalLeg(leg) for leg in request.legs]
        as_of = convert.instant(request.as_of_time, "as_of_time") if request.HasField("as_of_time") else None
        full, explain = request.view != memory_pb2.MEMORY_VIEW_BASIC, request.explain
        command = RecallCommand(
            scope=convert.scope(request.scope),
            query=request.query,
            query_embedding=convert.embedding(
                request.query_embedding, services.embeddings.model, "query_embedding"
            )
            if request.HasField("query_embedding")
            else None,
            restriction=convert.memory_filter(request.filter),
            limit=request.limit if request.HasField("limit") else DEFAULT_LIMIT,
            min_score=request.min_score if request.HasField("min_score") else None,
            token_budget=request.token_budget if request.HasField("token_budget") else None,
            legs=legs or LEGS if as_of is None else legs_as_of(legs),
            consistency_token=convert.consistency_token(request.consistency, request.HasField("consistency")),
            near_miss_limit=request.near_miss_limit,
            full=full,
            fusion=Fusion(request.fusion) if request.fusion else Fusion.SCORE,
            reference_time=convert.instant(request.reference_time, "reference_time")
            if request.HasField("reference_time")
            else None,
            time_zone=convert.time_zone(request.time_zone),
            as_of=as_of,
            strong=request.HasField("consistency") and request.consistency.strong,
        )
        return await recall(
            services,
            call,
            command,
            lambda found: answers.recalled(found, full=full, explain=explain, trace_id=call.trace_id),
        )

    async def Supersede(
        self, request: memory_service_pb2.SupersedeRequest, context: _Context
    ) -> memory_service_pb2.SupersedeResponse:
        """See the contract."""
        services = self._services
        command = SupersedeCommand(
            memory_id=UUID(request.memory_id),
            etag=request.etag,
            item=convert.new_memory(request.item, services.embeddings.model, "item"),
            request_id=convert.request_id(request.request_id),
            payload=convert.payload(request, "request_id"),
        )

        def encode(superseded: Superseded) -> bytes:
            return writing_answers.superseded(superseded, request.request_id).SerializeToString()

        return memory_service_pb2.SupersedeResponse.FromString(
            await supersede(services, current_call(), command, encode)
        )

    async def Erase(
        self, request: memory_service_pb2.EraseRequest, context: _Context
    ) -> memory_service_pb2.EraseResponse:
        """See the contract."""
        receipt = await erase(self._services, current_call(), _erase_command(request))
        return memory_service_pb2.EraseResponse(
            receipt=answers.receipt(receipt),
            consistency_token=answers.token(receipt.consistency_token),
            request_id=request.request_id,
        )

    async def GetErasure(
        self, request: memory_service_pb2.GetErasureRequest, context: _Context
    ) -> memory_service_pb2.GetErasureResponse:
        """See the contract."""
        receipt = await get_erasure(self._services, current_call(), UUID(request.erasure_id))
        return memory_service_pb2.GetErasureResponse(receipt=answers.receipt(receipt))

    async def GetMemory(
        self, request: memory_service_pb2.GetMemoryRequest, context: _Context
    ) -> memory_service_pb2.GetMemoryResponse:
        """See the contract."""
        found = await get_memory(
            self._services,
            current_call(),
            UUID(request.memory_id),
            full=request.view != memory_pb2.MEMORY_VIEW_BASIC,
            include_revisions=request.include_revisions,
            before_revision=request.before_revision if request.HasField("before_revision") else None,
            consistency_token=convert.consistency_token(request.consistency, request.HasField("consistency")),
        )
        revisions = []
        later = None
        for revision in found.revisions:
            replaced = later if later is not None else found.replace_time
            revisions.append(
                memory_pb2.MemoryRevision(
                    memory=answers.memory(revision), replace_time=answers.timestamp(replaced)
                )
            )
            later = revision.update_time
        return memory_service_pb2.GetMemoryResponse(
            memory=answers.memory(found.memory),
            revisions=revisions,
            older_revision_count=found.older_revision_count,
            seal_broken_revisions=found.broken,
            consistency_token=answers.token(found.consistency_token),
        )

    async def ListMemories(
        self, request: memory_service_pb2.ListMemoriesRequest, context: _Context
    ) -> memory_service_pb2.ListMemoriesResponse:
        """See the contract."""
        page = await list_page(
            self._services,
            current_call(),
            convert.scope(request.scope),
            convert.memory_filter(request.filter),
            include_narrowed=request.include_narrowed,
            page_size=request.page_size,
            page_token=request.page_token,
            arguments=convert.payload(request, "page_size", "page_token"),
            full=request.view == memory_pb2.MEMORY_VIEW_FULL,
            consistency_token=convert.consistency_token(request.consistency, request.HasField("consistency")),
        )
        return memory_service_pb2.ListMemoriesResponse(
            memories=[answers.memory(memory) for memory in page.memories],
            next_page_token=page.next_token,
            seal_broken_memory_ids=[str(memory_id) for memory_id in page.broken],
            consistency_token=answers.token(page.consistency_token),
        )

    async def ReportUse(
        self, request: memory_service_pb2.ReportUseRequest, context: _Context
    ) -> memory_service_pb2.ReportUseResponse:
        """See the contract."""
        return await audit_calls.report_use(self._services, current_call(), request)

    async def Audit(
        self, request: memory_service_pb2.AuditRequest, context: _Context
    ) -> memory_service_pb2.AuditResponse:
        """See the contract."""
        return await audit_calls.audit(self._services, current_call(), request)


def _erase_command(request: memory_service_pb2.EraseRequest) -> EraseCommand:
    target = request.target
    convert.require_understood(target, "target")
    common: dict[str, Any] = {
        "validate_only": request.validate_only,
        "reason": int(request.reason),
        "reason_code": request.reason_code,
        "request_id": convert.request_id(request.request_id),
        "payload": convert.payload(request, "request_id"),
    }
    match target.WhichOneof("target"):
        case "memories":
            return EraseCommand(
                ErasureTarget.MEMORIES,
                memory_ids=sorted({UUID(one) for one in target.memories.memory_ids}),
                **common,
            )
        case "scope":
            scope = convert.scope(target.scope.scope, "target.scope.scope")
            return EraseCommand(ErasureTarget.SCOPE, scope=scope, **common)
        case "session":
            scope = convert.scope(target.session.scope, "target.session.scope")
            return EraseCommand(ErasureTarget.SESSION, scope=scope, **common)
        case _:
            return EraseCommand(
                ErasureTarget.FILTER,
                scope=convert.scope(target.filter.scope, "target.filter.scope"),
                restriction=convert.memory_filter(
                    target.filter.filter, "target.filter.filter", default_states=EVERY_STATE
                ),
                **common,
            )
