"""`muniment import`: memories from JSON Lines, in batches that are stored all or none."""

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from .output import CommandError, Json, note, print_json
from .remote import DEFAULT_TARGET, CaFile, Space, Subject, Target, Tenant, Tls, owner, remote
from .wording import instant, word

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import subject_pb2

_RECORDS = 100
_BATCH_BYTES = 2 * 1024 * 1024


def import_(
    file: Annotated[Path, typer.Argument(help="JSON Lines as `muniment export` writes them; - reads stdin.")],
    tenant: Tenant,
    target: Target = DEFAULT_TARGET,
    tls: Tls = False,
    ca_file: CaFile = None,
    subject: Subject = "",
    space: Space = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    as_json: Json = False,
) -> None:
    """Take a subject's memories in. They pass the gates as every write does, and bring no trust along.

    Batches of up to 100 records are stored all or none; after an error the batches before it stay, and each
    one is named with the request id by which `muniment undo` takes it back. Takes an API key with the
    permission write from MUNIMENT_API_KEY.
    """
    from muniment_server._gen.muniment.v1 import subject_pb2, write_pb2

    scope = owner(subject, space)
    outcomes: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    request_ids: list[str] = []
    with remote(target, tenant, tls, ca_file, "write") as server:
        for number, batch in enumerate(_batches(_live(_records(file), outcomes)), 1):
            request_id = str(uuid4())
            request = subject_pb2.ImportMemoriesRequest(
                scope=scope, records=batch, validate_only=dry_run, request_id=request_id
            )
            try:
                answer = server.subject.ImportMemories(request, **server.options)
            except Exception:
                note(f"Batch {number}, {len(batch)} records, was not stored.")
                _conclude(outcomes, rules, request_ids, dry_run, as_json)
                raise
            if not dry_run:
                request_ids.append(request_id)
            for result in answer.results:
                outcomes[word(write_pb2.WriteOutcome, result.outcome)] += 1
                if result.rule:
                    rules[result.rule] += 1
    _conclude(outcomes, rules, request_ids, dry_run, as_json)


def _records(file: Path) -> "Iterator[subject_pb2.MemoryRecord]":
    from google.protobuf import json_format

    from muniment_server._gen.muniment.v1 import subject_pb2

    try:
        lines = sys.stdin if str(file) == "-" else file.open(encoding="utf-8")
        with lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield json_format.Parse(line, subject_pb2.MemoryRecord())
                except (json_format.ParseError, ValueError):
                    raise CommandError(
                        f"Line {number} of {file} is no memory record; see docs/moving.md."
                    ) from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8.") from None


def _live(
    records: "Iterator[subject_pb2.MemoryRecord]", outcomes: Counter[str]
) -> "Iterator[subject_pb2.MemoryRecord]":
    """Without what has expired: the server takes in nothing that is over already."""
    now = datetime.now(UTC)
    for record in records:
        if record.item.HasField("expire_time") and instant(record.item.expire_time) <= now:
            outcomes["expired"] += 1
            continue
        yield record


def _batches(records: "Iterator[subject_pb2.MemoryRecord]") -> "Iterator[list[subject_pb2.MemoryRecord]]":
    batch: list[subject_pb2.MemoryRecord] = []
    size = 0
    for record in records:
        weight = record.ByteSize()
        if batch and (len(batch) == _RECORDS or size + weight > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += weight
    if batch:
        yield batch


def _conclude(
    outcomes: Counter[str], rules: Counter[str], request_ids: list[str], dry_run: bool, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "outcomes": dict(sorted(outcomes.items())),
                "rules": dict(sorted(rules.items())),
                "request_ids": request_ids,
            }
        )
        return
    said = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())) or "no records"
    note(f"{'Would be: ' if dry_run else ''}{said}.")
    for rule, count in sorted(rules.items()):
        note(f"  {count} by the rule {rule}")
    for request_id in request_ids:
        note(f"Take it back with: muniment undo {request_id}")
