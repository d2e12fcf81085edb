"""Who read which memory stands in the trail, without a word of it."""

from muniment_server._gen.muniment.v1 import audit_pb2, memory_service_pb2
from support.service import RunningService, item, scope


async def test_reads_by_id_and_by_page_are_recorded(service: RunningService) -> None:
    caller = service.caller()
    written = await caller.write("u1", item("Likes KORRIGAN tea"), item("Lives in Lyon"))
    first, second = (one.memory.memory_id for one in written.results)
    await caller.get(first)
    page = await caller.call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=scope("u1")))
    assert [one.memory_id for one in page.memories] == [second, first]
    await caller.erase_memories(first)
    assert (await caller.get(first)).memory.HasField("erase_time")
    audit = await caller.call(
        "Audit",
        memory_service_pb2.AuditRequest(
            filter=audit_pb2.AuditFilter(
                actions=[audit_pb2.AUDIT_ACTION_GET_MEMORY, audit_pb2.AUDIT_ACTION_LIST_MEMORIES]
            )
        ),
    )
    read = [(one.action, list(one.memories_read.memory_ids)) for one in audit.events]
    assert read == [
        (audit_pb2.AUDIT_ACTION_GET_MEMORY, [first]),
        (audit_pb2.AUDIT_ACTION_LIST_MEMORIES, [second, first]),
        (audit_pb2.AUDIT_ACTION_GET_MEMORY, [first]),
    ]
    payloads = service.database.rows("SELECT payload FROM audit_event WHERE action IN (6, 7)")
    assert len(payloads) == 3
    assert all(b"KORRIGAN" not in bytes(row["payload"]) for row in payloads)
