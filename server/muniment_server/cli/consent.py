"""`muniment consent`: what a subject allows, and what is stored about it in plain words."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from .output import CommandError, Json, count_of, note, print_json
from .remote import DEFAULT_TARGET, CaFile, Space, Subject, Target, Tenant, Tls, owner, remote
from .wording import instant, shown, word

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import subject_pb2

app = typer.Typer(name="consent", help="What may be remembered about a subject.", no_args_is_help=True)


class Level(StrEnum):
    """How much may be remembered."""

    ALL = "all"
    NECESSARY = "necessary"
    NONE = "none"


@app.command()
def show(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    as_json: Json = False,
) -> None:
    """Show what a subject decided. Takes an API key with the permission recall from MUNIMENT_API_KEY."""
    from muniment_server._gen.muniment.v1 import subject_pb2

    request = subject_pb2.GetConsentRequest(scope=owner(subject, space))
    with remote(target, tenant, tls, ca_file, "recall") as server:
        answer = server.subject.GetConsent(request, **server.options)
    _tell(answer.consent, as_json)


@app.command("set")
def set_(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    level: Annotated[Level | None, typer.Option(help="How much may be remembered from now on.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind that is necessary, for example preference; repeat for several."),
    ] = None,
    forget_session: Annotated[str, typer.Option(help="A session that is not to be remembered.")] = "",
    erase: Annotated[
        bool, typer.Option("--erase", help="Also erase what is not covered any more; for good.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Change what may be remembered; it holds at once.

    Takes an API key with the permission erase (or admin, without --erase) from MUNIMENT_API_KEY.
    """
    from muniment_server._gen.muniment.v1 import memory_pb2, subject_pb2

    known = {word(memory_pb2.MemoryKind, number) for number in memory_pb2.MemoryKind.values() if number}
    if not known.issuperset(kind or ()):
        raise CommandError(f"--kind is one of {', '.join(sorted(known))}.")
    request = subject_pb2.SetConsentRequest(
        scope=owner(subject, space),
        level=f"CONSENT_LEVEL_{level.name}" if level is not None else None,
        necessary_kinds=[f"MEMORY_KIND_{name.upper()}" for name in kind or ()],
        forget_session=forget_session or None,
        erase=erase,
        request_id=str(uuid4()),
    )
    with remote(target, tenant, tls, ca_file, "erase") as server:
        answer = server.subject.SetConsent(request, **server.export_options)
    if answer.HasField("erasure"):
        receipt = answer.erasure
        note(
            f"{count_of(receipt.counts.memories, 'memory')} erased, "
            f"{count_of(receipt.keys_destroyed, 'key')} destroyed "
            f"(erasure {receipt.erasure_id})."
        )
    _tell(answer.consent, as_json)


@app.command()
def describe(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    language: Annotated[str, typer.Option(help="Language of the account: en or zh.")] = "en",
    as_json: Json = False,
) -> None:
    """Say in plain words what is stored about a subject, why and how long.

    Takes an API key with the permission recall from MUNIMENT_API_KEY.
    """
    from google.protobuf import json_format

    from muniment_server._gen.muniment.v1 import subject_pb2

    request = subject_pb2.DescribeSubjectRequest(scope=owner(subject, space), language=language)
    with remote(target, tenant, tls, ca_file, "recall") as server:
        answer = server.subject.DescribeSubject(request, **server.options)
    if as_json:
        print_json(json_format.MessageToDict(answer, preserving_proto_field_name=True))
        return
    print(answer.summary)


def _tell(consent: "subject_pb2.Consent", as_json: bool) -> None:
    from muniment_server._gen.muniment.v1 import memory_pb2, subject_pb2

    level = word(subject_pb2.ConsentLevel, consent.level)
    kinds = [word(memory_pb2.MemoryKind, one) for one in consent.necessary_kinds]
    if as_json:
        told: dict[str, Any] = {
            "level": level or None,
            "necessary_kinds": kinds,
            "forgotten_sessions": list(consent.forgotten_sessions),
            "update_time": instant(consent.update_time) if consent.HasField("update_time") else None,
        }
        print_json(told)
        return
    print(f"{level or 'not decided'}{': ' if kinds else ''}{', '.join(kinds)}")
    for session in consent.forgotten_sessions:
        print(f"not to be remembered: session {shown(session)}")
