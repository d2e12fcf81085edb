"""After an erasure the text is nowhere; and what the service stores never holds it in clear at any time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from contract.stored import ERASE, Stored, dump, spellings, tables_with
from muniment_server._gen.muniment.v1 import erasure_pb2, filter_pb2, memory_pb2, memory_service_pb2
from support.postgres import PostgresDatabase, PostgresServer, reachable_folder
from support.service import Caller, RunningService, item, request_id, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKER = "KORRIGAN-9"


@pytest.fixture(scope="module")
def keys() -> AsyncIterator[Path]:
    """The folder of the key store."""
    with reachable_folder() as folder:
        yield folder / "keys"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase, keys: Path) -> AsyncIterator[RunningService]:
    """A service whose key store can be looked into."""
    async with running_service(module_database, keys_folder=keys) as running:
        yield running


async def _history(caller: Caller, subject: str) -> list[str]:
    """A written memory, two corrections, a recall and a use report; all texts with the marker."""
    attributes = json_format.ParseDict({"note": f"about {MARKER}", MARKER: 1}, Struct())
    first = await caller.write(
        subject, item(f"The code is {MARKER}", attributes=attributes), request_id=request_id()
    )
    ids = [first.results[0].memory.memory_id]
    for number in (2, 3):
        answer = await caller.supersede(
            ids[-1], item(f"Code number {number} is {MARKER}"), request_id=request_id()
        )
        ids.append(answer.memory.memory_id)
    await caller.write(subject, f"Code number 3 is {MARKER}", request_id=request_id())
    recalled = await caller.recall(subject, f"what is {MARKER}", token_budget=500)
    assert MARKER in recalled.packed_context.text
    use = memory_service_pb2.ReportUseRequest(
        recall_id=recalled.recall_id, memory_ids=[ids[-1]], request_id=request_id()
    )
    await caller.call("ReportUse", use)
    return ids


def _files_with(folder: Path, *markers: str) -> list[str]:
    needles = [spelling for marker in markers for spelling in spellings(marker)]
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if any(needle in data for needle in needles):
                found.append(path.name)
    return found


Erase = Callable[[Caller, str, list[str]], Awaitable[erasure_pb2.ErasureReceipt]]

ERASURES: dict[str, Erase] = {
    "subject": lambda caller, subject, ids: caller.erase_subject(subject, request_id=request_id()),
    "ids": lambda caller, subject, ids: caller.erase_memories(*ids, request_id=request_id()),
    "filter": lambda caller, subject, ids: caller.erase_filter(
        subject, filter_pb2.MemoryFilter(kinds=["MEMORY_KIND_FACT"])
    ),
}


@pytest.mark.parametrize("name", ERASURES)
async def test_no_table_has_anything_of_it(
    shared: RunningService, caller: Caller, stored: Stored, name: str
) -> None:
    subject = f"{MARKER} of {caller.tenant}"
    ids = await _history(caller, subject)
    await shared.sealed()
    assert not tables_with(shared.database, MARKER), "something is stored in clear"
    receipt = await ERASURES[name](caller, subject, ids)
    assert receipt.counts.memories == 3
    assert receipt.counts.idempotency_records == 4
    await shared.sealed()
    assert not tables_with(shared.database, MARKER)
    for table in ("memory", "memory_revision", "memory_embedding", "posting"):
        assert stored.count(table) == 0, table
    assert all(bytes(row["response"]) == b"" for row in stored.rows("idempotency", "scope_id IS NOT NULL"))
    (place,) = stored.rows("scope")
    assert (place["live_count"], place["live_terms"], place["set_count"]) == (0, 0, 0)


async def test_the_trail_still_tells_who_when_which_and_how_many(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    ids = await _history(caller, MARKER)
    receipt = await caller.erase_subject(MARKER, reason="ERASURE_REASON_SUBJECT_REQUEST")
    await shared.sealed()
    shown = await caller.call(
        "Audit", memory_service_pb2.AuditRequest(filter={"memory_id": ids[0]}, page_size=100)
    )
    assert {event.action for event in shown.events} >= {1, 2, 3}
    assert not any(event.HasField("scope") for event in shown.events)
    erased = next(event for event in shown.events if event.action == ERASE)
    assert erased.event_id == receipt.event_id
    assert erased.event_time == receipt.create_time
    assert erased.actor.principal
    assert sorted(erased.memory_erased.memory_ids) == sorted(ids)
    assert erased.memory_erased.counts.memories == 3
    assert erased.memory_erased.reason == erasure_pb2.ERASURE_REASON_SUBJECT_REQUEST
    assert erased.scope_id
    assert MARKER not in str(shown)
    # Of the query only a keyed digest was ever recorded, and its key is gone.
    recall = next(event for event in stored.events() if event["recall_id"])
    assert len(bytes.fromhex(recall["payload"]["details"]["memories_recalled"]["query_digest"])) >= 16


async def test_no_file_of_the_database_or_the_key_store_has_it(
    shared: RunningService, caller: Caller, postgres_server: PostgresServer, keys: Path
) -> None:
    marker = "GRIMOIRE-4711-ZQ"
    ids = [(await caller.write(marker, f"Says {marker}")).results[0].memory.memory_id]
    ids.append((await caller.supersede(ids[0], f"Says {marker} again")).memory.memory_id)
    await caller.recall(marker, f"who says {marker}")
    shared.database.execute("CHECKPOINT")
    # Not even before the erasure: data files, the write-ahead log and the key store hold ciphertext.
    assert not _files_with(postgres_server.embedded.data, marker)
    assert not _files_with(keys, marker)
    assert _files_with(postgres_server.embedded.data, caller.tenant), "the search finds nothing at all"
    await caller.erase_subject(marker)
    shared.database.execute("CHECKPOINT")
    assert not _files_with(postgres_server.embedded.data, marker)


async def test_labels_in_clear_go_with_an_erasure(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    marker = "clearlabel-77"
    said = memory_pb2.Provenance(source_ref=marker, session=marker)
    labelled = item(
        "Likes tea",
        slot=marker,
        tags=[marker],
        properties={"p": memory_pb2.PropertyValue(string_value=marker)},
        provenance=said,
    )
    old = (await caller.write("u1", labelled, request_id=request_id())).results[0].memory.memory_id
    await caller.supersede(old, labelled, request_id=request_id())
    assert tables_with(shared.database, marker) == {"memory", "memory_revision"}
    await caller.erase_subject("u1")
    assert not tables_with(shared.database, marker)
    assert stored.count("tombstone") == 2


async def test_what_is_left_of_an_erased_subject_is_known(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    await _history(caller, "u1")
    await caller.erase_subject("u1")
    await shared.sealed()
    left = {name for name, _ in dump(shared.database)}
    assert left <= {
        "schema_migration", "instance", "embedding_model", "tenant", "credential",
        "scope", "tombstone", "idempotency", "erasure",
        "audit_event", "audit_chain", "audit_memory", "audit_checkpoint", "audit_head", "audit_queue",
    } | {"memory", "memory_revision", "memory_embedding", "posting"}  # fmt: skip
