"""Asking endpoints that an operator configured: over whom content leaves the machine.

What may go wrong is one Unanswered whose text holds a kind or a status, never a key, a text or a body.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

_MOST_BYTES = 512 * 1024


class Unanswered(Exception):
    """There is no answer of an endpoint that could be read."""


class Late(Unanswered):
    """There was none in time."""


class Unreached(Unanswered):
    """There is no connection, or it broke; the text names the fault."""


class StatusRefused(Unanswered):
    """It answered with another status than 200. retry_after: what that header says, if anything."""

    def __init__(self, status: int, retry_after: str | None = None) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.retry_after = retry_after


class AnswerTooLong(Unanswered):
    """The answer is larger than any that could be meant."""


class EndpointClient:
    """The connections to one endpoint. Making it sends nothing.

    Neither redirects nor proxies of the environment are followed: they could carry content and key to
    somebody else. What the environment may name is the certificates that are believed, by SSL_CERT_FILE or
    SSL_CERT_DIR.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        parallel: int,
        connect: float | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """url: base, for example `https://host/v1`. parallel: requests at once, others wait for their turn.

        connect: seconds for making a connection, within the time for the whole of a request. most_bytes: of
        an answer.
        """
        self._url = url.rstrip("/")
        self._most_bytes = most_bytes
        self._room = asyncio.Semaphore(parallel)
        headers = {"accept": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            verify=httpx.create_ssl_context(),
            follow_redirects=False,
            trust_env=False,
            # `post` bounds the time over the whole: an endpoint may send one byte now and then for ever.
            timeout=httpx.Timeout(None, connect=connect),
            limits=httpx.Limits(max_connections=parallel, max_keepalive_connections=parallel),
        )

    async def post(self, path: str, body: Mapping[str, Any], seconds: float) -> bytes:
        """The body of the answer to a JSON request, within `seconds` from now. Raises Unanswered."""
        try:
            async with asyncio.timeout(seconds), self._room:
                return await self._post(path, body)
        except (TimeoutError, httpx.TimeoutException):
            raise Late("no answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise Unreached(type(fault).__name__) from None

    async def _post(self, path: str, body: Mapping[str, Any]) -> bytes:
        async with self._client.stream("POST", f"{self._url}/{path}", json=body) as response:
            if response.status_code != httpx.codes.OK:
                raise StatusRefused(response.status_code, response.headers.get("retry-after"))
            received = bytearray()
            async for part in response.aiter_bytes():
                received += part
                if len(received) > self._most_bytes:
                    raise AnswerTooLong("an answer that is too long")
            return bytes(received)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
