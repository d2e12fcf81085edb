"""The asynchronous client."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final, Self, Unpack
from uuid import UUID

from opentelemetry.trace import Span

from muniment import _decode, _encode, _rpcs
from muniment._arguments import Embedding, Filter, ItemFields, WriteItem
from muniment._async.audit import AsyncAuditMethods
from muniment._async.calls import AsyncCalls
from muniment._async.conversations import AsyncConversationMethods
from muniment._async.corrections import AsyncCorrectionMethods
from muniment._async.model_call import AsyncModelCall
from muniment._async.pages import AsyncPages, Page
from muniment._async.subjects import AsyncSubjectMethods
from muniment._encode import UNSET, ConsistencyRequirement, Items, Unset
from muniment._enums import ErasureReason, Fusion, MemoryView, RetrievalLeg, UseOutcome
from muniment._errors import InvalidRequest, OutOfRange
from muniment._held import HeldToken
from muniment._settings import Settings
from muniment._types import (
    ConsistencyToken,
    ErasureReceipt,
    Memory,
    MemoryHistory,
    RankedMemory,
    Recalled,
    Superseded,
    UseReported,
    Written,
)
from muniment._values import enum, identifier, text
from muniment.v1 import memory_service_pb2

_log: Final = logging.getLogger("muniment")
_TOKEN_REASONS: Final = frozenset(
    {"CONSISTENCY_TOKEN_INVALID", "CONSISTENCY_TOKEN_FOREIGN", "CONSISTENCY_TOKEN_EXPIRED"}
)


class AsyncClient(AsyncAuditMethods, AsyncConversationMethods, AsyncCorrectionMethods, AsyncSubjectMethods):
    """A client of one tenant; made by `muniment.connect`.

    Safe to be shared by everything in one event loop.
    It belongs to the process and the event loop that first used it, and opens one channel, at the
    first call. Every method raises a subclass of MunimentError when the call does not succeed, and
    takes `timeout`, the seconds that it may take with all repetitions. Arguments that are ids are
    UUIDs or their text.
    """

    def __init__(self, settings: Settings) -> None:
        self._calls = AsyncCalls(settings)
        self._held = HeldToken()

    def __repr__(self) -> str:
        settings = self._calls.settings
        return f"<{type(self).__name__} {settings.target} tenant={settings.tenant}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, timeout: float = 5.0) -> None:
        """Refuse new calls, wait at most `timeout` seconds for those under way, then cut the rest off."""
        await self._calls.close(timeout)

    @property
    def consistency_token(self) -> ConsistencyToken | None:
        """The state of the store after the freshest write that was answered; None before the first one."""
        return self._held.token

    def _wrote(self, token: ConsistencyToken | None) -> None:
        self._held.offer(token)

    async def write(
        self,
        items: Items,
        *,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str | UUID | None = None,
        timeout: float | None = None,
        **fields: Unpack[ItemFields],
    ) -> Written:
        """Store statements: all of them or none.

        items: one text or WriteItem, or several. subject or space: whom or what they are about;
        agent and session narrow that: such memories are recalled only for the same agent or session.
        request_id: makes the call repeatable by yourself; the client's own repetitions always are.
        fields: the fields of WriteItem (`kind`, `slot`, `tags`, ...) for plain texts.

        The same statement reinforces the memory that is there; a slot that is held supersedes its
        holder; nothing is merged by likeness. See `WriteResult.outcome`.
        """
        request = memory_service_pb2.WriteRequest(
            scope=_encode.scope(subject, space, agent, session),
            items=_encode.items(items, fields),
            request_id=_encode.request_id(request_id),
        )
        answer = await self._calls.unary(_rpcs.WRITE, self._calls.memory.Write, request, timeout)
        written = _decode.written(answer.message)
        self._wrote(written.consistency_token)
        return written

    async def recall(
        self,
        query: str,
        *,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        filter: Filter | None = None,  # noqa: A002
        limit: int | None = None,
        min_score: float | None = None,
        token_budget: int | None = None,
        legs: Sequence[RetrievalLeg | str] = (),
        view: MemoryView | str | None = None,
        query_embedding: Embedding | None = None,
        explain: bool = False,
        near_misses: int = 0,
        as_of: datetime | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        fusion: Fusion | str | None = None,
        consistency: ConsistencyRequirement | None = None,
        timeout: float | None = None,
    ) -> Recalled:
        """Find what is relevant to a query, ranked.

        limit: the most memories, 1 to 200; None: 10. min_score: 0 to 1; None: the server's threshold
        for "relevant", 0: none. token_budget: asks for a block of at most this many tokens, ready for
        a prompt, as `recalled.context`. legs: ways of finding; none: all. explain: what each leg
        contributed. query_embedding: the query's vector, if it was computed already. near_misses: how
        many candidates to name that are not in the answer, 0 to 50.

        as_of: what was known at this instant. reference_time, time_zone: what relative times in the query
        refer to; None: now, and "": UTC. fusion: how the legs become one order; None: SCORE.

        consistency: None sees every write of this client (and waits for its vectors, if the server
        makes them later), or with `read_your_writes=False` whatever is there. A token sees at least
        that state.
        """
        request = _encode.recall(
            query,
            _encode.scope(subject, space, agent, session),
            filter=filter,
            limit=limit,
            min_score=min_score,
            token_budget=token_budget,
            legs=legs,
            view=view,
            query_embedding=query_embedding,
            explain=explain,
            near_misses=near_misses,
            as_of=as_of,
            reference_time=reference_time,
            time_zone=time_zone,
            fusion=fusion,
        )
        own = self._held.token if consistency is None and self._calls.settings.read_your_writes else None
        wanted = own if consistency is None else consistency
        if wanted is not None:
            request.consistency.CopyFrom(_encode.consistency(wanted))
        try:
            answer = await self._calls.unary(_rpcs.RECALL, self._calls.memory.Recall, request, timeout)
        except (InvalidRequest, OutOfRange) as error:
            if own is None or error.reason not in _TOKEN_REASONS:
                raise
            # Nobody asked for this token: the store was replaced or has moved on, so it says nothing.
            _log.info("dropped the consistency token of the last write: %s", error.reason)
            self._held.drop(own)
            request.ClearField("consistency")
            answer = await self._calls.unary(_rpcs.RECALL, self._calls.memory.Recall, request, timeout)
        return _decode.recalled(answer.message, answer.span)

    async def supersede(
        self,
        memory_id: str | UUID,
        item: str | WriteItem,
        *,
        etag: str = "",
        request_id: str | UUID | None = None,
        timeout: float | None = None,
        **fields: Unpack[ItemFields],
    ) -> Superseded:
        """Replace a memory by a new one, in one step; the old one stays as history.

        item: the new statement, a text (with `fields` as in `write`) or a WriteItem. It is written to
        the old memory's scope and keeps its slot if it has none of its own; nothing else is taken over.
        etag: of the revision seen; raises Conflict if somebody changed the memory since.

        Raises NotFound, Conflict, FailedPrecondition (superseded or erased already, not active).
        """
        request = memory_service_pb2.SupersedeRequest(
            memory_id=identifier(memory_id, "memory_id"),
            etag=text(etag, "etag"),
            item=_encode.item(item, fields, "item"),
            request_id=_encode.request_id(request_id),
        )
        answer = await self._calls.unary(_rpcs.SUPERSEDE, self._calls.memory.Supersede, request, timeout)
        superseded = _decode.superseded(answer.message)
        self._wrote(superseded.consistency_token)
        return superseded

    async def erase(
        self,
        memory_ids: Iterable[str | UUID] | Unset = UNSET,
        *,
        subject: str | Unset = UNSET,
        space: str | Unset = UNSET,
        session: str | Unset = UNSET,
        agent: str | Unset = UNSET,
        filter: Filter | Unset = UNSET,  # noqa: A002
        dry_run: bool = False,
        reason: ErasureReason | str = ErasureReason.UNSPECIFIED,
        reason_code: str = "",
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> ErasureReceipt:
        """Erase for good: the memories named, one session, what a filter finds, or everything.

            await client.erase([memory_id])
            await client.erase(subject="user-1", session="s-9")
            await client.erase(subject="user-1", filter=Filter(tags_any=["draft"]))
            await client.erase(subject="user-1")  # everything about user-1, keys included

        None is refused for every part of the target, so that a variable that is unexpectedly None
        cannot turn the erasure of a session into that of a subject. dry_run: only say what would be
        erased. reason, reason_code: for the audit trail; no personal data.

        When it returns, nothing erased is served any more; if the receipt is PENDING, poll
        `get_erasure` for the rest. Raises NotFound, with nothing erased, for an id that never existed.
        """
        request = _encode.erase(
            _encode.erasure_target(memory_ids, subject, space, agent, session, filter),
            dry_run=dry_run,
            reason=reason,
            reason_code=reason_code,
            request=request_id,
        )
        answer = await self._calls.unary(_rpcs.ERASE, self._calls.memory.Erase, request, timeout)
        if not dry_run:
            self._wrote(_decode.token(answer.message.consistency_token))
        return _decode.erasure_receipt(answer.message.receipt)

    async def get_erasure(self, erasure_id: str | UUID, *, timeout: float | None = None) -> ErasureReceipt:
        """The receipt of an erasure as it stands now. Raises NotFound."""
        request = memory_service_pb2.GetErasureRequest(erasure_id=identifier(erasure_id, "erasure_id"))
        answer = await self._calls.unary(_rpcs.GET_ERASURE, self._calls.memory.GetErasure, request, timeout)
        return _decode.erasure_receipt(answer.message.receipt)

    async def get_memory(
        self,
        memory_id: str | UUID,
        *,
        view: MemoryView | str | None = None,
        include_revisions: bool = False,
        before_revision: int | None = None,
        consistency: ConsistencyRequirement | None = None,
        timeout: float | None = None,
    ) -> MemoryHistory:
        """One memory in whatever state; an erased one is a tombstone.

        include_revisions: with at most 100 of its revisions, newest first, those before
        `before_revision`. Raises NotFound, and DataLoss when the memory was tampered with.
        """
        request = memory_service_pb2.GetMemoryRequest(
            memory_id=identifier(memory_id, "memory_id"),
            view=enum(MemoryView, MemoryView.UNSPECIFIED if view is None else view, "view"),
            include_revisions=include_revisions,
            before_revision=before_revision,
            consistency=None if consistency is None else _encode.consistency(consistency),
        )
        answer = await self._calls.unary(_rpcs.GET_MEMORY, self._calls.memory.GetMemory, request, timeout)
        return _decode.history(answer.message)

    def list_memories(
        self,
        *,
        subject: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        filter: Filter | None = None,  # noqa: A002
        view: MemoryView | str | None = None,
        include_narrowed: bool = False,
        page_size: int = 0,
        consistency: ConsistencyRequirement | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[Memory]:
        """The memories of a scope, newest first, all pages: `async for memory in client.list_memories(...)`.

        view: FULL to have the contents as well; None: BASIC, without them, which is the contract's default
        for lists. include_narrowed: those narrowed to other agents and
        sessions as well, that is, everything about the subject or in the space. page_size: memories
        fetched at once, 0 for the server's default of 100. timeout: seconds for one page.
        """
        request = memory_service_pb2.ListMemoriesRequest(
            scope=_encode.scope(subject, space, agent, session),
            filter=None if filter is None else filter.message(),
            page_size=page_size,
            view=enum(MemoryView, MemoryView.UNSPECIFIED if view is None else view, "view"),
            include_narrowed=include_narrowed,
            consistency=None if consistency is None else _encode.consistency(consistency),
        )

        async def fetch(page_token: str) -> Page[Memory]:
            page = memory_service_pb2.ListMemoriesRequest()
            page.CopyFrom(request)
            page.page_token = page_token
            answer = await self._calls.unary(
                _rpcs.LIST_MEMORIES, self._calls.memory.ListMemories, page, timeout
            )
            return Page(
                tuple(map(_decode.memory, answer.message.memories)),
                answer.message.next_page_token,
                tuple(answer.message.seal_broken_memory_ids),
            )

        return AsyncPages(fetch)

    async def report_use(
        self,
        recall_id: str | UUID,
        memory_ids: Iterable[str | UUID],
        *,
        outcome: UseOutcome | str | None = None,
        model: str = "",
        prompt_ref: str = "",
        request_id: str | UUID | None = None,
        timeout: float | None = None,
    ) -> UseReported:
        """State which memories of a recall really entered a prompt; `model_call` does it for you.

        memory_ids: in the order of the prompt; empty: none did. outcome: what they did for it. model,
        prompt_ref: kept in the audit trail in clear; no personal data.

        Raises NotFound, and InvalidRequest for a memory that the recall did not offer.
        """
        request = _encode.report_use(
            recall_id,
            memory_ids,
            outcome=outcome,
            model=model,
            prompt_ref=prompt_ref,
            request=request_id,
        )
        answer = await self._calls.unary(_rpcs.REPORT_USE, self._calls.memory.ReportUse, request, timeout)
        reported = _decode.use_reported(answer.message)
        self._wrote(reported.consistency_token)
        return reported

    def model_call(
        self,
        recalled: Recalled,
        *more: Recalled,
        memories: Iterable[str | RankedMemory | Memory] | None = None,
        outcome: UseOutcome | str | None = None,
        model: str = "",
        prompt_ref: str = "",
        span: Span | None = None,
        strict: bool = False,
        timeout: float | None = None,
    ) -> AsyncModelCall:
        """Wrap the model call that recalled memories go into: one line makes the prompt provable.

            async with client.model_call(recalled, model="some-model"):
                answer = await call_the_model(prompt + recalled.context)

        The span of the model call is stamped with the ids of the memories and linked to the recall:
        `span`, or the current one, or, when none is recorded, a new one around the block. When the
        block succeeds, `report_use` is sent; when it raises, nothing is.

        recalled, more: the recalls that the prompt was made from. memories: what really entered the
        prompt; None: the packed contexts, or everything where none was packed. All of it can still be
        set inside the block (`as call`: `call.use(...)`, `call.outcome = "helpful"`). strict: raise
        when the report fails; otherwise it is logged and kept as `call.report_error`.
        """
        call = AsyncModelCall(
            self.report_use,
            (recalled, *more),
            span=span,
            outcome=outcome,
            model=model,
            prompt_ref=prompt_ref,
            strict=strict,
            timeout=timeout,
        )
        if memories is not None:
            call.use(memories)
        return call
