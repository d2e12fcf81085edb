"""Every failure a caller can see: one class per reason, with a fixed text and typed fields.

The class is the contract: `reason` and `code` never change once released, `message` says what the
caller can do about it, and none of them is ever built from content, from a caller's string or from
the text of a driver's exception. What varies stands in `metadata` (ids, limits, counts, names of
enum values), in `violations`, or in the typed details.

This module knows neither protobuf nor gRPC: `code` is the *name* of a gRPC status code.
`api/status.py` turns an error into `google.rpc.Status`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from muniment_server.domain.error_base import BY_REASON as BY_REASON
from muniment_server.domain.error_base import MAX_VIOLATIONS as MAX_VIOLATIONS
from muniment_server.domain.error_base import FieldViolation as FieldViolation
from muniment_server.domain.error_base import MunimentError as MunimentError
from muniment_server.domain.error_base import Precondition as Precondition
from muniment_server.domain.error_base import Quota as Quota
from muniment_server.domain.error_base import Resource as Resource
from muniment_server.domain.errors_writing import ContentRefused as ContentRefused
from muniment_server.domain.errors_writing import IngestNotFound as IngestNotFound
from muniment_server.domain.errors_writing import MemoryNotRestorable as MemoryNotRestorable
from muniment_server.domain.errors_writing import ReviewNotPending as ReviewNotPending
from muniment_server.domain.errors_writing import TurnConflict as TurnConflict
from muniment_server.domain.errors_writing import WriteNotFound as WriteNotFound

_SOON = timedelta(milliseconds=500)

# --- who is calling ---------------------------------------------------------------------------


class CredentialsMissing(MunimentError):
    """No `authorization` metadata came with the call."""

    reason = "CREDENTIALS_MISSING"
    code = "UNAUTHENTICATED"
    message = "No credential was sent. Send metadata 'authorization: Bearer <api key or JWT>' exactly once."


class CredentialsInvalid(MunimentError):
    """The credential was refused. One answer for every cause, so that nothing can be probed."""

    reason = "CREDENTIALS_INVALID"
    code = "UNAUTHENTICATED"
    message = (
        "The credential is not valid. Check that it is complete, not expired and not revoked, "
        "and that it was issued for this service."
    )


class TenantMetadataInvalid(MunimentError):
    """`muniment-tenant` is missing, doubled or malformed.

    problem: `missing`, `duplicated` or `malformed`.
    """

    reason = "TENANT_METADATA_INVALID"
    code = "INVALID_ARGUMENT"
    message = (
        "The tenant is missing or malformed. Send metadata 'muniment-tenant' exactly once, as the tenant's "
        "lower-case name: a letter or digit, then at most 62 of a-z, 0-9, '_', '.', '-'."
    )
    metadata_keys = frozenset({"problem"})

    def __init__(self, problem: str) -> None:
        super().__init__(metadata={"problem": problem})


class PermissionDenied(MunimentError):
    """The credential does not allow this call, or not for this tenant, subject or agent.

    A tenant that does not exist answers exactly like one that the credential does not name.
    permission: the permission needed, or `tenant`, `subject` or `agent` for a binding.
    """

    reason = "PERMISSION_DENIED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential does not allow this call. Use a credential that names the tenant, holds the "
        "permission of the method and is not bound to another subject or agent."
    )
    metadata_keys = frozenset({"permission"})

    def __init__(self, permission: str) -> None:
        super().__init__(metadata={"permission": permission})


class SourceNotAllowed(MunimentError):
    """The credential may not claim this source type; `item` is the index of the item from 0."""

    reason = "SOURCE_NOT_ALLOWED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential may not claim this source type. Write with a source type that the credential is "
        "allowed to give, or use another credential."
    )
    metadata_keys = frozenset({"source_type", "item"})

    def __init__(self, source_type: str, item: int | None = None) -> None:
        super().__init__(metadata={"source_type": source_type, "item": None if item is None else str(item)})


# --- the request ------------------------------------------------------------------------------


class InvalidRequest(MunimentError):
    """Fields break rules of the contract; every violation names its field and rule."""

    reason = "INVALID_REQUEST"
    code = "INVALID_ARGUMENT"
    message = "The request breaks rules of the contract. Correct the fields named in the details."
    metadata_keys = frozenset({"violation_count"})

    def __init__(self, violations: Iterable[FieldViolation]) -> None:
        found = tuple(violations)
        super().__init__(violations=found, metadata={"violation_count": str(len(found))})

    @classmethod
    def of(cls, path: str, rule: str, description: str) -> InvalidRequest:
        """Short form for a single violation."""
        return cls((FieldViolation(path, rule, description),))


class RequestTooLarge(MunimentError):
    """The request as a whole is over a size limit, in bytes."""

    reason = "REQUEST_TOO_LARGE"
    code = "INVALID_ARGUMENT"
    message = "The request is too large. Send less at once; the details name the limit in bytes."
    metadata_keys = frozenset({"limit_bytes", "actual_bytes"})

    def __init__(self, limit_bytes: int, actual_bytes: int) -> None:
        super().__init__(metadata={"limit_bytes": str(limit_bytes), "actual_bytes": str(actual_bytes)})


class PageTokenInvalid(MunimentError):
    """The page token is malformed, foreign, or belongs to other arguments."""

    reason = "PAGE_TOKEN_INVALID"
    code = "INVALID_ARGUMENT"
    message = "The page token does not belong to this request. Start again without a page token."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str = "page_token") -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenInvalid(MunimentError):
    """The text is no consistency token; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_INVALID"
    code = "INVALID_ARGUMENT"
    message = "The text is not a consistency token. Send a token exactly as an answer gave it."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenForeign(MunimentError):
    """The token was made for another tenant or data store; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_FOREIGN"
    code = "INVALID_ARGUMENT"
    message = (
        "The consistency token was not issued for this tenant and service. Use a token from this "
        "tenant's answers."
    )
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class ConsistencyTokenExpired(MunimentError):
    """The token is older than the service can still compare; `field` is its path in the request."""

    reason = "CONSISTENCY_TOKEN_EXPIRED"
    code = "OUT_OF_RANGE"
    message = "The consistency token is too old. Take one from a newer answer, or ask for strong consistency."
    metadata_keys = frozenset({"field"})

    def __init__(self, field: str) -> None:
        super().__init__(metadata={"field": field})


class EmbeddingModelMismatch(MunimentError):
    """An embedding in the request is not of the server's model or dimension.

    model: the model sent; pass it only if the server knows a model of that name.
    """

    reason = "EMBEDDING_MODEL_MISMATCH"
    code = "INVALID_ARGUMENT"
    message = (
        "The embedding was not made with the server's model. Make it with the expected model and dimension, "
        "or leave it out."
    )
    metadata_keys = frozenset({"model", "dimension", "expected_model", "expected_dimension"})

    def __init__(
        self, model: str | None, dimension: int, expected_model: str, expected_dimension: int
    ) -> None:
        super().__init__(
            metadata={
                "model": model,
                "dimension": str(dimension),
                "expected_model": expected_model,
                "expected_dimension": str(expected_dimension),
            }
        )


class MemoryNotInRecall(MunimentError):
    """A use report names a memory that the recall did not offer."""

    reason = "MEMORY_NOT_IN_RECALL"
    code = "INVALID_ARGUMENT"
    message = "The recall did not offer this memory. Report only ids from the recall's answer."
    metadata_keys = frozenset({"recall_id", "memory_id"})

    def __init__(self, recall_id: str, memory_id: str) -> None:
        super().__init__(metadata={"recall_id": recall_id, "memory_id": memory_id})


# --- what it is about -------------------------------------------------------------------------


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


# --- capacity and dependencies ----------------------------------------------------------------


class QuotaExceeded(MunimentError):
    """A configured quota is used up; retry only after `retry_delay`, if one is given."""

    reason = "QUOTA_EXCEEDED"
    code = "RESOURCE_EXHAUSTED"
    message = "A quota of the tenant is used up. Wait for it to be renewed, or ask the operator to raise it."
    metadata_keys = frozenset({"quota", "limit"})

    def __init__(self, quota: str, limit: int, retry_delay: timedelta | None = None) -> None:
        super().__init__(
            metadata={"quota": quota, "limit": str(limit)},
            retry_delay=retry_delay,
            quota=Quota("tenant", quota),
        )


class Overloaded(MunimentError):
    """The service is at its concurrency limit and did not start the call.

    cause: what is exhausted, in our words, for the log only.
    """

    reason = "OVERLOADED"
    code = "RESOURCE_EXHAUSTED"
    message = "The service is at its limit and did not start the call. Retry after the delay given."

    def __init__(self, cause: str | None = None, retry_delay: timedelta = _SOON) -> None:
        super().__init__(retry_delay=retry_delay)
        self.cause = cause


class DatabaseUnavailable(MunimentError):
    """The database cannot be reached.

    cause: what failed, in our words, for the log only.
    """

    reason = "DATABASE_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = (
        "The database cannot serve the call at the moment. Retry after the delay given, with the same "
        "request_id."
    )

    def __init__(self, cause: str | None = None, retry_delay: timedelta = _SOON) -> None:
        super().__init__(retry_delay=retry_delay)
        self.cause = cause


class EmbedderUnavailable(MunimentError):
    """The embedder cannot be reached and the call cannot do without it."""

    reason = "EMBEDDER_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = "The embedder cannot serve the call at the moment. Retry after the delay given."

    def __init__(self, retry_delay: timedelta = _SOON) -> None:
        super().__init__(retry_delay=retry_delay)


class KeyStoreUnavailable(MunimentError):
    """The key store cannot be reached; nothing can be read or written without it."""

    reason = "KEY_STORE_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = "The key store cannot serve the call at the moment. Retry after the delay given."

    def __init__(self, retry_delay: timedelta = _SOON) -> None:
        super().__init__(retry_delay=retry_delay)


class ShuttingDown(MunimentError):
    """The server is stopping and takes no new calls."""

    reason = "SHUTTING_DOWN"
    code = "UNAVAILABLE"
    message = "This server is stopping. Retry after the delay given; another server takes over."

    def __init__(self, retry_delay: timedelta = _SOON) -> None:
        super().__init__(retry_delay=retry_delay)


class DeadlineExceeded(MunimentError):
    """The caller's deadline, or the server's ceiling, was too short or is used up."""

    reason = "DEADLINE_EXCEEDED"
    code = "DEADLINE_EXCEEDED"
    message = (
        "The deadline passed before the call was done. Allow more time, and repeat a mutating call with the "
        "same request_id."
    )


# --- faults of ours ---------------------------------------------------------------------------


class IntegrityViolation(MunimentError):
    """Stored data does not agree with its seal and was not served; name what it is, if known."""

    reason = "INTEGRITY_VIOLATION"
    code = "DATA_LOSS"
    message = (
        "Stored data does not agree with its seal and was not served. Tell the operator to run "
        "'muniment verify'."
    )
    metadata_keys = frozenset({"memory_id", "recall_id", "erasure_id"})

    def __init__(
        self, memory_id: str | None = None, *, recall_id: str | None = None, erasure_id: str | None = None
    ) -> None:
        super().__init__(metadata={"memory_id": memory_id, "recall_id": recall_id, "erasure_id": erasure_id})


class Unimplemented(MunimentError):
    """The method or option is not part of this server; `feature` names it in our words."""

    reason = "UNIMPLEMENTED"
    code = "UNIMPLEMENTED"
    message = "This server does not implement the method or option. Check the versions of client and server."
    metadata_keys = frozenset({"feature"})

    def __init__(self, feature: str | None = None) -> None:
        super().__init__(metadata={"feature": feature})


class Internal(MunimentError):
    """Everything unforeseen. The cause is in the server's log under the trace id of the details."""

    reason = "INTERNAL"
    code = "INTERNAL"
    message = "The call failed inside the service. Report the trace id in the details to the operator."
