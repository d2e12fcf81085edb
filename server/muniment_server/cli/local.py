"""What commands share that look into the installation itself: settings, logins, the key store."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .operator import require_installation

if TYPE_CHECKING:
    import psycopg

    from muniment_server.config import Settings
    from muniment_server.crypto.key_store import KeyStore
    from muniment_server.crypto.master import MasterKeyProvider


@dataclass(frozen=True, slots=True)
class LocalInstallation:
    """An installation of this machine's settings. Connection strings hold passwords.

    connection: acts as the owner; None where only the maintenance login was needed and given.
    """

    settings: "Settings"
    provider: "MasterKeyProvider"
    app_conninfo: str = field(repr=False)
    maintenance_conninfo: str = field(repr=False)
    connection: "psycopg.Connection[Any] | None" = field(default=None, repr=False)

    @asynccontextmanager
    async def key_store(self) -> "AsyncIterator[KeyStore]":
        """The key store, open."""
        from muniment_server import bootstrap

        store = bootstrap.key_store(self.settings, self.provider)
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@contextmanager
def local_installation(*, as_owner: bool) -> Iterator[LocalInstallation]:
    """The installation of the settings; an embedded database is started when it does not run.

    as_owner: whether a connection that may act as the owner is needed. Raises CommandError where there is
    no installation yet, BootstrapError where it cannot be reached.
    """
    from muniment_server import bootstrap, config
    from muniment_server.bootstrap.logins import present_login
    from muniment_server.storage.roles import APP, MAINTENANCE
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load()
    configure_logging("WARNING", as_json=settings.log_format == "json")
    where = bootstrap.where(settings)
    require_installation(settings)
    provider = bootstrap.master_keys(settings)
    if not as_owner and where.maintenance_url is not None:
        yield LocalInstallation(settings, provider, where.app_url or "", where.maintenance_url)
        return
    secrets = asyncio.run(bootstrap.derive_role_secrets(provider))
    with bootstrap.administration(where, secrets) as connection:

        def login(role: str) -> str:
            return present_login(connection, connection.info.dsn, role, secrets)

        yield LocalInstallation(
            settings,
            provider,
            where.app_url or login(APP),
            where.maintenance_url or login(MAINTENANCE),
            connection,
        )
