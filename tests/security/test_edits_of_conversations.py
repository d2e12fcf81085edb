"""Queued conversations, edited behind the service's back: nothing is made of what it did not record."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from contract.stored import ACTIVE, SUPERSEDED, Stored, refused
from contract.verified import findings
from muniment_server._gen.muniment.v1 import ingest_pb2
from security.edits import tamper
from support.conversations import QUEUED, SYNC, ingest, progress, turn
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

TURN = 7
FAILED = ingest_pb2.INGEST_STATE_FAILED
BROKEN = ("DATA_LOSS", "INTEGRITY_VIOLATION")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service that looks at no conversation by itself before the test has done its edits."""
    async with running_service(module_database, ingest_quiet_seconds=3_600.0) as running:
        yield running


@pytest.fixture
def caller(shared: RunningService) -> Caller:
    return shared.caller(f"t-{uuid4().hex[:12]}")


@pytest.fixture
def stored(shared: RunningService, caller: Caller) -> Stored:
    return Stored(shared.database, caller.tenant)


async def end(caller: Caller, session: str, **narrowing: str) -> ingest_pb2.IngestResponse:
    """Have everything of a conversation looked at now."""
    return await ingest(caller, "u1", [], session=session, mode=SYNC, end_session=True, **narrowing)


def statements(stored: Stored) -> list[dict[str, object]]:
    """What was made of turns."""
    return stored.rows("memory", "kind <> %s", TURN)


# --- whose conversation it is -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        "agent = NULL",
        "agent = 'a2'",
        "session = 'public'",
        "scope_id = (SELECT scope_id FROM ingest WHERE ingest_id = %(far)s)",
    ],
    ids=["no agent", "another agent", "another session", "another subject"],
)
async def test_a_conversation_given_to_others_is_refused(
    shared: RunningService, caller: Caller, stored: Stored, edit: str
) -> None:
    private = await ingest(caller, "u1", ["I live in Bergen."], session="own", agent="a1", mode=QUEUED)
    far = await ingest(caller, "u2", ["I like tea."], mode=QUEUED)
    tamper(
        stored.database,
        [
            (
                f"UPDATE ingest_session SET {edit} WHERE conversation_id ="
                " (SELECT conversation_id FROM ingest WHERE ingest_id = %(id)s)"
            )
        ],
        {"id": private.ingest_id, "far": far.ingest_id},
    )
    assert await findings(shared, caller.tenant) == [
        (
            f"ingest: ingest {private.ingest_id} is of a conversation that has another agent, session or"
            " scope than the service gave it"
        )
    ]
    await refused(end(caller, "own", agent="a1"), *BROKEN)
    assert statements(stored) == []
    (row,) = stored.rows("ingest", "ingest_id = %s", private.ingest_id)
    assert row["state"] == FAILED
    await refused(progress(caller, private.ingest_id), *BROKEN)
    # The next turn puts the row right, and what is made of it is the agent's alone.
    said = [turn(1, "My name is Ines Okafor.")]
    await ingest(caller, "u1", said, session="own", agent="a1", mode=SYNC)
    assert {(one["agent"], one["origin_session"]) for one in statements(stored)} == {("a1", "own")}


async def test_turns_moved_to_a_conversation_of_everybody_are_refused(caller: Caller, stored: Stored) -> None:
    private = await ingest(caller, "u1", ["I live in Bergen."], session="s1", agent="a1", mode=QUEUED)
    public = await ingest(caller, "u1", ["I like tea."], session="s1", mode=QUEUED)
    tamper(
        stored.database,
        [
            (
                "UPDATE ingest SET conversation_id = (SELECT conversation_id FROM ingest"
                " WHERE ingest_id = %(public)s) WHERE ingest_id = %(private)s"
            )
        ],
        {"private": private.ingest_id, "public": public.ingest_id},
    )
    await end(caller, "s1")
    assert [one["agent"] for one in statements(stored)] == [None]
    assert "Bergen" not in " ".join(await caller.contents("u1", "Bergen tea", min_score=0))
    await refused(progress(caller, private.ingest_id), *BROKEN)


# --- an earlier record --------------------------------------------------------------------------------


def homes(stored: Stored) -> list[tuple[str, int]]:
    return sorted(
        (one["origin_session"], one["state"]) for one in stored.rows("memory", "slot = 'home_city'")
    )


async def put_back(stored: Stored, ingest_id: str, row: dict[str, Any]) -> None:
    """An earlier record of an ingest stands in its place, and its conversation is due."""
    values = {"id": ingest_id, "state": row["state"], "body": row["body_ct"]}
    tamper(
        stored.database,
        [
            (
                "UPDATE ingest SET state = %(state)s, body_ct = %(body)s, end_time = NULL, attempts = 0"
                " WHERE ingest_id = %(id)s"
            ),
            (
                "UPDATE ingest_session SET due_time = now(), lease_time = NULL, worker = NULL"
                " WHERE conversation_id = (SELECT conversation_id FROM ingest WHERE ingest_id = %(id)s)"
            ),
        ],
        values,
    )


async def test_what_was_looked_at_is_not_looked_at_again(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    first = await ingest(caller, "u1", ["I live in Oslo."], session="s1", mode=QUEUED)
    (waiting,) = stored.rows("ingest", "ingest_id = %s", first.ingest_id)
    await end(caller, "s1")
    await ingest(caller, "u1", ["I live in Rome now."], session="s2", mode=SYNC)
    before = homes(stored)
    assert before == [("s1", SUPERSEDED), ("s2", ACTIVE)]
    await put_back(stored, first.ingest_id, waiting)
    await refused(end(caller, "s1"), *BROKEN)
    assert homes(stored) == before
    assert stored.rows("ingest", "ingest_id = %s", first.ingest_id)[0]["state"] == FAILED
    await refused(progress(caller, first.ingest_id), *BROKEN)
    # What is said in the conversation from now on is looked at.
    again = await ingest(caller, "u1", [turn(1, "I live in Bergen.")], session="s1", mode=SYNC)
    assert [one.result.memory.slot for one in again.extracted] == ["home_city"]
    assert await findings(shared, caller.tenant) == [
        f"ingest: ingest {first.ingest_id} is not what the service recorded last"
    ]


async def test_a_trail_that_tells_otherwise_is_not_believed(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    first = await ingest(caller, "u1", ["I live in Oslo.", "I live in Rome."], session="s1", mode=QUEUED)
    (waiting,) = stored.rows("ingest", "ingest_id = %s", first.ingest_id)
    await end(caller, "s1")
    await put_back(stored, first.ingest_id, waiting)
    # The event of the look says that there was none.
    stored.database.execute(
        "UPDATE audit_event SET payload = convert_to(replace(convert_from(payload, 'UTF8'),"
        " '\"extractor\":1', '\"extractor\":0'), 'UTF8') WHERE tenant_id = %s AND action = 10",
        (stored.tenant_id,),
    )
    before = homes(stored)
    await refused(end(caller, "s1"), *BROKEN)
    assert homes(stored) == before
    assert "event_changed" in " ".join(await findings(shared, caller.tenant))
