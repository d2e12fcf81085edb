"""The public keys of the token issuer, read from a URL or a file, away from the event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

import jwt

from muniment_server.telemetry.logs import describe_exception

_log = logging.getLogger("muniment.identity")

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signature algorithms accepted; all asymmetric, so that no public key can serve as a secret."""

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_CURVES: Final[Mapping[str, frozenset[str]]] = {
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA"}),
    "Ed448": frozenset({"EdDSA"}),
}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_MAX_BYTES: Final = 512 * 1024


class JwksError(Exception):
    """The key set cannot be used; the text is one line without secrets."""


class KeySet:
    """Keys by id, refreshed every five minutes and, at most every ten seconds, for an unknown id.

    While the source cannot be read the last keys stay in use for `max_age` seconds.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        file: Path | None = None,
        refresh_after: float = 300.0,
        retry_after: float = 10.0,
        max_age: float = 86_400.0,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if (url is None) == (file is None):
            raise JwksError("name the issuer's keys by a URL or by a file, one of them")
        if url is not None:
            parts = urlsplit(url)
            if not parts.hostname or not (
                parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
            ):
                raise JwksError("the URL of the issuer's keys must begin with https://")
        self._url = url
        self._file = file
        self._refresh_after = refresh_after
        self._retry_after = retry_after
        self._max_age = max_age
        self._timeout = timeout
        self._clock = clock
        self._keys: dict[str | None, dict[str, Any]] = {}
        self._built: dict[tuple[str | None, str], jwt.PyJWK] = {}
        self._loaded: float | None = None
        self._tried: float | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the keys for the first time.

        A file that cannot be read is an error (JwksError). A URL is not: the issuer may come up
        later, and until then its tokens are refused.
        """
        self._tried = self._clock()
        try:
            await self._load()
        except Exception as error:
            if self._file is not None:
                raise JwksError(
                    "the file with the issuer's keys cannot be read as a JSON Web Key Set"
                ) from error
            _log.warning("keys of the token issuer not read yet: %s", describe_exception(error))

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """The key for a token's header, or None; without `kid` only an issuer's single key will do."""
        now = self._clock()
        if self._loaded is None or now - self._loaded > self._max_age:
            await self._refresh()
        elif now - self._loaded > self._refresh_after:
            self._begin()
        key = self._get(kid, algorithm)
        if key is None:
            await self._refresh()
            key = self._get(kid, algorithm)
        return key

    def _get(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        if self._loaded is None or self._clock() - self._loaded > self._max_age:
            return None
        if kid is None:
            if len(self._keys) != 1:
                return None
            kid = next(iter(self._keys))
        built = self._built.get((kid, algorithm))
        if built is None:
            data = self._keys.get(kid)
            if data is None or algorithm not in _algorithms(data):
                return None
            built = jwt.PyJWK(data, algorithm=algorithm)
            self._built[(kid, algorithm)] = built
        return built

    async def _refresh(self) -> None:
        task = self._begin()
        if task is not None:
            await asyncio.shield(task)

    def _begin(self) -> asyncio.Task[None] | None:
        if self._running is None:
            now = self._clock()
            if self._tried is not None and now - self._tried < self._retry_after:
                return None
            self._tried = now
            self._running = asyncio.create_task(self._reload())
        return self._running

    async def _reload(self) -> None:
        try:
            await self._load()
        except Exception as error:  # noqa: BLE001 - whatever failed, the keys in hand stay in use
            _log.warning("keys of the token issuer not refreshed: %s", describe_exception(error))
        finally:
            self._running = None

    async def _load(self) -> None:
        started = self._clock()
        keys = _parse(await asyncio.to_thread(self._read))
        self._keys, self._built, self._loaded = keys, {}, started

    def _read(self) -> bytes:
        if self._file is not None:
            return self._file.read_bytes()
        # The scheme was checked when the key set was made.
        request = urllib.request.Request(self._url or "", headers={"Accept": "application/json"})  # noqa: S310
        with _OPENER.open(request, timeout=self._timeout) as answer:
            body: bytes = answer.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise JwksError("the key set is too large")
        return body


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    # A redirect could lead from https to anywhere; a key set has one address.
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirect)


def _algorithms(key: Mapping[str, Any]) -> frozenset[str]:
    """Algorithms a JSON Web Key may verify; empty for symmetric, encryption and unknown keys."""
    if key.get("use", "sig") != "sig" or "verify" not in key.get("key_ops", ("verify",)):
        return frozenset()
    possible = _RSA if key.get("kty") == "RSA" else frozenset[str]()
    if key.get("kty") in ("EC", "OKP"):
        possible = _CURVES.get(str(key.get("crv")), frozenset())
    stated = key.get("alg")
    return possible if stated is None else possible & {str(stated)}


def _parse(body: bytes) -> dict[str | None, dict[str, Any]]:
    document = json.loads(body)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise JwksError("not a JSON Web Key Set")
    keys: dict[str | None, dict[str, Any]] = {}
    for entry in entries:
        if isinstance(entry, dict) and _algorithms(entry):
            kid = entry.get("kid")
            keys[kid if isinstance(kid, str) else None] = entry
    if not keys:
        raise JwksError("the key set holds no usable key")
    return keys
