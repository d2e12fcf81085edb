"""Fourth stage: who is calling, for which tenant."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from opentelemetry import trace

from muniment_server.domain.errors import (
    CredentialsInvalid,
    CredentialsMissing,
    PermissionDenied,
    TenantMetadataInvalid,
)
from muniment_server.identity.authenticator import Authenticator
from muniment_server.identity.principal import CallContext, call_context
from muniment_server.interceptors.call import Call
from muniment_server.telemetry import names

AUTHORIZATION_KEY: Final = "authorization"
TENANT_KEY: Final = "muniment-tenant"
CLIENT_KEY: Final = "muniment-client"

_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_CLIENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+ ()-]{0,63}", re.ASCII)


class AuthenticationStage:
    """Verifies the credential and the tenant, and makes the call's context current.

    A tenant outside the credential's set is answered alike whether it exists or not: only the set
    itself is looked at.
    """

    name = "authentication and tenant"

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def __call__(self, call: Call) -> object:
        credentials = call.values(AUTHORIZATION_KEY)
        if not credentials:
            raise CredentialsMissing
        if len(credentials) > 1:
            raise CredentialsInvalid
        tenant = _tenant(call.values(TENANT_KEY))
        call.tenant_name = tenant
        principal = await self._authenticator.authenticate(credentials[0], tenant)
        call.principal = principal
        tenant_id = principal.tenants.get(tenant)
        if tenant_id is None:
            raise PermissionDenied("tenant")
        client = call.first(CLIENT_KEY)
        call.identity = CallContext(
            principal=principal,
            tenant_id=tenant_id,
            tenant_name=tenant,
            method=call.method,
            request_id=call.request_id,
            trace_id=call.trace_id,
            span_id=call.span_id,
            deadline=call.deadline,
            client=client if client is not None and _CLIENT.fullmatch(client) else None,
        )

        async def recheck() -> None:
            if await self._authenticator.authenticate(credentials[0], tenant) != principal:
                raise CredentialsInvalid

        call.recheck = recheck
        if call.requests is not None:
            call.requests = _rechecked(call.requests, recheck)
        span = trace.get_current_span()
        if span.is_recording():
            span.set_attribute(names.TENANT_ID, str(tenant_id))
        with call_context(call.identity):
            return await call.proceed()


async def _rechecked(
    requests: AsyncIterator[bytes], recheck: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """The messages of a stream, each one while the credential still allows it: a stream may last an hour."""
    async for raw in requests:
        await recheck()
        yield raw


def _tenant(values: list[str]) -> str:
    if not values:
        raise TenantMetadataInvalid("missing")
    if len(values) > 1:
        raise TenantMetadataInvalid("duplicated")
    if not _TENANT.fullmatch(values[0]):
        raise TenantMetadataInvalid("malformed")
    return values[0]
