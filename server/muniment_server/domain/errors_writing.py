"""Failures of taking in, correcting and reviewing; `errors.py` says what every error obeys."""

from __future__ import annotations

from muniment_server.domain.error_base import FieldViolation, MunimentError, Precondition, Resource


class ContentRefused(MunimentError):
    """The tenant's policy refuses a content; `path` is the field, `item` its index from 0."""

    reason = "CONTENT_REFUSED"
    code = "INVALID_ARGUMENT"
    message = (
        "The tenant's policy refuses this content. Remove what the details name, or have the policy changed."
    )
    metadata_keys = frozenset({"gate", "rule", "item"})

    def __init__(self, path: str, gate: str, rule: str, item: int) -> None:
        super().__init__(
            violations=(FieldViolation(path, rule, "The tenant's policy refuses what was found here."),),
            metadata={"gate": gate, "rule": rule, "item": str(item)},
        )


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


class TurnConflict(MunimentError):
    """The session has another turn of this number."""

    reason = "TURN_CONFLICT"
    code = "ALREADY_EXISTS"
    message = "The session already has another turn of this number. Number each turn once."
    metadata_keys = frozenset({"turn_number"})

    def __init__(self, turn_number: int) -> None:
        super().__init__(metadata={"turn_number": str(turn_number)})


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
