"""Asking endpoints that an operator configured: over whom content leaves the machine."""

from collections.abc import Mapping
from typing import Any

import httpx

_MOST_BYTES = 512 * 1024


class StatusRefused(Exception):
    """The endpoint answered with another status than 200; the text names it."""


class AnswerTooLong(Exception):
    """The answer is larger than any that could be meant."""


def client(key: str | None, parallel: int, timeout: httpx.Timeout | float | None = None) -> httpx.AsyncClient:
    """Connections to one endpoint; nothing is sent yet. parallel: how many at most."""
    headers = {"accept": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    return httpx.AsyncClient(
        headers=headers,
        # A redirect or a proxy of the environment could carry content and key to somebody else.
        follow_redirects=False,
        trust_env=False,
        timeout=timeout,
        limits=httpx.Limits(max_connections=parallel, max_keepalive_connections=parallel),
    )


async def post(asking: httpx.AsyncClient, base: str, path: str, body: Mapping[str, Any]) -> bytes:
    """The body of the answer to a JSON request.

    Raises StatusRefused, AnswerTooLong and what httpx raises. Whoever asks bounds the time over all of it: an
    endpoint may send one byte now and then for ever.
    """
    async with asking.stream("POST", f"{base.rstrip('/')}/{path}", json=body) as response:
        if response.status_code != httpx.codes.OK:
            raise StatusRefused(f"HTTP status {response.status_code}")
        received = bytearray()
        async for part in response.aiter_bytes():
            received += part
            if len(received) > _MOST_BYTES:
                raise AnswerTooLong("an answer that is too long")
        return bytes(received)
