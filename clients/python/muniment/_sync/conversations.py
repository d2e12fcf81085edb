# Made from _async/conversations.py by `make sync`. Do not edit.
# ruff: noqa: C416, RUF100, SIM117, UP028
"""The methods for conversations."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

from muniment import _decode_subject, _encode, _encode_ingest, _rpcs
from muniment._enums import ExtractionMode, Extractor
from muniment._subject_types import Ingested, IngestStatus, IngestTurn
from muniment._sync.calls import Calls
from muniment._types import ConsistencyToken
from muniment._values import identifier
from muniment.v1 import ingest_pb2


class ConversationMethods:
    """Taking in turns of a conversation."""

    _calls: Calls

    def _wrote(self, token: ConsistencyToken | None) -> None:
        raise NotImplementedError

    def ingest(
        self,
        turns: Iterable[IngestTurn],
        *,
        session: str,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        mode: ExtractionMode | str | None = None,
        extractor: Extractor | str | None = None,
        end_session: bool = False,
        turn_ttl: timedelta | None = None,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Ingested:
        """Take in turns: they are kept as TURN memories, and candidate memories are made of them.

        turns: at most 100; session and number are a turn's name, so repeating them does no harm. mode:
        when candidate memories are made; None: afterwards (`get_ingest` says how far that is). extractor:
        None: the tenant's setting. end_session: do not wait for a quiet time. turn_ttl: how long the turns
        are kept; None: the tenant's setting.

        Raises AlreadyExists for another text under a known number, Unimplemented for an extractor that the
        server does not have.
        """
        request = _encode_ingest.ingest(
            _encode.scope(subject, space, agent, session),
            turns,
            mode=mode,
            extractor=extractor,
            end_session=end_session,
            turn_ttl=turn_ttl,
            request_id=_encode.request_id(request_id),
        )
        answer = self._calls.unary(_rpcs.INGEST, self._calls.memory.Ingest, request, timeout)
        ingested = _decode_subject.ingested(answer.message)
        self._wrote(ingested.consistency_token)
        return ingested

    def stream_ingest(
        self,
        turns: Iterable[IngestTurn],
        *,
        session: str,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        mode: ExtractionMode | str | None = None,
        extractor: Extractor | str | None = None,
        end_session: bool = False,
        turn_ttl: timedelta | None = None,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Ingested:
        """As `ingest`, for a conversation under way: each turn is stored when it comes.

        Answers when `turns` ends. A broken stream is not repeated by the client: send all of it again,
        known turns do no harm. timeout: seconds for the whole stream (default 600).
        """
        where = _encode.scope(subject, space, agent, session)
        name = _encode.request_id(request_id)

        def message(each: list[IngestTurn], last: bool) -> ingest_pb2.StreamIngestRequest:
            request = _encode_ingest.ingest(
                where,
                each,
                mode=mode,
                extractor=extractor,
                end_session=last,
                turn_ttl=turn_ttl,
                request_id=name,
            )
            return _encode_ingest.streamed(request)

        def messages() -> Iterator[ingest_pb2.StreamIngestRequest]:
            for turn in turns:
                yield message([turn], False)
            if end_session:
                yield message([], True)

        answer = self._calls.upload(
            _rpcs.STREAM_INGEST, self._calls.memory.StreamIngest, message([], False), messages(), timeout
        )
        ingested = _decode_subject.ingested(answer.message)
        self._wrote(ingested.consistency_token)
        return ingested

    def get_ingest(self, ingest_id: str | UUID, *, timeout: float | None = None) -> IngestStatus:
        """How far an ingest has come. Raises NotFound."""
        request = ingest_pb2.GetIngestRequest(ingest_id=identifier(ingest_id, "ingest_id"))
        answer = self._calls.unary(_rpcs.GET_INGEST, self._calls.memory.GetIngest, request, timeout)
        return _decode_subject.ingest_status(answer.message)
