"""`muniment export`: everything that is remembered about a subject, as JSON Lines."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from .output import CommandError, count_of, note
from .remote import DEFAULT_TARGET, CaFile, Space, Subject, Target, Tenant, Tls, owner, remote


def export(
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    output: Annotated[
        Path | None, typer.Option(help="File to write, which must not exist; standard output if not given.")
    ] = None,
) -> None:
    """Print a subject's memories as JSON Lines, one record a line, oldest first.

    The exit code is 1 when the export was cut off or memories had to be left out. Takes an API key with the
    permission recall from MUNIMENT_API_KEY.
    """
    from google.protobuf import json_format

    from muniment_server._gen.muniment.v1 import subject_pb2

    request = subject_pb2.ExportMemoriesRequest(scope=owner(subject, space))
    written, broken, expected = 0, 0, None
    with _opened(output) as lines, remote(target, tenant, tls, ca_file, "recall") as server:
        for part in server.subject.ExportMemories(request, **server.export_options):
            for record in part.records:
                print(json_format.MessageToJson(record, indent=None, ensure_ascii=False), file=lines)
                written += 1
            for memory_id in part.seal_broken_memory_ids:
                note(f"{memory_id} is left out: somebody changed it behind the service's back.")
                broken += 1
            if part.HasField("record_count"):
                expected = part.record_count
    if expected != written:
        raise CommandError("The export was cut off: it is not complete.")
    note(f"{count_of(written, 'memory')}.")
    if broken:
        raise typer.Exit(1)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    try:
        # Everything that is remembered about somebody: for nobody else on this machine.
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        yield file
