"""Tokens of pages: where the next one begins, readable to the service alone and for the same request."""

from collections.abc import Callable
from typing import TypeVar

from muniment_server.crypto.errors import TokenInvalid
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.errors import PageTokenInvalid

_Place = TypeVar("_Place")


def opened_token(
    key: TenantKey, page_token: str, binding: bytes, read: Callable[[bytes], _Place]
) -> _Place | None:
    """What a token says; None for an empty one. binding: what a token belongs to, besides the tenant.

    Raises PageTokenInvalid.
    """
    if not page_token:
        return None
    try:
        return read(key.open_token(page_token, binding))
    except (TokenInvalid, ValueError, OverflowError):
        raise PageTokenInvalid() from None
