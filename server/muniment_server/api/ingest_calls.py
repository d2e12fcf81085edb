"""Ingest, StreamIngest and GetIngest: conversions only."""

from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from typing import Any, TypeAlias
from uuid import UUID

import grpc

from muniment_server._gen.muniment.v1 import ingest_pb2
from muniment_server.api import answers, convert, writing_answers
from muniment_server.application.extract_now import extract_now
from muniment_server.application.get_ingest import Progress, get_ingest
from muniment_server.application.ingest import ingest
from muniment_server.application.ingest_record import IngestCommand, Taken
from muniment_server.application.ingest_stream import IngestStream
from muniment_server.application.services import Services
from muniment_server.domain.errors import InvalidRequest
from muniment_server.domain.extraction.candidate import ExtractionMode, ExtractorKind, Turn, TurnRole
from muniment_server.identity.principal import CallContext, current_call

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Request: TypeAlias = ingest_pb2.IngestRequest | ingest_pb2.StreamIngestRequest


class IngestCalls:
    """A part of MemoryService. Identity, deadline and validation have passed when one is called."""

    _services: Services

    async def Ingest(self, request: ingest_pb2.IngestRequest, context: _Context) -> ingest_pb2.IngestResponse:
        """See the contract."""
        command = _command(request, "Ingest", convert.payload(request, "request_id"))

        def encode(taken: Taken) -> bytes:
            return ingest_pb2.IngestResponse(
                **_taken(taken), request_id=request.request_id
            ).SerializeToString()

        call = current_call()
        answer, conversation = await ingest(self._services, call, command, encode)
        response = ingest_pb2.IngestResponse.FromString(answer)
        await self._complete(call, response, command.mode, conversation)
        return response

    async def StreamIngest(
        self, request_iterator: AsyncIterator[ingest_pb2.StreamIngestRequest], context: _Context
    ) -> ingest_pb2.StreamIngestResponse:
        """See the contract."""
        call = current_call()
        digest = sha256()
        stream: IngestStream | None = None
        given = ""
        async for request in request_iterator:
            raw = convert.payload(request, "request_id")
            digest.update(len(raw).to_bytes(4) + raw)
            command = _command(request, "StreamIngest", raw)
            if stream is None:
                given = request.request_id
                stream = await IngestStream.begin(self._services, call, command)
            else:
                await stream.add(command)
        if stream is None:
            raise InvalidRequest.of("", "stream.empty", "must hold at least one request")

        def encode(taken: Taken) -> bytes:
            return ingest_pb2.StreamIngestResponse(**_taken(taken), request_id=given).SerializeToString()

        answer = await stream.end(digest.digest(), encode)
        response = ingest_pb2.StreamIngestResponse.FromString(answer)
        await self._complete(call, response, stream.mode, stream.conversation)
        return response

    async def GetIngest(
        self, request: ingest_pb2.GetIngestRequest, context: _Context
    ) -> ingest_pb2.GetIngestResponse:
        """See the contract."""
        found = await get_ingest(self._services, current_call(), UUID(request.ingest_id))
        return ingest_pb2.GetIngestResponse(
            ingest_id=str(found.ingest_id),
            state=answers.number(found.state),
            extracted=_extracted(found),
            fallback=answers.number(found.fallback),
            attempts=found.attempts,
            create_time=answers.timestamp(found.create_time),
            end_time=answers.timestamp(found.end_time),
        )

    async def _complete(
        self,
        call: CallContext,
        response: ingest_pb2.IngestResponse | ingest_pb2.StreamIngestResponse,
        mode: ExtractionMode,
        conversation: UUID,
    ) -> None:
        """Add how far the ingest has come, after the extraction where the caller waits for it."""
        ingest_id = UUID(response.ingest_id)
        if mode is ExtractionMode.SYNC:
            found = await extract_now(self._services, call, conversation, ingest_id)
        else:
            found = await get_ingest(self._services, call, ingest_id)
        response.state = answers.number(found.state)
        response.fallback = answers.number(found.fallback)
        if mode is ExtractionMode.SYNC:
            response.extracted.extend(_extracted(found))


def _command(request: _Request, method: str, payload: bytes) -> IngestCommand:
    scope = convert.scope(request.scope)
    return IngestCommand(
        scope=scope,
        turns=[_turn(turn, f"turns[{index}]") for index, turn in enumerate(request.turns)],
        mode=ExtractionMode(request.mode) if request.mode else ExtractionMode.QUEUED,
        extractor=ExtractorKind(request.extractor) if request.extractor else None,
        end_session=request.end_session,
        ttl=_ttl(request),
        request_id=convert.request_id(request.request_id),
        payload=payload,
        method=method,
    )


def _ttl(request: _Request) -> timedelta | None:
    return convert.duration(request.turn_ttl, "turn_ttl") if request.HasField("turn_ttl") else None


def _turn(message: ingest_pb2.IngestTurn, path: str) -> Turn:
    convert.plain_text(message.speaker, f"{path}.speaker")
    return Turn(
        number=message.number,
        role=TurnRole(message.role),
        content=message.content,
        speaker=message.speaker.strip() or None,
        time=convert.instant(message.time, f"{path}.time") if message.HasField("time") else None,
    )


def _taken(taken: Taken) -> dict[str, Any]:
    return {
        "ingest_id": str(taken.ingest_id),
        "turns": [
            ingest_pb2.IngestedTurn(
                number=turn.number,
                memory_id=str(turn.memory_id) if turn.memory_id else "",
                already_known=turn.already_known,
                outcome=answers.number(turn.outcome),
            )
            for turn in taken.turns
        ],
        "consistency_token": answers.token(taken.consistency_token),
    }


def _extracted(found: Progress) -> list[ingest_pb2.ExtractedMemory]:
    return [
        ingest_pb2.ExtractedMemory(
            result=writing_answers.write_results([one.result])[0],
            turn_numbers=one.turn_numbers,
            extracted_by=one.extracted_by,
        )
        for one in found.extracted
    ]
