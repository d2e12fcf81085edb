"""Consistency tokens: opaque marks of a state of the store that authorise nothing.

A token names the installation, the tenant, the count of declared restores and an instant. Rows are
read from the primary and a Write answers only when its vectors are stored, so every token of this
installation is satisfied at once; it is still checked, so that a foreign one is noticed.
"""

import base64
import binascii
import hmac
from datetime import datetime

from muniment_server.audit.events import to_micros
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import (
    ConsistencyTokenExpired,
    ConsistencyTokenForeign,
    ConsistencyTokenInvalid,
)

from .services import Instance

_VERSION = 1
_PURPOSE = "consistency"
_LENGTH = 1 + 8 + 4 + 8 + 16


def issue_token(key: TenantKey, instance: Instance, now: datetime) -> str:
    """A token for the state that has just been read or written."""
    body = (
        bytes([_VERSION])
        + instance.instance_id.bytes[:8]
        + instance.restore_epoch.to_bytes(4)
        + to_micros(now).to_bytes(8, signed=True)
    )
    return base64.urlsafe_b64encode(body + key.mac(_PURPOSE, body)[:16]).rstrip(b"=").decode()


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
