"""`muniment verify`: looks for whatever somebody changed behind the service's back."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .local import LocalInstallation, local_installation
from .operator import check_tenant_name
from .output import CommandError, Json, count_of, print_json

if TYPE_CHECKING:
    from muniment_server.audit.findings import TenantReport

TenantOption = Annotated[str | None, typer.Option(help="Only this tenant.", show_default="all")]


def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Open every memory, and derive its hashes and index entries again.")
    ] = False,
    tenant: TenantOption = None,
    as_json: Json = False,
) -> None:
    """Verify everything that is stored: seals, sets, index, trail, anchors. Exit code 1 for a finding.

    Works beside running servers: each tenant is looked at in one snapshot. Names ids, never content.
    """
    finish(run(deep=deep, trail_only=False, tenant=tenant), as_json)


def run(*, deep: bool, trail_only: bool, tenant: str | None) -> "list[TenantReport]":
    """Verify the installation of the settings. Raises CommandError for an unknown tenant."""
    if tenant is not None:
        check_tenant_name(tenant)
    with local_installation(as_owner=False) as installation:
        return asyncio.run(_verify(installation, deep, trail_only, tenant))


async def _verify(
    installation: LocalInstallation, deep: bool, trail_only: bool, tenant: str | None
) -> "list[TenantReport]":
    from muniment_server.audit.verify import verify as verified
    from muniment_server.storage.database import Database

    database = Database(installation.maintenance_conninfo, max_size=2, name="verify")
    await database.open()
    try:
        async with installation.key_store() as store:
            found = verified(database, store, tenant=tenant, deep=deep, trail_only=trail_only, progress=_tell)
            return [report async for report in found]
    except LookupError:
        raise CommandError(f"There is no tenant {tenant!r}.") from None
    finally:
        await database.close()


def _tell(tenant: str, scopes: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{tenant}: {scopes} scopes ", end="", file=sys.stderr, flush=True)


def finish(reports: "Sequence[TenantReport]", as_json: bool) -> None:
    """Print the reports; ends the command with exit code 1 unless all are clean.

    Nothing to verify is no clean bill: somebody may look at the wrong database.
    """
    clean = bool(reports) and all(report.clean for report in reports)
    if as_json:
        print_json({"clean": clean, "tenants": [report.as_json() for report in reports]})
    else:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        for report in reports:
            _print(report)
        if not reports:
            print("There are no tenants: nothing was verified.")
    if not clean:
        raise typer.Exit(1)


def _print(report: "TenantReport") -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    looked = (
        f"{count_of(report.events, 'event')}, {count_of(report.checkpoints, 'signature')}, "
        f"{count_of(report.scopes, 'scope')}, {count_of(report.memories, 'memory')}, "
        f"{count_of(report.revisions, 'earlier revision')}, {count_of(report.vectors, 'vector')}"
    )
    if report.vectors_waiting:
        looked += f" and {report.vectors_waiting} still to be made"
    if report.waiting:
        looked += f"; {report.waiting} events wait to be chained"
    verdict = "clean" if report.clean else f"{report.counts.total()} findings"
    style = "green" if report.clean else "bold red"
    console.print(f"{report.name}: [{style}]{verdict}[/{style}]  ({looked})")
    if report.not_derived:
        console.print(f"  {report.not_derived} texts were analysed by another version and not derived again")
    for finding in report.findings:
        console.print(f"  [bold]{finding.kind.value}[/bold]  {finding.detail}", markup=True)
        for name, value in (
            ("scope", finding.scope_id),
            ("event", finding.event_id),
            ("sequence", finding.sequence),
        ):
            if value is not None:
                console.print(f"      {name} {value}", markup=False)
        for memory_id in finding.memory_ids:
            console.print(f"      memory {memory_id}", markup=False)
    left = report.counts.total() - len(report.findings)
    if left > 0:
        console.print(f"  and {left} more")
