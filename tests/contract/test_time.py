"""Instants: the same everywhere, to the microsecond, whatever zones the machines are in."""

import os
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import filter_pb2, memory_pb2, memory_service_pb2
from support.clock import MovableClock
from support.postgres import PostgresDatabase
from support.service import EVENT, Caller, RunningService, item, running_service, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLOCK = MovableClock()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database: PostgresDatabase) -> AsyncIterator[RunningService]:
    """A service in Los Angeles on a database in Kolkata."""
    module_database.execute(f"ALTER DATABASE {module_database.name} SET timezone = 'Asia/Kolkata'")
    module_database.close()
    assert module_database.row("SHOW timezone")["TimeZone"] == "Asia/Kolkata"
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/Los_Angeles"
    time.tzset()
    try:
        async with running_service(module_database, clock=CLOCK) as running:
            yield running
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def _stamp(text: str) -> Timestamp:
    stamp = Timestamp()
    stamp.FromJsonString(text)
    return stamp


def _event(content: str, start: Timestamp | None, end: Timestamp | None = None) -> Any:
    return item(content, EVENT, validity=memory_pb2.Validity(start_time=start, end_time=end))


async def test_an_event_is_found_on_its_day_and_not_on_the_day_before(caller: Caller, stored: Stored) -> None:
    at = _stamp("2025-07-25T02:00:00Z")
    memory_id = (await caller.write("u1", _event("Trip to Lyon", at))).results[0].memory.memory_id
    assert stored.memory(memory_id)["valid_from"] == datetime(2025, 7, 25, 2, tzinfo=UTC)
    assert (await caller.get(memory_id)).memory.validity.start_time == at
    for first, last, found in (
        ("2025-07-25", "2025-07-26", True),
        ("2025-07-24", "2025-07-25", False),
        ("2025-07-26", "2025-07-27", False),
    ):
        day = filter_pb2.TimeRange(
            start_time=_stamp(f"{first}T00:00:00Z"), end_time=_stamp(f"{last}T00:00:00Z")
        )
        answer = await caller.recall("u1", "trip", filter={"valid_start_time": day})
        assert bool(answer.memories) == found, first
        if found:
            assert answer.memories[0].memory.validity.start_time == at


async def test_nanoseconds_are_cut_to_microseconds_alike_in_every_answer(
    caller: Caller, stored: Stored
) -> None:
    given = Timestamp(seconds=1_753_408_800, nanos=123_456_789)
    kept = Timestamp(seconds=1_753_408_800, nanos=123_456_000)
    soon = Timestamp(seconds=4_000_000_000, nanos=999_999_999)
    written = (
        (
            await caller.write(
                "u1", item("Trip", EVENT, validity=memory_pb2.Validity(start_time=given), expire_time=soon)
            )
        )
        .results[0]
        .memory
    )
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"))
    seen = [
        written,
        (await caller.get(written.memory_id)).memory,
        (await caller.recall("u1", "trip")).memories[0].memory,
        (await caller.call("ListMemories", listing)).memories[0],
    ]
    for one in seen:
        assert one.validity.start_time == kept
        assert one.expire_time == Timestamp(seconds=4_000_000_000, nanos=999_999_000)
        assert one.create_time == written.create_time
        assert one.create_time.nanos % 1_000 == 0
    trail = await caller.call("Audit", memory_service_pb2.AuditRequest(filter={"actions": [1]}))
    assert trail.events[0].event_time == written.create_time
    assert stored.memory(written.memory_id)["valid_from"].microsecond == 123_456


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "1582-10-10T12:00:00Z",
        "1883-11-18T12:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00Z",
        "2025-03-09T10:30:00Z",
        "2025-11-02T09:30:00.000001Z",
        "9999-12-31T23:59:59.999999Z",
    ],
)
async def test_instants_from_year_1_to_9999_come_back(caller: Caller, stored: Stored, text: str) -> None:
    at = _stamp(text)
    memory_id = (await caller.write("u1", _event("Something happened", at))).results[0].memory.memory_id
    assert (await caller.get(memory_id)).memory.validity.start_time == at
    answer = await caller.recall("u1", "happened", token_budget=300)
    assert answer.memories[0].memory.validity.start_time == at
    assert text[:10] in answer.packed_context.text
    inside = filter_pb2.MemoryFilter(valid_at=at)
    assert len((await caller.recall("u1", "happened", filter=inside)).memories) == 1
    if not text.startswith("0001"):
        earlier = Timestamp()
        earlier.FromMicroseconds(at.ToMicroseconds() - 1)
        outside = filter_pb2.MemoryFilter(valid_at=earlier)
        assert not (await caller.recall("u1", "happened", filter=outside)).memories
    assert (await caller.erase_filter("u1", inside)).counts.memories == 1
    assert stored.count("memory") == 0


@pytest.mark.parametrize(
    ("stamp", "field"),
    [
        (Timestamp(seconds=-62_135_596_801), "items[0].validity.start_time"),
        (Timestamp(seconds=253_402_300_800), "items[0].validity.start_time"),
        (Timestamp(seconds=2**62), "items[0].validity.start_time"),
        (Timestamp(seconds=0, nanos=-1), "items[0].validity.start_time"),
        (Timestamp(seconds=0, nanos=10**9), "items[0].validity.start_time"),
        (Timestamp(seconds=0, nanos=2**31 - 1), "items[0].validity.start_time"),
    ],
)
async def test_what_is_no_instant_is_refused(
    caller: Caller, stored: Stored, stamp: Timestamp, field: str
) -> None:
    error = await refused(caller.write("u1", _event("Trip", stamp)), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == [field]
    asked = memory_service_pb2.RecallRequest(scope=scope("u1"), query="trip", filter={"valid_at": stamp})
    error = await refused(caller.call("Recall", asked), "INVALID_ARGUMENT", "INVALID_REQUEST")
    assert violations(error) == ["filter.valid_at"]
    assert stored.count("memory") == 0


async def test_a_validity_ends_after_it_begins(caller: Caller, stored: Stored) -> None:
    first, later = _stamp("2025-01-01T00:00:00Z"), _stamp("2025-01-02T00:00:00Z")
    for start, end in ((later, first), (first, first)):
        error = await refused(caller.write("u1", _event("Trip", start, end)), "INVALID_ARGUMENT")
        assert violations(error) == ["items[0].validity"]
    await caller.write("u1", _event("Trip", first, later))
    assert stored.count("memory") == 1


@pytest.mark.parametrize(("end", "stored_end"), [(100, None), (999, None), (1000, 1), (1999, 1)])
async def test_a_validity_that_the_store_would_hold_empty_is_refused(
    caller: Caller, stored: Stored, end: int, stored_end: int | None
) -> None:
    """Nanoseconds are cut: two ends within a microsecond are one instant."""
    start = Timestamp(seconds=100)
    given = _event("Trip", start, Timestamp(seconds=100, nanos=end))
    if stored_end is None:
        error = await refused(caller.write("u1", given), "INVALID_ARGUMENT", "INVALID_REQUEST")
        assert violations(error) == ["items[0].validity.end_time"]
        assert stored.count("memory") == 0
        return
    memory_id = (await caller.write("u1", given)).results[0].memory.memory_id
    row = stored.memory(memory_id)
    assert row["valid_to"] - row["valid_from"] == timedelta(microseconds=stored_end)


async def test_a_ttl_below_what_the_clock_of_the_store_holds_is_refused(
    caller: Caller, stored: Stored
) -> None:
    for nanos in (1, 999):
        short = item("Lives in Nice", ttl=Duration(nanos=nanos))
        error = await refused(caller.write("u1", short), "INVALID_ARGUMENT", "INVALID_REQUEST")
        assert violations(error) == ["items[0].ttl"]
    assert stored.count("memory") == 0
    written = await caller.write("u1", item("Lives in Nice", ttl=Duration(seconds=1, nanos=999)))
    row = stored.memory(written.results[0].memory.memory_id)
    assert row["expire_time"] - row["create_time"] == timedelta(seconds=1)


@pytest.fixture
def clock() -> Iterator[MovableClock]:
    """The service's clock, which is back in the present afterwards."""
    yield CLOCK
    CLOCK.ahead = timedelta(0)


async def _contents(caller: Caller, instant: datetime, **fields: Any) -> list[str]:
    return await caller.contents("u1", "lives", as_of_time=instant, min_score=0.0, **fields)


async def test_an_instant_between_two_versions_gives_the_first_though_it_has_expired_since(
    caller: Caller, stored: Stored, clock: MovableClock
) -> None:
    before = clock.pass_by(seconds=10)
    nice = _event("Lives in Nice", _stamp("2020-01-01T00:00:00Z"))
    nice.ttl.FromTimedelta(timedelta(minutes=20))
    old = (await caller.write("u1", nice)).results[0].memory
    between = clock.pass_by(minutes=10)
    moved = _event("Lives in Lyon", _stamp("2023-01-01T00:00:00Z"))
    new = (await caller.supersede(old.memory_id, moved)).memory
    afterwards = clock.pass_by(hours=2)
    assert stored.memory(old.memory_id)["expire_time"] < afterwards
    for instant, expected in (
        (before, []),
        (between, ["Lives in Nice"]),
        (afterwards, ["Lives in Lyon"]),
    ):
        assert await _contents(caller, instant) == expected
    # To the microsecond: the correction is known from the instant at which it was made.
    made = new.create_time.ToDatetime(UTC)
    assert await _contents(caller, made - timedelta(microseconds=1)) == ["Lives in Nice"]
    assert await _contents(caller, made) == ["Lives in Lyon"]
    # Of today's two versions only the newer is left, whatever the states asked for.
    both = filter_pb2.MemoryFilter(states=["MEMORY_STATE_ACTIVE", "MEMORY_STATE_SUPERSEDED"])
    assert await caller.contents("u1", "lives", min_score=0.0) == ["Lives in Lyon"]
    assert await caller.contents("u1", "lives", filter=both, min_score=0.0) == ["Lives in Lyon"]
    assert stored.memory(old.memory_id)["valid_to"] == datetime(2023, 1, 1, tzinfo=UTC)


async def test_an_instant_before_it_expired_gives_a_memory_that_nothing_replaced(
    caller: Caller, clock: MovableClock
) -> None:
    nice = _event("Lives in Nice", _stamp("2020-01-01T00:00:00Z"))
    nice.ttl.FromTimedelta(timedelta(minutes=20))
    expiry = (await caller.write("u1", nice)).results[0].memory.expire_time.ToDatetime(UTC)
    clock.pass_by(hours=2)
    assert await _contents(caller, expiry - timedelta(microseconds=1)) == ["Lives in Nice"]
    assert await _contents(caller, expiry) == []
    assert await caller.contents("u1", "lives", min_score=0.0) == []


async def test_what_held_at_an_instant_is_found_though_it_was_replaced(
    caller: Caller, stored: Stored
) -> None:
    old = (await caller.write("u1", _event("Lives in Nice", _stamp("2020-01-01T00:00:00Z")))).results[0]
    await caller.supersede(old.memory.memory_id, _event("Lives in Lyon", _stamp("2023-01-01T00:00:00Z")))
    both = ["MEMORY_STATE_ACTIVE", "MEMORY_STATE_SUPERSEDED"]
    for instant, expected in (
        ("2021-06-01T00:00:00Z", "Lives in Nice"),
        ("2022-12-31T23:59:59.999999Z", "Lives in Nice"),
        ("2023-01-01T00:00:00Z", "Lives in Lyon"),
        ("2024-06-01T00:00:00Z", "Lives in Lyon"),
    ):
        held = filter_pb2.MemoryFilter(states=both, valid_at=_stamp(instant))
        assert await caller.contents("u1", "lives", filter=held, min_score=0.0) == [expected], instant
    assert stored.memory(old.memory.memory_id)["valid_to"] == datetime(2023, 1, 1, tzinfo=UTC)


async def test_the_services_own_times_are_the_present(caller: Caller, stored: Stored) -> None:
    before = datetime.now(UTC)
    written = (await caller.write("u1", item("Likes tea", ttl=timedelta(hours=1)))).results[0].memory
    answer = await caller.recall("u1", "tea")
    receipt = await caller.erase_subject("u1")
    after = datetime.now(UTC)
    for stamp in (written.create_time, written.update_time, answer.read_time, receipt.create_time):
        assert before <= stamp.ToDatetime(UTC) <= after
    assert before + timedelta(hours=1) <= written.expire_time.ToDatetime(UTC) <= after + timedelta(hours=1)
    for event in stored.events():
        assert before <= event["event_time"] <= after


async def test_the_trail_is_searched_by_instants(caller: Caller) -> None:
    written = (await caller.write("u1", "Likes tea")).results[0].memory
    at = written.create_time
    after = Timestamp()
    after.FromMicroseconds(at.ToMicroseconds() + 1)
    for bounds, found in (
        ({"start_time": at, "end_time": after}, 1),
        ({"start_time": at}, 1),
        ({"end_time": at}, 0),
        ({"end_time": after}, 1),
        ({"start_time": _stamp("0001-01-01T00:00:00Z"), "end_time": at}, 0),
        ({"start_time": _stamp("9999-12-31T23:59:59Z")}, 0),
        ({"end_time": _stamp("9999-12-31T23:59:59Z")}, 1),
    ):
        asked = memory_service_pb2.AuditRequest(
            filter={"actions": [1], "event_time": filter_pb2.TimeRange(**bounds)}
        )
        assert len((await caller.call("Audit", asked)).events) == found, bounds
