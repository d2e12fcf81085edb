"""`muniment tenants`: the customers of the service."""

from typing import Annotated

import typer

from .invocation import command
from .operator import administration, check_tenant_name, operation
from .output import Json, note, print_json, print_table, time_text

app = typer.Typer(name="tenants", help="Make and list tenants.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Lower-case name, as callers send it in 'muniment-tenant'.")],
    as_json: Json = False,
) -> None:
    """Make a tenant."""
    from muniment_server.storage import admin

    check_tenant_name(name)
    with operation(making=True) as it:
        tenant = admin.create_tenant(it.connection, name, it.trail, it.seals)
    if as_json:
        print_json(tenant)
    else:
        print(tenant.tenant_id)
        note(
            f"Made the tenant {name}. Give it a key: {command()} keys create --tenant {name} "
            "--permission all --source-type user_stated --source-type agent_inferred"
        )


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List all tenants."""
    from muniment_server.storage import admin

    with administration() as connection:
        tenants = admin.list_tenants(connection)
    if as_json:
        print_json(tenants)
        return
    print_table(
        ("NAME", "ID", "MADE"),
        ((tenant.name, str(tenant.tenant_id), time_text(tenant.create_time)) for tenant in tenants),
        empty=f"There are no tenants yet. Make one: {command()} tenants create NAME",
    )
