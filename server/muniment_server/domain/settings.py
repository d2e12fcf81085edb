"""What a tenant may set for itself: numbers and choices within documented bounds, nothing else.

A setting has a dotted name (`packing.source_share`) and a value as JSON. What is not set has the default.
No setting names a subject, a space, an agent, a tenant or a filter, so none can make a recall reach
further than its request does.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from .model import MemoryKind, SourceType

KindName = Literal["preference", "rule", "fact", "summary", "event", "decision", "turn"]
SourceName = Literal["user_stated", "user_confirmed", "agent_inferred", "tool", "third_party"]
HandlingName = Literal["allow", "encrypt_only", "redact", "reject"]
VerdictName = Literal["pass", "mark", "review", "quarantine", "reject"]

Factor = Annotated[float, Field(ge=0, le=3)]
"""Multiplies what the service gives by default: 1 changes nothing, 0 switches it off."""
Share = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[float, Field(ge=1, le=36_500)]


class SettingInvalid(ValueError):
    """A name that there is none of, or a value out of bounds; the message is for people."""


class Section(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class LegFactors(Section):
    """How much each way of finding counts, against its weight in the default ranking."""

    vector: Factor = 1.0
    """nearness of meaning."""
    lexical: Factor = 1.0
    """shared words."""
    slot: Factor = 1.0
    """preferences and rules that always apply, and slots that the query names."""
    entity: Factor = 1.0
    """people and things that the query names."""
    time: Factor = 1.0
    """dates and relative times in the query."""
    neighbour: Factor = 1.0
    """turns before and after a turn."""
    session: Factor = 1.0
    """the whole session of a turn."""


class HalfLives(Section):
    """Days after which a memory of a kind has lost half of what recency gives."""

    preference: Days = 730.0
    """of a preference."""
    rule: Days = 1825.0
    """of a rule."""
    fact: Days = 730.0
    """of a fact."""
    summary: Days = 365.0
    """of a summary."""
    event: Days = 180.0
    """of an event."""
    decision: Days = 365.0
    """of a decision."""
    turn: Days = 60.0
    """of a turn of a conversation."""


class Ranking(Section):
    """How found memories are ordered."""

    min_score: Annotated[float | None, Field(ge=0, le=0.95)] = None
    """Lowest score of a relevant memory where a request asks for none; null: that of the embedding model."""
    legs: LegFactors = LegFactors()
    """How much a way of finding counts:"""
    kind: Factor = 1.0
    """What the kind of a memory adds."""
    recency: Factor = 1.0
    """What being recent adds."""
    confidence: Factor = 1.0
    """What the writer's confidence adds."""
    trust: Factor = 1.0
    """What trust adds."""
    source: Factor = 1.0
    """What the kind of source adds."""
    feedback: Factor = 1.0
    """What reported uses add."""
    half_life_days: HalfLives = HalfLives()
    """Days after which a memory has lost half of what recency gives:"""


class Packing(Section):
    """How the packed context is filled."""

    pinned_share: Share = 0.3
    """Most of the token budget that preferences and rules take that always apply, whatever was asked."""
    source_share: Annotated[float, Field(ge=0.1, le=1)] = 0.5
    """Most of an answer's places that memories of one source may take; 1: no such bound."""
    reported_share: Share = 0.5
    """Most of the token budget that memories below MEDIUM trust may take beside others.
    They may fill it where there are none, unless this is 0."""
    tail_ratio: Share = 0.3
    """A memory whose score is below this share of the best one's is not packed; 0: all are.
    Where a request sets the minimum score itself, all are."""


class HandlingByKind(Section):
    """What is done with one sort of secret or personal data: for all kinds, and exceptions per kind."""

    default: HandlingName | None = None
    """For every kind; null: the service's default for this sort."""
    preference: HandlingName | None = None
    """In preferences; null: as for every kind."""
    rule: HandlingName | None = None
    """In rules; null: as for every kind."""
    fact: HandlingName | None = None
    """In facts; null: as for every kind."""
    summary: HandlingName | None = None
    """In summaries; null: as for every kind."""
    event: HandlingName | None = None
    """In events; null: as for every kind."""
    decision: HandlingName | None = None
    """In decisions; null: as for every kind."""
    turn: HandlingName | None = None
    """In turns; null: as for every kind."""

    def by_kind(self) -> dict[MemoryKind, HandlingName]:
        """The exceptions."""
        found: dict[MemoryKind, HandlingName | None] = {
            kind: getattr(self, kind.name.lower()) for kind in MemoryKind
        }
        return {kind: name for kind, name in found.items() if name is not None}


class SuspicionByTrust(Section):
    """What is done with suspicious text, by how far its source is trusted."""

    low: VerdictName = "mark"
    """Trust up to LOW."""
    medium: VerdictName = "quarantine"
    """MEDIUM trust."""
    high: VerdictName = "mark"
    """HIGH and CONFIRMED trust."""


class Gates(Section):
    """What the gates do about what they find in a write."""

    card_number: HandlingByKind = HandlingByKind()
    """Payment cards."""
    resident_id: HandlingByKind = HandlingByKind()
    """Resident identity numbers."""
    iban: HandlingByKind = HandlingByKind()
    """Bank accounts."""
    phone_number: HandlingByKind = HandlingByKind()
    """Telephone numbers."""
    email_address: HandlingByKind = HandlingByKind()
    """E-mail addresses."""
    api_key: HandlingByKind = HandlingByKind()
    """API keys and other tokens."""
    private_key: HandlingByKind = HandlingByKind()
    """Private keys."""
    json_web_token: HandlingByKind = HandlingByKind()
    """JSON web tokens."""
    regions: Annotated[tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...], Field(max_length=20)] = (
        "CN",
        "US",
        "GB",
        "DE",
    )
    """ISO 3166 codes in which a telephone number without a country code is looked for."""
    instructions: SuspicionByTrust = SuspicionByTrust()
    """Stored instructions."""
    stuffing: SuspicionByTrust = SuspicionByTrust(low="mark", medium="mark", high="mark")
    """Texts padded with a topic's words."""


class Importance(Section):
    """What is worth keeping."""

    min_score: Share = 0.0
    """A written item below this importance is dropped, unless it is forced; 0: nothing is."""
    extraction_min_score: Share = 0.35
    """The same for what an extractor proposes."""
    kind: Factor = 1.0
    """What the kind counts."""
    stability: Factor = 1.0
    """What holding for long counts."""
    repetition: Factor = 1.0
    """What being said again counts."""
    explicitness: Factor = 1.0
    """What being asked to remember counts."""


class Review(Section):
    """What waits for a person."""

    min_confidence: Share = 0.3
    """An item of lower confidence whose source has less than HIGH trust waits for review; 0: none does."""
    sources: tuple[SourceName, ...] = ("third_party",)
    """Sources whose word always waits for review."""
    expire_days: Annotated[float, Field(ge=0.01, le=3_650)] = 30.0
    """After so many days without a decision a review is rejected."""
    conflicts: Annotated[int, Field(ge=0, le=5)] = 5
    """How many near memories a write names; 0 switches the search off."""
    judge: Literal["off", "propose", "review"] = "propose"
    """What a configured judge's word does: nothing, a proposal in the answer, or a review."""

    def source_types(self) -> frozenset[SourceType]:
        """`sources` as source types."""
        return frozenset(SourceType[name.upper()] for name in self.sources)


class Consent(Section):
    """What may be remembered about a subject who decided nothing."""

    default: Literal["all", "necessary", "none"] = "all"
    """Everything, only the necessary kinds, or nothing."""
    necessary_kinds: Annotated[tuple[KindName, ...], Field(min_length=1)] = ("preference", "rule")
    """The kinds that count as necessary where a subject named none."""

    def kinds(self) -> frozenset[MemoryKind]:
        """`necessary_kinds` as kinds."""
        return frozenset(MemoryKind[name.upper()] for name in self.necessary_kinds)


class Ingest(Section):
    """How conversations are taken in."""

    extractor: Literal["rules", "llm", "hybrid"] | None = None
    """Who makes memories of turns where a request does not say; null: the rules."""
    quiet_seconds: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """Seconds without a new turn after which a session's extraction begins by itself."""
    turn_days: Annotated[float, Field(ge=0.01, le=3_650)] = 30.0
    """After so many days a turn expires."""


class TenantSettings(Section):
    """All settings of one tenant."""

    ranking: Ranking = Ranking()
    """See Ranking."""
    packing: Packing = Packing()
    """See Packing."""
    gates: Gates = Gates()
    """See Gates."""
    importance: Importance = Importance()
    """See Importance."""
    review: Review = Review()
    """See Review."""
    consent: Consent = Consent()
    """See Consent."""
    ingest: Ingest = Ingest()
    """See Ingest."""


DEFAULT_SETTINGS = TenantSettings()


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting. allowed: its values in words. default: as JSON."""

    name: str
    description: str
    allowed: str
    default: str
    adapter: TypeAdapter[Any]

    def read(self, text: str) -> Any:
        """The value of a JSON text, as plain JSON values. Raises SettingInvalid."""
        try:
            return json.loads(self.adapter.dump_json(self.adapter.validate_json(text, strict=True)))
        except ValidationError:
            raise SettingInvalid(f"{self.name} is {self.allowed}.") from None


@cache
def registry() -> Mapping[str, SettingInfo]:
    """All settings by name, in the order of their sections."""
    return {info.name: info for info in _walk(DEFAULT_SETTINGS, "", "")}


def _walk(section: Section, prefix: str, context: str) -> Iterator[SettingInfo]:
    hints = get_type_hints(type(section), include_extras=True)
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        text = " ".join((field.description or "").split())
        if isinstance(value, Section):
            yield from _walk(value, f"{prefix}{name}.", "" if text.startswith("See ") else text)
            continue
        adapter: TypeAdapter[Any] = TypeAdapter(hints[name])
        yield SettingInfo(
            name=prefix + name,
            description=f"{context} {text}".strip(),
            allowed=_words(adapter.json_schema()),
            default=json.dumps(json.loads(adapter.dump_json(value)), ensure_ascii=False),
            adapter=adapter,
        )


def _words(schema: Mapping[str, Any]) -> str:
    """The values that a schema allows, for people."""
    if "anyOf" in schema:
        return " or ".join(_words(one) for one in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    match schema.get("type"):
        case "null":
            return "null"
        case "number" | "integer" as kind:
            noun = "a number" if kind == "number" else "a whole number"
            return f"{noun} from {schema['minimum']:g} to {schema['maximum']:g}"
        case "array":
            return f"a list, each {_words(schema['items'])}"
        case "string":
            return f"a text like {schema['pattern']}" if "pattern" in schema else "a text"
        case other:
            return str(other)


def info(name: str) -> SettingInfo:
    """A setting by its name. Raises SettingInvalid, with the nearest name there is."""
    found = registry().get(name)
    if found is None:
        # A setting with a value per kind, named without one.
        whole = f"{name}.default"
        near = [whole] if whole in registry() else difflib.get_close_matches(name, registry(), 1)
        hint = f" Did you mean {near[0]}?" if near else " `muniment settings list` shows all."
        raise SettingInvalid(f"There is no setting {name!r}.{hint}")
    return found


def parse(name: str, text: str) -> Any:
    """A value from a command line: JSON, or a bare word. Raises SettingInvalid."""
    setting = info(name)
    try:
        json.loads(text)
    except ValueError:
        text = json.dumps(text)
    return setting.read(text)


def build(values: Mapping[str, Any]) -> tuple[TenantSettings, tuple[str, ...]]:
    """Settings of stored values by name, and the names that this version cannot use.

    What another version knows, or allowed within wider bounds, is left at its default here.
    """
    nested: dict[str, Any] = {}
    unusable = []
    for name, value in values.items():
        try:
            read = info(name).read(json.dumps(value))
        except (SettingInvalid, ValueError):
            unusable.append(name)
            continue
        place = nested
        *path, leaf = name.split(".")
        for step in path:
            place = place.setdefault(step, {})
        place[leaf] = read
    if not nested:
        return DEFAULT_SETTINGS, tuple(unusable)
    return _merged(DEFAULT_SETTINGS, nested), tuple(unusable)


def _merged(section: TenantSettings, changes: Mapping[str, Any]) -> TenantSettings:
    # Not a plain validation: a nested section that is given in part keeps its own defaults, which may
    # differ from those of its class.
    whole = section.model_dump(mode="json")
    _put(whole, changes)
    return type(section).model_validate_json(json.dumps(whole))


def _put(whole: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, Mapping):
            _put(whole[name], value)
        else:
            whole[name] = value
