"""From the arguments of calls to the requests of the contract."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar
from uuid import UUID, uuid4

from muniment._arguments import Embedding, Filter, Interval, ItemFields, WriteItem, time_range
from muniment._enums import (
    AuditAction,
    AuditOutcome,
    ErasureReason,
    Fusion,
    MemoryKind,
    MemoryView,
    RetrievalLeg,
    SourceType,
    TrustLevel,
    UseOutcome,
)
from muniment._errors import InvalidRequest
from muniment._types import ConsistencyToken, Provenance, Validity
from muniment._values import (
    duration,
    enum,
    enums,
    float_bytes,
    identifier,
    identifiers,
    json_struct,
    property_value,
    text,
    texts,
    timestamp,
)
from muniment.v1 import (
    audit_pb2,
    consistency_pb2,
    erasure_pb2,
    memory_pb2,
    memory_service_pb2,
    write_pb2,
)


class Unset(Enum):
    """Type of UNSET."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Default of arguments for which None is refused: see `erase`."""

ConsistencyRequirement: TypeAlias = ConsistencyToken | Literal["minimize_latency", "strong"]
Items: TypeAlias = str | WriteItem | Iterable[str | WriteItem]

T = TypeVar("T")


def request_id(given: str | UUID | None) -> str:
    """The id given, or a new one."""
    return str(uuid4()) if given is None else identifier(given, "request_id")


def scope(subject: str | None, space: str | None, agent: str | None, session: str | None) -> memory_pb2.Scope:
    """A scope; exactly one of subject and space must be given."""
    if (subject is None) == (space is None):
        wrong = "needs a subject or a space" if subject is None else "takes a subject or a space, not both"
        raise InvalidRequest.of("scope", "oneof.required", wrong)
    made = memory_pb2.Scope()
    for name, value in {"subject": subject, "space": space, "agent": agent, "session": session}.items():
        if value is not None:
            setattr(made, name, text(value, f"scope.{name}"))
    return made


def consistency(requirement: ConsistencyRequirement) -> consistency_pb2.Consistency:
    """How fresh a read must be."""
    if isinstance(requirement, ConsistencyToken):
        token = consistency_pb2.ConsistencyToken(token=text(requirement.token, "consistency.token"))
        return consistency_pb2.Consistency(at_least_as_fresh=token)
    if requirement == "strong":
        return consistency_pb2.Consistency(strong=True)
    if requirement == "minimize_latency":
        return consistency_pb2.Consistency(minimize_latency=True)
    raise TypeError("consistency must be a ConsistencyToken, 'minimize_latency' or 'strong'")


def embedding(value: Embedding, field: str) -> memory_pb2.Embedding:
    """A vector."""
    return memory_pb2.Embedding(
        model=text(value.model, f"{field}.model"), vector=float_bytes(value.vector, f"{field}.vector")
    )


def items(given: Items, fields: ItemFields) -> list[write_pb2.WriteItem]:
    """Items of a write. `fields` describe plain texts and are refused beside a WriteItem."""
    several = [given] if isinstance(given, str | WriteItem) else given
    return [item(each, fields, f"items[{index}]") for index, each in enumerate(several)]


def item(given: str | WriteItem, fields: ItemFields, field: str) -> write_pb2.WriteItem:
    """One statement."""
    if isinstance(given, str):
        given = WriteItem(given, **fields)
    elif not isinstance(given, WriteItem):
        raise TypeError(f"{field} must be str or WriteItem, not {type(given).__name__}")
    elif fields:
        names = ", ".join(sorted(fields))
        raise TypeError(f"{names}: these describe a plain text; a WriteItem has its own")
    made = write_pb2.WriteItem(
        kind=enum(MemoryKind, given.kind, f"{field}.kind"),
        slot=text(given.slot, f"{field}.slot"),
        content=text(given.content, f"{field}.content"),
        tags=texts(given.tags, f"{field}.tags"),
        speaker=text(given.speaker, f"{field}.speaker"),
        turn_number=given.turn_number,
        force=given.force,
    )
    for key, value in (given.properties or {}).items():
        name = text(key, f"a key of {field}.properties")
        made.properties[name].CopyFrom(property_value(value, f"{field}.properties[{key!r}]"))
    if given.attributes is not None:
        made.attributes.CopyFrom(json_struct(given.attributes, f"{field}.attributes"))
    if given.source is not None:
        made.provenance.CopyFrom(_provenance(given.source, f"{field}.provenance"))
    if given.validity is not None:
        made.validity.CopyFrom(_validity(given.validity, f"{field}.validity"))
    if isinstance(given.expires, timedelta):
        made.ttl.CopyFrom(duration(given.expires))
    elif given.expires is not None:
        made.expire_time.CopyFrom(timestamp(given.expires, f"{field}.expires"))
    if given.embedding is not None:
        made.embedding.CopyFrom(embedding(given.embedding, f"{field}.embedding"))
    return made


def _provenance(source: SourceType | str | Provenance, field: str) -> memory_pb2.Provenance:
    if not isinstance(source, Provenance):
        return memory_pb2.Provenance(source_type=enum(SourceType, source, f"{field}.source_type"))
    made = memory_pb2.Provenance(
        source_type=enum(SourceType, source.source_type, f"{field}.source_type"),
        source_ref=text(source.source_ref, f"{field}.source_ref"),
        trust=enum(TrustLevel, source.trust, f"{field}.trust"),
    )
    if source.session is not None:
        made.session = text(source.session, f"{field}.session")
    if source.confidence is not None:
        made.confidence = source.confidence
    return made


def _validity(validity: Validity | Interval, field: str) -> memory_pb2.Validity:
    start, end = (validity.start_time, validity.end_time) if isinstance(validity, Validity) else validity
    made = memory_pb2.Validity()
    if start is not None:
        made.start_time.CopyFrom(timestamp(start, f"{field}.start_time"))
    if end is not None:
        made.end_time.CopyFrom(timestamp(end, f"{field}.end_time"))
    return made


def recall(
    query: str,
    where: memory_pb2.Scope,
    *,
    filter: Filter | None,  # noqa: A002
    limit: int | None,
    min_score: float | None,
    token_budget: int | None,
    legs: Sequence[RetrievalLeg | str],
    view: MemoryView | str | None,
    query_embedding: Embedding | None,
    explain: bool,
    near_misses: int,
    as_of: datetime | None,
    reference_time: datetime | None,
    time_zone: str,
    fusion: Fusion | str | None,
) -> memory_service_pb2.RecallRequest:
    """Request of Recall, without consistency."""
    request = memory_service_pb2.RecallRequest(
        scope=where,
        query=text(query, "query"),
        legs=enums(RetrievalLeg, legs, "legs"),
        limit=limit,
        min_score=min_score,
        token_budget=token_budget,
        explain=explain,
        near_miss_limit=near_misses,
        time_zone=text(time_zone, "time_zone"),
    )
    if fusion is not None:
        request.fusion = enum(Fusion, fusion, "fusion")
    if as_of is not None:
        request.as_of_time.CopyFrom(timestamp(as_of, "as_of_time"))
    if reference_time is not None:
        request.reference_time.CopyFrom(timestamp(reference_time, "reference_time"))
    if filter is not None:
        request.filter.CopyFrom(filter.message())
    if view is not None:
        request.view = enum(MemoryView, view, "view")
    if query_embedding is not None:
        request.query_embedding.CopyFrom(embedding(query_embedding, "query_embedding"))
    return request


def erasure_target(
    memory_ids: Iterable[str | UUID] | Unset,
    subject: str | Unset,
    space: str | Unset,
    agent: str | Unset,
    session: str | Unset,
    filter: Filter | Unset,  # noqa: A002
) -> erasure_pb2.ErasureTarget:
    """What to erase. None is refused everywhere: a variable that is unexpectedly None must not widen
    the erasure of a session to that of a whole subject."""
    given: dict[str, object] = {"memory_ids": memory_ids, "subject": subject, "space": space}
    given |= {"agent": agent, "session": session, "filter": filter}
    for name, value in given.items():
        if value is None:
            raise InvalidRequest.of(
                "target", "target.none", f"is unclear: {name} is None; leave it out if that is meant"
            )
    if not isinstance(memory_ids, Unset):
        others = [name for name, value in given.items() if name != "memory_ids" and value is not UNSET]
        if others:
            raise InvalidRequest.of("target", "oneof", f"is unclear: memory_ids and {', '.join(others)}")
        ids = identifiers(memory_ids, "target.memories.memory_ids")
        return erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=ids))
    where = scope(_known(subject), _known(space), _known(agent), _known(session))
    if not isinstance(filter, Unset):
        found = filter.message("target.filter.filter")
        return erasure_pb2.ErasureTarget(filter=erasure_pb2.FilterTarget(scope=where, filter=found))
    if where.HasField("session"):
        return erasure_pb2.ErasureTarget(session=erasure_pb2.SessionTarget(scope=where))
    return erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=where))


def _known(value: T | Unset) -> T | None:
    return None if isinstance(value, Unset) else value


def erase(
    target: erasure_pb2.ErasureTarget,
    *,
    dry_run: bool,
    reason: ErasureReason | str,
    reason_code: str,
    request: str | UUID | None,
) -> memory_service_pb2.EraseRequest:
    """Request of Erase."""
    return memory_service_pb2.EraseRequest(
        target=target,
        validate_only=dry_run,
        reason=enum(ErasureReason, reason, "reason"),
        reason_code=text(reason_code, "reason_code"),
        request_id=request_id(request),
    )


def report_use(
    recall_id: str | UUID,
    memory_ids: Iterable[str | UUID],
    *,
    outcome: UseOutcome | str | None,
    model: str,
    prompt_ref: str,
    request: str | UUID | None,
) -> memory_service_pb2.ReportUseRequest:
    """Request of ReportUse."""
    return memory_service_pb2.ReportUseRequest(
        recall_id=identifier(recall_id, "recall_id"),
        memory_ids=identifiers(memory_ids, "memory_ids"),
        outcome=enum(UseOutcome, UseOutcome.UNSPECIFIED if outcome is None else outcome, "outcome"),
        model=text(model, "model"),
        prompt_ref=text(prompt_ref, "prompt_ref"),
        request_id=request_id(request),
    )


def audit_filter(
    where: memory_pb2.Scope | None,
    *,
    memory_id: str | UUID | None,
    recall_id: str | UUID | None,
    trace_id: str | None,
    principal: str | None,
    actions: Sequence[AuditAction | str],
    outcomes: Sequence[AuditOutcome | str],
    source_types: Sequence[SourceType | str],
    event_time: tuple[datetime | None, datetime | None] | None,
) -> audit_pb2.AuditFilter:
    """Which audit events. An empty text is refused, since it would mean every event."""
    made = audit_pb2.AuditFilter(
        actions=enums(AuditAction, actions, "filter.actions"),
        outcomes=enums(AuditOutcome, outcomes, "filter.outcomes"),
        source_types=enums(SourceType, source_types, "filter.source_types"),
        scope=where,
    )
    given = {"memory_id": memory_id, "recall_id": recall_id, "trace_id": trace_id, "principal": principal}
    for name, value in given.items():
        if value is not None:
            if not value:
                raise InvalidRequest.of(f"filter.{name}", "string.min_len", "must not be empty")
            setattr(made, name, identifier(value, f"filter.{name}"))
    if event_time is not None:
        made.event_time.CopyFrom(time_range(event_time, "filter.event_time"))
    return made
