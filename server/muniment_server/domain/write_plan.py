"""What a Write does to the live memories of its scope: pure decisions, nothing stored.

Conflicts never destroy. A statement replaces another only when it takes the same slot, or when the
caller names the memory that it corrects; an exact restatement reinforces. Similarity decides nothing.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from .errors import SlotConflict
from .model import (
    MemoryKind,
    MemoryState,
    PropertyValue,
    Provenance,
    Revision,
    Scope,
    Validity,
    WriteOutcome,
)

LESS_TRUSTED = "LESS_TRUSTED_THAN_CORRECTED"
"""Rule: a correction from a less trusted source than the memory it corrects goes to review."""

OUT_OF_VIEW = "SLOT_OUT_OF_VIEW"
"""Rule: what an item would replace is hidden from the caller by a view, so a reviewer decides."""

_HELD = {
    MemoryState.PENDING: WriteOutcome.PENDING_REVIEW,
    MemoryState.QUARANTINED: WriteOutcome.QUARANTINED,
}
_Statement = tuple[bytes, MemoryKind, str | None, str | None, str | None]
_Slot = tuple[str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item with everything computed that needs no lock."""

    memory_id: UUID
    kind: MemoryKind
    slot: str | None
    tags: tuple[str, ...]
    properties: Mapping[str, PropertyValue]
    provenance: Provenance
    validity: Validity
    expire_time: datetime | None
    ttl: timedelta | None
    statement_hash: bytes
    content_ct: bytes
    frequencies: Mapping[int, int]
    """Token hash to frequency."""
    term_count: int
    analyzer: int
    turn_number: int | None = None
    state: MemoryState = MemoryState.ACTIVE
    """In which a new memory begins: PENDING or QUARANTINED by the word of a gate."""
    rule: str | None = None
    """The rule that holds it there, or that redacted it."""
    redacted: bool = False
    in_place_of: UUID | None = None
    """The memory that it is proposed to replace, for one that waits."""

    def expiry(self, now: datetime) -> datetime | None:
        """When a memory that is recorded now expires; an instant beyond the calendar is its last one."""
        if self.ttl is None:
            return self.expire_time
        last = datetime.max.replace(tzinfo=now.tzinfo)
        return now + self.ttl if self.ttl < last - now else last


@dataclass(frozen=True, slots=True)
class Decision:
    """What one item does. `memory_id` names the memory that carries the statement afterwards."""

    outcome: WriteOutcome
    memory_id: UUID
    superseded: UUID | None = None
    rule: str | None = None


class WritePlan:
    """The live memories of a scope while a write's items are decided one after the other.

    After the last item `created` holds the new memories and `changed` the pairs of existing ones,
    both unsealed.
    """

    def __init__(
        self,
        scope: Scope,
        scope_id: UUID,
        key_epoch: int,
        next_doc: int,
        now: datetime,
        hidden: Container[UUID] = (),
    ) -> None:
        """hidden: memories that the caller may not change, for its view does not show them."""
        self._hidden = hidden
        self._scope = scope
        self._scope_id = scope_id
        self._key_epoch = key_epoch
        self._now = now
        self.next_doc = next_doc
        self._stored: dict[UUID, Revision] = {}
        self._current: dict[UUID, Revision] = {}
        self._by_statement: dict[_Statement, UUID] = {}
        self._by_slot: dict[_Slot, UUID] = {}
        self._held: dict[_Statement, UUID] = {}
        """Memories that wait for a reviewer."""
        self._new: list[UUID] = []
        self.waiting: dict[UUID, str] = {}
        """Why new memories wait for a person."""

    def load(self, live: Iterable[Revision]) -> None:
        """Take in live memories that items may restate or replace, and waiting ones; locked by the caller."""
        for revision in live:
            self._stored[revision.memory_id] = revision
            self._current[revision.memory_id] = revision
            self._index(revision)

    @property
    def created(self) -> list[Revision]:
        """The new memories in the order of their items."""
        return [self._current[memory_id] for memory_id in self._new]

    @property
    def changed(self) -> list[tuple[Revision, Revision]]:
        """Stored memories that changed: before and after."""
        return [
            (before, self._current[memory_id])
            for memory_id, before in self._stored.items()
            if self._current[memory_id] is not before
        ]

    def current(self, memory_id: UUID) -> Revision:
        """The memory as the plan leaves it."""
        return self._current[memory_id]

    def write(self, item: PreparedItem) -> Decision:
        """Decide one item of a Write."""
        same = self._by_statement.get(self._statement_key(item.statement_hash, item.kind, item.slot))
        if same is not None:
            self._reinforce(self._current[same], item)
            return Decision(WriteOutcome.REINFORCED, same)
        holder = self._slot_holder(item)
        if holder is not None:
            return self._replace(holder, item)
        if item.state is not MemoryState.ACTIVE:
            return self._hold(item, item.state, item.in_place_of, item.rule or "")
        self._create(item, item.state, None)
        if item.redacted:
            return Decision(WriteOutcome.REDACTED, item.memory_id, rule=item.rule)
        return Decision(WriteOutcome.CREATED, item.memory_id)

    def archive(self, item: PreparedItem) -> Decision:
        """Take in an item that is not to be live: it restates and replaces nothing."""
        if item.state is not MemoryState.ACTIVE:
            return self._hold(item, item.state, None, item.rule or "")
        self._create(item, MemoryState.ARCHIVED, None)
        if item.redacted:
            return Decision(WriteOutcome.REDACTED, item.memory_id, rule=item.rule)
        return Decision(WriteOutcome.CREATED, item.memory_id)

    def supersede(self, old: Revision, item: PreparedItem) -> Decision:
        """Decide an explicit correction of `old`, which the caller has loaded and checked.

        Raises SlotConflict when the item's slot is held by a third memory.
        """
        holder = self._slot_holder(item)
        if holder is not None and holder.memory_id != old.memory_id:
            raise SlotConflict(None if holder.memory_id in self._hidden else str(holder.memory_id))
        return self._replace(old, item)

    def _replace(self, old: Revision, item: PreparedItem) -> Decision:
        less_trusted = item.provenance.trust < old.trust
        if old.memory_id in self._hidden:
            state = MemoryState.PENDING if item.state is MemoryState.ACTIVE else item.state
            return self._hold(item, state, old.memory_id, OUT_OF_VIEW)
        if item.state is MemoryState.QUARANTINED or (item.state is MemoryState.PENDING and not less_trusted):
            return self._hold(item, item.state, old.memory_id, item.rule or "")
        if less_trusted:
            return self._hold(item, MemoryState.PENDING, old.memory_id, LESS_TRUSTED)
        self._retire(old, item)
        self._create(item, MemoryState.ACTIVE, old.memory_id)
        if item.redacted:
            return Decision(WriteOutcome.REDACTED, item.memory_id, superseded=old.memory_id, rule=item.rule)
        return Decision(WriteOutcome.SUPERSEDED_PREVIOUS, item.memory_id, superseded=old.memory_id)

    def _hold(self, item: PreparedItem, state: MemoryState, supersedes: UUID | None, rule: str) -> Decision:
        """Let an item wait for a reviewer: once, however often it is said."""
        waits = self._held.get(self._statement_key(item.statement_hash, item.kind, item.slot))
        if waits is not None:
            held = self._current[waits]
            self._restate(held, item)
            return Decision(_HELD[held.state], waits, rule=rule)
        self._create(item, state, supersedes)
        self.waiting[item.memory_id] = rule
        return Decision(_HELD[state], item.memory_id, rule=rule)

    def _slot_holder(self, item: PreparedItem) -> Revision | None:
        if item.slot is None:
            return None
        found = self._by_slot.get((item.slot, self._scope.agent, self._scope.session))
        return self._current[found] if found is not None else None

    def _statement_key(self, statement_hash: bytes, kind: MemoryKind, slot: str | None) -> _Statement:
        return (statement_hash, kind, slot, self._scope.agent, self._scope.session)

    def _index(self, revision: Revision) -> None:
        narrowing = (revision.agent, revision.session)
        statement = (revision.statement_hash, revision.kind, revision.slot, *narrowing)
        lasts = revision.expire_time is None or revision.expire_time > self._now
        if revision.state in _HELD and lasts:
            self._held[statement] = revision.memory_id
        if revision.state is not MemoryState.ACTIVE:
            return
        if revision.slot is not None:
            self._by_slot[(revision.slot, *narrowing)] = revision.memory_id
        if lasts:
            self._by_statement[statement] = revision.memory_id

    def _create(self, item: PreparedItem, state: MemoryState, supersedes: UUID | None) -> None:
        provenance = item.provenance
        revision = Revision(
            memory_id=item.memory_id,
            scope_id=self._scope_id,
            doc_no=self.next_doc,
            revision=1,
            content_revision=1,
            key_epoch=self._key_epoch,
            state=state,
            kind=item.kind,
            trust=provenance.trust,
            source_type=provenance.source_type,
            analyzer=item.analyzer,
            term_count=item.term_count,
            reinforce_count=0,
            confidence=provenance.confidence,
            create_time=self._now,
            update_time=self._now,
            expire_time=item.expiry(self._now),
            valid_from=item.validity.start,
            valid_to=item.validity.end,
            reinforce_time=None,
            supersedes=supersedes,
            superseded_by=None,
            slot=item.slot,
            agent=self._scope.agent,
            session=self._scope.session,
            origin_session=provenance.session,
            author=provenance.author,
            author_agent=provenance.author_agent,
            source_ref=provenance.source_ref,
            tags=item.tags,
            properties=item.properties,
            statement_hash=item.statement_hash,
            tokens=tuple(item.frequencies),
            content_ct=item.content_ct,
            seal=b"",
            turn_number=item.turn_number,
        )
        self.next_doc += 1
        self._new.append(item.memory_id)
        self._current[item.memory_id] = revision
        self._index(revision)

    def _retire(self, old: Revision, item: PreparedItem) -> None:
        end = item.validity.start or self._now
        if old.valid_from is not None and old.valid_from > end:
            end = old.valid_from
        if old.valid_to is not None and old.valid_to < end:
            end = old.valid_to
        self._change(
            old,
            replace(old, state=MemoryState.SUPERSEDED, superseded_by=item.memory_id, valid_to=end),
        )
        self._by_slot = {key: held for key, held in self._by_slot.items() if held != old.memory_id}
        self._by_statement = {key: held for key, held in self._by_statement.items() if held != old.memory_id}

    def _reinforce(self, old: Revision, item: PreparedItem) -> None:
        provenance = item.provenance
        labels: dict[str, Any] = {}
        if provenance.trust > old.trust:
            labels = {
                "trust": provenance.trust,
                "source_type": provenance.source_type,
                "confidence": provenance.confidence,
                "origin_session": provenance.session,
                "turn_number": item.turn_number,
                "author": provenance.author,
                "author_agent": provenance.author_agent,
                "source_ref": provenance.source_ref,
            }
        self._restate(old, item, **labels)

    def _restate(self, old: Revision, item: PreparedItem, **labels: Any) -> None:
        """Count a memory that was said again. It lasts as long as the one who wants it longest says, of those
        who are trusted as it is or wrote it."""
        expiry = item.expiry(self._now)
        has_say = item.provenance.trust >= old.trust or item.provenance.author == old.author
        if has_say and old.expire_time is not None and (expiry is None or expiry > old.expire_time):
            labels["expire_time"] = expiry
        after = replace(old, reinforce_count=old.reinforce_count + 1, reinforce_time=self._now, **labels)
        if labels:
            self._change(old, after)
        else:
            self._current[old.memory_id] = after

    def _change(self, old: Revision, after: Revision) -> None:
        # A memory made by this very write has no earlier revision that anybody could have seen.
        fresh = old.memory_id not in self._stored
        self._current[old.memory_id] = replace(
            after,
            revision=old.revision if fresh else self._stored[old.memory_id].revision + 1,
            # Never back, whatever another server's clock says: the later of two states is told by it.
            update_time=max(self._now, old.update_time),
        )
