"""`muniment keys`: API keys. A key is printed once, when it is made, and stored nowhere."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from muniment_server.domain.model import DEFAULT_TRUST, SourceType, TrustLevel
from muniment_server.identity.principal import Permission

from .operator import administration, check_tenant_name, operation
from .output import CommandError, Json, note, print_json, print_table, time_text

if TYPE_CHECKING:
    from muniment_server.storage.admin import CredentialRow

app = typer.Typer(name="keys", help="Make, list and revoke API keys.", no_args_is_help=True)

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_LABEL_CHARACTERS = 256


class PermissionChoice(StrEnum):
    """Permissions, and all of them at once."""

    ALL = "all"
    WRITE = "write"
    RECALL = "recall"
    SUPERSEDE = "supersede"
    ERASE = "erase"
    AUDIT = "audit"
    REVIEW = "review"
    ADMIN = "admin"


class SourceChoice(StrEnum):
    """Source types, and all of them at once."""

    ALL = "all"
    USER_STATED = "user_stated"
    USER_CONFIRMED = "user_confirmed"
    AGENT_INFERRED = "agent_inferred"
    TOOL = "tool"
    THIRD_PARTY = "third_party"


class TrustChoice(StrEnum):
    """Trust levels."""

    UNTRUSTED = "untrusted"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CONFIRMED = "confirmed"


@app.command()
def create(
    tenant: Annotated[list[str], typer.Option(help="Tenant the key may act for; repeat for several.")],
    permission: Annotated[list[PermissionChoice], typer.Option(help="What it may do; repeat for several.")],
    source_type: Annotated[
        list[SourceChoice] | None,
        typer.Option(help="Source types it may claim; repeat for several.", show_default="agent_inferred"),
    ] = None,
    max_trust: Annotated[
        TrustChoice | None,
        typer.Option(help="Highest trust it may give.", show_default="what its source types give by default"),
    ] = None,
    subject: Annotated[str | None, typer.Option(help="The only subject it may act for.")] = None,
    agent: Annotated[str | None, typer.Option(help="The only agent it may act as.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            help="When it ends: 12h, 90d, 4w, or a time like 2030-01-31T00:00:00Z.", show_default="never"
        ),
    ] = None,
    label: Annotated[str, typer.Option(help="What it is for; operators see it in the list.")] = "",
    as_json: Json = False,
) -> None:
    """Make an API key. The key goes to standard output, once; everything else to standard error."""
    from muniment_server.identity import api_key
    from muniment_server.storage import admin

    sources = _sources(source_type or [SourceChoice.AGENT_INFERRED])
    trust = max(DEFAULT_TRUST[source] for source in sources) if max_trust is None else _trust(max_trust)
    key = api_key.generate()
    new = admin.NewCredential(
        public_id=key.public_id,
        secret_digest=key.digest(),
        label=_text(label, "--label", may_be_empty=True),
        tenants=tuple(dict.fromkeys(check_tenant_name(name) for name in tenant)),
        permissions=_permissions(permission),
        source_types=sources,
        max_trust=trust,
        subject=None if subject is None else _text(subject, "--subject"),
        agent=None if agent is None else _text(agent, "--agent"),
        expire_time=None if expires is None else parse_expiry(expires, datetime.now(UTC)),
    )
    with operation() as it:
        principal = admin.create_credential(it.connection, new, it.trail, it.seals)
    if as_json:
        print_json(
            {
                "key": key.text(),
                "public_id": new.public_id,
                "principal": str(principal),
                "tenants": new.tenants,
                "permissions": new.permissions,
                "source_types": new.source_types,
                "max_trust": new.max_trust,
                "subject": new.subject,
                "agent": new.agent,
                "expire_time": new.expire_time,
            }
        )
        return
    print(key.text(), flush=True)
    note(
        f"Made the API key {key.public_id} for {', '.join(new.tenants)}: {', '.join(new.permissions)}; "
        f"claims {', '.join(source.name.lower() for source in sources)} with trust up to "
        f"{trust.name.lower()}; "
        f"{'never expires' if new.expire_time is None else 'expires ' + time_text(new.expire_time)}.\n"
        f"In audit trails it is {principal}. The key is shown this once and cannot be shown again."
    )


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only keys that may act for this tenant.")] = None,
    as_json: Json = False,
) -> None:
    """List API keys, newest first. The keys themselves are not known any more.

    PRINCIPAL is what audit trails call the key.
    """
    from muniment_server.storage import admin

    with administration() as connection:
        found = admin.list_credentials(connection, None if tenant is None else check_tenant_name(tenant))
    if as_json:
        print_json(found)
        return
    now = datetime.now(UTC)
    print_table(
        (
            "ID",
            "PRINCIPAL",
            "LABEL",
            "TENANTS",
            "PERMISSIONS",
            "SOURCES",
            "TRUST",
            "BOUND TO",
            "EXPIRES",
            "STATE",
        ),
        (
            (
                row.public_id,
                str(row.credential_id),
                row.label or "-",
                ",".join(row.tenant_names),
                ",".join(row.permissions),
                ",".join(source.name.lower() for source in row.source_types),
                row.max_trust.name.lower(),
                _binding(row.subject, row.agent),
                time_text(row.expire_time),
                _state(row, now),
            )
            for row in found
        ),
        empty="There are no API keys.",
    )


@app.command()
def revoke(
    public_id: Annotated[str, typer.Argument(help="The key's id: the part between 'mnm_' and the next '_'.")],
    as_json: Json = False,
) -> None:
    """Revoke an API key for good. Running servers refuse it at once, or within five seconds."""
    from muniment_server.identity import api_key
    from muniment_server.storage import admin

    whole = api_key.parse(public_id)
    if whole is not None:
        public_id = whole.public_id
        note("Only the id is needed; a key in a command line can be read by other users of the machine.")
    with operation() as it:
        since = admin.revoke_credential(it.connection, public_id, it.trail, it.seals)
    if as_json:
        print_json({"public_id": public_id, "revoke_time": since})
    else:
        print(f"Revoked {public_id} since {time_text(since)}.")


def parse_expiry(text: str, now: datetime) -> datetime:
    """The instant that `--expires` means; raises CommandError for what is malformed or past."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    try:
        if match is not None:
            when = now + timedelta(**{_UNITS[match[2]]: int(match[1])})
        else:
            when = datetime.fromisoformat(text)
            if when.tzinfo is None:
                when = when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise CommandError("--expires is a duration like 12h, 90d, 4w or a time like 2030-01-31.") from None
    if when <= now:
        raise CommandError("--expires lies in the past.")
    return when


def _permissions(chosen: list[PermissionChoice]) -> tuple[Permission, ...]:
    if PermissionChoice.ALL in chosen:
        return tuple(Permission)
    return tuple(permission for permission in Permission if permission.value in chosen)


def _sources(chosen: list[SourceChoice]) -> tuple[SourceType, ...]:
    if SourceChoice.ALL in chosen:
        return tuple(SourceType)
    return tuple(source for source in SourceType if source.name.lower() in chosen)


def _trust(chosen: TrustChoice) -> TrustLevel:
    return TrustLevel[chosen.name]


def _text(value: str, option: str, *, may_be_empty: bool = False) -> str:
    if not value and not may_be_empty:
        raise CommandError(f"{option} must not be empty.")
    if len(value) > _LABEL_CHARACTERS or "\x00" in value or not value.isprintable():
        raise CommandError(f"{option} has at most {_LABEL_CHARACTERS} printable characters.")
    return value


def _binding(subject: str | None, agent: str | None) -> str:
    parts = [f"{name} {value}" for name, value in (("subject", subject), ("agent", agent)) if value]
    return ", ".join(parts) or "-"


def _state(row: "CredentialRow", now: datetime) -> str:
    if row.revoke_time is not None:
        return f"revoked {time_text(row.revoke_time)}"
    if row.expire_time is not None and row.expire_time <= now:
        return "expired"
    return "active"
