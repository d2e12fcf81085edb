"""The methods of the contract: name, deadline, and what a trace says about a call of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from google.protobuf.message import Message
from opentelemetry.util.types import AttributeValue

DeadlineName: TypeAlias = Literal["recall", "write", "supersede", "erase", "ingest", "export", "other"]
Attributes: TypeAlias = Mapping[str, AttributeValue]

_MEMORY_SERVICE: Final = "muniment.v1.MemoryService/"
_REVIEW_SERVICE: Final = "muniment.v1.ReviewService/"
_SUBJECT_SERVICE: Final = "muniment.v1.SubjectService/"
_AUDIT_SERVICE: Final = "muniment.v1.AuditService/"

_RECORD_ID: Final = "gen_ai.memory.record.id"
_RECORD_COUNT: Final = "gen_ai.memory.record.count"
_AGENT_ID: Final = "gen_ai.agent.id"
_CONVERSATION_ID: Final = "gen_ai.conversation.id"
_REQUEST_ID: Final = "muniment.request.id"
_RECALL_ID: Final = "muniment.recall.id"
_SUPERSEDE_NEW_ID: Final = "muniment.supersede.new_id"
_ERASURE_ID: Final = "muniment.erasure.id"


# The messages are read by name: their classes come without validation of field names anyway, and one
# function serves several methods.
def _nothing(_message: Any) -> Attributes:
    return {}


def _narrowing(scope: Any) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {}
    if scope.HasField("agent"):
        attributes[_AGENT_ID] = scope.agent
    if scope.HasField("session"):
        attributes[_CONVERSATION_ID] = scope.session
    return attributes


def _write(request: Any) -> Attributes:
    return {
        **_narrowing(request.scope),
        _RECORD_COUNT: len(request.items),
        _REQUEST_ID: request.request_id,
    }


def _recall(request: Any) -> Attributes:
    return _narrowing(request.scope)


def _recalled(response: Any) -> Attributes:
    return {_RECORD_COUNT: len(response.memories), _RECALL_ID: response.recall_id}


def _supersede(request: Any) -> Attributes:
    return {_RECORD_ID: request.memory_id, _RECORD_COUNT: 1, _REQUEST_ID: request.request_id}


def _superseded(response: Any) -> Attributes:
    return {_SUPERSEDE_NEW_ID: response.memory.memory_id} if response.HasField("memory") else {}


def _erase(request: Any) -> Attributes:
    ids = request.target.memories.memory_ids
    single = {_RECORD_ID: ids[0]} if len(ids) == 1 else {}
    return {**single, _REQUEST_ID: request.request_id}


def _erased(response: Any) -> Attributes:
    attributes: dict[str, AttributeValue] = {_RECORD_COUNT: response.receipt.counts.memories}
    if response.receipt.erasure_id:
        attributes[_ERASURE_ID] = response.receipt.erasure_id
    return attributes


def _report_use(request: Any) -> Attributes:
    return {_RECALL_ID: request.recall_id, _REQUEST_ID: request.request_id}


def _ingest(request: Any) -> Attributes:
    return {
        **_narrowing(request.scope),
        _RECORD_COUNT: len(request.turns),
        _REQUEST_ID: request.request_id,
    }


def _one_memory(request: Any) -> Attributes:
    return {_RECORD_ID: request.memory_id, _RECORD_COUNT: 1, _REQUEST_ID: request.request_id}


def _named(request: Any) -> Attributes:
    return {_REQUEST_ID: request.request_id}


def _undone(response: Any) -> Attributes:
    return {_RECORD_COUNT: len(response.memories)}


def _import(request: Any) -> Attributes:
    return {_RECORD_COUNT: len(request.records), _REQUEST_ID: request.request_id}


@dataclass(frozen=True, slots=True)
class Rpc:
    """One method. `method` is fully qualified without a leading slash."""

    method: str
    deadline: DeadlineName = "other"
    operation: str | None = None
    """Operation of the GenAI memory conventions, None for methods that are none."""
    describe_request: Callable[[Any], Attributes] = _nothing
    describe_response: Callable[[Any], Attributes] = _nothing

    def request_attributes(self, request: Message) -> Attributes:
        """Attributes known before the call."""
        kind: dict[str, AttributeValue]
        if self.operation is not None:
            kind = {"gen_ai.operation.name": self.operation, "gen_ai.provider.name": "muniment"}
        else:
            kind = {"rpc.system.name": "grpc", "rpc.method": self.method}
        return {**kind, **self.describe_request(request)}

    def response_attributes(self, response: Message) -> Attributes:
        """Attributes known from the answer."""
        return self.describe_response(response)


# Upsert, not create: a write may reinforce or supersede what is there.
WRITE: Final = Rpc(f"{_MEMORY_SERVICE}Write", "write", "upsert_memory", _write)
RECALL: Final = Rpc(f"{_MEMORY_SERVICE}Recall", "recall", "search_memory", _recall, _recalled)
SUPERSEDE: Final = Rpc(f"{_MEMORY_SERVICE}Supersede", "supersede", "update_memory", _supersede, _superseded)
ERASE: Final = Rpc(f"{_MEMORY_SERVICE}Erase", "erase", "delete_memory", _erase, _erased)
GET_ERASURE: Final = Rpc(f"{_MEMORY_SERVICE}GetErasure")
GET_MEMORY: Final = Rpc(f"{_MEMORY_SERVICE}GetMemory")
LIST_MEMORIES: Final = Rpc(f"{_MEMORY_SERVICE}ListMemories")
REPORT_USE: Final = Rpc(f"{_MEMORY_SERVICE}ReportUse", describe_request=_report_use)
AUDIT: Final = Rpc(f"{_MEMORY_SERVICE}Audit")
GET_RECALL: Final = Rpc(f"{_AUDIT_SERVICE}GetRecall")
EXPORT_AUDIT: Final = Rpc(f"{_AUDIT_SERVICE}ExportAudit", "export")
INGEST: Final = Rpc(f"{_MEMORY_SERVICE}Ingest", "ingest", "upsert_memory", _ingest)
STREAM_INGEST: Final = Rpc(f"{_MEMORY_SERVICE}StreamIngest", "export", "upsert_memory", _named)
GET_INGEST: Final = Rpc(f"{_MEMORY_SERVICE}GetIngest")
RESTORE: Final = Rpc(f"{_MEMORY_SERVICE}Restore", "supersede", "update_memory", _one_memory)
RETRACT: Final = Rpc(f"{_MEMORY_SERVICE}Retract", "supersede", "update_memory", _one_memory)
UNDO_WRITE: Final = Rpc(f"{_MEMORY_SERVICE}UndoWrite", "supersede", "update_memory", _named, _undone)
LIST_REVIEWS: Final = Rpc(f"{_REVIEW_SERVICE}ListReviews")
DECIDE_REVIEW: Final = Rpc(f"{_REVIEW_SERVICE}DecideReview", "supersede", "update_memory", _one_memory)
SET_CONSENT: Final = Rpc(f"{_SUBJECT_SERVICE}SetConsent", "erase", describe_request=_named)
GET_CONSENT: Final = Rpc(f"{_SUBJECT_SERVICE}GetConsent")
DESCRIBE_SUBJECT: Final = Rpc(f"{_SUBJECT_SERVICE}DescribeSubject")
EXPORT_MEMORIES: Final = Rpc(f"{_SUBJECT_SERVICE}ExportMemories", "export")
IMPORT_MEMORIES: Final = Rpc(f"{_SUBJECT_SERVICE}ImportMemories", "ingest", "upsert_memory", _import)
