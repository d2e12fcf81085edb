"""Rows edited behind the service's back: no reader gets one as genuine, and the genuine ones still come."""

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import grpc
import pytest
import pytest_asyncio

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, recall_pb2
from muniment_server.audit.findings import Finding
from muniment_server.audit.verify import verify
from muniment_server.domain.model import SourceType
from security.edits import EDITS, Edit, Shown, Stage, Writers, prepare_stage, tamper
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, reason, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEGS = {
    "all legs": [],
    "vector leg": [recall_pb2.RETRIEVAL_LEG_VECTOR],
    "lexical leg": [recall_pb2.RETRIEVAL_LEG_LEXICAL],
}
INTEGRITY_CHECK = 21


@dataclass
class Edited:
    """One database with every edit made in it, and who reads from it."""

    database: PostgresDatabase
    callers: dict[str, Caller]
    stages: dict[str, Stage]
    service: RunningService
    _findings: dict[bool, list[Finding]] = field(default_factory=dict)

    async def findings(self, deep: bool) -> list[Finding]:
        """What verify finds in the tenant."""
        if deep not in self._findings:
            pool = self.database.maintenance()
            await pool.open()
            try:
                reports = verify(pool, self.service.key_store, tenant="edits", deep=deep)
                self._findings[deep] = [one async for report in reports for one in report.findings]
            finally:
                await pool.close()
        return self._findings[deep]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def edited(module_database: PostgresDatabase) -> AsyncIterator[Edited]:
    """All edits at once, each on its own subject, while the service runs; then a second start."""
    database = module_database
    with tempfile.TemporaryDirectory(prefix="muniment-edits-") as folder:
        keys = Path(folder) / "keys"
        async with running_service(database, keys_folder=keys) as running:
            caller = running.caller("edits")
            tool = running.caller("edits", source_types=[SourceType.TOOL])
            writers = Writers(caller, tool, running.caller("foreign"))
            stages = {
                edit.name: await prepare_stage(
                    running, writers, f"subject {number}", " ".join((*edit.statements, f"({edit.victim})"))
                )
                for number, edit in enumerate(EDITS)
            }
            await running.sealed()
            for column in database.rows(
                "SELECT attname FROM pg_attribute WHERE attrelid = 'memory'::regclass AND attnum > 0"
                " AND attnotnull AND attname NOT IN ('tenant_id', 'memory_id')"
            ):
                database.execute(f"ALTER TABLE memory ALTER {column['attname']} DROP NOT NULL")
            for edit in EDITS:
                tamper(database, edit.statements, stages[edit.name].ids)
            async with running_service(database, keys_folder=keys) as restarted:
                callers = {
                    "running": caller,
                    "restarted": Caller(restarted.channel, caller.tenant, caller.key),
                }
                yield Edited(database, callers, stages, running)


def _audited(database: PostgresDatabase, victim: Any, **where: Any) -> bool:
    return bool(
        database.rows(
            "SELECT FROM audit_event WHERE action = %s AND %s = ANY(memory_ids)"
            + "".join(f" AND {column} = %s" for column in where),
            (INTEGRITY_CHECK, UUID(str(victim)), *where.values()),
        )
    )


@pytest.mark.parametrize("instance", ["running", "restarted"])
@pytest.mark.parametrize("edit", EDITS, ids=str)
async def test_an_edited_memory_is_never_recalled(edited: Edited, edit: Edit, instance: str) -> None:
    stage, caller = edited.stages[edit.name], edited.callers[instance]
    victim = str(stage.ids[edit.victim])
    query = stage.texts.get(edit.victim, stage.texts["victim"])
    for name, legs in LEGS.items() if instance == "running" else [("all legs", LEGS["all legs"])]:
        answer = await caller.recall(
            stage.subject, query, limit=2, min_score=0.0, token_budget=2_000, legs=legs
        )
        if edit.shown is Shown.OLD:
            continue
        returned = {one.memory.memory_id: one.memory.content for one in answer.memories}
        assert victim not in returned, name
        assert victim not in answer.packed_context.memory_ids, name
        assert victim not in answer.packed_context.text, name
        # The genuine memories beside it fill the limit.
        assert len(returned) == 2, name
        for memory_id, content in returned.items():
            assert content in stage.texts.values(), name
            assert content in answer.packed_context.text, name
            assert memory_id in answer.packed_context.memory_ids, name
        for text in stage.texts_of_others:
            assert text not in answer.packed_context.text, name
        if edit.shown is Shown.NAMED and name in edit.legs:
            assert victim in answer.seal_broken_memory_ids, name
            counted = {one.reason: one.count for one in answer.left_out}
            assert counted[recall_pb2.LEFT_OUT_REASON_SEAL_BROKEN] == len(answer.seal_broken_memory_ids)
            assert _audited(edited.database, victim, recall_id=UUID(answer.recall_id)), name


@pytest.mark.parametrize("instance", ["running", "restarted"])
@pytest.mark.parametrize("edit", EDITS, ids=str)
async def test_an_edited_memory_is_refused_by_id(edited: Edited, edit: Edit, instance: str) -> None:
    stage, caller = edited.stages[edit.name], edited.callers[instance]
    victim = str(stage.ids[edit.victim])
    if edit.shown is Shown.OLD:
        pytest.skip("nothing in the database contradicts it")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await caller.get(victim, include_revisions=True)
    if edit.shown is Shown.GONE or edit.name.startswith("tenant_id"):
        assert (caught.value.code(), reason(caught.value)) == (
            grpc.StatusCode.NOT_FOUND,
            "MEMORY_NOT_FOUND",
        )
        return
    assert (caught.value.code(), reason(caught.value)) == (
        grpc.StatusCode.DATA_LOSS,
        "INTEGRITY_VIOLATION",
    )
    events = edited.database.rows(
        "SELECT payload FROM audit_event WHERE %s = ANY(memory_ids) AND outcome = 3 AND action = 6",
        (UUID(victim),),
    )
    assert any(b"INTEGRITY_VIOLATION" in bytes(event["payload"]) for event in events)


@pytest.mark.parametrize("edit", EDITS, ids=str)
async def test_an_edited_memory_is_named_in_lists(edited: Edited, edit: Edit) -> None:
    stage, caller = edited.stages[edit.name], edited.callers["restarted"]
    victim = str(stage.ids[edit.victim])
    listed, broken, token = {}, [], ""
    while True:
        page = await caller.call(
            "ListMemories",
            memory_service_pb2.ListMemoriesRequest(
                scope=scope(stage.subject), view=memory_pb2.MEMORY_VIEW_FULL, page_size=2, page_token=token
            ),
        )
        listed |= {one.memory_id: one.content for one in page.memories}
        broken += page.seal_broken_memory_ids
        token = page.next_page_token
        if not token:
            break
    if edit.shown is Shown.OLD:
        return
    assert victim not in listed
    assert (victim in broken) == (edit.shown is Shown.NAMED)
    if edit.shown is Shown.NAMED:
        assert _audited(edited.database, victim)
    for text in stage.texts_of_others:
        assert text not in listed.values()
    # What nobody touched is there.
    untouched = {"near", "far", "third", "trusted"} & stage.ids.keys() - {edit.victim}
    assert {str(stage.ids[name]) for name in untouched} <= listed.keys()


@pytest.mark.parametrize("deep", [False, True], ids=["verify", "verify --deep"])
@pytest.mark.parametrize("edit", EDITS, ids=str)
async def test_verify_finds_the_edit(edited: Edited, edit: Edit, deep: bool) -> None:
    stage = edited.stages[edit.name]
    scope_id = stage.ids["scope_id"]
    victim = UUID(str(stage.ids[edit.victim]))
    found = [
        finding
        for finding in await edited.findings(deep)
        if finding.scope_id == scope_id or victim in finding.memory_ids
    ]
    assert found, "verify found nothing in the scope"
