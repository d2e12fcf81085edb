"""Every failure a caller can see: one class per reason, with a fixed text and typed fields.

The class is the contract: `reason` and `code` never change once released, `message` says what the
caller can do about it, and none of them is ever built from content, from a caller's string or from
the text of a driver's exception. What varies stands in `metadata` (ids, limits, counts, names of
enum values), in `violations`, or in the typed details.

This module knows neither protobuf nor gRPC: `code` is the *name* of a gRPC status code.
`api/status.py` turns an error into `google.rpc.Status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import ClassVar, Final

MAX_VIOLATIONS: Final = 20
"""Field violations reported per error; further ones are counted in metadata `violations_omitted`."""


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One broken rule of a request field.

    path: field path as in the contract, for example `items[3].content`.
    rule: stable id of the rule, for example `string.max_len`.
    description: what is allowed, in words; never the value that was sent.
    """

    path: str
    rule: str
    description: str


@dataclass(frozen=True, slots=True)
class Resource:
    """What an error is about: type in the contract's words (`memory`), name = its id."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Precondition:
    """State that has to change before the same call can succeed.

    type: stable constant such as `STATE`; subject: `memory/<id>`; description: the rule.
    """

    type: str
    subject: str
    description: str


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit that was hit; subject is a kind (`tenant`, `credential`), never a caller's label."""

    subject: str
    description: str


class MunimentError(Exception):
    """Base of all errors with a place in the contract.

    Raise subclasses only. `str(error)` is the fixed message, so logging an error is safe.
    """

    reason: ClassVar[str] = ""
    """Value of the contract's ErrorReason enum without its prefix."""
    code: ClassVar[str] = ""
    """Name of the gRPC status code."""
    message: ClassVar[str] = ""
    """Text for the caller: what happened and what to do."""
    metadata_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys this error may carry in `metadata`; stable forever."""

    def __init__(
        self,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[FieldViolation] = (),
        retry_delay: timedelta | None = None,
        resource: Resource | None = None,
        precondition: Precondition | None = None,
        quota: Quota | None = None,
    ) -> None:
        if not self.reason:
            raise TypeError("MunimentError is abstract: raise one of its subclasses")
        super().__init__(self.message)
        found = tuple(violations)
        entries = dict(metadata or {})
        if len(found) > MAX_VIOLATIONS:
            entries["violations_omitted"] = str(len(found) - MAX_VIOLATIONS)
        unknown = entries.keys() - self.metadata_keys
        if unknown:
            raise TypeError(f"{type(self).__name__} has no metadata key {sorted(unknown)}")
        self.metadata: Mapping[str, str] = MappingProxyType(entries)
        self.violations: tuple[FieldViolation, ...] = found[:MAX_VIOLATIONS]
        self.retry_delay = retry_delay
        self.resource = resource
        self.precondition = precondition
        self.quota = quota

    def __init_subclass__(cls) -> None:
        if cls.reason in _BY_REASON:
            raise TypeError(f"reason {cls.reason} is taken by {_BY_REASON[cls.reason].__name__}")
        _BY_REASON[cls.reason] = cls


_BY_REASON: dict[str, type[MunimentError]] = {}
BY_REASON: Final[Mapping[str, type[MunimentError]]] = MappingProxyType(_BY_REASON)
"""Every error class by its reason."""


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
    """`muniment-tenant` is missing, doubled or malformed."""

    reason = "TENANT_METADATA_INVALID"
    code = "INVALID_ARGUMENT"
    message = (
        "Send metadata 'muniment-tenant' exactly once, as the tenant's lower-case name: a letter or digit, "
        "then at most 62 of a-z, 0-9, '_', '.', '-'."
    )


class PermissionDenied(MunimentError):
    """The credential does not allow this call, or not for this tenant, subject or agent.

    A tenant that does not exist answers exactly like one that the credential does not name.
    """

    reason = "PERMISSION_DENIED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential does not allow this call for this tenant. Use a credential that names the tenant "
        "and holds the permission of the method."
    )
    metadata_keys = frozenset({"permission"})

    def __init__(self, permission: str | None = None) -> None:
        super().__init__(metadata={"permission": permission} if permission else None)


class SourceNotAllowed(MunimentError):
    """The credential may not claim this source type."""

    reason = "SOURCE_NOT_ALLOWED"
    code = "PERMISSION_DENIED"
    message = (
        "The credential may not claim this source type. Write with a source type that the credential is "
        "allowed to give, or use another credential."
    )
    metadata_keys = frozenset({"source_type"})

    def __init__(self, source_type: str) -> None:
        super().__init__(metadata={"source_type": source_type})


# --- the request ------------------------------------------------------------------------------


class InvalidRequest(MunimentError):
    """Fields break rules of the contract; every violation names its field and rule."""

    reason = "INVALID_REQUEST"
    code = "INVALID_ARGUMENT"
    message = "The request breaks rules of the contract. Correct the fields named in the details."
    metadata_keys = frozenset({"violations_omitted"})

    def __init__(self, violations: Iterable[FieldViolation]) -> None:
        super().__init__(violations=violations)

    @classmethod
    def of(cls, path: str, rule: str, description: str) -> InvalidRequest:
        """Short form for a single violation."""
        return cls((FieldViolation(path, rule, description),))


class RequestTooLarge(MunimentError):
    """Something is over a size limit; metadata name the limit, its value and what was sent."""

    reason = "REQUEST_TOO_LARGE"
    code = "INVALID_ARGUMENT"
    message = "The request is over a size limit. Send less; the details name the limit."
    metadata_keys = frozenset({"limit_name", "limit_bytes", "actual_bytes"})

    def __init__(self, limit_name: str, limit_bytes: int, actual_bytes: int) -> None:
        super().__init__(
            metadata={
                "limit_name": limit_name,
                "limit_bytes": str(limit_bytes),
                "actual_bytes": str(actual_bytes),
            }
        )


class ConsistencyTokenForeign(MunimentError):
    """The token is malformed or was made for another tenant or data store."""

    reason = "CONSISTENCY_TOKEN_FOREIGN"
    code = "INVALID_ARGUMENT"
    message = (
        "The consistency token was not issued for this tenant and service. Use a token from this "
        "tenant's answers."
    )


class ConsistencyTokenExpired(MunimentError):
    """The token is older than the service can still compare."""

    reason = "CONSISTENCY_TOKEN_EXPIRED"
    code = "OUT_OF_RANGE"
    message = "The consistency token is too old. Take one from a newer answer, or ask for strong consistency."


class PageTokenInvalid(MunimentError):
    """The page token is malformed, foreign, or belongs to other arguments."""

    reason = "PAGE_TOKEN_INVALID"
    code = "INVALID_ARGUMENT"
    message = (
        "The page token does not belong to this request. Repeat the first request unchanged, without a token."
    )


# --- what it is about -------------------------------------------------------------------------


class MemoryNotFound(MunimentError):
    """No such memory in this tenant and in reach of the credential."""

    reason = "MEMORY_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No memory with this id exists in the tenant. Check the id and the tenant."

    def __init__(self, memory_id: str) -> None:
        super().__init__(resource=Resource("memory", memory_id))


class RecallNotFound(MunimentError):
    """No such recall receipt in this tenant."""

    reason = "RECALL_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No recall with this id exists in the tenant. Check the id and the tenant."

    def __init__(self, recall_id: str) -> None:
        super().__init__(resource=Resource("recall", recall_id))


class ErasureNotFound(MunimentError):
    """No such erasure in this tenant."""

    reason = "ERASURE_NOT_FOUND"
    code = "NOT_FOUND"
    message = "No erasure with this id exists in the tenant. Check the id and the tenant."

    def __init__(self, erasure_id: str) -> None:
        super().__init__(resource=Resource("erasure", erasure_id))


class MemorySuperseded(MunimentError):
    """The memory was corrected already; metadata `superseded_by` names its successor if known."""

    reason = "MEMORY_SUPERSEDED"
    code = "FAILED_PRECONDITION"
    message = "The memory has been superseded. Read its successor and correct that one instead."
    metadata_keys = frozenset({"memory_id", "superseded_by"})

    def __init__(self, memory_id: str, superseded_by: str | None = None) -> None:
        metadata = {"memory_id": memory_id}
        if superseded_by:
            metadata["superseded_by"] = superseded_by
        super().__init__(
            metadata=metadata,
            precondition=Precondition("STATE", f"memory/{memory_id}", "The memory must not be superseded."),
        )


class MemoryErased(MunimentError):
    """The memory was erased; nothing but its tombstone is left."""

    reason = "MEMORY_ERASED"
    code = "FAILED_PRECONDITION"
    message = "The memory has been erased and cannot be changed any more. Write a new memory instead."
    metadata_keys = frozenset({"memory_id"})

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            metadata={"memory_id": memory_id},
            precondition=Precondition("STATE", f"memory/{memory_id}", "The memory must not be erased."),
        )


class RevisionConflict(MunimentError):
    """Somebody else changed the memory first, or the etag is stale."""

    reason = "REVISION_CONFLICT"
    code = "ABORTED"
    message = "The memory was changed since it was read. Read it again and repeat the call with its new etag."
    metadata_keys = frozenset({"memory_id", "current_revision"})

    def __init__(self, memory_id: str, current_revision: int | None = None) -> None:
        metadata = {"memory_id": memory_id}
        if current_revision is not None:
            metadata["current_revision"] = str(current_revision)
        super().__init__(metadata=metadata, resource=Resource("memory", memory_id))


class RequestIdPayloadMismatch(MunimentError):
    """The request_id was used before with another payload."""

    reason = "REQUEST_ID_PAYLOAD_MISMATCH"
    code = "ALREADY_EXISTS"
    message = (
        "This request_id was used before with a different payload. Use a new request_id for a new request."
    )
    metadata_keys = frozenset({"request_id"})

    def __init__(self, request_id: str) -> None:
        super().__init__(metadata={"request_id": request_id})


# --- capacity and dependencies ----------------------------------------------------------------


class QuotaExceeded(MunimentError):
    """A configured quota is used up; retry only after `retry_delay`, if one is given."""

    reason = "QUOTA_EXCEEDED"
    code = "RESOURCE_EXHAUSTED"
    message = "A quota is used up. Wait for it to be renewed, or ask the operator to raise it."
    metadata_keys = frozenset({"quota", "limit"})

    def __init__(self, quota: str, limit: int, retry_delay: timedelta | None = None) -> None:
        super().__init__(
            metadata={"quota": quota, "limit": str(limit)},
            retry_delay=retry_delay,
            quota=Quota("tenant", quota),
        )


class Overloaded(MunimentError):
    """The service is at its concurrency limit and did not start the call."""

    reason = "OVERLOADED"
    code = "RESOURCE_EXHAUSTED"
    message = "The service is at its limit and did not start the call. Retry after the delay given."
    metadata_keys = frozenset({"limit_name"})

    def __init__(
        self, limit_name: str | None = None, retry_delay: timedelta = timedelta(milliseconds=500)
    ) -> None:
        super().__init__(metadata={"limit_name": limit_name} if limit_name else None, retry_delay=retry_delay)


class DatabaseUnavailable(MunimentError):
    """The database cannot be reached, or gave up the transaction for another one's sake.

    Also the answer to deadlocks and serialization failures: nothing was changed and the same call
    can be repeated, which is what UNAVAILABLE (the only code that clients retry) says.
    Metadata `cause` is `connection` or `contention`.
    """

    reason = "DATABASE_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = (
        "The database cannot serve the call at the moment. Retry after the delay given, with the same "
        "request_id."
    )
    metadata_keys = frozenset({"cause"})

    def __init__(
        self, cause: str | None = None, retry_delay: timedelta = timedelta(milliseconds=500)
    ) -> None:
        super().__init__(metadata={"cause": cause} if cause else None, retry_delay=retry_delay)


class EmbedderUnavailable(MunimentError):
    """The embedder cannot be reached and the call cannot do without it."""

    reason = "EMBEDDER_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = "The embedder cannot serve the call at the moment. Retry after the delay given."

    def __init__(self, retry_delay: timedelta = timedelta(seconds=1)) -> None:
        super().__init__(retry_delay=retry_delay)


class KeyStoreUnavailable(MunimentError):
    """The key store cannot be reached; nothing can be read or written without it."""

    reason = "KEY_STORE_UNAVAILABLE"
    code = "UNAVAILABLE"
    message = "The key store cannot serve the call at the moment. Retry after the delay given."

    def __init__(self, retry_delay: timedelta = timedelta(seconds=1)) -> None:
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
    """Stored data does not agree with its seal and was not served; metadata `memory_id` if one."""

    reason = "INTEGRITY_VIOLATION"
    code = "DATA_LOSS"
    message = (
        "Stored data does not agree with its seal and was not served. Tell the operator to run "
        "'muniment verify'."
    )
    metadata_keys = frozenset({"memory_id"})

    def __init__(self, memory_id: str | None = None) -> None:
        super().__init__(metadata={"memory_id": memory_id} if memory_id else None)


class Unimplemented(MunimentError):
    """The method or option is not part of this server."""

    reason = "UNIMPLEMENTED"
    code = "UNIMPLEMENTED"
    message = "This server does not implement the method or option. Check the versions of client and server."


class Internal(MunimentError):
    """Everything unforeseen. The cause is in the server's log under the trace id of the details."""

    reason = "INTERNAL"
    code = "INTERNAL"
    message = "The call failed inside the service. Report the trace id in the details to the operator."
