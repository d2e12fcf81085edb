"""The errors that calls raise.

Every call that does not succeed raises a subclass of MunimentError, chosen by the gRPC status code;
`reason` says exactly what happened and never changes its meaning. The transport's own exception is
kept as `__cause__`. No error holds a credential, a query or the content of a memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field that breaks its rules."""

    field: str
    """Path of the field in the request, for example `items[0].content`."""
    rule: str
    """Id of the rule."""
    description: str
    """What is wrong, without the value."""


class MunimentError(Exception):
    """A call failed. Base of all errors of a call."""

    code: ClassVar[str] = "UNKNOWN"
    """Name of the gRPC status code."""

    message: str
    """What happened, for a person; without content."""
    reason: str
    """An ErrorReason, or a newer server's; empty when the transport failed before the service answered."""
    metadata: Mapping[str, str]
    """Details of the reason; its keys are documented at ErrorReason in the contract."""
    field_violations: tuple[FieldViolation, ...]
    """Fields that break their rules, at most 20."""
    retry_after: timedelta | None
    """How long the service asks to wait before trying again."""
    trace_id: str
    """W3C trace id of the call, 32 hex digits; empty if there is none."""
    call_id: str
    """The server's id of the call, to be found in its log; empty if it did not answer."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        field_violations: Sequence[FieldViolation] = (),
        retry_after: timedelta | None = None,
        trace_id: str = "",
        call_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.field_violations = tuple(field_violations)
        self.retry_after = retry_after
        self.trace_id = trace_id
        self.call_id = call_id

    def __str__(self) -> str:
        name = self.code if self.reason in ("", self.code) else f"{self.code} ({self.reason})"
        text = f"{name}: {self.message}{self._cause()}"
        for violation in self.field_violations:
            where = f"{violation.field}: " if violation.field else ""
            text += f"\n  {where}{violation.description}"
        return text

    def _cause(self) -> str:
        """Which of the causes that the message of a refusal names it was."""
        if self.reason == "PERMISSION_DENIED" and "permission" in self.metadata:
            return f" (missing: {self.metadata['permission']})"
        if self.reason == "SOURCE_NOT_ALLOWED" and "source_type" in self.metadata:
            return f" (refused: {self.metadata['source_type'].lower()})"
        return ""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__)


def _rebuild(cls: type[MunimentError], state: dict[str, Any]) -> MunimentError:
    return cls(**state)


class Cancelled(MunimentError):
    """The call was cancelled on its way, not by the caller."""

    code = "CANCELLED"


class InvalidRequest(MunimentError):
    """The request breaks a rule of the contract; the client finds some of that before sending."""

    code = "INVALID_ARGUMENT"

    @classmethod
    def of(cls, field: str, rule: str, description: str) -> Self:
        """One field is wrong, found before anything was sent."""
        return cls(
            f"{field} {description}",
            reason="INVALID_REQUEST",
            metadata={"violation_count": "1"},
            field_violations=(FieldViolation(field, rule, description),),
        )

    def __str__(self) -> str:
        only = self.field_violations[0] if len(self.field_violations) == 1 else None
        if only is not None and self.message == f"{only.field} {only.description}":
            return f"{self.code} ({self.reason}): {self.message}"
        return super().__str__()


class DeadlineExceeded(MunimentError):
    """The time was used up. Whether a write took place is unknown: repeat it with the same request id."""

    code = "DEADLINE_EXCEEDED"


class NotFound(MunimentError):
    """No such memory, recall or erasure in this tenant."""

    code = "NOT_FOUND"


class AlreadyExists(MunimentError):
    """The request id was used for a request with another payload."""

    code = "ALREADY_EXISTS"


class PermissionDenied(MunimentError):
    """The credential does not allow the call."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(MunimentError):
    """A quota is used up or the server has too many calls running; see `retry_after`."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(MunimentError):
    """The memory is in a state that does not allow the call."""

    code = "FAILED_PRECONDITION"


class Conflict(MunimentError):
    """Somebody else changed it in the meantime: read again, decide again."""

    code = "ABORTED"


class OutOfRange(MunimentError):
    """The consistency token is too old to be understood."""

    code = "OUT_OF_RANGE"


class Unimplemented(MunimentError):
    """The server does not offer the method, or not with these arguments."""

    code = "UNIMPLEMENTED"


class InternalError(MunimentError):
    """A fault of the server; `trace_id` finds it there."""

    code = "INTERNAL"


class Unavailable(MunimentError):
    """The server cannot be reached, or it cannot reach what it needs; tried again already."""

    code = "UNAVAILABLE"


class DataLoss(MunimentError):
    """What was asked for is stored, but its seal does not hold: somebody changed the database."""

    code = "DATA_LOSS"


class Unauthenticated(MunimentError):
    """The credential is missing or not accepted."""

    code = "UNAUTHENTICATED"


def _by_code() -> dict[str, type[MunimentError]]:
    classes: list[type[MunimentError]] = [MunimentError, *MunimentError.__subclasses__()]
    return {cls.code: cls for cls in classes}


BY_CODE: Final[Mapping[str, type[MunimentError]]] = MappingProxyType(_by_code())
"""The class for each status code."""
