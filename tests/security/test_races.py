"""Races against erasures, on two services over one database and one key store."""

import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest
import pytest_asyncio

from muniment_server._gen.muniment.v1 import (
    erasure_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    write_pb2,
)
from muniment_server.crypto.errors import KeyStoreUnavailable, ScopeKeyDestroyed
from muniment_server.crypto.signing import verify_receipt
from security.looking import kinds, outcome, refused, snapshot, stored
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, request_id, running_service, scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE, PENDING = erasure_pb2.ERASURE_STATE_COMPLETE, erasure_pb2.ERASURE_STATE_PENDING


@dataclass
class Pair:
    """Two services, and one tenant's caller on each."""

    services: tuple[RunningService, RunningService]
    keys: Path
    callers: tuple[Caller, Caller]

    @property
    def tenant(self) -> str:
        """The tenant."""
        return self.callers[0].tenant

    @property
    def database(self) -> PostgresDatabase:
        """Their database."""
        return self.services[0].database

    def rows(self, table: str, where: str = "true", *values: Any) -> list[Any]:
        """What is stored of the tenant."""
        return stored(self.services[0], table, self.tenant, where, *values)

    async def whole(self) -> None:
        """Everything that is stored can be read on both, and verify finds nothing."""
        for service in self.services:
            await service.sealed()
        assert await kinds(self.services[0], self.tenant) == set()
        assert not self.rows("erasure", "state <> 2")
        live = {str(row["memory_id"]) for row in self.rows("memory")}
        for caller in self.callers:
            for memory_id in live:
                assert (await caller.get(memory_id)).memory.content
        for place in self.rows("scope"):
            held = await self.services[0].key_store.newest_scope_key(place["tenant_id"], place["scope_id"])
            # An erasure that was given up may have left the key of the next epoch.
            assert held.epoch - place["key_epoch"] in (0, 1)
            for epoch in range(1, place["key_epoch"]):
                with pytest.raises(ScopeKeyDestroyed):
                    await self.services[0].key_store.scope_key(place["tenant_id"], place["scope_id"], epoch)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(module_database: PostgresDatabase) -> AsyncIterator[tuple[Any, Path]]:
    """Two services on one database and one key store."""
    with tempfile.TemporaryDirectory(prefix="muniment-races-") as folder:
        keys = Path(folder) / "keys"
        async with (
            running_service(module_database, keys_folder=keys) as one,
            running_service(module_database, keys_folder=keys) as other,
        ):
            # What they make up for is made up for when a test says so.
            for each in (one, other):
                await each.without_upkeep()
            yield (one, other), keys


@pytest.fixture
def pair(two: tuple[tuple[RunningService, RunningService], Path]) -> Pair:
    """The two, with a tenant of the test's own."""
    services, keys = two
    caller = services[0].caller(f"t-{uuid4().hex[:12]}")
    return Pair(services, keys, (caller, Caller(services[1].channel, caller.tenant, caller.key)))


@pytest.fixture
def deaf(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """The second service hears no hints: every one is lost."""
    monkeypatch.setattr(pair.services[1].service._hints, "_handle", lambda hint: None)
    return pair


async def _listed(caller: Caller, subject: str) -> dict[str, str]:
    request = memory_service_pb2.ListMemoriesRequest(
        scope=scope(subject), view=memory_pb2.MEMORY_VIEW_FULL, page_size=1000
    )
    page = await caller.call("ListMemories", request)
    assert not page.seal_broken_memory_ids
    return {one.memory_id: one.content for one in page.memories}


async def _everything(jobs: Sequence[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*jobs)


# --- writers, readers, correctors against an erasure --------------------------------------------------


async def test_no_acknowledged_write_becomes_unreadable_and_nothing_erased_comes_back(pair: Pair) -> None:
    written: dict[str, str] = {}
    codes: Counter[str] = Counter()

    async def write(number: int) -> None:
        for turn in range(8):
            text = f"Fact {number} {turn}"
            try:
                answer = await pair.callers[turn % 2].write("u1", text)
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1
            else:
                codes["OK"] += 1
                written[answer.results[0].memory.memory_id] = text

    async def erase(place: int) -> None:
        for _ in range(4):
            receipt = await pair.callers[place].erase_subject("u1")
            assert receipt.state == COMPLETE
            await asyncio.sleep(random.uniform(0, 0.05))

    await _everything([*(write(number) for number in range(5)), erase(0), erase(1)])
    assert codes.keys() <= {"OK", "ABORTED"}
    assert codes["OK"] > 30
    gone = {str(row["memory_id"]) for row in pair.rows("tombstone")}
    live = {str(row["memory_id"]) for row in pair.rows("memory")}
    assert gone.isdisjoint(live)
    assert gone | live == written.keys()
    for caller in pair.callers:
        assert await _listed(caller, "u1") == {memory_id: written[memory_id] for memory_id in live}
        for memory_id in gone:
            memory = (await caller.get(memory_id)).memory
            assert (memory.state, memory.content) == (memory_pb2.MEMORY_STATE_ERASED, "")
    await pair.whole()


async def test_after_an_erasure_was_answered_nobody_is_served_what_it_erased(deaf: Pair) -> None:
    """Also where the hint is lost and the other service still has the key."""
    one, other = deaf.callers
    for turn in range(4):
        texts = [f"Secret {turn} {number}" for number in range(5)]
        results = (await one.write("u1", *texts)).results
        ids = [result.memory.memory_id for result in results]
        # Both have the key at hand, the embeddings too.
        for caller in (one, other):
            assert len((await caller.recall("u1", texts[0], min_score=0.0)).memories) == 5
        over = asyncio.Event()
        late: list[str] = []

        async def look(caller: Caller, query: str, over: asyncio.Event, late: list[str]) -> None:
            while True:
                began_after = over.is_set()
                found = await caller.contents("u1", query, min_score=0.0)
                if began_after:
                    late += found
                    return

        looking = [
            asyncio.create_task(look(caller, texts[0], over, late)) for caller in (one, other) for _ in "ab"
        ]
        await one.erase_subject("u1")
        over.set()
        await _everything(looking)
        assert late == []
        for caller in (one, other):
            assert await _listed(caller, "u1") == {}
            for memory_id in ids:
                assert (await caller.get(memory_id)).memory.state == memory_pb2.MEMORY_STATE_ERASED
                await refused(
                    caller.supersede(memory_id, "back again"), "FAILED_PRECONDITION", "MEMORY_ERASED"
                )
    await deaf.whole()


async def test_a_stale_key_writes_nothing_that_cannot_be_read(deaf: Pair) -> None:
    one, other = deaf.callers
    (first,) = (await other.write("u1", "Before")).results
    assert await other.contents("u1", "Before") == ["Before"]
    await one.erase_subject("u1")
    stale = deaf.services[1].service.keys.cached(
        deaf.services[0].tenant_id(deaf.tenant), deaf.rows("scope")[0]["scope_id"]
    )
    assert stale is not None
    assert stale.epoch < deaf.rows("scope")[0]["key_epoch"]
    written = (await other.write("u1", "Before", item("Slotted", slot="s"))).results
    assert [result.outcome for result in written] == [write_pb2.WRITE_OUTCOME_CREATED] * 2
    assert first.memory.memory_id not in [result.memory.memory_id for result in written]
    for caller in (one, other):
        assert set((await _listed(caller, "u1")).values()) == {"Before", "Slotted"}
        assert await caller.contents("u1", "Before", limit=1) == ["Before"]
    await deaf.whole()


async def test_a_stale_key_corrects_and_erases_rightly(deaf: Pair) -> None:
    one, other = deaf.callers
    await other.write("u1", "Of the first epoch")
    await one.erase_subject("u1")
    (result,) = (await one.write("u1", "Of the second epoch")).results
    corrected = await other.supersede(result.memory.memory_id, "Corrected with a stale key")
    assert await _listed(one, "u1") == {corrected.memory.memory_id: "Corrected with a stale key"}
    await one.erase_subject("u1")
    (result,) = (await one.write("u1", "Of the third epoch")).results
    receipt = await other.erase_memories(result.memory.memory_id)
    assert receipt.counts.memories == 1
    await other.write("u1", "Of the third epoch as well")
    receipt = await other.erase_subject("u1")
    assert (receipt.counts.memories, receipt.keys_destroyed) == (1, 1)
    await deaf.whole()


async def test_correctors_against_an_erasure(pair: Pair) -> None:
    codes: Counter[str] = Counter()
    successors: set[str] = set()
    originals: set[str] = set()
    for _ in range(3):
        results = (await pair.callers[0].write("u1", *(f"Fact {uuid4()}" for _ in range(6)))).results
        ids = [result.memory.memory_id for result in results]
        originals |= set(ids)

        async def correct(number: int, memory_id: str) -> None:
            try:
                answer = await pair.callers[number % 2].supersede(memory_id, f"Corrected {uuid4()}")
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1
            else:
                codes["OK"] += 1
                successors.add(answer.memory.memory_id)

        jobs = [correct(number, memory_id) for number, memory_id in enumerate(ids * 2)]
        receipts = await _everything([*jobs, pair.callers[1].erase_subject("u1")])
        assert receipts[-1].state == COMPLETE
    assert codes.keys() <= {"OK", "ABORTED", "FAILED_PRECONDITION", "NOT_FOUND"}
    gone = {str(row["memory_id"]) for row in pair.rows("tombstone")}
    live = {str(row["memory_id"]) for row in pair.rows("memory")}
    assert live == set()
    assert gone == originals | successors
    await pair.whole()


async def test_erasures_of_the_same_things_at_once(pair: Pair) -> None:
    one, other = pair.callers
    public = await pair.services[0].key_store.public_keys()
    for _ in range(3):
        results = (await one.write("u1", *(f"Fact {uuid4()}" for _ in range(12)))).results
        ids = [result.memory.memory_id for result in results]
        everything = filter_pb2.MemoryFilter(kinds=[memory_pb2.MEMORY_KIND_FACT])
        receipts = await _everything(
            [
                one.erase_subject("u1"),
                other.erase_subject("u1"),
                one.erase_memories(*ids),
                other.erase_memories(*ids[:6]),
                other.erase_memories(*reversed(ids)),
                one.erase_filter("u1", everything),
                other.erase_filter("u1", everything),
            ]
        )
        assert {receipt.state for receipt in receipts} == {COMPLETE}
        assert sum(receipt.counts.memories for receipt in receipts) == 12
        assert len({receipt.erasure_id for receipt in receipts}) == len(receipts)
        for receipt in receipts:
            assert verify_receipt(public[receipt.signing_key_id], receipt.signed_bytes, receipt.signature)
            count = pair.rows("tombstone", "erasure_id = %s", receipt.erasure_id)
            assert len(count) == receipt.counts.memories
            facts = json.loads(receipt.signed_bytes)
            assert facts["counts"]["memories"] == receipt.counts.memories
    await pair.whole()


async def test_first_writers_against_an_erasure_of_a_subject_that_is_just_beginning(pair: Pair) -> None:
    """Before the first row of a subject there is nothing to lock but what the erasure makes."""
    for turn in range(12):
        subject = f"newcomer {turn}"
        codes = await _everything(
            [
                outcome(pair.callers[0].write(subject, "First")),
                outcome(pair.callers[1].erase_subject(subject)),
                outcome(pair.callers[1].write(subject, "Second")),
                outcome(pair.callers[0].erase_subject(subject)),
            ]
        )
        assert set(codes) <= {"OK", "ABORTED"}, codes
        assert set((await _listed(pair.callers[0], subject)).values()) <= {"First", "Second"}
    await pair.whole()


# --- request ids -----------------------------------------------------------------------------------------


def _conflicting(
    mark: str, turn: int, target: str, other: str
) -> dict[str, Callable[[Caller], Awaitable[Any]]]:
    """Requests of all kinds that carry one id."""

    def write(number: int) -> Callable[[Caller], Awaitable[Any]]:
        return lambda caller: caller.write(f"s{number}", f"P {number} {turn}", request_id=mark)

    return {
        **{f"write {number}": write(number) for number in range(4)},
        "supersede": lambda caller: caller.supersede(target, f"Replaced {turn}", request_id=mark),
        "erase": lambda caller: caller.erase_memories(other, request_id=mark),
        "erase all": lambda caller: caller.erase_subject("target", request_id=mark),
    }


async def test_of_different_requests_with_one_id_one_is_done(pair: Pair) -> None:
    for turn in range(4):
        mark = request_id()
        results = (await pair.callers[0].write("target", f"Target {turn}", f"Other {turn}")).results
        calls = _conflicting(mark, turn, *(result.memory.memory_id for result in results))
        jobs = [(name, call(caller)) for name, call in calls.items() for caller in pair.callers for _ in "ab"]
        random.shuffle(jobs)
        codes = await _everything([outcome(job) for _, job in jobs])
        done = {name for (name, _), code in zip(jobs, codes, strict=True) if code == "OK"}
        assert len(done) == 1, done
        assert {code for (name, _), code in zip(jobs, codes, strict=True) if name not in done} <= {
            "ALREADY_EXISTS",
            "NOT_FOUND",
            "FAILED_PRECONDITION",
        }
        assert [code for (name, _), code in zip(jobs, codes, strict=True) if name in done] == ["OK"] * 4
        (row,) = pair.rows("idempotency", "request_id = %s", mark)
        assert row["method"].lower() == min(done).split(" ")[0]
    await pair.whole()


async def test_a_repetition_beside_the_erasure_of_what_was_written_brings_nothing_back(pair: Pair) -> None:
    for turn in range(4):
        mark = request_id()
        call = lambda caller, text=f"Fact {turn}", mark=mark: caller.write("u1", text, request_id=mark)  # noqa: E731
        memory_id = (await call(pair.callers[0])).results[0].memory.memory_id
        codes = await _everything(
            [
                *(outcome(call(caller)) for caller in pair.callers for _ in "abc"),
                outcome(pair.callers[turn % 2].erase_subject("u1")),
                *(outcome(call(caller)) for caller in pair.callers for _ in "abc"),
            ]
        )
        assert set(codes) <= {"OK", "FAILED_PRECONDITION"}
        for caller in pair.callers:
            await refused(call(caller), "FAILED_PRECONDITION", "MEMORY_ERASED")
            assert (await caller.get(memory_id)).memory.state == memory_pb2.MEMORY_STATE_ERASED
        assert pair.rows("memory") == []
    await pair.whole()


# --- a key store or a process that dies in the middle -------------------------------------------------


async def _erasure(caller: Caller, erasure_id: str) -> erasure_pb2.ErasureReceipt:
    request = memory_service_pb2.GetErasureRequest(erasure_id=erasure_id)
    return (await caller.call("GetErasure", request)).receipt


async def _epoch_of(pair: Pair, subject: str) -> tuple[UUID, UUID, int]:
    tenant_id = pair.services[0].tenant_id(pair.tenant)
    key = await pair.services[0].service.keys.tenant(tenant_id)
    scope_id = key.scope_id(1, subject)
    (row,) = pair.rows("scope", "scope_id = %s", scope_id)
    return tenant_id, scope_id, row["key_epoch"]


async def test_an_outage_of_the_key_store_leaves_a_pending_erasure_that_somebody_else_finishes(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair.callers
    (memory_id,) = [r.memory.memory_id for r in (await one.write("u1", "Secret")).results]
    tenant_id, scope_id, epoch = await _epoch_of(pair, "u1")
    store = pair.services[0].key_store

    async def away(*_: Any) -> int:
        raise KeyStoreUnavailable("away")

    monkeypatch.setattr(store, "destroy_scope_keys", away)
    mark = request_id()
    receipt = await one.erase_subject("u1", request_id=mark)
    assert receipt.state == PENDING
    assert (receipt.counts.memories, receipt.keys_destroyed) == (1, 0)
    assert not receipt.signature
    assert not receipt.HasField("complete_time")
    for caller in (one, other):
        assert await _erasure(caller, receipt.erasure_id) == receipt
        assert (await caller.recall("u1", "Secret", min_score=0.0)).no_relevant_memory
        assert (await caller.get(memory_id)).memory.state == memory_pb2.MEMORY_STATE_ERASED
    # The truth: the key is still there.
    assert (await pair.services[1].key_store.scope_key(tenant_id, scope_id, epoch)).epoch == epoch
    # Life goes on under the next key, which the erasure must not take along.
    (again,) = (await other.write("u1", "Written meanwhile")).results
    assert await pair.services[0].service.upkeep.finish_pending_erasures() >= 1
    assert (await _erasure(one, receipt.erasure_id)).state == PENDING
    async with running_service(pair.database, keys_folder=pair.keys) as fresh:
        caller = Caller(fresh.channel, pair.tenant, one.key)
        for _ in range(100):
            finished = await _erasure(caller, receipt.erasure_id)
            if finished.state == COMPLETE:
                break
            await asyncio.sleep(0.05)
    assert finished.state == COMPLETE
    assert finished.keys_destroyed == 1
    public = await pair.services[1].key_store.public_keys()
    assert verify_receipt(public[finished.signing_key_id], finished.signed_bytes, finished.signature)
    assert finished.erasure_id == receipt.erasure_id
    with pytest.raises(ScopeKeyDestroyed):
        await pair.services[1].key_store.scope_key(tenant_id, scope_id, epoch)
    for caller in (one, other):
        assert await _erasure(caller, receipt.erasure_id) == finished
        assert (await caller.get(again.memory.memory_id)).memory.content == "Written meanwhile"
        repeated = await caller.erase_subject("u1", request_id=mark)
        assert repeated == finished
    monkeypatch.undo()
    await pair.whole()


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("moment", ["before the keys are destroyed", "after they were destroyed"])
async def test_a_process_killed_between_commit_and_receipt_is_made_up_for(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    one, other = pair.callers
    await one.write("u1", "Secret")
    tenant_id, scope_id, epoch = await _epoch_of(pair, "u1")
    store = pair.services[0].key_store
    real = store.destroy_scope_keys

    async def killed(*place: Any) -> int:
        if moment.startswith("after"):
            await real(*place)
        raise Killed

    monkeypatch.setattr(store, "destroy_scope_keys", killed)
    mark = request_id()
    assert await outcome(one.erase_subject("u1", request_id=mark)) != "OK"
    monkeypatch.undo()
    (row,) = pair.rows("erasure")
    assert row["state"] == 1
    erasure_id = str(row["erasure_id"])
    # Nothing is served, and the receipt says that it is not done, whatever has become of the key.
    assert (await other.recall("u1", "Secret", min_score=0.0)).no_relevant_memory
    assert (await _erasure(other, erasure_id)).state == PENDING
    repeated = await other.erase_subject("u1", request_id=mark)
    assert (repeated.erasure_id, repeated.state) == (erasure_id, PENDING)
    assert await pair.services[1].service.upkeep.finish_pending_erasures() == 0
    finished = await _erasure(other, erasure_id)
    assert (finished.state, finished.counts.memories, finished.keys_destroyed) == (COMPLETE, 1, 1)
    assert await other.erase_subject("u1", request_id=mark) == finished
    with pytest.raises(ScopeKeyDestroyed):
        await store.scope_key(tenant_id, scope_id, epoch)
    await pair.whole()


async def test_without_its_key_store_the_service_says_so_and_changes_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = pair.callers
    memory_id = (await one.write("u1", "Secret")).results[0].memory.memory_id
    store = pair.services[0].key_store
    pair.services[0].service.keys.drop_all()
    before = snapshot(pair.services[0], pair.tenant)

    async def away(*_: Any, **__: Any) -> Any:
        raise KeyStoreUnavailable("away")

    for name in ("scope_key", "newest_scope_key", "tenant_key", "destroy_scope_keys", "signing_key"):
        monkeypatch.setattr(store, name, away)
    for call in (
        one.write("u1", "More"),
        one.recall("u1", "Secret"),
        one.get(memory_id),
        one.supersede(memory_id, "Other"),
        one.erase_subject("u1"),
        one.erase_memories(memory_id),
    ):
        await refused(call, "UNAVAILABLE", "KEY_STORE_UNAVAILABLE")
    monkeypatch.undo()
    assert snapshot(pair.services[0], pair.tenant) == before
    assert await one.contents("u1", "Secret") == ["Secret"]
    await pair.whole()


async def test_callers_that_hang_up_leave_nothing_half_done(pair: Pair) -> None:
    """Calls cancelled at every moment: what is stored is whole, and can be repeated."""
    done: list[str] = []
    for turn in range(38):
        caller = pair.callers[turn % 2]
        mark = request_id()

        def call(caller: Caller = caller, turn: int = turn, mark: str = mark) -> Awaitable[Any]:
            if turn % 4 == 3:
                return caller.erase_subject("u1", request_id=mark)
            return caller.write("u1", f"Fact {turn}", f"More {turn}", request_id=mark)

        job = asyncio.ensure_future(call())
        await asyncio.sleep(random.uniform(0, 0.03))
        job.cancel()
        with suppress(asyncio.CancelledError):
            await job
            done.append(mark)
        for _ in range(20):
            # A call that was hung up on may still be ending.
            if await outcome(call()) == "OK":
                break
            await asyncio.sleep(0.02)
        else:
            raise AssertionError("a repeated call was not answered")
    for service in pair.services:
        await service.service.upkeep.finish_pending_erasures()
    rows = Counter(row["content_ct"] for row in pair.rows("memory"))
    assert all(count == 1 for count in rows.values())
    contents = list((await _listed(pair.callers[0], "u1")).values())
    assert sorted(contents) == sorted(f"{word} {turn}" for turn in (36, 37) for word in ("Fact", "More"))
    await pair.whole()


async def test_connections_that_die_lose_no_acknowledged_write(pair: Pair) -> None:
    codes: Counter[str] = Counter()
    written: set[str] = set()
    alive = asyncio.Event()
    killed = 0

    async def write(number: int) -> None:
        for turn in range(15):
            try:
                answer = await pair.callers[number % 2].write("u1", f"Fact {number} {turn}")
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1
            else:
                codes["OK"] += 1
                written.add(answer.results[0].memory.memory_id)
                alive.set()

    async def kill() -> None:
        # Again and again after a write that went well: else new connections might all be ended, and nothing
        # but that be seen.
        nonlocal killed
        while True:
            await alive.wait()
            alive.clear()
            for _ in range(50):
                ended = pair.database.rows(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'muniment_app'"
                    " AND datname = current_database() AND state <> 'idle' AND xact_start IS NOT NULL LIMIT 2"
                )
                if ended:
                    killed += 1
                    break
                await asyncio.sleep(0.002)

    killing = asyncio.create_task(kill())
    await _everything([write(number) for number in range(4)])
    killing.cancel()
    await asyncio.wait([killing])
    assert killed > 1
    assert codes.keys() <= {"OK", "UNAVAILABLE", "ABORTED"}, codes
    assert codes["OK"] > 1
    live = {str(row["memory_id"]) for row in pair.rows("memory")}
    # A commit whose answer was lost is stored too; one that was acknowledged always is.
    assert written <= live
    assert len(live) <= 60
    async with asyncio.timeout(30):
        while await outcome(pair.callers[0].recall("u1", "Fact")) != "OK":  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.1)
    await pair.whole()
