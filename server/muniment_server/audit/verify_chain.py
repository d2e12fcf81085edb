"""Verification of a trail: events, links, signatures, anchors, and what the events say of memories."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from muniment_server.application.ingest_told import Told, note
from muniment_server.application.receipts import is_genuine_receipt
from muniment_server.crypto.key_store import Head, HeadKind
from muniment_server.crypto.signing import verify_checkpoint
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import WriteOutcome
from muniment_server.storage.audit_chain import EVERYTHING, chain_range, checkpoints, read_state
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.storage.verification import (
    erasures,
    index_faults,
    named,
    queue,
    returned,
    unchained,
)

from .canonical import CHAIN_START, chain_digest, checkpoint_bytes
from .events import AuditAction, AuditEvent, AuditOutcome
from .findings import MOST_KEPT, FindingKind, TenantReport
from .stored import EventForged, open_event

_ROWS = 500
_STORED = frozenset(WriteOutcome) - {WriteOutcome.DROPPED}
_FLAWS = {
    "mac": "the bytes of the event are not what the service wrote",
    "form": "the bytes of the event have not the form of an event",
    "columns": "columns do not say what the event says",
}


class ChainCheck:
    """One pass over a tenant's trail in one snapshot; notes what it finds in the report."""

    def __init__(
        self,
        work: UnitOfWork,
        key: TenantKey,
        heads: Sequence[Head],
        public_keys: Mapping[str, bytes],
        report: TenantReport,
    ) -> None:
        self._work = work
        self._key = key
        self._anchors = {head.position: head for head in heads if head.kind is HeadKind.AUDIT}
        self._public_keys = public_keys
        self._report = report
        self._digests: dict[int, bytes] = {}
        self._last = 0
        self._last_digest = CHAIN_START
        self.ingests: dict[UUID, Told] = {}
        """What the events tell of ingests; complete after `run`."""

    async def run(self) -> None:
        """Check everything."""
        wanted = await self._checkpoints()
        await self._links(wanted)
        await self._end()
        await self._queue()
        for event_id in await unchained(self._work, MOST_KEPT):
            self._report.add(
                FindingKind.EVENT_UNCHAINED,
                "the event neither stands in the chain nor waits for its place",
                event_id=event_id,
            )
        for event_id in await index_faults(self._work, MOST_KEPT):
            self._report.add(
                FindingKind.EVENT_INDEX,
                "the index by memory does not tell which memories the event names",
                event_id=event_id,
            )
        for memory_id, scope_id in await returned(self._work, MOST_KEPT):
            self._report.add(
                FindingKind.ERASED_MEMORY_BACK,
                "the memory was erased, and is there",
                scope_id=scope_id,
                memory_ids=[memory_id],
            )
        await self._receipts()

    # --- signatures and anchors ---------------------------------------------------------------

    async def _checkpoints(self) -> dict[int, list[tuple[bytes, str]]]:
        """Check the signatures; returns what the chain has to hold at which place, and who says so."""
        wanted: dict[int, list[tuple[bytes, str]]] = {}
        after = -1
        while True:
            page = await checkpoints(self._work, after, EVERYTHING, _ROWS)
            for one in page:
                self._report.checkpoints += 1
                public = self._public_keys.get(one.signing_key)
                try:
                    signed = checkpoint_bytes(
                        self._report.tenant_id, one.sequence, one.digest, one.create_time
                    )
                except (TypeError, ValueError):
                    signed = b""
                if public is None or not verify_checkpoint(public, signed, one.signature):
                    self._report.add(
                        FindingKind.CHECKPOINT_FORGED,
                        "the signature does not hold" if public else "signed by a key that is not ours",
                        sequence=one.sequence,
                    )
                else:
                    wanted.setdefault(one.sequence, []).append((one.digest, "a checkpoint"))
            if len(page) < _ROWS:
                break
            after = page[-1].sequence
        for position, head in self._anchors.items():
            wanted.setdefault(position, []).append((head.digest, "the key store"))
        return wanted

    def _compare(self, wanted: Mapping[int, list[tuple[bytes, str]]], sequence: int, digest: bytes) -> None:
        for expected, who in wanted.get(sequence, ()):
            if expected != digest:
                self._report.add(
                    FindingKind.CHAIN_ROLLED_BACK,
                    f"{who} saw another event in this place",
                    sequence=sequence,
                )

    # --- links ----------------------------------------------------------------------------------

    async def _links(self, wanted: Mapping[int, list[tuple[bytes, str]]]) -> None:
        seen: set[int] = set()
        after = -EVERYTHING
        while True:
            rows = await chain_range(self._work, after, EVERYTHING, _ROWS)
            events = []
            for row in rows:
                event = self._link(row)
                if event is not None:
                    events.append(event)
                if row["sequence"] in wanted:
                    seen.add(row["sequence"])
                    self._compare(wanted, row["sequence"], bytes(row["digest"]))
            await self._memories(events)
            if len(rows) < _ROWS:
                break
            after = rows[-1]["sequence"]
        for sequence in sorted(wanted.keys() - seen):
            for _, who in wanted[sequence]:
                self._report.add(
                    FindingKind.CHAIN_ROLLED_BACK,
                    f"{who} saw an event in this place, and there is none (the chain ends at {self._last})",
                    sequence=sequence,
                )

    def _link(self, row: Row) -> AuditEvent | None:
        sequence, digest = row["sequence"], bytes(row["digest"])
        self._report.events += 1
        follows = sequence == self._last + 1
        if not follows:
            missing = sequence - self._last - 1
            self._report.add(
                FindingKind.CHAIN_GAP,
                f"{missing} links are missing before this one" if missing > 0 else "a link before the first",
                sequence=sequence,
            )
        before, self._last, self._last_digest = self._last_digest, sequence, digest
        if not row["present"]:
            self._report.add(
                FindingKind.EVENT_MISSING,
                "the chain has the place of an event that is gone",
                event_id=row["event_id"],
                sequence=sequence,
            )
            return None
        try:
            expected = chain_digest(before, sequence, bytes(row["payload"])) if follows else digest
        except (ValueError, struct.error):
            expected = b""
        if expected != digest:
            self._report.add(
                FindingKind.CHAIN_BROKEN,
                "the digest is not that of this event in this place",
                event_id=row["event_id"],
                sequence=sequence,
            )
        return self._event(row, sequence)

    def _event(self, row: Row, sequence: int | None) -> AuditEvent | None:
        try:
            return open_event(self._key, row)
        except EventForged as error:
            columns = f": {', '.join(error.columns)}" if error.columns else ""
            self._report.add(
                FindingKind.EVENT_CHANGED,
                _FLAWS[error.flaw] + columns,
                event_id=row["event_id"],
                sequence=sequence,
            )
            return None

    async def _end(self) -> None:
        head = (await read_state(self._work)).head
        stored = (head.sequence, head.digest) if head else (0, CHAIN_START)
        if stored != (self._last, self._last_digest):
            self._report.add(
                FindingKind.CHAIN_END,
                f"the chain ends at {self._last}, and its head says {stored[0]}",
                sequence=self._last,
            )

    async def _queue(self) -> None:
        after: UUID | None = None
        while True:
            rows = await queue(self._work, after, _ROWS)
            events = []
            for row in rows:
                self._report.waiting += 1
                if row["chained"]:
                    self._report.add(
                        FindingKind.EVENT_QUEUED_AGAIN,
                        "the event has its place in the chain and waits for one again",
                        event_id=row["event_id"],
                    )
                elif not row["present"]:
                    self._report.add(
                        FindingKind.EVENT_MISSING,
                        "an event that waited for its place is gone",
                        event_id=row["event_id"],
                    )
                else:
                    event = self._event(row, None)
                    if event is not None:
                        events.append(event)
            await self._memories(events)
            if len(rows) < _ROWS:
                return
            after = rows[-1]["event_id"]

    # --- what events say of memories --------------------------------------------------------------

    async def _memories(self, events: Sequence[AuditEvent]) -> None:
        """Hold what events say was stored or erased against what is there."""
        written: dict[UUID, tuple[int, AuditEvent]] = {}
        erased: dict[UUID, AuditEvent] = {}
        for event in events:
            note(self.ingests, event)
            if event.outcome is not AuditOutcome.OK:
                continue
            for memory_id, revision in _stored_by(event):
                if revision > written.get(memory_id, (0, event))[0]:
                    written[memory_id] = (revision, event)
            if event.action is AuditAction.ERASE:
                erased.update(dict.fromkeys(event.memory_ids, event))
        found = await named(self._work, [*written, *erased]) if written or erased else {}
        for memory_id, (revision, event) in written.items():
            there = found[memory_id]
            if there.erased or (there.revision or 0) >= revision:
                continue
            lost = there.revision is None
            self._report.add(
                FindingKind.MEMORY_LOST if lost else FindingKind.MEMORY_ROLLED_BACK,
                f"the trail says that revision {revision} was stored"
                + (", and the memory is gone" if lost else f", and revision {there.revision} is there"),
                scope_id=event.scope_id,
                memory_ids=[memory_id],
                event_id=event.event_id,
            )
        for memory_id, event in erased.items():
            there = found[memory_id]
            if not there.erased:
                self._report.add(
                    FindingKind.ERASED_MEMORY_BACK if there.revision is not None else FindingKind.MEMORY_LOST,
                    "the trail says that the memory was erased, and it has no tombstone",
                    scope_id=event.scope_id,
                    memory_ids=[memory_id],
                    event_id=event.event_id,
                )

    # --- erasure receipts -------------------------------------------------------------------------

    async def _receipts(self) -> None:
        after: UUID | None = None
        while True:
            page = await erasures(self._work, after, _ROWS)
            for one in page:
                if not is_genuine_receipt(self._key, self._public_keys, one):
                    self._report.add(
                        FindingKind.RECEIPT_FORGED,
                        f"the receipt of erasure {one.erasure_id} is not what the service recorded",
                        scope_id=one.scope_id,
                    )
            if len(page) < _ROWS:
                return
            after = page[-1].erasure_id


def _stored_by(event: AuditEvent) -> list[tuple[UUID, int]]:
    """The memories that an act stored, each with the revision that it had then."""
    found: list[tuple[UUID, int]] = []

    def note(item: Mapping[str, Any]) -> None:
        if item["memory_id"] and item["outcome"] in _STORED:
            found.append((UUID(item["memory_id"]), item["revision"]))

    if event.action in (AuditAction.WRITE, AuditAction.IMPORT_MEMORIES):
        for item in event.details.get("memory_written", {}).get("items", ()):
            note(item)
    elif event.action is AuditAction.INGEST:
        for item in event.details.get("conversation_ingested", {}).get("items", ()):
            note(item)
    elif event.action is AuditAction.SUPERSEDE:
        details = event.details.get("memory_superseded")
        if details:
            found.append((UUID(details["memory_id"]), details["revision"]))
            note(details["successor"])
    elif event.action is AuditAction.DECIDE_REVIEW:
        details = event.details.get("review_decided")
        if details:
            found.append((UUID(details["memory_id"]), details["revision"]))
    else:
        corrected = event.details.get("memories_corrected", {}).get("memories", ())
        found += [(UUID(item["memory_id"]), item["revision"]) for item in corrected]
    return found
