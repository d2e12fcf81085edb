"""A row that was edited behind the service's back is never sealed anew by a write that touches it."""

import grpc
import pytest

from muniment_server._gen.muniment.v1 import write_pb2
from support.service import RunningService, item, reason


async def test_a_restatement_does_not_make_an_edited_row_genuine(service: RunningService) -> None:
    caller = service.caller()
    first = (await caller.write("u1", "Likes green tea")).results[0].memory.memory_id
    service.database.execute("UPDATE memory SET trust = 5, source_type = 1 WHERE memory_id = %s", (first,))
    edited = service.database.row("SELECT * FROM memory WHERE memory_id = %s", (first,))
    answer = await caller.write("u1", "Likes green tea")
    assert answer.results[0].outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert answer.results[0].memory.memory_id != first
    assert service.database.row("SELECT * FROM memory WHERE memory_id = %s", (first,)) == edited
    recalled = await caller.recall("u1", "green tea", min_score=0.0)
    assert [one.memory.memory_id for one in recalled.memories] == [answer.results[0].memory.memory_id]
    assert list(recalled.seal_broken_memory_ids) == [first]
    audited = service.database.row(
        "SELECT count(*) AS n FROM audit_event WHERE action = 21 AND %s = ANY(memory_ids)", (first,)
    )
    assert audited["n"] == 2


async def test_a_slot_held_by_an_edited_row_is_not_written_over(service: RunningService) -> None:
    caller = service.caller()
    written = await caller.write("u1", item("Lives in Lyon", slot="home_city"))
    held = written.results[0].memory.memory_id
    service.database.execute("UPDATE memory SET trust = 1 WHERE memory_id = %s", (held,))
    edited = service.database.row("SELECT * FROM memory WHERE memory_id = %s", (held,))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await caller.write("u1", item("Lives in Porto", slot="home_city"))
    assert refused.value.code() == grpc.StatusCode.DATA_LOSS
    assert reason(refused.value) == "INTEGRITY_VIOLATION"
    assert service.database.row("SELECT count(*) AS n FROM memory")["n"] == 1
    assert service.database.row("SELECT * FROM memory WHERE memory_id = %s", (held,)) == edited


async def test_an_old_revision_put_back_is_not_reinforced(service: RunningService) -> None:
    caller = service.caller()
    old = (await caller.write("u1", item("Works in Lyon", slot="work"))).results[0].memory.memory_id
    await caller.write("u1", item("Works in Porto", slot="work"))
    service.database.execute("UPDATE memory SET state = 1 WHERE slot = 'work' AND state = 2")
    columns = ", ".join(
        row["attname"]
        for row in service.database.rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'memory'::regclass AND attnum > 0"
        )
    )
    service.database.execute(
        f"UPDATE memory SET ({columns}) = (SELECT {columns} FROM memory_revision h"
        " WHERE h.memory_id = memory.memory_id AND h.revision = 1) WHERE memory_id = %s",
        (old,),
    )
    answer = await caller.write("u1", item("Works in Lyon"))
    assert answer.results[0].outcome == write_pb2.WRITE_OUTCOME_CREATED
    assert service.database.row("SELECT revision FROM memory WHERE memory_id = %s", (old,))["revision"] == 1
