"""Answers that are remembered by request id, in the transaction of what they answer."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.framing import frame
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import IntegrityViolation, MemoryErased, RequestIdPayloadMismatch
from muniment_server.identity.principal import Principal
from muniment_server.storage.database import Row, UnitOfWork

_PURPOSE = "request"
_KIND = "response"
_MAC_BYTES = 32


@dataclass(frozen=True, slots=True)
class RequestMark:
    """A caller's request id with the keyed digest of method, payload, and the caller's rights."""

    request_id: UUID
    method: str
    digest: bytes
    key: TenantKey = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, key: TenantKey, principal: Principal, request_id: UUID | None, method: str, payload: bytes
    ) -> "RequestMark | None":
        """None when the caller gave no request id."""
        if request_id is None:
            return None
        return cls(
            request_id, method, key.mac(_PURPOSE, frame(method.encode(), _standing(principal), payload)), key
        )

    def authenticate(self, response: bytes) -> bytes:
        """32 bytes that bind an answer in clear to this request."""
        return self.key.mac(_KIND, self.request_id.bytes + self.digest + response)


def _standing(principal: Principal) -> bytes:
    """What a caller must have in common with the first one to be answered what that one was.

    Its rights, and not the credential: a call may be repeated with the key that took an old one's place. With
    a view they are not the same for two credentials of one agent, because a writer sees what it wrote.
    """
    subject, agent = principal.subject, principal.agent
    return frame(
        b"" if subject is None else b"=" + subject.encode(),
        b"" if agent is None else b"=" + agent.encode() + b"\0" + principal.credential_id.bytes,
        " ".join(sorted(principal.permissions)).encode(),
        bytes(sorted(principal.source_types)),
        bytes((principal.max_trust,)),
    )


async def earlier_response(work: UnitOfWork, mark: RequestMark | None, key: ScopeKey | None) -> bytes | None:
    """The stored answer to the same request, or None when this is the first time.

    Only a caller with the rights of the first one sends the same request; see `_standing`. `key` opens
    answers that name a scope's memories. Raises RequestIdPayloadMismatch, MemoryErased when what the first
    call wrote has been erased since, and IntegrityViolation when the stored answer is not what this request
    was answered.
    """
    if mark is None:
        return None
    return stored_response(await work.fetch_one("idempotency_read", request_id=mark.request_id), mark, key)


def stored_response(row: Row | None, mark: RequestMark | None, key: ScopeKey | None) -> bytes | None:
    """`earlier_response` of a row that was read already."""
    if mark is None or row is None:
        return None
    if row["response"] == b"":
        raise MemoryErased(None)
    if row["method"] != mark.method or not hmac.compare_digest(row["payload_digest"], mark.digest):
        raise RequestIdPayloadMismatch(str(mark.request_id))
    if row["scope_id"] is None:
        mac, response = row["response"][:_MAC_BYTES], row["response"][_MAC_BYTES:]
        if not hmac.compare_digest(mac, mark.authenticate(response)):
            raise IntegrityViolation()
        return bytes(response)
    if key is None or row["scope_id"] != key.scope_id:
        raise IntegrityViolation()
    if row["key_epoch"] != key.epoch:
        raise MemoryErased(None)
    try:
        return key.decrypt(row["response"], _KIND, mark.request_id.bytes)
    except CiphertextInvalid:
        raise IntegrityViolation() from None


async def remember(
    work: UnitOfWork,
    mark: RequestMark | None,
    response: bytes,
    *,
    scope_id: UUID | None,
    key: ScopeKey | None,
    memory_ids: Sequence[UUID] = (),
    now: datetime,
    event_id: UUID | None = None,
) -> None:
    """Queue the answer; with a scope it is encrypted under the scope's key, without one authenticated.

    memory_ids: the memories that it names. An erasure of one of them empties it.
    event_id: the audit event of what was done, for what can be undone by its request id.
    """
    if mark is None:
        return
    await work.send(
        "idempotency_insert",
        request_id=mark.request_id,
        method=mark.method,
        scope_id=scope_id,
        key_epoch=key.epoch if key else None,
        memory_ids=list(memory_ids),
        payload_digest=mark.digest,
        response=key.encrypt(response, _KIND, mark.request_id.bytes)
        if key
        else mark.authenticate(response) + response,
        now=now,
        event_id=event_id,
    )
