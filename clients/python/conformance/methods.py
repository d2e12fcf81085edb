"""The methods of the contract by the client's own methods: a request's message to arguments."""

import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import muniment
from muniment import _transfer, _values
from muniment.v1 import (
    audit_pb2,
    correction_pb2,
    filter_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    review_pb2,
    subject_pb2,
    write_pb2,
)

REQUESTS = {
    **dict.fromkeys(("Write", "Recall", "Supersede", "Erase", "GetErasure", "GetMemory"), memory_service_pb2),
    **dict.fromkeys(("ListMemories", "ReportUse", "Audit"), memory_service_pb2),
    **dict.fromkeys(("Restore", "Retract", "UndoWrite"), correction_pb2),
    **dict.fromkeys(("Ingest", "StreamIngest", "GetIngest"), ingest_pb2),
    **dict.fromkeys(("ListReviews", "DecideReview"), review_pb2),
    **dict.fromkeys(
        ("SetConsent", "GetConsent", "DescribeSubject", "ExportMemories", "ImportMemories"), subject_pb2
    ),
    **dict.fromkeys(("GetRecall", "ExportAudit"), audit_pb2),
}


def when(message: Any, name: str) -> datetime | None:
    return getattr(message, name).ToDatetime(UTC) if message.HasField(name) else None


def where(scope: memory_pb2.Scope) -> dict[str, Any]:
    return {
        name: getattr(scope, name)
        for name in ("subject", "space", "agent", "session")
        if scope.HasField(name)
    }


def owner(scope: memory_pb2.Scope) -> dict[str, Any]:
    return {name: value for name, value in where(scope).items() if name in ("subject", "space")}


def item(message: write_pb2.WriteItem) -> muniment.WriteItem:
    made = _transfer.decode(subject_pb2.MemoryRecord(item=message)).item
    if not message.HasField("embedding"):
        return made
    given = {name: getattr(made, name) for name in muniment.WriteItem.__annotations__}
    return muniment.WriteItem(**{**given, "embedding": embedding(message.embedding)})


def embedding(message: memory_pb2.Embedding) -> muniment.Embedding:
    return muniment.Embedding(message.model, struct.unpack(f"<{len(message.vector) // 4}f", message.vector))


def interval(message: Any, name: str) -> tuple[datetime | None, datetime | None] | None:
    if not message.HasField(name):
        return None
    return when(getattr(message, name), "start_time"), when(getattr(message, name), "end_time")


def condition(message: filter_pb2.PropertyCondition) -> muniment.PropertyCondition:
    operator = message.WhichOneof("operator") or "unknown"
    value: Any = getattr(message, operator, None)
    if operator == "any_of":
        value = tuple(_values.scalar(each) for each in message.any_of.values)
    elif operator == "range":
        bounds = (message.range.WhichOneof("lower"), message.range.WhichOneof("upper"))
        value = {name: getattr(message.range, name) for name in bounds if name}
    elif operator != "exists":
        value = _values.scalar(value)
    return muniment.PropertyCondition(message.key, operator, value)


def found(message: filter_pb2.MemoryFilter) -> muniment.Filter:
    return muniment.Filter(
        kinds=tuple(map(muniment.MemoryKind, message.kinds)),
        states=tuple(map(muniment.MemoryState, message.states)),
        slots=tuple(message.slots),
        tags_any=tuple(message.tags_any),
        tags_all=tuple(message.tags_all),
        tags_none=tuple(message.tags_none),
        source_types=tuple(map(muniment.SourceType, message.source_types)),
        min_trust=muniment.TrustLevel(message.min_trust) if message.min_trust else None,
        sessions=tuple(message.sessions),
        properties=tuple(map(condition, message.properties)),
        create_time=interval(message, "create_time"),
        valid_time=interval(message, "valid_time"),
        valid_start_time=interval(message, "valid_start_time"),
        valid_at=when(message, "valid_at"),
    )


def consistency(message: Any) -> Any:
    if not message.HasField("consistency"):
        return None
    requirement = message.consistency.WhichOneof("requirement")
    if requirement == "at_least_as_fresh":
        return muniment.ConsistencyToken(message.consistency.at_least_as_fresh.token)
    return requirement


def some(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def name(message: Any) -> str | None:
    return message.request_id or None


def recall(request: Any) -> dict[str, Any]:
    return {
        **where(request.scope),
        "filter": found(request.filter) if request.HasField("filter") else None,
        "limit": some(request, "limit"),
        "min_score": some(request, "min_score"),
        "token_budget": some(request, "token_budget"),
        "legs": tuple(map(muniment.RetrievalLeg, request.legs)),
        "view": muniment.MemoryView(request.view) if request.view else None,
        "query_embedding": embedding(request.query_embedding)
        if request.HasField("query_embedding")
        else None,
        "explain": request.explain,
        "near_misses": request.near_miss_limit,
        "as_of": when(request, "as_of_time"),
        "reference_time": when(request, "reference_time"),
        "time_zone": request.time_zone,
        "fusion": muniment.Fusion(request.fusion) if request.fusion else None,
        "consistency": consistency(request),
    }


def target(message: Any) -> dict[str, Any]:
    match message.WhichOneof("target"):
        case "memories":
            return {"memory_ids": list(message.memories.memory_ids)}
        case "filter":
            return {**where(message.filter.scope), "filter": found(message.filter.filter)}
        case "session":
            return where(message.session.scope)
        case "scope":
            return where(message.scope.scope)
    return {}


def ingest(request: Any) -> dict[str, Any]:
    return {
        "session": "",
        **where(request.scope),
        "mode": muniment.ExtractionMode(request.mode) if request.mode else None,
        "extractor": muniment.Extractor(request.extractor) if request.extractor else None,
        "end_session": request.end_session,
        "turn_ttl": request.turn_ttl.ToTimedelta() if request.HasField("turn_ttl") else None,
        "request_id": name(request),
    }


def turn(each: ingest_pb2.IngestTurn) -> muniment.IngestTurn:
    return muniment.IngestTurn(
        each.number, muniment.TurnRole(each.role), each.content, each.speaker, when(each, "time")
    )


def audit(request: Any) -> dict[str, Any]:
    wanted = request.filter
    return {
        **where(wanted.scope),
        "memory_id": wanted.memory_id or None,
        "recall_id": wanted.recall_id or None,
        "trace_id": wanted.trace_id or None,
        "principal": wanted.principal or None,
        "actions": tuple(map(muniment.AuditAction, wanted.actions)),
        "outcomes": tuple(map(muniment.AuditOutcome, wanted.outcomes)),
        "source_types": tuple(map(muniment.SourceType, wanted.source_types)),
        "event_time": interval(wanted, "event_time"),
        "page_size": request.page_size,
    }


Call = Callable[[muniment.AsyncClient, Any, Any], Awaitable[object]]


async def wrapped(field: str, answer: Awaitable[object]) -> dict[str, object]:
    return {field: await answer}


UNARY: dict[str, Call] = {
    "Write": lambda client, r, timeout: client.write(
        [item(each) for each in r.items], **where(r.scope), request_id=name(r), timeout=timeout
    ),
    "Recall": lambda client, r, timeout: client.recall(r.query, **recall(r), timeout=timeout),
    "Supersede": lambda client, r, timeout: client.supersede(
        r.memory_id, item(r.item), etag=r.etag, request_id=name(r), timeout=timeout
    ),
    "Erase": lambda client, r, timeout: wrapped(
        "receipt",
        client.erase(
            **target(r.target),
            dry_run=r.validate_only,
            reason=muniment.ErasureReason(r.reason),
            reason_code=r.reason_code,
            request_id=name(r),
            timeout=timeout,
        ),
    ),
    "GetErasure": lambda client, r, timeout: wrapped(
        "receipt", client.get_erasure(r.erasure_id, timeout=timeout)
    ),
    "GetMemory": lambda client, r, timeout: client.get_memory(
        r.memory_id,
        view=muniment.MemoryView(r.view) if r.view else None,
        include_revisions=r.include_revisions,
        before_revision=some(r, "before_revision"),
        consistency=consistency(r),
        timeout=timeout,
    ),
    "ReportUse": lambda client, r, timeout: client.report_use(
        r.recall_id,
        list(r.memory_ids),
        outcome=muniment.UseOutcome(r.outcome),
        model=r.model,
        prompt_ref=r.prompt_ref,
        request_id=name(r),
        timeout=timeout,
    ),
    "Ingest": lambda client, r, timeout: client.ingest(
        [turn(each) for each in r.turns], **ingest(r), timeout=timeout
    ),
    "GetIngest": lambda client, r, timeout: client.get_ingest(r.ingest_id, timeout=timeout),
    "Restore": lambda client, r, timeout: client.restore(
        r.memory_id, etag=r.etag, revision=some(r, "revision"), request_id=name(r), timeout=timeout
    ),
    "Retract": lambda client, r, timeout: client.retract(
        r.memory_id, etag=r.etag, end_time=when(r, "end_time"), request_id=name(r), timeout=timeout
    ),
    "UndoWrite": lambda client, r, timeout: client.undo_write(
        r.write_request_id, dry_run=r.validate_only, request_id=name(r), timeout=timeout
    ),
    "DecideReview": lambda client, r, timeout: client.decide_review(
        r.memory_id,
        muniment.ReviewDecision(r.decision),
        content=r.content,
        trust=muniment.TrustLevel(r.trust),
        etag=r.etag,
        request_id=name(r),
        timeout=timeout,
    ),
    "SetConsent": lambda client, r, timeout: client.set_consent(
        muniment.ConsentLevel(r.level),
        **owner(r.scope),
        necessary_kinds=tuple(map(muniment.MemoryKind, r.necessary_kinds)),
        forget_session=some(r, "forget_session"),
        erase=r.erase,
        request_id=name(r),
        timeout=timeout,
    ),
    "GetConsent": lambda client, r, timeout: wrapped(
        "consent", client.get_consent(**owner(r.scope), timeout=timeout)
    ),
    "DescribeSubject": lambda client, r, timeout: client.describe_subject(
        **owner(r.scope), language=r.language, timeout=timeout
    ),
    "ImportMemories": lambda client, r, timeout: client.import_memories(
        [_transfer.decode(each) for each in r.records],
        **owner(r.scope),
        dry_run=r.validate_only,
        request_id=name(r),
        timeout=timeout,
    ),
    "GetRecall": lambda client, r, timeout: wrapped(
        "receipt", client.get_recall(r.recall_id, timeout=timeout)
    ),
}

PAGED: dict[str, tuple[str, Callable[[muniment.AsyncClient, Any, Any], muniment.AsyncPages[Any]]]] = {
    "ListMemories": (
        "memories",
        lambda client, r, timeout: client.list_memories(
            **where(r.scope),
            filter=found(r.filter) if r.HasField("filter") else None,
            view=muniment.MemoryView(r.view) if r.view else None,
            include_narrowed=r.include_narrowed,
            page_size=r.page_size,
            consistency=consistency(r),
            timeout=timeout,
        ),
    ),
    "ListReviews": (
        "reviews",
        lambda client, r, timeout: client.list_reviews(
            **owner(r.scope),
            states=tuple(map(muniment.MemoryState, r.states)),
            view=muniment.MemoryView(r.view) if r.view else None,
            page_size=r.page_size,
            timeout=timeout,
        ),
    ),
    "Audit": (
        "events",
        lambda client, r, timeout: client.audit(**audit(r), timeout=timeout),
    ),
}


async def stream_ingest(client: muniment.AsyncClient, requests: list[Any], timeout: float | None) -> object:
    """All turns of the messages, in order."""

    async def turns() -> AsyncIterator[muniment.IngestTurn]:
        for request in requests:
            for each in request.turns:
                yield turn(each)

    arguments = ingest(requests[0])
    arguments["end_session"] = any(request.end_session for request in requests)
    return await client.stream_ingest(turns(), **arguments, timeout=timeout)
