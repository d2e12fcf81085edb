"""`muniment undo`: a whole write, correction or import taken back by its request id."""

from typing import Annotated
from uuid import uuid4

import typer

from .output import Json, note, print_json, print_table
from .remote import DEFAULT_TARGET, CaFile, Target, Tenant, Tls, remote
from .wording import word


def undo(
    write: Annotated[str, typer.Argument(help="The request id of the write, at most 72 hours old.")],
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Take a write back: what it created is archived, what it replaced is live again, the rest is left.

    Takes an API key with the permission supersede from MUNIMENT_API_KEY.
    """
    from muniment_server._gen.muniment.v1 import correction_pb2

    request = correction_pb2.UndoWriteRequest(
        write_request_id=write, validate_only=dry_run, request_id=str(uuid4())
    )
    with remote(target, tenant, tls, ca_file, "supersede") as server:
        answer = server.memory.UndoWrite(request, **server.options)
    done = [(one.memory_id, word(correction_pb2.UndoOutcome, one.outcome)) for one in answer.memories]
    if as_json:
        print_json(
            {"dry_run": dry_run, "memories": [{"memory_id": one, "outcome": what} for one, what in done]}
        )
        return
    print_table(("MEMORY", "OUTCOME"), done, empty="The write had stored nothing.")
    if dry_run:
        note("Nothing was changed.")
