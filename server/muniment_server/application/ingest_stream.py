"""StreamIngest: a conversation under way, taken in part by part and answered once."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, InvalidRequest, TransactionConflict
from muniment_server.domain.extraction.candidate import ExtractionMode
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import UniqueConflict
from muniment_server.storage.ingest import hasten

from .consistency import issue_token
from .idempotency import RequestMark, earlier_response, remember
from .ingest import ingest_part
from .ingest_body import conversation_id
from .ingest_record import Encode, IngestCommand, Taken, TakenTurn
from .scoping import EpochChanged, bind_scope, locked_existing, writing_key
from .services import Services
from .viewing import check_space

MOST_TURNS = 10_000
"""Of one stream, so that its answer stays below the size that every client can receive."""


class IngestStream:
    """The parts of one stream. Make it with `begin`."""

    def __init__(
        self,
        services: Services,
        context: CallContext,
        first: IngestCommand,
        conversation: UUID,
        replayed: bool,
    ) -> None:
        self._services = services
        self._context = context
        self._first = first
        self._replayed = replayed
        self._turns: list[TakenTurn] = []
        self._own: UUID | None = None
        self._last: UUID | None = None
        self._token = ""
        self.conversation = conversation

    @property
    def mode(self) -> ExtractionMode:
        """When candidates are made: as the first part says."""
        return self._first.mode

    @classmethod
    async def begin(cls, services: Services, context: CallContext, first: IngestCommand) -> "IngestStream":
        """Take the first part in. Where its request id is known already, nothing of the stream is stored:
        `end` compares it with what it was the first time. Raises what `ingest` raises."""
        scope = bind_scope(context, first.scope)
        await check_space(services, context, scope)
        key = await services.keys.tenant(context.tenant_id)
        scope_id = key.scope_id(int(scope.kind), scope.label)
        conversation = conversation_id(key, scope_id, scope.agent, scope.session or "")
        replayed = False
        if first.request_id is not None:
            async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
                row = await work.fetch_one("idempotency_read", request_id=first.request_id)
                replayed = row is not None
        stream = cls(services, context, first, conversation, replayed)
        await stream.add(first)
        return stream

    async def add(self, part: IngestCommand) -> None:
        """Take a part in. Raises what `ingest` raises, and InvalidRequest for one that does not belong to the
        first."""
        first = self._first
        if part.scope != first.scope:
            raise InvalidRequest.of("scope", "stream.scope", "must be that of the first request")
        if part.mode not in (first.mode, ExtractionMode.QUEUED):
            raise InvalidRequest.of("mode", "stream.mode", "must be that of the first request")
        if part.extractor not in (first.extractor, None):
            raise InvalidRequest.of("extractor", "stream.extractor", "must be that of the first request")
        if len(self._turns) + len(part.turns) > MOST_TURNS:
            raise InvalidRequest.of("turns", "stream.max_turns", f"at most {MOST_TURNS} turns in one stream")
        if self._replayed:
            self._turns += [TakenTurn(turn.number, None, True, None) for turn in part.turns]
            return
        # Candidates are made of the whole: waiting for them begins with the end of the stream.
        mode = ExtractionMode.QUEUED if first.mode is ExtractionMode.SYNC else first.mode
        taken, _ = await ingest_part(
            self._services,
            self._context,
            replace(part, mode=mode, extractor=first.extractor, request_id=None),
            self._own,
        )
        self._turns += taken.turns
        self._last = taken.ingest_id
        if taken.own:
            self._own = taken.ingest_id
        self._token = taken.consistency_token

    async def end(self, digest: bytes, encode: Encode) -> bytes:
        """The answer to the stream, or what was answered before for the same request id.

        digest: of all its parts. Raises RequestIdPayloadMismatch, MemoryErased, TransactionConflict.
        """
        services, context = self._services, self._context
        tenant_key = await services.keys.tenant(context.tenant_id)
        scope = self._first.scope
        scope_id = tenant_key.scope_id(int(scope.kind), scope.label)
        mark = RequestMark.of(
            tenant_key, context.principal, self._first.request_id, self._first.method, digest
        )
        key = await writing_key(services.keys, context.tenant_id, scope_id)
        while True:
            try:
                return await self._answer(tenant_key, key, scope_id, mark, encode)
            except EpochChanged:
                # Erased while the stream went on: nothing of it is there any more.
                raise TransactionConflict from None
            except UniqueConflict as conflict:
                if conflict.constraint != "idempotency_pkey" or self._replayed:
                    raise
                self._replayed = True

    async def _answer(
        self, tenant_key: TenantKey, key: ScopeKey, scope_id: UUID, mark: RequestMark | None, encode: Encode
    ) -> bytes:
        services, context = self._services, self._context
        now = services.clock()
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            earlier = await earlier_response(work, mark, key)
            if earlier is not None:
                return earlier
            ingest_id = self._own or self._last
            if ingest_id is None:
                raise IntegrityViolation()
            if self.mode is ExtractionMode.SYNC:
                await hasten(work, self.conversation, now)
            response = encode(
                Taken(
                    ingest_id,
                    self._own is not None,
                    self._turns,
                    self._token or issue_token(tenant_key, services.instance, now),
                )
            )
            if mark is not None:
                await locked_existing(work, key, scope_id)
                await remember(
                    work,
                    mark,
                    response,
                    scope_id=scope_id,
                    key=key,
                    memory_ids=_named(self._turns),
                    now=now,
                )
        return response


def _named(turns: Sequence[TakenTurn]) -> list[UUID]:
    return [turn.memory_id for turn in turns if turn.memory_id is not None]
