"""Failures by the state of what a request is about: not there, or not as the call needs it."""

from __future__ import annotations

from .base import MunimentError, Precondition, Resource


class MemoryNotFound(MunimentError):
    """No such memory in this tenant and in reach of the credential."""

    reason = "MEMORY_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No memory with this id exists in the tenant. Check the id and the tenant."
    metadata_keys = frozenset({"memory_id"})

    def __init__(self, memory_id: str) -> None:
        super().__init__(metadata={"memory_id": memory_id}, resource=Resource("memory", memory_id))


class RecallNotFound(MunimentError):
    """No such recall receipt in this tenant."""

    reason = "RECALL_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No recall with this id exists in the tenant. Check the id and the tenant."
    metadata_keys = frozenset({"recall_id"})

    def __init__(self, recall_id: str) -> None:
        super().__init__(metadata={"recall_id": recall_id}, resource=Resource("recall", recall_id))


class ErasureNotFound(MunimentError):
    """No such erasure in this tenant."""

    reason = "ERASURE_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No erasure with this id exists in the tenant. Check the id and the tenant."
    metadata_keys = frozenset({"erasure_id"})

    def __init__(self, erasure_id: str) -> None:
        super().__init__(metadata={"erasure_id": erasure_id}, resource=Resource("erasure", erasure_id))


class IngestNotFound(MunimentError):
    """No such ingest in this tenant."""

    reason = "INGEST_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No ingest with this id exists in the tenant. Check the id and the tenant."
    metadata_keys = frozenset({"ingest_id"})

    def __init__(self, ingest_id: str) -> None:
        super().__init__(metadata={"ingest_id": ingest_id}, resource=Resource("ingest", ingest_id))


class WriteNotFound(MunimentError):
    """No write of this tenant within the window had this request id."""

    reason = "WRITE_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No write of the last 72 hours had this request id. Check the request id and the tenant."
    metadata_keys = frozenset({"request_id"})

    def __init__(self, request_id: str) -> None:
        super().__init__(metadata={"request_id": request_id}, resource=Resource("write", request_id))


class RequestIdPayloadMismatch(MunimentError):
    """The request_id was used before with another payload, for another method, or with other rights."""

    reason = "REQUEST_ID_PAYLOAD_MISMATCH"
    code = "ALREADY_EXISTS"
    message = (
        "This request_id was used before with a different payload, or by a credential with other rights. Use"
        " a new request_id for a new request."
    )
    metadata_keys = frozenset({"request_id"})

    def __init__(self, request_id: str) -> None:
        super().__init__(metadata={"request_id": request_id})


class TurnConflict(MunimentError):
    """The session has another turn of this number."""

    reason = "TURN_CONFLICT"
    code = "ALREADY_EXISTS"
    message = "The session already has another turn of this number. Number each turn once."
    metadata_keys = frozenset({"turn_number"})

    def __init__(self, turn_number: int) -> None:
        super().__init__(metadata={"turn_number": str(turn_number)})


class RevisionConflict(MunimentError):
    """Somebody else changed the memory first, or the etag is stale."""

    reason = "REVISION_CONFLICT"
    code = "ABORTED"
    message = "The memory was changed since it was read. Read it again and repeat the call with its new etag."
    metadata_keys = frozenset({"memory_id", "current_revision"})

    def __init__(self, memory_id: str, current_revision: int | None = None) -> None:
        revision = None if current_revision is None else str(current_revision)
        super().__init__(metadata={"memory_id": memory_id, "current_revision": revision})


class TransactionConflict(MunimentError):
    """The transaction lost against another one (deadlock, serialization); nothing was changed."""

    reason = "TRANSACTION_CONFLICT"
    code = "ABORTED"
    message = "The call lost against another one at the same moment. Repeat it with the same request_id."


def _state(memory_id: str, rule: str) -> Precondition:
    return Precondition("STATE", f"memory/{memory_id}", rule)


class MemorySuperseded(MunimentError):
    """The memory was corrected already; `superseded_by` names its successor if known."""

    reason = "MEMORY_SUPERSEDED"
    code = "FAILED_PRECONDITION"
    message = "The memory has been superseded. Read its successor and correct that one instead."
    metadata_keys = frozenset({"memory_id", "superseded_by"})

    def __init__(self, memory_id: str, superseded_by: str | None = None) -> None:
        super().__init__(
            metadata={"memory_id": memory_id, "superseded_by": superseded_by},
            precondition=_state(memory_id, "The memory must not be superseded."),
        )


class MemoryErased(MunimentError):
    """The memory was erased; nothing but its tombstone is left."""

    reason = "MEMORY_ERASED"
    code = "FAILED_PRECONDITION"
    message = "The memory has been erased and cannot be changed any more. Write a new memory instead."
    metadata_keys = frozenset({"memory_id"})

    def __init__(self, memory_id: str | None) -> None:
        """None: the answer to a repeated request named memories that have been erased since."""
        super().__init__(
            metadata={"memory_id": memory_id} if memory_id else None,
            precondition=_state(memory_id or "-", "The memory must not be erased."),
        )


class MemoryNotActive(MunimentError):
    """The memory's state does not allow the call; `state` is PENDING, ARCHIVED or QUARANTINED."""

    reason = "MEMORY_NOT_ACTIVE"
    code = "FAILED_PRECONDITION"
    message = "The memory is not active, and the call needs an active one. Have its state decided first."
    metadata_keys = frozenset({"memory_id", "state"})

    def __init__(self, memory_id: str, state: str) -> None:
        super().__init__(
            metadata={"memory_id": memory_id, "state": state},
            precondition=_state(memory_id, "The memory must be active."),
        )


class MemoryNotRestorable(MunimentError):
    """The memory is live already, waits for a review, or never had the revision asked for."""

    reason = "MEMORY_NOT_RESTORABLE"
    code = "FAILED_PRECONDITION"
    message = (
        "The memory cannot be put back: it is active already, waits for a review, or never was live in this "
        "revision. Read it with its revisions."
    )
    metadata_keys = frozenset({"memory_id", "state"})

    def __init__(self, memory_id: str, state: str) -> None:
        super().__init__(
            metadata={"memory_id": memory_id, "state": state},
            precondition=Precondition(
                "STATE", f"memory/{memory_id}", "The memory must be superseded or archived."
            ),
        )


class ReviewNotPending(MunimentError):
    """The memory waits for no review."""

    reason = "REVIEW_NOT_PENDING"
    code = "FAILED_PRECONDITION"
    message = "The memory waits for no review: somebody decided already. Read it again."
    metadata_keys = frozenset({"memory_id", "state"})

    def __init__(self, memory_id: str, state: str) -> None:
        super().__init__(
            metadata={"memory_id": memory_id, "state": state},
            precondition=Precondition(
                "STATE", f"memory/{memory_id}", "The memory must be pending or quarantined."
            ),
        )


class SlotConflict(MunimentError):
    """The slot is held by another active memory of the scope; `memory_id` names it if the caller may know."""

    reason = "SLOT_CONFLICT"
    code = "FAILED_PRECONDITION"
    message = "Another active memory holds this slot. Supersede that memory, or choose another slot."
    metadata_keys = frozenset({"memory_id"})

    def __init__(self, memory_id: str | None) -> None:
        subject = f"memory/{memory_id}" if memory_id else "memory"
        super().__init__(
            metadata={"memory_id": memory_id},
            precondition=Precondition(
                "SLOT", subject, "The slot must be free or held by the memory superseded."
            ),
        )
