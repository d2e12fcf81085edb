"""`muniment settings`: what a tenant sets for itself, within bounds."""

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import policy
from .output import CommandError, Json, print_json, print_table, time_text

if TYPE_CHECKING:
    from muniment_server.crypto.tenant_key import TenantKey
    from muniment_server.domain.administration import Administered
    from muniment_server.domain.settings import SettingInfo
    from muniment_server.storage.policies import PolicyRows

app = typer.Typer(
    name="settings", help="Ranking, packing, gates and consent of a tenant.", no_args_is_help=True
)

Tenant = Annotated[str, typer.Option(help="The tenant.", envvar="MUNIMENT_TENANT")]
Name = Annotated[str, typer.Argument(help="Name of a setting, as `muniment settings list` shows it.")]


@app.command("list")
def list_(
    tenant: Tenant,
    changed: Annotated[bool, typer.Option("--changed", help="Only what the tenant has set.")] = False,
    as_json: Json = False,
) -> None:
    """List all settings: what holds, what is allowed, what the default is."""
    from muniment_server.domain.settings import registry

    known = policy.read(tenant)
    rows = [_row(info, known) for info in registry().values() if not changed or info.name in known.values]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("NAME", "VALUE", "DEFAULT", "ALLOWED", "SET", "MEANING"),
        (
            (
                row["name"],
                json.dumps(row["value"], ensure_ascii=False),
                json.dumps(row["default"], ensure_ascii=False),
                row["allowed"],
                time_text(row["set_time"]),
                row["description"],
            )
            for row in rows
        ),
        empty="Everything is at its default.",
    )


@app.command()
def get(name: Name, tenant: Tenant, as_json: Json = False) -> None:
    """Print what holds for one setting, as JSON."""
    row = _row(_info(name), policy.read(tenant))
    if as_json:
        print_json(row)
    else:
        print(json.dumps(row["value"], ensure_ascii=False))


@app.command("set")
def set_(
    name: Name,
    value: Annotated[str, typer.Argument(help="The value: JSON, or a bare word.")],
    tenant: Tenant,
) -> None:
    """Set one setting. Running servers follow at once, or within five seconds."""
    from muniment_server.domain.settings import SettingInvalid, parse

    try:
        text = json.dumps(parse(name, value), ensure_ascii=False)
    except SettingInvalid as error:
        raise CommandError(str(error)) from None

    def edit(_key: "TenantKey", rows: "PolicyRows") -> "tuple[PolicyRows, Administered]":
        return replace(rows, settings={**rows.settings, name: text}), _told(name, text)

    policy.change(tenant, edit)
    print(f"{name} of {tenant} is {text}.")


@app.command()
def unset(name: Name, tenant: Tenant) -> None:
    """Put one setting back to its default."""
    info = _info(name)

    def edit(_key: "TenantKey", rows: "PolicyRows") -> "tuple[PolicyRows, Administered]":
        if name not in rows.settings:
            raise CommandError(f"{name} is not set.")
        left = {other: value for other, value in rows.settings.items() if other != name}
        return replace(rows, settings=left), _told(name, "")

    policy.change(tenant, edit)
    print(f"{name} of {tenant} is {info.default} again.")


@app.command()
def reset(
    tenant: Tenant,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take away all settings and all views of a tenant, also where somebody changed them in the database."""
    if not yes:
        try:
            typer.confirm(
                f"Take away all settings of {tenant} and all bounds of what its agents see?", abort=True
            )
        except typer.Abort:
            if sys.stdin.isatty():
                raise
            raise CommandError("Nothing was changed. Where nobody can be asked, say --yes.") from None

    def edit(_key: "TenantKey", rows: "PolicyRows") -> "tuple[PolicyRows, Administered]":
        return replace(rows, settings={}, views={}), _told("", "")

    policy.change(tenant, edit, checked=False)
    print(f"All settings of {tenant} are at their defaults, and no view bounds its agents.")


def _info(name: str) -> "SettingInfo":
    from muniment_server.domain.settings import SettingInvalid, info

    try:
        return info(name)
    except SettingInvalid as error:
        raise CommandError(str(error)) from None


def _row(info: "SettingInfo", known: policy.Known) -> dict[str, Any]:
    value: Any = known.policy.settings.model_dump(mode="json")
    for step in info.name.split("."):
        value = value[step]
    return {
        "name": info.name,
        "value": value,
        "default": json.loads(info.default),
        "allowed": info.allowed,
        "set_time": known.set_times.get(info.name),
        "description": info.description,
    }


def _told(name: str, value: str) -> "Administered":
    from muniment_server.domain.administration import Administered, AdministrativeAct

    return Administered(AdministrativeAct.SETTING_CHANGED, setting=name, value=value)
