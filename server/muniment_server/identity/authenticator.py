"""From the value of `authorization` to a principal."""

from __future__ import annotations

from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.identity.api_key import PREFIX, ApiKeyAuthenticator
from muniment_server.identity.jwt import JwtAuthenticator
from muniment_server.identity.principal import Principal


class Authenticator:
    """Accepts `Bearer` with an API key or, where an issuer is configured, a JWT."""

    def __init__(self, api_keys: ApiKeyAuthenticator, tokens: JwtAuthenticator | None = None) -> None:
        self.api_keys = api_keys
        self.tokens = tokens

    async def authenticate(self, authorization: str, tenant: str) -> Principal:
        """The principal of one `authorization` value, for a call that names `tenant`.

        The principal may still not be allowed to act for that tenant: see `Principal.tenants`. Raises
        CredentialsInvalid, or what storage raises.
        """
        scheme, _, credential = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise CredentialsInvalid
        credential = credential.strip(" ")
        if credential.startswith(PREFIX):
            return await self.api_keys.authenticate(credential)
        if self.tokens is None:
            raise CredentialsInvalid
        return await self.tokens.authenticate(credential, tenant)
