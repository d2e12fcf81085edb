"""What to write and what to look for: the arguments of calls that are more than one value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypedDict

from muniment._enums import MemoryKind, MemoryState, SourceType, TrustLevel
from muniment._types import PropertyScalar, Provenance, Validity
from muniment._values import enum, enums, number, property_value, text, texts, timestamp
from muniment.v1 import filter_pb2

Interval: TypeAlias = tuple[datetime | None, datetime | None]
"""A half-open interval [start, end); None is unbounded."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector that the caller computed with the server's own model."""

    model: str
    vector: Sequence[float]


class ItemFields(TypedDict, total=False):
    """What `write` and `supersede` take beside a plain text; the meanings are those of WriteItem."""

    kind: MemoryKind | str
    slot: str
    tags: Sequence[str]
    properties: Mapping[str, PropertyScalar]
    attributes: Mapping[str, object] | None
    source: SourceType | str | Provenance | None
    validity: Validity | Interval | None
    expires: datetime | timedelta | None
    embedding: Embedding | None
    speaker: str
    turn_number: int | None
    force: bool


@dataclass(frozen=True, slots=True)
class WriteItem:
    """One statement to remember."""

    content: str
    """The text, 1 to 32768 bytes of UTF-8."""
    kind: MemoryKind | str = MemoryKind.FACT
    slot: str = ""
    """What the memory answers, for example "home_city". Writing to a slot that is held supersedes its
    holder."""
    tags: Sequence[str] = ()
    """At most 32 labels to filter by; stored in clear."""
    properties: Mapping[str, PropertyScalar] | None = None
    """At most 32 values to filter by; stored in clear."""
    attributes: Mapping[str, object] | None = None
    """Own data, encrypted with the text and not filterable: at most 8 KiB of JSON."""
    source: SourceType | str | Provenance | None = None
    """How the writer knows; None: inferred by the agent."""
    validity: Validity | Interval | None = None
    """When it is true in the world."""
    expires: datetime | timedelta | None = None
    """When recalls begin to leave it out: an instant, or how long after the write. None: never."""
    embedding: Embedding | None = None
    """The vector of the content, if it was computed already; None: the server computes it."""
    speaker: str = ""
    """Who spoke, for a turn or a quotation; at most 128 characters, encrypted with the text."""
    turn_number: int | None = None
    """Place of a turn in its session."""
    force: bool = False
    """Store it even if its importance lies below the tenant's threshold."""


@dataclass(frozen=True, slots=True)
class PropertyCondition:
    """One condition on one property; made by `Property`."""

    key: str
    operator: str
    value: Any

    def __bool__(self) -> bool:
        # `2 <= Property("x") <= 9` would silently drop its first half.
        raise TypeError("a condition has no truth value; for a range use Property(key).between(low, high)")

    def message(self, field: str) -> filter_pb2.PropertyCondition:
        """For the wire."""
        made = filter_pb2.PropertyCondition(key=text(self.key, f"{field}.key"))
        name = f"{field}.{self.operator}"
        if self.operator == "exists":
            made.exists = self.value
        elif self.operator == "any_of":
            values = [property_value(each, f"{name}[{index}]") for index, each in enumerate(self.value)]
            made.any_of.values.extend(values)
        elif self.operator == "range":
            made.range.SetInParent()
            for bound, value in self.value.items():
                setattr(made.range, bound, number(value, f"{name}.{bound}"))
        else:
            getattr(made, self.operator).CopyFrom(property_value(self.value, name))
        return made


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """A property to set conditions on: `Property("priority") >= 9`, `Property("team") == "search"`.

    Values of different types are never equal. `==`, ranges and `one_of` do not match memories without
    the property; `!=` does.
    """

    key: str

    def __eq__(self, value: PropertyScalar) -> PropertyCondition:  # type: ignore[override]
        return PropertyCondition(self.key, "equals", value)

    def __ne__(self, value: PropertyScalar) -> PropertyCondition:  # type: ignore[override]
        return PropertyCondition(self.key, "not_equals", value)

    def __lt__(self, value: float) -> PropertyCondition:
        return PropertyCondition(self.key, "range", {"lt": value})

    def __le__(self, value: float) -> PropertyCondition:
        return PropertyCondition(self.key, "range", {"lte": value})

    def __gt__(self, value: float) -> PropertyCondition:
        return PropertyCondition(self.key, "range", {"gt": value})

    def __ge__(self, value: float) -> PropertyCondition:
        return PropertyCondition(self.key, "range", {"gte": value})

    __hash__ = None  # type: ignore[assignment]

    def between(self, low: float, high: float) -> PropertyCondition:
        """A number from low to high, both included."""
        return PropertyCondition(self.key, "range", {"gte": low, "lte": high})

    def one_of(self, values: Iterable[PropertyScalar]) -> PropertyCondition:
        """One of 1 to 100 values."""
        return PropertyCondition(self.key, "any_of", _several(values))

    def exists(self) -> PropertyCondition:
        """Whatever its value."""
        return PropertyCondition(self.key, "exists", True)

    def missing(self) -> PropertyCondition:
        """Memories without it."""
        return PropertyCondition(self.key, "exists", False)


def _several(values: Iterable[PropertyScalar]) -> tuple[PropertyScalar, ...]:
    if isinstance(values, str):
        raise TypeError("one_of takes a sequence of values, not str")
    return tuple(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories of a scope are meant: everything that is set must hold, an empty filter excludes
    nothing."""

    kinds: Sequence[MemoryKind | str] = ()
    states: Sequence[MemoryState | str] = ()
    """Empty: only ACTIVE in recalls and lists, every state in an erasure."""
    slots: Sequence[str] = ()
    tags_any: Sequence[str] = ()
    """At least one of these."""
    tags_all: Sequence[str] = ()
    """Every one of these."""
    tags_none: Sequence[str] = ()
    """None of these."""
    source_types: Sequence[SourceType | str] = ()
    min_trust: TrustLevel | str | None = None
    sessions: Sequence[str] = ()
    """Said in one of these sessions (the session of the source)."""
    properties: Sequence[PropertyCondition] = ()
    """Conditions made with `Property`; every one must hold."""
    create_time: Interval | None = None
    """Recorded in this range."""
    valid_time: Interval | None = None
    """True at some instant of this range."""
    valid_start_time: Interval | None = None
    """Happened or began in this range."""
    valid_at: datetime | None = None
    """True at this instant."""

    def message(self, field: str = "filter") -> filter_pb2.MemoryFilter:
        """For the wire."""
        made = filter_pb2.MemoryFilter(
            kinds=enums(MemoryKind, self.kinds, f"{field}.kinds"),
            states=enums(MemoryState, self.states, f"{field}.states"),
            slots=texts(self.slots, f"{field}.slots"),
            tags_any=texts(self.tags_any, f"{field}.tags_any"),
            tags_all=texts(self.tags_all, f"{field}.tags_all"),
            tags_none=texts(self.tags_none, f"{field}.tags_none"),
            source_types=enums(SourceType, self.source_types, f"{field}.source_types"),
            sessions=texts(self.sessions, f"{field}.sessions"),
        )
        if self.min_trust is not None:
            made.min_trust = enum(TrustLevel, self.min_trust, f"{field}.min_trust")
        for index, condition in enumerate(self.properties):
            if not isinstance(condition, PropertyCondition):
                raise TypeError(f"{field}.properties[{index}] must be a condition made with Property")
            made.properties.append(condition.message(f"{field}.properties[{index}]"))
        for name in ("create_time", "valid_time", "valid_start_time"):
            interval = getattr(self, name)
            if interval is not None:
                getattr(made, name).CopyFrom(time_range(interval, f"{field}.{name}"))
        if self.valid_at is not None:
            made.valid_at.CopyFrom(timestamp(self.valid_at, f"{field}.valid_at"))
        return made


def time_range(interval: Interval, field: str) -> filter_pb2.TimeRange:
    """A range of time for the wire."""
    start, end = interval
    made = filter_pb2.TimeRange()
    if start is not None:
        made.start_time.CopyFrom(timestamp(start, f"{field}.start_time"))
    if end is not None:
        made.end_time.CopyFrom(timestamp(end, f"{field}.end_time"))
    return made
