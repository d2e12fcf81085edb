"""Consistency tokens: opaque marks of a state of the store that authorise nothing.

A token names the installation, the tenant, the count of declared restores and an instant. Rows are read
from the primary, so there is nothing to wait for but vectors that are made after the write was answered:
a Recall with a token waits for those of everything in its scope that was recorded by the token's instant.
Instants are those of the server that wrote; who has a write's token waits for that write in any case.
"""

import asyncio
import base64
import binascii
import hmac
from datetime import datetime
from uuid import UUID

from muniment_server.audit.events import from_micros, to_micros
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import (
    ConsistencyTokenExpired,
    ConsistencyTokenForeign,
    ConsistencyTokenInvalid,
)
from muniment_server.identity.principal import CallContext
from muniment_server.storage.embeddings import count_waiting

from .scoping import scope_number
from .services import Instance, Services

_VERSION = 1
_PURPOSE = "consistency"
_LENGTH = 1 + 8 + 4 + 8 + 16
_RESERVE = 0.4
"""Of the time that a call has left: what it keeps for its answer while it waits for vectors."""
_MOST_RESERVED = 1.0
_PAUSES = (0.01, 0.02, 0.05)
"""Seconds between two looks; the last one repeats."""


def issue_token(key: TenantKey, instance: Instance, now: datetime) -> str:
    """A token for the state that has just been read or written."""
    body = (
        bytes([_VERSION])
        + instance.instance_id.bytes[:8]
        + instance.restore_epoch.to_bytes(4)
        + to_micros(now).to_bytes(8, signed=True)
    )
    return base64.urlsafe_b64encode(body + key.mac(_PURPOSE, body)[:16]).rstrip(b"=").decode()


def token_order(token: str) -> int:
    """Which of two genuine tokens of a tenant is the fresher: the one with the larger number."""
    return to_micros(_instant(token))


def check_token(key: TenantKey, instance: Instance, token: str, field: str) -> None:
    """Raises ConsistencyTokenInvalid, ConsistencyTokenForeign or ConsistencyTokenExpired."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ConsistencyTokenInvalid(field) from None
    if len(raw) != _LENGTH or raw[0] != _VERSION:
        raise ConsistencyTokenInvalid(field)
    body, mac = raw[:-16], raw[-16:]
    if not hmac.compare_digest(mac, key.mac(_PURPOSE, body)[:16]):
        raise ConsistencyTokenForeign(field)
    if body[1:9] != instance.instance_id.bytes[:8]:
        raise ConsistencyTokenForeign(field)
    if int.from_bytes(body[9:13]) != instance.restore_epoch:
        raise ConsistencyTokenExpired(field)


async def await_vectors(services: Services, context: CallContext, scope_id: UUID, token: str | None) -> None:
    """Wait until what was written into a scope up to a token has its vectors, or the time is up.

    token: checked; None stands for everything that is there now. Returns when a good part of the call's
    time is left, whatever is missing then: the answer counts it.
    """
    remaining = context.remaining()
    loop = asyncio.get_running_loop()
    end = loop.time() + remaining - min(_MOST_RESERVED, remaining * _RESERVE)
    before = None if token is None else _instant(token)
    for look in range(1_000_000):
        async with services.database.transaction(context.tenant_id, timeout=context.remaining()) as work:
            found = await count_waiting(work, scope_number(scope_id), before)
        if not found.waiting:
            return
        if before is None:
            # What is written from now on is not waited for, or a busy scope would never be answered.
            before = found.newest
        services.on_waiting(context.tenant_id, scope_id, 0)
        pause = _PAUSES[min(look, len(_PAUSES) - 1)]
        if loop.time() + pause >= end:
            return
        await asyncio.sleep(pause)


def _instant(token: str) -> datetime:
    raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_")
    return from_micros(int.from_bytes(raw[13:21], signed=True))
