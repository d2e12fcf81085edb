"""From a failed call of the transport to a MunimentError."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, cast

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from muniment._errors import BY_CODE, FieldViolation, MunimentError

DOMAIN: Final = "muniment.dev"
DETAILS_KEY: Final = "grpc-status-details-bin"
CALL_ID_KEY: Final = "muniment-request-id"


def to_error(error: grpc.RpcError, trace_id: str = "") -> MunimentError:
    """The error for a failed call. trace_id: of the client's own span, used unless the server tells one."""
    # What the transport raises is a call at the same time, in both of its APIs.
    call = cast(Any, error)
    code: grpc.StatusCode = call.code() or grpc.StatusCode.UNKNOWN
    trailers = list(call.trailing_metadata() or ())
    facts: dict[str, Any] = {"trace_id": trace_id, "call_id": _text(trailers, CALL_ID_KEY)}
    for detail in _details(trailers):
        facts |= detail
    return BY_CODE.get(code.name, MunimentError)(call.details() or "the call failed", **facts)


def _text(trailers: Iterable[tuple[str, Any]], key: str) -> str:
    return next((value for name, value in trailers if name == key and isinstance(value, str)), "")


def _details(trailers: Iterable[tuple[str, Any]]) -> Iterable[dict[str, Any]]:
    raw = next((value for name, value in trailers if name == DETAILS_KEY and isinstance(value, bytes)), None)
    if raw is None:
        return
    try:
        status = status_pb2.Status.FromString(raw)
    except DecodeError:
        return
    for packed in status.details:
        if (info := _unpack(packed, error_details_pb2.ErrorInfo())) is not None:
            # A proxy on the way has reasons of its own.
            if info.domain == DOMAIN:
                yield {"reason": info.reason, "metadata": dict(info.metadata)}
        elif (bad := _unpack(packed, error_details_pb2.BadRequest())) is not None:
            yield {
                "field_violations": [
                    FieldViolation(each.field, each.reason, each.description) for each in bad.field_violations
                ]
            }
        elif (retry := _unpack(packed, error_details_pb2.RetryInfo())) is not None:
            delay = retry.retry_delay
            yield {"retry_after": timedelta(seconds=delay.seconds, microseconds=delay.nanos // 1000)}
        elif (request := _unpack(packed, error_details_pb2.RequestInfo())) is not None:
            yield {"trace_id": request.request_id}


def _unpack(packed: AnyMessage, message: Message) -> Any:
    try:
        return message if packed.Unpack(message) else None
    except DecodeError:
        return None
