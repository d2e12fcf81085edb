"""`muniment restore`: the operator declares that an older copy of the database was put back."""

import asyncio
import getpass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .local import LocalInstallation, local_installation
from .output import CommandError, Json, note, print_json, print_table

if TYPE_CHECKING:
    import psycopg

    from muniment_server.audit.restore import TenantRestored

_LONGEST = 256


def restore(
    declare: Annotated[
        bool, typer.Option("--declare", help="Say that the database was put back on purpose.")
    ] = False,
    reason: Annotated[
        str, typer.Option(help="Your reference for it, for example a ticket. Stays in the audit trail.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Declare a restore: after it the service starts on the older data, and erased subjects stay erased.

    Put the copy back first, with every server stopped. The key store stays as it is: it knows which keys
    were destroyed, and what belongs to them is removed again. What was erased memory by memory after the
    copy was made comes back with it: repeat those erasures.
    """
    if not declare:
        raise CommandError("Nothing is done without --declare. See `muniment restore --help` first.")
    reason = reason.strip()
    if not reason or len(reason) > _LONGEST or "\x00" in reason:
        raise CommandError(f"Give a --reason of 1 to {_LONGEST} characters.")
    with local_installation(as_owner=True) as installation:
        epoch, done = _restore(installation, reason)
    if as_json:
        print_json({"restore_epoch": epoch, "tenants": done})
        return
    print_table(
        ("TENANT", "ANCHORED AT", "RESTORED TO", "SCOPES ERASED AGAIN", "MEMORIES"),
        (
            (
                one.name,
                str(one.anchored_sequence),
                str(one.restored_sequence),
                str(one.scopes),
                str(one.erased),
            )
            for one in done
        ),
        empty="There are no tenants.",
    )
    note("Declared. Start the servers, and run `muniment verify --deep`.")


def _restore(installation: LocalInstallation, reason: str) -> "tuple[int, list[TenantRestored]]":
    from muniment_server.storage.restoring import count_serving, raise_restore_epoch

    connection = installation.connection
    if connection is None:
        raise CommandError("This needs a login that may act as the owner of the schema.")
    serving = count_serving(connection)
    if serving:
        raise CommandError(f"Servers are connected ({serving} connections). Stop all of them first.")
    epoch = raise_restore_epoch(connection)
    return epoch, asyncio.run(_declare(installation, connection, reason))


async def _declare(
    installation: LocalInstallation, connection: "psycopg.Connection[Any]", reason: str
) -> "list[TenantRestored]":
    from muniment_server.audit.restore import declare_restore
    from muniment_server.crypto.credential_seal import tenant_seal
    from muniment_server.storage.database import Database
    from muniment_server.storage.restoring import seal_tenants, unsealed_tenants

    app = Database(installation.app_conninfo, max_size=1, name="restore-app")
    maintenance = Database(installation.maintenance_conninfo, max_size=1, name="restore-maintenance")
    await app.open()
    try:
        await maintenance.open()
        try:
            async with installation.key_store() as store:
                names = unsealed_tenants(connection)
                seals = {one: tenant_seal(await store.tenant_key(one), name) for one, name in names.items()}
                seal_tenants(connection, seals)
                return await declare_restore(
                    app, maintenance, store, reference=reason, operator=getpass.getuser()
                )
        finally:
            await maintenance.close()
    finally:
        await app.close()
