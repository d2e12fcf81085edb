"""`muniment review`: what waits for a person, and what the person decides."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .keys import TrustChoice
from .output import CommandError, Json, note, print_json, print_table, time_text
from .remote import DEFAULT_TARGET, CaFile, Remote, Space, Subject, Target, Tenant, Tls, owner, remote
from .wording import instant, shown, word

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import memory_pb2, review_pb2

app = typer.Typer(name="review", help="See what waits for a person, and decide.", no_args_is_help=True)

_PAGE = 200
_TEXT = 120
Memory = Annotated[str, typer.Argument(help="Id of the memory.")]
Etag = Annotated[str, typer.Option(help="Only if nobody changed it since this etag was read.")]
Trust = Annotated[TrustChoice | None, typer.Option(help="Trust that you vouch for; as it is, if not given.")]


@app.command("list")
def list_(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="The most reviews to list.")] = 50,
    as_json: Json = False,
) -> None:
    """List what waits, oldest first, with its text.

    Takes an API key with the permission review from MUNIMENT_API_KEY.
    """
    scope = owner(subject, space) if subject or space else None
    with remote(target, tenant, tls, ca_file, "review") as server:
        found = list(_reviews(server, scope, limit))
    if as_json:
        print_json([_plain(one) for one in found])
        return
    print_table(
        ("MEMORY", "SINCE", "UNTIL", "WHERE", "SOURCE", "TRUST", "RULE", "TEXT"),
        (_row(one) for one in found),
        empty="Nothing waits.",
    )


@app.command()
def approve(
    memory: Memory,
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    trust: Trust = None,
    etag: Etag = "",
    as_json: Json = False,
) -> None:
    """Make a memory live as it is; what it would replace is superseded."""
    _decide(memory, "APPROVE", tenant, target, tls, ca_file, trust, etag, "", as_json)


@app.command()
def edit(
    memory: Memory,
    content: Annotated[str, typer.Argument(help="The new text.")],
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    trust: Trust = None,
    etag: Etag = "",
    as_json: Json = False,
) -> None:
    """Make a memory live with another text, which passes the gates as a write does."""
    if not content:
        raise CommandError("Give the new text.")
    _decide(memory, "EDIT", tenant, target, tls, ca_file, trust, etag, content, as_json)


@app.command()
def reject(
    memory: Memory,
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    etag: Etag = "",
    as_json: Json = False,
) -> None:
    """Archive a memory; it is never recalled."""
    _decide(memory, "REJECT", tenant, target, tls, ca_file, None, etag, "", as_json)


def _reviews(server: Remote, scope: "memory_pb2.Scope | None", limit: int) -> "Iterator[review_pb2.Review]":
    from muniment_server._gen.muniment.v1 import review_pb2

    left, token = limit, ""
    while left > 0:
        request = review_pb2.ListReviewsRequest(scope=scope, page_size=min(left, _PAGE), page_token=token)
        answer = server.review.ListReviews(request, **server.options)
        for memory_id in answer.seal_broken_memory_ids:
            note(f"{memory_id} is left out: somebody changed it behind the service's back.")
        yield from answer.reviews[:left]
        left -= len(answer.reviews)
        token = answer.next_page_token
        if not token:
            return


def _decide(
    memory_id: str,
    decision: str,
    tenant: str,
    target: str,
    tls: bool,
    ca_file: Any,
    trust: TrustChoice | None,
    etag: str,
    content: str,
    as_json: bool,
) -> None:
    from uuid import uuid4

    from muniment_server._gen.muniment.v1 import memory_pb2, review_pb2

    request = review_pb2.DecideReviewRequest(
        memory_id=memory_id,
        etag=etag,
        decision=f"REVIEW_DECISION_{decision}",
        content=content,
        trust=f"TRUST_LEVEL_{trust.name}" if trust is not None else None,
        request_id=str(uuid4()),
    )
    with remote(target, tenant, tls, ca_file, "review") as server:
        answer = server.review.DecideReview(request, **server.options)
    state = word(memory_pb2.MemoryState, answer.memory.state)
    if as_json:
        print_json(
            {
                "memory_id": answer.memory.memory_id,
                "state": state,
                "trust": word(memory_pb2.TrustLevel, answer.memory.provenance.trust),
                "superseded_memory_id": answer.superseded_memory_id or None,
            }
        )
        return
    replaced = f"; it replaces {answer.superseded_memory_id}" if answer.superseded_memory_id else ""
    note(f"{answer.memory.memory_id} is {state} now{replaced}.")


def _row(review: "review_pb2.Review") -> tuple[str, ...]:
    from muniment_server._gen.muniment.v1 import memory_pb2

    memory = review.memory
    text = shown(memory.content)
    near = f" [near: {', '.join(one.memory_id for one in review.possible_conflicts)}]"
    return (
        memory.memory_id,
        time_text(instant(review.create_time)),
        time_text(instant(review.expire_time)) if review.HasField("expire_time") else "-",
        shown(memory.scope.subject or memory.scope.space),
        word(memory_pb2.SourceType, memory.provenance.source_type),
        word(memory_pb2.TrustLevel, memory.provenance.trust),
        review.rule,
        (text if len(text) <= _TEXT else text[:_TEXT] + "…") + (near if review.possible_conflicts else ""),
    )


def _plain(review: "review_pb2.Review") -> dict[str, Any]:
    from google.protobuf import json_format

    return json_format.MessageToDict(review, preserving_proto_field_name=True)
