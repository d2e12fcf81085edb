"""No false alarm: whatever order of ordinary acts made a store, verification finds nothing in it."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import grpc
import pytest

from muniment_server._gen.muniment.v1 import (
    filter_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    subject_pb2,
    write_pb2,
)
from muniment_server.audit.events import AuditAction
from muniment_server.audit.verify import verify
from muniment_server.domain.model import SourceType
from support.conversations import NONE, QUEUED, SYNC, USER, ingest, turn
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item, reason, running_service, scope

# A release is checked with a thousand.
HISTORIES = int(os.environ.get("HISTORIES", "60"))
SUBJECTS = ("u1", "u2")
WORDS = ("tea", "coffee", "Lyon", "harbour", "cello", "oboe", "blue", "green", "抹茶", "창고", "🤷")
ORDINARY = {"MEMORY_SUPERSEDED", "MEMORY_ERASED", "MEMORY_NOT_ACTIVE", "SLOT_CONFLICT", "MEMORY_NOT_FOUND"}
SLOTS = ("drink", "city", "")
SESSIONS = ("s1", "s2")
LEVELS = (
    subject_pb2.CONSENT_LEVEL_ALL,
    subject_pb2.CONSENT_LEVEL_ALL,
    subject_pb2.CONSENT_LEVEL_NECESSARY,
    subject_pb2.CONSENT_LEVEL_NONE,
)
SAID = ("I like {}.", "I live in {}.", "My email is {}@example.test.", "{}?", "We talked about {}.")
SOURCES = (
    memory_pb2.SOURCE_TYPE_UNSPECIFIED,
    memory_pb2.SOURCE_TYPE_USER_STATED,
    memory_pb2.SOURCE_TYPE_USER_CONFIRMED,
    memory_pb2.SOURCE_TYPE_TOOL,
)


@pytest.fixture
async def running(database: PostgresDatabase) -> AsyncIterator[RunningService]:
    async with running_service(database) as service:
        yield service


class Walk:
    """One random history of one tenant."""

    def __init__(self, caller: Caller, weak: Caller, rng: random.Random) -> None:
        self.caller, self.weak, self.rng = caller, weak, rng
        self.live: list[str] = []

    async def step(self) -> None:
        acts = [self.write] * 3 + [self.recall, self.supersede, self.erase, self.ingest, self.consent]
        await self.rng.choice(acts)()

    def note(self, *memory_ids: str) -> None:
        """Remember what there is; of what consent does not cover nothing was stored."""
        self.live += [memory_id for memory_id in memory_ids if memory_id]

    def item(self) -> write_pb2.WriteItem:
        rng = self.rng
        made = item(
            " ".join(rng.choices(WORDS, k=rng.randint(1, 6))),
            kind=rng.choice((memory_pb2.MEMORY_KIND_FACT, memory_pb2.MEMORY_KIND_PREFERENCE)),
            slot=rng.choice(SLOTS),
            tags=rng.sample(("a", "b", "c"), k=rng.randint(0, 2)),
            provenance=memory_pb2.Provenance(source_type=rng.choice(SOURCES)),
        )
        if rng.random() < 0.3:
            made.properties["priority"].number_value = rng.choice((0.0, -0.0, 1.0, 2.5, 1e300))
            made.properties["on"].bool_value = True
            made.properties["name"].string_value = "c'%_"
        if rng.random() < 0.3:
            made.expire_time.FromDatetime(datetime.now(UTC) + timedelta(days=rng.randint(1, 9)))
        if rng.random() < 0.3:
            made.validity.start_time.FromDatetime(datetime(rng.randint(1900, 2100), 1, 1, tzinfo=UTC))
        if rng.random() < 0.2:
            made.attributes["note"] = "x"
        return made

    def narrowing(self) -> dict[str, str]:
        return self.rng.choice(({}, {}, {"agent": "a1"}, {"agent": "a1", "session": "s1"}))

    async def write(self) -> None:
        items = [self.item() for _ in range(self.rng.randint(1, 4))]
        who = self.caller
        if self.rng.random() < 0.3:
            who = self.weak
            for one in items:
                one.provenance.source_type = memory_pb2.SOURCE_TYPE_TOOL
        response = await who.write(
            self.rng.choice(SUBJECTS), *items, request_id=str(uuid4()), **self.narrowing()
        )
        self.note(*(result.memory.memory_id for result in response.results))

    async def recall(self) -> None:
        answer = await self.caller.recall(
            self.rng.choice(SUBJECTS), self.rng.choice(WORDS), narrowing=self.narrowing(), token_budget=100
        )
        if answer.memories and self.rng.random() < 0.5:
            await self.caller.call(
                "ReportUse",
                memory_service_pb2.ReportUseRequest(
                    recall_id=answer.recall_id,
                    memory_ids=[one.memory.memory_id for one in answer.memories[:2]],
                ),
            )

    async def supersede(self) -> None:
        if not self.live:
            return
        one = self.item()
        who = self.weak if self.rng.random() < 0.3 else self.caller
        if who is self.weak:
            one.provenance.source_type = memory_pb2.SOURCE_TYPE_TOOL
        try:
            response = await who.supersede(self.rng.choice(self.live), one)
        except grpc.aio.AioRpcError as error:
            # Superseded already, erased, waiting for review, or the slot is another one's.
            assert reason(error) in ORDINARY  # noqa: PT017
            return
        self.note(response.memory.memory_id)

    async def ingest(self) -> None:
        rng = self.rng
        first, count = rng.randint(0, 6), rng.randint(1, 3)
        turns = [
            turn(
                number,
                rng.choice(SAID).format(rng.choice(WORDS)),
                rng.choice((USER, ingest_pb2.TURN_ROLE_AGENT)),
            )
            for number in range(first, first + count)
        ]
        try:
            answer = await ingest(
                self.caller,
                rng.choice(SUBJECTS),
                turns,
                session=rng.choice(SESSIONS),
                agent=rng.choice((None, None, "a1")),
                mode=rng.choice((SYNC, SYNC, QUEUED, NONE)),
                end_session=rng.random() < 0.5,
                request_id=str(uuid4()),
            )
        except grpc.aio.AioRpcError as error:
            # The session has something else under one of the numbers.
            if reason(error) != "TURN_CONFLICT":
                raise
            return
        self.note(
            *(one.memory_id for one in answer.turns),
            *(one.result.memory.memory_id for one in answer.extracted),
        )

    async def consent(self) -> None:
        rng = self.rng
        level = rng.choice(LEVELS)
        necessary = [memory_pb2.MEMORY_KIND_FACT] if level == subject_pb2.CONSENT_LEVEL_NECESSARY else []
        forgotten = {"forget_session": rng.choice(SESSIONS)} if rng.random() < 0.2 else {}
        await self.caller.call(
            "SetConsent",
            subject_pb2.SetConsentRequest(
                scope=scope(rng.choice(SUBJECTS)),
                level=level,
                necessary_kinds=necessary,
                erase=rng.random() < 0.5,
                request_id=str(uuid4()),
                **forgotten,
            ),
        )

    async def erase(self) -> None:
        match self.rng.randint(0, 3):
            case 0:
                await self.caller.erase_subject(self.rng.choice(SUBJECTS))
            case 1 if self.live:
                await self.caller.erase_memories(*set(self.rng.choices(self.live, k=2)))
            case 2:
                await self.caller.erase_filter(
                    self.rng.choice(SUBJECTS), filter_pb2.MemoryFilter(tags_any=["a"])
                )
            case _:
                await self.caller.erase_filter(
                    self.rng.choice(SUBJECTS),
                    filter_pb2.MemoryFilter(kinds=[memory_pb2.MEMORY_KIND_FACT], slots=["drink"]),
                )


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_ordinary_histories_are_clean(running: RunningService, database: PostgresDatabase) -> None:
    maintenance = running.service.maintenance
    assert maintenance is not None
    for number in range(HISTORIES):
        name = f"t{number}"
        caller = running.caller(name)
        walk = Walk(caller, running.caller(name, source_types=[SourceType.TOOL]), random.Random(number))
        for _ in range(walk.rng.randint(1, 9)):
            await walk.step()
        # Some are looked at while the sealer still works.
        if number % 2:
            await running.sealed()
        async for report in verify(maintenance, running.key_store, tenant=name, deep=True):
            assert report.findings == [], (number, report.findings)
    done = {
        row["action"] for row in database.rows("SELECT DISTINCT action FROM audit_event WHERE outcome = 1")
    }
    assert done >= {
        AuditAction.WRITE,
        AuditAction.SUPERSEDE,
        AuditAction.ERASE,
        AuditAction.RECALL,
        AuditAction.INGEST,
        AuditAction.SET_CONSENT,
    }
    left = database.row("SELECT count(*) FILTER (WHERE kind = 7) AS turns, count(*) AS n FROM memory")
    assert 0 < left["turns"] < left["n"]


async def test_writers_at_the_same_time_cause_no_alarm(running: RunningService) -> None:
    maintenance = running.service.maintenance
    assert maintenance is not None
    done = asyncio.Event()

    async def write(number: int) -> None:
        caller = running.caller("busy")
        walk = Walk(caller, running.caller("busy", source_types=[SourceType.TOOL]), random.Random(number))
        while not done.is_set():
            try:
                await walk.step()
            except grpc.aio.AioRpcError as error:
                # Another writer erased what this one was about to name.
                if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION):
                    raise

    running.caller("busy")
    writers = [asyncio.create_task(write(number)) for number in range(4)]
    looks = 0
    try:
        for _ in range(12):
            await asyncio.sleep(0.15)
            async for report in verify(maintenance, running.key_store, tenant="busy", deep=True):
                assert report.findings == []
                looks += 1
    finally:
        done.set()
        await asyncio.gather(*writers)
    assert looks == 12
    await running.sealed()
    async for report in verify(maintenance, running.key_store, tenant="busy", deep=True):
        assert report.findings == []
        assert report.waiting == 0
        assert report.events > 50


async def test_more_than_a_page_of_everything(running: RunningService) -> None:
    maintenance = running.service.maintenance
    assert maintenance is not None
    caller = running.caller("many")
    written: list[str] = []
    for part in range(7):
        texts = [f"Number {part * 100 + number} of many" for number in range(100)]
        written += [one.memory.memory_id for one in (await caller.write("u1", *texts)).results]
    await caller.erase_memories(*written[100:250], *written[505:520])
    for _ in range(11):
        await asyncio.gather(*(caller.recall("u1", "number") for _ in range(50)))
    await running.sealed()
    (report,) = [one async for one in verify(maintenance, running.key_store, tenant="many", deep=True)]
    assert report.findings == []
    assert (report.memories, report.vectors, report.events) == (535, 535, 7 + 1 + 550)
