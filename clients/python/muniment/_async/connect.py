"""How to get an asynchronous client."""

from muniment._async.client import AsyncClient
from muniment._settings import TLS, AsyncTokenSource, Deadlines, settings


def connect(
    target: str | None = None,
    *,
    tenant: str | None = None,
    api_key: str | None = None,
    token_source: AsyncTokenSource | None = None,
    tls: TLS | None = None,
    insecure: bool = False,
    deadlines: Deadlines | None = None,
    client_name: str | None = None,
    read_your_writes: bool = True,
) -> AsyncClient:
    """A client of a Muniment service.

        async with muniment.connect("127.0.0.1:7443", tenant="dev", api_key=key) as client:
            ...

    Nothing is sent yet; the first call connects. What is not given comes from the environment:
    MUNIMENT_TARGET (or else 127.0.0.1:7443), MUNIMENT_TENANT, MUNIMENT_API_KEY.

    target: `host:port`, or a gRPC target such as `dns:///host:port` or `unix:/path`. tenant: the
    tenant's name. api_key: the credential. token_source: instead of it, a function that returns the
    credential (a JWT or an API key) for each call. tls: how to encrypt; by default with the system's
    authorities, and not at all to loopback. insecure: plaintext to elsewhere than loopback; then
    everybody on the way can read the key and the memories. deadlines: seconds for calls without a
    `timeout`. client_name: name and version of your program for the audit trail, for example
    "support-bot/2.1". read_your_writes: whether recalls wait until they can find this client's own
    writes by meaning, too.

    Raises ValueError for settings that cannot be used, and OSError for a certificate that cannot be
    read.
    """
    return AsyncClient(
        settings(
            target,
            tenant=tenant,
            api_key=api_key,
            token_source=token_source,
            tls=tls,
            insecure=insecure,
            deadlines=deadlines,
            client_name=client_name,
            read_your_writes=read_your_writes,
        )
    )
