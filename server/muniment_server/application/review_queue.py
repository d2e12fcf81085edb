"""ListReviews: what waits for a person, oldest first, with why and with what it is near to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from muniment_server.audit.events import AuditAction, from_micros, to_micros
from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.conflicts import MOST_NAMED, PossibleConflict, is_near, shared_terms
from muniment_server.domain.content import Content
from muniment_server.domain.differences import Reader
from muniment_server.domain.model import Memory, MemoryState, Revision, Scope, ScopeKind, ScopeRow
from muniment_server.identity.principal import CallContext
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.storage.memories import read_scopes
from muniment_server.storage.reviews import WaitingMemory, vectors_of, waiting_memories
from muniment_server.storage.rows import to_revision

from .conflicts import near_request
from .paging import opened_token
from .read import MAX_PAGE_BYTES
from .review_notes import note_seal
from .scoping import bind_scope, is_genuine_scope, read_label, reading_key, scope_number
from .sealing import is_genuine, open_content
from .services import Services
from .viewing import may_name, shows, view_of, view_within
from .views import to_memory, weight

DEFAULT_PAGE = 50
MAX_PAGE = 200
WAITING = (MemoryState.PENDING, MemoryState.QUARANTINED)
_MOST_COMPARED = 20
"""Reviews of a page whose neighbours are looked for; the others are shown without."""


@dataclass(frozen=True, slots=True)
class Review:
    """One memory that waits. rule: empty where the note is gone or does not hold."""

    memory: Memory
    rule: str
    would_supersede: UUID | None
    conflicts: tuple[PossibleConflict, ...]
    create_time: datetime
    expire_time: datetime


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page; `next_token` empty at the end. broken: memories whose seal does not hold."""

    reviews: list[Review]
    next_token: str
    broken: list[UUID]


@dataclass(frozen=True, slots=True)
class _Opened:
    waiting: WaitingMemory
    key: ScopeKey
    kind: ScopeKind
    label: str
    content: Content


async def list_reviews(
    services: Services,
    context: CallContext,
    *,
    scope: Scope | None,
    states: Sequence[MemoryState],
    page_size: int,
    page_token: str,
    arguments: bytes,
    full: bool,
) -> ReviewPage:
    """One page of the queue of the tenant, or of one subject; of a bound credential only what it reaches.

    arguments: the request's deterministic bytes without page size and token. Raises PermissionDenied and
    PageTokenInvalid.
    """
    if scope is not None:
        bind_scope(context, scope)
    key = await services.keys.tenant(context.tenant_id)
    view = await (view_of(services, context) if scope is None else view_within(services, context, scope))
    settings = await services.settings.of(context.tenant_id)
    binding = b"reviews" + arguments
    after = opened_token(key, page_token, binding, _place)
    size = min(page_size or DEFAULT_PAGE, MAX_PAGE)
    async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
        found = await waiting_memories(
            work,
            states=states or WAITING,
            scope_id=_scope_id(context, key, scope),
            agent=scope.agent if scope else None,
            session=scope.session if scope else None,
            bound_agent=context.principal.agent,
            after=after,
            limit=size + 1,
        )
        scopes = await read_scopes(work, {one.revision.scope_id for one in found})
        opened, broken, last = await _page(services, context, key, found, scopes, view, size)
        near = await _near(services, work, opened, settings.review.conflicts, view)
        if broken:
            await services.trail.integrity_violation(
                work,
                key,
                context,
                now=services.clock(),
                scope_id=next(one.revision.scope_id for one in found if one.revision.memory_id == broken[0]),
                memory_ids=broken,
                check="seal",
            )
        await services.trail.memories_read(
            work,
            key,
            context,
            AuditAction.LIST_REVIEWS,
            now=services.clock(),
            scope_id=_scope_id(context, key, scope),
            agent=scope.agent if scope else None,
            session=scope.session if scope else None,
            memory_ids=[one.waiting.revision.memory_id for one in opened],
        )
    services.on_recorded(context.tenant_id)
    lasting = timedelta(days=settings.review.expire_days)
    reviews = [
        _review(key, one, near.get(one.waiting.revision.memory_id, ()), lasting, full) for one in opened
    ]
    token = key.seal_token(_raw(last), binding) if last is not None else ""
    return ReviewPage(reviews, token, broken)


def _scope_id(context: CallContext, key: TenantKey, scope: Scope | None) -> UUID | None:
    if scope is not None:
        return key.scope_id(int(scope.kind), scope.label)
    subject = context.principal.subject
    return None if subject is None else key.scope_id(int(ScopeKind.SUBJECT), subject)


def _place(raw: bytes) -> tuple[datetime, UUID]:
    return from_micros(int.from_bytes(raw[:8], signed=True)), UUID(bytes=raw[8:])


def _raw(last: Revision) -> bytes:
    return to_micros(last.update_time).to_bytes(8, signed=True) + last.memory_id.bytes


async def _page(
    services: Services,
    context: CallContext,
    key: TenantKey,
    found: Sequence[WaitingMemory],
    scopes: Mapping[UUID, ScopeRow],
    view: AgentView | None,
    size: int,
) -> tuple[list[_Opened], list[UUID], Revision | None]:
    """What fits into an answer, what is broken, and the last one looked at when there is more."""
    opened: list[_Opened] = []
    broken: list[UUID] = []
    used = 0
    last: Revision | None = None
    for index, one in enumerate(found):
        revision = one.revision
        shown = await _open(services, context, one, scopes.get(revision.scope_id))
        if shown is not None:
            memory = to_memory(key, revision, shown.kind, shown.label, *shown.content[:3])
            used += weight(memory)
        if index == size or (last is not None and used > MAX_PAGE_BYTES):
            return opened, broken, last
        last = revision
        if shown is None:
            broken.append(revision.memory_id)
        elif shows(view, revision) and (view is None or may_name(view, shown.kind, shown.label)):
            opened.append(shown)
    return opened, broken, None


async def _open(
    services: Services, context: CallContext, waiting: WaitingMemory, row: ScopeRow | None
) -> _Opened | None:
    """A memory with all that stands in it; None when something in it does not hold."""
    revision = waiting.revision
    if row is None or waiting.contradicted:
        return None
    scope_key = await reading_key(services.keys, context.tenant_id, row.scope_id, row.key_epoch)
    if scope_key is None or not is_genuine_scope(context.tenant_id, scope_key, row):
        return None
    try:
        label = read_label(scope_key, row)
        if label is None or not is_genuine(scope_key, context.tenant_id, revision):
            return None
        content = open_content(scope_key, revision)
    except (CiphertextInvalid, ValueError):
        return None
    return _Opened(waiting, scope_key, row.kind, label, content)


async def _near(
    services: Services, work: UnitOfWork, opened: Sequence[_Opened], most: int, view: AgentView | None
) -> dict[UUID, tuple[PossibleConflict, ...]]:
    """Live memories near to each of the first reviews."""
    compared = opened[:_MOST_COMPARED] if most else []
    if not compared:
        return {}
    live = services.models.current
    now = services.clock()
    places = [
        (
            scope_number(one.waiting.revision.scope_id),
            one.waiting.revision.doc_no,
            one.waiting.revision.content_revision,
        )
        for one in compared
    ]
    vectors = await vectors_of(work, live.model_no, places)
    with_vectors = [
        (one, vectors[place]) for one, place in zip(compared, places, strict=True) if place in vectors
    ]
    answers = (
        await work.fetch_together(
            *(
                near_request(
                    live,
                    one.waiting.revision.scope_id,
                    vector,
                    agent=one.waiting.revision.agent,
                    session=one.waiting.revision.session,
                    share=len(with_vectors),
                    now=now,
                )
                for one, vector in with_vectors
            )
        )
        if with_vectors
        else []
    )
    read = Reader()
    return {
        one.waiting.revision.memory_id: tuple(
            found
            for row in rows
            if (found := _conflict(services, work.tenant_id, one, row, view, read)) is not None
        )[: min(most, MOST_NAMED)]
        for (one, _), rows in zip(with_vectors, answers, strict=True)
    }


def _conflict(
    services: Services, tenant_id: UUID, one: _Opened, row: Row, view: AgentView | None, read: Reader
) -> PossibleConflict | None:
    other = to_revision(row)
    if not shows(view, other):
        return None
    cosine = float(row["cosine"])
    relevance = services.models.current.model.calibration.relevance(cosine)
    if not is_near(relevance, shared_terms(one.waiting.revision.tokens, other.tokens)):
        return None
    if not is_genuine(one.key, tenant_id, other):
        return None
    try:
        text = open_content(one.key, other).text
    except (CiphertextInvalid, ValueError):
        return None
    return PossibleConflict(
        other.memory_id, max(-1.0, min(1.0, cosine)), read.differences(one.content.text, text)
    )


def _review(
    key: TenantKey,
    one: _Opened,
    conflicts: Sequence[PossibleConflict],
    lasting: timedelta,
    full: bool,
) -> Review:
    revision = one.waiting.revision
    content = one.content if full else (None, None, None)
    rule, seal = one.waiting.rule, one.waiting.note_seal
    noted = rule is not None and seal == note_seal(one.key, revision.memory_id, rule)
    latest = datetime.max.replace(tzinfo=revision.update_time.tzinfo)
    return Review(
        memory=to_memory(key, revision, one.kind, one.label, *content[:3]),
        rule=rule if noted and rule is not None else "",
        would_supersede=revision.supersedes,
        conflicts=tuple(conflicts),
        create_time=revision.update_time,
        expire_time=revision.update_time + min(lasting, latest - revision.update_time),
    )
