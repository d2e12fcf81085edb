"""`muniment audit`: the trail, listed, exported and verified."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from .output import CommandError, Json, count_of, note, print_json, print_table, time_text
from .remote import DEFAULT_TARGET, CaFile, Remote, Target, Tenant, Tls, remote
from .verify import TenantOption, finish, run
from .wording import actor, actor_text, instant, shown, summary, word

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import audit_pb2
    from muniment_server.audit.export import ExportCheck

app = typer.Typer(name="audit", help="List, export and verify the audit trail.", no_args_is_help=True)

_PAGE = 500
_KEY_ID = re.compile(r"(mnm_)?[a-z0-9]{20}(_.*)?")


class Action(StrEnum):
    """What can be asked for."""

    WRITE = "write"
    SUPERSEDE = "supersede"
    ERASE = "erase"
    RECALL = "recall"
    REPORT_USE = "report_use"
    GET_MEMORY = "get_memory"
    LIST_MEMORIES = "list_memories"
    GET_ERASURE = "get_erasure"
    READ_AUDIT = "read_audit"
    INGEST = "ingest"
    RESTORE_MEMORY = "restore_memory"
    RETRACT = "retract"
    UNDO_WRITE = "undo_write"
    DECIDE_REVIEW = "decide_review"
    LIST_REVIEWS = "list_reviews"
    SET_CONSENT = "set_consent"
    DESCRIBE_SUBJECT = "describe_subject"
    EXPORT_MEMORIES = "export_memories"
    IMPORT_MEMORIES = "import_memories"
    MAINTENANCE = "maintenance"
    INTEGRITY_CHECK = "integrity_check"
    RESTORE = "restore"
    ADMINISTER = "administer"


class Outcome(StrEnum):
    """How it ended."""

    OK = "ok"
    DENIED = "denied"
    FAILED = "failed"


@app.command("list")
def list_(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    memory: Annotated[str, typer.Option(help="Events that concern this memory.")] = "",
    subject: Annotated[str, typer.Option(help="Events of this subject.")] = "",
    space: Annotated[str, typer.Option(help="Events of this space.")] = "",
    recall: Annotated[str, typer.Option(help="A recall and its use reports.")] = "",
    trace: Annotated[str, typer.Option(help="Events of this trace.")] = "",
    principal: Annotated[str, typer.Option(help="Events of this credential: PRINCIPAL of `keys list`.")] = "",
    action: Annotated[list[Action] | None, typer.Option(help="What was done; repeat for several.")] = None,
    outcome: Annotated[list[Outcome] | None, typer.Option(help="How it ended; repeat for several.")] = None,
    since: Annotated[str, typer.Option(help="From this time on, like 2030-01-31 or 2030-01-31T10:00Z.")] = "",
    until: Annotated[str, typer.Option(help="Before this time.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="The most events to list.")] = 50,
    as_json: Json = False,
) -> None:
    """List audit events, newest first. Takes an API key with the permission audit from MUNIMENT_API_KEY."""
    if subject and space:
        raise CommandError("Give --subject or --space, not both.")
    restriction = _restriction(
        memory, subject, space, recall, trace, principal, action or [], outcome or [], since, until
    )
    with remote(target, tenant, tls, ca_file) as server:
        found = list(_events(server, restriction, limit))
    if not found and _KEY_ID.fullmatch(principal):
        raise CommandError(
            "No such events. Trails name an API key by its principal, which `keys list` shows beside its id."
        )
    if as_json:
        print_json([_plain(event) for event in found])
        return
    print_table(
        ("TIME", "SEQ", "ACTION", "OUTCOME", "WHO", "SCOPE", "WHAT"),
        (_row(event) for event in found),
        empty="No such events.",
    )


def _restriction(
    memory: str,
    subject: str,
    space: str,
    recall: str,
    trace: str,
    principal: str,
    actions: list[Action],
    outcomes: list[Outcome],
    since: str,
    until: str,
) -> "audit_pb2.AuditFilter":
    from muniment_server._gen.muniment.v1 import audit_pb2

    made = audit_pb2.AuditFilter(
        memory_id=memory,
        recall_id=recall,
        trace_id=trace,
        principal=principal,
        actions=[f"AUDIT_ACTION_{one.name}" for one in actions],
        outcomes=[f"AUDIT_OUTCOME_{one.name}" for one in outcomes],
    )
    if subject:
        made.scope.subject = subject
    if space:
        made.scope.space = space
    if since:
        made.event_time.start_time.FromDatetime(_time(since, "--since"))
    if until:
        made.event_time.end_time.FromDatetime(_time(until, "--until"))
    return made


def _time(text: str, option: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{option} is a time like 2030-01-31 or 2030-01-31T10:00:00Z.") from None
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def _events(
    server: Remote, restriction: "audit_pb2.AuditFilter", limit: int
) -> "Iterator[audit_pb2.AuditEvent]":
    from muniment_server._gen.muniment.v1 import memory_service_pb2

    token, left = "", limit
    while left > 0:
        request = memory_service_pb2.AuditRequest(
            filter=restriction, page_size=min(left, _PAGE), page_token=token
        )
        page = server.memory.Audit(request, **server.options)
        yield from page.events
        left -= len(page.events)
        token = page.next_page_token
        if not token:
            return


def _plain(event: "audit_pb2.AuditEvent") -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(event, preserving_proto_field_name=True)


def _row(event: "audit_pb2.AuditEvent") -> tuple[str, ...]:
    from muniment_server._gen.muniment.v1 import audit_pb2, error_reason_pb2

    if not event.HasField("event_time"):
        return (
            "-",
            str(event.sequence),
            "-",
            "FORGED",
            "-",
            "-",
            f"event {event.event_id}: see muniment verify",
        )
    outcome = word(audit_pb2.AuditOutcome, event.outcome)
    reason = word(error_reason_pb2.ErrorReason, event.reason)
    scope = shown(event.scope.subject or event.scope.space or event.scope_id or "-")
    return (
        time_text(instant(event.event_time)),
        str(event.sequence or "-"),
        word(audit_pb2.AuditAction, event.action),
        f"{outcome} {reason}".strip(),
        actor_text(actor(event.actor)),
        scope,
        summary(event),
    )


@app.command()
def export(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    out: Annotated[Path | None, typer.Option(help="File to write.", show_default="standard output")] = None,
    from_sequence: Annotated[int | None, typer.Option("--from", min=1, help="The first event.")] = None,
    to_sequence: Annotated[int | None, typer.Option("--to", min=1, help="The last event.")] = None,
) -> None:
    """Export the chain as lines of JSON, and check it on the way. Exit code 1 when it does not hold."""
    from muniment_server.audit.export import ExportCheck

    check = ExportCheck()
    with remote(target, tenant, tls, ca_file) as server:
        lines = _lines(server, from_sequence, to_sequence)
        if out is None:
            _write(lines, sys.stdout, check)
        else:
            try:
                with out.open("x", encoding="utf-8") as file:
                    _write(lines, file, check)
            except FileExistsError:
                raise CommandError(f"{out} exists already.") from None
            except OSError as error:
                raise CommandError(f"{out} cannot be written: {error.strerror}.") from None
    _conclude(check)


def _write(lines: Iterator[dict[str, Any]], file: TextIO, check: "ExportCheck") -> None:
    for line in lines:
        check.line(line)
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()


def _lines(server: Remote, first: int | None, last: int | None) -> Iterator[dict[str, Any]]:
    from muniment_server._gen.muniment.v1 import audit_pb2

    request = audit_pb2.ExportAuditRequest(from_sequence=first, to_sequence=last)
    for part in server.audit.ExportAudit(request, **server.export_options):
        match part.WhichOneof("part"):
            case "header":
                yield _header(part.header)
            case "events":
                yield from map(_exported, part.events.events)
            case "checkpoint":
                yield _checkpoint(part.checkpoint)
            case "trailer":
                yield {
                    "type": "trailer",
                    "event_count": part.trailer.event_count,
                    "last_sequence": part.trailer.last_sequence,
                    "last_digest": part.trailer.last_digest.hex(),
                    "unchained_count": part.trailer.unchained_count,
                }


def _header(header: "audit_pb2.ExportHeader") -> dict[str, Any]:
    return {
        "type": "header",
        "format_version": header.format_version,
        "tenant": header.tenant,
        "tenant_id": header.tenant_id,
        "first_sequence": header.first_sequence,
        "last_sequence": header.last_sequence,
        "first_prev_digest": header.first_prev_digest.hex(),
        "signing_keys": {key.signing_key_id: key.public_key.hex() for key in header.signing_keys},
    }


def _exported(event: "audit_pb2.ExportedEvent") -> dict[str, Any]:
    return {
        "type": "event",
        "sequence": event.sequence,
        "event_id": event.event_id,
        "prev_digest": event.prev_digest.hex(),
        "digest": event.digest.hex(),
        "canonical": event.canonical_bytes.decode(errors="replace"),
    }


def _checkpoint(checkpoint: "audit_pb2.AuditCheckpoint") -> dict[str, Any]:
    return {
        "type": "checkpoint",
        "sequence": checkpoint.sequence,
        "time": instant(checkpoint.create_time).isoformat(),
        "signing_key_id": checkpoint.signing_key_id,
        "signed": checkpoint.signed_bytes.decode(errors="replace"),
        "signature": checkpoint.signature.hex(),
    }


@app.command()
def verify(
    file: Annotated[
        Path | None, typer.Argument(help="An exported file.", show_default="the installation of the settings")
    ] = None,
    tenant: TenantOption = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="With a file: a public key in hex, got by another way; repeat for several."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify the trail: every event, link, signature and anchor. Exit code 1 when something is found.

    With a file, only what is in it is checked, and no server or database is needed.
    """
    if file is None:
        finish(run(deep=False, trail_only=True, tenant=tenant), as_json)
        return
    check = _check_file(file, key or [])
    if as_json:
        print_json(
            {
                "clean": not check.faults,
                "events": check.events,
                "signed_through": check.signed_through,
                "faults": check.faults,
            }
        )
        if check.faults:
            raise typer.Exit(1)
        return
    _conclude(check)


def _check_file(file: Path, keys: list[str]) -> "ExportCheck":
    from muniment_server.audit.export import ExportCheck
    from muniment_server.crypto.signing import key_id_of

    try:
        trusted = {key_id_of(raw): raw for raw in map(bytes.fromhex, keys)} or None
    except ValueError:
        raise CommandError("--key is a public key as 64 hexadecimal digits.") from None
    check = ExportCheck(trusted)
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    value = json.loads(line)
                except ValueError:
                    value = None
                check.line(value if isinstance(value, dict) else {})
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    check.end()
    return check


def _conclude(check: "ExportCheck") -> None:
    for fault in dict.fromkeys(check.end() if not check.faults else check.faults):
        note(fault)
    if check.faults:
        raise typer.Exit(1)
    note(
        f"{count_of(check.events, 'event')} hold together; "
        f"signatures cover them through event {check.signed_through}."
    )
