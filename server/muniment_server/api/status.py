"""From an error of the domain to `google.rpc.Status`, in one place.

Trailing metadata above 16 KiB is dropped by the transport and the client then sees another error
than the one sent, so the details are kept under 4 KiB: violations are left out from the end first,
then the other details; ErrorInfo always stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NoReturn

import grpc
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from muniment_server.domain.errors import Internal, MunimentError

DOMAIN: Final = "muniment.dev"
MAX_STATUS_BYTES: Final = 4096
DETAILS_KEY: Final = "grpc-status-details-bin"
PUSHBACK_KEY: Final = "grpc-retry-pushback-ms"
"""What gRPC's own retries go by: they know nothing of RetryInfo."""

_NEVER: Final = "-1"
_MAX_METADATA_VALUE: Final = 256
_RETRYABLE: Final = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED"})
_MILLISECOND: Final = timedelta(milliseconds=1)


def to_status(error: MunimentError, trace_id: str | None = None) -> status_pb2.Status:
    """The status with its details, at most 4 KiB serialized. trace_id is told for INTERNAL only."""
    status = status_pb2.Status(code=grpc.StatusCode[error.code].value[0], message=error.message)
    info = error_details_pb2.ErrorInfo(
        reason=error.reason,
        domain=DOMAIN,
        metadata={key: value[:_MAX_METADATA_VALUE] for key, value in error.metadata.items()},
    )
    status.details.append(_pack(info))
    room = MAX_STATUS_BYTES - status.ByteSize()
    for detail in _details(error, trace_id):
        packed = _pack(detail)
        if isinstance(detail, error_details_pb2.BadRequest):
            while packed.ByteSize() + 4 > room and detail.field_violations:
                del detail.field_violations[-1]
                packed = _pack(detail)
            if not detail.field_violations:
                continue
        # 4 bytes: tag and length of the entry in the list of details.
        if packed.ByteSize() + 4 <= room:
            status.details.append(packed)
            room -= packed.ByteSize() + 4
    return status


async def abort_with_status(
    context: grpc.aio.ServicerContext[Any, Any],
    error: MunimentError,
    *,
    trace_id: str | None = None,
    trailers: Sequence[tuple[str, str | bytes]] = (),
) -> NoReturn:
    """End the call with the error's status. Raises grpc's AbortError, as `context.abort` does."""
    status = to_status(error, trace_id)
    trailing = (
        *(context.trailing_metadata() or ()),
        *trailers,
        *_pushback(error, context.time_remaining()),
        (DETAILS_KEY, status.SerializeToString()),
    )
    await context.abort(grpc.StatusCode[error.code], error.message, trailing)


def _pushback(error: MunimentError, remaining: float | None) -> list[tuple[str, str]]:
    if error.retry_delay is None or error.code not in _RETRYABLE:
        return []
    if remaining is not None and error.retry_delay.total_seconds() >= remaining:
        # gRPC would wait until the deadline and then tell of nothing else; so it is told not to wait.
        return [(PUSHBACK_KEY, _NEVER)]
    # Upwards: a client that comes back a fraction too early is only refused again.
    return [(PUSHBACK_KEY, str(-(-error.retry_delay // _MILLISECOND)))]


def _pack(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


def _details(error: MunimentError, trace_id: str | None) -> list[Message]:
    # The order is the order of worth: what comes first is kept first.
    details: list[Message] = []
    if isinstance(error, Internal) and trace_id:
        details.append(error_details_pb2.RequestInfo(request_id=trace_id))
    if error.retry_delay is not None:
        delay = Duration()
        delay.FromTimedelta(error.retry_delay)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if error.resource is not None:
        details.append(
            error_details_pb2.ResourceInfo(
                resource_type=error.resource.type,
                resource_name=error.resource.name,
                description=error.message,
            )
        )
    if error.precondition is not None:
        details.append(
            error_details_pb2.PreconditionFailure(
                violations=[
                    error_details_pb2.PreconditionFailure.Violation(
                        type=error.precondition.type,
                        subject=error.precondition.subject,
                        description=error.precondition.description,
                    )
                ]
            )
        )
    if error.quota is not None:
        details.append(
            error_details_pb2.QuotaFailure(
                violations=[
                    error_details_pb2.QuotaFailure.Violation(
                        subject=error.quota.subject, description=error.quota.description
                    )
                ]
            )
        )
    if error.violations:
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(
                        field=each.path, reason=each.rule, description=each.description
                    )
                    for each in error.violations
                ]
            )
        )
    return details
