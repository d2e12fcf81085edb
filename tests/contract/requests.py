"""A valid request of every method, and ways to spoil one field of it, found in the descriptors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    correction_pb2,
    erasure_pb2,
    ingest_pb2,
    memory_service_pb2,
    review_pb2,
    subject_pb2,
)
from muniment_server.interceptors.methods import METHODS
from support.service import item, scope

_ID = str(uuid4())
_DEPTH = 7


def valid_requests() -> dict[str, Message]:
    """A request of each method that passes the rules of the contract, but for those that are a stream."""
    target = erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[_ID]))
    return {
        "Write": memory_service_pb2.WriteRequest(scope=scope("u1"), items=[item("Likes tea")]),
        "Recall": memory_service_pb2.RecallRequest(scope=scope("u1"), query="tea"),
        "Supersede": memory_service_pb2.SupersedeRequest(memory_id=_ID, item=item("Likes tea")),
        "Erase": memory_service_pb2.EraseRequest(target=target),
        "GetErasure": memory_service_pb2.GetErasureRequest(erasure_id=_ID),
        "GetMemory": memory_service_pb2.GetMemoryRequest(memory_id=_ID),
        "ListMemories": memory_service_pb2.ListMemoriesRequest(scope=scope("u1")),
        "ReportUse": memory_service_pb2.ReportUseRequest(recall_id=_ID),
        "Audit": memory_service_pb2.AuditRequest(),
        "GetRecall": audit_pb2.GetRecallRequest(recall_id=_ID),
        "ExportAudit": audit_pb2.ExportAuditRequest(),
        "Ingest": ingest_pb2.IngestRequest(
            scope=scope("u1", session="s1"),
            turns=[ingest_pb2.IngestTurn(role=ingest_pb2.TURN_ROLE_USER, content="Likes tea")],
        ),
        "GetIngest": ingest_pb2.GetIngestRequest(ingest_id=_ID),
        "Restore": correction_pb2.RestoreRequest(memory_id=_ID),
        "Retract": correction_pb2.RetractRequest(memory_id=_ID),
        "UndoWrite": correction_pb2.UndoWriteRequest(write_request_id=_ID),
        "ListReviews": review_pb2.ListReviewsRequest(scope=scope("u1")),
        "DecideReview": review_pb2.DecideReviewRequest(
            memory_id=_ID, decision=review_pb2.REVIEW_DECISION_APPROVE
        ),
        "SetConsent": subject_pb2.SetConsentRequest(scope=scope("u1"), level=subject_pb2.CONSENT_LEVEL_ALL),
        "GetConsent": subject_pb2.GetConsentRequest(scope=scope("u1")),
        "DescribeSubject": subject_pb2.DescribeSubjectRequest(scope=scope("u1")),
        "ExportMemories": subject_pb2.ExportMemoriesRequest(scope=scope("u1")),
        "ImportMemories": subject_pb2.ImportMemoriesRequest(
            scope=scope("u1"), records=[subject_pb2.MemoryRecord(item=item("Likes tea"))]
        ),
    }


def path_of(method: str) -> str:
    """The full path of a method, whose services are told apart by its name."""
    (found,) = (name for name in METHODS if name.rpartition("/")[2] == method)
    return f"/{found}"


@dataclass(frozen=True)
class Field:
    """One field of a request, at any depth: where it is, and how to put a value there."""

    method: str
    path: str
    descriptor: FieldDescriptor
    put: Callable[[Message, Any], None]

    def spoiled(self, value: Any) -> Message:
        """A valid request but for this field."""
        request = valid_requests()[self.method]
        self.put(request, value)
        return request


def fields(kind: int) -> Iterator[Field]:
    """All fields of requests that have this type (FieldDescriptor.TYPE_…), map keys included."""
    for method, request in valid_requests().items():
        for path, descriptor, put in _inside(request.DESCRIPTOR, "", lambda message: message, 0):
            if descriptor.type == kind:
                yield Field(method, path, descriptor, put)


Place = Callable[[Any], Any]


def _inside(
    message: Descriptor, path: str, reach: Place, depth: int
) -> Iterator[tuple[str, FieldDescriptor, Callable[[Any, Any], None]]]:
    if depth > _DEPTH or message.full_name == "google.protobuf.Struct":
        return
    for field in message.fields:
        where = f"{path}.{field.name}".lstrip(".")
        if field.message_type is None:
            yield where + ("[0]" if field.is_repeated else ""), field, _setter(field, reach)
        elif field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name
            yield where + "[*]", entry["key"], _key_setter(field, reach)
            inner = entry["value"].message_type
            yield from _inside(inner, where + "[k]", _mapped(field, reach), depth + 1)
        elif field.is_repeated:
            yield from _inside(field.message_type, where + "[0]", _first(field, reach), depth + 1)
        else:
            yield from _inside(field.message_type, where, _single(field, reach), depth + 1)


def _setter(field: FieldDescriptor, reach: Place) -> Callable[[Any, Any], None]:
    def put(request: Any, value: Any) -> None:
        place = reach(request)
        if field.is_repeated:
            place.ClearField(field.name)
            getattr(place, field.name).append(value)
        else:
            setattr(place, field.name, value)

    return put


def _key_setter(field: FieldDescriptor, reach: Place) -> Callable[[Any, Any], None]:
    def put(request: Any, value: Any) -> None:
        getattr(reach(request), field.name)[value].string_value = "x"

    return put


def _mapped(field: FieldDescriptor, reach: Place) -> Place:
    return lambda request: getattr(reach(request), field.name)["k"]


def _first(field: FieldDescriptor, reach: Place) -> Place:
    def first(request: Any) -> Any:
        found = getattr(reach(request), field.name)
        return found[0] if found else found.add()

    return first


def _single(field: FieldDescriptor, reach: Place) -> Place:
    def single(request: Any) -> Any:
        found = getattr(reach(request), field.name)
        found.SetInParent()
        return found

    return single
