"""Seventh stage: the request is parsed and held against the rules of the contract.

Parsing happens here and not in the transport, whose own errors carry an exception's text and come
before authentication.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from google.protobuf.message import DecodeError, Message
from opentelemetry import trace
from protovalidate import Validator

from muniment_server.domain.errors import FieldViolation, InvalidRequest
from muniment_server.interceptors.call import Call
from muniment_server.telemetry import names

_PLAIN_KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)


class ValidationStage:
    """Parses and validates with one shared validator, which keeps its compiled rules. The messages of a
    stream are checked one by one, when the handler asks for the next.

    warm: messages to compile the rules of beforehand, so that a fault in a rule shows at the start
    and no first call pays for the compiling.
    """

    name = "validation"

    def __init__(self, warm: Iterable[type[Message]] = ()) -> None:
        self._validator = Validator()
        for message_type in warm:
            self._validator.collect_violations(message_type())

    async def __call__(self, call: Call) -> object:
        if call.message_type is None:
            raise TypeError("the handler's request type is not known, so its requests cannot be validated")
        if call.requests is not None:
            call.message = self._each(call.requests, call.message_type)
            return await call.proceed()
        message = self._checked(call.raw, call.message_type)
        call.message = message
        _note_request_id(trace.get_current_span(), message)
        return await call.proceed()

    async def _each(
        self, requests: AsyncIterator[bytes], message_type: type[Message]
    ) -> AsyncIterator[Message]:
        noted = False
        async for raw in requests:
            message = self._checked(raw, message_type)
            if not noted:
                noted = True
                _note_request_id(trace.get_current_span(), message)
            yield message

    def _checked(self, raw: bytes, message_type: type[Message]) -> Message:
        message = message_type()
        try:
            message.ParseFromString(raw)
        except DecodeError:
            raise InvalidRequest.of(
                "", "message.malformed", f"The request must be a serialized {message.DESCRIPTOR.full_name}."
            ) from None
        violations = self._validator.collect_violations(message)
        if violations:
            raise InvalidRequest(_violation(each.proto) for each in violations)
        return message


def _note_request_id(span: trace.Span, message: Message) -> None:
    if span.is_recording() and "request_id" in message.DESCRIPTOR.fields_by_name:
        given = getattr(message, "request_id", "")
        try:
            span.set_attribute(names.REQUEST_ID, str(uuid.UUID(given)))
        except (ValueError, TypeError, AttributeError):
            return


def _violation(found: Any) -> FieldViolation:
    """The contract's form of a violation. Its text states the rule and never the value."""
    return FieldViolation(
        path=_path(found.field.elements) if found.field is not None else "",
        rule=found.rule_id,
        description=found.message or found.rule_id,
    )


def _path(elements: Iterable[Any]) -> str:
    """`items[3].properties[city]`; a map key that is not a plain word is content and shown as `*`."""
    parts: list[str] = []
    for element in elements:
        part = element.field_name
        if element.subscript is not None:
            key = element.subscript.value
            if element.subscript.field == "string_key" and not _PLAIN_KEY.fullmatch(key):
                key = "*"
            part += f"[{key}]"
        parts.append(part)
    return ".".join(parts)
