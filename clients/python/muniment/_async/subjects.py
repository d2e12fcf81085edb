"""The methods for what a subject may ask for."""

from collections.abc import AsyncIterator, Iterable, Sequence
from uuid import UUID

from muniment import _decode, _decode_subject, _encode, _rpcs, _transfer
from muniment._async.calls import AsyncCalls
from muniment._enums import ConsentLevel, MemoryKind, MemoryState
from muniment._errors import Unavailable
from muniment._subject_types import Consent, ConsentSet, SubjectDescription
from muniment._transfer import MemoryRecord
from muniment._types import ConsistencyToken, Written
from muniment._values import enum, enums, text
from muniment.v1 import subject_pb2


class AsyncSubjectMethods:
    """Consent, an account of what is remembered, and taking it along."""

    _calls: AsyncCalls

    def _wrote(self, token: ConsistencyToken | None) -> None:
        raise NotImplementedError

    async def set_consent(
        self,
        level: ConsentLevel | str | None = None,
        *,
        subject: str | None = None,
        space: str | None = None,
        necessary_kinds: Sequence[MemoryKind | str] = (),
        forget_session: str | None = None,
        erase: bool = False,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> ConsentSet:
        """Change what may be remembered about a subject; it holds at once.

        level: None: left as it is. necessary_kinds: for NECESSARY. forget_session: a session of which
        nothing is to be remembered. erase: also erase what the new consent does not cover.
        """
        request = subject_pb2.SetConsentRequest(
            scope=_encode.scope(subject, space, None, None),
            level=enum(ConsentLevel, ConsentLevel.UNSPECIFIED if level is None else level, "level"),
            necessary_kinds=enums(MemoryKind, necessary_kinds, "necessary_kinds"),
            erase=erase,
            request_id=_encode.request_id(request_id),
        )
        if forget_session is not None:
            request.forget_session = text(forget_session, "forget_session")
        answer = await self._calls.unary(_rpcs.SET_CONSENT, self._calls.subject.SetConsent, request, timeout)
        done = _decode_subject.consent_set(answer.message)
        self._wrote(done.consistency_token)
        return done

    async def get_consent(
        self, *, subject: str | None = None, space: str | None = None, timeout: float | None = None
    ) -> Consent:
        """What a subject decided."""
        request = subject_pb2.GetConsentRequest(scope=_encode.scope(subject, space, None, None))
        answer = await self._calls.unary(_rpcs.GET_CONSENT, self._calls.subject.GetConsent, request, timeout)
        return _decode_subject.consent(answer.message.consent)

    async def describe_subject(
        self,
        *,
        subject: str | None = None,
        space: str | None = None,
        language: str = "",
        timeout: float | None = None,
    ) -> SubjectDescription:
        """What is stored, why and how long, in plain words. language: "en" or "zh"."""
        request = subject_pb2.DescribeSubjectRequest(
            scope=_encode.scope(subject, space, None, None), language=text(language, "language")
        )
        answer = await self._calls.unary(
            _rpcs.DESCRIBE_SUBJECT, self._calls.subject.DescribeSubject, request, timeout
        )
        return _decode_subject.description(answer.message)

    async def export_memories(
        self,
        *,
        subject: str | None = None,
        space: str | None = None,
        states: Sequence[MemoryState | str] = (),
        timeout: float | None = None,
    ) -> AsyncIterator[MemoryRecord]:
        """Everything that is remembered about a subject, oldest first; `record.to_json()` is one line.

        states: none: every state but ERASED. timeout: seconds for the whole export (default 600).

        Raises Unavailable when the export was cut off, or counts other records than arrived.
        """
        request = subject_pb2.ExportMemoriesRequest(
            scope=_encode.scope(subject, space, None, None), states=enums(MemoryState, states, "states")
        )
        stream = self._calls.stream(
            _rpcs.EXPORT_MEMORIES, self._calls.subject.ExportMemories, request, timeout
        )
        sent: int | None = None
        records = 0
        async for message in stream:
            for each in message.records:
                records += 1
                yield _transfer.decode(each)
            if message.HasField("record_count"):
                sent = message.record_count
        if sent is None:
            raise Unavailable("the export was cut off before its end")
        if sent != records:
            raise Unavailable(f"the export announced {sent} records but sent {records}")

    async def import_memories(
        self,
        records: Iterable[MemoryRecord],
        *,
        subject: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> Written:
        """Take in 1 to 100 records from elsewhere, all or none; they pass the gates as a write does.

        dry_run: only say what would happen. `undo_write` takes it back by the request id.
        """
        request = subject_pb2.ImportMemoriesRequest(
            scope=_encode.scope(subject, space, None, None),
            records=[_transfer.encode(each, f"records[{index}]") for index, each in enumerate(records)],
            validate_only=dry_run,
            request_id=_encode.request_id(request_id),
        )
        answer = await self._calls.unary(
            _rpcs.IMPORT_MEMORIES, self._calls.subject.ImportMemories, request, timeout
        )
        written = _decode.written(answer.message)
        if not dry_run:
            self._wrote(written.consistency_token)
        return written
