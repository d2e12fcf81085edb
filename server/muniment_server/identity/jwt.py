"""JSON Web Tokens of an OpenID Connect issuer.

Checked: signature by a key of the issuer's set (asymmetric algorithms only), `iss`, `aud`, `exp`
(required), `nbf`, `iat`, `sub` (required). The rights stand in claims; what is missing is not
granted:

| Claim | Form | Without it |
| --- | --- | --- |
| muniment_tenants | list of tenant names | no tenant, so every call is denied |
| muniment_permissions | list of write recall supersede erase audit review admin | none |
| muniment_source_types | list of USER_STATED USER_CONFIRMED AGENT_INFERRED TOOL THIRD_PARTY | none |
| muniment_max_trust | UNTRUSTED LOW MEDIUM HIGH CONFIRMED | UNTRUSTED |
| muniment_subject | text: the only subject the token may act for | not bound |
| muniment_agent | text: the only agent the token may act for | not bound |

A list may also be a text with spaces between the names. Names that are not known grant nothing. A
claim of the wrong form, an empty or null binding included, makes the whole token invalid: a binding
that failed to be filled in must not read as "not bound".
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jwt

from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.cache import LookupCache
from muniment_server.identity.jwks import ALGORITHMS, KeySet
from muniment_server.identity.principal import Permission, Principal
from muniment_server.identity.source import CredentialSource

CLAIM_TENANTS: Final = "muniment_tenants"
CLAIM_PERMISSIONS: Final = "muniment_permissions"
CLAIM_SOURCE_TYPES: Final = "muniment_source_types"
CLAIM_MAX_TRUST: Final = "muniment_max_trust"
CLAIM_SUBJECT: Final = "muniment_subject"
CLAIM_AGENT: Final = "muniment_agent"

LEEWAY_SECONDS: Final = 10
_MAX_TOKEN: Final = 8192
_MAX_NAMES: Final = 1000
_MAX_LABEL: Final = 256
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_CREDENTIALS: Final = uuid.UUID("6d1f3a52-0c5e-5b0e-9d53-2f6a8d0b7c41")


@dataclass(frozen=True, slots=True)
class JwtSettings:
    """The issuer whose tokens are accepted. Issuer and audience are mandatory: without an audience
    a token made for any other service of the same issuer would open this one."""

    issuer: str
    audience: str
    jwks_url: str | None = None
    jwks_file: Path | None = None

    def __post_init__(self) -> None:
        if not self.issuer.strip() or not self.audience.strip():
            raise ValueError("issuer and audience are both required to accept tokens")


class JwtAuthenticator:
    """Verifies tokens of one issuer. Call `start` before use; it may raise JwksError."""

    def __init__(
        self,
        settings: JwtSettings,
        source: CredentialSource,
        *,
        keys: KeySet | None = None,
        ttl: float = 5.0,
        size: int = 1024,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._source = source
        self._keys = keys or KeySet(url=settings.jwks_url, file=settings.jwks_file)
        self._now = now
        self._verified: LookupCache[str, _Verified] = LookupCache(
            self._verify, ttl=ttl, miss_ttl=0.0, size=size, clock=clock
        )
        self._tenants: LookupCache[str, uuid.UUID] = LookupCache(
            self._find_tenant, ttl=ttl, miss_ttl=1.0, size=size, clock=clock
        )

    async def start(self) -> None:
        """Read the issuer's keys for the first time."""
        await self._keys.start()

    async def authenticate(self, text: str, tenant: str) -> Principal:
        """The principal of a token, for a call that names `tenant`.

        Of the tenants in the token only the one named is looked up, so the principal's tenants are
        that one or none. Raises CredentialsInvalid, or what storage raises.
        """
        if len(text) > _MAX_TOKEN:
            raise CredentialsInvalid
        verified = await self._verified.get(text)
        if verified is None or verified.rights.expires.timestamp() + LEEWAY_SECONDS <= self._now():
            raise CredentialsInvalid
        rights = verified.rights
        tenant_id = await self._tenants.get(tenant) if tenant in rights.tenants else None
        return Principal(
            credential_id=verified.credential_id,
            kind="jwt",
            tenants={} if tenant_id is None else {tenant: tenant_id},
            permissions=rights.permissions,
            source_types=rights.source_types,
            max_trust=rights.max_trust,
            subject=rights.subject,
            agent=rights.agent,
            expires=rights.expires,
        )

    def drop_all(self) -> None:
        """Forget what was looked up, after tenants changed."""
        self._verified.drop_all()
        self._tenants.drop_all()

    async def _find_tenant(self, name: str) -> uuid.UUID | None:
        return (await self._source.find_tenants((name,))).get(name)

    async def _verify(self, text: str) -> _Verified | None:
        try:
            kid, algorithm = _header(text)
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        key = await self._keys.find(kid, algorithm)
        if key is None:
            return None
        try:
            claims = jwt.decode(
                text,
                key,
                algorithms=[algorithm],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
            rights = _Rights.of(claims)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, OSError):
            return None
        return _Verified(uuid.uuid5(_CREDENTIALS, f"{self._settings.issuer}\0{claims['sub']}"), rights)


def _header(text: str) -> tuple[str | None, str]:
    header = jwt.get_unverified_header(text)
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise ValueError("algorithm")
    kind = header.get("typ")
    if kind is not None and str(kind).lower() not in _TYPES:
        raise ValueError("type")
    kid = header.get("kid")
    return (None if kid is None else str(kid)), str(algorithm)


@dataclass(frozen=True, slots=True)
class _Rights:
    tenants: frozenset[str]
    permissions: frozenset[Permission]
    source_types: frozenset[SourceType]
    max_trust: TrustLevel
    subject: str | None
    agent: str | None
    expires: datetime

    @classmethod
    def of(cls, claims: Mapping[str, Any]) -> _Rights:
        """The rights in verified claims. Raises ValueError or TypeError for a wrong form."""
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise ValueError("sub")
        permissions = _names(claims, CLAIM_PERMISSIONS)
        source_types = _names(claims, CLAIM_SOURCE_TYPES)
        trust = claims.get(CLAIM_MAX_TRUST, TrustLevel.UNTRUSTED.name)
        if not isinstance(trust, str):
            raise TypeError(CLAIM_MAX_TRUST)
        return cls(
            tenants=frozenset(name for name in _names(claims, CLAIM_TENANTS) if _TENANT.fullmatch(name)),
            permissions=frozenset(item for item in Permission if item.value in permissions),
            source_types=frozenset(item for item in SourceType if item.name in source_types),
            max_trust=TrustLevel.__members__.get(trust, TrustLevel.UNTRUSTED),
            subject=_binding(claims, CLAIM_SUBJECT),
            agent=_binding(claims, CLAIM_AGENT),
            expires=datetime.fromtimestamp(int(claims["exp"]), UTC),
        )


@dataclass(frozen=True, slots=True)
class _Verified:
    credential_id: uuid.UUID
    rights: _Rights


def _names(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    value = claims.get(claim, [])
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list) or len(value) > _MAX_NAMES:
        raise TypeError(claim)
    if not all(isinstance(item, str) for item in value):
        raise TypeError(claim)
    return frozenset(value)


def _binding(claims: Mapping[str, Any], claim: str) -> str | None:
    if claim not in claims:
        return None
    value = claims[claim]
    if not isinstance(value, str) or not value or len(value) > _MAX_LABEL:
        raise ValueError(claim)
    return value
