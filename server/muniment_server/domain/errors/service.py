"""Failures of the service: its capacity, what it depends on, and faults of ours."""

from __future__ import annotations

from datetime import timedelta

from .base import MunimentError, Quota

_SOON = timedelta(milliseconds=500)


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
