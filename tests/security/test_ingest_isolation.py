"""Conversations of two tenants with the same names, and the tenant predicate taken out of every statement of
the queue, one by one: row-level security alone keeps them apart.
"""

from contract.stored import refused
from muniment_server._gen.muniment.v1 import erasure_pb2, ingest_pb2, memory_pb2, memory_service_pb2
from muniment_server.storage.queries import compile_statement, load_statements
from security.test_predicate_removal import PREDICATE, without_predicate
from support.conversations import QUEUED, ingest, listed, progress, turn
from support.service import Caller, RunningService, scope

DONE = ingest_pb2.INGEST_STATE_DONE


async def erase(caller: Caller, session: str) -> erasure_pb2.ErasureReceipt:
    target = erasure_pb2.ErasureTarget(session=erasure_pb2.SessionTarget(scope=scope("u1", session=session)))
    return (await caller.call("Erase", memory_service_pb2.EraseRequest(target=target))).receipt


async def talk(one: Caller, other: Caller, session: str) -> None:
    """Both take in the same turns, with other contents, and one erases the session."""
    waiting = await ingest(one, "u1", [turn(0, f"I like tea{session}.")], session=session, mode=QUEUED)
    foreign = await ingest(other, "u1", [turn(0, f"I like figs{session}.")], session=session)
    assert not foreign.turns[0].already_known
    assert (foreign.state, len(foreign.extracted)) == (DONE, 1)
    mine = await ingest(one, "u1", [turn(1, f"I like jam{session}.")], session=session)
    assert (mine.state, len(mine.extracted)) == (DONE, 1)
    assert (await progress(one, waiting.ingest_id)).state == DONE
    for caller, ingest_id in ((one, foreign.ingest_id), (other, mine.ingest_id)):
        await refused(progress(caller, ingest_id), "NOT_FOUND", "INGEST_NOT_FOUND")
    await erase(one, session)
    await refused(progress(one, mine.ingest_id), "NOT_FOUND", "INGEST_NOT_FOUND")
    assert (await progress(other, foreign.ingest_id)).state == DONE
    again = await ingest(other, "u1", [turn(0, f"I like figs{session}.")], session=session)
    assert again.turns[0].already_known


async def test_conversations_of_two_tenants_stay_apart(service: RunningService) -> None:
    names = [
        name
        for name, statement in sorted(load_statements().items())
        if PREDICATE.search(statement.source) and "ingest" in statement.source
    ]
    assert len(names) > 10
    one, other = service.caller("first"), service.caller("second")
    await talk(one, other, "intact")
    database = service.service.database
    for name in names:
        database.statements[name] = compile_statement(name, without_predicate(load_statements()[name].source))
        try:
            await talk(one, other, name)
        except AssertionError as error:
            raise AssertionError(f"without its predicate, {name} leaks: {error}") from error
        finally:
            database.statements[name] = load_statements()[name]
    assert await listed(one, "u1") == []
    kept = await listed(other, "u1")
    assert len(kept) == 2 * (len(names) + 1)
    assert all("figs" in memory.content for memory in kept)
    assert {memory.kind for memory in kept} == {
        memory_pb2.MEMORY_KIND_TURN,
        memory_pb2.MEMORY_KIND_PREFERENCE,
    }
