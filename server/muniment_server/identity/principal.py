"""The verified caller and the context of the call, as immutable values.

The context travels in a context variable: everything that runs for a call, tasks started by it
included, reads the same one, and nothing in a request message can change it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

from muniment_server.domain.model import SourceType, TrustLevel


class Permission(StrEnum):
    """What a credential may do; the names are those of the contract."""

    WRITE = "write"
    RECALL = "recall"
    SUPERSEDE = "supersede"
    ERASE = "erase"
    AUDIT = "audit"
    REVIEW = "review"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified credential.

    credential_id: stable id for the audit; for a JWT derived from issuer and subject.
    tenants: tenants the credential may act for, by name; no other tenant exists for it.
    source_types: source types it may claim. max_trust: the highest trust it may give.
    subject, agent: when set, the only subject or agent it may act for; None means not bound.
    expires: when the credential ends by itself; None means never.
    """

    credential_id: UUID
    kind: Literal["api_key", "jwt"]
    tenants: Mapping[str, UUID]
    permissions: frozenset[Permission]
    source_types: frozenset[SourceType]
    max_trust: TrustLevel
    subject: str | None = None
    agent: str | None = None
    expires: datetime | None = None

    def allows(self, permission: Permission) -> bool:
        """Whether the permission is held; no permission implies another."""
        return permission in self.permissions


@dataclass(frozen=True, slots=True)
class CallContext:
    """One authenticated call.

    request_id: id of this call, 32 hexadecimal digits, answered in metadata `muniment-request-id`; not
        the caller's idempotency key, which is a field of the message.
    trace_id, span_id: 32 and 16 hexadecimal digits; always set.
    deadline: instant on the clock of time.monotonic() at which the answer must be out.
    client: name and version the client gave, if well-formed.
    """

    principal: Principal
    tenant_id: UUID
    tenant_name: str
    method: str
    request_id: str
    trace_id: str
    span_id: str
    deadline: float
    client: str | None = None

    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())


_current: Final[ContextVar[CallContext | None]] = ContextVar("muniment_call", default=None)


def current_call() -> CallContext:
    """The context of the running call. Raises LookupError outside of one."""
    context = _current.get()
    if context is None:
        raise LookupError("no call is running here")
    return context


@contextmanager
def call_context(context: CallContext) -> Iterator[CallContext]:
    """Make `context` current inside the `with`; must be left in the task that entered it."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)
