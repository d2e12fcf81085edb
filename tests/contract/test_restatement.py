"""The same statement again reinforces the memory that is there; what differs is another memory."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from contract.stored import Stored
from muniment_server._gen.muniment.v1 import memory_pb2, write_pb2
from muniment_server.domain.model import SourceType, TrustLevel
from support.service import FACT, PREFERENCE, Caller, RunningService, item

pytestmark = pytest.mark.asyncio(loop_scope="module")

CREATED = write_pb2.WRITE_OUTCOME_CREATED
REINFORCED = write_pb2.WRITE_OUTCOME_REINFORCED


async def _write(caller: Caller, content: str | write_pb2.WriteItem, **place: str) -> write_pb2.WriteResult:
    result: write_pb2.WriteResult = (await caller.write("u1", content, **place)).results[0]
    return result


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Likes tea", "Likes tea"),
        ("Likes tea", "  Likes\ttea\n"),
        ("Likes tea", "Likes\u3000\u00a0tea"),
        ("Caf\u00e9 on Mondays", "Cafe\u0301 on Mondays"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00"),
        ("\u212b is a unit", "\u00c5 is a unit"),
    ],
)
async def test_the_same_statement_reinforces(caller: Caller, stored: Stored, first: str, again: str) -> None:
    one = await _write(caller, first)
    two = await _write(caller, again)
    assert (one.outcome, two.outcome) == (CREATED, REINFORCED)
    assert two.memory.memory_id == one.memory.memory_id
    assert (two.memory.revision, two.memory.reinforcement_count) == (1, 1)
    assert two.memory.etag == one.memory.etag
    assert two.memory.reinforce_time.ToDatetime() > one.memory.create_time.ToDatetime()
    assert two.memory.update_time == one.memory.update_time
    row = stored.memory(one.memory.memory_id)
    assert (row["reinforce_count"], row["revision"]) == (1, 1)
    assert stored.count("memory") == 1
    assert stored.count("memory_embedding") == 1
    # The text stays as it was first written, byte for byte.
    assert (await caller.get(one.memory.memory_id)).memory.content == first


@pytest.mark.parametrize(
    ("content", "fields", "place"),
    [
        ("likes tea", {}, {}),
        ("Likes tea.", {}, {}),
        ("Likes tea\u200b", {}, {}),
        ("Likes tea", {"kind": PREFERENCE}, {}),
        ("Likes tea", {"slot": "drink"}, {}),
        ("Likes tea", {}, {"agent": "a1"}),
        ("Likes tea", {}, {"session": "s1"}),
    ],
)
async def test_another_text_kind_slot_or_narrowing_is_another_memory(
    caller: Caller, stored: Stored, content: str, fields: dict[str, Any], place: dict[str, str]
) -> None:
    await _write(caller, "Likes tea")
    other = await _write(caller, item(content, **({"kind": FACT} | fields)), **place)
    assert other.outcome == CREATED
    assert len(stored.live()) == 2


async def test_a_restatement_in_the_same_write_reinforces(caller: Caller, stored: Stored) -> None:
    answer = await caller.write("u1", "Likes tea", "Likes jam", " Likes tea ")
    assert [one.outcome for one in answer.results] == [CREATED, CREATED, REINFORCED]
    assert answer.results[0].memory.memory_id == answer.results[2].memory.memory_id
    assert stored.count("memory") == 2
    assert stored.memory(answer.results[0].memory.memory_id)["reinforce_count"] == 1


async def test_twenty_parallel_writers_of_one_statement_make_one_memory(
    caller: Caller, stored: Stored
) -> None:
    answers = await asyncio.gather(*(_write(caller, "Likes tea") for _ in range(20)))
    assert sorted(one.outcome for one in answers) == [CREATED, *[REINFORCED] * 19]
    (row,) = stored.rows("memory")
    assert row["reinforce_count"] == 19


async def test_a_more_trusted_restatement_gives_its_provenance_in_a_new_revision(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    tool = shared.caller(
        caller.tenant, source_types=[SourceType.TOOL], max_trust=TrustLevel.LOW, agent="crawler"
    )
    heard = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_TOOL, source_ref="https://a.test/1")
    one = await _write(tool, item("Likes tea", provenance=heard))
    said = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED, session="s9", confidence=0.9)
    two = await _write(caller, item("Likes tea", provenance=said))
    assert (two.outcome, two.memory.memory_id) == (REINFORCED, one.memory.memory_id)
    assert (two.memory.revision, two.memory.reinforcement_count) == (2, 1)
    assert two.memory.etag != one.memory.etag
    now = two.memory.provenance
    assert (now.source_type, now.trust) == (said.source_type, memory_pb2.TRUST_LEVEL_HIGH)
    assert (now.source_ref, now.session, now.confidence, now.agent) == ("", "s9", 0.9, "")
    assert now.author != one.memory.provenance.author
    (kept,) = stored.rows("memory_revision")
    assert (kept["revision"], kept["trust"], kept["source_ref"]) == (1, TrustLevel.LOW, "https://a.test/1")
    history = (await caller.get(one.memory.memory_id, include_revisions=True)).revisions
    assert [each.memory.provenance.trust for each in history] == [
        memory_pb2.TRUST_LEVEL_HIGH,
        memory_pb2.TRUST_LEVEL_LOW,
    ]
    assert all(each.memory.content == "Likes tea" for each in history)


async def test_a_less_trusted_restatement_leaves_the_provenance(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.UNTRUSTED)
    one = await _write(caller, "Likes tea")
    two = await _write(weak, "Likes tea")
    assert (two.outcome, two.memory.revision) == (REINFORCED, 1)
    assert two.memory.provenance == one.memory.provenance
    assert stored.count("memory_revision") == 0


async def test_a_restatement_prolongs_the_expiry_and_never_shortens_it(
    caller: Caller, stored: Stored
) -> None:
    one = await _write(caller, item("Is on holiday", ttl=timedelta(days=2)))
    shorter = await _write(caller, item("Is on holiday", ttl=timedelta(days=1)))
    assert (shorter.outcome, shorter.memory.revision) == (REINFORCED, 1)
    assert shorter.memory.expire_time == one.memory.expire_time
    longer = await _write(caller, item("Is on holiday", ttl=timedelta(days=9)))
    assert (longer.outcome, longer.memory.revision) == (REINFORCED, 2)
    assert longer.memory.expire_time.ToDatetime() > one.memory.expire_time.ToDatetime()
    for_good = await _write(caller, "Is on holiday")
    assert (for_good.memory.revision, for_good.memory.HasField("expire_time")) == (3, False)
    assert stored.memory(one.memory.memory_id)["expire_time"] is None
    assert stored.count("memory_revision") == 2


async def test_a_less_trusted_source_does_not_prolong_what_others_let_expire(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    weak = shared.caller(caller.tenant, max_trust=TrustLevel.LOW)
    one = await _write(caller, item("Is on holiday", ttl=timedelta(days=2)))
    before = stored.memory(one.memory.memory_id)["expire_time"]
    for text in ("Is on holiday", item("Is on holiday", ttl=timedelta(days=9))):
        assert (await _write(weak, text)).outcome == REINFORCED
        assert stored.memory(one.memory.memory_id)["expire_time"] == before
    own = await _write(weak, item("Is at work", ttl=timedelta(days=2)))
    assert (await _write(weak, "Is at work")).outcome == REINFORCED
    assert stored.memory(own.memory.memory_id)["expire_time"] is None, "its own word it may prolong"


async def test_a_superseded_statement_can_be_made_anew(caller: Caller, stored: Stored) -> None:
    one = await _write(caller, "Lives in Nice")
    await caller.supersede(one.memory.memory_id, "Lives in Lyon")
    back = await _write(caller, "Lives in Nice")
    assert back.outcome == CREATED
    assert back.memory.memory_id != one.memory.memory_id
    assert set(await caller.contents("u1", "lives")) == {"Lives in Nice", "Lives in Lyon"}
    assert len(stored.live()) == 2


async def test_an_erased_statement_can_be_made_anew(caller: Caller, stored: Stored) -> None:
    one = await _write(caller, "Lives in Nice")
    await caller.erase_memories(one.memory.memory_id)
    back = await _write(caller, "Lives in Nice")
    assert back.outcome == CREATED
    assert stored.live() == {back.memory.memory_id}
