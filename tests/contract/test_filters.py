"""Filters: each condition does what it says on every call that takes one, or the call is refused."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from contract.stored import Stored, refused
from muniment_server._gen.muniment.v1 import erasure_pb2, filter_pb2, memory_pb2, memory_service_pb2
from support.service import Caller, RunningService, item, scope, violations

pytestmark = pytest.mark.asyncio(loop_scope="module")

Value = bool | float | str


def _value(value: Value) -> memory_pb2.PropertyValue:
    if isinstance(value, bool):
        return memory_pb2.PropertyValue(bool_value=value)
    if isinstance(value, str):
        return memory_pb2.PropertyValue(string_value=value)
    return memory_pb2.PropertyValue(number_value=value)


def _where(**operator: Any) -> filter_pb2.MemoryFilter:
    return filter_pb2.MemoryFilter(properties=[filter_pb2.PropertyCondition(key="priority", **operator)])


async def _found(caller: Caller, restriction: filter_pb2.MemoryFilter) -> set[str]:
    """The memories that all three calls with a filter agree on, by their slots."""
    recalled = await caller.recall("u1", "Task", filter=restriction, limit=200, min_score=0.0)
    listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), filter=restriction, page_size=1000)
    listed = (await caller.call("ListMemories", listing)).memories
    dry = await caller.erase_filter("u1", restriction, validate_only=True)
    ids = {one.memory_id for one in listed}
    assert {one.memory.memory_id for one in recalled.memories} == ids
    assert set(dry.sample_memory_ids) == ids
    assert dry.counts.memories == len(ids)
    return {one.slot for one in listed}


async def _three_tasks(caller: Caller) -> None:
    for number, tag in ((2, "a"), (9, "b"), (10, "c'%_")):
        task = item(
            f"Task of priority {number}",
            slot=str(number),
            tags=[tag],
            properties={"priority": _value(number)},
        )
        await caller.write("u1", task)


@pytest.mark.parametrize(
    ("restriction", "expected"),
    [
        (_where(range=filter_pb2.NumberRange(gte=9)), {"9", "10"}),
        (_where(range=filter_pb2.NumberRange(gt=9)), {"10"}),
        (_where(range=filter_pb2.NumberRange(lt=9)), {"2"}),
        (_where(range=filter_pb2.NumberRange(lte=9)), {"2", "9"}),
        (_where(range=filter_pb2.NumberRange(gt=2, lt=10)), {"9"}),
        (_where(range=filter_pb2.NumberRange(gte=9.5, lte=10)), {"10"}),
        (_where(range=filter_pb2.NumberRange(gte=-1e308, lt=1e308)), {"2", "9", "10"}),
        (_where(range=filter_pb2.NumberRange(gt=10)), set()),
        (_where(any_of=filter_pb2.PropertyValues(values=[_value(2), _value(10)])), {"2", "10"}),
        (_where(any_of=filter_pb2.PropertyValues(values=[_value("2"), _value(10)])), {"10"}),
        (_where(equals=_value(9)), {"9"}),
        (_where(equals=_value("9")), set()),
        (_where(not_equals=_value(9)), {"2", "10"}),
        (_where(not_equals=_value("9")), {"2", "9", "10"}),
        (_where(not_equals=_value(True)), {"2", "9", "10"}),
        (_where(exists=True), {"2", "9", "10"}),
        (_where(exists=False), set()),
        (filter_pb2.MemoryFilter(tags_none=["a"]), {"9", "10"}),
        (filter_pb2.MemoryFilter(tags_any=["c'%_"]), {"10"}),
        (filter_pb2.MemoryFilter(tags_any=["a", "b"]), {"2", "9"}),
        (filter_pb2.MemoryFilter(tags_all=["a", "b"]), set()),
        (filter_pb2.MemoryFilter(tags_any=["%"]), set()),
        (filter_pb2.MemoryFilter(tags_any=["A"]), set()),
        (filter_pb2.MemoryFilter(tags_none=["zzz"]), {"2", "9", "10"}),
    ],
    ids=lambda value: str(value).replace("\n", " ")[:70],
)
async def test_priorities_and_tags(
    caller: Caller, stored: Stored, restriction: filter_pb2.MemoryFilter, expected: set[str]
) -> None:
    await _three_tasks(caller)
    assert await _found(caller, restriction) == expected
    assert len(stored.live()) == 3


async def test_a_key_that_no_memory_has_never_widens(caller: Caller) -> None:
    await _three_tasks(caller)
    for operator, expected in (
        ({"equals": _value(2)}, set()),
        ({"any_of": filter_pb2.PropertyValues(values=[_value(2)])}, set()),
        ({"range": filter_pb2.NumberRange(gte=-1e9)}, set()),
        ({"exists": True}, set()),
        ({"exists": False}, {"2", "9", "10"}),
        ({"not_equals": _value(2)}, {"2", "9", "10"}),
    ):
        condition = filter_pb2.PropertyCondition(key="priorities", **operator)
        assert await _found(caller, filter_pb2.MemoryFilter(properties=[condition])) == expected, operator


VALUES: list[Value] = [
    2.0, 9.0, 10.0, -0.0, 0.5, 1e15, 2.0**53, 1e-300, "2", "10", "", "a", "A", "true", "c'%_", 'q"\\n', "é🤷",
    "2025-01-01", True, False,
]  # fmt: skip
KEYS = ["priority", "p2", "null"]


def _same(one: Value | None, other: Value) -> bool:
    return type(one) is type(other) and one == other


def _random_condition(chance: random.Random) -> tuple[filter_pb2.PropertyCondition, Callable[..., bool]]:
    key = chance.choice(KEYS)
    wanted = chance.choice(VALUES)
    some = chance.sample(VALUES, 3)
    low, high = sorted(chance.sample([-1.0, 0.0, 0.5, 2.0, 9.0, 9.5, 10.0, 1e15], 2))
    condition = filter_pb2.PropertyCondition(key=key)
    match chance.choice(["equals", "not_equals", "any_of", "range", "exists"]):
        case "equals":
            condition.equals.CopyFrom(_value(wanted))
            return condition, lambda has: _same(has.get(key), wanted)
        case "not_equals":
            condition.not_equals.CopyFrom(_value(wanted))
            return condition, lambda has: not _same(has.get(key), wanted)
        case "any_of":
            condition.any_of.values.extend(map(_value, some))
            return condition, lambda has: any(_same(has.get(key), one) for one in some)
        case "range":
            condition.range.gt, condition.range.lte = low, high
            return condition, lambda has: type(has.get(key)) is float and low < has[key] <= high
        case _:
            condition.exists = chance.random() < 0.5
            return condition, lambda has, sign=condition.exists: (key in has) == sign


async def test_random_conditions_agree_with_a_plain_reading(caller: Caller, stored: Stored) -> None:
    chance = random.Random(20250725)
    has: dict[str, dict[str, Value]] = {}
    tasks = []
    for number in range(60):
        chosen = chance.sample(KEYS, chance.randint(0, len(KEYS)))
        has[str(number)] = {key: chance.choice(VALUES) for key in chosen}
        properties = {key: _value(value) for key, value in has[str(number)].items()}
        tasks.append(item(f"Task {number}", slot=str(number), properties=properties))
    await caller.write("u1", *tasks)
    assert stored.count("memory") == 60
    for _ in range(60):
        pairs = [_random_condition(chance) for _ in range(chance.randint(1, 3))]
        restriction = filter_pb2.MemoryFilter(properties=[condition for condition, _ in pairs])
        expected = {slot for slot, properties in has.items() if all(holds(properties) for _, holds in pairs)}
        assert await _found(caller, restriction) == expected, restriction


def _time(day: int, hour: int = 0) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime(2025, 7, day, hour, tzinfo=UTC))
    return stamp


def _range(start: Timestamp | None, end: Timestamp | None) -> filter_pb2.TimeRange:
    return filter_pb2.TimeRange(start_time=start, end_time=end)


@pytest.mark.parametrize(
    ("restriction", "expected"),
    [
        ({"valid_at": _time(12)}, {"10-15", "-15", "10-", "always"}),
        ({"valid_at": _time(10)}, {"10-15", "-15", "10-", "always"}),
        ({"valid_at": _time(15)}, {"10-", "always"}),
        ({"valid_at": _time(9, 23)}, {"-15", "always"}),
        ({"valid_time": _range(_time(15), None)}, {"10-", "always"}),
        ({"valid_time": _range(None, _time(10))}, {"-15", "always"}),
        ({"valid_time": _range(_time(14), _time(16))}, {"10-15", "-15", "10-", "always"}),
        ({"valid_start_time": _range(_time(10), _time(11))}, {"10-15", "10-"}),
        ({"valid_start_time": _range(_time(9), _time(10))}, set()),
        ({"valid_start_time": _range(None, _time(11))}, {"10-15", "10-"}),
        ({"create_time": _range(_time(1), _time(2))}, set()),
        ({"create_time": _range(_time(1), None)}, {"10-15", "-15", "10-", "always"}),
    ],
    ids=lambda value: str(value).replace("\n", " ")[:60],
)
async def test_conditions_on_time(caller: Caller, restriction: dict[str, Any], expected: set[str]) -> None:
    bounds: dict[str, tuple[Timestamp | None, Timestamp | None]] = {
        "10-15": (_time(10), _time(15)),
        "-15": (None, _time(15)),
        "10-": (_time(10), None),
        "always": (None, None),
    }
    for slot, (start, end) in bounds.items():
        validity = memory_pb2.Validity(start_time=start, end_time=end)
        await caller.write("u1", item(f"Task {slot}", slot=slot, validity=validity))
    assert await _found(caller, filter_pb2.MemoryFilter(**restriction)) == expected


async def test_kinds_slots_sources_trust_and_sessions(shared: RunningService, caller: Caller) -> None:
    tool = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_TOOL, session="s_1")
    user = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED, session="sx1")
    await caller.write(
        "u1",
        item("Task one", memory_pb2.MEMORY_KIND_EVENT, slot="one", provenance=tool),
        item("Task two", memory_pb2.MEMORY_KIND_RULE, slot="two", provenance=user),
        item("Task three", memory_pb2.MEMORY_KIND_FACT, slot="three"),
    )
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"kinds": ["MEMORY_KIND_EVENT", "MEMORY_KIND_FACT"]}, {"one", "three"}),
        ({"slots": ["two", "t%"]}, {"two"}),
        ({"source_types": ["SOURCE_TYPE_TOOL"]}, {"one"}),
        ({"min_trust": "TRUST_LEVEL_MEDIUM"}, {"two", "three"}),
        ({"min_trust": "TRUST_LEVEL_CONFIRMED"}, set()),
        ({"sessions": ["s_1"]}, {"one"}),
        ({"sessions": ["s%"]}, set()),
        ({"kinds": ["MEMORY_KIND_EVENT"], "min_trust": "TRUST_LEVEL_HIGH"}, set()),
    ]
    for fields, expected in cases:
        assert await _found(caller, filter_pb2.MemoryFilter(**fields)) == expected, fields


async def test_states_must_be_asked_for(caller: Caller, stored: Stored) -> None:
    old = (await caller.write("u1", item("Task one", slot="one"))).results[0].memory.memory_id
    new = (await caller.supersede(old, "Task two")).memory.memory_id
    for states, expected in (
        ([], {new}),
        (["MEMORY_STATE_ACTIVE"], {new}),
        (["MEMORY_STATE_SUPERSEDED"], {old}),
        (["MEMORY_STATE_ACTIVE", "MEMORY_STATE_SUPERSEDED"], {old, new}),
        (["MEMORY_STATE_QUARANTINED"], set()),
    ):
        restriction = filter_pb2.MemoryFilter(states=states)
        recalled = await caller.recall("u1", "Task", filter=restriction, min_score=0.0)
        assert {one.memory.memory_id for one in recalled.memories} == expected
        listing = memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), filter=restriction)
        assert {one.memory_id for one in (await caller.call("ListMemories", listing)).memories} == expected
    everything = filter_pb2.MemoryFilter(kinds=["MEMORY_KIND_FACT"])
    assert (await caller.erase_filter("u1", everything)).counts.memories == 2
    assert stored.count("memory") == 0


BROKEN: dict[str, tuple[filter_pb2.MemoryFilter | bytes, str]] = {
    "no operator": (_where(), "properties[0].operator"),
    "unknown operator": (bytes.fromhex("f2010d0a087072696f72697479f80101"), "properties[0].operator"),
    "unknown condition": (bytes.fromhex("ca0300"), ""),
    "bad key": (
        filter_pb2.MemoryFilter(properties=[filter_pb2.PropertyCondition(key="a.b", exists=True)]),
        "properties[0].key",
    ),
    "no bound": (_where(range=filter_pb2.NumberRange()), "properties[0].range"),
    "bounds the wrong way": (_where(range=filter_pb2.NumberRange(gte=3, lt=2)), "properties[0].range"),
    "nan": (_where(range=filter_pb2.NumberRange(gte=float("nan"))), "properties[0].range.gte"),
    "infinite": (_where(range=filter_pb2.NumberRange(lte=float("inf"))), "properties[0].range.lte"),
    "nothing to equal": (_where(equals=memory_pb2.PropertyValue()), "properties[0].equals.value"),
    "none of nothing": (_where(any_of=filter_pb2.PropertyValues()), "properties[0].any_of.values"),
    "unknown kind": (filter_pb2.MemoryFilter(kinds=[99]), "kinds[0]"),  # type: ignore[list-item]
    "unknown state": (filter_pb2.MemoryFilter(states=[99]), "states[0]"),  # type: ignore[list-item]
    "tombstones": (filter_pb2.MemoryFilter(states=["MEMORY_STATE_ERASED"]), "states[0]"),
    "unset state": (filter_pb2.MemoryFilter(states=[0]), "states[0]"),  # type: ignore[list-item]
    "unknown source": (filter_pb2.MemoryFilter(source_types=[99]), "source_types[0]"),  # type: ignore[list-item]
    "unknown trust": (filter_pb2.MemoryFilter(min_trust=99), "min_trust"),  # type: ignore[arg-type]
    "empty tag": (filter_pb2.MemoryFilter(tags_none=[""]), "tags_none[0]"),
    "doubled tag": (filter_pb2.MemoryFilter(tags_any=["a", "a"]), "tags_any"),
    "unbounded time": (filter_pb2.MemoryFilter(create_time=filter_pb2.TimeRange()), "create_time"),
    "time the wrong way": (filter_pb2.MemoryFilter(valid_time=_range(_time(2), _time(1))), "valid_time"),
    "empty time": (filter_pb2.MemoryFilter(valid_time=_range(_time(2), _time(2))), "valid_time"),
    "too many tags": (filter_pb2.MemoryFilter(tags_any=[str(number) for number in range(33)]), "tags_any"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_not_understood_is_refused_and_never_ignored(
    caller: Caller, stored: Stored, name: str
) -> None:
    await _three_tasks(caller)
    given, field = BROKEN[name]
    restriction = given if not isinstance(given, bytes) else filter_pb2.MemoryFilter.FromString(given)
    target = erasure_pb2.ErasureTarget(filter=erasure_pb2.FilterTarget(scope=scope("u1"), filter=restriction))
    requests: dict[str, tuple[Any, str]] = {
        "Recall": (
            memory_service_pb2.RecallRequest(scope=scope("u1"), query="Task", filter=restriction),
            "filter",
        ),
        "ListMemories": (
            memory_service_pb2.ListMemoriesRequest(scope=scope("u1"), filter=restriction),
            "filter",
        ),
        "Erase": (memory_service_pb2.EraseRequest(target=target), "target.filter.filter"),
    }
    for method, (request, path) in requests.items():
        error = await refused(caller.call(method, request), "INVALID_ARGUMENT", "INVALID_REQUEST")
        assert f"{path}.{field}".rstrip(".") in violations(error), method
    assert len(stored.live()) == 3


async def test_a_recent_record_is_found_by_its_time(caller: Caller) -> None:
    written = (await caller.write("u1", item("Task", slot="now"))).results[0].memory
    at = written.create_time.ToDatetime(UTC)
    start, end = Timestamp(), Timestamp()
    start.FromDatetime(at)
    end.FromDatetime(at + timedelta(microseconds=1))
    inside = filter_pb2.MemoryFilter(create_time=_range(start, end))
    assert await _found(caller, inside) == {"now"}
    assert await _found(caller, filter_pb2.MemoryFilter(create_time=_range(None, start))) == set()
    assert await _found(caller, filter_pb2.MemoryFilter(create_time=_range(end, None))) == set()
